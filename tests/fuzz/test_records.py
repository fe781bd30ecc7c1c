"""Hostile records, logs and ledgers: every change is a `LedgerError`, whatever it is."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import ListStore, new, pure, scope

import safeselect
from safeselect import Ledger, LedgerError
from safeselect.ledger import Checker, check_log, log_lines
from safeselect.ledger.record import record_hash


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
        LedgerError,
        match=r"log is truncated|^record [0-9]+ "
        r"(does not|has missing|is not|contains|states|charges)",
    ):
        list(check_log(io.BytesIO(damaged), checker))
