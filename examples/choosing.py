"""The exact expected error of each mechanism on synthetic scores: a table and a figure.

    python examples/choosing.py 1000 10 1 1e-6             # n, k, epsilon, delta: the table
    python examples/choosing.py --figure docs/choosing.svg # needs safeselect[plots]

k of n candidates have the same score, and all others lie `gap` below it.  The loss is `gap` for
each of the k best that is missed.  The program reads no data and makes no releases, so it costs no
privacy.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

from safeselect import ParameterError
from safeselect.estimates import expected_error

MECHANISMS = ("exponential", "exponential_base2", "permute_and_flip", "one_shot_exponential")
STYLES = (("#000000", "-"), ("#2b5c9e", "--"), ("#b5541c", "-."))
PANELS = (("one of 100, ε = 1", 100, 1, 1, None), ("10 of 1000, ε = 1", 1000, 10, 1, None))
PANELS += (("10 of 1000, ε = 1, δ = 10⁻⁶", 1000, 10, 1, "1e-6"),)


def errors(n: int, k: int, gap: object, epsilon: object, delta: object) -> dict[str, Fraction]:
    """Return the expected loss of each mechanism for which it is not too large to compute."""
    found = {}
    for name in MECHANISMS:
        options = {"delta": delta} if delta else {}
        try:
            found[name] = expected_error(
                **{"n": n, "k": k, "gap": gap, "epsilon": epsilon, "mechanism": name, **options},
                sensitivity=1,
                monotonic=True,
            )
        except ParameterError:
            continue
    return found


def table(n: int, k: int, epsilon: object, delta: object) -> str:
    """Return a table: for each mechanism and gap, the percentage of the k best that is missed."""
    total = f"epsilon = {epsilon}" + (f", delta = {delta}" if delta else "")
    gaps = [round(k * step / Fraction(epsilon)) for step in (2, 4, 6, 8, 12)]
    columns = [errors(n, k, gap, epsilon, delta) for gap in gaps]
    lines = [f"top {k} of {n}, {total}: share of the best missed, in %"]
    lines += [f"{'gap':22}" + "".join(f"{gap:>9}" for gap in gaps)]
    for name in columns[0]:
        missed = [100 * found[name] / gap / k for found, gap in zip(columns, gaps, strict=True)]
        lines += [f"{name:22}" + "".join(f"{float(share):9.3g}" for share in missed)]
    return "\n".join(lines)


def draw(path: Path) -> None:
    """Plot the expected loss against the gap."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "safeselect", "svg.fonttype": "path"})
    matplotlib.rcParams.update({"font.size": 9, "axes.spines.top": False})
    matplotlib.rcParams.update({"axes.spines.right": False})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 3, figsize=(9.4, 3.3), layout="constrained")
    for axes, (title, n, k, epsilon, delta) in zip(panels, PANELS, strict=True):
        gaps = [Fraction(k * step, 2) for step in range(1, 41)]
        curves = [errors(n, k, gap, epsilon, delta) for gap in gaps]
        shown = [name for name in curves[0] if name != "exponential_base2"]  # as "exponential"
        if k == 1:
            shown.remove("one_shot_exponential")  # the same law as permute-and-flip
        for name, (colour, line) in zip(shown, STYLES, strict=False):
            shares = [float(found[name] / gap / k) for found, gap in zip(curves, gaps, strict=True)]
            axes.plot(gaps, [100 * share for share in shares], line, color=colour, label=name)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("lead of the best, in people")
        axes.set_ylim(0, 100)
        axes.set_xlim(0)
        axes.legend(frameon=False, fontsize=8)
    panels[0].set_ylabel("share of the k best that is missed, %")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--figure"]:
        draw(Path(sys.argv[2]))
    else:
        n, k, epsilon, delta = (*sys.argv[1:], "")[:4]
        print(table(int(n), int(k), epsilon, delta or None))
