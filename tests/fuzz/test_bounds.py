"""Time and memory are bounded: hostile calls in processes that are killed if they want too much.

- Within the documented limits a call may take as long as its worst input needs, here seconds of a
  slow machine; the limits notice what hangs or grows without bound.
- Beyond them a call must be refused before any big arithmetic, and has next to nothing for it.

There is no clock: the limits are the kernel's.
"""

from __future__ import annotations

import csv
import gzip
import inspect
import io
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import gmpy2
import numpy as np
import pytest
from effort import some
from entry_points import FUNCTIONS, SCORES, call, parameters
from hostile_files import read_table, run_command, written
from limits import AVAILABLE, DONE, Nursery
from public import PUBLIC

import safeselect
import safeselect as s
from safeselect.exact.parameters import MAX_BITS
from safeselect.ledger import Checker, check_log, log_lines
from safeselect.ledger.record import parse
from safeselect.tables import read_candidates

try:
    import duckdb  # here, so that what it maps belongs to no case
except ImportError:
    duckdb = None

pytestmark = [
    pytest.mark.claim("C11"),
    pytest.mark.slow("every function at its worst, each in a process of its own"),
    pytest.mark.skipif(not AVAILABLE, reason="this system does not limit what a process maps"),
]

Case = Callable[[], Any]

# ----------------------------------------------------------------- numbers

LONGEST = 2**MAX_BITS - 1
WIDE = Fraction(LONGEST, LONGEST - 2)  # about 1, in as many digits as are read
WORST = [WIDE, 1 / WIDE, Fraction(LONGEST), Fraction(1, LONGEST)]

DIGITS = 10**7
LONG = "9" * DIGITS
HUGE = 1 << 3 * DIGITS
TOO_LONG = [
    *("1e999999999", "-1e-999999999", "1e999999999/1", f"1e{LONG}", LONG, f"1/{LONG}", f"0.{LONG}"),
    *(Decimal("1e999999999"), Decimal("1e-999999999"), Decimal(LONG)),
    *(HUGE, -HUGE, Fraction(HUGE), Fraction(1, HUGE), gmpy2.mpz(HUGE), gmpy2.mpq(1, HUGE)),
    *(LONGEST + 1, Fraction(1, LONGEST + 1), "1" + "0" * 5000),
]
WORDS = {"engine", "family", "labels", "ledger", "mechanism", "neighbours", "noise", "source"}
WORDS |= {"minimize", "monotonic", "unit"}
INTEGERS = {"k", "k_bar", "max_contributions", "n", "outcomes", "queries"}
LISTS = {"gaps", "leads", "measurements"}
# What does not go with a parameter.
INSTEAD = {"rho": {"epsilon", "delta"}, "epsilon": {"rho"}, "base": {"epsilon"}}
INSTEAD |= {"range_": {"sensitivity"}}


def changed(name: str, parameter: str, value: object) -> dict[str, Any]:
    """What is right for a function, but for one parameter."""
    others, without = FUNCTIONS[name].items(), INSTEAD.get(parameter, set())
    return {**{each: right for each, right in others if each not in without}, parameter: value}


def numeric(name: str) -> list[str]:
    return [each for each in parameters(name) if each not in WORDS]


def is_refused(case: Case) -> bool:
    try:
        case()
    except s.SafeSelectError as error:
        if len(str(error)) > 500:
            raise AssertionError("a long message") from error
        return True
    return False


def every_number(name: str) -> None:
    """Each number of a function at its longest, and all of them together."""
    given = FUNCTIONS[name]
    numbers = [each for each in given if each in numeric(name) and each not in INTEGERS | LISTS]
    for place, parameter in enumerate(numeric(name)):
        for value in some([*WORST[place % 4 :], *WORST[: place % 4]], 4):
            number = [value, value] if parameter in LISTS else value
            is_refused(partial(call, name, **changed(name, parameter, number)))
    for value in some(WORST, 2):
        is_refused(partial(call, name, **{**given, **dict.fromkeys(numbers, value)}))


