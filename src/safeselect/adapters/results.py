"""Results as dicts, frames of pandas and polars, and plots; the libraries are imported when needed.

What goes in was released, so everything here is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

from safeselect.accounting.cost import rounded_text
from safeselect.errors import InputError, ParameterError
from safeselect.grid_quantiles import Quantiles
from safeselect.measurements import Measurement
from safeselect.partitions import SelectedPartitions
from safeselect.scores.candidates import label_text
from safeselect.selection import Selection, Selections, TopSet

__all__ = [
    "plot",
    "plot_groups",
    "plot_items",
    "plot_path",
    "save_plot",
    "to_dict",
    "to_pandas",
    "to_polars",
]

_PLOTS = "pip install 'safeselect[plots]'"
_SHOWN = 200  # bars
_LONGEST = 40  # characters of a name


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
    if isinstance(result, Selections):
        return _rows_of(result)
    if hasattr(result, "groups"):
        return _rows_of_groups(result)
    if isinstance(result, Selection):
        columns: dict[str, list[Any]] = {"rank": [1], "label": [result.label]}
        columns |= {} if result.index is None else {"index": [result.index]}
        return columns if result.gap is None else columns | {"gap": [float(result.gap)]}
    if isinstance(result, Measurement):
        names = range(len(result)) if result.labels is None else result.labels
        near = result.within_95
        return {
            "label": list(names),
            "value": list(result.values),
            "low": [value - near for value in result.values],
            "high": [value + near for value in result.values],
        }
    if isinstance(result, Quantiles):
        return {
            "quantile": [float(each) for each in result.quantiles],
            "value": list(result.values),
        }
    if isinstance(result, TopSet):
        # Labels and positions of a set have no common order, so only the labels are told.
        return {"label": sorted(result.labels, key=label_text)}
    if isinstance(result, SelectedPartitions):
        # In the order of their names, which is no rank.
        columns = {"label": list(result.labels)}
        return _with_counts(columns, result.counts, result.noise_95 or (0, 0))
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
    """As `to_dict`, in columns that a frame can hold.

    Labels are all text, unless all are small integers, and so are other integers; fractions are
    floats.
    """
    columns = to_dict(result)
    for name, values in columns.items():
        is_label, whole = name == "label", [type(each) is int for each in values]
        small = all(type(each) is not int or each.bit_length() < 64 for each in values)
        if (is_label and not (small and all(whole))) or not small:
            columns[name] = [label_text(each) for each in values]
        elif any(isinstance(each, Fraction) for each in values):
            columns[name] = [float(each) for each in values]
    return columns


def plot(result: Any) -> Any:
    """Return a matplotlib Figure: labels, best on top; counts with intervals, or gaps, if any.

    Nothing is shown or written: call `savefig` of the figure.

    Raises:
        ParameterError: matplotlib is not installed.
    """
    columns = to_dict(result)
    parts = [columns[name] for name in ("group", "row", "label", "quantile") if name in columns]
    names = [" / ".join(map(_shown, each)) for each in zip(*parts, strict=True)]
    left_out = f"; the first {_SHOWN} of {len(names)}" if len(names) > _SHOWN else ""
    return bars(f"{_cost(result)}\n{result.mechanism}{left_out}", names[:_SHOWN], columns)


def _cost(result: Any) -> str:
    """What the release cost, and who counted how often, where counts are released."""
    said = [
        f"{each.name} = {rounded_text(getattr(result.guarantee, each.name))}"
        for each in fields(result.guarantee)
        if isinstance(getattr(result.guarantee, each.name), Fraction)
    ]
    noise = getattr(result, "count_noise", None)
    if noise is not None:
        said.append(f"a user counts for {noise.capped_at} items at most")
    return ", ".join(said) or type(result.guarantee).__name__


def _shown(label: object) -> str:
    """A label as one short line; what cannot be seen is written as Python writes it."""
    text = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in label_text(label)
    )
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def bars(title: str, names: list[str], columns: Mapping[str, list[Any]]) -> Any:
    """Return a figure of one bar for each name: its count with its interval, its gap, or a dot."""
    _library("matplotlib", _PLOTS)
    figure_of = import_module("matplotlib.figure").Figure
    places = list(range(len(names), 0, -1))
    figure = figure_of(figsize=(7, 1.2 + 0.28 * max(1, len(names))), layout="constrained")
    axes = figure.subplots()
    if "count" in columns:
        counts, low, high = (columns[each][: len(names)] for each in ("count", "low", "high"))
        width = [
            [max(0, count - least) for count, least in zip(counts, low, strict=True)],
            [max(0, most - count) for count, most in zip(counts, high, strict=True)],
        ]
        axes.barh(places, counts, xerr=width, color="#8fb0d9", ecolor="#000000", capsize=2)
        axes.set_xlabel("users, as far as they count, with noise; interval of 95 % for the noise")
    elif "value" in columns:
        shown = columns["value"][: len(names)]
        exact = [float(v) if isinstance(v, (int, Fraction, Decimal)) else v for v in shown]
        reach = columns["high"][0] - columns["value"][0] if "high" in columns else None
        axes.errorbar(exact, places, xerr=reach, fmt="o", color="#2b5c9e", capsize=2)
        axes.set_xlabel("value" if reach is None else "value; interval of 95 % for the noise")
    elif "gap" in columns:
        axes.barh(places, columns["gap"][: len(names)], color="#8fb0d9")
        axes.set_xlabel("lead over the next, with noise")
    else:
        axes.plot([0] * len(names), places, "o", color="#2b5c9e")
        axes.set_xticks([])
    axes.set_yticks(places, names)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)  # a dollar sign in a label is a dollar sign
    axes.set_ylim(0.3, max(1, len(names)) + 0.7)
    axes.set_title(title, fontsize=9)
    if not names:
        axes.text(0.5, 0.5, "nothing was found", ha="center", transform=axes.transAxes)
    return figure


def plot_items(plans: Any) -> Any:
    """Return a figure: how many users an item or a key needs, against epsilon, on log scales."""
    columns = plans.to_dict()
    names = [rounded_text(each) for each in columns["epsilon"]]
    figure, axes = _log_scales(
        plans, "epsilon", [float(each) for each in columns["epsilon"]], names
    )
    axes.plot([float(each) for each in columns["epsilon"]], columns["users"], "o-", c="#2b5c9e")
    return figure


def plot_groups(plans: Any) -> Any:
    """Return a figure: users that an item needs against max_groups, a line for each epsilon."""
    columns = plans.to_dict()
    ticks = list(dict.fromkeys(columns["max_groups"]))
    figure, axes = _log_scales(plans, "max_groups; the best is circled", ticks, map(str, ticks))
    for epsilon in dict.fromkeys(columns["epsilon"]):
        mine = [place for place, each in enumerate(columns["epsilon"]) if each == epsilon]
        across, up = ([columns[name][place] for place in mine] for name in ("max_groups", "users"))
        (line,) = axes.plot(across, up, "o-", label=f"epsilon = {rounded_text(epsilon)}")
        best = plans.best(epsilon)
        axes.plot([best.max_groups], [best.users], "o", ms=11, mfc="none", c=line.get_color())
    axes.legend(fontsize=9)
    return figure


def _log_scales(plans: Any, name: str, ticks: list[Any], names: Iterable[str]) -> tuple[Any, Any]:
    """An empty figure of users on log scales, with these ticks below and plain numbers beside."""
    _library("matplotlib", _PLOTS)
    figure = import_module("matplotlib.figure").Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(ticks, list(names))
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:.0f}")
    axes.yaxis.set_minor_formatter("{x:.0f}")
    axes.tick_params(axis="y", which="both", labelsize=8)
    axes.grid(axis="y", which="both", alpha=0.3)
    axes.set_xlabel(name)
    axes.set_ylabel("users that an item needs")
    axes.set_title(str(plans).partition("\n")[0], fontsize=9, wrap=True)
    return figure, axes


def plot_path(path: str) -> Path:
    """Check, before anything is drawn or charged, that a plot can be written to this path.

    Raises:
        InputError: there is no such directory.
        ParameterError: the name has another ending than .png, .svg or .pdf, or there is no
            matplotlib.
    """
    file = Path(path)
    if file.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ParameterError(f"a plot must be named .png, .svg or .pdf, got {path!r}")
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise InputError(f"a plot cannot be written to {path!r}: there is no such directory")
    _library("matplotlib", _PLOTS)
    return file


def save_plot(figure: Any, file: Path) -> str | None:
    """Write a figure; returns what went wrong in one sentence, because the release stands."""
    try:
        figure.savefig(file)
    except Exception:  # noqa: BLE001 - whatever it is, a release was made and must be told
        return f"the plot could not be written to {str(file)!r}; the release stands"
    return None


def _library(name: str, install: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        pass
    raise ParameterError(f"this needs {name}: {install}")
