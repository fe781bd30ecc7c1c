"""One declaration for each option: parser, help and argument of a call follow from it."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from safeselect.release.page import did_you_mean
from safeselect.release.results import code


@dataclass(frozen=True, slots=True)
class Option:
    """An option or a positional argument.

    Attributes:
        flag: as it is typed; a positional argument's is its name.
        told: what argparse is told of it, its help too.
        heading: the heading of the help under which it stands.
        instead_of: the first of the options of which at most one is given; exactly one, if that is
            required.
    """

    flag: str
    told: dict[str, Any]
    heading: str = ""
    instead_of: str = ""

    @property
    def name(self) -> str:
        """Its name among the parsed options, and as an argument of the function called."""
        return self.flag.lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its purpose in one line, its options, what is said below them.

    Attributes:
        run: does it, and returns the exit code; none where there are only commands below it.
    """

    name: str
    purpose: str
    options: tuple[Option, ...] = ()
    run: Callable[[argparse.Namespace], int] | None = None
    about: str = ""
    actions: tuple[Command, ...] = ()


_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)")
_LINE = re.compile(r"(\| )?(-\S+|[A-Z]+)((?: \S+)*)  +(.*)")
_EXIT_CODES = """
--options FILE reads options from FILE, in which # begins a comment

exit codes: 0 success; 1 unexpected error, lost output or difference found by safeselect verify;
2 wrong command line or input file; 3 release refused by a budget, check failed or incomplete, or
advisory applies; 4 source of randomness failed; 5 ledger not usable; 6 ledger busy (try again)
"""


def _integer(text: str) -> int | str:
    """A whole number; any other text as it is, which the function called takes or refuses."""
    with suppress(ValueError):
        return int(text)
    return text


def _key(text: str) -> bytes:
    with suppress(ValueError):
        return bytes.fromhex(text)
    raise argparse.ArgumentTypeError(f"a key must be an even number of hex digits, got {text!r}")


_READ: dict[str, Callable[[str], int | str | bytes]] = {"integer": _integer, "hex": _key}


def declare(text: str) -> tuple[Option, ...]:
    """Read a table of options: a line each, which the next ones go on if they are indented.

    A line has the option as it is typed, its value and what that is, and after two blanks its help;
    behind "| " it goes instead of the one before.  Of a value are said: its name, {its choices},
    how it is read (integer, hex; otherwise as text, of which the function called makes numbers),
    =its default, "several" or "repeated" or "optional", and "required".  Other lines are headings.
    """
    found: list[Option] = []
    heading = ""
    for line in text.strip("\n").splitlines():
        if line.startswith(" "):
            found[-1].told["help"] += f" {line.strip()}"
        elif matched := _LINE.fullmatch(line):
            bar, flag, value, about = matched.groups()
            if bar and not found[-1].instead_of:
                found[-1] = replace(found[-1], instead_of=found[-1].flag)
            first = found[-1].instead_of if bar else ""
            told = _told(flag, value.split()) | {"help": about}
            found.append(Option(flag if flag[0] == "-" else flag.lower(), told, heading, first))
        else:
            heading = line
    return tuple(found)


def _told(flag: str, words: list[str]) -> dict[str, Any]:
    told: dict[str, Any] = {} if flag[0] == "-" else {"metavar": flag}
    if flag[0] == "-" and not words:
        told["action"] = "store_true"
    for word in words:
        if word in _READ:
            told["type"] = _READ[word]
        elif word in ("several", "optional"):
            told["nargs"] = "+" if word == "several" else "?"
        elif word == "repeated":
            told["action"] = "append"
        elif word == "required":
            told["required"] = True
        elif word[0] == "=":
            told["default"] = told.get("type", str)(word[1:])
        elif word[0] == "{":
            told["choices"] = word[1:-1].split(",")
        else:
            told["metavar"] = word
    return told


def given(parsed: argparse.Namespace, options: Iterable[Option]) -> dict[str, Any]:
    """Return these options as the arguments of a call: each by its own name."""
    return {option.name: getattr(parsed, option.name) for option in options}


def build_parser(commands: tuple[Command, ...]) -> argparse.ArgumentParser:
    """Return the parser of these commands; what it parses says which `command`, and has `run`."""
    parser = _Parser(
        prog="safeselect",
        description="Select high-scoring candidates from private data under differential privacy.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    below = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", dest="command"
    )
    _add_commands(below, commands)
    return parser


def _add_commands(below: Any, commands: tuple[Command, ...]) -> None:
    for command in commands:
        parser: argparse.ArgumentParser = below.add_parser(
            command.name,
            help=command.purpose,
            description=f"{command.purpose[0].upper()}{command.purpose[1:]}.",
            epilog=f"{command.about}\n{_EXIT_CODES}",
            formatter_class=_Help,
            allow_abbrev=False,
        )
        parser.set_defaults(run=command.run)
        _add_options(parser, command.options)
        if command.actions:
            actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
            _add_commands(actions, command.actions)


def _add_options(parser: argparse.ArgumentParser, options: tuple[Option, ...]) -> None:
    headed: dict[str, Any] = {"": parser}
    either: dict[str, Any] = {}
    for option in options:
        if option.heading not in headed:
            headed[option.heading] = parser.add_argument_group(option.heading)
        place, told = headed[option.heading], option.told
        if first := option.instead_of:
            if first not in either:
                required = told.get("required", False)
                either[first] = place.add_mutually_exclusive_group(required=required)
            place, told = either[first], {**told, "required": False}
        place.add_argument(option.flag, **told)


class _Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line, like all other errors; subcommands inherit it."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse first an option that there is not: what is missing otherwise follows from it."""
        flags = [] if self._subparsers else [word.partition("=")[0] for word in args]
        for flag in flags[: flags.index("--")] if "--" in flags else flags:
            if flag.startswith("--") and flag not in self._option_string_actions:
                near = did_you_mean(flag, self._option_string_actions)
                self.error(f"unknown option {flag}{near}")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        if chosen := _CHOICE.search(message):
            message += did_you_mean(chosen[1], re.findall(r"[\w-]+", chosen[2]))
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        sys.stdout.write(f"safeselect {code()[0]}\n")
        parser.exit()


class _Help(argparse.HelpFormatter):
    """Folds texts to the width, keeps their paragraphs, and breaks no option at a hyphen."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = ("\n".join(self._split_lines(each, width)) for each in text.split("\n\n"))
        return textwrap.indent("\n\n".join(paragraphs), indent)
