"""The privacy of small instances: proved bounds of the cost over all neighbours.

A certificate bounds the pure cost from both sides.  The laws are those that the engine's noise has
with the calibration that the mechanisms use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from safeselect.accounting.rate import per_draw_epsilon
from safeselect.audit.cells import Enclosure, ranking_law
from safeselect.audit.certificate import Certificate, certify, neighbours
from safeselect.audit.finding import Refuted
from safeselect.audit.mechanisms import ONE_SHOT
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law
from safeselect.exact.rate import NoiseRate
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated
from safeselect.scores.reading import INTEGERS, Sensitivity


@dataclass(frozen=True, slots=True)
class Instance:
    """A mechanism with epsilon 1, whose cost is bounded over all neighbours of small scores.

    Args:
        noise: the noise of its ranking.
        k: how many candidates one draw chooses.
        gap: whether the gap to the runner-up is released.
        monotonic: selects the neighbours and the calibration.
    """

    noise: Law
    k: int
    gap: bool
    monotonic: bool

    @property
    def name(self) -> str:
        """For the table."""
        what = f"{self.noise.name} noise, top {self.k}" + (" with gap" if self.gap else "")
        return f"{what}, {'monotonic' if self.monotonic else 'general'}"

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms that rank so: by this noise, with gaps or without, for one or for two."""
        return tuple(
            name
            for name, case in ONE_SHOT.items()
            if (case.noise, case.gaps) == (self.noise.name, self.gap)
            and (min(case.k, 2) == self.k or self.gap or case.anew)
            and case.ordered
        )

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
        """Return the law as a function of scores, by the mechanisms' calibration."""
        change = Sensitivity.read(sensitivity=1, range_=None, monotonic=self.monotonic)
        range_in_steps = change.range_in_steps(INTEGERS)
        # Only Gumbel noise is peeled, in k draws; the others are one draw at k times the scale.
        family, draws = (BoundedRange, self.k) if self.noise is GUMBEL else (LaplaceDominated, 1)
        each = per_draw_epsilon(family, draws, epsilon=Fraction(1), delta=None, rho=None)
        noise_rate = NoiseRate(each / range_in_steps / (1 if self.noise is GUMBEL else self.k))

        @cache
        def shifted(scores: tuple[int, ...]) -> Enclosure:
            return ranking_law(
                self.noise, scores, noise_rate, k=self.k, gaps=6 * self.gap, fineness=fineness
            )

        return lambda scores: shifted(tuple(score - min(scores) for score in scores))


def instances() -> Iterator[Instance]:
    """Yield all combinations that the mechanisms use."""
    for noise in (EXPONENTIAL, GUMBEL, LAPLACE):
        for monotonic in (True, False):
            yield Instance(noise, 1, False, monotonic)
            yield Instance(noise, 1, True, monotonic)
            if noise is not LAPLACE:
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
