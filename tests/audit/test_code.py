"""The code that runs: a poisoned .pyc, a replaced function and a changed file are all seen."""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import copy

import safeselect.mechanisms.select
from safeselect.audit.code import code_digest, running

_CALL = 'return asked.choose(asked.calibrate("permute_and_flip"), scores, labels)'
_LARGE = "asked = Asked.read((100, None, None), scored, weights, source, ledger)"
ARGMAX = (f"    {_CALL}\n", f"    {_LARGE}\n    {_CALL}\n")
"""With so large an epsilon the largest score always wins."""

_SAY = """
import json
from safeselect import permute_and_flip
from safeselect.audit.code import running
from safeselect.ledger.record import library
wins = sum(permute_and_flip([0, 1], epsilon=1, sensitivity=1).index for _ in range(200))
found = running()
print(json.dumps([wins, library()["source_tree_sha256"], found.digest, not found.differing,
                  found.differing]))
"""


def said(package: Path) -> list[object]:
    run = subprocess.run(
        [sys.executable, "-c", _SAY],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[object] = json.loads(run.stdout)
    return found


def poison(source: Path, text: str, other: str) -> None:
    """Write the `.pyc` of another text, with the time and the size of the source."""
    content = source.read_text()
    assert content.count(text) == 1
    code = compile(content.replace(text, other), str(source), "exec", dont_inherit=True)
    kept, place = source.stat(), Path(importlib.util.cache_from_source(str(source)))
    place.parent.mkdir(exist_ok=True)
    header = importlib.util.MAGIC_NUMBER + bytes(4)
    times = int(kept.st_mtime).to_bytes(4, "little") + kept.st_size.to_bytes(4, "little")
    place.write_bytes(header + times + marshal.dumps(code))


@pytest.mark.slow("two processes that import the package anew")
@pytest.mark.claim("C1")
def test_a_poisoned_pyc_is_seen(tmp_path):
    """Permute-and-flip becomes argmax, and no source file, time or size changes."""
    package = copy(tmp_path)
    wins, source, loaded, passed, _ = said(package)
    assert 100 < wins < 170  # e**(1/2) / (1 + e**(1/2)) is 0.62: false alarm below 1e-9
    assert passed
    poison(package / "safeselect" / "mechanisms" / "select.py", *ARGMAX)
    wins, same, other, passed, detail = said(package)
    assert (wins, same) == (200, source)
    assert other != loaded
    assert not passed
    assert "safeselect.mechanisms.select" in str(detail)
    assert "permute_and_flip" in str(detail)


def test_the_code_that_is_loaded_here_is_the_sources():
    found = running()
    assert found.differing == ()
    assert found.functions > 1000
    assert "safeselect.engine.rankings" in found.modules


def test_code_that_an_import_would_take_is_compared_too(monkeypatch):
    other = compile("", "x", "exec")
    monkeypatch.setattr(safeselect.audit.code, "_as_imported", lambda _: other)
    assert "safeselect.errors as it is imported" in running().differing


def test_a_function_that_was_replaced_is_seen(monkeypatch):
    before = running().digest
    monkeypatch.setattr(safeselect.mechanisms.select, "in_scores", lambda *_: None)
    assert running().digest != before
    assert "safeselect.mechanisms.select.in_scores" in running().differing


def test_a_method_whose_code_was_replaced_is_seen(monkeypatch):
    from safeselect.scores.reading import Sensitivity

    def range_in_steps(self, reading):
        return 1

    monkeypatch.setattr(Sensitivity, "range_in_steps", range_in_steps)
    assert "safeselect.scores.reading.Sensitivity.range_in_steps" in running().differing


def test_code_of_the_same_name_in_place_of_a_functions_is_seen(monkeypatch):
    function = safeselect.mechanisms.select.in_scores
    broken = function.__code__.replace(co_consts=(*function.__code__.co_consts, 7))
    monkeypatch.setattr(function, "__code__", broken)
    assert "safeselect.mechanisms.select.in_scores" in running().differing


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("f = 1", "f = True"), ("f = 1", "f = 1.0"), ("f = 0.0", "f = -0.0")),
        *(("f = 'ab'", "f = b'ab'"), ("f = g.a", "f = g.b"), ("f = (1, 2)", "f = (12,)")),
        *(("f = x in {1, 2}", "f = x in {1, 3}"), ("def f(): return 1", "def f(): return 2")),
    ],
)
def test_what_differs_has_another_digest(one, other):
    assert code_digest(compile(one, "x", "exec")) != code_digest(compile(other, "x", "exec"))


def test_lines_and_places_do_not_matter():
    one = compile("def f(a):\n    return a + 1", "x", "exec")
    other = compile("\n\n\ndef f(a):\n\n    return a + 1", "y", "exec")
    assert code_digest(one) == code_digest(other)
