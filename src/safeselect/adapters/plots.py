"""Plots of results, as figures of matplotlib, which is imported when needed.

What goes in was released, so everything here is post-processing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from io import BytesIO
from typing import Any

import numpy as np

from safeselect.adapters.notebook import facts, title
from safeselect.errors import ParameterError
from safeselect.exact.parameters import as_float, rational
from safeselect.release.display import cost, cut_text, library
from safeselect.release.page import shown
from safeselect.scores.candidates import label_text

__all__ = ["plot"]

_SHOWN = 50  # bars: about 16 inches
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
    kinds = {type(_place(value)) for value in columns.get("value", ())}
    if kinds - {float} and kinds != {date}:  # not all of them lie on one axis
        parts.append(columns.pop("value"))
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
    figure = library("matplotlib.figure", "plots").Figure(
        figsize=(7, 1.2 + 0.32 * sizes.total() + 0.4 * len(sizes)), layout="constrained"
    )
    ratios = {"height_ratios": [*sizes.values()]}
    facets = figure.subplots(len(sizes), 1, squeeze=False, sharex=True, gridspec_kw=ratios)[:, 0]
    heading = f"{title(result)}\n{shown(', '.join(said))}"
    figure.suptitle(heading, fontsize=9, wrap=True, parse_math=False)
    start = 0
    for axes, (group, size) in zip(facets, sizes.items(), strict=True):
        here = slice(start, start + size)
        start += size
        _bars(axes, names[here], {name: column[here] for name, column in columns.items()})
        axes.set_title(group, fontsize=9, loc="left", parse_math=False)
    facets[-1].set_xlabel(_X_LABELS.get(next((x for x in _X_LABELS if x in columns), ""), ""))

    def png() -> bytes:
        written = BytesIO()
        figure.savefig(written, format="png")
        return written.getvalue()

    figure._repr_png_ = png  # a notebook shows it as a picture
    return figure


def _shown(label: object) -> str:
    """A label as one short line, from which nothing that cannot be seen is left."""
    return cut_text(shown(label_text(label)))


def _place(value: object) -> object:
    """Where a value is on an axis: a day, or a number also where it is stored as text; or None."""
    if isinstance(value, date):
        return value
    with suppress(ParameterError):
        return as_float(rational(label_text(value), "value", signed=True))
    return None


def _bars(axes: Any, names: list[str], columns: Mapping[str, list[Any]]) -> None:
    """Draw one bar for each name: its count with its interval, its value or gap, or the name."""
    places = list(range(len(names), 0, -1))
    if "count" in columns:
        counts, low, high = ([*map(as_float, columns[each])] for each in ("count", "low", "high"))
        width = np.subtract(counts, low).clip(0), np.subtract(high, counts).clip(0)
        axes.barh(places, counts, xerr=width, color="#8fb0d9", ecolor="#000000", capsize=2)
    elif "value" in columns:
        exact = [*map(_place, columns["value"])]
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
        axes.text(0.5, 0.5, "nothing to show", ha="center", transform=axes.transAxes)
