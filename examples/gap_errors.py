"""Simulate how much gaps, which cost nothing, improve measurements of real counts; draw a figure.

    python examples/gap_errors.py docs/gaps.svg      # several minutes; needs safeselect[plots]

Half of epsilon = 1 selects k of 17 770 films by their numbers of ratings, and the other half
measures these numbers.  Over many runs, the program compares the mean squared error of the
measurements alone with that of estimates that also use the gaps.  Floats serve only to evaluate and
plot the results.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from safeselect import SparseVector, measure, top_k_with_gaps
from safeselect.estimates import (
    error_ratio,
    estimate_fixed_from_gaps,
    estimate_from_threshold,
    threshold_error_ratio,
    variance_ratio,
)

COUNTS = Path(__file__).parents[1] / "benchmarks" / "data" / "NETFLIX.n17770.npy"
HALF = Fraction(1, 2)  # of epsilon = 1, for the selection and for the measurements
SIZES = (2, 3, 5, 10, 20, 30, 50, 100)


@dataclass(frozen=True)
class Release:
    """What one run released, and the true counts; gaps from `top_k_with_gaps` or `SparseVector`."""

    true: np.ndarray
    measured: np.ndarray
    gaps: tuple[Fraction, ...]
    threshold: int = 0


@dataclass(frozen=True)
class Errors:
    """Squared errors of each run, summed over its estimates, and their ratio in theory."""

    alone: np.ndarray
    combined: np.ndarray
    expected: Fraction

    @property
    def reduction(self) -> float:
        """The share of the mean squared error that the gaps remove."""
        return 1 - float(self.combined.mean() / self.alone.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the reduction, to first order in both means."""
        rest = self.combined - (1 - self.reduction) * self.alone
        return float(rest.std() / len(rest) ** 0.5 / self.alone.mean())

    @property
    def deviation(self) -> float:
        """How far the errors are from theory, in standard errors."""
        rest = self.combined - float(self.expected) * self.alone
        return float(rest.mean() / rest.std() * len(rest) ** 0.5)


def errors(runs: list[Release], combine: Callable[[Release], object], expected: Fraction) -> Errors:
    """Compare the measurements, and the estimates of `combine`, with the true counts."""
    alone = [run.measured - run.true for run in runs]
    combined = [np.array([float(x) for x in combine(run)]) - run.true for run in runs]
    return Errors(*(np.array([e @ e for e in each]) for each in (alone, combined)), expected)


# ---------------------------------------------------------------------------- the k best, with gaps


def top_k_runs(noise: str, k: int, runs: int, source: object = None) -> list[Release]:
    """Select with `top_k_with_gaps`, and measure the winners."""
    counts, result = np.load(COUNTS), []
    for extra in _measurement_noise(k, runs, source):
        best = top_k_with_gaps(
            counts, k=k, epsilon=HALF, sensitivity=1, monotonic=True, noise=noise, source=source
        )
        true = counts[list(best.indices)]
        result.append(Release(true, true + extra, best.gaps))
    return result


def top_k_errors(noise: str, k: int, runs: list[Release]) -> Errors:
    """Combine all measurements of a run with all its gaps."""
    ratio = variance_ratio(HALF / k, noise=noise, measured_rate=HALF / k)

    def combine(run: Release) -> object:
        return estimate_fixed_from_gaps(run.measured, run.gaps, variance_ratio=ratio, gap_grid=1)

    return errors(runs, combine, error_ratio(k, ratio))


# --------------------------------------------------------- the first k above a threshold, with gaps


