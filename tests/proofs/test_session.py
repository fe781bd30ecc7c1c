"""Sparse vector sessions with geometric noise answer as the proved program does (proofs/Session.v).

Every session of up to three answers above, three values and their noises, of small width: the
shipped session, with an engine that gives out the noises of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import Any

import proved
import pytest
from effort import LONG, pairs
from proved_tables import NOISES, SESSIONS, read, session_cases

from safeselect import BudgetError

pytestmark = pytest.mark.claim("C1")

Told = Callable[[Any, tuple[int, ...]], str]
Case = tuple[int, int, tuple[int, ...], tuple[int, ...], str]


def one_by_one(session: Any, values: tuple[int, ...]) -> str:
    """Answers as they stand in the table; a session that has ended gives no more."""
    told = ""
    for value in values:
        try:
            answer = session.query(value)
        except BudgetError:
            break
        told += str(answer.gap) if answer.above else "b"
    return told


def together(session: Any, values: tuple[int, ...]) -> str:
    found = session.query_many(list(values))
    told = ["b"] * found.consumed
    for index, gap in zip(found.indices, found.gaps, strict=True):
        told[index] = str(gap)
    return "".join(told)


def cases() -> Iterator[Case]:
    for key, *answers in read("session")[1]:
        k, t, values = key.split(",")
        for noises, answer in zip(product(NOISES, repeat=3), answers, strict=True):
            yield int(k), int(t), tuple(map(int, values)), noises, answer


def mismatches(ask: Told, monotonic: bool, step: int = 1) -> int:
    """Of every so many sessions, how many answer otherwise."""
    wrong = 0
    sessions = {k: proved.Sessions(k, monotonic=monotonic) for k in SESSIONS}
    for k, t, values, noises, answer in islice(cases(), 0, None, step):
        with sessions[k].drawing():
            wrong += ask(sessions[k].opened(t, noises), values) != answer
    return wrong


@pytest.mark.slow("all sessions of small width")
@pytest.mark.parametrize(
    ("ask", "monotonic"), pairs([one_by_one, together], [False, True])[:: 1 if LONG else 3]
)
def test_a_session_answers_as_proved(ask: Told, monotonic: bool) -> None:
    """31 104 sessions, each twice: value after value, and all at once, of the other change."""
    assert mismatches(ask, monotonic) == 0


@pytest.mark.parametrize("fault", ["at least", "one too many", "noise of the one before"])
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proved.plant_in_sessions(monkeypatch, fault)
    assert mismatches(one_by_one, monotonic=True, step=29) > 35


def test_the_table_has_every_case() -> None:
    rows = read("session")[1]
    assert [(row[0], len(row) - 1) for row in rows] == [(a, len(b)) for a, b in session_cases()]
    assert sum(len(row) - 1 for row in rows) == 31_104
