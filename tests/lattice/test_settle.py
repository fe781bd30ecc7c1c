"""The rare path, driven by scripted digits through every way of being undecided."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from lattice_oracle import Tape

from safeselect.lattice import rank
from safeselect.lattice.draws import Draws
from safeselect.lattice.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law, enclose
from safeselect.lattice.plan import Plan, plan
from safeselect.lattice.ranking import Ranking
from safeselect.lattice.thresholds import table
from safeselect.samplers.decay import Decay

LAWS = [EXPONENTIAL, LAPLACE, GUMBEL]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
HALF = 1 << 63


class Script:
    """Hands out scripted integers for `take`, then complains."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = list(numbers)

    def take(self, count: int) -> int:
        number = self._numbers.pop(0)
        assert number < 1 << count
        return number

    def fill(self, buffer: memoryview) -> None:
        raise AssertionError("not asked for")

    def exhausted(self) -> bool:
        return not self._numbers


def two(law: Law, slots: list[int], *, gaps: bool = False) -> tuple[Plan, Draws]:
    public = plan(law, 1, Decay(Fraction(1), Fraction(1, 2)), gaps)
    return public, Draws.without_words(slots, public.slot_bits)


def run(steps: list[int], draws: Draws, public: Plan, script: Script) -> Ranking:
    assert rank.combine(np.array(steps, dtype=np.uint64), draws, public) is None
    result = rank.settle(np.array(steps, dtype=np.uint64), draws, public, script)
    assert script.exhausted()
    return result


@each_law
def test_a_tie_is_broken_by_further_digits(law: Law) -> None:
    public, draws = two(law, [HALF + 7, HALF + 7])
    # The smaller V has the larger noise.
    assert run([5, 5], draws, public, Script(0, HALF)).indices == (0,)
    assert run([5, 5], draws, public, Script(HALF, 0)).indices == (1,)


@each_law
def test_a_long_tie_takes_as_many_rounds_as_it_needs(law: Law) -> None:
    public, draws = two(law, [HALF + 7, HALF + 7])
    assert run([5, 5], draws, public, Script(9, 9, 8, 8, HALF, 3)).indices == (1,)


@each_law
def test_noise_without_a_bound_is_looked_at_more_closely(law: Law) -> None:
    public, draws = two(law, [0, 3])
    # V of the first is 2**-66, of the second about 2**-62; one grid step is worth a factor of 2.
    assert run([5, 5], draws, public, Script(1 << 62, 0)).indices == (0,)
    # Behind by eight steps, the first loses even so.
    assert run([5, 13], draws, public, Script(1 << 62, 0)).indices == (1,)
    # 64 more zeros do not bound it yet; then V is 2**-129.
    assert run([5, 60], draws, public, Script(0, 0, HALF, 0)).indices == (0,)


def test_a_gap_next_to_a_grid_line_is_refined() -> None:
    # V = 1/8 and 1/4 (and a little more): E is 3 and 2 steps (and a little less).
    slots = [1 << 125, 1 << 126]
    public, draws = two(EXPONENTIAL, slots, gaps=True)
    # A little more V for the first is less E, so the gap falls below 1; for the second, above.
    below = run([0, 0], draws, public, Script(HALF, 0))
    above = run([0, 0], draws, public, Script(0, HALF))
    assert below == Ranking((0,), (0,))
    assert above == Ranking((0,), (1,))


def worded(public: Plan, words: list[int], slots: list[int], tails: dict[int, int]) -> Draws:
    array = np.array([*words, 0], dtype=np.uint16)
    counts = table(public.law).counts[array]
    return Draws(array, counts, 16, tails, [], slots, public.slot_bits)


