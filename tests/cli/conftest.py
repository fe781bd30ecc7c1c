"""A folder with a ledger, and the command that reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from ledgers import new, pure, scope

from safeselect import ApproximateDP, BoundedRange, Budget, Ledger, permute_and_flip
from safeselect.cli import main

Run = Callable[..., tuple[int, str, str]]
SCORES = {"red": 10, "blue": 30_000, "green <i>": -5}


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Run:
    """Run `safeselect ledger ...` in an empty folder: exit code, output, messages."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        code = main(["ledger", *arguments])
        out, said = capfdbinary.readouterr()
        return code, out.decode(), said.decode()

    return call


@pytest.fixture
def ledger(run: Run) -> Ledger:
    """Two scopes; four charges, of which two were released and one aborted."""
    made = new("budget.db", epsilon=2, delta="1e-6")
    made.add_scope("b & <c>", Budget("visit", "replace_one", rho="1/3"))
    there = made.scope(
        "a", unit="person", neighbours="add_remove", purpose="<script>alert(1)</script>"
    )
    permute_and_flip(SCORES, epsilon="1/2", sensitivity=1, ledger=there)
    scope(made).pay(pure(guarantee=ApproximateDP("1/3", "1e-9"))).aborted("source")
    scope(made).pay(pure("1/7"))
    other = made.scope("b & <c>", unit="visit", neighbours="replace_one", purpose="p")
    each = BoundedRange("1/5")
    charge = pure(guarantee=each, parts=((each, 1),), mechanism="exponential_mechanism/1")
    other.pay(charge).released("x", b"s" * 32)
    return made
