"""`ledger=`: charged before the first bit, whatever happens then, and nothing private in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import pytest
from ledgers import new, scope

import safeselect
from safeselect import Ledger, LedgerError, SourceError
from safeselect.ledger import Balance
from safeselect.ledger.stores.memory import MemoryStore

pytestmark = pytest.mark.claim("C8")

COUNTS = {"sensitivity": 1, "monotonic": True}
ROWS = [[1, 5, 3], [9, 2, 2]]
MECHANISMS: dict[str, Callable[..., Any]] = {
    "permute_and_flip": lambda **more: safeselect.permute_and_flip([1, 5, 3], **more),
    "exponential_mechanism": lambda **more: safeselect.exponential_mechanism([1, 5, 3], **more),
    "exponential_mechanism_base2": lambda **more: safeselect.exponential_mechanism_base2(
        [1, 5, 3], **more
    ),
    "report_noisy_max": lambda **more: safeselect.report_noisy_max(
        [1, 5, 3], noise="laplace", **more
    ),
    "top_k": lambda **more: safeselect.top_k([1, 5, 3], k=2, **more),
    "select_many": lambda **more: safeselect.select_many(ROWS, **more),
    "select_many k": lambda **more: safeselect.select_many(ROWS, k=2, **more),
    "permute_and_flip_with_gap": lambda **more: safeselect.permute_and_flip_with_gap(
        [1, 5, 3], **more
    ),
    "exponential_mechanism_with_gap": lambda **more: safeselect.exponential_mechanism_with_gap(
        [1, 5, 3], **more
    ),
    "report_noisy_max_with_gap": lambda **more: safeselect.report_noisy_max_with_gap(
        [1, 5, 3], noise="laplace", **more
    ),
    "top_k_with_gaps": lambda **more: safeselect.top_k_with_gaps([1, 5, 3], k=2, **more),
    "top_k_above": lambda **more: safeselect.top_k_above([1, 5, 3], k=2, threshold=2, **more),
}
NAMES = sorted(MECHANISMS)


class Watched:
    """A source that looks at the ledger whenever it is asked, and may fail at some request."""

    name = "Watched"
    production = False  # so that its bytes are taken as they are, and no others asked for

    def __init__(self, ledger: Ledger, fail: BaseException | None = None, at: int = 0) -> None:
        self.ledger, self.fail, self.at = ledger, fail, at
        self.seen: list[Balance] = []
        self.begun: list[Balance] = []

    def begin(self) -> bytes:
        self.begun.append(self.ledger.balance("a"))
        return os.urandom(16)

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        self.seen.append(self.ledger.balance("a"))
        if self.fail is not None and len(self.seen) > self.at:
            raise self.fail
        buffer[:] = os.urandom(len(buffer))


def outcomes(ledger: Ledger) -> list[str]:
    kinds = [record.content for record in ledger.records()][2:]
    return [each.get("reason", each["kind"]) for each in kinds]


def run(name: str, ledger: Ledger, source: Any = None, **more: Any) -> Any:
    cost = {} if more.keys() & {"epsilon", "rho", "base"} else {"epsilon": "1/2"}
    return MECHANISMS[name](**COUNTS, **cost, source=source, ledger=scope(ledger), **more)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.claim("C8")
def test_the_charge_is_in_the_ledger_before_the_first_bit(name: str) -> None:
    ledger = new(":memory:")
    source = Watched(ledger)
    result = run(name, ledger, source)
    assert [each.spent for each in source.begun] == [{"epsilon": 0}]
    assert source.seen
    assert {each.spent["epsilon"] for each in source.seen} == {Fraction(1, 2)}
    assert outcomes(ledger) == ["charged", "released"]
    assert result.guarantee.epsilon == Fraction(1, 2)


FAILURES = [(OSError("no device"), "source"), (SourceError("stuck"), "source")]
FAILURES += [(KeyboardInterrupt(), "interrupt"), (MemoryError(), "error")]  # type: ignore[list-item]


def test_a_source_that_does_not_begin_costs_nothing() -> None:
    ledger = new(":memory:")

    class Broken(Watched):
        def begin(self) -> bytes:
            raise SourceError("broken")

    with pytest.raises(SourceError, match="broken"):
        run("permute_and_flip", ledger, Broken(ledger))
    assert outcomes(ledger) == []


@contextmanager
def second_write_fails(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    write, count = MemoryStore.write, []

    def fail(self: MemoryStore, work: Any) -> Any:
        count.append(1)
        if len(count) == 2:
            raise LedgerError("the disk is full")
        return write(self, work)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryStore, "write", fail)
        yield


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.claim("C8")
def test_what_cannot_be_recorded_is_not_released(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = new(":memory:")
    with second_write_fails(monkeypatch), pytest.raises(LedgerError, match="the disk is full"):
        run(name, ledger)
    # The charge stands; that there is no output could be written after all.
    assert outcomes(ledger) == ["charged", "error"]
    assert ledger.balance("a").spent == {"epsilon": Fraction(1, 2)}


BOTH = {"epsilon": 1, "delta": "2e-9"}


# ------------------------------------------------------------------------ what a result says


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_result_on_a_ledger_says_what_its_scope_and_its_record_say(neighbours: str) -> None:
    words = {"unit": "one rider", "neighbours": neighbours}
    ledger = Ledger.create(":memory:", {"a": safeselect.Budget(**words, epsilon=9, delta="1/100")})
    there = ledger.scope("a", **words, purpose="a test")
    found = safeselect.permute_and_flip([3, 900, 2000], epsilon=1, sensitivity=1, ledger=there)
    (charged,) = (r.content for r in ledger.records() if r.content["kind"] == "charged")
    said = found.statement
    assert (said.unit, said.neighbours) == ("one rider", neighbours)
    assert said.utc == charged["utc"]
    assert dict(said.parameters) == charged["parameters"]


def test_counts_name_whose_privacy_it_is() -> None:
    rides = safeselect.Counts({"a": 5, "b": 3}, places="all", unit="one rider")
    given: dict[str, Any] = {"k": 1, "k_bar": 1, "epsilon": 1, "delta": "1e-6"}
    assert safeselect.unknown_domain_top_k(rides, **given).statement.unit == "one rider"
    known = safeselect.Counts({"a": 5, "b": 3}, places="all", max_contributions=1, unit="one rider")
    said = safeselect.permute_and_flip(known, epsilon=1, sensitivity=1, monotonic=True).statement
    assert said.unit == "one rider"
    paid = safeselect.unknown_domain_top_k(
        {"a": 5}, **given, places="all", ledger=scope(new(":memory:", epsilon=2, delta="1/10"))
    )
    assert (paid.statement.unit, paid.statement.neighbours) == ("person", "add_remove")
    assert paid.statement.utc is not None


# ----------------------------------------------------------------------------------- sessions


ABOVE: dict[str, Any] = {"threshold": 5, "k": 2, "epsilon": "1/2", "sensitivity": 1}
SESSIONS: dict[str, Callable[..., Any]] = {
    "sparse_vector": lambda **more: safeselect.SparseVector(**ABOVE, **more),
    "adaptive_sparse_vector": lambda **more: safeselect.AdaptiveSparseVector(**ABOVE, **more),
    "pay_what_you_get": lambda **more: safeselect.PayWhatYouGet(
        outcomes=6, queries=2, epsilon="1/2", delta="1e-9", **more
    ),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_is_not_recorded_as_opened_if_its_source_refuses_to_begin(name: str) -> None:
    for good in range(3):
        ledger = new(":memory:", **BOTH)

        class Refusing(Watched):
            def begin(self, good: int = good) -> bytes:
                if len(self.begun) >= good:
                    raise SourceError("refused")
                return super().begin()

        try:
            SESSIONS[name](source=Refusing(ledger), ledger=scope(ledger))
        except SourceError:
            assert outcomes(ledger) == []
        else:
            assert outcomes(ledger) == ["charged"]  # open until it is settled
