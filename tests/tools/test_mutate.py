"""`make mutants`: what it changes, what it draws, and what makes it fail."""

from __future__ import annotations

from time import sleep
from types import SimpleNamespace

import pytest

import mutant_judge
import mutate
from changes import changes
from safeselect.exact import normal

SOURCE = """
LIMIT: int = 3

def kept(x, *, size=1):
    if x < 0:
        raise ValueError(f"{x + 1}")
    for each in x:
        record(each, by=size)
        if not each or each is None:
            continue
    return min(x, -LIMIT) % 2
"""
SAID = {
    "LIMIT: int = 3 -> LIMIT: int = 4",
    "def kept(x, *, size=1): -> def kept(x, *, size=2):",
    "if x < 0: -> if False:",
    "if x < 0: -> if x <= 0:",
    "if x < 0: -> if x < 1:",
    "record(each, by=size) -> pass",
    "record(each, by=size) -> record(each)",
    "if not each or each is None: -> if not each and each is None:",
    "if not each or each is None: -> if each or each is None:",
    "if not each or each is None: -> if not each or each is not None:",
    "continue -> break",
    "return min(x, -LIMIT) % 2 -> return min(x, -LIMIT) // 2",
    "return min(x, -LIMIT) % 2 -> return max(x, -LIMIT) % 2",
    "return min(x, -LIMIT) % 2 -> return min(x, LIMIT) % 2",
    "return min(x, -LIMIT) % 2 -> return min(x, -LIMIT) % 3",
}


def test_what_is_changed():
    found = list(changes(SOURCE))
    assert ({change.said for change in found}, len(found)) == (SAID, len(SAID))
    assert {change.function for change in found} == {"", "kept"}


@pytest.mark.parametrize("file", ["exact/interval.py", "ledger/witness.py", "tables/items.py"])
def test_a_change_moves_no_line(file):
    source = (mutate.PACKAGE / file).read_text()
    for change in list(changes(source))[::9]:
        made = change.made(source)
        compile(made, file, "exec")
        lines = list(zip(source.splitlines(), made.splitlines(), strict=True))
        moved = [number for number, (one, other) in enumerate(lines, 1) if one != other]
        assert set(moved) <= set(range(change.first, change.last + 1))


def made(file: str, text: str) -> list[mutate.Mutant]:
    return [mutate.Mutant(file, change) for change in changes(text)]


def test_what_is_drawn():
    def drawn(mutants, **more):
        words = [f"--{name}={value}" for name, value in more.items()]
        return mutate.drawn(mutants, mutate.parser().parse_args(words))

    every = made("exact/a.py", SOURCE) + made("ledger/b.py", SOURCE)
    order = drawn(every, seed=1)
    assert set(order) == set(every)
    assert order != drawn(every, seed=2)
    assert drawn(every[:15], seed=1) == [each for each in order if each.room == "exact"]
    few = drawn(every, seed=1, most=2)
    assert sorted(each.room for each in few) == ["exact"] * 2 + ["ledger"] * 2


def test_what_makes_a_run_fail():
    (one, two, three), known = made("exact/a.py", "A = 1\nB = 2\nC = 3\n"), {"exact/a.py: gone"}
    verdicts = {one: "survived", two: "noticed", three: "not shown to all its tests"}
    found = mutate.findings([one, two, three], verdicts, known | {two.said, three.said})
    assert list(found.values()) == [[one.said], ["exact/a.py: gone"], [two.said]]
    assert not any(mutate.findings([one], {one: "survived"}, {one.said}).values())
    rows = list(mutate.table([one, two, three], verdicts, {one.said}))
    assert rows[-1] == "| all | 3 | 2 | 1 | 1 | 1 |"


def judge() -> mutant_judge.Judge:
    return mutant_judge.Judge(SimpleNamespace(workers=1), [], set(), 0)


def test_forks_end_in_time(monkeypatch, tmp_path):
    monkeypatch.setattr(mutant_judge, "LOG", tmp_path / "log")
    now, jobs = mutate.monotonic(), [("quick", lambda: 11), ("endless", lambda: sleep(60))]
    assert list(judge().forked(jobs, now + 1)) == [("quick", 11), ("endless", None)]
    assert mutate.monotonic() < now + 30
    with pytest.raises(RuntimeError, match="a fork for wrong failed"):
        list(judge().forked([("wrong", lambda: 1 // 0)], now + 60))
    assert "ZeroDivisionError" in (tmp_path / "log").read_text()


def test_a_function_gets_its_changed_code():
    source = (mutate.PACKAGE / "exact/normal.py").read_text()
    mutants = [each for each in made("exact/normal.py", source) if each.change.function]
    asked = judge()
    asked.find_functions()
    functions = [each for each in vars(normal).values() if hasattr(each, "__code__")]
    before = [each.__code__ for each in functions]

    def planted() -> int:
        return asked.plant(mutants[0]) and [each.__code__ for each in functions] != before

    assert list(asked.forked([("", planted)], mutate.monotonic() + 60)) == [("", 1)]


def test_what_is_explained_is_explained_once_and_of_a_file():
    reasons = mutate.tomllib.loads(mutate.EXPLAINED.read_text())["reason"]
    assert all(reason["why"].strip() and reason["changes"] for reason in reasons)
    said = [change for reason in reasons for change in reason["changes"]]
    assert len(said) == len(set(said))
    for change in said:
        file, _, change = change.partition(": ")
        assert (mutate.PACKAGE / file).is_file(), file
        assert " -> " in change