def threshold_runs(noise: str, k: int, runs: int, source: object = None) -> list[Release]:
    """Find the first k films above a threshold with `SparseVector`, and measure them.

    The queries are the 3k largest counts, in the order of the data.  About 2k of them exceed the
    threshold, which is placed where no count is near it (see `docs/gaps.md`).
    """
    counts, result = np.load(COUNTS), []
    asked = counts[np.sort(np.argsort(-counts, kind="stable")[: 3 * k])]
    middle = np.sort(asked)[k // 2 : k + k // 2 + 1]
    widest = int(np.argmax(np.diff(middle)))
    threshold = int(middle[widest : widest + 2].mean())
    for extra in _measurement_noise(k, runs, source):
        with SparseVector(
            threshold=threshold,
            k=k,
            epsilon=HALF,
            sensitivity=1,
            monotonic=True,
            noise=noise,
            split=_split(k),
            source=source,
        ) as session:
            above = session.query_many(asked)
        true = asked[list(above.indices)]
        result.append(Release(true, true + extra[: len(true)], above.gaps, threshold))
    return result


def threshold_errors(noise: str, k: int, runs: list[Release]) -> Errors:
    """Average each measurement with threshold + gap."""
    rates = _split(k) * HALF, (1 - _split(k)) * HALF / k
    ratio = variance_ratio(*rates, noise=noise, measured_rate=HALF / k)

    def combine(run: Release) -> object:
        public = {"threshold": run.threshold, "variance_ratio": ratio, "gap_grid": 1}
        pairs = zip(run.measured, run.gaps, strict=True)
        return [estimate_from_threshold(own, gap, **public) for own, gap in pairs]

    return errors(runs, combine, threshold_error_ratio(ratio))


def _split(k: int) -> Fraction:
    """Return nearly the best share for the threshold, 1 / (1 + k**(2/3)); any is as private."""
    return Fraction(1 / (1 + k ** (2 / 3))).limit_denominator(1000)


def _measurement_noise(k: int, runs: int, source: object) -> np.ndarray:
    """Return the noise of k counts in each run, by measuring zeros."""
    nothing = np.zeros(k * runs, dtype=np.int64)
    noise = measure(nothing, epsilon=HALF, sensitivity_l1=k, source=source)
    return np.array(noise.values).reshape(runs, k)


# -------------------------------------------------------------------------------------- the figure

_PANELS = (
    ("The k best, with gaps", top_k_runs, top_k_errors),
    ("The first k above a threshold, with gaps", threshold_runs, threshold_errors),
)
_CURVES = (("exponential", "#000000", "o", "-"), ("laplace", "#2b5c9e", "s", "--"))


def draw(path: Path, runs: Callable[[int], int]) -> None:
    """Run all simulations and draw the figure, as SVG or PNG."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "safeselect", "svg.fonttype": "path"})
    matplotlib.rcParams.update({"font.size": 9, "axes.spines.top": False})
    matplotlib.rcParams.update({"axes.spines.right": False})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(8.6, 3.6), sharey=True, layout="constrained")
    for axes, (title, simulate, compare) in zip(panels, _PANELS, strict=True):
        for noise, colour, marker, line in _CURVES:
            found = [compare(noise, k, simulate(noise, k, runs(k))) for k in SIZES]
            theory = [100 * float(1 - errors.expected) for errors in found]
            points = [100 * errors.reduction for errors in found]
            bars = [200 * errors.standard_error for errors in found]
            axes.plot(SIZES, theory, line, color=colour, linewidth=1.2)
            axes.errorbar(
                SIZES,
                points,
                bars,
                fmt=marker,
                color=colour,
                markersize=4.5,
                markerfacecolor="white",
                capsize=2.5,
                label=f"{noise.capitalize()} noise",
            )
            for k, errors in zip(SIZES, found, strict=True):
                print(
                    f"{title}, {noise}, k={k}: {100 * errors.reduction:.1f} % "
                    f"+- {200 * errors.standard_error:.1f}, theory "
                    f"{100 * float(1 - errors.expected):.1f} %",
                    flush=True,
                )
        for limit, words in ((200 / 3, "limit 2/3"), (50, "limit 1/2")):
            axes.axhline(limit, color="#b0b0b0", linewidth=0.8, linestyle=":")
            axes.text(SIZES[0], limit + 0.7, words, color="#6b6b6b", fontsize=7.5)
        axes.set_xscale("log")
        axes.set_xticks(SIZES, [str(k) for k in SIZES])
        axes.minorticks_off()
        axes.set_ylim(0, 72)
        axes.set_xlabel("k")
        axes.set_title(title, fontsize=10)
        axes.legend(frameon=False, fontsize=8, loc="lower right")
    panels[0].set_ylabel("mean squared error removed, %")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
    pyplot.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), runs=lambda k: max(2000, 40_000 // k))
