"""Hostile records, logs and ledgers: every change is a `LedgerError`, whatever it is."""

from __future__ import annotations

import copy
import io
import json
from typing import Any

import pytest
from hostile import json_values, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import ListStore, new, pure, scope

import safeselect
from safeselect import Ledger, LedgerError
from safeselect.ledger import Checker, Row, check_log, log_lines
from safeselect.ledger.record import parse, record_hash


def sample() -> ListStore:
    """A ledger with all kinds of records."""
    store = ListStore()
    ledger = new(store, epsilon=1, delta="1e-3")
    safeselect.permute_and_flip([1, 2], epsilon="1/4", sensitivity=1, ledger=scope(ledger))
    scope(ledger).pay(pure("1/8")).aborted("error")
    return store


SAMPLE = sample()
RECORDS: list[dict[str, Any]] = [json.loads(row.body) for row in SAMPLE.kept or []]
LOG = "".join(log_lines(Ledger.open(SAMPLE).records())).encode()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a record."""
    inner = value.items() if isinstance(value, dict) else []
    inner = enumerate(value) if isinstance(value, list) else inner
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def changed(record: dict[str, Any], path: tuple[Any, ...], value: Any) -> Any:
    """The record with another value at a place; without it for `...`."""
    if not path:
        return value
    result = copy.deepcopy(record)
    inner: Any = result
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return result


def hostile_records() -> st.SearchStrategy[tuple[int, Any]]:
    """A record's place, and what stands there instead."""
    pairs = [(seq, path) for seq, record in enumerate(RECORDS) for path in places(record)]
    values = st.one_of(json_values(), st.just(...))
    return st.builds(
        lambda pair, value: (pair[0], changed(RECORDS[pair[0]], pair[1], value)),
        st.sampled_from([pair for pair in pairs if pair[1]]),
        values,
    )


def forged(seq: int, record: Any) -> list[Row]:
    """The rows with one replaced, and the chain of hashes made good again as far as possible."""
    rows, previous = [], "0" * 64
    for place, row in enumerate(SAMPLE.kept or []):
        content = record if place == seq else json.loads(row.body)
        if place > seq and isinstance(content, dict):
            content["previous"] = previous
        body = json.dumps(content, sort_keys=True, separators=(",", ":"))
        previous = record_hash(body)
        rows.append(Row(row.seq, body, previous, ""))
    return rows


@settings(max_examples=150)
@given(hostile_records())
def test_a_forged_ledger_is_read_or_refused(forgery):
    """Somebody without a key may write a history that never was, but not one that breaks us."""
    store = ListStore()
    store.kept = forged(*forgery)
    for use in (
        lambda: Ledger.open(store).check(),
        lambda: Ledger.open(store).balance("a").left,
        lambda: scope(Ledger.open(store)).pay(pure("1/8")).aborted("error"),
        lambda: list(log_lines(Ledger.open(store).records())),
    ):
        try:
            use()
        except (LedgerError, safeselect.BudgetError, safeselect.ParameterError) as error:
            refused(error)


@pytest.mark.parametrize("size", [10, 1000, 100_000])
@pytest.mark.parametrize("opening", ['{"a":', "[", '{"a":['])
def test_deep_nesting_is_refused(opening, size):
    closing = "".join({"{": "}", "[": "]"}.get(each, "") for each in reversed(opening))
    body = opening * size + '""' + closing * size
    try:
        parse(body, "it")
    except LedgerError:
        return
    assert size == 10


@pytest.mark.claim("C9")
@settings(max_examples=300)
@given(st.integers(0, len(LOG)), st.integers(0, 40), st.binary(max_size=20))
def test_a_damaged_log_is_refused(at, dropped, inserted):
    damaged = LOG[:at] + inserted + LOG[at + dropped :]
    checker = Checker(published=f"{len(RECORDS) - 1}:{record_hash(SAMPLE.kept[-1].body)}")
    if damaged == LOG:
        assert len(list(check_log(io.BytesIO(damaged), checker))) == len(RECORDS)
        return
    with pytest.raises(
        LedgerError, match=r"of the log is cut|^record [0-9]+ (does not|has not|is not)"
    ):
        list(check_log(io.BytesIO(damaged), checker))
