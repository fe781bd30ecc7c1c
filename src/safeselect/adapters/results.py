"""Results as dicts and frames of pandas and polars; the libraries are imported when needed.

What goes in was released, so everything here is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

from safeselect.errors import ParameterError
from safeselect.mechanisms.keys import SelectedPartitions
from safeselect.mechanisms.measure import Measurement
from safeselect.mechanisms.quantiles import Quantiles
from safeselect.scores.candidates import label_text

__all__ = ["to_dict", "to_pandas", "to_polars"]


def to_dict(result: Any) -> dict[str, list[Any]]:
    """Return the columns of a result, lists of equal length with an entry for each candidate."""
    if hasattr(result, "groups"):
        return _rows_of_groups(result)
    if isinstance(result, Measurement):
        names = range(len(result)) if result.labels is None else result.labels
        near = result.within_95
        return {
            "label": [*names],
            "value": list(result.values),
            "low": [value - near for value in result.values],
            "high": [value + near for value in result.values],
        }
    if isinstance(result, Quantiles):
        return {
            "quantile": [float(each) for each in result.quantiles],
            "value": list(result.values),
        }
    if isinstance(result, SelectedPartitions):
        # In the order of their names, which is no rank.
        named: dict[str, list[Any]] = {"label": list(result.labels)}
        return _with_counts(named, result.counts, result.noise_95 or (0, 0))
    labels = list(result.labels)
    columns: dict[str, list[Any]] = {"rank": [*range(1, len(labels) + 1)], "label": labels}
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


def _rows_of_groups(result: Any) -> dict[str, list[Any]]:
    names = ["group", "rank", "label"] + ["count", "low", "high"] * (result.counts is not None)
    columns: dict[str, list[Any]] = {name: [] for name in names}
    width = 0 if result.count_noise is None else result.count_noise.within_95
    for place, (group, labels) in enumerate(zip(result.groups, result.labels, strict=True)):
        for rank, label in enumerate(labels):
            values = [group, rank + 1, label]
            if result.counts is not None:
                count = result.counts[place][rank]
                values += [count, max(0, count - width), max(0, count + width)]
            for name, value in zip(names, values, strict=True):
                columns[name].append(value)
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
