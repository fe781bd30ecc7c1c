"""`make mutants`: what it does to the copy, and that explanations are of something."""

from __future__ import annotations

import mutate

PACKAGE = mutate.ROOT / "src" / "safeselect"
DECORATED = """\
from functools import lru_cache

@lru_cache(
    maxsize=4
)
def twice(x):
    calls.append(x)
    return 2 * x

def explicit(common):
    return lambda function: lambda x: common * function(x)

@explicit(10)
def thrice(x):
    return 3 * x

class Thing:
    @property
    def name(self):
        return "thing"

    @classmethod
    def make(cls):
        return cls()
"""


def test_decorators_that_mutmut_minds_are_applied_behind_their_functions():
    text = mutate.undecorated(DECORATED)
    assert text.count("@") == 1  # a class method stays as it is
    text = text.replace("__import__('mutant_notes').noted", "")
    space = {"calls": []}
    exec(text, space)  # noqa: S102 - the text above
    assert [space["twice"](3), space["twice"](3)] == [6, 6]
    assert space["calls"] == [3]
    assert space["thrice"](1) == 30
    assert space["Thing"].make().name == "thing"


def test_every_file_of_the_core_still_compiles():
    for patterns, _ in mutate.PARTS.values():
        for pattern in patterns:
            files = list(PACKAGE.glob(pattern))
            assert files, pattern
            for file in files:
                compile(mutate.undecorated(file.read_text()), file.name, "exec")


def test_a_difference_is_the_lines_that_differ():
    before = ["def ():", "    a = 1", "    return a + 2"]
    after = ["def ():", "    a = 1", "    return a - 2"]
    assert mutate.difference(before, after) == ("return a + 2", "return a - 2")
    assert mutate.difference(before, before) == ("", "")


def test_the_table_counts_every_mutant_once():
    mutants = {
        str(i): mutate.Mutant(str(i), "a.py" if i < 4 else "b.py", "tests", "x", "y")
        for i in range(6)
    }
    verdicts = {"0": "killed", "1": "crashed", "2": "survived", "4": "not reached"}
    lines = list(mutate.table(mutants, {name: {"verdict": v} for name, v in verdicts.items()}))
    assert lines[2:] == [
        "| `a.py` | 4 | 2 | 0 | 0 | 1 | 0 | 1 |",
        "| `b.py` | 2 | 0 | 0 | 0 | 0 | 1 | 1 |",
    ]


def test_what_is_explained_is_explained_once_and_of_a_file():
    reasons = mutate.tomllib.loads(mutate.EXPLAINED.read_text())["reason"]
    assert all(reason["why"].strip() and reason["changes"] for reason in reasons)
    changes = [change for reason in reasons for change in reason["changes"]]
    assert len(changes) == len(set(changes))
    for change in changes:
        file, _, change = change.partition(": ")
        assert (PACKAGE / file).is_file(), file
        assert not mutate.unheard(file), file
        assert " -> " in change
