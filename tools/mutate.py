"""Mutation testing of the trusted core: `make mutants`.  docs/mutants.md has the results.

mutmut makes small changes to the code, one at a time, and `mutant_judge` shows each to the tests
that call the changed function and are marked with a claim; what they do not notice, to the
unmarked tests of its own part.  The order is that in which the parts build on one another, and
all stops when the time is over:

    make mutants ARGS='--minutes 20 --parts exact guarantees'

A mutant that no test notices must be explained in tools/survivors.toml: the exit status is 1 if
one is not, or if an explanation is of a mutant that is no longer made, or that a test notices.

All happens on a copy in build/mutants.  There, `@cache`, `@property` and `@explicit` are taken off
functions and applied after them, since mutmut leaves decorated functions alone.  Left alone are the
texts of errors (the leak tests read those) and the names and docstrings of methods that show a
result.  Left out are tests that start processes or read the source: they would see the original, or
all mutants at once; and one whose library has threads, which a fork lacks.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "mutants"
EXPLAINED = ROOT / "tools" / "survivors.toml"
TABLES = ("allowances", "arrays", "laws", "tables")
ALONE = ("gaussian", "geometric", "single")
RANKING = ("draws", "contenders", "rankings", "rows")
PARTS = {
    "exact": (("exact/*.py", "accounting/pure.py"), "tests/exact"),
    "guarantees": (("promises/*.py",), "tests/promises"),
    "tables": (tuple(f"engine/{name}.py" for name in TABLES), "tests/engine"),
    "ranking": (tuple(f"engine/{name}.py" for name in RANKING), "tests/engine"),
    "variates": (tuple(f"engine/{name}.py" for name in ALONE), "tests/engine"),
    "scores": (("scores/*.py",), "tests/scores"),
    "mechanisms": (("mechanisms/*.py",), "tests/mechanisms"),
    "budget": (("ledger/budget.py", "ledger/quote.py", "ledger/balance.py"), "tests/ledger"),
    "calibration": (("accounting/rate.py", "accounting/search.py"), "tests/accounting"),
}
"""The files of a part and the folder of its own tests, in the order in which they build up."""

LEFT_OUT = (
    *(
        "tests/release",
        "tests/adapters",
        "tests/tables",
        "tests/inside/timing",
        "tests/audit",
        "tests/randomness",
    ),
    *("tests/test_lint.py", "tests/test_import.py", "tests/engine/test_work.py"),
    "tests/fuzz/test_bounds.py",
    "tests/ledger/stores",
    "tests/mechanisms/test_threads_and_forks.py",
)
FIRST_FAILURE = {"HYPOTHESIS_PROFILE": "first_failure"}
"""One failure is enough: no search for a smaller example."""

APPLIED_AFTER = ("lru_cache", "cache", "property", "explicit")
KINDS = ("killed", "killed by a test without a mark", "timed out", "survived", "not reached")
"""What becomes of a mutant; `timed out` is noticed too, by whoever waits."""

UNNOTICED = ("survived", "not reached")


@dataclass(frozen=True)
class Mutant:
    """A small change: where, and the lines that differ."""

    name: str
    file: str
    own: str
    before: str
    after: str

    @property
    def change(self) -> str:
        """The change in one line, as survivors.toml names it."""
        return f"{self.file}: {self.before} -> {self.after}"


def main() -> int:
    """Copy, mutate, judge, report."""
    options = parser().parse_args()
    end = monotonic() + 60 * options.minutes
    prepare()
    mutants = {mutant.name: mutant for part in options.parts for mutant in mutate(part)}
    known = explained()
    judge(mutants, known, options, end - monotonic())
    lines = [json.loads(line) for line in (WORK / "verdicts").read_text().splitlines()]
    count, verdicts = lines[0], {line["mutant"]: line for line in lines[1:]}
    for name, line in verdicts.items():
        unseen = line["verdict"] in UNNOTICED and line["at_import"]
        if unseen and mutants[name].change not in known and monotonic() < end:
            line["verdict"] = at_import(mutants[name])
    unexplained = [
        mutants[name]
        for name, line in verdicts.items()
        if line["verdict"] in UNNOTICED and mutants[name].change not in known
    ]
    files = {mutant.file for mutant in mutants.values()}
    made = {mutant.change for mutant in mutants.values()}
    never = known - made
    stale = sorted(each for each in never if (file := each.split(":")[0]) in files or unheard(file))
    noticed = [
        mutants[name].change
        for name, line in verdicts.items()
        if line["verdict"] in KINDS[:2] and mutants[name].change in known
    ]
    print(f"{count['tests']} of {count['of']} tests in use")
    print("\n".join(table(mutants, verdicts)))
    print(f"\nNot explained: {len(unexplained)}")
    print("\n".join(f"{mutant.name}\n    {mutant.change}" for mutant in unexplained))
    print(f"\nExplained, but no longer made: {len(stale)}", *stale, sep="\n    ")
    print(f"\nExplained, but noticed: {len(noticed)}", *noticed, sep="\n    ")
    return 1 if unexplained or stale or noticed else 0


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    words = argparse.ArgumentParser(description="Mutation testing of the trusted core.")
    words.add_argument("--minutes", type=float, default=60, help="when to stop (60)")
    words.add_argument("--longest", type=float, default=5, help="seconds of a test, at most (5)")
    words.add_argument(
        "--patience", type=float, default=5, help="seconds of tests for one mutant, at first (5)"
    )
    words.add_argument(
        "--workers", type=int, default=os.cpu_count(), help="how many mutants at a time (all cores)"
    )
    words.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    words.add_argument("--files", nargs="+", help="only these, such as engine/rankings.py")
    words.add_argument("--tests", nargs="+", default=["tests"], help="only these tests")
    words.add_argument("--only", help="only mutants whose name contains this")
    words.add_argument("--seed", help="shuffle the mutants, so that each night has others")
    return words


def explained() -> set[str]:
    """The changes of which it is written down why nothing that is promised changes with them."""
    reasons = tomllib.loads(EXPLAINED.read_text())["reason"]
    return {change for reason in reasons for change in reason["changes"]}


def unheard(file: str) -> bool:
    """Whether no part has this file."""
    patterns = (pattern for patterns, _ in PARTS.values() for pattern in patterns)
    return not any(fnmatch(file, pattern) for pattern in patterns)


# ---- the copy


def prepare() -> None:
    """A fresh copy of all that tests read."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    for name in ("src", "tests", "tools", "docs", "examples", "requirements"):
        shutil.copytree(ROOT / name, WORK / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "SECURITY.md"):
        shutil.copy(ROOT / name, WORK)
    (WORK / "setup.cfg").write_text(
        "[mutmut]\nsource_paths=src\ntrack_dependencies=false\n"
        "do_not_mutate_patterns=\n  \\braise\\b\n  \\bpresented\\(\n"
    )


