"""The total cost of k draws of the exponential mechanism, by four methods: a table and a figure.

    python examples/composing.py                                # the table
    python examples/composing.py --figure docs/accounting.svg   # needs safeselect[plots]

The program reads no data and makes no releases.  Accounting by loss distributions needs
safeselect[dp-accounting].
"""

from __future__ import annotations

import sys
from pathlib import Path

from safeselect import BoundedRange, compose
from safeselect.adapters.dp_accounting import dp_events

EACH, DELTA = "0.1", "1e-6"
COUNTS = (2, 4, 8, 16, 32, 64, 128)
STYLES = {
    "sum": ("#6b6b6b", ":"),
    "loss distributions, Laplace events": ("#b5541c", "-."),
    "Rényi moments": ("#2b5c9e", "--"),
    "adaptive optimum, from both sides": ("#000000", "-"),
}


def costs(k: int) -> tuple[float, float, float, float, float]:
    """Return epsilon by the sum, by loss distributions and by moments, and our bracket's ends."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import PLDAccountant

    parts = [BoundedRange(EACH)] * k
    accountant = PLDAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dp_events(parts, accountant="pld"))
    moments = compose(parts, DELTA, None).guarantee.epsilon
    best = compose(parts, DELTA, "1e-4")
    ends = float(best.lower), float(best.guarantee.epsilon)
    return float(EACH) * k, accountant.get_epsilon(float(DELTA)), float(moments), *ends


def table() -> str:
    """Return a table with a row for each k."""
    lines = [f"{'k':>5}{'sum':>10}{'PLD':>10}{'moments':>10}{'at least':>12}{'at most':>12}"]
    for k in COUNTS:
        total, losses, moments, low, high = costs(k)
        lines.append(f"{k:5}{total:10.3f}{losses:10.4f}{moments:10.4f}{low:12.5f}{high:12.5f}")
    return "\n".join(lines)


def draw(path: Path) -> None:
    """Plot epsilon as a multiple of the optimum, against k."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "safeselect", "svg.fonttype": "path"})
    matplotlib.rcParams.update({"font.size": 9, "axes.spines.top": False})
    matplotlib.rcParams.update({"axes.spines.right": False})
    from matplotlib import pyplot

    rows = [costs(k) for k in COUNTS]
    figure, panel = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    for column, (name, (colour, line)) in enumerate(STYLES.items()):
        ratios = [row[column if column < 3 else 4] / row[4] for row in rows]
        panel.plot(COUNTS, ratios, line, color=colour, label=name)
    panel.fill_between(COUNTS, [row[3] / row[4] for row in rows], 1, color="#000000", alpha=0.3)
    panel.set(xscale="log", xlabel="draws of range 0.1", ylabel="ε / ε of the optimum")
    panel.set_xticks(COUNTS, [str(k) for k in COUNTS])
    panel.minorticks_off()
    panel.set_ylim(0.95, 2.3)
    panel.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--figure"]:
        draw(Path(sys.argv[2]))
    else:
        print(table())
