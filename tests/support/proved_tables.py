"""Answers of the proved programs, for every case of small width: `tests/vectors/proved/*.txt`.

The programs of `proofs/` are extracted to OCaml and answer the cases that are listed here.  Each
line of a table is an input, then the answers in the order of `CASES`.  The first line is a hash of
the sources the answers come from.  Written anew by

    python tests/support/proved_tables.py proofs/build/answer

Only the standard library is needed, so that `make proofs` can compare the tables without the rest.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from itertools import permutations, product
from pathlib import Path

from many import STYLES, peelings, rankings

ROOT = Path(__file__).parents[2]
SOURCES = ["Combine.v", "Decide.v", "Reading.v", "Luce.v", "Ledger.v", "Budget.v", "Session.v"]
SOURCES += ["Calibrate.v", "Ceiling.v", "Keep.v", "Extract.v", "answer.ml"]
TABLES = ROOT / "tests" / "vectors" / "proved"

Line = tuple[str, list[str]]
"""What a line begins with, and its cases as the program reads them."""

# Noisy scores that scores 0 .. 2 and floors of 3 bits add up to, or 0 and 1 and floors of 2 bits.
COMBINED = {1: 10, 2: 10, 3: 10, 4: 5}
# (lows, widths): enclosures low .. low + width.
ENCLOSED = {1: (4, 4), 2: (4, 4), 3: (4, 3), 4: (2, 2)}
CEILINGS = [None, 1, 3]
UNITS = [None, (1, 1, 1), (2, 3, 4), (1, 1, 2)]


def combine_cases() -> Iterator[Line]:
    """For all noisy scores: all rankings in the order of `permutations`; all places and gaps."""
    for n, count in COMBINED.items():
        for noisy in product(range(count), repeat=n):
            y = " ".join(map(str, noisy))
            ranks = (" ".join(map(str, ranks)) for ranks in permutations(range(n)))
            yield "".join(map(str, noisy)), [f"combine {n} 1 {y} / {s}" for s in ranks]


def enclosures(n: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """All small enclosures of n numbers."""
    lows, widths = ENCLOSED[n]
    each = [(low, low + width) for low in range(lows) for width in range(widths)]
    return product(each, repeat=n)


def decide_modes(n: int) -> list[tuple[int, tuple[int, int, int] | None, int | None]]:
    """(k, unit, ceiling); with gaps there is one candidate more than k."""
    return [
        (k, unit, ceiling)
        for unit in UNITS
        for k in range(1, min(n, 3) + (unit is None))
        for ceiling in CEILINGS
        if k + (unit is not None) <= n
    ]


def decide_cases() -> Iterator[Line]:
    """For all enclosures: all numbers of places, units of gaps and ceilings."""
    for n in ENCLOSED:
        for ends in enclosures(n):
            numbers, cases = " ".join(f"{low} {high}" for low, high in ends), []
            for k, unit, ceiling in decide_modes(n):
                u = "-" if unit is None else " ".join(map(str, unit))
                cases.append(f"decide {k} {u} {'-' if ceiling is None else ceiling} {numbers}")
            yield ",".join(f"{low}{high}" for low, high in ends), cases


def compare_inputs() -> Iterator[tuple[int, int]]:
    """The margins and cells of one line of the table of comparisons."""
    return product(range(4), range(1, 5))


def compare_cases() -> Iterator[Line]:
    """For all enclosures of a difference: all margins and cells."""
    for low, width in product(range(-6, 10), range(6)):
        high = low + width
        cases = [f"compare {low} {high} {least} {cell}" for least, cell in compare_inputs()]
        yield f"{low},{high}", cases


SESSIONS = (1, 2, 3)  # answers above that a session has
THRESHOLDS = range(6)  # with its noise
VALUES, NOISES = range(3), range(4)


def session_cases() -> Iterator[Line]:
    """For all numbers of answers, thresholds and three values: all noises of the three."""
    for k, t in product(SESSIONS, THRESHOLDS):
        for values in product(VALUES, repeat=3):
            cases = []
            for noises in product(NOISES, repeat=3):
                pairs = " ".join(f"{q} {y}" for q, y in zip(values, noises, strict=True))
                cases.append(f"session {k} {t} {pairs}")
            yield f"{k},{t},{''.join(map(str, values))}", cases


# Steps of 1 .. 12 units, and numbers of so many units; errors and changes for each step up to 8.
NUMBERS = range(-40, 41)
MOVES = range(1, 13)
FACTORS = (2, 3)
CAPS = range(1, 10)


def nearest_cases() -> Iterator[Line]:
    """For all steps: all numbers."""
    for h in range(1, 13):
        yield str(h), [f"nearest {h} {x}" for x in NUMBERS]


def ranges_cases() -> Iterator[Line]:
    """For all steps and errors: all changes."""
    for h, e in product(range(1, 9), range(8)):
        yield f"{h},{e}", [f"ranges {h} {e} {d}" for d in MOVES]


def lists(n: int) -> list[tuple[int, ...]]:
    """All ordered lists of up to three of n."""
    return [o for k in range(1, min(n, 3) + 1) for o in permutations(range(n), k)]


def luce_cases() -> Iterator[Line]:
    """For all factors and scores below 3 of up to four candidates: all ordered lists."""
    for w, n in product(FACTORS, (1, 2, 3, 4)):
        for scores in product(range(3), repeat=n):
            q = " ".join(map(str, scores))
            told = (" ".join(map(str, o)) for o in lists(n))
            yield f"{w}:{''.join(map(str, scores))}", [f"luce {w} {q} / {o}" for o in told]


def spend_cases() -> Iterator[Line]:
    """For all caps: all lists of four prices."""
    for cap in CAPS:
        every = product(range(1, 6), repeat=4)
        yield str(cap), [f"spend {cap} {' '.join(map(str, prices))}" for prices in every]


# Amounts of one charge: epsilon, not pure, own delta, two moments; and caps, without "not pure".
AMOUNTS = [(2, 0, 0, 1, 2), (4, 0, 0, 2, 5), (0, 1, 0, 1, 1), (0, 0, 1, 0, 0), (1, 0, 1, 1, 1)]
WITHIN = list(product((3, 6), (0, 2), (2, 4), (3, 6)))


def budget_cases() -> Iterator[Line]:
    """For all caps: all lists of four charges."""
    for caps in WITHIN:
        cases = []
        for prices in product(AMOUNTS, repeat=4):
            listed = " ".join(" ".join(map(str, price)) for price in prices)
            cases.append(f"budget 2 {' '.join(map(str, caps))} / {listed}")
        yield "".join(map(str, caps)), cases


# Totals, shares of the threshold, and ranges in steps, which need not be whole.
TOTALS = [(1, 1), (1, 2), (3, 7), (10, 1)]
SHARES = [(1, 2), (1, 3), (5, 6)]
RANGES = [(1, 1), (2, 1), (5, 1), (3, 2), (7, 3)]
READ = [(h, e, d) for h in (1, 2, 3) for e in (0, 1, 2) for d in (1, 2, 5)]


def one_shot_inputs() -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The totals and ranges of one line."""
    return product(TOTALS, RANGES)


