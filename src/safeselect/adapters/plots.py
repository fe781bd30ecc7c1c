"""Plots of results and of plans, as figures of matplotlib, which is imported when needed.

What goes in was released, or is public, so everything here is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

from safeselect.accounting.cost import rounded_text
from safeselect.release.display import library
from safeselect.scores.candidates import label_text

__all__ = ["plot", "plot_plans"]

_PLOTS = "pip install 'safeselect[plots]'"
_SHOWN = 200  # bars
_LONGEST = 40  # characters of a name


def plot(result: Any) -> Any:
    """Return a matplotlib Figure: labels, best on top; counts with intervals, or gaps, if any.

    Nothing is shown or written: call `savefig` of the figure.

    Raises:
        ParameterError: matplotlib is not installed.
    """
    columns = result.to_dict()
    parts = [columns[name] for name in ("group", "row", "label") if name in columns]
    names = [" / ".join(map(_shown, each)) for each in zip(*parts, strict=True)]
    left_out = f"; the first {_SHOWN} of {len(names)}" if len(names) > _SHOWN else ""
    return _bars(f"{_cost(result)}\n{result.mechanism}{left_out}", names[:_SHOWN], columns)


def _cost(result: Any) -> str:
    """What the release cost, and who counted how often, where counts are released."""
    said = [
        f"{each.name} = {rounded_text(getattr(result.guarantee, each.name))}"
        for each in fields(result.guarantee)
        if isinstance(getattr(result.guarantee, each.name), Fraction)
    ]
    cap = dict(result.statement.parameters).get("max_contributions")
    if cap is not None and getattr(result, "counts", None) is not None:
        said.append(f"a user counts for {cap} items at most")
    return ", ".join(said) or type(result.guarantee).__name__


def _shown(label: object) -> str:
    """A label as one short line; what cannot be seen is written as Python writes it."""
    text = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in label_text(label)
    )
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _bars(title: str, names: list[str], columns: Mapping[str, list[Any]]) -> Any:
    """Return a figure of one bar for each name: its count with its interval, its gap, or a dot."""
    size = 7, 1.2 + 0.28 * max(1, len(names))
    figure = library("matplotlib.figure", _PLOTS).Figure(figsize=size, layout="constrained")
    places = list(range(len(names), 0, -1))
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


def plot_plans(plans: Any) -> Any:
    """Return a figure, on log scales: how many users an item or a key needs.

    Against epsilon; of groups against max_groups, a line for each epsilon.
    """
    columns = plans.to_dict()
    if "max_groups" in columns:
        return _plot_groups(plans, columns)
    names = [rounded_text(each) for each in columns["epsilon"]]
    across = [float(each) for each in columns["epsilon"]]
    figure, axes = _log_scales(plans, "epsilon", across, names)
    axes.plot(across, columns["users"], "o-", c="#2b5c9e")
    return figure


def _plot_groups(plans: Any, columns: dict[str, list[Any]]) -> Any:
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
    figure = library("matplotlib.figure", _PLOTS).Figure(figsize=(6, 3.6), layout="constrained")
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
