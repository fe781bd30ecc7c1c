"""Compare the speed of two commits: twenty calls, in turns, as ratios of processor time.

    python benchmarks/compare.py REVISION              the working tree against that commit
    python benchmarks/compare.py REVISION --to OTHER   one commit against another

The time of a call differs by some per cent from process to process, with the layout of its memory
and with the seed of its hashes.  So each turn starts a new process for each side, both with the
seed of that turn, and compares the least of a few samples of each side, which alternate.  A sample
is a loop of calls that takes about a twentieth of a second or more.  For each call: the median of
the ratios new / old of all turns, and its two-sided interval of 95 % or more, from order statistics
alone.

The calls are those that a user types.  Where one is named otherwise in an older commit, it says so
beside the call, so that the comparison outlives a change of names.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SIZES = {"10": 10, "1 000": 1_000, "10^5": 100_000, "10^6": 1_000_000}
SHORTEST = 0.05  # seconds of processor time of one sample
SAMPLES = 3  # of each side, for each call and turn
BARS = {"median": 1.03, "upper end": 1.10}

Call = Callable[[], object]


def one_shot(name: str, size: int, **arguments: object) -> Call:
    """One of the functions for scores, on integers."""
    import numpy as np

    import safeselect

    call = getattr(safeselect, name)
    scores = np.random.default_rng(1).integers(0, 1000, size)
    return lambda: call(scores, sensitivity=1, monotonic=True, **arguments)


def charged(place: str) -> Call:
    """A release that a ledger records; the budget lasts."""
    import safeselect

    terms = {"unit": "person", "neighbours": "add_remove"}
    budget = safeselect.Budget("person", "add_remove", epsilon=10**6)
    ledger = safeselect.Ledger.create(place, {"a": budget})
    scope = ledger.scope("a", purpose="speed", **terms)
    return one_shot("permute_and_flip", 10, epsilon="1/1000", ledger=scope)


def prepared(size: int) -> Call:
    """A mechanism that was prepared for many calls."""
    import numpy as np

    import safeselect

    if hasattr(safeselect, "PermuteAndFlip"):  # as in older commits
        names: Any = safeselect
    else:
        from safeselect import prepared as names
    choose = names.PermuteAndFlip(epsilon=1, sensitivity=1, monotonic=True)
    scores = np.random.default_rng(1).integers(0, 1000, size)
    return lambda: choose(scores)


def table(folder: str) -> Call:
    """From the rows of a file to a list; the file is made once for both sides."""
    try:
        from safeselect.tables import top_items
    except ImportError:  # as in older commits
        from safeselect.adapters.tables import top_items

    path = str(Path(folder) / "rows.parquet")
    arguments = {"item": "item", "user": "person", "k": 10, "epsilon": 1, "delta": "1e-9"}
    return lambda: top_items(path, **arguments)


def write_table(folder: str) -> None:
    """Rows of 10^6 persons and 10^5 items, of which some are common."""
    import duckdb

    rows = duckdb.sql(
        "SELECT (hash(i) % 1000000)::BIGINT AS person, "
        "floor(100000 * pow((hash(i + 77) % 1000003) / 1000003.0, 3))::BIGINT::TEXT AS item "
        "FROM range(10000000) r(i)"
    )
    rows.write_parquet(f"{folder}/rows.parquet")


def calls(folder: str) -> dict[str, Callable[[], Call]]:
    """What is compared, by name; each is set up when it is asked for."""
    found: dict[str, Callable[[], Call]] = {}
    kinds: dict[str, tuple[str, dict[str, object]]] = {
        "permute_and_flip": ("permute_and_flip", {"epsilon": 1}),
        "exponential_mechanism": ("exponential_mechanism", {"epsilon": 1}),
        "top_k": ("top_k", {"k": 5, "epsilon": 1}),
        "top_k, delta": ("top_k", {"k": 5, "epsilon": 1, "delta": "1e-6"}),
    }
    for label, (name, arguments) in kinds.items():
        for shown, size in SIZES.items():
            found[f"{label}, n = {shown}"] = lambda name=name, size=size, arguments=arguments: (
                one_shot(name, size, **arguments)
            )
    found["charged in memory, n = 10"] = lambda: charged(":memory:")
    found["charged in a file, n = 10"] = lambda: charged(
        str(Path(folder) / f"{os.getpid()}.ledger")
    )
    found["prepared, n = 1 000"] = lambda: prepared(1_000)
    found["a table of 10^7 rows"] = lambda: table(folder)
    return found


def sample(call: Call, loops: int) -> float:
    """Seconds of processor time of one call, of all threads."""
    gc.collect()
    gc.disable()
    start = time.process_time()
    for _ in range(loops):
        call()
    taken = time.process_time() - start
    gc.enable()
    return taken / loops


def work(source: str, folder: str) -> None:
    """Answer on standard output what is asked on standard input: a call's name and its loops."""
    import safeselect

    if not Path(safeselect.__file__).is_relative_to(source):
        raise SystemExit(f"compare: {safeselect.__file__} is not below {source}")
    ready: dict[str, Call] = {}
    every = calls(folder)
    for line in sys.stdin:
        name, loops = json.loads(line)
        if name not in ready:
            ready.clear()
            ready[name] = every[name]()
            for _ in range(3 if loops > 1 else 1):
                ready[name]()
        print(json.dumps(sample(ready[name], loops)), flush=True)


