"""L3: wall-clock times of calls on two classes of scores, compared in the manner of dudect.

In each pair both classes are timed, in random order, on one buffer that is overwritten with the
class's scores before (so memory and caches are alike), with the default source.  Times above
several pooled percentiles are cropped; Welch's t for each, and a sign test on the pairs.  The job
fails where |t| > 10 *and* the means differ by more than 0.1 %: on shared hardware neither alone
means anything.  It is invalid where the positive control (the specification, which follows scores)
does not reach |t| > 50.  The null control (both classes equal) shows what noise gives.

    python benchmarks/timing/l3_dudect.py [--pairs 100000] [--calls permute_and_flip]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from safeselect.sources import OpenSSLSource
from shapes import ALL, CALLS, CONTROL, PREPARE, SLOW, scores_of

GATE_T, GATE_EFFECT, CONTROL_T = 10.0, 0.001, 50.0
PERCENTILES = (100.0, 99.0, 95.0, 90.0, 75.0, 50.0)
RESULTS = Path(__file__).parent / "results" / "l3.json"

Times = NDArray[np.float64]


def sample(name: str, classes: tuple[str, str], size: int, pairs: int) -> Times:
    """Times in ns: one row a pair, one column a class."""
    more = {"source": OpenSSLSource()} if name == CONTROL else {}
    call, prepare = ALL[name], PREPARE.get(name, same)
    inputs = [scores_of(family, size) for family in classes]
    buffer, order = np.empty(size, dtype=np.int64), random.Random(1)  # noqa: S311 - no secret
    times = np.empty((pairs, 2))
    clock = time.perf_counter_ns
    for family in (0, 1) * (50 if name not in SLOW else 5):
        np.copyto(buffer, inputs[family])
        call(prepare(buffer), **more)
    gc.collect()
    gc.disable()
    try:
        for pair in range(pairs):
            first = order.getrandbits(1)
            for family in (first, 1 - first):
                np.copyto(buffer, inputs[family])
                given = prepare(buffer)
                start = clock()
                call(given, **more)
                times[pair, family] = clock() - start
    finally:
        gc.enable()
    return times


def same(buffer: NDArray[np.int64]) -> object:
    """Most calls are given the array itself."""
    return buffer


def welch(times: Times, percentile: float) -> dict[str, float]:
    """Welch's t and the relative difference of means, after cropping at a pooled percentile."""
    limit = np.percentile(times, percentile)
    one, other = (column[column <= limit] for column in times.T)
    error = np.sqrt(one.var(ddof=1) / one.size + other.var(ddof=1) / other.size)
    difference = one.mean() - other.mean()
    return {
        "percentile": percentile,
        "t": float(difference / max(error, 1e-12)),
        "effect": float(difference / times[times <= limit].mean()),
        "difference_ns": float(difference),
    }


def sign_test(times: Times) -> float:
    """z of the number of pairs in which the first class took longer; ties are left out."""
    longer, shorter = (times[:, 0] > times[:, 1]).sum(), (times[:, 0] < times[:, 1]).sum()
    return float((longer - shorter) / max(np.sqrt(float(longer + shorter)), 1.0))


def compare(label: str, classes: tuple[str, str], times: Times) -> dict[str, object]:
    """All statistics of one comparison, printed too."""
    tests = [welch(times, percentile) for percentile in PERCENTILES]
    fails = any(abs(x["t"]) > GATE_T and abs(x["effect"]) > GATE_EFFECT for x in tests)
    worst = max(tests, key=lambda x: abs(x["t"]))
    z = sign_test(times)
    median = float(np.median(times))
    print(
        f"{label:<44} {classes[0]:>5} / {classes[1]:<10} {len(times):>7}  "
        f"median {median / 1e3:8.1f} µs  "
        f"max |t| {abs(worst['t']):7.2f} at {worst['percentile']:g} %  "
        f"effect {worst['effect']:+.3%}  sign z {z:+.2f}",
        flush=True,
    )
    return {
        "label": label,
        "classes": classes,
        "pairs": len(times),
        "median_ns": median,
        "tests": tests,
        "worst": worst,
        "sign_z": z,
        "fails": fails,
    }


def run(options: argparse.Namespace) -> dict[str, object]:
    """All comparisons in one job, and the verdict."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    size = options.size
    found = []
    for name in options.calls:
        pairs = max(options.pairs // SLOW.get(name, 1), 20)
        for classes in (("tie", "far"), ("tie", "neighbour"), ("stairs", "random")):
            found.append(compare(name, classes, sample(name, classes, size, pairs)))
        classes = ("tie", "tie")
        null = sample(name, classes, size, max(pairs // 2, 10))
        found.append(compare(f"{name}, null control", classes, null))
    classes = ("tie", "far")
    control_pairs = max(options.pairs // 4, 10)
    times = sample(CONTROL, classes, 32, control_pairs)
    positive = compare("the specification, positive control", classes, times)
    valid = abs(positive["worst"]["t"]) > CONTROL_T
    passed = valid and not any(item["fails"] for item in found)
    print("valid" if valid else "INVALID: the positive control was not told apart")
    print("pass" if passed else "FAIL")
    record = {"comparisons": [*found, positive], "valid": valid, "passed": passed}
    return record | {"paragraph": paragraph(record, size)}


def paragraph(record: dict[str, object], size: int) -> str:
    """The result in words, for the documentation."""
    *found, positive = record["comparisons"]
    main = [item for item in found if "null" not in item["label"]]
    null = [item for item in found if "null" in item["label"]]
    worst = max(main, key=lambda item: abs(item["worst"]["t"]))
    noise = max(abs(item["worst"]["t"]) for item in null)
    signs = max(abs(item["sign_z"]) for item in main)
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    verdict = "passed" if record["passed"] else "not passed" if record["valid"] else "invalid"
    return (
        f"**L3, wall-clock times** ({date}, n = {size}, {main[0]['pairs']:,} pairs a comparison, "
        f"classes interleaved in random order, cropped at pooled percentiles, Welch's t). Largest "
        f"|t| over {len(main)} comparisons {abs(worst['worst']['t']):.1f} "
        f"({worst['label']}, {' against '.join(worst['classes'])}, a difference of "
        f"{abs(worst['worst']['difference_ns']):.0f} ns or {abs(worst['worst']['effect']):.3%} "
        f"of the call); largest |z| of the paired sign test {signs:.1f}; "
        f"null control |t| {noise:.1f}; positive control (the specification) |t| "
        f"{abs(positive['worst']['t']):.0f}. Gate: |t| > 10 and more than 0.1 %; {verdict}."
    )


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", nargs="+", choices=list(CALLS), default=list(CALLS))
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    record = run(options)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0 if record["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