def every_number_beyond(name: str) -> None:
    for place, parameter in enumerate(numeric(name)):
        more = [10**30] if parameter in INTEGERS else []
        for value in some([*TOO_LONG[place % 5 :], *more], 5):
            number = [value, value] if parameter in LISTS else value
            if not is_refused(partial(call, name, **changed(name, parameter, number))):
                raise AssertionError(f"{parameter} is not refused")


# ----------------------------------------------------------------- scores and sessions

BIG = 10**20_000
MANY = 20_000
SHARP: dict[str, Any] = {"epsilon": WIDE, "sensitivity": 1 / WIDE}
# Shorter, because what is derived from these must not be longer than what is read.
SPLIT = Fraction(2**2000 - 1, 2**2000 - 3)
ON_RECORD = Fraction(2**500 - 1, 2**500 - 3)


def huge_scores() -> None:
    """Python numbers of any size cost what their digits cost."""
    for scores in (
        [BIG, -BIG, BIG + 1],
        [Fraction(BIG, BIG + 1), Fraction(-BIG, 3)],
        [Decimal("9" * 4000), Decimal("1e4096"), Decimal("-1e-4096"), Decimal("1e-999999999")],
        [Decimal(f"0.{'9' * 20_000}"), Decimal("-0e999999999")],
        [1e308, -1e308, 5e-324, np.float32(1e38), np.float16(6e4)],
        [gmpy2.mpz(BIG), gmpy2.mpq(1, BIG)],
    ):
        for grid in WORST:
            s.permute_and_flip(scores, grid=grid, epsilon=WIDE, sensitivity=grid)


def sessions() -> None:
    """As many answers as may be, of values of any size, near a threshold of many digits."""
    for kind in (s.SparseVector, safeselect.AdaptiveSparseVector):
        session = kind(threshold=WIDE, k=2**20, epsilon=SPLIT, sensitivity=1, grid=1 / WIDE)
        for value in (BIG, -BIG, Fraction(1, BIG), Decimal("1e4096"), 1e308, WIDE):
            session.query(value)


def unknown_domains() -> None:
    """The most candidates, of which the table has three."""
    s.unknown_domain_top_k(SCORES, k=10_000, k_bar=2**20, places="all", epsilon=1000, delta="1e-6")
    s.unknown_domain_top_k(SCORES, k=1, k_bar=(1, 1024), places="all", epsilon=1, delta="1e-1000")
    session = s.PayWhatYouGet(outcomes=2**20, queries=2**20, epsilon=1000, delta="1e-6")
    session.query(SCORES, k=1, k_bar=2**20, places="all")


def equal_scores() -> None:
    s.permute_and_flip([7] * 50_000, **SHARP)
    s.permute_and_flip(np.zeros(10**6, dtype=np.int64), **SHARP)
    s.top_k([7] * MANY, k=MANY, epsilon=SPLIT, sensitivity=1)
    for mechanism in ("exponential", "permute_and_flip", "laplace"):
        given: dict[str, Any] = {"epsilon": SPLIT / 9, "delta": "1e-900", "mechanism": mechanism}
        s.top_k([7] * 200, k=100, sensitivity=1, **given)
    s.exponential_mechanism(np.full(10**6, 2**63 - 1), **SHARP)


def long_labels() -> None:
    found = s.permute_and_flip({"x" * DIGITS: 1, "y" * DIGITS: 2}, epsilon=1, sensitivity=1)
    assert len(found.label) == DIGITS
    s.unknown_domain_top_k(
        {"x" * 10**6: 2**2000, 2**2000: 5}, k=1, k_bar=2, places="all", epsilon=1, delta="1e-6"
    )


