"""Exact numbers on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction

from safeselect._exact import rational
from safeselect.errors import ParameterError

__all__ = ["number"]


def number(name: str, below: int | None = None) -> Callable[[str], Fraction]:
    """A reader of a positive rational for argparse."""

    def read(text: str) -> Fraction:
        try:
            return rational(text, name, below=below)
        except ParameterError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read
