"""The command `safeselect`: read a file, choose privately, print the release.

- Standard output has only the release; everything else goes to standard error.
- With a ledger, a file's columns are read before the charge and its rows after it.  Without a
  ledger, all files are read before a random bit is drawn.
- Exit codes: 0 done; 2 command line or input file; 3 the budget does not allow the release, or its
  records fail their check; 4 source of randomness; 5 the ledger cannot be used; 6 the ledger is
  busy, try again; 130 Ctrl-C; 141 the reader of the output is gone; 1 any unforeseen error, with
  one constant sentence and no traceback, because a traceback may quote data.
"""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from safeselect import errors
from safeselect.cli._audit import AUDIT, STATEMENT
from safeselect.cli._explain import EXPLAIN, EXPLAIN_GROUPS, EXPLAIN_ITEMS, EXPLAIN_KEYS, PLAN
from safeselect.cli._ledger import LEDGER
from safeselect.cli._options import build_parser
from safeselect.cli._output import UnwrittenError, read_text, reading, say, written
from safeselect.cli._place import refuse_password
from safeselect.cli._recall import ADVISORIES, CORRECT, RECALL
from safeselect.cli._releases import KEYS, LOOK, MEASURE, QUANTILES, SELECT, TOP_K
from safeselect.cli._sql import SQL
from safeselect.cli._verify import VERIFY
from safeselect.errors import InputError, SafeSelectError, SafeSelectWarning

EXPLAINED = EXPLAIN, EXPLAIN_ITEMS, EXPLAIN_GROUPS, EXPLAIN_KEYS
BUDGETS = replace(LEDGER, actions=(*LEDGER.actions, PLAN, RECALL, CORRECT))
COMMANDS = (
    *(LOOK, TOP_K, SELECT, KEYS, QUANTILES, MEASURE),
    *(*EXPLAINED, SQL, BUDGETS, STATEMENT, VERIFY, AUDIT, ADVISORIES),
)
_UNFORESEEN = "unexpected error; its details are not shown, because they can quote data"
_LOST = "the output is lost, but any charge to a ledger remains"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        arguments: the command line without the program's name; by default that of the process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", SafeSelectWarning)
        warnings.showwarning = partial(_show, warnings.showwarning, set())
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        options = _parsed(arguments)
        if sys.stdout is None:
            raise InputError("standard output is closed, so the result would be lost")
        code: int = options.run(options)
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard_output()
        return 141
    except UnwrittenError as error:
        _discard_output()
        say(f"safeselect: standard output cannot be written: {error}; {_LOST}")
        return 1
    except SafeSelectError as error:
        say(f"safeselect: {error}")
        return next(code for kind, code in _EXIT_CODES if isinstance(error, kind))
    except Exception:  # noqa: BLE001 - its message or traceback may quote data
        say(f"safeselect: {_UNFORESEEN}")
        return 1


def _parsed(arguments: Sequence[str] | None) -> Any:
    parser = build_parser(COMMANDS)
    given = [*_words(sys.argv[1:] if arguments is None else arguments)]
    for word in given:
        refuse_password(word)
    if not given:
        say(parser.format_help())
        raise SystemExit(2)
    try:
        return parser.parse_args(given)
    finally:
        if sys.stdout is not None:
            with written():
                sys.stdout.flush()  # a closed pipe under a help text must fail here, not at exit


def _words(given: Sequence[str]) -> Iterator[str]:
    """The command line, with the words of a file in the place of each `--options FILE`."""
    words = iter(given)
    for word in words:
        if word.partition("=")[0] != "--options":
            yield word
            continue
        file = word.partition("=")[2] or next(words, "")
        with reading(file):
            yield from shlex.split(read_text(file), comments=True)


def _discard_output() -> None:
    # Python flushes standard output once more at its end, which must not fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_EXIT_CODES = (  # the first kind that an error is
    (errors.LedgerBusy, 6),
    ((errors.BudgetError, errors.LedgerDamaged, errors.LedgerRolledBack), 3),
    (errors.LedgerError, 5),
    (errors.SourceError, 4),
    (SafeSelectError, 2),
)


def _show(
    show: Callable[..., None],
    said: set[str],
    message: Warning | str,
    category: type[Warning],
    *where: Any,
) -> None:
    """Show a warning of ours as one sentence, once, and others as usual."""
    if issubclass(category, SafeSelectWarning):
        if str(message) not in said:
            say(f"safeselect: warning: {message}")
        said.add(str(message))
    else:
        show(message, category, *where)