@each_law
def test_more_contenders_are_called_when_too_few_were(law: Law) -> None:
    public = replace(plan(law, 1, Decay(Fraction(1)), False), contenders=1)
    draws = worded(public, [40000] * 4, [HALF], {})
    steps = np.full(4, 3, dtype=np.uint64)
    assert rank.combine(steps, draws, public) is None
    (first,), _ = rank._contenders(steps, draws, public, 1, ())
    # Round 1 lengthens the first one's slot and cannot exclude the others.  Round 2 adds one more
    # (a slot, then 64 digits for both).  Round 3 adds the others: all are known, the last wins.
    others = [i for i in range(4) if i != first]
    (second,) = (i for i in rank._contenders(steps, draws, public, 2, ())[0] if i != first)
    newest = [i for i in others if i != second]
    script = Script(1, HALF, 2, 3, HALF, 0, 4, 5, 6, 7)
    result = rank.settle(steps, draws, public, script)
    assert script.exhausted()
    assert result.indices == (newest[-1],)


@each_law
def test_an_endless_tail_is_a_contender_whatever_its_score(law: Law) -> None:
    public = replace(plan(law, 1, Decay(Fraction(1)), False), contenders=2)
    draws = worded(public, [0, 40000, 40001, 40002], [HALF, HALF], {0: 0})
    draws.counts[0] = table(law).top
    draws.endless.append(0)
    steps = np.array([0, 500, 90, 80], dtype=np.uint64)
    assert rank.combine(steps, draws, public) is None
    # The two best keys belong to 1 and 2; 0 is added with a slot and 64 digits, all zero.  Its V
    # is then below 2**-208 and not yet bounded; 64 digits later it is about 2**-209.
    lost = rank.settle(steps, draws, public, Script(0, 1, 2, 0, 1, 2, HALF, *[1] * 9))
    assert lost.indices == (1,)


def test_tail_words_take_their_further_digits_into_account() -> None:
    public = replace(plan(EXPONENTIAL, 1, Decay(Fraction(1)), False), contenders=2)
    tape = Tape(5)
    draws = rank.draw(1 << 17, public, tape)
    tails = [i for i in range(1 << 17) if draws.words[i] < 32]
    assert set(tails) == {i for i in draws.tails if i < 1 << 17}
    for i in tails:
        v, bits = draws.uniform(i, int(draws.words[i]), 77)
        assert bits == 16 + 64 + 64
        assert v == (int(draws.words[i]) << 64 | draws.tails[i]) << 64 | 77
        # The bound of the key holds and is within two steps.
        low, high = draws_bounds(v >> 64)
        assert low - 2 <= int(draws.counts[i])
        assert high <= int(draws.counts[i])


def draws_bounds(v: int) -> tuple[int, int]:
    """Floor and ceiling of 64 times the noise of an 80-digit V."""
    low, high = enclose(EXPONENTIAL, v, 80, 80)
    return low * 64 >> 80, -(-high * 64 >> 80)


def test_more_tail_words_than_expected_are_all_lengthened() -> None:
    class Zeros(Tape):
        def fill(self, buffer: memoryview) -> None:
            super().fill(buffer)
            if len(buffer) == 10000:
                buffer[:] = bytes(10000)  # every word is 0

    public = plan(EXPONENTIAL, 1, Decay(Fraction(1)), False)
    tape = Zeros(1)
    draws = rank.draw(5000, public, tape)
    assert len([i for i in draws.tails if i < 5000]) == 5000
    assert all(0 < count < table(EXPONENTIAL).top for count in draws.counts[:5000].tolist())
    assert len(tape.requests) == 2 + -(-5000 // (tape.requests[-1] // 8))


def test_an_endless_tail_is_reported() -> None:
    class Zeros(Tape):
        def fill(self, buffer: memoryview) -> None:
            super().fill(buffer)
            if len(buffer) == 10000:
                buffer[:2] = b"\0\0"
            elif len(buffer) < 10000:
                buffer[:8] = bytes(8)

    public = plan(GUMBEL, 1, Decay(Fraction(1)), False)
    draws = rank.draw(5000, public, Zeros(1))
    assert draws.endless == [0]
    assert draws.counts[0] == table(GUMBEL).top
