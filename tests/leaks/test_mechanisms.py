"""C10: whatever goes right or wrong, nothing that anybody sees shows a private value.

Every public function and session that takes scores, with everything that can go wrong: wrong
scores, arguments in each other's place, sources that fail at every request, interrupts, ledgers
that refuse.  What is read: results and exceptions with all that hangs behind them, their pickles,
standard output and error, log records, warnings and the file of the ledger.
"""

from __future__ import annotations

import array
import inspect
import os
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ledgers import new, scope
from public import PUBLIC
from rules_table import CALLS, Case
from sentinels import LABEL, NUMBER, everything_of, found_in, near

import safeselect
from safeselect import AdaptiveSparseVector, PayWhatYouGet, SourceError, SparseVector

pytestmark = pytest.mark.usefixtures("nothing_is_said")

COARSE = 10**13  # a grid for gaps, so coarse that a released gap says nothing about a score


def of(case: Case) -> Callable[..., Any]:
    """The call of a case, without a number near a score in what it releases."""
    more = {"gap_grid": COARSE} if case.name.endswith(("gap", "gaps", "above")) else {}
    return lambda scores, **other: case.run(scores, **more | other)


# Of "unknown pair" so many items are looked at that these counts would be released.
LOOKED_AT = [(n, c) for n, c in CALLS.items() if not c.prepared and n != "unknown pair"]
ENDS = [{case.name: name for name, case in each} for each in (reversed(LOOKED_AT), LOOKED_AT)]
CHOSEN = {name: CALLS[name] for ends in ENDS for name in ends.values()}
"""The first and the last variant of each public name."""
ALL = {name: of(case) for name, case in CHOSEN.items()}
DISCOVER = [name for name, case in CHOSEN.items() if not case.monotonic]
ROWS = [name for name in CHOSEN if "many" in name]
MECHANISMS = [name for name in CHOSEN if name not in (*DISCOVER, *ROWS)]


def private(name: str) -> Any:
    """Private scores for this function.

    Equal counts, because the labels and noisy counts of those far ahead are what is released.
    """
    if name in DISCOVER:
        return {f"{LABEL} {place}": NUMBER for place in range(4)}
    return [near(3), near(3)] if name in ROWS else near(3)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or what it raises."""
    try:
        return call()
    except BaseException as error:
        return error


def check(call: Callable[[], Any]) -> Any:
    """Run a call and read everything that comes of it."""
    result = outcome(call)
    assert found_in(everything_of(result)) == []
    return result


# ------------------------------------------------------------------------------- results


@pytest.mark.parametrize("name", ALL)
def test_results(name):
    assert not isinstance(check(lambda: ALL[name](private(name))), BaseException)


# ---------------------------------------------------------------------- wrong scores, wrong places


class Odd:
    """No number, but it shows one."""

    def __repr__(self) -> str:
        return str(NUMBER)


def wrong_scores() -> list[Any]:
    one, several = NUMBER, near(3)
    return [
        [*several, None],
        [*several, str(one)],
        [*several, float("nan")],
        [*several, float("-inf")],
        [*several, Odd()],
        [*several, complex(one)],
        [*several, True],
        [*several, Decimal("sNaN")],
        [*several, Decimal(one).scaleb(5000)],
        [*several, timedelta(seconds=1)],
        [*several, np.timedelta64(one)],
        [[[one]], [one, one]],
        [several, several[1:]],
        [float(one), 0.5],
        [],
        {},
        one,
        str(one),
        str(one).encode(),
        Odd(),
        set(several),
        dict.fromkeys(several),
        {LABEL: str(one)},
        (each for each in several),
        array.array("q", several),
        memoryview(array.array("q", several)),
        np.array(several, dtype=np.float64),
        np.array([one, np.nan]),
        np.array([several, several]).T[:, :, None],
        np.array(one),
        np.array([str(one)]),
        np.array(several, dtype=object),
        np.array(several, dtype="datetime64[s]"),
        np.ma.masked_array(several, [0, 1, 0]),
        np.rec.array([(one, 2)], names="a,b"),
    ]


@pytest.mark.claim("C10")
@pytest.mark.parametrize("name", ALL)
def test_wrong_scores(name):
    errors = [check(lambda s=scores: ALL[name](s)) for scores in wrong_scores()]
    refused = [error for error in errors if isinstance(error, BaseException)]
    assert len(refused) > len(errors) / 2
    assert all(isinstance(error, safeselect.SafeSelectError) for error in refused)
    for labels in (["a", "b"], ["a", "b", "a"], Odd(), ["a", [NUMBER], [NUMBER]]):
        error = check(lambda each=labels: ALL[name](private(name), labels=each))
        assert isinstance(error, safeselect.SafeSelectError)


@pytest.mark.parametrize("name", ALL)
def test_scores_in_the_place_of_another_argument(name):
    """Whoever passes data for a parameter by mistake finds its type in the message, no more."""
    function = PUBLIC[CALLS[name].name]
    places = [each for each in inspect.signature(function).parameters if each != "labels"]
    misplaced = [near(3), np.array(near(3)), {LABEL: NUMBER}, Odd(), tuple(near(2)), [LABEL]]
    for place in places[1:]:
        for data in misplaced:
            if place == "k_bar" and isinstance(data, tuple):
                continue  # which may be a pair of numbers
            error = check(lambda p=place, d=data: ALL[name](private(name), **{p: d}))
            if place == "weights" and not isinstance(error, BaseException):
                continue  # numbers, one for each candidate, are weights
            assert isinstance(error, (safeselect.SafeSelectError, TypeError)), (place, type(data))


# ------------------------------------------------------------------------------- sources


class Raising:
    """A source of one's own, whose exceptions pass as they are; at some request it raises one."""

    name = "Raising"
    production = False  # so that its bytes are taken as they are, and no others asked for

    def __init__(self, at: int, error: BaseException) -> None:
        self.at, self.error, self.asked = at, error, 0

    def begin(self) -> bytes:
        self._count()
        return os.urandom(16)

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        self._count()
        buffer[:] = os.urandom(len(buffer))

    def _count(self) -> None:
        self.asked += 1
        if self.asked > self.at:
            raise self.error


