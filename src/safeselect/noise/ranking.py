"""What a ranking returns."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Ranking"]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The first places of a noisy ranking.

    Attributes:
        indices: positions of the k first, the winner first.
        gaps: floors, in the unit asked for, of the continuous gaps between neighbours in the
            order, the last one to the (k + 1)-th; None where they were not asked for.
    """

    indices: tuple[int, ...]
    gaps: tuple[int, ...] | None
