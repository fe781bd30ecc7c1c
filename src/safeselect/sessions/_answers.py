"""The answers of a session that compares with a noisy threshold: frozen, without any value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether one value lies above the threshold, privately.

    Attributes:
        above: whether the noisy value reaches the noisy threshold.
        gap: by how much it does, rounded down to the gap grid, in score units; None if below.
        branch: "top" or "middle" in an adaptive session that answers above; otherwise None.
        cost: how much of the session's epsilon this answer used; 0 if below.
        budget: how much epsilon is left for further answers of this session.
        remaining: how many further answers above the threshold are guaranteed.
    """

    above: bool
    gap: Fraction | None
    branch: str | None
    cost: Fraction
    budget: Fraction
    remaining: int


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers for many values: only those above are listed.

    Attributes:
        consumed: how many values were answered, counted from the first.  It is less than the number
            passed if the session ended at one of them; no value after that one was used.
        indices: positions of the values above, ascending; all other consumed values are below.
        gaps, branches, costs: of the values above, as in `Answer`.
        budget, remaining: after the last of them, as in `Answer`.
    """

    consumed: int
    indices: tuple[int, ...]
    gaps: tuple[Fraction, ...]
    branches: tuple[str | None, ...]
    costs: tuple[Fraction, ...]
    budget: Fraction
    remaining: int
