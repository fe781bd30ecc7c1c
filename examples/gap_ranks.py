"""Search for the worst cases of estimates from gaps: a table of docs/measured.md.

    python examples/gap_ranks.py          # several minutes; the same figures with the same NumPy

By the law of heights, the errors depend only on how far the scores of the winners lie above or
below the noisy score T of the best loser.  The program therefore searches over these distances:
some winners lie 1 to 20 nats above T, and the others at T or 20 nats below it, where only noise can
make them win.  The noise of a measurement has half or twice the rate of the selection's noise.

A row shows the worst case that was found for k winners, separately for each column, and evaluated
again with new draws.  The columns are the percentage of the measurements' squared error that the
estimate removes, and the percentage of intervals of nominally 95 % that cover, averaged over the
winners and for single ranks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from safeselect.estimates import intervals_from_gaps

SCALE = 200  # of the selection's noise, in steps
SIZES = (2, 3, 5, 10, 25)


def targets(k: int) -> Iterator[np.ndarray]:
    """Yield scores minus T, in nats, best first."""
    for above in sorted({0, 1, 2, k - 1, k}):
        for high in (1, 4, 20) if above else (0,):
            for low in (0, -20) if above < k else (0,):
                yield np.array([high] * above + [low] * (k - above), dtype=float)
    yield np.linspace(6, -6, k)
    yield np.array([20.0, *np.linspace(4, 0, k - 1)])


def heights(below: np.ndarray, noise: str, random: np.random.Generator, runs: int) -> np.ndarray:
    """Return noisy scores minus T, in nats, given that all exceed T: exponential if below T."""
    drawn = random.standard_exponential((runs, len(below)))
    lead = np.maximum(below, 0)
    if noise == "exponential":
        return lead + drawn
    # Laplace noise that exceeds -lead is negative with probability (1 - e**-lead) / (2 - e**-lead).
    lost = 1 - np.exp(-lead)
    share = random.random((runs, len(below)))
    falls = share * (1 + lost) < lost
    return np.where(falls, lead + np.log1p(-lost * random.random(share.shape)), lead + drawn)


def case(
    below: np.ndarray, noise: str, ratio: Fraction, runs: int, seed: int
) -> tuple[float, np.ndarray]:
    """Return the percentage of the error removed, and the percentage covered at each rank."""
    k = len(below)
    random = np.random.default_rng([seed, k, len(noise), ratio.numerator])
    high = np.rint(SCALE * heights(below, noise, random, runs)).astype(int)
    order = np.argsort(-high, axis=1, kind="stable")
    true = np.rint(SCALE * below).astype(int)[order]
    high = np.take_along_axis(high, order, axis=1)
    own = true + np.rint(SCALE / float(ratio) * random.laplace(size=true.shape)).astype(int)
    public = {"rate": Fraction(1, SCALE), "noise": noise, "measured_rate": ratio / SCALE}
    errors, covered = np.zeros(2), np.zeros(k)
    for scores, measured, above in zip(true, own, high, strict=True):
        gaps = [*(above[:-1] - above[1:]).tolist(), int(above[-1])]
        found = np.array(intervals_from_gaps(measured.tolist(), gaps, **public), dtype=float)
        covered += (found[:, 0] <= scores) & (scores <= found[:, 1])
        middles = found.mean(axis=1)
        errors += ((measured - scores) ** 2).sum(), ((middles - scores) ** 2).sum()
    return 100 * (1 - errors[1] / errors[0]), 100 * covered / runs


def worst(noise: str, k: int, runs: int) -> list[float]:
    """Return the numbers of a row."""
    cases = [(below, ratio) for below in targets(k) for ratio in (Fraction(1, 2), Fraction(2))]
    found = [case(below, noise, ratio, runs, 1) for below, ratio in cases]
    numbers = []
    for read in (
        lambda each: each[0],
        lambda each: each[1].mean(),
        *(lambda each, rank=rank: each[1][rank] for rank in (0, 1, k // 2, k - 1)),
    ):
        below, ratio = min(zip(found, cases, strict=True), key=lambda pair: read(pair[0]))[1]
        numbers.append(read(case(below, noise, ratio, 8 * runs, 2)))
    return numbers


def table(runs: int) -> None:
    """Print the table in Markdown."""
    print("| noise | k | error removed | covered, averaged | rank 1 | rank 2 | middle | last |")
    print("|---|---|---|---|---|---|---|---|")
    for noise in ("exponential", "laplace"):
        for k in SIZES:
            texts = " | ".join(f"{each:.1f}" for each in worst(noise, k, runs))
            print(f"| {noise} | {k} | {texts} |", flush=True)


if __name__ == "__main__":
    table(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
