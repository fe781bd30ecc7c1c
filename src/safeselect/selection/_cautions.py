"""Parameters that are legal and almost surely a mistake: one sentence each, about parameters only.

A warning comes before anything is charged or drawn, so that whoever turns warnings into errors
loses nothing.
"""

from __future__ import annotations

import inspect
import warnings
from fractions import Fraction

from safeselect.errors import SafeSelectWarning
from safeselect.exact.parameters import rational
from safeselect.promises.records import brief

__all__ = ["caution", "read_epsilon", "warn_delta"]

_LARGE = 10  # nats


def caution(sentence: str) -> None:
    """Warn, in the name of the line outside this package that led here."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "safeselect":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, SafeSelectWarning, stacklevel=level)


def read_epsilon(epsilon: object) -> Fraction:
    """Read the total epsilon of a call or a session; warn if it is above 10.

    Raises:
        ParameterError: it is not a positive number.
    """
    value = rational(epsilon, "epsilon")
    if value > _LARGE:
        caution(
            f"epsilon={brief(value)} is above {_LARGE}: one person's data may make an outcome more "
            "than 20000 times as likely, which protects nobody"
        )
    return value


def warn_delta(delta: Fraction, rows: int) -> None:
    """Warn if delta is above one over the number of rows that the caller stated."""
    if delta * rows > 1:
        caution(
            f"delta={brief(delta)} is above 1/{rows}, one over the number of rows: it would allow "
            "to show somebody's data outright; choose it far below"
        )