def many_parts() -> None:
    s.compose([s.PureDP("1/10")] * 20_000, "1e-6")
    different = [Fraction(LONGEST - 2 * i, LONGEST) for i in range(200)]
    for delta in (None, "1e-6", 1 / WIDE):
        for kind in (s.PureDP, s.BoundedRange, safeselect.ZeroConcentratedDP):
            s.compose(map(kind, different), *([] if delta is None else [delta]))
    is_refused(lambda: s.compose([s.ApproximateDP(WIDE, 1 - each) for each in different[1:]]))
    s.compose([s.ApproximateDP(WIDE, Fraction(1, LONGEST - 2 * i)) for i in range(200)], "1e-6")
    s.compose([s.BoundedRange("1/1000")] * 1000, "1e-6", "1e-3")


def scores_beyond() -> None:
    deep: Any = []
    for _ in range(10**5):
        deep = [deep]
    for scores in (
        *([Decimal("1e999999999")], [Decimal("-1e4098")], [LONG], LONG, deep, [deep], deep[0]),
        *([float("inf"), 1], [Decimal("NaN")], range(10**30), iter(int, 1), (b"9" * DIGITS)),
    ):
        if not is_refused(lambda: s.permute_and_flip(scores, grid=1, **SHARP)):  # noqa: B023
            raise AssertionError(type(scores))


# ----------------------------------------------------------------- records and logs

LONGEST_BODY = 2**18
NESTED = 10**6


