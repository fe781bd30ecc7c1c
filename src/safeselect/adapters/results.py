"""Results as dicts and frames of pandas and polars; the libraries are imported when needed.

What goes in was released, so everything here is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

from safeselect.errors import ParameterError
from safeselect.release.results import Release
from safeselect.scores.candidates import label_text
from safeselect.selection import Selection, Selections, TopSet

__all__ = ["to_dict", "to_pandas", "to_polars"]


def to_dict(result: Any) -> dict[str, list[Any]]:
    """Return the columns of a result, lists of equal length with an entry for each candidate.

    Columns: rank (1 is best; absent where the order is not private), label; index where positions
    are released; gap; count, low and high: a noisy count and its interval of 95 %.  `Selections`
    have the column row instead of gap and count, and lists by group the column group.  Measurements
    have label (a position, without labels), value, low and high; quantiles have quantile and value.

    Example:
        >>> from safeselect import top_k
        >>> top_k({"tea": 3, "rum": 2000}, k=1, epsilon=1, sensitivity=1).to_dict()
        {'rank': [1], 'label': ['rum']}
    """
    if isinstance(result, Release):
        return result.to_dict()
    if isinstance(result, Selections):
        return _rows_of(result)
    if isinstance(result, Selection):
        columns: dict[str, list[Any]] = {"rank": [1], "label": [result.label]}
        columns |= {} if result.index is None else {"index": [result.index]}
        return columns if result.gap is None else columns | {"gap": [float(result.gap)]}
    if isinstance(result, TopSet):
        # Labels and positions of a set have no common order, so only the labels are told.
        return {"label": sorted(result.labels, key=label_text)}
    labels = list(result.labels)
    columns = {"rank": list(range(1, len(labels) + 1)), "label": labels}
    if (indices := getattr(result, "indices", None)) is not None:
        columns["index"] = list(indices)
    if (gaps := getattr(result, "gaps", None)) is not None:
        columns["gap"] = [float(gap) for gap in gaps]
    counted = getattr(result, "count_noise", None)
    width = 0 if counted is None else counted.within_95
    return _with_counts(columns, getattr(result, "counts", None), (-width, width))


def _with_counts(
    columns: dict[str, list[Any]], counts: Sequence[int] | None, noise: tuple[int, int]
) -> dict[str, list[Any]]:
    """Add the counts, and their intervals for noise that lies between these numbers."""
    if counts is None:
        return columns
    low, high = noise
    columns["count"] = list(counts)
    columns["low"] = [max(0, count - high) for count in counts]
    columns["high"] = [max(0, count - low) for count in counts]
    return columns


def _rows_of(result: Selections[Any]) -> dict[str, list[Any]]:
    many = result.winners.ndim == 2
    columns: dict[str, list[Any]] = {"row": [], "rank": [], "label": []}
    for row, found in enumerate(result.labels):
        for rank, label in enumerate(found if many else [found], 1):
            for name, value in (("row", row), ("rank", rank), ("label", label)):
                columns[name].append(value)
    if result.indices is not None:
        columns["index"] = result.indices.ravel().tolist()
    return columns


def to_pandas(result: Any) -> Any:
    """Return a pandas DataFrame with the columns of `to_dict`.

    Raises:
        ParameterError: pandas is not installed.
    """
    return library("pandas", "pip install pandas").DataFrame(_columns(result))


def to_polars(result: Any) -> Any:
    """Return a polars DataFrame with the columns of `to_dict`.

    Raises:
        ParameterError: polars is not installed.
    """
    return library("polars", "pip install polars").DataFrame(_columns(result))


def _columns(result: Any) -> dict[str, list[Any]]:
    """As `to_dict`, in columns that a frame can hold.

    Labels are all text, unless all are small integers, and so are other integers; fractions are
    floats.
    """
    columns = to_dict(result)
    for name, values in columns.items():
        small = all(type(each) is not int or each.bit_length() < 64 for each in values)
        if not small or (name == "label" and any(type(each) is not int for each in values)):
            columns[name] = [label_text(each) for each in values]
        elif any(isinstance(each, Fraction) for each in values):
            columns[name] = [float(each) for each in values]
    return columns


def library(name: str, install: str) -> Any:
    """Import a library, or say how it is installed."""
    try:
        return import_module(name)
    except ImportError:
        pass
    raise ParameterError(f"this needs {name}: {install}")
