"""The reader of float columns against long division in Python's integers.

The oracle knows nothing of mantissas: it divides, compares twice the remainder with the divisor,
and subtracts.
"""

from __future__ import annotations

import ctypes
import math
import platform
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from safeselect.scores import floats, numbers
from safeselect.scores.candidates import read_candidates
from safeselect.scores.floats import is_fast
from safeselect.scores.reading import Reading

pytestmark = pytest.mark.claim("C3")

FAR = 2**64 - 1
LARGEST = math.nextafter(math.inf, 0)
SMALLEST = math.nextafter(0, 1)
LIMIT = 2**32
GRIDS = [
    *(Fraction(2) ** places for places in (-31, -30, -20, -10, -1, 0, 1, 5, 30, 31)),
    *(Fraction(1, below) for below in (3, 5, 10, 1000, 1023, 1025, 2047, 48_842, 10**9, LIMIT - 1)),
    *(Fraction(above) for above in (3, 7, 1000, 2047, 2049, 4095, 10**9, LIMIT - 1)),
    Fraction(LIMIT - 1, LIMIT - 2),
    Fraction(LIMIT - 2, LIMIT - 1),
    Fraction(2**31, LIMIT - 1),
    Fraction(LIMIT - 1, 2**31),
    Fraction(2, 3),
    Fraction(3, 2),
    Fraction(7, 4),
    Fraction(5, 8),
    Fraction(355, 113),
]

Array = tuple[list[float], Fraction, bool, list[int]]
Reader = Callable[..., np.ndarray]
Writer = Callable[..., None]


def nearest(value: float, grid: Fraction) -> int:
    """The multiple of the grid nearest to a float, halves up, by long division."""
    above, below = value.as_integer_ratio()
    divisor = below * grid.numerator
    whole, rest = divmod(above * grid.denominator, divisor)
    return whole + (2 * rest >= divisor)


def oracle(values: list[float], grid: Fraction, minimize: bool, extra: list[int]) -> list[int]:
    whole = [*(nearest(value, grid) for value in values), *extra]
    if minimize:
        best = min(whole)
        return [FAR - min(steps - best, FAR) for steps in whole]
    best = max(whole)
    return [FAR - min(best - steps, FAR) for steps in whole]


def as_float(number: Fraction | int) -> float:
    try:
        return float(number)
    except OverflowError:
        return LARGEST if number > 0 else -LARGEST


def beside(value: float, random: Random) -> float:
    """The float itself or one of the next few."""
    towards = random.choice([math.inf, -math.inf])
    for _ in range(random.choice([0, 0, 1, 1, 2, 3])):
        value = math.nextafter(value, towards)
    return value if math.isfinite(value) else LARGEST * math.copysign(1, value)


def steps_of_any_size(random: Random) -> int:
    return random.choice([-1, 1]) * random.getrandbits(random.randint(0, 80))


def half_steps(grid: Fraction, random: Random) -> list[float]:
    """Around numbers that lie in the middle between two steps, not far from one another."""
    middle, reach = steps_of_any_size(random), random.choice([2, 100, 2**32, 2**62])
    found = []
    for _ in range(random.randint(1, 6)):
        place = middle + random.randint(-reach, reach) + Fraction(1, 2)
        found.append(beside(as_float(place * grid), random))
    return found


def around_zero(grid: Fraction, random: Random) -> list[float]:
    """Where halves up and halves away from zero differ, and where floats are finest."""
    half = as_float(grid / 2)
    places = [half, -half, 2 * half, -2 * half, 3 * half, -3 * half, 0.0, -0.0]
    tiny = [SMALLEST, -SMALLEST, 2.0**-1022, -(2.0**-1022), half * 2.0**-40, -half * 2.0**-60]
    return [
        *(beside(place, random) for place in random.sample(places, 3)),
        *random.sample(tiny, random.randint(0, 3)),
    ]


def far_apart(grid: Fraction, random: Random) -> list[float]:
    """Differences of about 2**64 steps, where what is behind is cut."""
    first = steps_of_any_size(random) * grid
    found = [as_float(first)]
    for _ in range(random.randint(1, 4)):
        distance = random.choice([2**64, 2**63, 2**65]) + random.randint(-3, 3) * 2 ** (
            random.choice([0, 0, 5, 11, 12, 13, 20])
        )
        side = random.choice([-1, 1])
        place = Fraction(found[0]) + (side * distance + Fraction(random.randint(0, 2), 2)) * grid
        found.append(beside(as_float(place), random))
    return found


def any_bits(grid: Fraction, random: Random) -> list[float]:
    words = np.array([random.getrandbits(64) for _ in range(random.randint(1, 6))], dtype=np.uint64)
    return [value for value in words.view(np.float64).tolist() if math.isfinite(value)] or [1.0]


def every_exponent(grid: Fraction, random: Random) -> list[float]:
    """Numbers of similar size, of any exponent at all."""
    exponent = random.randint(-1074, 971)
    mantissas = (random.getrandbits(53) | 2**52 for _ in range(random.randint(1, 5)))
    signs = random.choice([(1,), (-1,), (1, -1)])
    found = [math.ldexp(random.choice(signs) * each, exponent) for each in mantissas]
    return [value if math.isfinite(value) else LARGEST for value in found]


