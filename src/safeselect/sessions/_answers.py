"""What a session that compares with a noisy threshold returns: frozen, without a value in it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Answer", "Answers"]


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether one value lies above the threshold, privately.

    Attributes:
        above: whether the noisy value reaches the noisy threshold.
        gap: by how much, rounded down to the gap grid, in score units; None if below.
        branch: "top" or "middle" in an adaptive session that answers above; otherwise None.
        cost: what this answer used up of the session's epsilon; 0 if below.
        budget: what is left of it for further answers; usable in this session only.
        remaining: how many answers above the threshold are sure to be still to be had.
    """

    above: bool
    gap: Fraction | None
    branch: str | None
    cost: Fraction
    budget: Fraction
    remaining: int


@dataclass(frozen=True, slots=True)
class Answers:
    """The same for many values: only those above are listed.

    Attributes:
        consumed: how many values were answered, from the first on.  Fewer than were passed if the
            session ended with one of them; nothing was looked at behind it.
        indices: positions of those above, ascending; all other consumed values are below.
        gaps, branches, costs: of those above, as in `Answer`.
        budget, remaining: after the last of them, as in `Answer`.
    """

    consumed: int
    indices: tuple[int, ...]
    gaps: tuple[Fraction, ...]
    branches: tuple[str | None, ...]
    costs: tuple[Fraction, ...]
    budget: Fraction
    remaining: int
