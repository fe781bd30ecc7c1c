"""Results as dicts, frames of pandas and polars, and plots; the libraries are imported when needed.

What goes in was released, so everything here is post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from safeselect.errors import ParameterError
from safeselect.scores.candidates import label_text
from safeselect.selection import Selection, Selections, TopSet

__all__ = ["plot", "plot_items", "to_dict", "to_pandas", "to_polars"]

_SHOWN = 50  # bars


def to_dict(result: Any) -> dict[str, list[Any]]:
    """Return the columns of a result, lists of equal length with an entry for each candidate.

    Columns: rank (1 is best; absent where the order is not private), label; index where positions
    are released; gap; count, low and high: a noisy count and its interval of 95 %.  `Selections`
    have the column row instead of gap and count, and lists by group the column group.

    Example:
        >>> from safeselect import top_k
        >>> top_k({"tea": 3, "rum": 2000}, k=1, epsilon=1, sensitivity=1).to_dict()
        {'rank': [1], 'label': ['rum']}
    """
    if isinstance(result, Selections):
        return _rows_of(result)
    if hasattr(result, "groups"):
        return _rows_of_groups(result)
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
    if (noise := getattr(result, "count_noise", None)) is not None:
        columns["count"] = list(result.counts)
        columns["low"] = [max(0, count - noise.within_95) for count in result.counts]
        columns["high"] = [max(0, count + noise.within_95) for count in result.counts]
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
    return _library("pandas", "pip install pandas").DataFrame(_columns(result))


def to_polars(result: Any) -> Any:
    """Return a polars DataFrame with the columns of `to_dict`.

    Raises:
        ParameterError: polars is not installed.
    """
    return _library("polars", "pip install polars").DataFrame(_columns(result))


def _columns(result: Any) -> dict[str, list[Any]]:
    """As `to_dict`, with labels that a frame can hold: all text, unless all are small integers."""
    columns = to_dict(result)
    small = all(type(label) is int and label.bit_length() < 64 for label in columns["label"])
    if not small:
        columns["label"] = [label_text(label) for label in columns["label"]]
    return columns


def plot(result: Any) -> Any:
    """Return a matplotlib Figure: labels, best on top; counts with intervals, or gaps, if any.

    Nothing is shown or written: call `savefig` of the figure.

    Raises:
        ParameterError: matplotlib is not installed.
    """
    columns = to_dict(result)
    return bars(
        f"{type(result).__name__}, {result.mechanism}",
        [
            " / ".join(ascii(label_text(part)).strip("'") for part in parts)
            for parts in zip(
                *(columns[name] for name in ("group", "label") if name in columns), strict=True
            )
        ],
        columns,
    )


def bars(title: str, names: list[str], columns: Mapping[str, list[Any]]) -> Any:
    """Return a figure of one bar for each name: its count with its interval, its gap, or a dot."""
    _library("matplotlib", "pip install 'safeselect[plots]'")
    figure_of = import_module("matplotlib.figure").Figure
    names = names[:_SHOWN]
    places = list(range(len(names), 0, -1))
    figure = figure_of(figsize=(7, 1.2 + 0.28 * max(1, len(names))), layout="constrained")
    axes = figure.subplots()
    if "count" in columns:
        counts, high = columns["count"][:_SHOWN], columns["high"][:_SHOWN]
        low = columns["low"][:_SHOWN]
        width = [
            [max(0, count - least) for count, least in zip(counts, low, strict=True)],
            [max(0, most - count) for count, most in zip(counts, high, strict=True)],
        ]
        axes.barh(places, counts, xerr=width, color="#8fb0d9", ecolor="#000000", capsize=2)
        axes.set_xlabel("users, with noise; interval of 95 %")
    elif "gap" in columns:
        axes.barh(places, columns["gap"][:_SHOWN], color="#8fb0d9")
        axes.set_xlabel("lead over the next, with noise")
    else:
        axes.plot([0] * len(names), places, "o", color="#2b5c9e")
        axes.set_xticks([])
    axes.set_yticks(places, names)
    axes.set_title(title, fontsize=9)
    return figure


def plot_items(plans: Any) -> Any:
    """Return a figure: how many users an item needs to show, against epsilon, on log scales."""
    _library("matplotlib", "pip install 'safeselect[plots]'")
    figure = import_module("matplotlib.figure").Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    columns = plans.to_dict()
    axes.loglog(
        [float(each) for each in columns["epsilon"]], columns["users"], "o-", color="#2b5c9e"
    )
    axes.set_xlabel("epsilon")
    axes.set_ylabel("users that an item needs to show")
    axes.set_title(str(plans).partition("\n")[0], fontsize=9)
    return figure


def _library(name: str, install: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        pass
    raise ParameterError(f"this needs {name}: {install}")
