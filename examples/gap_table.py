"""How much gaps reduce the error on real counts: a table of docs/measured.md.

    python examples/gap_table.py          # two minutes; the same figures on every machine

Half of epsilon selects k of the candidates with `top_k_with_gaps`, and the other half measures
them.  All random bytes come from a fixed seed.  A cell shows the percentage by which the mean
squared error of the measurements alone falls, with the linear estimate, which is for candidates
fixed in advance, and with the default one.  The last column shows the percentage of winners that
intervals of nominally 95 % covered, the smallest over all epsilons.
"""

from __future__ import annotations

import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np

from safeselect import top_k_with_gaps
from safeselect.engine.geometric import discrete_laplace
from safeselect.estimates import (
    estimate_fixed_from_gaps,
    estimate_from_gaps,
    intervals_from_gaps,
    variance_ratio,
)
from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import resolve
from safeselect.testing import DeterministicSource

DATA = Path(__file__).parents[1] / "benchmarks" / "data"
FILES = ("NETFLIX.n17770.npy", "SEARCHLOGS.n4096.npy")
EPSILONS = ("0.05", "0.1", "0.3", "0.7", "1")
SIZES = (2, 5, 10, 25, 100)


def cell(counts: np.ndarray, k: int, epsilon: Fraction, noise: str, runs: int) -> list[float]:
    """Return both reductions, the standard error of the second, and the coverage, in percent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning that the bytes are not private
        seed = f"{counts.size}/{k}/{epsilon}/{noise}".encode()
        source = DeterministicSource(seed, i_understand_this_is_not_private=True)
    rate = epsilon / 2 / k
    public = {"rate": rate, "noise": noise, "measured_rate": rate, "gap_grid": 1}
    ratio = variance_ratio(rate, noise=noise, measured_rate=rate)
    with Bits(resolve(source)) as bits:
        extra = discrete_laplace(k * runs, NoiseRate(rate), bits).reshape(runs, k)
    errors, inside = [], 0
    for each in extra:
        best = top_k_with_gaps(
            counts,
            k=k,
            epsilon=epsilon / 2,
            sensitivity=1,
            monotonic=True,
            noise=noise,
            source=source,
        )
        true = counts[list(best.indices)]
        measured = true + each
        linear = estimate_fixed_from_gaps(measured, best.gaps, variance_ratio=ratio, gap_grid=1)
        found = estimate_from_gaps(measured, best.gaps, **public)
        intervals = intervals_from_gaps(measured, best.gaps, **public)
        pairs = zip(true.tolist(), intervals, strict=True)
        inside += sum(low <= score <= high for score, (low, high) in pairs)
        errors.append([_squared(values, true) for values in (measured, linear, found)])
    alone, linear_errors, found_errors = np.array(errors).T
    rest = found_errors.mean() / alone.mean()
    spread = (found_errors - rest * alone).std() / runs**0.5 / alone.mean()
    share = 1 - linear_errors.mean() / alone.mean()
    return [100 * each for each in (share, 1 - rest, spread, inside / (k * runs))]


def _squared(values: object, true: np.ndarray) -> float:
    off = np.array([float(value) for value in values]) - true
    return float(off @ off)


def table(runs_of_one: int) -> None:
    """Print the table in Markdown."""
    print(f"| counts, noise | k | {' | '.join(f'ε = {each}' for each in EPSILONS)} | covered |")
    print("|---|---|" + "---|" * (len(EPSILONS) + 1))
    for file in FILES:
        counts = np.load(DATA / file).astype(np.int64)
        for noise in ("exponential", "laplace"):
            for k in SIZES:
                runs = min(600, max(100, runs_of_one // k))
                cells = [cell(counts, k, Fraction(each), noise, runs) for each in EPSILONS]
                texts = [f"{a:.0f} / **{b:.0f}** ± {c:.1f}" for a, b, c, _ in cells]
                least = min(covered for *_, covered in cells)
                name = f"{file.partition('.')[0]}, {noise}"
                print(f"| {name} | {k} | {' | '.join(texts)} | {least:.1f} |", flush=True)


if __name__ == "__main__":
    table(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
