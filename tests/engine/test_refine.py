"""The rare path, driven by scripted digits through every way of being undecided."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from lattice_oracle import Same

from engine import PEELED
from safeselect.engine import rankings
from safeselect.engine.contenders import contenders
from safeselect.engine.draws import Draws, Plan, plan
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law
from safeselect.engine.rankings import Ranking
from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.sources import OpenSSLSource

pytestmark = pytest.mark.claim("C1")

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
    public = plan(law, 1, NoiseRate(Fraction(1), Fraction(1, 2)), gaps)
    return public, Draws(slots, public.slot_bits)


def run(steps: list[int], draws: Draws, public: Plan, script: Script) -> Ranking:
    assert rankings.combine(np.array(steps, dtype=np.uint64), draws, public) is None
    result = rankings.refine(np.array(steps, dtype=np.uint64), draws, public, script)
    assert script.exhausted()
    return result


@each_law
def test_a_tie_is_broken_by_further_digits(law: Law) -> None:
    public, draws = two(law, [HALF + 7, HALF + 7])
    # The smaller V has the larger noise.
    assert run([5, 5], draws, public, Script(0, HALF)).indices == (0,)
    assert run([5, 5], draws, public, Script(HALF, 0)).indices == (1,)


@pytest.mark.claim("C1")
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
    public, draws = two(EXPONENTIAL, [1 << 125, 1 << 126], gaps=True)
    # A little more V for the first is less E, so the gap falls below 1; for the second, above.
    below = run([0, 0], draws, public, Script(HALF, 0))
    above = run([0, 0], draws, public, Script(0, HALF))
    assert (below, above) == (Ranking((0,), (0,)), Ranking((0,), (1,)))


def worded(public: Plan, words: list[int], slots: list[int], tails: dict[int, int]) -> Draws:
    return Draws(
        slots,
        public.slot_bits,
        16,
        words=np.array(words, dtype=np.uint16),
        tails=np.array(list(tails), dtype=np.int64),
        tail_counts=np.zeros(len(tails), dtype=np.int64),
        extra=np.array(list(tails.values()), dtype=np.uint64),
    )


@each_law
def test_more_contenders_are_called_when_too_few_were(law: Law) -> None:
    public = plan(law, 1, NoiseRate(Fraction(1)), False)._replace(contenders=1)
    draws, steps = worded(public, [40000] * 4, [HALF], {}), np.full(4, 3, dtype=np.uint64)
    assert rankings.combine(steps, draws, public) is None
    (first,), _ = contenders(steps, draws, public, 1, ())
    # Round 1 lengthens the first one's slot and cannot exclude the others.  Round 2 adds one more
    # (a slot, then 64 digits for both).  Round 3 adds the others: all are known, the last wins.
    others = [i for i in range(4) if i != first]
    (second,) = (i for i in contenders(steps, draws, public, 2, ())[0] if i != first)
    newest = [i for i in others if i != second]
    script = Script(1, HALF, 2, 3, HALF, 0, 4, 5, 6, 7)
    result = rankings.refine(steps, draws, public, script)
    assert script.exhausted()
    assert result.indices == (newest[-1],)


@each_law
def test_an_endless_tail_is_a_contender_whatever_its_score(law: Law) -> None:
    public = plan(law, 1, NoiseRate(Fraction(1)), False)._replace(contenders=2)
    draws = worded(public, [0, 40000, 40001, 40002], [HALF, HALF], {0: 0})._replace(endless=[0])
    steps = np.array([0, 500, 90, 80], dtype=np.uint64)
    assert rankings.combine(steps, draws, public) is None
    # The two best keys belong to 1 and 2; 0 is added with a slot and 64 digits, all zero.  Its V
    # is then below 2**-208 and not yet bounded; 64 digits later it is about 2**-209.
    lost = rankings.refine(steps, draws, public, Script(0, 1, 2, 0, 1, 2, HALF, *[1] * 9))
    assert lost.indices == (1,)
    # That is worth 143 nats, also with Laplace noise: more than 140 steps.
    steps = np.array([0, 140, 130, 80], dtype=np.uint64)
    assert rankings.combine(steps, draws, public) is None
    won = rankings.refine(steps, draws, public, Script(0, 1, 2, 0, 1, 2, HALF, *[1] * 9))
    assert won.indices == (0,)


@pytest.mark.parametrize("n", [3, 40, 5000])
@pytest.mark.parametrize("peel", PEELED.values(), ids=PEELED)
def test_a_winner_stays_out_of_later_rounds_however_they_are_decided(peel, n: int) -> None:  # type: ignore[no-untyped-def]
    """Three candidates far ahead of all others, whose digits are equal in every round."""
    steps, ahead = np.zeros(n, dtype=np.uint64), [0, n // 2, n - 1]
    steps[ahead] = 2**20
    orders = set()
    for seed in range(40):
        tape = Same(seed)
        found = peel(steps.copy(), 3, NoiseRate(Fraction(1)), tape).indices
        assert sorted(found) == ahead
        assert any(each < 0 for each in tape.requests)
        orders.add(found)
    # Of the 6 orders one is missed 40 times with probability 6 * (5/6)**40 = 0.004.
    assert len(orders) >= 5


@pytest.mark.claim("C4")
def test_no_call_is_refined_without_need(monkeypatch):
    """A second round has a probability below 2**-40, and tells by its time that there was one."""

    def never(*_):
        raise AssertionError("refined")

    monkeypatch.setattr(rankings, "refine", never)
    bits = Bits(OpenSSLSource())
    for n in (2, 30, 500):
        for noise in ("exponential", "gumbel", "laplace"):
            for k in (1, 2):
                scores = np.arange(n, dtype=np.uint64)
                found = rankings.noisy_top_k(noise, scores, k, NoiseRate(Fraction(1, 9)), bits)
                assert len(found.indices) == k
