"""Plots of results and of plans, as figures of matplotlib, which is imported when needed.

What goes in was released, or is public, so everything here is post-processing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from io import BytesIO
from typing import Any

from safeselect.adapters.notebook import facts, title
from safeselect.release.display import bound, cost, library
from safeselect.scores.candidates import label_text

__all__ = ["plot", "plot_plans"]

_PLOTS = "plots"
_SHOWN = 50  # bars: about 16 inches
_LONGEST = 40  # characters of a name
_X_LABELS = {
    "count": "counted users, with noise; 95 % interval of the noise",
    "value": "value; 95 % interval of the noise, if any",
    "gap": "lead over the next, with noise",
}


def plot(result: Any) -> Any:
    """Return a matplotlib Figure: labels, best on top; counts with intervals, or gaps, if any.

    Of groups a part for each.  What has no numbers is a card for each label.  A notebook shows the
    figure; elsewhere nothing is shown or written: call `savefig` of the figure.

    Raises:
        ParameterError: matplotlib is not installed.
    """
    columns = result.to_dict()
    parts = [columns[name] for name in ("row", "label") if name in columns] or [columns["index"]]
    names = [" / ".join(map(_shown, each)) for each in zip(*parts, strict=True)]
    said = [cost(result.guarantee), *facts(result).values()]
    cap = dict(result.provenance.parameters).get("max_contributions")
    if cap is not None and getattr(result, "counts", None) is not None:
        said.append(f"each user counts for at most {cap} items")
    most = _SHOWN // 2 if "group" in columns else _SHOWN  # each group may have a title
    if len(names) > most:
        said.append(f"the first {most} of {len(names)}")
    groups = [_shown(each) for each in columns.get("group", [""] * len(names))][:most]
    sizes = Counter(groups) or Counter({"": 1})
    figure = library("matplotlib.figure", _PLOTS).Figure(
        figsize=(7, 1.2 + 0.32 * sizes.total() + 0.4 * len(sizes)), layout="constrained"
    )
    ratios = {"height_ratios": [*sizes.values()]}
    facets = figure.subplots(len(sizes), 1, squeeze=False, sharex=True, gridspec_kw=ratios)[:, 0]
    figure.suptitle(f"{title(result)}\n{', '.join(said)}", fontsize=9, wrap=True, parse_math=False)
    start = 0
    for axes, (group, size) in zip(facets, sizes.items(), strict=True):
        here = slice(start, start + size)
        start += size
        _bars(axes, names[here], {name: column[here] for name, column in columns.items()})
        axes.set_title(group, fontsize=9, loc="left", parse_math=False)
    facets[-1].set_xlabel(_X_LABELS.get(next((x for x in _X_LABELS if x in columns), ""), ""))
    return _for_notebooks(figure)


def _for_notebooks(figure: Any) -> Any:
    """The same figure, which a notebook shows as a picture."""

    def png() -> bytes:
        written = BytesIO()
        figure.savefig(written, format="png")
        return written.getvalue()

    figure._repr_png_ = png
    return figure


def _shown(label: object) -> str:
    """A label as one short line; what cannot be seen is written as Python writes it."""
    text = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in label_text(label)
    )
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _bars(axes: Any, names: list[str], columns: Mapping[str, list[Any]]) -> None:
    """Draw one bar for each name: its count with its interval, its value or gap, or the name."""
    places = list(range(len(names), 0, -1))
    if "count" in columns:
        counts, low, high = (columns[each] for each in ("count", "low", "high"))
        width = [
            [max(0, count - least) for count, least in zip(counts, low, strict=True)],
            [max(0, most - count) for count, most in zip(counts, high, strict=True)],
        ]
        axes.barh(places, counts, xerr=width, color="#8fb0d9", ecolor="#000000", capsize=2)
    elif "value" in columns:
        shown = columns["value"]
        exact = [float(v) if isinstance(v, (int, Fraction, Decimal)) else v for v in shown]
        reach = columns["high"][0] - columns["value"][0] if "high" in columns else None
        axes.errorbar(exact, places, xerr=reach, fmt="o", color="#2b5c9e", capsize=2)
    elif "gap" in columns:
        axes.barh(places, columns["gap"], color="#8fb0d9")
    else:  # a card for each, best on top
        box = {"boxstyle": "round", "facecolor": "#dbe6f4", "edgecolor": "#2b5c9e"}
        for place, name in zip(places, names, strict=True):
            axes.text(0.5, place, name, ha="center", va="center", bbox=box, parse_math=False)
        axes.set_axis_off()
    axes.set_yticks(places, names)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)  # a dollar sign in a label is a dollar sign
    axes.set_ylim(0.3, max(1, len(names)) + 0.7)
    if not names:
        axes.text(0.5, 0.5, "nothing was found", ha="center", transform=axes.transAxes)


def plot_plans(plans: Any) -> Any:
    """Return a figure, on log scales: how many users an item or a key needs.

    Against epsilon; of groups against max_groups, a line for each epsilon.
    """
    columns = plans.to_dict()
    if "max_groups" in columns:
        return _plot_groups(plans, columns)
    names = [bound("epsilon", each).split()[-1] for each in columns["epsilon"]]
    across = [float(each) for each in columns["epsilon"]]
    figure, axes = _log_scales(plans, "epsilon", across, names)
    axes.plot(across, columns["users"], "o-", c="#2b5c9e")
    return _for_notebooks(figure)


def _plot_groups(plans: Any, columns: dict[str, list[Any]]) -> Any:
    ticks = list(dict.fromkeys(columns["max_groups"]))
    figure, axes = _log_scales(plans, "max_groups; the best is circled", ticks, map(str, ticks))
    for epsilon in dict.fromkeys(columns["epsilon"]):
        mine = [place for place, each in enumerate(columns["epsilon"]) if each == epsilon]
        across, up = ([columns[name][place] for place in mine] for name in ("max_groups", "users"))
        (line,) = axes.plot(across, up, "o-", label=bound("epsilon", epsilon))
        best = plans.best(epsilon)
        axes.plot([best.max_groups], [best.users], "o", ms=11, mfc="none", c=line.get_color())
    axes.legend(fontsize=9)
    return _for_notebooks(figure)


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
    axes.set_ylabel("users needed for an item")
    axes.set_title(str(plans).partition("\n")[0], fontsize=9, wrap=True)
    return figure, axes