# ------------------------------------------------------------------------------- ledgers


@pytest.mark.claim("C10")
@pytest.mark.parametrize("name", ALL)
def test_ledgers(name, tmp_path):
    """Released, refused, interrupted, damaged, gone: neither the file nor a message tells."""
    path = tmp_path / "budget.db"
    ledger = new(path, epsilon=4, delta="1/10", own_delta="1/10")
    there = scope(ledger)

    def call(**more: Any) -> Any:
        return check(lambda: ALL[name](private(name), ledger=there, **more))

    assert not isinstance(call(), BaseException)
    assert isinstance(call(source=Raising(2, KeyboardInterrupt())), KeyboardInterrupt)
    assert isinstance(call(source=Raising(2, SourceError("stuck"))), SourceError)
    while not isinstance(call(), safeselect.BudgetError):
        pass
    ledger.check()
    everywhere = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert b"charged" in everywhere
    assert found_in(everywhere) == []
    damage(path)
    assert isinstance(call(), safeselect.LedgerError)
    path.unlink()
    assert isinstance(call(), safeselect.LedgerError)


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100:] = bytes(len(content) - 100)
    path.write_bytes(content)


# ------------------------------------------------------------------------------ sessions


TERMS: dict[str, Any] = {"threshold": 1, "k": 2, "epsilon": 1, "sensitivity": 1}
SESSIONS: dict[str, Callable[..., Any]] = {
    "sparse": lambda **more: SparseVector(**TERMS, gap_grid=COARSE, **more),
    "adaptive": lambda **more: AdaptiveSparseVector(**TERMS, gap_grid=COARSE, **more),
}
VALUES = [NUMBER, -NUMBER, str(NUMBER), None, float(NUMBER), complex(NUMBER), Odd(), [NUMBER]]


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions(name):
    session = SESSIONS[name]()
    for value in VALUES:
        check(lambda v=value: session.query(v))
        check(lambda v=value: session.query_many(v))
    for values in ([-NUMBER] * 3, [NUMBER] * 20, wrong_scores()[4], np.array([-NUMBER])):
        check(lambda v=values: session.query_many(v))
    check(lambda: session)
    session.close()
    for value in VALUES:
        assert isinstance(check(lambda v=value: session.query(v)), BaseException)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, SourceError])
@pytest.mark.parametrize("name", SESSIONS)
def test_sessions_whose_source_fails_at_every_request(name, kind):
    for at in range(2, 8):
        source = Raising(at, kind("stopped"))
        opened = check(lambda s=source: SESSIONS[name](source=s))
        if not isinstance(opened, BaseException):
            for _ in range(3):
                check(lambda o=opened: o.query(-NUMBER))
            check(lambda o=opened: o.query_many([-NUMBER] * 5))


def test_sessions_that_refuse_to_open():
    for place in TERMS:
        for bad in (near(2), Odd(), {LABEL: NUMBER}, np.array(near(2))):
            for kind in (SparseVector, AdaptiveSparseVector):
                error = check(lambda k=kind, p=place, b=bad: k(**TERMS | {p: b}))
                assert isinstance(error, safeselect.SafeSelectError)


def test_pay_what_you_get():
    counts = private("unknown gumbel")
    for at in range(1, 8):
        source = Raising(at, MemoryError("stopped"))
        session = PayWhatYouGet(outcomes=20, queries=8, epsilon=1, delta="1e-9", source=source)
        for wrong in (counts, *wrong_scores(), dict.fromkeys(counts), {Odd(): 1}, {1.5: NUMBER}):
            check(lambda s=session, w=wrong: s.query(w, k=1, k_bar=2, places="all"))
        check(lambda s=session: s.query(counts, k=1, k_bar=Odd(), places="all"))
        check(lambda s=session: s)
