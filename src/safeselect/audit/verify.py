"""All checks of the package on the machine where it runs, as `safeselect verify` does them.

There are four kinds, from the bits upward; each relies on the kinds before it:

- samplers: the tree of random bits of every scalar sampler, against integer series (claim C1);
- noise: quantiles, tables and decisions of the array engine, against integer series (C1);
- privacy: certified bounds of the cost over all neighbours of small instances (C2);
- releases: public calls with the source of this machine, against the certified laws (C1, C2).

The checks certify small instances on the given interpreter and libraries, under independent uniform
bits.  They do not cover memory faults and running time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

from safeselect.accounting import per_draw_epsilon
from safeselect.audit.cells import Enclosure, ranking_law
from safeselect.audit.certificate import certify, neighbours
from safeselect.audit.finding import Refuted
from safeselect.audit.noise import (
    LAWS,
    check_decision,
    check_fine_table,
    check_quantiles,
    check_thresholds,
)
from safeselect.audit.partitions import partition_tables
from safeselect.audit.primitives import check_primitive, primitives
from safeselect.audit.releases import check_releases, releases
from safeselect.exact.rate import NoiseRate
from safeselect.noise.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated
from safeselect.scores.reading import INTEGERS, Sensitivity

__all__ = ["FULL", "QUICK", "Check", "Finding", "Instance", "checks", "found", "instances", "run"]

QUICK, FULL = 8, 1
"""Efforts: one in this many places is examined."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Args:
        kind: samplers, noise, privacy or releases.
        name: what is checked.
        claim: the claim of SECURITY.md that it supports.
        examine: effort -> a text of what was examined; raises `Refuted`.
    """

    kind: str
    name: str
    claim: str
    examine: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: `passed`, and what was examined or what is wrong."""

    check: Check
    passed: bool
    detail: str


def run(effort: int) -> Iterator[Finding]:
    """Run all checks, one after another.

    Reveals: nothing private; all inputs are made up.
    """
    for check in checks():
        yield found(check, effort)


def found(check: Check, effort: int) -> Finding:
    """Run one check; its result or its error becomes a finding."""
    try:
        return Finding(check, True, check.examine(effort))
    except Refuted as error:
        return Finding(check, False, str(error))
    except Exception as error:  # noqa: BLE001 - on a broken copy anything may fail
        return Finding(check, False, f"ended with {type(error).__name__}")


def checks() -> Iterator[Check]:
    """Yield all checks, in the order in which they build on one another."""
    for primitive in primitives():
        yield Check("samplers", primitive.name, "C1", partial(check_primitive, primitive))
    for law in LAWS:
        yield Check("noise", f"{law.name}: quantiles", "C1", partial(check_quantiles, law))
        yield Check("noise", f"{law.name}: word bounds", "C1", partial(check_thresholds, law))
        yield Check("noise", f"{law.name}: fine table", "C1", partial(check_fine_table, law))
        yield Check("noise", f"{law.name}: decisions", "C1", partial(check_decision, law))
    for instance in instances():
        yield Check("privacy", instance.name, "C2", instance.examine)
    for table in partition_tables():
        yield Check("privacy", table.name, "C2", table.examine)
    for release in releases():
        yield Check("releases", release.name, "C1", partial(check_releases, release))


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

    def examine(self, effort: int) -> str:
        """Bound the cost from both sides.

        Raises:
            Refuted: some pair costs more than 1, or the bounds are too far apart to tell.
        """
        full = effort == FULL
        size, top = (3, 3) if full and not self.gap else (3, 1) if self.k > 1 or full else (2, 2)
        fineness = 7 if full or self.gap else 6
        tolerance = Fraction(1, 8) if self.gap and full else Fraction(1, 15)
        certificate = certify(
            self.law(fineness), neighbours(size, top, monotonic=self.monotonic), Fraction(1)
        )
        bounds = f"{_decimal(certificate.at_least)} .. {_decimal(certificate.at_most)}"
        if certificate.refuted:
            raise Refuted(f"costs {bounds}, and 1 is claimed")
        if not certificate.holds(tolerance):
            raise Refuted(f"costs {bounds}, too wide to certify 1")
        return f"epsilon {bounds} of 1, {certificate.pairs} pairs"

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


def _decimal(value: Fraction) -> str:
    thousandths = round(value * 1000)
    return f"{thousandths // 1000}.{thousandths % 1000:03}"
