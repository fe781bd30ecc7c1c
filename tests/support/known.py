"""Keep known answers: `safeselect.known_answers` compares them, and this records.

    python tests/support/known.py check [ROW ...]   compare these rows, or all but the large ones
    python tests/support/known.py record SET ROW    record this row anew, and show what changed

SET is small, large, written, mission (`mission.py`), or draws: what reaches the engine, on the
first tape of each row of the small set that draws, as `observer` sees it.  There is no way to
record all: a changed answer needs a sentence in the change log.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import mission
from observer import Draw, observed

from safeselect import known_answers
from safeselect.known_answers import answer, tell

Json = Any
UNOBSERVED = "samplers.", "guarded", "refused", "audited", "charged", "ledger", "tables", "varied"
UNOBSERVED += "command", "spec"
"""Beginnings of the names of rows whose draws are not recorded."""
Rows = dict[str, dict[str, Json]]


def place(which: str) -> Path:
    """The file of a set of the package that is imported, of the mission, or of the draws."""
    if which == "mission":
        return mission.PLACE
    here = Path(__file__).parents[1] / "known" / "draws.json"
    return here if which == "draws" else Path(known_answers.__file__).with_name(f"{which}.json")


def read(which: str) -> Rows:
    """The rows of a set, by name; or the draws of each."""
    found: Rows = json.loads(place(which).read_text("utf-8"))
    return found


def drawing() -> Rows:
    """The rows of the small set whose draws are recorded."""
    rows = read("small")
    return {
        name: row
        for name, row in rows.items()
        if next(iter(row["told"])) != "none" and not name.startswith(UNOBSERVED)
    }


def draws(name: str, row: Mapping[str, Json]) -> Json:
    """What reaches the engine in the row's steps on their first tape, equal ones once."""
    with observed() as seen:
        tell(name, row, next(iter(row["told"])))
    found: list[Json] = []
    for each in map(_plain, seen.draws):
        if each not in found:
            found.append(each)
    return found


def _plain(draw: Draw) -> Json:
    said = [draw.law, _rate(draw.low, draw.high), f"k={draw.k}", f"{draw.rows} x {draw.size}"]
    if draw.gaps is not None:
        said.append(f"gaps in {draw.gaps}")
    if draw.weights is not None:
        said.append(f"weights {sorted(set(map(str, draw.weights)))}")
    more = {k: v for k, v in draw.more.items() if isinstance(v, (int, str, Fraction, tuple))}
    return [*said, *(f"{name}={value}" for name, value in more.items())]


def _rate(low: Fraction, high: Fraction) -> str:
    """The simplest number that is enclosed, or 64 digits of an irrational one."""
    for most in (1, 10**6, 10**12, 10**18):
        simple = ((low + high) / 2).limit_denominator(most)
        if low <= simple <= high:
            return str(simple)
    return f"{int(low * 2**64)} / 2**64"


def written(which: str, rows: Mapping[str, Json]) -> str:
    """The file: a line for each key of a row and for each tape, to be compared by eye."""
    if which == "draws":
        parts = (f" {json.dumps(name)}: {json.dumps(each)}" for name, each in rows.items())
        return "{\n" + ",\n".join(parts) + "\n}\n"
    return laid_out(rows, "answer" if which == "mission" else "told")


def laid_out(rows: Mapping[str, Mapping[str, Json]], last: str) -> str:
    """Rows with a line for each key, and for each item of the `last` one."""

    def row(content: Mapping[str, Json]) -> str:
        keys = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in content.items() if k != last]
        items = (f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in content[last].items())
        return ",\n".join([*keys, f'  "{last}": {{\n' + ",\n".join(items) + "\n  }"])

    parts = (f" {json.dumps(name)}: {{\n{row(each)}\n }}" for name, each in rows.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def now(which: str, name: str, row: Mapping[str, Json]) -> Json:
    """A row as it is answered now."""
    if which == "draws":
        return draws(name, read("small")[name])
    if which == "mission":
        return {**row, "answer": mission.answer(name, row)}
    stated: list[Json] = []
    told = {kind: answer(name, row, kind, stated) for kind in row["told"]}
    return {**row, "stated": stated, "told": told}


def record(which: str, name: str) -> list[str]:
    """Record one row anew; the lines say what changed."""
    rows = read(which)
    if name not in rows:
        raise SystemExit(f"there is no row {name!r} in {which}")
    before, rows[name] = rows[name], now(which, name, rows[name])
    place(which).write_text(written(which, rows), "utf-8")
    lines = zip(
        *(json.dumps(each, indent=1).split("\n") for each in (before, rows[name])), strict=False
    )
    return [f"- {old}\n+ {new}" for old, new in lines if old != new]


def check(names: list[str], backwards: bool = False) -> list[str]:
    """The rows that answer otherwise than recorded, of these, or of all but the large ones."""
    other = []
    for which in (*known_answers.SETS, "mission") if names else ("small", "written"):
        rows = read(which)
        chosen = [name for name in rows if not names or name in names]
        for name in reversed(chosen) if backwards else chosen:
            if now(which, name, rows[name]) != rows[name]:
                other.append(f"{which}: {name}")
    return other


def main(words: list[str]) -> int:
    """What the module says."""
    if words[:1] == ["check"]:
        other = check(words[1:])
        print("".join(f"{each}\n" for each in other) + f"rows with another answer: {len(other)}")
        return int(bool(other))
    if words[:1] == ["record"] and len(words) == 3:
        print("\n".join(record(*words[1:])) or "nothing changed")
        return 0
    print("known.py check [ROW ...], or record SET ROW", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