@contextmanager
def worker(source: Path, folder: str, seed: int) -> Iterator[Callable[[str, int], float]]:
    """A process that runs the calls of one side, with this seed of hashes."""
    command = [sys.executable, "-W", "ignore", __file__, "--worker", str(source), folder]
    fixed = {"PYTHONPATH": str(source), "PYTHONHASHSEED": str(seed), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | fixed
    ) as process:
        asked, answered = process.stdin, process.stdout
        if asked is None or answered is None:
            raise SystemExit("compare: a worker without its ends")

        def ask(name: str, loops: int) -> float:
            print(json.dumps([name, loops]), file=asked, flush=True)
            return float(json.loads(answered.readline()))

        yield ask
        asked.close()


@contextmanager
def checkout(revision: str | None, place: Path) -> Iterator[Path]:
    """The sources of a commit; those of the working tree without one."""
    if revision is None:
        yield ROOT / "src"
        return
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(place), revision], check=True)
    try:
        yield place / "src"
    finally:
        subprocess.run([*git, "remove", "--force", str(place)], check=True)


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """The median, and the ends of its interval of 95 % or more by the binomial distribution."""
    ordered, n = sorted(ratios), len(ratios)
    outside, rank = 0.0, 0
    while outside + 2 * math.comb(n, rank) / 2**n <= 0.05:
        outside += 2 * math.comb(n, rank) / 2**n
        rank += 1
    if not rank:
        raise SystemExit("compare: an interval of 95 % needs 6 turns or more")
    return statistics.median(ordered), ordered[rank - 1], ordered[n - rank]


def turn(old: Any, new: Any, name: str, number: int) -> float:
    """The ratio new / old of a call in one turn."""
    loops = math.ceil(SHORTEST / max(min(old(name, 1), old(name, 1)), 1e-6))
    first, second = (old, new) if number % 2 else (new, old)
    times: dict[Any, list[float]] = {old: [], new: []}
    for place in range(SAMPLES):
        for side in (second, first) if place % 2 else (first, second):
            times[side].append(side(name, loops))
    return min(times[new]) / min(times[old])


def main(arguments: argparse.Namespace) -> int:
    """Print a row for each call, and return 1 if one is beyond a bar."""
    late = 0
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        write_table(folder)
        places = [Path(folder) / side for side in ("old", "new")]
        sources = [
            stack.enter_context(checkout(revision, place))
            for revision, place in zip((arguments.revision, arguments.to), places, strict=True)
        ]
        ratios: dict[str, list[float]] = {
            name: [] for name in calls(folder) if arguments.only in name
        }
        for number in range(arguments.turns):
            with ExitStack() as sides:
                old, new = (
                    sides.enter_context(worker(source, folder, number)) for source in sources
                )
                for name, found in ratios.items():
                    found.append(turn(old, new, name, number))
    print(f"{'call':38} median   95 % interval     ({arguments.turns} turns, new / old)")
    for name, found in ratios.items():
        median, low, high = interval(found)
        beyond = median > BARS["median"] or high > BARS["upper end"]
        late += beyond
        note = "   beyond a bar" if beyond else ""
        print(f"{name:38} {median:6.3f}   {low:5.3f} to {high:5.3f}{note}", flush=True)
    print(f"{len(ratios)} calls, {late} beyond {BARS['median']} or {BARS['upper end']}")
    return 1 if late else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        sys.exit(work(*sys.argv[2:]))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("revision", help="the commit to compare with")
    parser.add_argument("--to", help="the commit that is compared; the working tree without it")
    parser.add_argument("--turns", type=int, default=21)
    parser.add_argument("--only", default="", help="only calls whose names have this in them")
    sys.exit(main(parser.parse_args()))