def counts(grid: Fraction, random: Random) -> list[float]:
    """What programs compute: k/n, sums of tenths, and products with the grid."""
    n = random.randint(1, 10**6)
    return [
        random.choice([k / n, k * 0.1, k * float(grid), k * (float(grid) / 2)])
        for k in (random.randint(-n, n) for _ in range(random.randint(1, 6)))
    ]


KINDS = (half_steps, around_zero, far_apart, any_bits, every_exponent, counts)
EXTREME = [LARGEST, -LARGEST, SMALLEST, -SMALLEST, 0.0, -0.0]


def arrays(seed: int, count: int) -> Iterator[Array]:
    random = Random(seed)
    for _ in range(count):
        grid = random.choice(GRIDS)
        if random.random() < 0.3:
            grid = Fraction(random.randint(1, LIMIT - 1), random.randint(1, LIMIT - 1))
            if not is_fast(grid):
                continue
        values = random.choice(KINDS)(grid, random)
        if random.random() < 0.2:
            values += random.sample(EXTREME, 2)
        extra: list[int] = []
        if random.random() < 0.4:
            near = nearest(random.choice(values), grid)
            away = random.choice([0, 1, 2**63, FAR - 1, FAR, 2**64, 2**64 + 1, 10**400])
            extra = [random.choice([0, near, near + away, near - away])]
        random.shuffle(values)
        yield values, grid, random.random() < 0.5, extra


def read_by(write: Writer) -> Reader:
    """A function that writes steps, as one that returns them."""

    def read(values: np.ndarray, grid: Fraction, *, minimize: bool, extra: list[int]) -> np.ndarray:
        out = np.empty(len(values) + len(extra), dtype=np.uint64)
        write(values, Reading(grid, False, Fraction(0)), minimize, extra, out)
        return out

    return read


float_steps = read_by(numbers.write_steps)


def misread(reader: Reader, seed: int, count: int) -> Array | None:
    """The first array that a reader and the oracle read differently."""
    for values, grid, minimize, extra in arrays(seed, count):
        read = reader(np.array(values), grid, minimize=minimize, extra=extra)
        if read.tolist() != oracle(values, grid, minimize, extra):
            return values, grid, minimize, extra
    return None


@pytest.mark.parametrize("seed", range(4))
def test_any_array_on_any_grid_is_read_as_long_division_reads_it(seed):
    assert misread(float_steps, seed, 10_000) is None


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_column_is_the_same_in_blocks_of_any_size(monkeypatch, size):
    monkeypatch.setattr(floats, "_BLOCK", size)
    assert misread(float_steps, 100 + size, 1500) is None


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("grid", [Fraction(1, 1024), Fraction(1, 1000)])
@pytest.mark.parametrize("minimize", [False, True])
def test_columns_about_as_long_as_a_block(grid, more, minimize):
    """The last and the first scores of a block are those that matter."""
    n = floats._BLOCK + more
    values = np.random.default_rng(5).integers(-(2**40), 2**40, n) / 1024.0
    read = float_steps(values, grid, minimize=minimize, extra=[7])
    best = oracle([float(values.min() if minimize else values.max())], grid, minimize, [7])
    assert best[0] == FAR
    places = [0, 1, 2**16, n - 2, n - 1, int(values.argmax()), int(values.argmin())]
    first = float(values.min() if minimize else values.max())
    expected = oracle([*values[places].tolist(), first], grid, minimize, [7])
    assert [*read[places].tolist(), FAR, int(read[-1])] == expected
    assert len(read) == n + 1


def other_rounding(mode: int) -> int:
    """Tell the processor how to round, as some libraries do; not 0 if it cannot be told."""
    try:
        return int(ctypes.CDLL(None).fesetround(mode))
    except (AttributeError, OSError, TypeError):
        return -1


# FE_DOWNWARD, FE_UPWARD and FE_TOWARDZERO of x86-64; 0 is to the nearest everywhere.
@pytest.mark.skipif(platform.machine() != "x86_64", reason="other numbers for the modes")
@pytest.mark.parametrize("mode", [0x400, 0x800, 0xC00])
@pytest.mark.parametrize("grid", ["1/1024", "1/1000", "3/7"])
def test_scores_are_read_alike_however_the_processor_rounds(mode, grid):
    reading = Reading.read(grid=grid, on_grid=False, score_error=None)
    values = np.concatenate([np.arange(-500, 500) / 1000 + 0.0005, np.arange(500) * 1e9 / 7])
    usual = read_candidates(values).scores_on_grid(reading).tolist()
    if other_rounding(mode):
        pytest.skip("there is no fesetround")
    try:
        fast = is_fast(reading.step)
        read = read_candidates(values).scores_on_grid(reading).tolist()
    finally:
        other_rounding(0)
    assert not fast
    assert read == usual
    assert is_fast(reading.step)
