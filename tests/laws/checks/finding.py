"""A check, and the exception of one that finds something wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FULL, QUICK = 1, 8
"""Efforts: one in this many places is examined."""


class Refuted(Exception):
    """A check found a counterexample: the code on this machine does not do what is claimed."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Args:
        name: with the mechanism's name and ": " before it, if it is of one.
        aspect: few or joint.
        examine: looks at an effort; raises `Refuted`.
    """

    name: str
    aspect: str
    examine: Callable[[int], None]
