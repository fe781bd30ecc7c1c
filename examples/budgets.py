"""How many releases fit into one budget, with three kinds of accounting: a table and a figure.

    python examples/budgets.py                             # the table
    python examples/budgets.py --figure docs/budgets.svg   # needs safeselect[plots]

The program reads no data and makes no releases.  "sums" is a budget in which epsilons and deltas
simply add up, "one budget" is the default, and "declared" is the number of releases that fit if the
whole list is fixed in advance.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

from safeselect import BoundedRange, Budget, GaussianDP, LaplaceDominated, Ledger, PureDP, compose

DELTA = "1e-6"
KINDS = {
    "five draws, ε/10 together": (5, BoundedRange(Fraction(1, 50))),
    "ten draws, ε/10 together": (10, BoundedRange(Fraction(1, 100))),
    "a count, ε/100": (1, PureDP(Fraction(1, 100))),
    "a winner and its gap, ε/30": (1, LaplaceDominated(Fraction(1, 30))),
    "Gaussian noise, μ = 1/27": (1, GaussianDP(Fraction(1, 729))),
    "a count, ε/4": (1, PureDP(Fraction(1, 4))),
}
STYLES = {"sums": "#6b6b6b", "one budget": "#2b5c9e", "declared": "#b5541c"}


def fits(draws: int, each: object, **own: object) -> int:
    """Return how many releases, each of this many draws, fit into an empty budget."""
    budget = Budget("person", "add_remove", epsilon=1, delta=DELTA, **own)
    balance = Ledger.create(":memory:", {"a": budget}).balance("a")
    return (balance.fits(each) or 0) // draws


def declared(draws: int, each: object, low: int) -> int:
    """Return how many fit if the list is fixed in advance; bisection starts at `low`, which fit."""
    high = low + low // 3 + 2
    while high - low > 1:
        middle = (low + high) // 2
        if compose([each] * (middle * draws), DELTA, "1e-3").guarantee.epsilon <= 1:
            low = middle
        else:
            high = middle
    return low


@cache
def counted(name: str) -> tuple[int | None, int, int]:
    """Return the three numbers for one kind of release; sums do not accept Gaussian noise."""
    draws, each = KINDS[name]
    sums = None if isinstance(each, GaussianDP) else fits(draws, each, own_delta=DELTA)
    one = fits(draws, each)
    return sums, one, declared(draws, each, one)


def table() -> str:
    """Return the table as text."""
    lines = [f"{'each release':28} {'sums':>6} {'one budget':>11} {'declared':>9}"]
    for name in KINDS:
        sums, one, most = counted(name)
        lines.append(f"{name:28} {sums if sums is not None else '-':>6} {one:11} {most:9}")
    return "\n".join(lines)


def draw(path: Path) -> None:
    """Draw the same numbers as a bar chart."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "safeselect"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    names = list(KINDS)
    for place, (label, color) in enumerate(STYLES.items()):
        counts = [counted(name)[place] or 0 for name in names]
        at = [row + (place - 1) * 0.27 for row in range(len(names))]
        bars = axes.barh(at, counts, 0.25, label=label, color=color)
        axes.bar_label(bars, [f"{count or 'none'}" for count in counts], padding=3, fontsize=8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("releases that fit into a budget of (1, 10⁻⁶)")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--figure"]:
        draw(Path(sys.argv[2]))
    else:
        print(table())
