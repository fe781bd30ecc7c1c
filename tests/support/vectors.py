"""Published numbers and those of other programs: the files of `tests/vectors`."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath


def vectors(name: str) -> Any:
    """What a file of this name holds."""
    return json.loads((Path(__file__).parents[1] / "vectors" / f"{name}.json").read_text("utf-8"))


def mp(value: Fraction | str) -> mpmath.mpf:
    """An exact number, in the precision of mpmath."""
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator
