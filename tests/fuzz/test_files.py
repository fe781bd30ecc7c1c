"""Hostile files and command lines: one of our errors, and never the exit code of the unforeseen."""

from __future__ import annotations

import pytest
from hostile import refused
from hostile_files import read_table, run_command, written
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect import InputError, SafeSelectError
from safeselect.tables import read_candidates, read_scores

pytest.importorskip("duckdb")

CELLS = st.one_of(
    st.text('ab,"\n\r 0189.-+e\0\t\ufeff', max_size=8),
    st.text(max_size=4),
    st.integers().map(str),
    st.floats().map(str),
)
ROWS = st.lists(st.lists(CELLS, max_size=4), max_size=6)


def table(rows: list[list[str]], *, quoted: bool) -> bytes:
    lines = [["item", "n"], *rows]
    if quoted:
        lines = [['"' + cell.replace('"', '""') + '"' for cell in line] for line in lines]
    return "\n".join(",".join(line) for line in lines).encode("utf-8", "surrogatepass")


FILES = st.one_of(st.builds(lambda r, q: table(r, quoted=q), ROWS, st.booleans()), st.binary())


@settings(max_examples=25)
@given(FILES, st.sampled_from(["t.csv", "t.csv.gz", "t.parquet"]))
def test_tables(content, name):
    read_table(content, name)


@pytest.mark.claim("C11")
def test_more_columns_than_duckdb_can_read_are_refused():
    with (
        written(b"item,n" + b"," * 9_999 + b"\n") as path,
        pytest.raises(InputError, match="has more than 10000 columns"),
    ):
        read_scores(path, label="item", score="n")


@settings(max_examples=80)
@given(st.one_of(FILES, st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_candidates(content):
    with written(content) as path:
        try:
            found = read_candidates(path)
        except SafeSelectError as error:
            refused(error)
            return
    assert found
    assert len(set(found)) == len(found)


WORDS = st.one_of(
    st.sampled_from(
        [
            "top-k",
            "select",
            "explain",
            "ledger",
            "t.csv",
            "item",
            "n",
            "1",
            "0.5",
            "1e-9",
            "1/3",
            "-1",
            "nan",
            "1e99999",
            "laplace",
            "-k",
            "--item",
            "--user",
            "--epsilon",
            "--delta",
            "--rho",
            "--label",
            "--score",
            "--sensitivity",
            "--grid",
            "--json",
            "--candidates",
            "--candidates-are-public",
            "--k-bar",
            "--monotonic",
            "--mechanism",
            "--gap",
            "--memory",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
)


@settings(max_examples=40)
@given(st.lists(WORDS, max_size=12), FILES)
@pytest.mark.parametrize(
    "start",
    [
        [],
        ["select", "t.csv", "--label", "item", "--score", "n", "--epsilon", "1"],
        ["top-k", "t.csv", "--item", "item", "--user", "n", "--epsilon", "1", "-k", "1"],
        ["explain", "--epsilon", "1", "-k", "2"],
    ],
    ids=lambda words: (words or ["anything"])[0],
)
def test_command_lines(start, words, content):
    run_command([*start, *words], content)
