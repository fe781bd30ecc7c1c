"""The help of every command fits the terminal, and says what was written."""

from __future__ import annotations

import argparse
import re

import pytest

from safeselect.cli._help import HelpFormatter
from safeselect.cli._parser import build_parser

ACTIONS = ["create", "add", "reopen", "repair", "append", "show", "export", "verify", "report"]
COMMANDS = [
    *([name] for name in ("top-k", "select", "keys", "explain", "ledger", "verify", "audit")),
    *(["ledger", action] for action in ACTIONS),
]


def shown(command: list[str], width: int, monkeypatch, capsys) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit, match="0"):
        build_parser().parse_args([*command, "--help"])
    return str(capsys.readouterr().out)


def test_these_are_all_commands(monkeypatch, capsys):
    for command, names in (([], COMMANDS[:7]), (["ledger"], [[action] for action in ACTIONS])):
        listed = re.findall(r"^    ([a-z][a-z-]*) ", shown(command, 200, monkeypatch, capsys), re.M)
        assert [[name] for name in listed] == names


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_is_folded_to_the_terminal_and_loses_no_word(command, monkeypatch, capsys):
    wide = shown(command, 400, monkeypatch, capsys)
    assert wide.isascii()  # or a terminal that shows no more than that would show an error instead
    for width in (60, 80, 100):
        folded = shown(command, width, monkeypatch, capsys)
        # Behind the usage, whose parts argparse does not break.
        below = folded.partition("\n\n")[2]
        assert max(map(len, below.splitlines())) <= width
        assert below.split() == wide.partition("\n\n")[2].split()


def test_paragraphs_and_columns_are_kept():
    parser = argparse.ArgumentParser(
        prog="p",
        usage="p",
        add_help=False,
        formatter_class=lambda prog: HelpFormatter(prog, width=32),
        epilog=(
            "in words:\n  Some words that are longer than\n  a line.\n\n"
            "  --one N    a term and its words, in\n             two lines\n  --other    more\n"
            "  --long-term LONG\n             words below\n"
            "the end"
        ),
    )
    assert parser.format_help() == (
        "usage: p\n\n"
        "in words:\n  Some words that are longer\n  than a line.\n\n"
        "  --one N    a term and its\n             words, in two lines\n"
        "  --other    more\n  --long-term LONG\n             words below\n"
        "the end\n"
    )
