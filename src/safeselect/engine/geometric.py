"""Geometric noise for arrays, and discrete Laplace noise made from it.

Law: P(G = g) = (1 - rho) * rho**g for g >= 0.  Written in base 256, the digits of G are
independent: the digit of weight m = 256**j is d with probability proportional to rho**(d * m), and
the first has no upper limit.  Each digit has one table.

A digit is the number of thresholds T_1 > T_2 > ... above V, uniform on (0, 1), so
P(digit >= d) = T_d.  A threshold is known as an enclosure of two integers in units of 2**-128.
A word is the leading 16 binary digits of V.  Most words decide the digit.  A word that a threshold
crosses is *marked* and gets 112 more digits, which fail to decide with probability 2**-110.  Then
further digits are drawn and the threshold is enclosed more closely until they decide.  So the law
is exact.

This module never sees a score.  Still its work is fixed, because its time would reveal the noise:
marked words are refined at a public capacity, eight standard deviations and 40 above the mean.

No release draws such noise of a rational base, so rates are of base e.

The short functions that these equal: `samplers.geometric` and `discrete_laplace`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from safeselect.engine.arrays import fill
from safeselect.exact.interval import Interval, NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds

Chance = Callable[[int, int], Interval]
"""(d, precision) -> an enclosure of T_d."""

FINE = 128
MARK = (1 << 16) - 1
_MARGIN = 32
_SPARE = 40
_PIECE = 1 << 15


@dataclass(frozen=True, slots=True)
class DigitTable:
    """The law of one digit; arrays are read-only.

    Args:
        values: uint16, by word: the digit, or the mark.
        high, low: uint64, the lower ends of the thresholds, ascending, split in two; each
            enclosure lies within 32 above.
        chance: encloses the thresholds themselves.
        unbounded: whether the digit has no upper limit.  A digit as large as the number of
            thresholds is then incomplete: its excess over that number has the law of the digit
            again, and is drawn afresh.
        marked: how many words are marked.
    """

    values: NDArray[np.uint16]
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    chance: Chance
    unbounded: bool
    marked: int


def build(
    enclosures: list[tuple[int, int]], chance: Chance, *, unbounded: bool, width: int = 16
) -> DigitTable:
    """Build the table of T_1 > T_2 > ..., each enclosed to 2**-123 or better in units of 2**-128.

    Requires: thresholds further apart than 2**-63; the last below 2**-width if unbounded.
        `width` is 16 except in tests.
    Exactness: a word is marked exactly where an enclosure reaches into its interior.
    """
    shift = FINE - width
    lowest = np.array([low >> shift for low, _ in reversed(enclosures)], dtype=np.int64)
    words = np.arange(1 << width, dtype=np.int64)
    # A threshold is above an unmarked word if its lower end is not below the word's end.
    values = len(enclosures) - np.searchsorted(lowest, words, side="right")
    for low, high in enclosures:
        values[low >> shift : -(-high >> shift)] = MARK
    ends = [low for low, _ in reversed(enclosures)]
    table = DigitTable(
        values.astype(np.uint16),
        np.array([end >> 64 for end in ends], dtype=np.uint64),
        np.array([end % 2**64 for end in ends], dtype=np.uint64),
        chance,
        unbounded,
        int(np.count_nonzero(values == MARK)),
    )
    for array in (table.values, table.high, table.low):
        array.flags.writeable = False
    return table


def draw_digits(out: NDArray[np.uint16], table: DigitTable, bits: Bits) -> None:
    """Overwrite all but the last element of `out` with digits; the last takes the padding.

    Bits: 16 an element and 128 for each of the padded marked words.
    Reveals: the calls follow from the size and the table, except for a second round of refinement,
        whose probability is below 2**-46 a call by Bernstein's inequality.
    """
    size = out.size - 1
    words = np.zeros(size + 1, dtype=np.uint16)
    fill(words[:size], bits)
    for start in range(0, size, _PIECE):  # bounds the memory in which `take` widens its indices
        piece = slice(start, start + _PIECE)
        np.take(table.values, words[piece], out=out[piece], mode="wrap")
    mean = -(-size * table.marked // table.values.size)
    capacity = mean + 8 * (isqrt(mean) + 1) + _SPARE
    found = np.flatnonzero(np.equal(out[:size], np.uint16(MARK)))
    for first in range(0, max(found.size, 1), capacity):
        part = found[first : first + capacity]
        index = np.full(capacity, size, dtype=np.int64)
        index[: part.size] = part
        fine = np.empty((2, capacity), dtype=np.uint64)
        fill(fine, bits)
        leading = np.left_shift(np.take(words, index).astype(np.uint64), np.uint64(48))
        np.bitwise_or(leading, np.right_shift(fine[0], np.uint64(16)), out=fine[0])
        digits = _refined(fine, table, bits)
        if table.unbounded:
            _continue(digits, table, bits)
        if int(np.max(digits)) >= MARK:
            raise exhausted()  # noise that has probability below 2**-1000
        np.put(out, index, digits)


def _refined(fine: NDArray[np.uint64], table: DigitTable, bits: Bits) -> NDArray[np.int64]:
    """Count the thresholds above V, for V known to 128 digits (two rows of 64)."""
    below = np.searchsorted(table.high, fine[0], side="right")
    nearest = np.maximum(np.subtract(below, 1), 0)
    # Thresholds lie so far apart that at most one shares the leading 64 digits.
    same = np.equal(np.take(table.high, nearest), fine[0])
    # V minus the lower end, modulo 2**128, in two halves with a borrow.
    distance = np.subtract(fine[1], np.take(table.low, nearest))
    borrow = np.less(fine[1], np.take(table.low, nearest))
    whole = np.subtract(np.subtract(fine[0], np.take(table.high, nearest)), borrow)
    above = np.logical_and(same, borrow)
    digits: NDArray[np.int64] = np.subtract(len(table.high), np.subtract(below, above))
    close = np.logical_and(np.equal(whole, 0), np.less(distance, np.uint64(_MARGIN)))
    for i in np.flatnonzero(close).tolist():  # probability below 2**-110 a candidate
        v = int(fine[0, i]) << 64 | int(fine[1, i])
        digits[i] = _decided(v, len(table.high) - int(nearest[i]), table.chance, bits)
    return digits


def _decided(v: int, d: int, chance: Chance, bits: Bits) -> int:
    """Decide by closer enclosures whether V, with leading 128 digits v, has digit d or d - 1."""
    size = FINE
    for _ in rounds(64):
        low, high = chance(d, size + 64).scaled(size)
        if low > v:
            return d
        if high <= v:
            return d - 1
        v, size = v << 64 | bits.take(64), size + 64
    raise exhausted()


def _continue(digits: NDArray[np.int64], table: DigitTable, bits: Bits) -> None:
    """Complete the incomplete digits: add the excess over the number of thresholds.

    Reveals: one round of public size; another with probability 2**-90 a candidate.
    """
    pending = np.flatnonzero(np.equal(digits, len(table.high)))
    for _ in rounds(64):
        fine = np.empty((2, _SPARE), dtype=np.uint64)
        fill(fine, bits)
        more = _refined(fine, table, bits)
        now, later = pending[:_SPARE], pending[_SPARE:]
        digits[now] += more[: now.size]
        pending = np.concatenate((now[more[: now.size] == len(table.high)], later))
        if not pending.size:
            return
    raise exhausted()


_BASE_BITS = 8
_BASE = 1 << _BASE_BITS
_CHUNK = 1 << 17
_GUARD = 320  # digits of the powers: 256 roundings, and 40 digits lost in 1 - rho**256
_ONE = 1 << _GUARD
_ENOUGH = 1 << (_GUARD - 48)  # thresholds go down to 2**-48


def geometric(n: int, noise_rate: NoiseRate, bits: Bits) -> NDArray[np.int64]:
    """Draw n independent geometric numbers, int64, in grid steps: P(G >= g) = rho**g exactly.

    Exactness: see `digits`.
    Bits: 16 for each of 1 to 6 digits, and 128 for one word in 100 or fewer.
    Reveals: the work follows from n and the rate, except with probability 2**-40.
    """
    result = np.empty(n, dtype=np.int64)
    first, *others = digit_tables(noise_rate)
    for start in range(0, n, _CHUNK):
        part = result[start : start + _CHUNK]
        digits = np.empty(part.size + 1, dtype=np.uint16)
        draw_digits(digits, first, bits)
        np.copyto(part, digits[:-1])
        for table in others:
            draw_digits(digits, table, bits)
            np.left_shift(part, _BASE_BITS, out=part)
            np.add(part, digits[:-1], out=part)
    return result


def discrete_laplace(n: int, noise_rate: NoiseRate, bits: Bits) -> NDArray[np.int64]:
    """Draw n independent discrete Laplace numbers, int64: P(X = x) proportional to rho**|x|.

    Method: X = G with probability 1 / (1 + rho), else -1 - G, G geometric: no rejection.
    Exactness, bits, reveals: those of `geometric` with one digit more.
    """
    result = geometric(n, noise_rate, bits)
    table = _sign_table(noise_rate)
    for start in range(0, n, _CHUNK):
        part = result[start : start + _CHUNK]
        signs = np.empty(part.size + 1, dtype=np.uint16)
        draw_digits(signs, table, bits)
        # -1 - G is the complement of all bits of G: XOR with -1, which is 1 negated.
        np.negative(signs, out=signs)
        np.bitwise_xor(part, signs[:-1].view(np.int16), out=part)
    return result


@lru_cache(maxsize=16)
def digit_tables(noise_rate: NoiseRate) -> tuple[DigitTable, ...]:
    """Return the tables of the digits, the first digit first: at most 6, of about 130 kB each."""
    weights = [1]
    while noise_rate.nats(64).fractions()[0] * weights[0] * 32 < 1:
        weights.insert(0, weights[0] * _BASE)
    first = build(
        _unbounded(noise_rate, weights[0]), partial(_tail, noise_rate, weights[0]), unbounded=True
    )
    rest = [
        build(_bounded(noise_rate, m), partial(_bounded_tail, noise_rate, m), unbounded=False)
        for m in weights[1:]
    ]
    return (first, *rest)


@lru_cache(maxsize=16)
def _sign_table(noise_rate: NoiseRate) -> DigitTable:
    """P(digit = 1) = rho / (1 + rho)."""
    low, high = _power(noise_rate, 1)
    bounds = (low << FINE) // (_ONE + low), -(-(high << FINE) // (_ONE + high))
    return build([bounds], partial(_sign_chance, noise_rate), unbounded=False)


def _power(noise_rate: NoiseRate, m: int) -> tuple[int, int]:
    """Enclose 2**320 * rho**m."""
    low, high = noise_rate.power(m, 0, _GUARD + 32).scaled(_GUARD)
    return max(low, 0), min(high, _ONE)


def _powers(noise_rate: NoiseRate, m: int, last: int) -> list[tuple[int, int]]:
    """Enclose 2**320 * rho**(d * m) for d = 1 .. last, or until it is below 2**-48."""
    low, high = _power(noise_rate, m)
    result = [(low, high)]
    while len(result) < last and result[-1][1] > _ENOUGH:
        below, above = result[-1]
        result.append((below * low >> _GUARD, -(-above * high >> _GUARD)))
    return result


def _unbounded(noise_rate: NoiseRate, m: int) -> list[tuple[int, int]]:
    powers = _powers(noise_rate, m, 1 << 15)
    drop = _GUARD - FINE
    return [(low >> drop, -(-high >> drop)) for low, high in powers]


def _bounded(noise_rate: NoiseRate, m: int) -> list[tuple[int, int]]:
    """T_d = (rho**(d m) - rho**(256 m)) / (1 - rho**(256 m)) for d = 1 .. 255."""
    *powers, (least, most) = _powers(noise_rate, m, _BASE)
    return [
        (((low - most) << FINE) // (_ONE - least), -((least - high << FINE) // (_ONE - most)))
        for low, high in powers
    ]


def _tail(noise_rate: NoiseRate, m: int, d: int, precision: int) -> Interval:
    return noise_rate.power(d * m, 0, precision)


def _bounded_tail(noise_rate: NoiseRate, m: int, d: int, precision: int) -> Interval:
    # 1 - rho**(256 m) may be as small as 2**-40.
    end = noise_rate.power(_BASE * m, 0, precision + 64)
    return (noise_rate.power(d * m, 0, precision + 64) - end) / (1 - end)


def _sign_chance(noise_rate: NoiseRate, d: int, precision: int) -> Interval:
    rho = noise_rate.power(1, 0, precision)
    return rho / (1 + rho)
