"""What a call knows of its candidates before their scores are looked at."""

from __future__ import annotations

from collections.abc import Sized
from fractions import Fraction
from typing import Protocol

from safeselect.noise.arrays import Steps
from safeselect.selection._reading import Reading

__all__ = ["Held", "Steps"]


class Held(Protocol):
    """The candidates of one call before their scores are looked at."""

    @property
    def size(self) -> int:
        """How many candidates there are."""

    @property
    def rows(self) -> Sized:
        """One for each row of a matrix; one in all for a list of candidates."""

    @property
    def labels(self) -> tuple[object, ...] | None:
        """What to call the candidates, where that is public and given."""

    @property
    def is_matrix(self) -> bool:
        """Whether rows of scores were handed over."""

    @property
    def positions(self) -> bool:
        """Whether positions may be released."""

    def label(self, index: int) -> object:
        """What to call a candidate."""

    def steps(
        self,
        reading: Reading,
        *,
        minimize: bool,
        proposed: str,
        threshold: Fraction | None,
    ) -> Steps:
        """Read the scores: uint64, larger is better; a `ScoreError` if that cannot be done."""
