"""Releases for readers: one line for people, frames of pandas and polars, and numbers for people.

What goes in was released, so everything here is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any

from safeselect.errors import ParameterError
from safeselect.exact.parameters import as_float
from safeselect.promises.guarantees import STATED
from safeselect.scores.candidates import label_text

_SHOWN = 10  # labels
_DIGITS = 20  # of an exact parameter
_LONGEST = 40  # characters of a label
_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


def line(release: Any) -> str:
    """A release in one line: the first labels, what it cost, the mechanism, and a receipt.

    Labels are text in quotes, without control characters, and cut where they are long.  The source
    has none, either: whoever wrote the release may have chosen it.
    """
    columns = release.to_dict()
    named = [columns[name] for name in ("value", "label") if name in columns]
    labels = getattr(release, "groups", None) or [*named, *columns.values()][0]
    shown = ", ".join(map(cut, labels[:_SHOWN]))
    shown += f", ... {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else ""
    guarantee, source = release.guarantee, ascii(release.source)[1:-1]
    numbers = (_parameter(each.name, getattr(guarantee, each.name)) for each in fields(guarantee))
    cost = f"{type(guarantee).__name__}({', '.join(numbers)})"
    marked = f", {source}" if "NOT PRIVATE" in source else ""
    if release.mechanism.startswith(STATED):
        marked = f", guarantee stated by the caller{marked}"
    kept = "" if release.receipt is None else f", record {release.receipt.record}"
    return f"<{type(release).__name__} [{shown}], {cost}, {release.mechanism}{marked}{kept}>"


def _parameter(name: str, value: object) -> str:
    """A parameter of a guarantee: exact where that is short, otherwise rounded up."""
    if isinstance(value, Fraction) and len(label_text(value)) > _DIGITS:
        return f"{name}<={number(value, ROUND_CEILING, 3)}"
    return f"{name}={value}"


def cut(label: object, quoted: Callable[[str], str] = ascii) -> str:
    """A label as text in quotes, without control characters, and cut where it is long."""
    written = label_text(label)
    return cut_text(written if isinstance(label, int) else quoted(written))


def cut_text(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def frame(name: str, columns: dict[str, list[Any]]) -> Any:
    """Columns as a frame of a library.

    Labels are all text, unless all are small integers, and so are other integers; fractions are
    floats, infinite beyond the largest.  Lone surrogates, which no frame holds, are escaped.

    Raises:
        ParameterError: the library is not installed.
    """
    for key, cells in columns.items():
        named = key in ("label", "group")
        if any(each.bit_length() > 63 if type(each) is int else named for each in cells):
            columns[key] = [label_text(x).encode(errors="backslashreplace").decode() for x in cells]
        elif any(isinstance(each, Fraction) for each in cells):
            columns[key] = [as_float(each) for each in cells]
    return library(name).DataFrame(columns)


PUBLISHED = False
"""Whether the package index has safeselect: on that day messages name it, and not a checkout."""


def library(name: str, extra: str = "") -> Any:
    """Import a library, or say how to install it: by an extra of this package, or alone.

    Raises:
        ParameterError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        pass
    missing = name.partition(".")[0]
    ours = f"'{'safeselect' if PUBLISHED else '.'}[{extra}]'" if extra else missing
    where = " in a checkout of safeselect" if extra and not PUBLISHED else ""
    raise ParameterError(f"the package {missing} is required; run pip install {ours}{where}")


def number(value: Fraction | Decimal, rounding: str = ROUND_HALF_EVEN, digits: int = 6) -> str:
    """A decimal for people: exact where six digits are enough, otherwise of so many digits."""
    above, below = map(Decimal, value.as_integer_ratio())
    exact = Context(prec=6).divide(above, below)
    written = Context(prec=digits, rounding=rounding).divide(above, below)
    chosen = (exact if Fraction(exact) == value else written).normalize(Context(prec=6))
    return f"{chosen:{'f' if -5 < chosen.adjusted() < 9 else 'e'}}"


def with_places(value: Fraction, places: int, *, down: bool = False) -> str:
    """A number with so many digits after the point at most, rounded up, or down."""
    scaled = value * 10**places // 1 if down else -(-value * 10**places // 1)
    whole, rest = divmod(int(scaled), 10**places)
    return f"{label_text(whole)}.{rest:0{places}}".rstrip("0").rstrip(".")


def bound(name: str, value: Fraction) -> str:
    """What a parameter of a guarantee is, or is at most, such as "ε ≤ 2.15"."""
    written = number(value, ROUND_CEILING, 3)
    return f"{_SYMBOLS.get(name, name)} {'=' if Fraction(written) == value else '≤'} {written}"


def cost(guarantee: object) -> str:
    """The parameters of a guarantee for people, each rounded up."""
    found = ((each.name, getattr(guarantee, each.name)) for each in fields(guarantee))  # type: ignore[arg-type]  # mypy does not know that it is a dataclass
    bounds = [bound(name, value) for name, value in found if isinstance(value, Fraction)]
    return ", ".join(bounds) or type(guarantee).__name__
