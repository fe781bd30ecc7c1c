"""`ledger=`: charged before the first bit, whatever happens then, and nothing private in it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ledgers import new, pure, scope
from public import PUBLIC

import safeselect
from safeselect import Budget, BudgetError, Ledger, LedgerError, ParameterError, SourceError
from safeselect.ledger import Balance
from safeselect.ledger.record import commitment
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.promises.guarantees import guarantee_record
from safeselect.testing import DeterministicSource, RecordingSource

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


def needed(name: str) -> dict[str, Any]:
    """What a mechanism needs beside scores and cost."""
    more: dict[str, Any] = {"k": 2} if name.startswith("top_k") or name.endswith(" k") else {}
    if name.startswith("report_noisy_max"):
        more["noise"] = "laplace"
    if name == "top_k_above":
        more["threshold"] = 2
    return more


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


@pytest.mark.parametrize("name", NAMES)
def test_the_record_says_what_the_result_says(name: str) -> None:
    ledger = new(":memory:")
    result = run(name, ledger)
    charged, released = [record.content for record in ledger.records()][2:]
    stated = dict(result.statement.parameters)
    assert charged["mechanism"] == result.mechanism
    assert charged["guarantee"] == guarantee_record(result.guarantee)
    parts = result.parts
    assert charged["parts"] == [{"count": str(len(parts)), "each": guarantee_record(parts[0])}]
    assert charged["source"] == {
        "name": "OpenSSLSource", "production": "yes", "health": "passed"
    }  # fmt: skip
    shape = {"rows": "2"} if "many" in name else {}
    shape |= {"gap_grid": "1"} if "gap" in name or "above" in name else {}
    shape |= {"threshold": "2"} if "above" in name else {}
    assert charged["parameters"] == stated
    rate = {name: stated[name] for name in ("noise_rate", "factor") if name in stated}
    assert charged["parameters"] == shape | rate | {
        # The threshold takes part as one more.
        "candidates": "4" if "above" in name else "3",
        "effective_range": "1",
        "grid": "none",
        "k": "2" if name.startswith("top_k") or name.endswith(" k") else "1",
        "minimize": "no",
        "monotonic": "yes",
        "sensitivity": "1",
    }
    receipt = result.receipt
    assert (receipt.ledger, str(receipt.record)) == (ledger.id, released["seq"])
    assert len(receipt.salt) == 32
    plain = safeselect.permute_and_flip([1], epsilon=1, sensitivity=1)
    assert plain.receipt is None
    bare = replace(result, receipt=None)
    assert released["commitment"] == commitment(receipt.salt, bare.to_json())
    assert "receipt" not in bare.to_json()
    assert receipt.salt.hex() in result.to_json()
    assert receipt.salt.hex() not in "".join(str(record) for record in ledger.records())


def test_the_record_tells_every_parameter() -> None:
    ledger = new(":memory:", epsilon=10, delta="1/10")
    safeselect.permute_and_flip(
        [1, 5, 3], epsilon=1, range_="1/2", grid="1/4", minimize=True, ledger=scope(ledger)
    )
    safeselect.unknown_domain_top_k(
        {"a": 5, "b": 7},
        k=1,
        k_bar=(2, 3),
        places="all",
        epsilon=1,
        delta="1e-6",
        ledger=scope(ledger),
    )
    parameters = [
        record.content["parameters"]
        for record in ledger.records()
        if record.content["kind"] == "charged"
    ]
    assert parameters == [
        {
            "candidates": "3",
            "effective_range": "5/4",
            "noise_rate": "4/5",
            "grid": "1/4",
            "k": "1",
            "minimize": "yes",
            "monotonic": "no",
            "on_grid": "no",
            "range": "1/2",
            "score_error": "1/8",
        },
        {
            "candidates": "4",
            "effective_range": "1",
            "grid": "none",
            "k": "1",
            "least_k_bar": "2",
            "minimize": "no",
            "monotonic": "yes",
            "most_k_bar": "3",
            "noise_rate": "1/2",  # of each of two draws: that of k_bar, and that of the one item
            "sensitivity": "1",
        },
    ]


FAILURES = [(OSError("no device"), "source"), (SourceError("stuck"), "source")]
FAILURES += [(KeyboardInterrupt(), "interrupt"), (MemoryError(), "error")]  # type: ignore[list-item]


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize(("failure", "reason"), FAILURES, ids=lambda case: str(type(case).__name__))
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.claim("C8")
def test_a_later_failure_keeps_the_charge_and_is_written(
    name: str, failure: BaseException, reason: str, at: int
) -> None:
    ledger = new(":memory:")
    # What a source raises is a failure of the source; what ends every call is not.
    kind = SourceError if reason == "source" else type(failure)
    with pytest.raises(kind):
        run(name, ledger, Watched(ledger, failure, at))
    assert outcomes(ledger) == ["charged", reason]
    assert ledger.balance("a").spent == {"epsilon": Fraction(1, 2)}
    run(name, ledger)
    with pytest.raises(BudgetError, match="does not allow this release: it costs epsilon"):
        run(name, ledger)


def test_a_source_that_does_not_begin_costs_nothing() -> None:
    ledger = new(":memory:")

    class Broken(Watched):
        def begin(self) -> bytes:
            raise SourceError("broken")

    with pytest.raises(SourceError, match="broken"):
        run("permute_and_flip", ledger, Broken(ledger))
    assert outcomes(ledger) == []


def test_a_source_that_repeats_itself_releases_nothing() -> None:
    ledger, tape = new(":memory:"), {"i_understand_this_is_not_private": True}
    with pytest.warns(safeselect.testing.InsecureSourceWarning):
        sources = [DeterministicSource(7, **tape) for _ in range(2)]
    run("permute_and_flip", ledger, sources[0], epsilon="1/8")
    with pytest.raises(SourceError, match="a copy of another's"):
        run("permute_and_flip", ledger, sources[1], epsilon="1/8")
    assert outcomes(ledger) == ["charged", "released"]
    charged = [record.content for record in ledger.records()][2]
    assert charged["source"]["production"] == "no"


@pytest.mark.parametrize(
    "wrong",
    [
        {"scores": []},
        {"scores": {1, 2}},
        {"scores": [[1, 2]], "labels": ["a", "b"]},
        {"on_grid": True},
        {"score_error": 0},
        {"epsilon": 0},
        {"epsilon": None, "rho": -1},
        {"sensitivity": None},
        {"grid": 0},
        {"labels": ["a"]},
        {"labels": ["a", "a", "b"]},
        {"source": 7},
        {"epsilon": "1e-40"},
        {"ledger": "budget.db"},
    ],
)
def test_what_is_refused_is_not_charged(wrong: dict[str, Any]) -> None:
    ledger = new(":memory:")
    before = ledger.head
    usual: dict[str, Any] = {"scores": [1, 5, 3], "epsilon": 1, "sensitivity": 1}
    with pytest.raises(
        (ParameterError, safeselect.ScoreError),
        match=r" must |not a seed|give exactly one|goes with grid",
    ):
        safeselect.permute_and_flip(**{**usual, "ledger": scope(ledger), **wrong})
    for k in (0, 4, "2"):
        with pytest.raises(ParameterError, match=r"k must be an integer, got|k must be between"):
            safeselect.top_k([1, 5, 3], k=k, epsilon=1, sensitivity=1, ledger=scope(ledger))  # type: ignore[arg-type]
    assert ledger.head == before


@pytest.mark.parametrize("name", NAMES)
def test_an_exhausted_budget_draws_nothing_and_says_the_same_for_all_scores(name: str) -> None:
    ledger = new(":memory:", epsilon="1/4")
    said = set()
    for scores in ([0, 0, 0], [10**9, 0, -5], [1, 2, 3]):
        source = Watched(ledger)
        function = PUBLIC[name.removesuffix(" k")]
        with pytest.raises(
            BudgetError, match="does not allow this release: it costs epsilon"
        ) as caught:
            function(
                [scores] if "many" in name else scores,
                epsilon=1, source=source, ledger=scope(ledger), **COUNTS, **needed(name),
            )  # fmt: skip
        said.add(str(caught.value))
        assert source.seen == []
    assert len(said) == 1
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


def test_the_draws_of_a_call_cost_what_they_cost_together() -> None:
    """Ten draws of the exponential mechanism, at a total (1, 1e-6), on a budget in rho."""
    ledger = new(":memory:", rho=1)
    result: Any = safeselect.top_k(
        list(range(20)), k=10, epsilon=1, delta="1e-6", ledger=scope(ledger), **COUNTS
    )
    assert ledger.balance("a").spent["rho"] == sum(part.zcdp.rho for part in result.parts)
    assert result.guarantee.zcdp is None


def test_base_2_is_charged_what_it_guarantees() -> None:
    ledger = new(":memory:", epsilon=1)
    result = run("exponential_mechanism_base2", ledger, base="1/2")
    assert ledger.balance("a").spent == {"epsilon": result.guarantee.epsilon}


def test_monotonic_scores_need_neighbours_that_add_or_remove() -> None:
    budget = Budget("person", "replace_one", epsilon=1)
    ledger = Ledger.create(":memory:", {"a": budget})
    there = ledger.scope("a", unit="person", neighbours="replace_one", purpose="p")
    for name in NAMES:
        said = "monotonic=True needs add/remove neighbours; .*: leave it out, or, where counts"
        with pytest.raises(ParameterError, match=said):
            MECHANISMS[name](epsilon=1, ledger=there, **COUNTS)
    MECHANISMS["top_k"](epsilon=1, ledger=there, sensitivity=1)
    assert ledger.balance("a").left == {"epsilon": 0}


@pytest.mark.claim("C10")
def test_no_private_value_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    ledger = new(path, epsilon=100)
    secret = 8_675_309_123
    scores = {"Zebedee": secret, "Quux": secret - 1, "Plugh": secret - 400}
    source = RecordingSource(safeselect.sources.OpenSSLSource())
    for name in ("permute_and_flip", "exponential_mechanism", "top_k"):
        more: dict[str, Any] = {"k": 2} if name == "top_k" else {}
        function = PUBLIC[name.removesuffix(" k")]
        result = function(scores, epsilon=1, source=source, ledger=scope(ledger), **COUNTS, **more)
        assert "Zebedee" in result.to_json() or "Quux" in result.to_json()
    with pytest.raises(SourceError, match=r"failed while drawing bytes$"):
        safeselect.top_k(
            scores, k=1, epsilon=1, source=Watched(ledger, OSError(f"no {secret}"), 1),
            ledger=scope(ledger), **COUNTS,
        )  # fmt: skip
    content = path.read_bytes()
    found = [
        name
        for name in ("Zebedee", "Quux", "Plugh", "8675309", "867530")
        if name.encode() in content
    ]
    assert found == []
    assert b"charged" in content


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.claim("C4")
def test_with_a_ledger_too_the_requests_do_not_depend_on_scores(name: str) -> None:
    function, seen = PUBLIC[name.partition(" ")[0]], set()
    families = [np.zeros(40, dtype=np.int64), np.arange(40), np.arange(40) * 10**12]
    ledger = new(":memory:", epsilon=100)
    for scores in families:
        source = RecordingSource(safeselect.sources.OpenSSLSource())
        given = scores[None, :] if "many" in name else scores
        function(given, epsilon=1, source=source, ledger=scope(ledger), **COUNTS, **needed(name))
        seen.add(tuple(source.requests))
    assert len(seen) == 1
    assert 32 in next(iter(seen))


def test_every_mechanism_with_a_ledger_is_tested_here() -> None:
    functions = {
        name: inspect.signature(value).parameters
        for name, value in PUBLIC.items()
        if inspect.isfunction(value)
    }
    found = {name for name, each in functions.items() if "ledger" in each}
    # The first follows below; the others are in test_keys.py, test_measure.py,
    # test_runs.py and test_quantiles.py.
    others = {"unknown_domain_top_k", "select_partitions", "partition_strategy", "measure"}
    others |= {"best_of", "first_above", "quantile", "quantiles"}
    assert found == {*NAMES, *others} - {"select_many k"}


# --------------------------------------------------------------------------- unknown domains


DISCOVER: dict[str, Any] = {"k": 2, "k_bar": 3, "places": "all", "epsilon": "1/2", "delta": "1e-9"}
BOTH = {"epsilon": 1, "delta": "2e-9"}


@pytest.mark.parametrize("more", [{}, {"max_contributions": 2}], ids=["labels", "counts"])
def test_an_unknown_domain_charges_epsilon_and_delta(more: dict[str, Any]) -> None:
    said = set()
    for table in ({}, {"a": 1}, {"a": 50, "b": 40, "c": 3}):
        ledger = new(":memory:", **BOTH)
        source = Watched(ledger)
        result = safeselect.unknown_domain_top_k(
            table, source=source, ledger=scope(ledger), **DISCOVER, **more
        )
        price = {"epsilon": Fraction(1, 2), "delta": Fraction(1, 10**9)}
        assert all(each.spent == price for each in source.seen)
        charged, released = [record.content for record in ledger.records()][2:]
        said.add((str(charged["parameters"]), str(charged["charges"]), len(source.seen)))
        assert charged["guarantee"] == guarantee_record(result.guarantee)
        assert [int(each["count"]) for each in charged["parts"]] == [2, 1][len(more) :] + [1] * len(
            more
        )
        assert result.receipt is not None
        bare = replace(result, receipt=None)
        assert released["commitment"] == commitment(result.receipt.salt, bare.to_json())
    # The empty table and that of one user are neighbours: nothing in the ledger tells them apart.
    assert len(said) == 1


def test_an_unknown_domain_needs_a_budget_for_its_delta_and_the_right_neighbours() -> None:
    ledger = new(":memory:")
    with pytest.raises(ParameterError, match="adds up epsilon alone"):
        safeselect.unknown_domain_top_k({"a": 9}, ledger=scope(ledger), **DISCOVER)
    budget = Budget("person", "replace_one", **BOTH)
    other = Ledger.create(":memory:", {"a": budget})
    there = other.scope("a", unit="person", neighbours="replace_one", purpose="p")
    with pytest.raises(ParameterError, match="needs add/remove neighbours"):
        safeselect.unknown_domain_top_k({"a": 9}, ledger=there, **DISCOVER)
    assert outcomes(ledger) == outcomes(other) == []


# ----------------------------------------------------------------------------------- sessions


ABOVE: dict[str, Any] = {"threshold": 5, "k": 2, "epsilon": "1/2", "sensitivity": 1}
SESSIONS: dict[str, Callable[..., Any]] = {
    "sparse_vector": lambda **more: safeselect.SparseVector(**ABOVE, **more),
    "adaptive_sparse_vector": lambda **more: safeselect.AdaptiveSparseVector(**ABOVE, **more),
    "pay_what_you_get": lambda **more: safeselect.PayWhatYouGet(
        outcomes=6, queries=2, epsilon="1/2", delta="1e-9", **more
    ),
}
ASKS: dict[str, Callable[[Any], object]] = {
    "sparse_vector": lambda session: session.query(9),
    "adaptive_sparse_vector": lambda session: session.query(9),
    "pay_what_you_get": lambda session: session.query({"a": 90}, k=1, k_bar=2, places="all"),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_charges_its_whole_cost_when_it_opens_and_then_no_more(name: str) -> None:
    ledger = new(":memory:", **BOTH)
    source = Watched(ledger)
    session = SESSIONS[name](source=source, ledger=scope(ledger))
    assert [each.spent["epsilon"] for each in source.begun][:1] == [0]
    assert {each.spent["epsilon"] for each in source.seen} == {Fraction(1, 2)}
    (charged,) = [record.content for record in ledger.records()][2:]
    assert charged["mechanism"].startswith(name)
    assert charged["guarantee"] == guarantee_record(session.guarantee)
    assert session.receipt is None  # it is settled at its end
    head = ledger.head
    ASKS[name](session)
    assert ledger.head == head
    SESSIONS[name](ledger=scope(ledger))
    with pytest.raises(BudgetError, match="does not allow this release: it costs epsilon"):
        SESSIONS[name](ledger=scope(ledger))


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_that_cannot_open_keeps_its_charge(name: str) -> None:
    ledger = new(":memory:", **BOTH)
    with pytest.raises(SourceError, match="stuck"):
        SESSIONS[name](source=Watched(ledger, SourceError("stuck")), ledger=scope(ledger))
    assert outcomes(ledger) == ["charged", "source"]
    assert ledger.balance("a").spent["epsilon"] == Fraction(1, 2)


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


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_without_a_ledger_has_no_receipt(name: str) -> None:
    assert SESSIONS[name]().receipt is None
    with pytest.raises(ParameterError, match="ledger must be"):
        SESSIONS[name](ledger="budget.db")


def test_releases_and_a_foreign_charge_add_up() -> None:
    ledger = new(":memory:", epsilon=1)
    scope(ledger).pay(pure("1/2")).released("made elsewhere", b"s" * 32)
    run("permute_and_flip", ledger)
    with pytest.raises(BudgetError, match="does not allow this release: it costs epsilon"):
        run("permute_and_flip", ledger)
    assert ledger.check().scopes["a"].left == {"epsilon": 0}
