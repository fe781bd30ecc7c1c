"""Measure safeselect beside the alternatives: `make bench`, or `python benchmarks/bench.py`.

Prints a plain table and writes JSON beside it.  See README.md for what is measured, and how.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from fnmatch import fnmatch
from fractions import Fraction
from functools import partial
from pathlib import Path

from bars import BARS
from cases import Case, bar_cases, grid_cases
from competitors import COMPETITORS
from documents import write_docs
from machine import Load, describe_machine, raise_mmap_threshold, warning
from measure import Result, Settings, apart, measure
from ours import OURS
from processes import first_calls, imports, memory
from report import case_lines, judge, summary_lines
from stages import stages
from work import Work

CONTENDERS = {**OURS, **COMPETITORS}
STAGES = (10, 1000, 10**5)
RESULTS = Path(__file__).parent / "results" / "bench.json"

FULL = {
    True: Settings(seconds=2.5, cap=20, alone=4, rounds=(5, 401)),
    False: Settings(seconds=0.7, cap=20, alone=4, rounds=(3, 201)),
}
QUICK = {
    True: Settings(seconds=0.3, cap=1.5, alone=1.0, rounds=(3, 101)),
    False: Settings(seconds=0.1, cap=1.0, alone=0.5, rounds=(3, 51)),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    if options.docs_only:
        record = json.loads(options.json.read_text(encoding="utf-8"))
        record["bars"] = [judge(bar, record["cases"]) for bar in BARS]
        write_docs(record, options.docs_only)
        return 0
    record = _run(options)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print("\n".join(summary_lines(record)))
    print(f"\nwritten to {options.json}")
    if options.docs:
        write_docs(record, options.docs)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.py", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer cases, shorter: 2 minutes")
    parser.add_argument("--only", metavar="TEXT", help="only cases named TEXT...; * and ? allowed")
    parser.add_argument("--huge", action="store_true", help="also 10^8 candidates; 3 GB of memory")
    parser.add_argument(
        "--warm-heap", action="store_true", help="start each case with large blocks freed before"
    )
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help="results file")
    parser.add_argument("--docs", type=Path, metavar="DIR", help="write both pages and the figure")
    parser.add_argument(
        "--docs-only", type=Path, metavar="DIR", help="write them from --json, without measuring"
    )
    return parser


def _run(options: argparse.Namespace) -> dict[str, object]:
    settings = QUICK if options.quick else FULL
    machine, started = describe_machine(), time.monotonic()
    idle = Load()
    time.sleep(1)
    before = idle.others()
    print(f"{machine['cpu']}, {machine['cores']} cores; {machine['python']}; {machine['date']}")
    print(warning(before, idle.before) or "the machine is idle")
    load = Load()
    cases = bar_cases() + grid_cases(quick=options.quick)
    results: dict[str, dict[str, object]] = {}
    over: dict[tuple[object, ...], int] = {}
    for case in cases:
        if _wanted(case.name, options.only):
            found = _measure(case, settings[case.bar], over, warm=options.warm_heap)
            _keep(results, case.name, case.title, found, case)
    for name, title, found in _processes(options, settings[True].cap):
        _keep(results, name, title, found)
    others = load.others()
    note = warning(others, load.before) or warning(before, idle.before)
    machine |= {"load_before": load.before, "others": others, "warning": note}
    record: dict[str, object] = {
        "machine": machine,
        "options": {
            name: getattr(options, name) for name in ("quick", "only", "huge", "warm_heap")
        },
        "seconds": round(time.monotonic() - started),
        "cases": results,
    }
    record["bars"] = [judge(bar, results) for bar in BARS]
    return record


def _wanted(name: str, only: str | None) -> bool:
    return only is None or fnmatch(name, f"{only}*")


def _measure(
    case: Case, settings: Settings, over: dict[tuple[object, ...], int], *, warm: bool
) -> list[Result]:
    """Measure a case in a process of its own.

    Whoever was over the cap at a smaller n is not asked again.
    """
    entries, skipped = [], {}
    for entry in case.entries:
        work = entry.work
        key = (entry.contender, work.scores, work.k, work.rate, work.batch)
        if over.get(key, work.n) < work.n:
            note = f"not run: over it at n = {over[key]} already"
            skipped[entry.label] = Result(entry.label, "over the cap", note)
        else:
            entries.append((entry.label, partial(CONTENDERS[entry.contender], work)))

    def work() -> list[Result]:
        if warm:
            raise_mmap_threshold()
        return measure(entries, settings)

    found = {label: Result(label, "failed: the process broke off") for label, _ in entries}
    found |= {result.label: result for result in apart(work)} | skipped
    for entry in case.entries:
        work, result = entry.work, found[entry.label]
        if result.status == "over the cap":
            key = (entry.contender, work.scores, work.k, work.rate, work.batch)
            over[key] = min(over.get(key, work.n), work.n)
            # The call takes longer than this; nothing more is known of it.
            result.low = settings.cap * 1e9
    return [found[entry.label] for entry in case.entries]


def _processes(options: argparse.Namespace, cap: float) -> Iterable[tuple[str, str, list[Result]]]:
    names = ("permute_and_flip", "exponential_mechanism")
    times = 5 if options.quick else 15
    if _wanted("import", options.only):
        yield "import", "import time, fresh processes", imports(times)
    if _wanted("first-call", options.only):
        found = [result for name in names for result in first_calls(name, times)]
        yield "first-call", "the first calls of a process, n = 10", found
    for n in STAGES:
        if _wanted(f"stages-{n}", options.only):
            work = partial(stages, Work(n, rate=Fraction(1, 4)), 2000 if n <= 1000 else 300)
            yield f"stages-{n}", f"stages of one permute-and-flip, n = {n}", apart(work)
    for n in (10**7, 10**8) if options.huge else (10**7,):
        if _wanted(f"memory-{n}", options.only):
            found = [result for name in names for result in memory(name, n, cap * 3)]
            yield f"memory-{n}", f"memory beyond the input, n = {n}", found


def _keep(
    results: dict[str, dict[str, object]],
    name: str,
    title: str,
    found: list[Result],
    case: Case | None = None,
) -> None:
    works = {} if case is None else {entry.label: entry.work for entry in case.entries}
    entries = []
    for result in found:
        entry = result.as_json()
        if result.label in works:
            work = works[result.label]
            entry |= {"n": work.n, "scores": work.scores, "k": work.k, "rate": str(work.rate)}
        entries.append(entry)
    results[name] = {"title": title, "entries": entries}
    print("\n".join(case_lines(name, results[name])), flush=True)


if __name__ == "__main__":
    sys.exit(main())
