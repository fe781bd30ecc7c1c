"""A mechanism of a caller's own, whose guarantee the caller states."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import index

from safeselect.accounting.cost import PrivacyCost
from safeselect.engine import Ranking
from safeselect.engine.arrays import to_integers
from safeselect.errors import ParameterError
from safeselect.exact.interval import NoiseRate
from safeselect.exact.parameters import describe, exact_text
from safeselect.mechanisms.table import Calibration, Law, Planned
from safeselect.promises.guarantees import STATED, BoundedRange, Family, LaplaceDominated, PureDP
from safeselect.randomness.bits import Bits
from safeselect.release.call import in_one_sentence
from safeselect.scores.reading import GridScores

_NAME = re.compile("[a-z][a-z0-9_]*/[1-9][0-9]*", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class StatedLaw(Planned):
    """Your own mechanism, with a guarantee that you state and that the library does not prove.

    Pass it to `top_k(mechanism=...)`.

    You assert: if the difference between any two scores changes by at most R steps between
    neighbours, then `choose` with rate = epsilon / (k R) satisfies `promise(epsilon)`. The library
    computes R from `sensitivity`, `range_`, `monotonic` and `grid`. It charges the guarantee before
    it reads a score, and it never shows an error of `choose`. It does not verify
    `choose`: neither its law, nor what its running time and its number of random bits reveal.

    Guarantee: stated by the caller.

    Args:
        name: name of the mechanism and version of its law, such as "staircase/1", which releases
            show as "stated_staircase/1".
        promise: guarantee of one call: BoundedRange, LaplaceDominated or PureDP.
        choose: function (scores, k, rate, bits) that returns the positions of k candidates, best
            first. The scores are private integers: 0 for the best candidate, and minus the distance
            in grid steps for the others. `rate` is a `NoiseRate` per step. Samplers accept `rate`
            and `bits`.

    Raises:
        ParameterError: an argument is wrong.

    Example:
        >>> from safeselect import PureDP, top_k
        >>> from safeselect.samplers import discrete_laplace
        >>> def choose(scores, k, rate, bits):
        ...     noisy = [score + discrete_laplace(bits, rate) for score in scores]
        ...     return sorted(range(len(scores)), key=noisy.__getitem__, reverse=True)[:k]
        >>> law = StatedLaw("discrete_noisy_max/1", PureDP, choose)
        >>> scores = {"tea": 3, "milk": 900}
        >>> top_k(scores, k=1, mechanism=law, epsilon=1, sensitivity=1).mechanism
        'stated_discrete_noisy_max/1'
    """

    name: str
    promise: Family
    choose: Callable[[list[int], int, NoiseRate, Bits], Sequence[int]]

    def __post_init__(self) -> None:
        is_named = type(self.name) is str and _NAME.fullmatch(self.name)
        kinds = BoundedRange, LaplaceDominated, PureDP
        if not (is_named and self.promise in kinds and callable(self.choose)):
            given = ", ".join(map(describe, (self.name, self.promise, self.choose)))
            raise ParameterError(
                "StatedLaw takes a name such as 'law/1', a class (BoundedRange, LaplaceDominated "
                f"or PureDP) and a function, got {given}"
            )

    def planned(self, cost: PrivacyCost, range_: Fraction, step: Fraction, k: int) -> Calibration:
        """Return the calibration of a call: its law, its noise rate, and its cost under the
        guarantee that the caller states.

        `range_` is in grid steps.

        Raises:
            ParameterError: the cost allows no draw of this kind, or no draw at this rate.
        """
        each = cost.per_draw(self.promise, 1)
        rate = NoiseRate(each / (k * range_))
        said = {"rate": exact_text(rate.rate / step), "guarantee": "stated by the caller"}
        law = Law("stated", self.promise, "one", chosen=self._chosen)
        draw, guarantee = self.promise(each), cost.guarantee(self.promise, each, 1)
        return Calibration(STATED + self.name, law, k, guarantee, draw, 1, rate, said)

    def _chosen(self, scores: GridScores, k: int, rate: NoiseRate, bits: Bits) -> Ranking:
        """What the function chose; one error for all that can go wrong, as it may be private."""

        def ranked() -> Ranking:
            steps = to_integers(scores)
            best = max(steps)
            given = self.choose([each - best for each in steps], k, rate, bits)
            places = tuple(int(index(place)) for place in given)
            if len(places) != k or len({*places} & {*range(len(steps))}) != k:
                raise ValueError
            return Ranking(places, None)

        failed = (
            "the function of the StatedLaw failed, or did not return the positions of k candidates"
        )
        return in_one_sentence(ranked, f"{failed}; test the function alone on synthetic scores")
