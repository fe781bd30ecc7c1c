"""See that each module's own file of tests notices a change of the module: `make mirrored`.

A module's own file is `test_<module>.py` in a folder with the name of its room.  Changes of the
module (`changes.py`) are drawn at random, from its name.  One after the other is planted in a copy
of the package, until a test of the file fails that passes where a comment alone was added.  Each
verdict is a line of `build/mirrored.jsonl`; a module that has one is not tried again.  The exit
status is 1 if a file notices none of the changes.

    make mirrored ARGS='--only ledger/ --changes 8'
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from mutants import PACKAGE, copy, python

from changes import changes

LOG = ROOT / "build" / "mirrored.jsonl"
SECONDS = 120  # of one change


def own_file(module: Path) -> Path | None:
    """The file of tests of a module of the package."""
    room = module.parent.name if module.parent != PACKAGE else "tests"
    name = f"test_{module.stem.strip('_')}.py"
    found = (each for each in (ROOT / "tests").rglob(name) if each.parent.name == room)
    return next(found, None)


def failure(module: Path, source: str, test: str) -> str | None:
    """The first test that fails where the module is this."""
    with tempfile.TemporaryDirectory() as place:
        package = copy(Path(place))
        (package / "safeselect" / module.relative_to(PACKAGE)).write_text(source)
        calm = ("-x", "-q", "--tb=no", "-rfE", "-m", "not nightly", "-p", "no:cacheprovider")
        try:
            done = python(package, "-m", "pytest", *calm, test, seconds=SECONDS)
        except subprocess.TimeoutExpired:
            return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return found and found[1]


def verdict(module: Path, test: Path, most: int) -> dict[str, object]:
    """Which of some changes of a module its own file of tests notices first."""
    source, name = module.read_text(), module.relative_to(PACKAGE).as_posix()
    every = [*dict.fromkeys(changes(source))]
    tried = random.Random(name).sample(every, min(most, len(every)))  # noqa: S311 - no secret
    for number, change in enumerate(tried, 1):
        found = failure(module, change.made(source), test.relative_to(ROOT).as_posix())
        if found and failure(module, f"{source}\n# a comment\n", found.partition("[")[0]) is None:
            said = {"function": change.function, "said": change.said}
            return {"module": name, "tried": number, **said, "test": found}
    return {"module": name, "tried": len(tried), "test": None}


def table(verdicts: dict[str, dict[str, object]]) -> Iterator[str]:
    """Rows for tests/kills.md."""
    yield "| module | change | changes tried | the test that fails |\n|---|---|--:|---|"
    for name, each in sorted(verdicts.items()):
        said = "" if not each["test"] else "`{function}`: `{said}`".format_map(each)
        test = str(each["test"] or "none").removeprefix("tests/").partition("[")[0]
        said = said.replace("|", "\\|")
        yield f"| `{name}` | {said} | {each['tried']} | `{test.replace('::', '`: `')}` |"


def main(arguments: list[str] | None = None) -> int:
    """Plant, look, print; 1 if a file notices none of the changes."""
    words = argparse.ArgumentParser(description="Does each module's own file notice a change?")
    words.add_argument("--only", default="", help="only modules whose path contains this")
    words.add_argument("--changes", type=int, default=5, help="of a module, at most")
    options = words.parse_args(arguments)
    LOG.parent.mkdir(exist_ok=True)
    LOG.touch()
    verdicts = {each["module"]: each for each in map(json.loads, LOG.read_text().splitlines())}
    for module in sorted(PACKAGE.rglob("*.py")):
        name, test = module.relative_to(PACKAGE).as_posix(), own_file(module)
        if options.only not in name or name in verdicts or test is None:
            continue
        verdicts[name] = verdict(module, test, options.changes)
        with LOG.open("a") as file:
            file.write(json.dumps(verdicts[name]) + "\n")
        print(f"{name}: {verdicts[name]['test']}", flush=True)
    print("\n".join(table(verdicts)))
    return int(any(each["test"] is None for each in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main())
