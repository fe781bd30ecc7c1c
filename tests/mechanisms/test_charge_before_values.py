"""With a ledger the charge comes before a value is looked at, and all refusals read the same.

Otherwise refusals answer questions that nobody paid for: sixteen calls that differ in which score
is missing tell sixteen private bits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from ledgers import new, outcomes, scope

import safeselect
from safeselect import BudgetError, Ledger, PayWhatYouGet, ScoreError, SparseVector
from safeselect.release.call import UNREADABLE
from safeselect.scores.candidates import Unread
from safeselect.sources import OpenSSLSource
from safeselect.testing import RecordingSource

pytestmark = pytest.mark.claim("C8")

SECRET = 987_654_321
COST = {"epsilon": "1/2", "sensitivity": 1}


class Raising:
    """An object all of whose methods raise, and quote what it holds."""

    def __getattribute__(self, name: str) -> Any:
        raise ValueError(f"{SECRET} has no {name}")


class Index:
    """No number, although it may be used for one."""

    def __index__(self) -> int:
        return SECRET


class Broken(Fraction):
    @property
    def numerator(self) -> int:
        raise KeyError(SECRET)


BAD_VALUES: dict[str, Any] = {
    "NaN": float("nan"),
    "infinity": float("inf"),
    "None": None,
    "text": str(SECRET),
    "half": 0.5,
    "no decimal": Decimal("sNaN"),
    "huge decimal": Decimal("1e999999"),
    "array": np.array([5]),
    "span of time": np.timedelta64(5, "s"),
    "raising": Raising(),
    "index": Index(),
    "broken": Broken(1, 3),
}


CALLS: dict[str, Callable[..., Any]] = {
    "permute_and_flip": safeselect.permute_and_flip,
    "report_noisy_max": lambda scores, **o: safeselect.report_noisy_max(
        scores, noise="laplace", **o
    ),
    "top_k_with_gaps": lambda scores, **o: safeselect.top_k_with_gaps(scores, k=1, **o),
    "top_k_above": lambda scores, **o: safeselect.top_k_above(scores, k=1, threshold=2, **o),
    "select_many": lambda scores, **o: safeselect.select_many([scores, [1, 2, 3]], **o),
    "top_k of many": lambda scores, **o: safeselect.select_many([[1, 2, 3], scores], k=1, **o),
}


def refused(call: Callable[..., Any], scores: Any, ledger: Ledger, **options: Any) -> list[int]:
    """A refusal after the charge; returns what the source was asked for."""
    source = RecordingSource(OpenSSLSource())
    with pytest.raises(ScoreError, match="the scores do not fit the arguments") as caught:
        call(scores, source=source, ledger=scope(ledger), **{**COST, **options})
    error = caught.value
    assert str(error) == UNREADABLE
    assert error.__cause__ is None
    assert error.__context__ is None
    return source.requests


@pytest.mark.parametrize("value", BAD_VALUES)
@pytest.mark.parametrize("call", CALLS)
def test_every_value_that_cannot_be_read_is_charged_and_refused_with_one_sentence(call, value):
    ledger = new(":memory:", epsilon=9)
    first = refused(CALLS[call], [1, BAD_VALUES[value], 3], ledger)
    assert len(first) == 1  # for the salt of the record
    assert outcomes(ledger) == ["charged", "input"]
    assert ledger.balance("a").spent == {"epsilon": Fraction(1, 2)}
    array = np.empty(3, dtype=object)
    array[:] = [1, 2, 3]
    array[1] = BAD_VALUES[value]
    assert refused(CALLS[call], array, ledger) == first
    assert outcomes(ledger) == ["charged", "input"] * 2


def floats(kind: type, word: type, *bits: int) -> np.ndarray:
    """Three scores of a narrow or wide type of floats, the last ones given by their bits."""
    rest = np.array(bits, word).view(kind)
    return np.concatenate((np.zeros(3 - len(bits), kind), rest))


QUIET, SIGNALLING = 0x7FF8 << 48, 0x7FF4 << 48
FLOATS: dict[str, np.ndarray] = {
    "quiet": floats(np.float64, np.uint64, QUIET),
    "signalling": floats(np.float64, np.uint64, SIGNALLING),
    "signalling, of 32 bits": floats(np.float32, np.uint32, 0x7FA0 << 16),
    "infinite": np.array([0, np.inf, -np.inf]),
    "whole": np.array([0.0, 3, 5]),
    "wide": np.array([-1.7e308, 1.7e308, 0]),
}
READ: dict[str, Callable[..., Any]] = {
    "permute_and_flip": safeselect.permute_and_flip,
    "select_many": lambda scores, **o: safeselect.select_many([scores, scores], **o),
    "one by one": lambda scores, **o: safeselect.permute_and_flip(
        scores, **{**o, "grid": Fraction(1, 3**21), "score_error": 0}
    ),
    "sparse vector": lambda scores, **o: safeselect.SparseVector(threshold=5, k=2, **o).query_many(
        scores
    ),
    "measure": lambda scores, epsilon, ledger, **_: safeselect.measure(
        scores, epsilon=epsilon, sensitivity_l1=1, ledger=ledger
    ),
    "partitions": lambda scores, epsilon, ledger, **_: safeselect.select_partitions(
        scores,
        labels=["a", "b", "c"],
        epsilon=epsilon,
        delta="1e-9",
        max_partitions=1,
        ledger=ledger,
    ),
}


@pytest.mark.parametrize("grid", [None, 1, "1/1000", "1/1024"])
@pytest.mark.parametrize("call", READ.values(), ids=READ)
@pytest.mark.parametrize("charged", [True, False])
def test_no_warning_of_numpy_tells_of_a_value(call: Any, grid: Any, charged: bool) -> None:
    """NumPy warns of what a value is, or raises if it was told to: nothing may depend on that."""
    ends: dict[str, str | None] = {}
    for name, scores in FLOATS.items():
        for told in ("warn", "raise"):
            there = scope(new(":memory:", epsilon=1, delta="1e-3")) if charged else None
            with warnings.catch_warnings(record=True) as seen, np.errstate(all=told):
                warnings.simplefilter("always")
                end = ended(call, scores, grid=grid, ledger=there, **COST)
            assert ([str(each.message) for each in seen], ends.setdefault(name, end)) == ([], end)
    assert ends["whole"] is None
    assert len({ends[name] for name in FLOATS if "quiet" in name or "signal" in name}) == 1
    assert not charged or len({*ends.values()} - {None}) == 1


def ended(call: Callable[..., Any], scores: Any, **options: Any) -> str | None:
    try:
        call(scores.copy(), **options)
    except ScoreError as error:
        return str(error)
    return None


def test_a_panic_comes_of_values_and_an_interrupt_does_not() -> None:
    """Rust's panics are no Exceptions, and quote what they met."""
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    for kind in (panic, KeyboardInterrupt, type("Limit", (BaseException,), {})):

        def reads(kind: type[BaseException] = kind) -> Any:
            raise kind(SECRET)

        ledger = new(":memory:", epsilon=9, delta="1e-3")
        there = scope(ledger)
        session = PayWhatYouGet(outcomes=9, queries=2, epsilon=1, delta="1e-9", ledger=there)
        calls: list[Callable[[Any], Any]] = [
            lambda scores, there=there: safeselect.permute_and_flip(scores, **COST, ledger=there),
            lambda scores, there=there: safeselect.measure(
                scores, epsilon=1, sensitivity_l1=1, ledger=there
            ),
            lambda scores, there=there: SparseVector(
                threshold=5, k=2, **COST, ledger=there
            ).query_many(scores),
            lambda counts, session=session: session.query(counts, k=1, k_bar=2, places="all"),
        ]
        for call in calls:
            if kind is panic:
                with pytest.raises(ScoreError, match=r"do(es)? not fit|cannot be read") as caught:
                    call(Unread(2, reads))
                assert caught.value.__context__ is None
            else:
                with pytest.raises(kind, match=str(SECRET)):
                    call(Unread(2, reads))
        assert ledger.balance("a").refusals == (len(calls) if kind is panic else 0)


