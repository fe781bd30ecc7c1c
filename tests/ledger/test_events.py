"""Around the ledger: releases of other libraries, hooks for logs, closing, all scopes."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, new, pure, scope
from sentinels import LABEL, found_in, near
from workers import kinds

import safeselect
from safeselect import Budget, BudgetError, Ledger, LedgerError, ParameterError, PureDP, ScoreError
from safeselect.cli._main import main
from safeselect.ledger import Event
from safeselect.ledger.record import commitment
from safeselect.ledger.stores.file import FileStore

pytestmark = pytest.mark.claim("C8")

SUM = "opendp/laplace"


def last(ledger: Ledger) -> dict[str, Any]:
    *_, record = ledger.records()
    return record.content


def test_a_release_of_another_library_is_charged_and_recorded_as_asserted() -> None:
    ledger, told = new(":memory:", epsilon=1), {"bounds": "0..100", "scale": "10"}
    with scope(ledger).charge(PureDP("1/10"), mechanism=SUM, parameters=told) as pending:
        charged, receipt = last(ledger), pending.released("1234")
    assert (charged["kind"], charged["mechanism"]) == ("charged", SUM)
    assert charged["parameters"] == told
    assert charged["source"] == {
        "name": "external", "production": "asserted", "health": "not tested"
    }  # fmt: skip
    assert charged["guarantee"] == {"type": "PureDP", "epsilon": "1/10"}
    assert last(ledger)["commitment"] == commitment(receipt.salt, "1234")
    assert ledger.balance("a").spent == {"epsilon": Fraction(1, 10)}
    with pytest.raises(LedgerError, match="the ledger already has the outcome"):
        pending.released("1234")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ScoreError("blue"), "input"),
        (safeselect.SourceError(), "source"),
        (KeyboardInterrupt(), "interrupt"),
        (BudgetError(), "error"),
        (ParameterError(), "input"),
    ],
)
def test_a_block_that_raises_ends_the_release(error: BaseException, reason: str) -> None:
    """Whether an exception depended on the data only its caller knows: it counts as if it did."""
    ledger = new(":memory:", epsilon=1)
    with pytest.raises(type(error)), scope(ledger).charge(PureDP("1/10"), mechanism=SUM):
        raise error
    assert (last(ledger)["kind"], last(ledger)["reason"]) == ("aborted", reason)
    assert ledger.balance("a").refusals == (reason == "input")
    assert "blue" not in str([*ledger.records()])


def test_a_block_without_a_release_is_an_error() -> None:
    ledger = new(":memory:", epsilon=1)
    with (
        pytest.raises(LedgerError, match="ended without a release; the charge is not refunded"),
        scope(ledger).charge(PureDP("1/10"), mechanism=SUM),
    ):
        pass
    assert last(ledger)["reason"] == "error"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"guarantee": 1}, "guarantee must be a safeselect guarantee"),
        ({"mechanism": "laplace"}, "must be the name of a library and of its mechanism"),
        ({"mechanism": "opendp/a b"}, "must be the name of a library and of its mechanism"),
        ({"mechanism": None}, "mechanism must be a string"),
        ({"parameters": ["a"]}, "parameters must map names to strings"),
        ({"parameters": {"a": 1}}, "the value of a parameter must be a string"),
        ({"parameters": {"a": "x\ny"}}, "must be one line"),
        (
            {"guarantee": safeselect.ZeroConcentratedDP(1)},
            "ZeroConcentratedDP cannot be charged to this",
        ),
    ],
)
def test_wrong_arguments_charge_nothing(arguments: dict[str, Any], said: str) -> None:
    ledger = new(":memory:", epsilon=1)
    given = {"guarantee": PureDP("1/10"), "mechanism": SUM, **arguments}
    with pytest.raises(ParameterError, match=said):
        scope(ledger).charge(given.pop("guarantee"), **given)
    assert kinds(ledger) == ["created", "scope"]
    with pytest.raises(ParameterError, match="output must be a string"):
        scope(ledger).charge(PureDP("1/10"), mechanism=SUM).released(7)


def test_the_command_and_the_report_tell_what_is_asserted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "l"
    ledger = new(path, epsilon=1)
    with scope(ledger).charge(PureDP("1/10"), mechanism=SUM) as pending:
        pending.released("x")
    scope(ledger).pay(pure())
    assert main(["ledger", "show", str(path), "--html"]) == 0
    page = capsys.readouterr().out
    assert page.count("asserted by the caller; another library made the release") == 1


def test_all_scopes_and_a_ledger_that_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "l"
    new(path, epsilon=1).close()
    with Ledger.open(path) as ledger:
        ledger.add_scope("b", Budget(**TERMS, rho=1))
        assert ledger.scopes() == {name: ledger.balance(name) for name in "ab"}
        ledger.scopes().clear()
        assert set(ledger.scopes()) == {"a", "b"}
        there = scope(ledger)
        pending = there.pay(pure())
    for use in (
        lambda: ledger.head,
        lambda: ledger.scopes(),
        lambda: there.pay(pure()),
        lambda: pending.released("x", b"s" * 32),
        lambda: [*ledger.records()],
        lambda: ledger.check(),
    ):
        with pytest.raises(LedgerError, match="is closed; open it again"):
            use()
    ledger.close()
    assert kinds(Ledger.open(path)) == ["created", "scope", "scope", "charged"]


def test_an_answer_that_was_released_before_is_told_as_repeated(tmp_path: Path) -> None:
    """Each `released` that a hook counts is a record; a retry is none."""
    here, there = Log(), Log()
    ledger = Ledger.create(tmp_path / "l", {"a": Budget(**TERMS, epsilon=1)}, on_event=here)
    other = Ledger.open(tmp_path / "l", on_event=there)
    pending = scope(ledger).asked("r").pay(pure())
    entry = (pending.charge, b"s" * 32, "x")
    receipt = other.finish(*entry)
    assert pending.released("x", b"s" * 32) == receipt
    for again in (ledger, other, Ledger.open(tmp_path / "l", on_event=there)):
        assert again.finish(*entry) == receipt
    with pytest.raises(LedgerError, match="the ledger already has the outcome"):
        other.finish(pending.charge, b"s" * 32, "another")
    told = here.kinds + there.kinds
    assert told.count("released") == kinds(ledger).count("released") == 1
    assert (told.count("repeated"), told.count("failed")) == (4, 1)


class Log:
    """A hook that keeps what it gets, and may fail."""

    def __init__(self, fail: BaseException | None = None) -> None:
        self.fail = fail
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if self.fail is not None:
            raise self.fail

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


def test_a_hook_is_told_of_charges_refusals_and_outcomes(tmp_path: Path) -> None:
    log = Log()
    ledger = Ledger.create(
        tmp_path / "l", {n: Budget(**TERMS, epsilon=1) for n in "ab"}, on_event=log
    )
    there = scope(ledger) & scope(ledger, "b")
    safeselect.permute_and_flip([1, 2], epsilon="1/4", sensitivity=1, ledger=there.asked("r"))
    with pytest.raises(safeselect.RepeatedRequest, match="which was released"):
        safeselect.permute_and_flip([1, 2], epsilon="1/4", sensitivity=1, ledger=there.asked("r"))
    with pytest.raises(BudgetError, match=r"200 % of .* and 75 % is left; with 1/4 of"):
        there.pay(pure(2))
    there.pay(pure()).aborted("error")
    with pytest.raises(safeselect.SourceError, match="the source returned a nonce that this"):
        there.pay(pure(nonce=bytes.fromhex(charges(ledger)[0]["nonce"])))
    told = ["charged", "released", "repeated", "refused", "charged", "aborted", "failed"]
    assert log.kinds == told
    first, released, repeated, refused, *_ = log.events
    assert first.scopes == ("a", "b")
    assert first.mechanism == released.mechanism == "permute_and_flip/1"
    assert first.amounts == {name: {"epsilon": Fraction(1, 4)} for name in "ab"}
    assert released.amounts == first.amounts
    assert refused.amounts == {name: {"epsilon": Fraction(2)} for name in "ab"}
    assert repeated.amounts == {}
    assert all(isinstance(each.seconds, Fraction) and each.seconds > 0 for each in log.events)
    again = Log()
    opened = Ledger.open(tmp_path / "l", on_event=again)
    opened.finish(scope(opened).asked("s").pay(pure()).charge, b"s" * 32, "x")
    assert again.kinds == ["charged", "released"]
    assert (again.events[1].scopes, again.events[1].mechanism) == (("a",), "")
    assert log.kinds == told  # each ledger has its own


def charges(ledger: Ledger) -> list[dict[str, Any]]:
    return [each.content for each in ledger.records() if each.content["kind"] == "charged"]


def test_a_session_that_is_settled_and_a_busy_ledger_are_told(tmp_path: Path) -> None:
    log, store = Log(), FileStore(tmp_path / "l", wait=0)
    ledger = Ledger.create(store, {"a": Budget(**TERMS, epsilon=1, delta="1e-6")}, on_event=log)
    safeselect.PayWhatYouGet(
        outcomes=4, queries=2, epsilon="1/9", delta="1e-9", ledger=scope(ledger)
    ).close()
    assert log.kinds == ["charged", "settled"]

    def work(_: object) -> None:
        with pytest.raises(
            safeselect.LedgerBusy, match="seconds; nothing was charged, so try again"
        ):
            there.pay(pure())

    there = scope(ledger)
    FileStore(tmp_path / "l").write(work)
    assert log.kinds == ["charged", "settled", "busy"]


def test_a_hook_gets_no_data() -> None:
    """Neither of a release nor of scores that are refused."""
    log, given = Log(), {"epsilon": 1, "sensitivity": 1, "labels": [LABEL, "a", "b"]}
    ledger = Ledger.create(":memory:", {"a": Budget(**TERMS, epsilon=9)}, on_event=log)
    safeselect.permute_and_flip(near(3), **given, ledger=scope(ledger))
    with pytest.raises(ScoreError, match="the scores do not fit the arguments"):
        safeselect.permute_and_flip([*near(2), "x"], **given, ledger=scope(ledger))
    assert log.kinds == ["charged", "released", "charged", "aborted"]
    assert found_in(repr(log.events)) == []


def test_the_time_of_the_mechanism_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from safeselect.ledger import book

    clock = iter(range(0, 10**15, 10**9))
    monkeypatch.setattr(book.time, "monotonic_ns", lambda: next(clock))
    log = Log()
    ledger = Ledger.create(":memory:", {"a": Budget(**TERMS, epsilon=1)}, on_event=log)
    pending = scope(ledger).pay(pure())
    waited = [next(clock) for _ in range(100)]
    pending.released("x", b"s" * 32)
    assert len(waited) == 100
    # One tick each (or a few where a lock looks at the clock), and not the hundred in between.
    assert all(event.seconds < 50 for event in log.events)


@pytest.mark.parametrize("filters", ["default", "error", "ignore"])
@pytest.mark.parametrize("mistake", [ValueError("x"), LedgerError("x"), ScoreError("x"), Warning()])
def test_a_hook_that_raises_loses_neither_a_charge_nor_a_release(
    mistake: Exception, filters: Any
) -> None:
    log = Log(mistake)
    ledger = Ledger.create(":memory:", {"a": Budget(**TERMS, epsilon=1)}, on_event=log)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter(filters)
        result = safeselect.permute_and_flip(
            [1, 2], epsilon="1/4", sensitivity=1, ledger=scope(ledger)
        )
        with pytest.raises(BudgetError, match="does not allow"):
            scope(ledger).pay(pure(2))
    assert result.receipt is not None
    assert kinds(ledger)[2:] == ["charged", "released"]
    assert log.kinds == ["charged", "released", "refused"]
    if filters == "default":
        assert {each.category for each in said} == {safeselect.SafeSelectWarning}
        assert {str(each.message) for each in said} == {
            f"on_event failed with {type(mistake).__name__}"
        }


@pytest.mark.parametrize("wrong", [1, "x", {}])
def test_what_is_no_hook(wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="on_event must be a function"):
        Ledger.create(tmp_path / "l", {}, on_event=wrong)
    assert not (tmp_path / "l").exists()
    with pytest.raises(ParameterError, match="on_event must be a function"):
        Ledger.open(tmp_path / "l", on_event=wrong)
