"""Options of `safeselect explain` that do not go together are refused, each with its reason."""

from __future__ import annotations

import pytest

from safeselect.cli import main

TOTAL = "--epsilon 1 --delta 1e-6"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("--epsilon 1", "-k is needed"),
        (f"--keys -k 1 {TOTAL}", "--keys goes without -k"),
        (f"--keys --groups 3 --groups-per-user 1 {TOTAL}", "--keys goes without -k and without"),
        ("-k 1 --unknown --epsilon 1", "--unknown needs --epsilon and --delta"),
        ("--keys --rho 1", "--keys needs --epsilon and --delta"),
        ("-k 1 --groups 3 --groups-per-user 1 --rho 1", "--groups needs --epsilon"),
        ("-k 1 --groups 3 --epsilon 1", "--groups and --groups-per-user go together"),
        (f"-k 1 --unknown --groups 3 --groups-per-user 1 --max-groups 2 {TOTAL}", "--max-groups"),
        (f"-k 1 --max-contributions 2 {TOTAL}", "go with --unknown"),
        (f"-k 1 --with-counts {TOTAL}", "go with --keys"),
        (f"-k 1 --json {TOTAL}", "--plot and --json go with"),
    ],
)
def test_what_does_not_go_together(line: str, reason: str, capsys) -> None:
    assert main(["explain", *line.split()]) == 2
    out, said = capsys.readouterr()
    assert (out, reason in said) == ("", True), said
