"""Rankings with gaps: the grid of the gaps, and from whole units back to score units."""

from __future__ import annotations

from fractions import Fraction

from safeselect.errors import ParameterError
from safeselect.exact.parameters import rational
from safeselect.exact.rate import MIN_RATE
from safeselect.noise import Ranking
from safeselect.promises.records import exact
from safeselect.selection._call import Call

__all__ = ["Gapped", "read_gap_grid"]


def read_gap_grid(gap_grid: object) -> Fraction | None:
    """Read the grid of the gaps, if one is given."""
    return None if gap_grid is None else rational(gap_grid, "gap_grid")


class Gapped:
    """A ranking with gaps, all of it public until `rank` draws.

    Args:
        call: the candidates.
        k: how many are ranked.
        noise: "exponential", "laplace" or "gumbel".
        each: epsilon of the noise over the range of the change.
        step: the grid of the gaps in score units; that of the scores if None.

    Raises:
        ParameterError: the grid is too fine for the noise.
    """

    __slots__ = ("_call", "_decay", "_k", "_noise", "_step", "_unit", "told")

    def __init__(
        self, call: Call, k: int, noise: str, each: Fraction, step: Fraction | None
    ) -> None:
        self._call, self._k, self._noise = call, k, noise
        self._decay = call.decay(each)
        self._step = call.reading.step if step is None else step
        self._unit = self._step / call.reading.step
        self.told = {"gap_grid": exact(self._step)}
        if self._decay.rate < MIN_RATE * self._unit.denominator:
            raise ParameterError(
                "gap_grid is too fine for this noise, or in no simple ratio to grid: a step of the "
                "coarsest grid that holds both must be worth 2**-40 of the noise's scale or more"
            )

    def rank(self) -> tuple[Ranking, tuple[Fraction, ...]]:
        """Rank by noisy score; with the gaps in score units."""
        call, step = self._call, self._step
        ways = {
            "exponential": call.engine.exponential_top,
            "laplace": call.engine.laplace_top,
            "gumbel": call.engine.gumbel_top,
        }
        ranking = ways[self._noise](
            call.steps, self._k, self._decay, call.bits, gaps=True, gap_unit=self._unit
        )
        # From two integers: the same work whatever they are; a product of fractions is not.
        gaps = tuple(Fraction(gap * step.numerator, step.denominator) for gap in ranking.gaps or ())
        return ranking, gaps
