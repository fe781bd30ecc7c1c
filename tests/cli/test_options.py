"""The help of every command fits the terminal, and says what was written."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from safeselect.cli import main
from safeselect.cli._main import COMMANDS
from safeselect.cli._options import Command, build_parser, declare, given


def shown(command: list[str], width: int, monkeypatch, capsys) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit, match="0"):
        build_parser(COMMANDS).parse_args([*command, "--help"])
    return str(capsys.readouterr().out)


def test_help_is_folded_to_the_terminal_and_loses_no_word(monkeypatch, capsys):
    for command in (["ledger"], *(name.split()[1:] for name, _ in examples(COMMANDS))):
        wide = shown(command, 400, monkeypatch, capsys)
        assert wide.isascii()  # or a terminal that shows no more than that would show an error
        for width in (60, 80, 100):
            folded = shown(command, width, monkeypatch, capsys)
            # Behind the usage, whose parts argparse does not break.
            below = folded.partition("\n\n")[2]
            assert max(map(len, below.splitlines())) <= width, command
            assert below.split() == wide.partition("\n\n")[2].split(), command


def test_one_line_declares_an_option():
    declared = declare("""
FILE several  the files
--n N integer =3  how many
    there are
--level L required  the level
| --flat  or none
a heading
--key HEX hex repeated  a key
--kind {a,b}  which
""")
    command = Command("do", "it", declared, lambda _: 0)

    def parsed(*arguments: str) -> dict[str, object]:
        return given(build_parser((command,)).parse_args(["do", *arguments]), declared)

    assert parsed("x", "y", "--level", "1/3", "--key", "00", "--key", "ff") == {
        "file": ["x", "y"],
        "n": 3,
        "level": "1/3",
        "flat": False,
        "key": [b"\0", b"\xff"],
        "kind": None,
    }
    assert parsed("x", "--flat", "--n", "some")["n"] == "some"  # the function called refuses it
    for wrong in (
        ("--flat",),
        ("x",),
        ("x", "--flat", "--level", "1"),
        ("x", "--flat", "--key", "some"),
        ("x", "--flat", "--kind", "c"),
    ):
        with pytest.raises(SystemExit, match="2"):
            parsed(*wrong)
    assert (declared[1].told["help"], declared[4].heading) == ("how many there are", "a heading")


def examples(commands: tuple[Command, ...], prefix: str = "safeselect"):
    """The commands, and the actions of each, with what their help shows as an example."""
    for command in commands:
        name = f"{prefix} {command.name}"
        yield from examples(command.actions, name)
        if command.run is not None:
            about = " ".join(command.about.split()).partition("For example")[2]
            yield name, about[about.find(name) :]


def test_the_help_of_a_command_has_an_example_that_is_read():
    lacking = []
    for name, example in examples(COMMANDS):
        if example.startswith(name):
            words = shlex.split(example.partition(" > ")[0])[1:]
            assert build_parser(COMMANDS).parse_args(words).run is not None
        else:
            lacking.append(name)
    assert lacking == []


def test_options_may_stand_in_a_file(tmp_path: Path, capsys):
    file = tmp_path / "usual.txt"
    file.write_text("-k 2  # two of them\n--epsilon '1'\n", "utf-8")
    shown = []
    for words in (["-k", "2", "--epsilon", "1"], ["--options", str(file)], [f"--options={file}"]):
        assert main(["explain", *words]) == 0
        shown.append(capsys.readouterr().out)
    assert shown == shown[:1] * 3
    for wrong in (["--options"], ["--options", str(tmp_path / "none")]):
        assert main(["explain", *wrong]) == 2
        assert "cannot be read" in capsys.readouterr().err
    file.write_text("-k '2", "utf-8")
    assert (main(["explain", "--options", str(file)]), capsys.readouterr().out) == (2, "")
