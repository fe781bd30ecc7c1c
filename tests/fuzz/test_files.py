"""Hostile files and command lines: one of our errors, and never the exit code of the unforeseen."""

from __future__ import annotations

import pytest
from hostile_files import written
from ready import read_scores

from safeselect import InputError

pytest.importorskip("duckdb")


@pytest.mark.claim("C11")
def test_more_columns_than_duckdb_can_read_are_refused():
    with (
        written(b"item,n" + b"," * 9_999 + b"\n") as path,
        pytest.raises(InputError, match="has more than 10000 columns"),
    ):
        read_scores(path, label="item", score="n")
