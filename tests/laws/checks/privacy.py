"""The privacy of small instances: proved bounds of the cost over all neighbours.

For two neighbouring inputs D and D' with laws P and P', known only as low <= P(o) <= high,

    max_o low(o) / high'(o)  <=  e**epsilon  <=  max_o high(o) / low'(o),

where epsilon is the exact pure cost of this pair over these outcomes.  Both quotients are exact
rationals; their logarithms are rounded outwards.  Laws and calibrations are the published ones,
written here; `releases` and `paths` show that the package has these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from checks.cells import Enclosure, ranking_law
from checks.finding import Refuted
from mpmath import mp, mpf

_NOTHING = (Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class Certificate:
    """Bounds of the largest pure cost over all pairs of an instance, and the claim.

    Args:
        claim: the epsilon that is promised.
        at_least: some pair is proved to cost this much; rounded down.
        at_most: no pair costs more; rounded up.
        pairs: how many ordered pairs of neighbours were compared.
    """

    claim: Fraction
    at_least: Fraction
    at_most: Fraction
    pairs: int

    @property
    def refuted(self) -> bool:
        """Whether some pair costs more than the claim: the proof of a bug."""
        return self.at_least > self.claim

    def holds(self, tolerance: Fraction = Fraction(0)) -> bool:
        """Whether no pair costs more than (1 + tolerance) times the claim."""
        return self.at_most <= self.claim * (1 + tolerance)


def neighbours(
    size: int, top: int, *, monotonic: bool
) -> Iterable[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return all ordered pairs of neighbouring integer scores of sensitivity 1, up to a shift.

    Args:
        size: how many candidates.
        top: scores of the first input lie in 0 .. top, and the least is 0.
        monotonic: all scores move the same way.
    """
    moves = [
        move
        for move in product((-1, 0, 1), repeat=size)
        if any(move) and not (monotonic and {-1, 1} <= set(move))
    ]
    for scores in product(range(top + 1), repeat=size):
        if min(scores) == 0:
            for move in moves:
                yield scores, tuple(a + b for a, b in zip(scores, move, strict=True))


def certify(
    law: Callable[[tuple[int, ...]], Enclosure],
    pairs: Iterable[tuple[tuple[int, ...], tuple[int, ...]]],
    claim: Fraction,
) -> Certificate:
    """Bound the pure cost of a mechanism over pairs of neighbours.

    Args:
        law: encloses the law at some scores.  It is asked once for scores that differ by a shift
            or by the names of the candidates only if it remembers them itself.
        pairs: for each input, all neighbours to compare it with.
        claim: the epsilon that is promised.

    Raises:
        ValueError: there are no pairs, or an outcome may be impossible on one side only, which
            leaves no upper bound.
    """
    low_ratio, high_ratio, count = Fraction(0), Fraction(0), 0
    for one, two in pairs:
        first, second = law(one), law(two)
        count += 1
        for outcome in first.keys() | second.keys():
            low, high = first.get(outcome, _NOTHING)
            other_low, other_high = second.get(outcome, _NOTHING)
            if other_high == 0 < low or other_low == 0 < high:
                raise ValueError("an outcome may be impossible for one of two neighbours")
            if high:
                low_ratio = max(low_ratio, low / other_high)
                high_ratio = max(high_ratio, high / other_low)
    if not count:
        raise ValueError("a certificate needs at least one pair of neighbours")
    return Certificate(claim, _log(low_ratio, -1e-12), _log(high_ratio, 1e-12), count)


def _log(ratio: Fraction, slack: float) -> Fraction:
    if ratio <= 1:
        return Fraction(0)
    with mp.workprec(100):
        return Fraction(float(mp.log(mpf(ratio.numerator) / ratio.denominator))) + Fraction(slack)


@dataclass(frozen=True, slots=True)
class Instance:
    """A mechanism with epsilon 1, whose cost is bounded over all neighbours of small scores.

    Args:
        noise: the noise of its ranking.
        k: how many candidates one draw chooses.
        gap: whether the gap to the runner-up is released.
        monotonic: selects the neighbours and the calibration.
    """

    noise: str
    k: int
    gap: bool
    monotonic: bool

    @property
    def name(self) -> str:
        """For the table."""
        what = f"{self.noise} noise, top {self.k}" + (" with gap" if self.gap else "")
        return f"{what}, {'monotonic' if self.monotonic else 'general'}"

    def examine(self, effort: int) -> str:
        """Bound the cost from both sides.

        Raises:
            Refuted: some pair costs more than 1, or the bounds are too far apart to tell.
        """
        full = effort == 1
        size, top = (3, 3) if full and not self.gap else (3, 1) if self.k > 1 or full else (2, 2)
        fineness = 7 if full or self.gap else 6
        tolerance = Fraction(1, 8) if self.gap and full else Fraction(1, 15)
        certificate = certify(
            self.law(fineness), neighbours(size, top, monotonic=self.monotonic), Fraction(1)
        )
        said = verdict(certificate, tolerance)
        if certificate.refuted or not certificate.holds(tolerance):
            raise Refuted(said)
        return f"{said}, over {certificate.pairs} pairs of neighbours"

    def law(self, fineness: int) -> Callable[[tuple[int, ...]], Enclosure]:
        """The law as a function of scores, by the published calibration.

        For epsilon = 1 and sensitivity 1 each of k choices, or one draw for all k, has the rate
        1 / (k R), where R is 1 if all scores move the same way, and else 2.
        """
        rate = Fraction(1, self.k * (1 if self.monotonic else 2))

        @cache
        def shifted(scores: tuple[int, ...]) -> Enclosure:
            return ranking_law(
                self.noise, scores, rate, k=self.k, gaps=6 * self.gap, fineness=fineness
            )

        return lambda scores: shifted(tuple(score - min(scores) for score in scores))


def instances() -> Iterator[Instance]:
    """Yield all combinations that the mechanisms use."""
    for noise in ("exponential", "gumbel", "laplace"):
        for monotonic in (True, False):
            yield Instance(noise, 1, False, monotonic)
            yield Instance(noise, 1, True, monotonic)
            if noise != "laplace":
                yield Instance(noise, 2, False, monotonic)


def verdict(certificate: Certificate, tolerance: Fraction) -> str:
    """What the bounds say, in a sentence; an upper end above the claim says why it is there."""
    ends = certificate.at_least / certificate.claim, certificate.at_most / certificate.claim
    low, high = map(_of_claim, ends)
    said = f"privacy loss between {low} and {high} of \N{GREEK SMALL LETTER EPSILON}"
    if certificate.refuted:
        return f"{said}: some pair of neighbours loses more than is claimed"
    if not certificate.holds(tolerance):
        return f"{said}: the bounds are too far apart to tell whether the claim holds"
    if certificate.at_most > certificate.claim:
        return (
            f"{said} (the upper end is above 1 because noise is enclosed in cells, and their width "
            "adds to it; no loss above 1 was found)"
        )
    return said


def _of_claim(share: Fraction) -> str:
    """Four places; a share below 1 is never shown as 1."""
    places = round(share * 10**4)
    if share < 1:
        places = min(places, 9999)
    if share > 1:
        places = max(places, 10001)
    return f"{places // 10**4}.{places % 10**4:04}"
