"""What the command says when it cannot count with Spark; `make spark` counts with a real one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from safeselect import Ledger
from safeselect.cli import main

TERMS = ("--unit", "person", "--neighbours", "add_remove", "--epsilon", "1", "--delta", "1e-6")
CALL = ("--item", "item", "--user", "user", "-k", "2", "--epsilon", "1", "--delta", "1e-9")


def refused(capsys: pytest.CaptureFixture[str], path: Path, *more: str) -> str:
    """The one sentence on standard error of a call that must end with exit code 2."""
    assert main(["top-k", str(path), *CALL, "--engine", "spark", *more]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    return line


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that exists; nothing here gets so far as to read it."""
    path = tmp_path / "trips.parquet"
    path.write_bytes(b"PAR1")
    return path


def test_without_pyspark_nothing_is_charged(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    ledger = file.with_name("budget.db")
    assert main(["ledger", "create", str(ledger), "--scope", "a", *TERMS]) == 0
    capsys.readouterr()
    head = Ledger.open(ledger).head
    sentence = "safeselect: counting with Spark needs pyspark: install it with "
    for more in ((), ("--ledger", str(ledger), "--scope", "a"), ("--candidates-are-public",)):
        assert refused(capsys, file, *more).startswith(sentence)
    assert Ledger.open(ledger).head == head


def test_what_can_be_seen_before_spark_starts(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    (table := tmp_path / "trips.csv").write_text("item,user\na,1\n")
    (folder := tmp_path / "folder.parquet").mkdir()
    assert "must be named .parquet for Spark" in refused(capsys, table)
    assert "is a directory" in refused(capsys, folder)
    assert "does not exist" in refused(capsys, tmp_path / "missing.parquet")
    assert "memory must be a size" in refused(capsys, file, "--memory", "2TB")


def test_where_spark_does_not_start_its_own_message_is_not_shown(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("Zebedee-4711")

    modules = {name: ModuleType(name) for name in ("pyspark", "java_gateway", "sql")}
    modules["pyspark"].SparkConf = fail  # type: ignore[attr-defined]
    modules["pyspark"].SparkContext = fail  # type: ignore[attr-defined]
    modules["java_gateway"].launch_gateway = fail  # type: ignore[attr-defined]
    modules["sql"].SparkSession = fail  # type: ignore[attr-defined]
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name if name == "pyspark" else f"pyspark.{name}", module)
    said = refused(capsys, file)
    assert said.startswith("safeselect: Spark cannot be started on this machine; it needs Java")
