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
from proved_tables import NOISES, SESSIONS, read

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
    """Of 31 104 sessions every fifth: value after value, and all at once, of the other change."""
    assert mismatches(ask, monotonic, 1 if LONG else 5) == 0
