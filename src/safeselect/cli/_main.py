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

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from safeselect import DiscoveredTopK, SelectedPartitions, TopK, TopSet, top_k
from safeselect.adapters.plots import plot, plot_path, save_plot
from safeselect.cli._audit import run_audit
from safeselect.cli._counting import count_items
from safeselect.cli._counting_parser import table_of
from safeselect.cli._escape import escaped
from safeselect.cli._explain import run_explain
from safeselect.cli._keys import run_keys
from safeselect.cli._ledger import open_scope, run_ledger
from safeselect.cli._parser import build_parser
from safeselect.cli._reading import how_to_read
from safeselect.cli._verify import run_verify
from safeselect.errors import (
    BudgetError,
    InputError,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerRolledBack,
    SafeSelectError,
    SafeSelectWarning,
    SourceError,
)
from safeselect.promises.records import exact_text
from safeselect.scores.candidates import label_text
from safeselect.tables import GroupedTopK
from safeselect.tables._ready_scores import open_scores

Release = TopK | TopSet | DiscoveredTopK | GroupedTopK | SelectedPartitions

_UNFORESEEN = (
    "something went wrong that safeselect did not foresee; nothing more is said here, because "
    "details may quote data"
)
_LOST = "what was to be printed is lost, and a charge to a ledger stands"


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
            raise InputError("standard output is closed, so a release would be lost")
        if options.command == "explain":
            _write(run_explain(options) + "\n")
            return 0
        if options.command == "verify":
            code, said = run_verify(options, _write)
            _say(said)
            return code
        if options.command in ("ledger", "audit"):
            code, answer, said = (run_ledger if options.command == "ledger" else run_audit)(options)
            _write(answer)
            if said:
                _say(said)
            return code
        picture = plot_path(options.plot) if getattr(options, "plot", None) else None
        result = _MAKE[options.command](options)
        _release(result, as_json=options.json)
        unit = options.unit + _content(result, options.command)
        _say("\n".join([_promise(result), unit, _noise(result), *how_to_read(result)]))
        if result.receipt is not None:
            receipt = result.receipt
            _say(f"record {receipt.record} of ledger {receipt.ledger}; salt {receipt.salt.hex()}")
        if picture is not None and (trouble := save_plot(plot(result), picture)):
            _say(f"safeselect: warning: {trouble}")
        return 0
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard_output()
        return 141
    except _UnwrittenError as error:
        _discard_output()
        _say(f"safeselect: standard output cannot be written: {error}; {_LOST}")
        return 1
    except SafeSelectError as error:
        _say(f"safeselect: {error}")
        return _exit_code(error)
    except Exception:  # noqa: BLE001 - its message or traceback may quote data
        _say(f"safeselect: {_UNFORESEEN}")
        return 1


def _discard_output() -> None:
    # Python flushes standard output once more at its end, which must not fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_MAKE: dict[str, Callable[[argparse.Namespace], Release]] = {
    "top-k": count_items,
    "select": lambda options: _select(options),
    "keys": run_keys,
}


def _exit_code(error: SafeSelectError) -> int:
    if isinstance(error, LedgerBusy):
        return 6
    if isinstance(error, (BudgetError, LedgerDamaged, LedgerRolledBack)):
        return 3
    if isinstance(error, LedgerError):
        return 5
    return 4 if isinstance(error, SourceError) else 2


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    try:
        return build_parser().parse_args(arguments)
    finally:
        if sys.stdout is not None:
            with _written():
                sys.stdout.flush()  # a closed pipe under a help text must fail here, not at exit


def _select(options: argparse.Namespace) -> Release:
    ledger = open_scope(options)
    opened = open_scores(table_of(options), label=options.label, score=options.score)
    with opened as (labels, scores):
        private: Any = scores
        released: Release = top_k(
            private,
            k=options.k,
            epsilon=options.epsilon,
            delta=options.delta,
            rho=options.rho,
            sensitivity=options.sensitivity,
            monotonic=options.monotonic,
            mechanism=options.mechanism,
            minimize=options.minimize,
            grid=options.grid,
            on_grid=options.on_grid,
            score_error=options.score_error,
            labels=labels,
            ledger=ledger,
        )
        return released


def _release(result: Release, *, as_json: bool) -> None:
    if isinstance(result, GroupedTopK):
        _release_groups(result, as_json=as_json)
        return
    # An unordered set is printed in alphabetical order, so that the order reveals nothing.
    labels = sorted(result.labels, key=label_text) if isinstance(result, TopSet) else result.labels
    lines = [escaped(label) for label in labels]
    if as_json:
        lines = [result.to_json()]
    elif isinstance(result, (DiscoveredTopK, SelectedPartitions)) and result.counts:
        # An escaped label has no tab.
        lines = [f"{line}\t{count}" for line, count in zip(lines, result.counts, strict=True)]
    _write("".join(f"{line}\n" for line in lines))


def _release_groups(result: GroupedTopK, *, as_json: bool) -> None:
    columns = result.to_dict()
    names = ("group", "label", *(["count"] if result.counts is not None else []))
    rows = zip(*(columns[name] for name in names), strict=True)
    # An escaped label has no tab.
    lines = ["\t".join(escaped(str(cell)) for cell in row) for row in rows]
    _write("".join(f"{line}\n" for line in ([result.to_json()] if as_json else lines)))


class _UnwrittenError(Exception):
    """Standard output takes no more."""


def _write(text: str) -> None:
    # Always UTF-8 with plain newlines, whatever the terminal's settings: a release is data.
    with _written():
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()


@contextlib.contextmanager
def _written() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _UnwrittenError(error.strerror) from None


def _content(result: Release, command: str) -> str:
    """Describe what was released."""
    if command == "select":
        return "the labels, no score"
    if isinstance(result, GroupedTopK):
        return "for each group " + ("items" if result.counts is None else "items and noisy counts")
    if not isinstance(result, (DiscoveredTopK, SelectedPartitions)):
        return "the items, no count"
    return "items found, no count" if result.counts is None else "items found and noisy counts"


def _promise(result: Release) -> str:
    guarantee = result.guarantee
    numbers = [f"{field.name} = {getattr(guarantee, field.name)}" for field in fields(guarantee)]
    return f"guarantee {', '.join(numbers)} in total ({type(guarantee).__name__})"


def _noise(result: Release) -> str:
    """Describe the mechanism, the effective range that its noise covers, and the source."""
    if isinstance(result, SelectedPartitions):
        most = f"max_partitions {result.max_partitions}"
        return f"mechanism {result.mechanism}, {most}, {result.source}"
    # The result of a call always has one; it includes what reading adds to the declared range.
    effective = "" if result.effective_range is None else exact_text(result.effective_range)
    return f"mechanism {result.mechanism}, effective range {effective}, {result.source}"


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
            _say(f"safeselect: warning: {message}")
        said.add(str(message))
    else:
        show(message, category, *where)


def _say(text: str) -> None:
    # print(file=None) would write to standard output, so a closed standard error is skipped.  A
    # broken pipe of the messages must not turn a release into a failure.
    with contextlib.suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
