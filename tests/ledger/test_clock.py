"""Nothing that is shown has a finer clock than the ledger says: a day, unless it is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, forge, pure, scope

import safeselect
from safeselect import Budget, Ledger, LedgerDamaged, LedgerError, ParameterError
from safeselect.ledger import Event
from safeselect.ledger.signing import Ed25519Signer

pytestmark = pytest.mark.claim("C9")

RECORD = "safeselect.ledger.record"
NOON = 1_790_000_000  # 2026-09-21, 14:13:20
FORMS = {
    "day": r"2026-09-2[0-9]",
    "hour": r"2026-09-2[0-9]T[0-9]{2}Z",
    "minute": r"2026-09-2[0-9]T[0-9]{2}:[0-9]{2}Z",
}
FINER = re.compile(r"[0-9]{2}:[0-9]{2}")
COST: dict[str, Any] = {"epsilon": "1/10", "sensitivity": 1}


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.seconds = NOON

    def __call__(self) -> int:
        return self.seconds * 10**9 + 123_456_789


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moved = Clock()
    monkeypatch.setattr(f"{RECORD}.time_ns", moved)
    return moved


def made(place: object, **more: Any) -> Ledger:
    budget = Budget(**TERMS, epsilon=100)
    return Ledger.create(place, {"a": budget}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", FORMS)
def test_records_and_statements_state_the_time_to_the_clock_of_the_ledger(
    kind: str, clock: Clock, tmp_path: Path
) -> None:
    events: list[Event] = []
    kept: list[tuple[object, ...]] = []
    path = tmp_path / "l"
    ledger = made(path, clock=kind, on_event=events.append)
    asked = scope(ledger).asked("r", outbox=lambda *entry: kept.append(entry))
    result = safeselect.top_k([1, 2, 3], k=2, **COST, ledger=asked)
    ledger.add_scope("b", Budget(**TERMS, epsilon=1))
    with safeselect.SparseVector(threshold=1, k=1, **COST, ledger=scope(ledger)) as session:
        session.query(3)
    for _ in range(10):
        scope(ledger).pay(pure()).aborted("input")
    ledger.reopen("a", reason="mended")
    times = [r.content["utc"] for r in ledger.records() if "utc" in r.content]
    assert len(times) == 16
    assert all(re.fullmatch(FORMS[kind], each) for each in times)
    assert result.provenance.utc == times[2]
    assert json.loads(result.to_json())["provenance"]["utc"] == times[2]
    assert safeselect.from_json(result.to_json()) == result
    assert Ledger.open(path).check().clock == kind
    assert next(iter(ledger.records())).content["clock"] == kind
    if kind == "day":
        for shown in (path.read_text(), str(kept), result.to_json(), repr(result)):
            assert not FINER.search(shown)
    assert not any("utc" in repr(event) or "time" in repr(event) for event in events)


@pytest.mark.parametrize("wrong", ["second", "DAY", None, ["day"]])
def test_a_clock_is_one_of_three_words(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="clock must be 'day', 'hour' or 'minute', got"):
        made(":memory:", clock=wrong)


TIMES = {
    "day": ["yesterday", "", "2026-02-30", "2026-9-1", "20260901", "2026-09-01T10Z"],
    "hour": ["2026-09-01", "2026-09-01T24Z", "2026-09-01T10", "2026-09-01 10Z"],
    "minute": ["2026-09-01T10Z", "2026-09-01T10:60Z", "2026-09-01T10:11:12Z"],
}
WRONG = [(clock, time) for clock, times in TIMES.items() for time in times]


@pytest.mark.parametrize(
    ("place", "kind", "written"), [(number % 3, *wrong) for number, wrong in enumerate(WRONG)]
)
def test_a_time_that_is_none_or_of_another_clock_is_refused(
    kind: str, written: str, place: int, tmp_path: Path
) -> None:
    """In the record of a ledger, of a scope or of a charge: one check reads all of them."""
    path = tmp_path / "l"
    scope(made(path, clock=kind)).pay(pure()).released("x", b"s" * 32)
    forge(path, lambda record: record.update(utc=written), place)
    said = f"record {place} (does not state its time to the {kind}|has .*unprintable text)"
    with pytest.raises(LedgerDamaged, match=said):
        Ledger.open(path)


def test_limits_and_keys_have_the_same_clock(clock: Clock) -> None:
    old, key = (Ed25519Signer(bytes([n]) * 32, key_id="k") for n in (1, 2))
    ledger = made(":memory:", signer=old, clock="hour", max_refusals=1)
    scope(ledger).pay(pure()).aborted("input")
    ledger.reopen("a", reason="mended")
    ledger.rotate(key)
    times = [r.content["utc"] for r in ledger.records() if "utc" in r.content]
    assert (len(times), set(times)) == (5, {"2026-09-21T14Z"})


@pytest.mark.parametrize("seconds", [-5, 0, 253_402_300_799, 253_402_300_800])
def test_clocks_at_their_limits(seconds: int, clock: Clock) -> None:
    clock.seconds = seconds
    if seconds == 253_402_300_800:
        with pytest.raises(LedgerError, match="the system clock's year must have four digits"):
            made(":memory:")
    else:
        assert made(":memory:").check().count == 2