def records() -> None:
    """JSON as long as it may be: wide, and deep as far as Python reads it."""
    for content in (
        {"a": [""] * (LONGEST_BODY // 3 - 9)},
        {str(number): "" for number in range(LONGEST_BODY // 12)},
        {"a": "é" * (LONGEST_BODY // 6 - 9)},
    ):
        body = json.dumps(content, sort_keys=True, separators=(",", ":"))
        assert LONGEST_BODY * 0.8 < len(body) <= LONGEST_BODY
        parse(body, "it")
    for depth in (400, 2000, LONGEST_BODY // 12):
        is_refused(lambda: parse('{"a":' * depth + '""' + "}" * depth, "it"))  # noqa: B023


def records_beyond() -> None:
    for body in ("[" * NESTED + "]" * NESTED, '{"a":' * NESTED, LONG, f'{{"a":"{LONG}"}}', "1" * 9):
        assert is_refused(lambda: parse(body, "it"))  # noqa: B023
    for log in (LONG, f"{LONG}\n", "[" * NESTED + "\n", "\n" * NESTED):
        assert is_refused(lambda: list(check_log(io.BytesIO(log.encode()), Checker())))  # noqa: B023


def logs() -> None:
    """A ledger of many records, and one with the longest numbers."""
    budgets = {
        f"{number}": safeselect.Budget(
            "person", "add_remove", epsilon=ON_RECORD, delta=ON_RECORD - 1
        )
        for number in range(20)
    }
    ledger = s.Ledger.create(":memory:", budgets)
    scope = ledger.scope("1", unit="person", neighbours="add_remove", purpose="x" * 200)
    for _ in range(30):
        s.permute_and_flip(SCORES, epsilon=ON_RECORD / 31, sensitivity=SPLIT, grid=1, ledger=scope)
    ledger.check()
    log = "".join(log_lines(ledger.records())).encode()
    assert len(log) > 10**5
    list(check_log(io.BytesIO(log), Checker()))


# ----------------------------------------------------------------- files and command lines


def candidate_files() -> None:
    """Files of megabytes, which have no limit but the memory they take."""
    lines = "".join(f"{number}\n" for number in range(10**5)).encode()
    for content in (lines, LONG.encode(), f"x\n{LONG}\n".encode()):
        with written(content) as path:
            assert read_candidates(path)
    for content in (b"\n" * 10**6, b"\xff" * DIGITS, b"\0\n" * 10**5):
        with written(content) as path:
            assert is_refused(lambda: read_candidates(path))


def csv_text(*rows: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def tables_beyond() -> None:
    bomb = gzip.compress(b"item,n\n" + b"x" * 2 * DIGITS, 9)
    for name, content in (
        ("t.csv", b"item,n\n" + b"x" * DIGITS),
        ("t.csv", b"item,n\n" + b'"' * (DIGITS + 1)),
        ("t.csv", b"," * DIGITS),
        ("t.csv", csv_text(["item", "n", *map(str, range(10**5))])),
        ("t.csv", LONG.encode()),
        ("t.csv.gz", bomb),
        ("t.csv.gz", bomb[: len(bomb) // 2]),
        ("t.parquet", b"PAR1" + b"\xff" * DIGITS + b"PAR1"),
        ("t.parquet", b"PAR1" + b"\0" * 99 + (2**31 - 1).to_bytes(4, "little") + b"PAR1"),
    ):
        if read_table(content, name) < 2:
            raise AssertionError(f"{name} is not refused")
    words = ["top-k", "t.csv", "--user", "n", "--epsilon", "1", "--delta", "1e-9", "-k", "1"]
    run_command([*words, "--item", LONG], b"item,n\na,1\n")


def command_lines_beyond() -> None:
    start = ["explain", "-k", "2", "--epsilon"]
    select = ["select", "t.csv", "--label", "item", "--score", "n", "--sensitivity", "1"]
    for words in (
        *([LONG], [LONG] * 9, ["x"] * 10**5, [*start, LONG], [*start, "1e999999999"]),
        *([*start, f"1/{LONG}"], ["explain", "-k", LONG, "--epsilon", "1"], [*start, f"={LONG}"]),
        *([*start, "1", "-n", "9" * 9], [*start, "1", "--gap", "1e-999999999"]),
        *([*select, "--epsilon", "1", "--grid", LONG], [*select, "--rho", "1e999999999"]),
        [*select, "--epsilon", "1", "--ledger", LONG, "--scope", LONG, "--purpose", LONG],
        ["select", LONG, *select[2:], "--epsilon", "1"],
        ["ledger", "create", "l.db", "--scope", LONG, "--unit", LONG, "--neighbours", LONG],
        ["ledger", "verify", "t.csv", "--head", LONG],
    ):
        run_command(words, b"item,n\na,1\n")


# ----------------------------------------------------------------- the table

WITHIN: dict[str, Case] = {
    **{name: partial(every_number, name) for name in FUNCTIONS},
    "huge scores": huge_scores,
    "sessions": sessions,
    "unknown domains": unknown_domains,
    "equal scores": equal_scores,
    "long labels": long_labels,
    "many parts": many_parts,
    "records": records,
    "logs": logs,
    "candidate files": candidate_files,
}
BEYOND: dict[str, Case] = {
    **{f"{name}, beyond": partial(every_number_beyond, name) for name in FUNCTIONS},
    "scores, beyond": scores_beyond,
    "records, beyond": records_beyond,
    "command lines, beyond": command_lines_beyond,
}


COMPOSED = [pytest.mark.nightly("tests/accounting has lists without end")]
CASES: dict[str, Case] = {**WITHIN, **BEYOND, "tables, beyond": tables_beyond}


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    started = Nursery(__file__)
    yield started
    started.close()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=COMPOSED * (name == "many parts")) for name in WITHIN]
)
def test_within_the_limits(nursery, name):
    """About a second each: sixty times that is a hang."""
    assert nursery.run(name, seconds=60, mebibytes=256) == DONE


@pytest.mark.parametrize("name", BEYOND)
def test_beyond_the_limits(nursery, name):
    assert nursery.run(name, seconds=20, mebibytes=64) == DONE


@pytest.mark.skipif(duckdb is None, reason="DuckDB is not installed")
def test_tables(nursery):
    """DuckDB maps 700 MiB for a table of one row, most of which it never touches."""
    assert nursery.run("tables, beyond", seconds=60, mebibytes=1536) == DONE


def test_every_function_is_called():
    """But for those that only hold what they are given, or have bounds in tests of their own.

    Releases in JSON: tests/releases; quantiles and private runs: tests/mechanisms.
    """
    functions = {name for name, value in PUBLIC.items() if inspect.isfunction(value)}
    others = {"from_json", "json_schema", "quantile", "quantiles", "best_of", "first_above"}
    assert functions - {"compose"} - others <= FUNCTIONS.keys()
