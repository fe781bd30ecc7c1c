"""Guarantees as events of dp-accounting (the extra `dp-accounting`).

    accountant = RdpAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dp_events(best.parts, accountant="rdp")).get_epsilon(1e-6)

The best of both is a whole list as one loss distribution, worked out here and composed there:

    ours = dp_pld(best.parts, "1e-4")
    ours.compose(from_gaussian_mechanism(5.0)).get_epsilon_for_delta(1e-6)

Each event stands for a mechanism that is at least as easy to tell from its neighbour as ours is:

| guarantee | Rényi accountant ("rdp") | privacy loss distributions ("pld") |
|---|---|---|
| BoundedRange(e) | `ZCDpEvent`, rho rounded up | `LaplaceDpEvent`, of scale 1 / e rounded down |
| LaplaceDominated(e) | `LaplaceDpEvent`; `ZCDpEvent` for e < 2**-20 | `LaplaceDpEvent` |
| PureDP(e) | `ZCDpEvent`, e tanh(e / 2) rounded up | `DiscreteLaplaceDpEvent(e, 1)` |
| ZeroConcentratedDP(rho) | `ZCDpEvent`, rho rounded up | refused: no pair of laws dominates it |
| GaussianDP(m) | `GaussianDpEvent`, 1 / sqrt(m) rounded down | the same |
| ApproximateDP | refused | refused |

- An event handed to the other accountant is either right there too or refused by it.
- How often an event happens counts, in both, as that many events do; the tests make sure.
- The accountants calculate in floating point and certify no digit; `compose` does.
- An event says nothing about neighbours: use the accountant's relation for which the sensitivity
  was worked out.  For `REPLACE_ONE` the accountant of loss distributions refuses Laplace noise.
- No event is meant to be wrapped into one for sampling: no theorem of ours covers that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from safeselect.accounting.composition import Accounted, read_parts, without_deltas
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.laws import KnownLaw
from safeselect.accounting.moments import Repetition, size
from safeselect.accounting.optimum.certified import dominating_masses
from safeselect.accounting.optimum.problem import Part
from safeselect.accounting.repetition import AnyGuarantee
from safeselect.accounting.sums import deltas_of, sum_of_deltas
from safeselect.adapters._numbers import at_least, at_most
from safeselect.errors import ParameterError
from safeselect.estimates.explain import decimal
from safeselect.exact.interval import Interval, rounded_down
from safeselect.exact.parameters import as_float, describe, rational, read_choice
from safeselect.promises.guarantees import (
    ApproximateDP,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)
from safeselect.release.display import library

__all__ = ["dp_event", "dp_events", "dp_pld"]

# Below this the Rényi divergence of Laplace noise, about order * epsilon**2 / 2, is the difference
# of numbers so much larger that floats keep few of its digits.
_CANCELS = Fraction(1, 2**20)
# Beyond this the exponentials of the accountants leave the range of floats.
_LARGEST = 256
# Of a loss distribution, sums of epsilons (of mu squared) in intervals.
_MOST_LOSSES = 2**22


def dp_event(guarantee: Accounted, *, accountant: Literal["rdp", "pld"]) -> Any:
    """Return an event that costs at least what the guarantee allows.

    Guarantee: for "pld" of pure guarantees, the discrete Laplace law moved by one step has the
        same losses as randomized response, which dominates (Kairouz, Oh and Viswanath 2015); a
        bounded range is Laplace-dominated.  For "rdp", the theorems of the guarantee's `zcdp`.

    Args:
        guarantee: of one release, such as `selection.guarantee`.
        accountant: "rdp" for `RdpAccountant`, "pld" for `PLDAccountant`.

    Raises:
        ParameterError: no event of this accountant is proved to cover the guarantee, its epsilon
            is above 256, or dp-accounting is not installed.
    """
    if not isinstance(guarantee, AnyGuarantee):
        raise ParameterError(f"guarantee must be one of a release, got {describe(guarantee)}")
    read_choice(accountant, "accountant", ("rdp", "pld"))
    events = _library("dp_accounting.dp_event")
    if isinstance(guarantee, ApproximateDP):
        raise ParameterError(
            "an ApproximateDP guarantee has no event, because its privacy loss can be unbounded; "
            "if no part of the release has such a guarantee, call dp_event for each part"
        )
    if isinstance(guarantee, Repetition):
        guarantee = guarantee.single
    cost = size(guarantee)
    if cost > _LARGEST:
        raise ParameterError(f"epsilon, rho or mu**2 of the guarantee must be at most {_LARGEST}")
    if not cost:
        return events.NoOpDpEvent()
    if isinstance(guarantee, GaussianDP):
        inverse = rounded_down(lambda bits: (Interval.of(1 / cost, bits)).sqrt())
        return events.GaussianDpEvent(noise_multiplier=at_most(inverse))
    if accountant == "rdp":
        if isinstance(guarantee, LaplaceDominated) and cost >= _CANCELS:
            return events.LaplaceDpEvent(noise_multiplier=_noise_multiplier(cost))
        return events.ZCDpEvent(rho=at_least(guarantee.zcdp.rho))
    if isinstance(guarantee, ZeroConcentratedDP):
        raise ParameterError("no PLD event covers ZeroConcentratedDP; use accountant='rdp'")
    if isinstance(guarantee, PureDP):
        return events.DiscreteLaplaceDpEvent(noise_parameter=at_least(cost), sensitivity=1)
    return events.LaplaceDpEvent(noise_multiplier=_noise_multiplier(cost))


def dp_events(guarantees: Iterable[Accounted], *, accountant: Literal["rdp", "pld"]) -> Any:
    """Return one event for a list of guarantees fixed in advance, such as `best.parts`.

    Raises:
        ParameterError: as for `dp_event`, for any of them; or not a list.
    """
    events = _library("dp_accounting.dp_event")
    event_of = partial(dp_event, accountant=accountant)
    counted = ((event_of(each), count) for each, count in read_parts(guarantees))
    return events.ComposedDpEvent([events.SelfComposedDpEvent(*each) for each in counted])


def dp_pld(guarantees: Iterable[Accounted], interval: object, *, delta: object = "1e-12") -> Any:
    """Return one `PrivacyLossDistribution` that dominates a list fixed in advance, all at once.

    Ranges are worth more together than one by one: they are at their adaptive optimum.  The result
    may be composed with any other distribution on the same interval, and is symmetric.

        dp_pld([BoundedRange("0.1")] * 16, "1e-4").get_epsilon_for_delta(1e-6)

    Guarantee: dominates for every adaptive order (`docs/mathematics.md`, Lemmas 14.3 and 14.4); the
        masses are rounded up to floats.  What dp-accounting computes from them is not certified.

    Args:
        guarantees: PureDP, LaplaceDominated, BoundedRange, GaussianDP, ApproximateDP or one of the
            known laws of `safeselect.accounting`, such as `best.parts`.
        interval: distance of two losses, the same as that of other distributions; positive.
        delta: the smallest that will be asked for; tails far below it become an infinite loss.

    Raises:
        ParameterError: no pair dominates a guarantee (ZeroConcentratedDP), a parameter is wrong,
            the losses are too many for the interval or too large, or dp-accounting is missing.
    """
    if not 0 < (spacing := as_float(rational(interval, "interval"))) < math.inf:
        raise ParameterError("interval must be within the range of floats, such as '1e-4'")
    step = Fraction(spacing)
    smallest = rational(delta, "delta", below=1)
    parts, infinite = _pairs(guarantees)
    sizes = ((p.size if isinstance(p, KnownLaw) else size(p)) * count for p, count in parts)
    losses = sum(sizes, Fraction(0))
    if losses > step * _MOST_LOSSES:
        raise ParameterError(
            f"the privacy losses add up to about {decimal(losses)}, over {_MOST_LOSSES} times the "
            "interval; use a larger interval"
        )
    library = _library("dp_accounting.pld.privacy_loss_distribution")
    pmf = _library("dp_accounting.pld.pld_pmf")
    masses = dominating_masses(parts, step, smallest)
    scale = 1 << masses.bits
    if sum(map(int, masses.weights)) > scale + (scale >> 16):  # no distribution, so no delta
        raise ParameterError(
            "the privacy losses of the known laws are too large to be computed here; pass the "
            "`pure` guarantee of each law that has one"
        )
    probabilities = [at_least(Fraction(int(weight), scale)) for weight in masses.weights]
    infinite = 1 - (1 - infinite) * (1 - min(Fraction(1), Fraction(int(masses.infinite), scale)))
    return library.PrivacyLossDistribution(
        pmf.DensePLDPmf(
            float(step), masses.first, np.array(probabilities, np.float64), at_least(infinite), True
        )
    )


def _pairs(guarantees: Iterable[Accounted]) -> tuple[list[tuple[Part, int]], Fraction]:
    """Parts that a pair dominates, and the chance that the others break their promise."""
    given = read_parts(guarantees)
    parts = [(each.single if isinstance(each, Repetition) else each, n) for each, n in given]
    kept: list[tuple[Part, int]] = []
    for part, count in without_deltas(parts):
        if isinstance(part, (ZeroConcentratedDP, ApproximateDP, Repetition)):
            raise ParameterError(
                f"no dominating pair of distributions is known for {describe(part)}; use "
                "dp_event(..., accountant='rdp') instead"
            )
        kept.append((part, count))
    return kept, sum_of_deltas(deltas_of(parts))


def _noise_multiplier(epsilon: Fraction) -> float:
    """A scale whose inverse, as floats divide, is at least epsilon."""
    scale = at_most(1 / epsilon)
    while Fraction(1 / scale) < epsilon:
        scale = math.nextafter(scale, 0)
    return scale


_library = partial(library, extra="dp-accounting")
