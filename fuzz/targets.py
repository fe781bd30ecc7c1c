"""What is fuzzed: functions of bytes that return, or raise where the library does what it must not.

An error of the library is an answer; any other exception, a wrong answer or a crash of the process
is a find.  `tests/fuzz/test_targets.py` runs each of them on its seeds and on random bytes.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib
import io
import re
import tempfile
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from hostile_files import read_table, run_command, written
from ledgers import TERMS, ListStore

from safeselect import (
    Budget,
    Ledger,
    ParameterError,
    PureDP,
    SafeSelectError,
    compose,
    permute_and_flip,
)
from safeselect.cli import escaped
from safeselect.exact.parameters import MAX_BITS, rational
from safeselect.ledger import Checker, Row, check_log, log_lines
from safeselect.ledger.record import canonical, parse, record_hash
from safeselect.ledger.scope import Payment
from safeselect.mechanisms.items import hold_counts
from safeselect.randomness.source import Observed
from safeselect.release.call import Charge
from safeselect.scores.candidates import read_candidates as read_scores
from safeselect.scores.reading import Reading
from safeselect.tables import read_candidates

__all__ = ["SEEDS", "TARGETS"]


def _sample() -> list[Row]:
    store = ListStore()
    ledger = Ledger.create(store, {"a": Budget(**TERMS, epsilon=1, delta="1e-3")})
    there = ledger.scope("a", **TERMS, purpose="fuzz")
    part = PureDP("1/4")
    for nonce in (b"n" * 16, b"m" * 16):
        charge = Charge("fuzz/1", part, ((part, 1),), {})
        there.pay(Payment(charge, Observed("none", "yes", "passed"), nonce))
    return store.kept


SAMPLE = _sample()
LOG = "".join(log_lines(Ledger.open(ListStore(list(SAMPLE))).records())).encode()
CSV = b'item,n\n"a b",1\n"say ""x"", y",2.5\n\xc3\xb8,-3\n'


def _parquet() -> bytes:
    """A small table; without DuckDB, the start of one."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(ImportError):
        duckdb = importlib.import_module("duckdb")
        path = Path(folder, "t.parquet")
        select = "SELECT 'x' || i AS item, i AS n FROM range(3) rows(i)"
        duckdb.sql(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
        return path.read_bytes()
    return b"PAR1"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def parameter(data: bytes) -> None:
    """A parameter typed as text is the number that Python reads, or refused."""
    text = _text(data)
    try:
        found = rational(text, "epsilon", signed=True)
    except ParameterError as error:
        if len(str(error)) > 500:
            raise AssertionError("a long message") from error
        return
    if max(found.numerator.bit_length(), found.denominator.bit_length()) > MAX_BITS:
        raise AssertionError("a long number")
    if found != Fraction(text):
        raise AssertionError("another number")


def record(data: bytes) -> None:
    """Canonical JSON has one spelling."""
    text = _text(data)
    with contextlib.suppress(SafeSelectError):
        if canonical(parse(text, "it")) != text:
            raise AssertionError("another spelling")


def log(data: bytes) -> None:
    """Every log but the one that was exported is refused, given its head."""
    checker = Checker(published=f"{len(SAMPLE) - 1}:{SAMPLE[-1].hash}")
    try:
        list(check_log(io.BytesIO(data), checker))
    except SafeSelectError:
        return
    if data != LOG:
        raise AssertionError("a forged log")


def ledger(data: bytes) -> None:
    """A row of anything, with its hash made good, behind those of a ledger."""
    text = _text(data)
    last = SAMPLE[-1]
    row = Row(len(SAMPLE), text, record_hash(text), "")
    for rows in ([*SAMPLE, row], [*SAMPLE[:1], row], [row], [*SAMPLE[:-1], row, last]):
        for use in (
            lambda store: Ledger.open(store).check(),
            lambda store: Ledger.open(store).balance("a").left,
        ):
            with contextlib.suppress(SafeSelectError):
                use(ListStore(rows))


def candidates(data: bytes) -> None:
    """A file of candidates: different labels that survive one line of output, or refused."""
    with written(data) as path:
        try:
            labels = read_candidates(path)
        except SafeSelectError:
            return
    if len(set(labels)) != len(labels) or not all(labels):
        raise AssertionError("labels that are not labels")
    if any(len(escaped(label).splitlines()) > 1 for label in labels):
        raise AssertionError("a label on two lines")


def table(data: bytes) -> None:
    """A file of the kind that its first bytes say: all readers of tables agree, or refuse it."""
    kinds = {b"PAR1": "t.parquet", b"\x1f\x8b\x08\x00": "t.csv.gz"}
    read_table(data, kinds.get(data[:4], "t.csv"))


_SLASH = re.compile("(?<![0-9])/|/(?![0-9])")


def command(data: bytes) -> None:
    """The words of the first line as a command, with the other lines as its file "t.csv"."""
    line, _, content = data.partition(b"\n")
    # No path to another folder, and no number that only says how long to work.
    words = [word[:4] if word.isdigit() else word for word in _text(line).split()]
    words = [word for word in words if "\0" not in word and not _SLASH.search(word)]
    first = next((word for word in words if not word.startswith("-")), "")
    if first == "verify" or any("spark" in word for word in words):
        return  # long checks of the installation, and another program
    run_command(words, content)


def _number(word: str) -> Any:
    kinds: dict[str, Callable[[str], Any]] = {"d": Decimal, "f": float, "i": int, "q": Fraction}
    kind = kinds.get(word[:1])
    try:
        if kind is None or (kind is Fraction and "e" in word.lower()):
            return word  # Fraction("1e999999999") would take all memory before it gets to us
        return kind(word[1:])
    except (ArithmeticError, ValueError):
        return None


def scores(data: bytes) -> None:
    """Words such as i5, f0.1, d1e-9, q1/3: what is accepted is released."""
    words = _text(data)[:2000].split()
    numbers = [_number(word) for word in words]
    with contextlib.suppress(SafeSelectError):
        hold_counts(numbers, list(range(len(numbers))), 3).read()
    for grid in (None, "1/3"):
        try:
            reading = Reading.read(grid=grid, on_grid=False, score_error=None)
            read_scores(numbers).scores_on_grid(reading)
        except SafeSelectError:
            continue
        found = permute_and_flip(numbers, epsilon="1/9", sensitivity=1, grid=grid)
        if not 0 <= found.index < len(numbers):
            raise AssertionError("no candidate")


def guarantees(data: bytes) -> None:
    """Three texts as epsilons and delta of what is added up."""
    words = [*_text(data).split("\n"), "", "", ""][:3]
    try:
        parts = [PureDP(words[0]), PureDP(words[1]), PureDP(words[0])]
        total = compose(parts, words[2])
    except SafeSelectError:
        return
    plain = sum(part.epsilon for part in parts)
    # Rounded up to 64 significant bits.
    if total.guarantee.epsilon > plain * (1 + Fraction(1, 2**60)):
        raise AssertionError("a total beyond the sum")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "parameter": parameter,
    "record": record,
    "log": log,
    "ledger": ledger,
    "candidates": candidates,
    "table": table,
    "command": command,
    "scores": scores,
    "guarantees": guarantees,
}

