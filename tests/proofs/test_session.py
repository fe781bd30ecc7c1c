"""Sparse vector sessions with geometric noise answer as the proved program does (proofs/Session.v).

Every session of up to three answers above, three values and their noises, of small width: the
shipped session, with an engine that gives out the noises of the table.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice, product
from typing import Any

import proved
import pytest
from effort import LONG, pairs
from proved_tables import NOISES, SESSIONS, read

from safeselect import AdaptiveSparseVector, BudgetError, SparseVector

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


@pytest.mark.parametrize("away", [-(2**64), 2**64])
def test_values_are_cut_as_proved(away: int) -> None:
    """2**64 steps from the threshold, either way (`placed` of EndToEnd.v)."""
    sessions = proved.Sessions(1, monotonic=False)
    for beyond in (-9, -1, 0, 1, 9):
        kept = max(-(2**64), min(away + beyond, 2**64))
        with sessions.drawing():
            answer = sessions.opened(away - 40, [0]).query(away + beyond)
        assert answer.gap == kept - (away - 40), beyond


@pytest.mark.parametrize("adaptive", [False, True])
def test_noise_that_is_enclosed_answers_as_the_number_does(adaptive: bool) -> None:
    """Whatever the bounds, which start a sixteenth wide: near ties, margins and ends of cells."""
    chance = random.Random(adaptive)
    session: Any = AdaptiveSparseVector if adaptive else SparseVector
    for _ in range(200):
        eighths = [Fraction(chance.randrange(-40, 40), 8) for _ in range(13)]
        near = [each + Fraction(chance.choice((-1, 1)), 3000) for each in eighths]
        near[0] += Fraction(1, 7000)  # so that no difference is a whole number of cells
        values = [chance.randrange(-4, 6) for _ in range(6)]
        cell = chance.choice([Fraction(1), Fraction(1, 2), Fraction(3)])
        arguments = {"k": 2, "epsilon": 2, "split": Fraction(1, 2), "sensitivity": 1}
        arguments |= {"gap_grid": cell, **({"sigma": Fraction(3, 2)} if adaptive else {})}
        told = proved.enclosed_answers(session, near, values, **arguments)
        budget, noises, expected = Fraction(1), near[1:], []
        for value in values:
            if budget < Fraction(1, 2):
                break
            margins = [(Fraction(3, 2), Fraction(1, 4))] if adaptive else []
            answer: Any = None
            for margin, cost in [*margins, (Fraction(0), Fraction(1, 2))]:
                distance = value + noises.pop(0) - near[0]
                if answer is None and distance >= margin:
                    answer = distance // cell * cell
                    budget -= cost
            expected.append(answer)
        assert [each.gap for each in told] == expected, (near, values, cell)
        assert told[-1].budget == budget
