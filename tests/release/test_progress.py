"""One bar for all long work: on a terminal alone, after a second, and none where it is off."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from tempfile import TemporaryDirectory

import pytest

from safeselect.release import progress
from safeselect.release.progress import SWITCH, counted, watched

tqdm = pytest.importorskip("tqdm")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setattr(progress, "_AFTER", 0)
    monkeypatch.delenv(SWITCH, raising=False)
    return Terminal()


def count(terminal: Terminal | None) -> None:
    with redirect_stderr(terminal), counted("draws", 4) as more:
        for _ in range(4):
            time.sleep(0.15)  # tqdm writes ten times a second at most
            more(1)


def watch(terminal: Terminal | None, share: Callable[[], float], seconds: float) -> None:
    with redirect_stderr(terminal), watched("counting", share):
        time.sleep(seconds)


def test_it_counts_on_a_terminal_and_leaves_nothing(terminal: Terminal, capsys):
    count(terminal)
    lines = terminal.getvalue().split("\r")
    assert any("draws" in line and "3/4" in line for line in lines)
    assert not lines[-1].strip()
    assert capsys.readouterr().out == ""


def test_it_asks_an_engine_how_far_it_is(terminal: Terminal, monkeypatch):
    monkeypatch.setattr(progress, "_EVERY", 0.05)
    shares = iter([0.25, -1, 7.0])

    def share() -> float:
        return next(shares)  # then it raises, as an engine that does not know may

    watch(terminal, share, 1)
    shown = terminal.getvalue()
    assert "counting" in shown
    assert "25 %" in shown
    assert "100 %" in shown


@pytest.mark.parametrize("hidden", ["a pipe", "switched off", "closed", "no tqdm"])
def test_nothing_is_shown(hidden: str, terminal: Terminal, monkeypatch):
    seen = terminal
    if hidden == "a pipe":
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    elif hidden == "switched off":
        monkeypatch.setenv(SWITCH, "off")
    elif hidden == "closed":
        seen = None
    else:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    count(seen)
    watch(seen, lambda: 1.0, 0.5)
    assert terminal.getvalue() == ""


def test_the_error_of_the_work_gets_out(terminal: Terminal):
    with pytest.raises(ZeroDivisionError), redirect_stderr(terminal), watched("it", lambda: 0.0):
        1 / 0  # noqa: B018


def rows_of_a_ledger() -> None:
    from safeselect import Budget, Ledger

    with TemporaryDirectory() as folder:
        place = f"{folder}/budget.ledger"
        Ledger.create(place, {"a": Budget("person", "add_remove", epsilon=1)}).close()
        Ledger.open(place).close()


def draws() -> None:
    from safeselect.testing import simulate

    simulate("permute_and_flip", [1, 2], epsilon=1, k=1, repetitions=3, seed=1, sensitivity=1)


def table() -> None:
    pytest.importorskip("duckdb")
    from safeselect.tables import count_distinct_users

    count_distinct_users(pandas_table(), item="item", user="user", candidates=["a", "b"])


def pandas_table():
    return pytest.importorskip("pandas").DataFrame({"item": ["a", "b"], "user": [1, 2]})


@pytest.mark.parametrize(
    ("work", "what"), [(draws, "draws"), (rows_of_a_ledger, "records checked"), (table, "counting")]
)
def test_all_long_work_has_it(work, what: str, monkeypatch: pytest.MonkeyPatch):
    asked = []
    monkeypatch.setattr(progress, "_bar", lambda what, *_, **__: asked.append(what))
    work()
    assert what in asked


def test_duckdb_says_how_far_it_is(tmp_path, monkeypatch: pytest.MonkeyPatch):
    """The connection that reads a table answers, and writes nothing by itself."""
    pytest.importorskip("duckdb")
    from safeselect.tables import duckdb as engine

    seen: list[float] = []

    def asked(what, share):
        seen.append(share())
        return watched(what, share)

    monkeypatch.setattr(engine, "watched", asked)
    table()
    assert seen
    assert all(-1 <= each <= 1 for each in seen)
