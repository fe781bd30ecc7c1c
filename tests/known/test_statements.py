"""Statements of SQL among the known answers: SQLite runs them, and counts what Python counts."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections import Counter, defaultdict

import pytest

import known

ROWS = [
    *[("x", item, person) for person in range(9) for item in "abc"[: person % 3 + 1] * 2],
    *[("y", item, person) for person in range(7) for item in "bcd"[: person % 2 + 2]],
    *[("z", "a", 1), (None, "a", 2), ("x", None, 3), ("x", "d", None), ("y", "e", 8)],
]
CANDIDATES, GROUPS = {"a", "c"}, {"x", "y"}
STEPS = [
    pytest.param(words, told, id=f"{call} {words}")
    for row in (known.read("small")[f"statements of {each}"] for each in ("counts", "groups"))
    for (call, _, words), told in zip(row["do"], row["told"]["none"][0], strict=True)
]


def md5(text):
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


FUNCTIONS = {"md5": md5, "CONCAT": lambda *texts: "".join(texts), "LEAST": min}
FUNCTIONS["START"] = lambda text, size: text[:size]


def first(things, person, most):
    """Those of a user's items or groups that the hash puts first."""
    return sorted(things, key=lambda each: (md5(f"{person} {each}")[:12], each))[:most]


def counted(*, among=False, contributions=None, least=1, places=None, squared=None, groups=0):
    """What a statement asks for, by its arguments; with `groups`, in each group."""
    kept, found = defaultdict(set), defaultdict(Counter)
    for group, item, person in ROWS:
        if None not in (item, person) and (groups == 0 or group in GROUPS):
            kept[person, "" if groups == 0 else group].add(item)
    for (person, group), items in kept.items():
        theirs = [each for other, each in kept if other == person]
        if groups and group not in first(theirs, person, groups):
            continue
        own = first(items & CANDIDATES if among else items, person, contributions)
        for item in own:
            found[group][item] += int((squared // len(own)) ** 0.5) if squared else 1
    most = {
        group: sorted(each, key=lambda item: (-each[item], item)) for group, each in found.items()
    }
    listed = ((group, item) for group, items in most.items() for item in items[: places or None])
    return {
        (group, item, found[group][item]) for group, item in listed if found[group][item] >= least
    }


@pytest.mark.parametrize(("words", "sql"), STEPS)
def test_recorded_statements_count_users(words, sql):
    database = sqlite3.connect(":memory:")
    for name, function in FUNCTIONS.items():
        database.create_function(name, -1, function)
    database.execute("CREATE TABLE safeselect_rows (grp, item, person)")
    database.executemany("INSERT INTO safeselect_rows VALUES (?, ?, ?)", ROWS)
    database.execute("CREATE TABLE safeselect_candidates AS SELECT 'a' AS label UNION SELECT 'c'")
    database.execute("CREATE TABLE safeselect_groups AS SELECT 'x' AS label UNION SELECT 'y'")
    # In SQLite, STRING is a type of numbers, and LEFT a word of joins.
    found = database.execute(re.sub(r"\bLEFT\(", "START(", sql).replace("STRING", "TEXT"))
    assert {row if len(row) == 3 else ("", *row) for row in found} == counted(**words)