def one_shot_cases() -> Iterator[Line]:
    """Noise drawn once and k times as wide, or k draws, in some rows: all totals and ranges."""
    for wide, rows, k in product((0, 1), (1, 2, 3), range(1, 7)):
        cases = []
        for (above, below), (over, under) in one_shot_inputs():
            cases.append(f"one_shot {wide} {rows} {k} {above} {below} {over} {under}")
        yield f"{wide},{rows},{k}", cases


def sparse_vector_inputs() -> Iterator[tuple[tuple[int, int], tuple[int, int], tuple[int, ...]]]:
    """The totals, the shares, and the steps, errors and changes of one line."""
    return product(TOTALS, SHARES, READ)


def sparse_vector_cases() -> Iterator[Line]:
    """Values that move either way or one way, and numbers of answers: all other parameters."""
    for monotonic, k in product((0, 1), range(1, 6)):
        cases = []
        for total, share, read_as in sparse_vector_inputs():
            numbers = " ".join(map(str, (*total, *share, *read_as)))
            cases.append(f"sparse_vector {monotonic} {k} {numbers}")
        yield f"{monotonic},{k}", cases


def contenders_cases() -> Iterator[Line]:
    """Of many candidates the few that are looked at, and the largest key of the rest."""
    for style in STYLES:
        yield from ((each.name, [each.asked("contenders")]) for each in rankings(style))


def ranked_cases() -> Iterator[Line]:
    """What is decided for many candidates."""
    for style in STYLES:
        yield from ((each.name, [each.asked("ranked")]) for each in rankings(style))


def peeled_cases() -> Iterator[Line]:
    """Three rounds on many candidates."""
    for style in STYLES:
        yield from ((each.name, [each.asked("peeled")]) for each in peelings(style))


KEEP_BITS, KEEP_DELTAS = (5, 8), (1, 2, 3, 7, 20)


def keep_cases() -> Iterator[Line]:
    """For tables of few digits and factors from 1 to 8: all deltas."""
    for bits in KEEP_BITS:
        for growth in range(1 << bits, 8 << bits, 1 << bits - 2):
            asked = [f"keep {1 << bits} {growth} {delta}" for delta in KEEP_DELTAS]
            yield f"{bits},{growth}", asked


CASES = {
    "combine": combine_cases,
    "decide": decide_cases,
    "compare": compare_cases,
    "session": session_cases,
    "nearest": nearest_cases,
    "ranges": ranges_cases,
    "luce": luce_cases,
    "spend": spend_cases,
    "budget": budget_cases,
    "one_shot": one_shot_cases,
    "sparse_vector": sparse_vector_cases,
    "contenders": contenders_cases,
    "ranked": ranked_cases,
    "peeled": peeled_cases,
    "keep": keep_cases,
}


def digest() -> str:
    """The hash of the sources that the answers come from."""
    parts = [(ROOT / "proofs" / name).read_bytes() for name in SOURCES]
    return sha256(b"\0".join(parts)).hexdigest()


def short(answer: str) -> str:
    """An answer as it stands in a table: numbers of one digit need no spaces."""
    return answer.replace(" ", "")


def written(name: str, program: Path) -> str:
    """A table, by running the extracted program."""
    lines = list(CASES[name]())
    asked = "\n".join(case for _, cases in lines for case in cases)
    done = subprocess.run([program], input=asked, capture_output=True, text=True, check=True)
    answers = iter(done.stdout.splitlines())
    rows = (" ".join([key, *(short(next(answers)) for _ in cases)]) for key, cases in lines)
    return "\n".join([digest(), *rows]) + "\n"


def read(name: str) -> tuple[str, list[list[str]]]:
    """The hash that a table names, and its rows: an input and the answers."""
    first, *rows = (TABLES / f"{name}.txt").read_text().splitlines()
    return first, [row.split(" ") for row in rows]


def main(program: Path, *, write: bool) -> int:
    """Write the tables, or say which differ."""
    wrong = []
    TABLES.mkdir(exist_ok=True)
    for name in CASES:
        path, text = TABLES / f"{name}.txt", written(name, program)
        if write:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.append(name)
    if wrong:
        sys.stderr.write(f"tables of other programs than those proved: {', '.join(wrong)}\n")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), write=sys.argv[2:] != ["--check"]))
