"""Guarantees as events of dp-accounting: `safeselect[dp-accounting]`.

    accountant = RdpAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dp_events(best.parts, accountant="rdp")).get_epsilon(1e-6)

Each event is a mechanism whose outputs on neighbours are at least as distinguishable as ours:

| guarantee | Rényi accountant ("rdp") | privacy loss distributions ("pld") |
|---|---|---|
| BoundedRange(e) | `ZCDpEvent`, rho rounded up | `LaplaceDpEvent`, of scale 1 / e rounded down |
| LaplaceDominated(e) | `LaplaceDpEvent`; `ZCDpEvent` for e < 2**-20 | `LaplaceDpEvent` |
| PureDP(e) | `ZCDpEvent`, e tanh(e / 2) rounded up | `DiscreteLaplaceDpEvent(e, 1)` |
| ZeroConcentratedDP(rho) | `ZCDpEvent`, rho rounded up | refused: no pair of laws dominates it |
| ApproximateDP | refused | refused |

- An event given to the other accountant is either right there too or refused by it.
- Both accountants count an event that happens n times as n events; tests check it.
- The accountants calculate in floating point and certify no digit; `compose` does.
- An event says nothing about neighbours: give the accountant the relation for which the
  sensitivity was computed.  For `REPLACE_ONE` the "pld" accountant refuses Laplace noise.
- Do not wrap an event into a sampling event: no theorem of ours covers that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from importlib import import_module
from typing import Any, Literal

from safeselect.adapters._floats import at_least, at_most
from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe
from safeselect.promises.guarantees import (
    ApproximateDP,
    Guarantee,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)

__all__ = ["dp_event", "dp_events"]

# Below this, the Rényi divergence of Laplace noise, about order * epsilon**2 / 2, is a difference
# of much larger numbers, and floats keep few of its digits.
_CANCELS = Fraction(1, 2**20)
# Beyond this, the accountants' exponentials leave the range of floats.
_LARGEST = 256


def dp_event(guarantee: Guarantee, *, accountant: Literal["rdp", "pld"]) -> Any:
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
    if not isinstance(guarantee, Guarantee):
        raise ParameterError(f"guarantee must be a guarantee, got {describe(guarantee)}")
    if not isinstance(accountant, str) or accountant not in ("rdp", "pld"):
        raise ParameterError(f"accountant must be 'rdp' or 'pld', got {describe(accountant)}")
    events = _events()
    if isinstance(guarantee, ApproximateDP):
        raise ParameterError(
            "an ApproximateDP guarantee has no event: nothing bounds its losses beyond epsilon; "
            "pass the parts that it is made of"
        )
    size = guarantee.rho if isinstance(guarantee, ZeroConcentratedDP) else guarantee.epsilon
    if size > _LARGEST:
        raise ParameterError(f"epsilon and rho must be at most {_LARGEST} to be an event")
    if not size:
        return events.NoOpDpEvent()
    if accountant == "rdp":
        if isinstance(guarantee, LaplaceDominated) and size >= _CANCELS:
            return events.LaplaceDpEvent(noise_multiplier=_noise_multiplier(size))
        return events.ZCDpEvent(rho=at_least(guarantee.zcdp.rho))
    if isinstance(guarantee, ZeroConcentratedDP):
        raise ParameterError(
            "a ZeroConcentratedDP guarantee has no event for accountant='pld'; use 'rdp'"
        )
    if isinstance(guarantee, PureDP):
        return events.DiscreteLaplaceDpEvent(noise_parameter=at_least(size), sensitivity=1)
    return events.LaplaceDpEvent(noise_multiplier=_noise_multiplier(size))


def dp_events(guarantees: Iterable[Guarantee], *, accountant: Literal["rdp", "pld"]) -> Any:
    """Return one event for a list of guarantees fixed in advance, such as `best.parts`.

    Raises:
        ParameterError: as for `dp_event`, for any of them; or guarantees is not a list.
    """
    if not isinstance(guarantees, Iterable):
        raise ParameterError(f"guarantees must be a list, got {describe(guarantees)}")
    counted: Counter[Guarantee] = Counter()
    for guarantee in guarantees:
        if not isinstance(guarantee, Guarantee):
            raise ParameterError(f"guarantees must be guarantees, got {describe(guarantee)}")
        counted[guarantee] += 1
    events = _events()
    return events.ComposedDpEvent(
        [
            events.SelfComposedDpEvent(dp_event(each, accountant=accountant), count)
            for each, count in counted.items()
        ]
    )


def _noise_multiplier(epsilon: Fraction) -> float:
    """Return a float scale whose float inverse is at least epsilon."""
    scale = at_most(1 / epsilon)
    while Fraction(1 / scale) < epsilon:
        scale = math.nextafter(scale, 0)
    return scale


def _events() -> Any:
    try:
        return import_module("dp_accounting.dp_event")
    except ImportError:
        raise ParameterError(
            "events need dp-accounting: pip install 'safeselect[dp-accounting]'"
        ) from None
