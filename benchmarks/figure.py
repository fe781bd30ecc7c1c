"""The figure: time of one call against n, on logarithmic axes; readable in black and white."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["draw"]

# group, panel title, [(label of the entry, scores, words, line, marker, colour)]
_GREY, _INK, _BLUE, _RED = "#6b6b6b", "#000000", "#2b5c9e", "#a8432a"
_PANELS = (
    (
        "grid-pf",
        "Permute-and-flip",
        (
            ("permute_and_flip", "uniform", "safeselect, exact", "-", "o", _INK),
            ("argmax(scores + rng.exponential)", "uniform", "float one-liner", "--", "s", _GREY),
            ("OpenDP noisy max (PF)", "uniform", "OpenDP, uniform", "-.", "^", _BLUE),
            ("OpenDP noisy max (PF)", "zipf", "OpenDP, Zipf", ":", "v", _BLUE),
            ("diffprivlib PermuteAndFlip", "uniform", "diffprivlib", (0, (1, 3)), "D", _RED),
        ),
    ),
    (
        "grid-em",
        "Exponential mechanism",
        (
            ("exponential_mechanism", "uniform", "safeselect, exact", "-", "o", _INK),
            ("argmax(scores + rng.gumbel)", "uniform", "float Gumbel", "--", "s", _GREY),
            ("softmax + rng.choice", "uniform", "float softmax", (0, (5, 1, 1, 1)), "x", _GREY),
            ("OpenDP noisy max (EM)", "uniform", "OpenDP, uniform", "-.", "^", _BLUE),
            ("OpenDP noisy max (EM)", "zipf", "OpenDP, Zipf", ":", "v", _BLUE),
            ("diffprivlib Exponential", "uniform", "diffprivlib", (0, (1, 3)), "D", _RED),
        ),
    ),
    (
        "grid-top10",
        "Top 10, one shot (top 5 of 10)",
        (
            ("top_k exponential", "uniform", "safeselect, exact", "-", "o", _INK),
            ("argpartition(scores + rng.gumbel)", "uniform", "float Gumbel", "--", "s", _GREY),
            ("OpenDP noisy top-k (EM)", "uniform", "OpenDP, uniform", "-.", "^", _BLUE),
            ("OpenDP noisy top-k (EM)", "zipf", "OpenDP, Zipf", ":", "v", _BLUE),
        ),
    ),
)


def draw(record: dict[str, Any], path: Path) -> None:
    """Draw the grid of a record into an SVG or PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "safeselect", "font.size": 9, "axes.spines.top": False}
    )
    matplotlib.rcParams.update({"axes.spines.right": False, "svg.fonttype": "path"})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 3, figsize=(11, 4.3), sharey=True, layout="constrained")
    for axes, (group, title, curves) in zip(panels, _PANELS, strict=True):
        for label, scores, words, line, marker, colour in curves:
            points, capped = _points(record["cases"], group, label, scores)
            if points:
                axes.loglog(
                    *zip(*points, strict=True),
                    linestyle=line,
                    marker=marker,
                    color=colour,
                    label=words,
                    markersize=4.5,
                    linewidth=2.0 if colour == _INK else 1.2,
                    markerfacecolor="white" if colour != _INK else colour,
                )
            for n, cap in capped[:1]:
                axes.annotate(
                    f"over {cap:g} s",
                    (n, cap),
                    xytext=(0, 7),
                    textcoords="offset points",
                    color=colour,
                    ha="center",
                    va="bottom",
                    fontsize=7.5,
                )
                axes.plot([n], [cap], marker="$\\uparrow$", color=colour, markersize=8)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("candidates")
        axes.grid(visible=True, which="major", color="#e0e0e0", linewidth=0.6)
        axes.legend(frameon=False, fontsize=8, loc="upper left", handlelength=3.5)
    panels[0].set_ylabel("seconds for one call (median)")
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(low, high * 300)  # room for the legends
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
    pyplot.close(figure)


def _points(
    cases: dict[str, Any], group: str, label: str, scores: str
) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """(n, seconds) where measured, (n, cap) where over the cap."""
    points, capped = [], []
    for name, case in cases.items():
        if not name.startswith(f"{group}-{scores}-"):
            continue
        for entry in case["entries"]:
            if entry["label"] == label and entry["median"] is not None:
                points.append((entry["n"], entry["median"] / 1e9))
            elif entry["label"] == label and entry["status"] == "over the cap":
                capped.append((entry["n"], entry["low"] / 1e9))
    return sorted(points), sorted(capped)