def mutate(part: str) -> Iterator[Mutant]:
    """Put all mutants of a part into the copy."""
    from mutmut.mutation.file_mutation import mutate_file_contents

    patterns, own = PARTS[part]
    package = WORK / "src" / "safeselect"
    for path in (path for pattern in patterns for path in sorted(package.glob(pattern))):
        with chdir(WORK):
            mutated = mutate_file_contents(str(path), undecorated(path.read_text()))
        path.write_text(mutated.code)
        file = path.relative_to(package).as_posix()
        module = ".".join(path.relative_to(WORK / "src").with_suffix("").parts)
        functions = texts(mutated.code)
        for name in mutated.mutant_names:
            original = f"{name.partition('__mutmut_')[0]}__mutmut_orig"
            before, after = difference(functions[original], functions[name])
            yield Mutant(f"{module.removesuffix('.__init__')}.{name}", file, own, before, after)


def undecorated(text: str) -> str:
    """Apply some decorators after their functions, where mutmut is not put off by them."""
    lines = text.splitlines()
    for node in sorted(functions_of(ast.parse(text)), key=lambda node: -node.lineno):
        for decorator in node.decorator_list:
            if ast.unparse(decorator).partition("(")[0] in APPLIED_AFTER:
                applied = f"{ast.unparse(decorator)}({node.name})"
                if applied.startswith(("cache", "lru_cache")):
                    applied = f"__import__('mutant_notes').noted({applied})"
                indent = " " * node.col_offset
                lines.insert(node.end_lineno or 0, f"{indent}{node.name} = {applied}")
                del lines[decorator.lineno - 1 : decorator.end_lineno]
    return "\n".join(lines) + "\n"


