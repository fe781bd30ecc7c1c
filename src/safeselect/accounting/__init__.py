"""Composition of guarantees, and the noise rate that a total allows.

A name is loaded when it is asked for: a release without delta runs `cost` alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safeselect.accounting.composition import Composition, calibrate, compose, compose_delta
    from safeselect.accounting.gaussian import GaussianDP
    from safeselect.accounting.laws import DiscreteGaussian, DiscreteLaplace, RandomizedResponse
    from safeselect.accounting.repetition import PoissonRepeated, Repeated

__all__ = ["Composition", "DiscreteGaussian", "DiscreteLaplace", "GaussianDP", "PoissonRepeated"]
__all__ += ["RandomizedResponse", "Repeated", "calibrate", "compose", "compose_delta"]
_HOMES = {
    "composition": ("Composition", "calibrate", "compose", "compose_delta"),
    "gaussian": ("GaussianDP",),
    "laws": ("DiscreteGaussian", "DiscreteLaplace", "RandomizedResponse"),
    "repetition": ("PoissonRepeated", "Repeated"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
