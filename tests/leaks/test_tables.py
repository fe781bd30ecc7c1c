"""C10 for tables and the command: no cell in a message, an exception or on a screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ready import read_scores
from sentinels import LABEL, NUMBER, everything_of, found_in

from safeselect import SafeSelectError
from safeselect.tables import count_distinct_users

pytest.importorskip("duckdb")
pytestmark = pytest.mark.usefixtures("nothing_is_said")

HEADER = "item,user,score\n"
GOOD = "".join(f"{LABEL},user-{LABEL},{NUMBER}\n" for _ in range(3))

CSV: dict[str, bytes] = {
    "a cell too many": (HEADER + GOOD + f"a,{LABEL},{NUMBER},{NUMBER}\n").encode(),
    "a cell missing": (HEADER + GOOD + f"{LABEL}\n").encode(),
    "an open quote": (HEADER + GOOD + f'"{LABEL},{NUMBER},1\n').encode(),
    "a quote in the middle": (HEADER + f'{LABEL} "said",{NUMBER},"{NUMBER}"x\n').encode(),
    "not UTF-8": HEADER.encode() + f"{LABEL},{NUMBER},".encode() + b"\xff\xfe\n",
    "a NUL": HEADER.encode() + f"{LABEL}\0,{NUMBER},{NUMBER}\n".encode(),
    "no header": GOOD.encode(),
    "not a number": (HEADER + f"{LABEL},u,{NUMBER}x\n").encode(),
    "no number at all": (HEADER + f"{LABEL},u,{LABEL}\n").encode(),
    "a decimal": (HEADER + f"{LABEL},u,{NUMBER}.5\n").encode(),
    "an exponent": (HEADER + f"{LABEL},u,{NUMBER}e9999\n").encode(),
    "long": (HEADER + f"{LABEL},u,{NUMBER}{'0' * 1300}\n").encode(),
    "empty cells": (HEADER + f"{LABEL},,\n,{NUMBER},\n").encode(),
    "a byte order mark": b"\xef\xbb\xbf" + (HEADER + GOOD).encode(),
    "wide": (HEADER.replace("\n", ",item\n") + f"{LABEL},{NUMBER},{NUMBER},{LABEL}\n").encode(),
    "utf-16": (HEADER + GOOD).encode("utf-16"),
    "nothing": b"",
}


def check(call: Callable[[], Any]) -> BaseException | None:
    """Run a call; what it returns is private, what it raises is read."""
    raised: BaseException | None = None
    try:
        call()
    except BaseException as error:
        raised = error
    assert raised is None or found_in(everything_of(raised)) == []
    return raised


def readers(table: Any) -> list[Callable[[], Any]]:
    names = {"item": "item", "user": "user"}
    return [
        lambda: count_distinct_users(table, **names, candidates=["a", "b"]),
        lambda: count_distinct_users(table, item="item", user="nobody"),
        lambda: count_distinct_users(table, **names, places=2, max_contributions=1),
    ]


def of_scores(path: Any) -> list[Callable[[], Any]]:
    return [lambda: read_scores(path, label="item", score="score")]


@pytest.mark.claim("C10")
@pytest.mark.parametrize("name", CSV)
def test_damaged_files(name, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(CSV[name])
    errors = [check(call) for call in (*readers(path), *of_scores(path))]
    assert all(isinstance(error, SafeSelectError) for error in errors if error is not None)
    assert any(errors)