def functions_of(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Functions and methods."""
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        yield from (each for each in inner if isinstance(each, ast.FunctionDef))


def texts(code: str) -> dict[str, list[str]]:
    """The lines of the body of each function."""
    return {
        node.name: ast.unparse(node).replace(node.name, "").splitlines()
        for node in functions_of(ast.parse(code))
    }


def difference(before: list[str], after: list[str]) -> tuple[str, str]:
    """The lines that differ, in one line each."""
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "-+"]
    old, new = ([line[2:].strip() for line in changed if line[0] == sign] for sign in "-+")
    return " ".join(old), " ".join(new)


# ---- the verdicts


def judge(
    mutants: dict[str, Mutant], known: set[str], options: argparse.Namespace, seconds: float
) -> None:
    """Show mutants to the tests, in a process that collects the tests once.

    A tenth of the time is left for what ran at import.
    """
    files, only = options.files or [], options.only or ""
    plan = {
        name: {"own": mutant.own, "explained": mutant.change in known}
        for name, mutant in mutants.items()
        if only in name and (not files or mutant.file in files)
    }
    if options.seed is not None:
        names = random.Random(options.seed).sample(list(plan), len(plan))  # noqa: S311
        plan = {name: plan[name] for name in names}
    (WORK / "plan.json").write_text(json.dumps(plan))
    words = {
        "plan": WORK / "plan.json",
        "verdicts": WORK / "verdicts",
        "seconds": 0.9 * seconds,
        "longest": options.longest,
        "patience": options.patience,
        "workers": options.workers,
    }
    owns = {own for _, own in PARTS.values()}
    run_tests(
        [str(ROOT / "tools" / "mutant_judge.py")]
        + [f"--{word}={value}" for word, value in words.items()]
        + [f"--own={own}" for own in sorted(owns)],
        options.tests,
    )
    if not (WORK / "verdicts").exists():
        raise SystemExit(f"no test could be collected: {WORK / 'pytest.log'}")


def run_tests(command: list[str], tests: list[str], **extra: str) -> subprocess.CompletedProcess:
    """Run pytest in the copy."""
    calm = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    left_out = (f"--{'deselect' if '::' in path else 'ignore'}={path}" for path in LEFT_OUT)
    with (WORK / "pytest.log").open("a") as log:
        return subprocess.run(
            [sys.executable, *command, *calm, *left_out, *tests],
            cwd=WORK,
            env={**os.environ, "PYTHONPATH": str(WORK / "src"), **FIRST_FAILURE, **extra},
            check=False,
            stdout=log,
            stderr=log,
        )


def at_import(mutant: Mutant) -> str:
    """The verdict on what ran before its mutant could be switched on: pytest from the start."""
    quick = ["-m", "pytest", "-x", "-m", "not slow"]
    ended = run_tests(quick, [mutant.own], MUTANT_UNDER_TEST=mutant.name)
    return "survived" if ended.returncode == 0 else KINDS[1]


# ---- the report


def table(mutants: dict[str, Mutant], verdicts: dict[str, dict]) -> Iterator[str]:
    """A line a file: how many mutants, and what became of them."""
    yield f"| file | mutants | {' | '.join(KINDS)} | not run |"
    yield f"|---|{'--:|' * (len(KINDS) + 2)}"
    for file in dict.fromkeys(mutant.file for mutant in mutants.values()):
        names = [name for name, mutant in mutants.items() if mutant.file == file]
        count = Counter(verdicts.get(name, {"verdict": "not run"})["verdict"] for name in names)
        count["killed"] += count.pop("crashed", 0)
        cells = [f"`{file}`", len(names), *(count[kind] for kind in KINDS), count["not run"]]
        yield f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())