SEEDS: dict[str, list[bytes]] = {
    "parameter": [b"1/3", b"0.1", b"-1e-6", b"1e1234", b"1" * 1234, b".5", b"+7."],
    "record": [row.body.encode() for row in SAMPLE],
    "log": [LOG, LOG[:-1], LOG[: len(LOG) // 2]],
    "ledger": [row.body.encode() for row in SAMPLE],
    "candidates": [b"a\nb\n", b"\xef\xbb\xbfa\r\nb\r\n", "røm\nåre".encode()],
    "table": [CSV, gzip.compress(CSV, mtime=0), _parquet()],
    "command": [
        b"select t.csv --label item --score n --sensitivity 1 --grid 0.01 --epsilon 1/3\n" + CSV,
        b"top-k t.csv --item item --user n --epsilon 1 --delta 1e-9 -k 2 --k-bar 9 --json\n" + CSV,
        b"top-k t.csv --item item --user n --rho 1 -k 1 --candidates-are-public\n" + CSV,
        b"top-k t.csv --item item --user n --epsilon 1 -k 1 --candidates t.csv --memory 99MB\n",
        b"explain -k 2 --epsilon 0.5 --delta 1e-6 -n 20 --gap 3\n",
        b"ledger create l.db --scope a --unit person --neighbours add_remove --epsilon 1\n",
        *(b"ledger " + word + b" t.csv\n" + LOG for word in (b"show", b"export", b"report")),
        b"ledger verify t.csv --head 1:" + SAMPLE[1].hash.encode() + b"\n" + LOG,
    ],
    "scores": [b"i1 i2 i3", b"f0.1 f-3 f1e300", b"d1e-9 q1/3 i0", b"i" + b"9" * 100],
    "guarantees": [b"1\n1/2\n1e-6", b"0.1\n0.01\n1e-300"],
}
