"""Integer kernels of the array engine, proved by z3 for all 64-bit words.

The shipped functions run on symbolic words (`tests/support/symbolic.py`); beside each claim stand
faults of the kind that it excludes, planted into the function's source, and each must be refuted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import proved
import pytest
import z3
from symbolic import PRODUCT, Lane, Words, broken, holds, symbolic, table

pytestmark = pytest.mark.claim("C1")

POINTS_BITS, OCTAVES = 6, 32


def word(name: str, bits: int = 64) -> Any:
    return z3.BitVec(name, bits)


# ------------------------------------------------------------------------------ fine table
def zeros_of_16(value: Any) -> Any:
    """Leading zeros of 16 bits, from the definition; 16 for zero."""
    result = z3.BitVecVal(16, 8)
    for place in range(16):
        result = z3.If(z3.Extract(place, place, value) == 1, z3.BitVecVal(15 - place, 8), result)
    return result


def fine_claim(kernel: Any, side: int, zeros: int) -> Any:
    """The place in the table, and the line from there, are those of the definition.

    For all V on a side of 1/2 for which U = 0.0..01 f begins with so many zeros: its digits are
    those of V where V < 1/2, else their complement.
    """
    known = z3.BitVecVal(1, min(zeros + 1, 64)) if zeros < 64 else z3.BitVecVal(0, 64)
    f = word("f", max(63 - zeros, 1))
    u = z3.Concat(known, f) if zeros < 63 else known
    asked: list[Any] = []
    slopes = z3.Function("slopes", z3.BitVecSort(64), z3.BitVecSort(64))
    values = z3.Function("values", z3.BitVecSort(64), z3.BitVecSort(64))

    def take(which: Any, where: Lane) -> Lane:
        if which == "zeros":
            return Lane(zeros_of_16(z3.Extract(15, 0, where.value)))
        asked.append(z3.simplify(where.value))
        return Lane((slopes if which == "slopes" else values)(asked[-1]), signed=True)

    out = Lane(word("junk"), signed=True)
    tables = table(zeros="zeros", slopes="slopes", values="values")
    symbolic(kernel, Words(), take=take)(tables, Lane(~u if side else u), out)

    half = side * OCTAVES << POINTS_BITS
    if zeros > 31:  # octave 0, whose values say that nothing is known
        return z3.And([z3.ULT(index - half, 1 << POINTS_BITS) for index in asked])
    digits = z3.Concat(f, z3.BitVecVal(0, zeros + 1))
    point, between = z3.LShR(digits, 64 - POINTS_BITS), z3.LShR(digits << POINTS_BITS, 32)
    index = half + (zeros << POINTS_BITS) + point
    line = (PRODUCT(slopes(index), between) >> 32) + values(index)
    return out.value == line


FOLDED = [(side, zeros) for side in (0, 1) for zeros in range(1, 65)]


def fine_holds(kernel: Any) -> bool:
    return all(holds(fine_claim(kernel, *each)) for each in FOLDED)


def test_the_tables_are_what_the_proof_takes_them_for() -> None:
    """Leading zeros of all 16-bit words; and slopes so small that no product leaves 64 bits."""
    real = proved.FINE.noise_table(proved.EXPONENTIAL)
    assert real.zeros.tolist() == [16 - len(f"{w:b}") if w else 16 for w in range(1 << 16)]
    assert int(np.max(np.abs(real.slopes))) < 1 << 27


def test_the_fine_table_is_read_at_the_right_place() -> None:
    assert fine_holds(proved.FINE.read_noise)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("np.add(near, word(1), out=near)", "np.add(near, word(0), out=near)"),
        ("word(1 << 48)", "word((1 << 48) + 1)"),
        ("word(_OCTAVES << _POINTS_BITS)", "word(_OCTAVES << _POINTS_BITS - 1)"),
        ("word(64 - _POINTS_BITS)", "word(63 - _POINTS_BITS)"),
        ("np.right_shift(words, word(32), out=words)", "pass"),
    ],
)
def test_a_fault_in_reading_the_fine_table_is_refuted(old: str, new: str) -> None:
    assert not fine_holds(broken(proved.FINE.read_noise, old, new))


# ------------------------------------------------------------------- scores onto the lattice
def test_integers_are_mapped_onto_the_lattice_in_order() -> None:
    """XOR with the mask keeps every difference modulo 2**64, or turns it round, and the order."""
    a, b = word("a"), word("b")
    for (kind, minimize), mask in proved.FLIPPED.items():
        x, y = (each ^ z3.BitVecVal(int(mask), 64) for each in (a, b))
        less = a < b if kind == "i" else z3.ULT(a, b)
        if minimize:
            x, y = y, x
        assert holds(z3.And(less == z3.ULT(x, y), y - x == b - a)), (kind, minimize)


@pytest.mark.parametrize("fault", [1, -1, 1 << 62])
def test_another_mask_is_refuted(fault: int) -> None:
    a, b = word("a"), word("b")
    for (kind, minimize), mask in proved.FLIPPED.items():
        x, y = (each ^ z3.BitVecVal(int(mask) + fault, 64) for each in (a, b))
        less = a < b if kind == "i" else z3.ULT(a, b)
        if minimize:
            x, y = y, x
        assert not holds(less == z3.ULT(x, y)), (kind, minimize)


# ---------------------------------------------------------------------------- cut distances
def near_claim(kernel: Any) -> Any:
    """A distance from `low` is that of the score moved into low .. high, and never wraps."""
    low, high = word("low"), word("high")

    def distance(score: Any) -> Any:
        out, near = Lane(word("junk")), table(least=Lane(low), most=Lane(high), shift=0)
        symbolic(kernel, words := Words(), clip=words.clip)(near, Lane(score), out)
        return out.value

    score = word("score")
    moved = z3.If(z3.ULT(score, low), low, z3.If(z3.ULT(high, score), high, score))
    within = z3.And(z3.ULE(low, moved), z3.ULE(moved, high))
    return z3.Implies(z3.ULE(low, high), z3.And(distance(score) == moved - low, within))


def test_scores_far_from_the_best_are_cut_without_wrapping() -> None:
    assert holds(near_claim(proved.CONTENDERS._Near.distances))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.least, self.most, out=out", "scores, self.most, out=out"),
        ("self.least, self.most, out=out", "self.least, scores, out=out"),
        ("np.subtract(out, self.least, out=out)", "pass"),
    ],
)
def test_a_fault_in_cutting_is_refuted(old: str, new: str) -> None:
    assert not holds(near_claim(broken(proved.CONTENDERS._Near.distances, old, new)))


# ------------------------------------------------------------------------------------ digits
def refined_claim(kernel: Any) -> Any:
    """With one threshold T: the digit is 1 exactly where V < T, in 128 digits, and V is taken for
    close exactly where it lies less than 32 above T.

    For T in the last 32 units a V in the first 31 counts as close, too: that costs digits, and
    changes nothing, because what is close is settled exactly.
    """
    v, t = (word("v1"), word("v0")), (word("t1"), word("t0"))
    close: list[Any] = []

    def searchsorted(high: Lane, x: Lane, side: str) -> Lane:
        assert side == "right"
        return Lane(
            z3.If(z3.ULE(high.value, x.value), z3.BitVecVal(1, 64), z3.BitVecVal(0, 64)), True
        )

    def flatnonzero(found: Lane) -> Any:
        close.append(found.value)
        return np.empty(0, dtype=np.int64)

    words = Words(
        lambda which, where: which,  # of one threshold there is only the first
        searchsorted=searchsorted,
        flatnonzero=flatnonzero,
        maximum=lambda a, b: Lane(z3.If(a.value < b, z3.BitVecVal(b, 64), a.value), True),
    )

    class High(Lane):
        def __len__(self) -> int:
            return 1

    thresholds = table(high=High(t[0]), low=Lane(t[1]), chance=None)
    digit = symbolic(kernel, words)((Lane(v[0]), Lane(v[1])), thresholds, None)
    value, limit = z3.Concat(*v), z3.Concat(*t)
    beyond = z3.And(z3.ULE(limit, value), z3.ULT(value - limit, 32))
    return z3.And(
        digit.value == z3.If(z3.ULT(value, limit), z3.BitVecVal(1, 64), z3.BitVecVal(0, 64)),
        z3.Or(close[0] == 0, close[0] == 1),
        z3.Implies(beyond, close[0] == 1),
        z3.Implies(z3.ULE(limit, z3.BitVecVal(2**128 - 32, 128)), (close[0] == 1) == beyond),
    )


def test_a_digit_is_compared_with_its_threshold_in_full() -> None:
    assert holds(refined_claim(proved.DIGITS._refined))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("np.less(fine[1], np.take(table.low", "np.less(fine[1], np.take(table.high"),
        ("nearest)), borrow)", "nearest)), 0)"),
        (
            "above = np.logical_and(same, borrow)",
            "above = np.logical_and(same, np.equal(fine[1], fine[1]))",
        ),
        ("np.uint64(_MARGIN)", "np.uint64(_MARGIN + 1)"),
    ],
)
def test_a_fault_in_comparing_is_refuted(old: str, new: str) -> None:
    assert not holds(refined_claim(broken(proved.DIGITS._refined, old, new)))
