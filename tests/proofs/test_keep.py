"""Keys are kept by the largest table, as the proved program makes it (proofs/Keep.v)."""

from __future__ import annotations

import proved
import pytest
from proved_tables import KEEP_DELTAS, read

pytestmark = pytest.mark.claim("C2")


def test_the_table_that_keeps_keys_is_the_one_proved() -> None:
    """280 tables; each passes the check of tables, and with a row that is larger none does."""
    for key, *answers in read("keep")[1]:
        bits, growth = map(int, key.split(","))
        for delta, answer in zip(KEEP_DELTAS, answers, strict=True):
            rows = list(map(int, answer.split(",")))
            assert proved.keep_rows(bits, growth, delta) == rows, (bits, growth, delta)
            assert proved.keeps_its_promise(bits, growth, delta, rows)
            for place in range(1, len(rows)):
                more = [*rows[:place], min(rows[place] + 1, 1 << bits), *rows[place + 1 :]]
                assert more == rows or not proved.keeps_its_promise(bits, growth, delta, more)
