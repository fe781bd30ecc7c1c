"""`tests/mission.json`: every mechanism answers as recorded, and its law has a test that can fail.

A row may change its call.  It never vanishes: `ROWS` pins the names.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import mission
import numpy as np
import pytest
from breaks import Break
from broken_laws import BROKEN
from checks.mechanisms import names

import break_laws
import execute_claims
from safeselect import samplers

ROOT = Path(__file__).parents[1]
TOOL = ROOT / "tests" / "support" / "mission.py"
FOUND = mission.read()
ROWS = (
    "permute_and_flip/1",
    "exponential_mechanism/1",
    "exponential_mechanism_base2/1",
    "permute_and_flip_with_gap/1",
    "exponential_mechanism_with_gap/1",
    "report_noisy_max_exponential/1",
    "report_noisy_max_with_gap_exponential/1",
    "report_noisy_max_laplace/1",
    "report_noisy_max_with_gap_laplace/1",
    "report_noisy_max_gumbel/1",
    "report_noisy_max_with_gap_gumbel/1",
    "top_k_exponential/1",
    "top_k_exponential_base2/1",
    "top_k_permute_and_flip/1",
    "top_k_one_shot_exponential/1",
    "top_k_laplace/1",
    "top_k_with_gaps_exponential/1",
    "top_k_above_exponential/1",
    "top_k_with_gaps_laplace/1",
    "top_k_above_laplace/1",
    "select_many_exponential/1",
    "top_k_many_exponential/1",
    "select_many_exponential_base2/1",
    "top_k_many_exponential_base2/1",
    "select_many_permute_and_flip/1",
    "top_k_many_permute_and_flip/1",
    "permute_and_flip_weighted/1",
    "exponential_mechanism_weighted/1",
    "exponential_mechanism_base2_weighted/1",
    "report_noisy_max_gumbel_weighted/1",
    "top_k_exponential_weighted/1",
    "top_k_many_exponential_weighted/1",
    "top_k_exponential_base2_weighted/1",
    "top_k_many_exponential_base2_weighted/1",
    "select_many_exponential_weighted/1",
    "select_many_exponential_base2_weighted/1",
    "select_many_permute_and_flip_weighted/1",
    "top_k_by_group_gumbel/1",
    "top_k_by_group_laplace/1",
    "top_k_by_group_exponential/1",
    "top_k_by_group_permute_and_flip/1",
    "unknown_domain_top_k_gumbel/1",
    "unknown_domain_top_k_laplace/1",
    "pay_what_you_get_gumbel/1",
    "sparse_vector_exponential/1",
    "sparse_vector_laplace/1",
    "sparse_vector_geometric/1",
    "adaptive_sparse_vector_exponential/1",
    "adaptive_sparse_vector_laplace/1",
    "adaptive_sparse_vector_geometric/1",
    "select_partitions/1",
    "select_partitions_with_counts/1",
    "partition_strategy/1",
    "partition_strategy_with_counts/1",
    "measure_discrete_laplace/1",
    "measure_discrete_gaussian/1",
    "measure_rounded_gaussian/1",
    "quantile_below/1",
    "quantiles_below/1",
    "quantile/1",
    "quantiles/1",
    "best_of/1",
    "best_of_poisson/1",
    "first_above/1",
    "range calibration",
    "range_",
    "base 2",
    "unordered one-shot sets",
    "durable pay-what-you-get",
    "SAFESELECT_REQUIRE_PRODUCTION",
    "samplers.uniform_below",
    "samplers.bernoulli",
    "samplers.bernoulli_exp",
    "samplers.bernoulli_power",
    "samplers.bernoulli_enclosed",
    "samplers.Coin",
    "samplers.geometric",
    "samplers.geometric_exp",
    "samplers.geometric_digits",
    "samplers.discrete_laplace",
    "samplers.discrete_laplace_exp",
    "samplers.laplace_floor",
    "samplers.discrete_gaussian",
    "samplers.permutation",
    "samplers.LazyExponential",
    "samplers.LazyLaplace",
    "samplers.LazyGumbel",
)
"""All rows, in order.  Never take one away."""

DRAW_NOTHING = {"Bits", "LazyNoise", "NoiseRate"}


def test_no_row_has_vanished():
    assert tuple(FOUND) == ROWS
    assert len(ROWS) == len(set(ROWS)) >= 87


def test_every_mechanism_and_every_public_sampler_has_a_row():
    """A new one needs a row; the tests of laws list the mechanisms."""
    assert set(names()) <= set(ROWS)
    assert len(names()) >= 64
    public = {f"samplers.{name}" for name in samplers.__all__ if name not in DRAW_NOTHING}
    assert public == {name for name in ROWS if name.startswith("samplers.")}


@pytest.mark.parametrize("name", FOUND)
def test_a_row_answers_as_recorded(name):
    """Otherwise: a sentence in the change log, and `python tests/support/mission.py record ROW`."""
    assert mission.answer(name, FOUND[name]) == FOUND[name]["answer"]


@pytest.mark.parametrize("name", FOUND)
def test_a_row_says_all_it_has_to(name):
    row = FOUND[name]
    assert tuple(row) == mission.KEYS
    assert tuple(row["answer"]) == mission.TAPES
    assert row["law"] == (name if "/" in name else None)
    assert row["law"] is None or json.dumps(row["law"]) in json.dumps(row["answer"])
    assert row["broken"] in BROKEN
    answers = [row["answer"][tape]["released"] for tape in mission.TAPES[:3]]
    if name != "SAFESELECT_REQUIRE_PRODUCTION":  # which words refuse follows from no bit
        assert any(each != answers[0] for each in answers), "no bit decides the answer"


def test_the_tests_of_laws_are_there_and_no_break_is_left_over():
    tests = {row["test"] for row in FOUND.values()}
    files = {test.partition("::")[0] for test in tests}
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    known = {*listed, *(line.partition("[")[0] for line in listed)}
    assert tests <= known
    assert {row["broken"] for row in FOUND.values()} == set(BROKEN)


@pytest.mark.parametrize("each", BROKEN.values(), ids=list(BROKEN))
def test_a_break_is_in_its_place_once(each):
    source = (ROOT / each.path).read_text()
    assert source.count(each.text) == 1
    compile(source.replace(each.text, each.other), each.path, "exec")
    assert each.other != each.text


def test_answers_are_the_same_in_another_order_and_alone():
    backwards = list(reversed(ROWS))
    assert mission.check(backwards[: len(ROWS) // 2]) == []
    alone = ["quantile/1", "samplers.geometric", "durable pay-what-you-get"]
    for name in alone:
        ran = subprocess.run(
            [sys.executable, TOOL, "check", name], capture_output=True, check=False
        )
        assert ran.returncode == 0, ran.stdout


@pytest.fixture
def commented(tmp_path):
    """A copy of the package with a comment, and so another hash, in each file."""
    place = execute_claims.copy(tmp_path / "copy", None)
    for path in (place / "src").rglob("*.py"):
        path.write_text(path.read_text() + "\n# a comment\n")
    return place


def test_answers_are_the_same_after_a_comment_was_added(commented):
    """Otherwise a vector would prove that nobody touched a file, and no more."""
    ran = subprocess.run(
        [sys.executable, commented / "tests" / "support" / "mission.py", "check"],
        env=execute_claims.environment(commented),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "rows with another answer: 0\n")


def test_one_row_is_recorded_and_no_other_is_touched(tmp_path):
    place = tmp_path / "mission.json"
    text = mission.PLACE.read_text("utf-8")
    rows = mission.read()
    assert mission.written(rows) == text
    rows["quantile/1"]["answer"]["ties"]["bytes"] += 1
    rows["range_"]["answer"]["ties"]["bytes"] += 1
    place.write_text(mission.written(rows), "utf-8")
    changed = mission.record("quantile/1", place)
    assert len(changed) == 1
    assert changed[0].startswith("quantile/1, ties:\n  - ")
    assert mission.read(place)["quantile/1"] == FOUND["quantile/1"]
    assert mission.read(place)["range_"] == rows["range_"] != FOUND["range_"]
    with pytest.raises(SystemExit, match="there is no row 'quantile'"):
        mission.record("quantile", place)


@pytest.mark.parametrize("words", [[], ["record"], ["record", "range_", "quantile/1"], ["all"]])
def test_there_is_no_way_to_record_all(words, capsys):
    assert mission.main(words) == 2
    assert "record ROW" in capsys.readouterr().err


@pytest.mark.parametrize("kind", mission.TAPES)
def test_a_tape_is_the_same_in_pieces_and_at_once(kind):
    pieces, whole = mission.Tape("a row", kind), mission.Tape("a row", kind)
    size = 3 * (1 << 16)
    one, other = bytearray(size), bytearray(size)
    for start in range(0, size, 1 << 12):
        pieces.fill(memoryview(one)[start : start + (1 << 12)])
    whole.fill(other)
    assert one == other
    assert pieces.asked == whole.asked == size
    assert one != b"".join([b"\0" * size])
    words = np.frombuffer(bytes(other), np.uint8)
    # Behind its beginning each is as good as random.
    assert abs(int(words[1024:].astype(int).sum()) / (size - 1024) - 127.5) < (
        9 if kind == "tails" else 1
    )


def test_tapes_differ_by_row_and_by_kind():
    found = set()
    for row in ("one", "other"):
        for kind in mission.TAPES:
            buffer = bytearray(600)
            mission.Tape(row, kind).fill(buffer)
            found.add(bytes(buffer))
    assert len(found) == 2 * len(mission.TAPES)


SAMPLE = ["quantile/1", "samplers.permutation"]


@pytest.mark.slow("breaks the laws of some rows in copies of the repository, and runs their tests")
def test_breaking_the_law_of_a_row_fails_its_test(capsys):
    """A small part of `make laws`, which `make nightly` runs for all rows."""
    assert break_laws.main(["--rows", *SAMPLE]) == 0, capsys.readouterr().out
    assert f"rows: {len(SAMPLE)}\nnot noticed: 0\n" in capsys.readouterr().out


@pytest.mark.slow("changes a comment in a copy of the repository, and runs a test there")
def test_a_break_that_breaks_nothing_is_told(monkeypatch, capsys):
    idle = Break((), "exact/interval.py", "", "from __future__", "# a comment\nfrom __future__")
    row = FOUND["quantile/1"]
    monkeypatch.setitem(break_laws.BROKEN, row["broken"], idle)
    assert break_laws.main(["--rows", "quantile/1"]) == 1
    printed = capsys.readouterr().out
    assert f"    quantile/1: {row['test']} passes\n" in printed
    assert "    quantile/1: its answer is the same\n" in printed
