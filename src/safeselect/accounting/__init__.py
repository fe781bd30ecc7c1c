"""Composition of guarantees, and the noise rate that a total allows.

A name is loaded when it is asked for: a release without delta runs `cost` alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safeselect.accounting.composition import (
        Composition,
        compose,
        compose_delta,
        composed_epsilon,
    )
    from safeselect.accounting.gaussian import GaussianDP
    from safeselect.accounting.laws import DiscreteGaussian, DiscreteLaplace, RandomizedResponse
    from safeselect.accounting.pure import optimal_pure_delta
    from safeselect.accounting.rate import calibrate, per_draw_epsilon
    from safeselect.accounting.repetition import PoissonRepeated, Repeated

__all__ = [
    "Composition",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "GaussianDP",
    "PoissonRepeated",
    "RandomizedResponse",
    "Repeated",
    "calibrate",
    "compose",
    "compose_delta",
    "composed_epsilon",
    "optimal_pure_delta",
    "per_draw_epsilon",
]
_HOMES = {
    "composition": ("Composition", "compose", "compose_delta", "composed_epsilon"),
    "gaussian": ("GaussianDP",),
    "laws": ("DiscreteGaussian", "DiscreteLaplace", "RandomizedResponse"),
    "pure": ("optimal_pure_delta",),
    "rate": ("calibrate", "per_draw_epsilon"),
    "repetition": ("PoissonRepeated", "Repeated"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
