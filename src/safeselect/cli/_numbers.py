"""Exact numbers on the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from fractions import Fraction

from safeselect.errors import ParameterError
from safeselect.exact.parameters import rational

__all__ = ["count", "number"]


def number(name: str, below: int | None = None, *, zero: bool = False) -> Callable[[str], Fraction]:
    """Return a reader of a positive rational for argparse; with `zero`, of zero too."""

    def read(text: str) -> Fraction:
        try:
            return rational(text, name, below=below, zero=zero)
        except ParameterError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def count(text: str) -> int:
    """Read a positive integer of at most nine digits for argparse."""
    if not re.fullmatch("[1-9][0-9]{0,8}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"must be a positive integer, got {text!r}")
    return int(text)