def test_values_are_looked_at_only_after_a_budget_that_is_spent():
    ledger = new(":memory:", epsilon="1/4")
    for scores in ([1, 2, 3], [1, None, 3], [1, Raising(), 3], np.array(["1", "2"])):
        with pytest.raises(BudgetError, match="budget"):
            safeselect.permute_and_flip(scores, ledger=scope(ledger), **COST)
    assert outcomes(ledger) == []


# ---------------------------------------------------------------------- what is refused for nothing


class Ran(BaseException):
    """Code of a foreign class was run."""


def hostile(*bases: type, **more: Any) -> Any:
    """An object each of whose methods raises `Ran`."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        raise Ran

    names = [
        "__len__", "__iter__", "__getitem__", "__array__", "__array_interface__",
        "__arrow_array__", "__index__", "__float__", "__int__", "__bool__", "__eq__", "__hash__",
        "__repr__", "__str__", "__format__", "__getattribute__", "keys", "items", "values",
        "tolist", "to_list", "to_numpy", "isna", "null_count", "shape", "dtype", "ndim",
    ]  # fmt: skip
    return type("Hostile", bases, {**dict.fromkeys(names, method), "__slots__": (), **more})


FOREIGN = {
    "object": hostile(),
    "list": hostile(list),
    "dict": hostile(dict),
    "mapping": hostile(Mapping),
    "no module": hostile(__module__=None),
    "module of pandas": hostile(__module__="pandas"),
    "a class that says it is a list": hostile(__class__=list),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize(
    "call", [safeselect.permute_and_flip, safeselect.select_many], ids=["one", "many"]
)
def test_no_code_of_a_foreign_container_is_run(name, call):
    kind = FOREIGN[name]
    scores, ledger = kind.__new__(kind), new(":memory:")
    before = ledger.head
    for options in ({}, {"ledger": scope(ledger)}):
        with pytest.raises(ScoreError, match="Hostile"):
            call(scores, **COST, **options)
        with pytest.raises(ScoreError, match="Hostile"):
            safeselect.select_many([[1, 2], scores], **COST, **options)
    assert ledger.head == before


# ---------------------------------------------------------------------------------------- sessions


@pytest.mark.parametrize("kind", [SparseVector, safeselect.AdaptiveSparseVector])
def test_a_session_without_a_ledger_says_what_is_wrong_once(kind):
    session = kind(threshold=5, k=2, **COST)
    assert session.query(-1000).above in (True, False)
    with pytest.raises(ScoreError, match="must be integers"):
        session.query(0.5)
    with pytest.raises(ScoreError, match="this session ended because a value"):
        session.query(1)


@pytest.mark.parametrize("kind", [SparseVector, safeselect.AdaptiveSparseVector])
def test_a_container_that_is_not_known_ends_no_session(kind):
    session = kind(threshold=2**40, k=2, **COST)
    for values in ({1, 2}, iter([1]), {"a": None}, np.array([[1, 2]]), FOREIGN["list"].__new__):
        with pytest.raises(ScoreError, match="scores must"):
            session.query_many(values)
    assert session.query(1).above is False
