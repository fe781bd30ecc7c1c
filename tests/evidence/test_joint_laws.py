"""Joint laws: two rows, two rounds, two counts, two answers, two releases.

Each of two outputs may follow its law while both are the same noise; so pairs are looked at, with
equal candidates, for which two independent outputs agree with a known chance.  By `chances.fits`
each test rejects a right law with probability at most 1e-9, and finds pairs that agree once in ten
times more often than they should with probability above 0.999.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from chances import fits
from effort import LONG
from tapes import Stream

import engine
import safeselect
from engine import NoiseRate, laplace_attempt, permutation

pytestmark = pytest.mark.claim("C1")

MANY = 20_000 if LONG else 700
CHANGE: dict[str, Any] = {"range_": 1}
CONSTANTS = engine.constants()


def uniform_pairs(pairs: Counter[Any], size: int) -> bool:
    """Whether pairs of outputs, each of `size` equally likely ones, are independent."""
    agree = Counter(a == b for (a, b), count in pairs.items() for _ in range(count))
    joint = dict.fromkeys(product(range(size), repeat=2), 1 / size**2)
    return fits(agree, {True: 1 / size, False: 1 - 1 / size}) and fits(pairs, joint)


@pytest.mark.parametrize("law", engine.MANY)
@pytest.mark.parametrize("n", [2, 3, 8])
def test_two_rows_of_a_batch(law, n):
    """Neighbours, and rows as far apart as one block and two: 40 000 pairs and more."""
    block = engine.batch_plan(engine.LAWS[law], n, NoiseRate(Fraction(1))).rows
    rows = max(3 * block + 5, 40_000)
    found = engine.MANY[law](
        np.zeros((rows, n), dtype=np.uint64), NoiseRate(Fraction(1)), Stream(seed=n)
    )
    for apart in (1, 2, block - 1, block, block + 1, 2 * block):
        pairs = Counter(zip(found[:-apart].tolist(), found[apart:].tolist(), strict=True))
        assert uniform_pairs(pairs, n)


def test_pairs_that_agree_are_noticed():
    """Mutant: one pair in ten has the same noise twice."""
    given = np.random.default_rng(1)
    first, second = given.integers(0, 3, (2, 40_000))
    assert uniform_pairs(Counter(zip(first.tolist(), second.tolist(), strict=True)), 3)
    second[:4000] = first[:4000]
    assert not uniform_pairs(Counter(zip(first.tolist(), second.tolist(), strict=True)), 3)


SELECT: dict[str, Callable[[Any], int]] = {
    "permute_and_flip": lambda scores: (
        safeselect.permute_and_flip(scores, epsilon=1, **CHANGE).index
    ),
    "exponential_mechanism": lambda scores: (
        safeselect.exponential_mechanism(scores, epsilon=1, **CHANGE).index
    ),
    "report_noisy_max": lambda scores: (
        safeselect.report_noisy_max(scores, epsilon=1, noise="laplace", **CHANGE).index
    ),
    "top_k": lambda scores: safeselect.top_k(scores, k=1, epsilon=1, **CHANGE).indices[0],
    "select_many": lambda scores: int(
        safeselect.select_many([scores], epsilon=1, **CHANGE).indices[0]
    ),
}


@pytest.mark.parametrize("name", SELECT)
def test_two_releases(name):
    """One after the other from the default source: each pair of winners is equally likely."""
    found = [SELECT[name]([7, 7, 7]) for _ in range(MANY)]
    assert uniform_pairs(Counter(pairwise(found)), 3)


@pytest.mark.parametrize("n", [40, 5000])
def test_two_releases_of_many(n):
    """Also on the other paths: two winners of n are the same with a chance of 1/n."""
    scores = np.zeros(n, dtype=np.int64)
    found = [SELECT["permute_and_flip"](scores) for _ in range(400)]
    same = sum(a == b for a, b in pairwise(found))
    # 399 pairs at 1/40: more than 45 have probability below 1e-14; at 1/5000 more than 6, 1e-10.
    assert same <= (45 if n == 40 else 6)
    assert len(set(found)) >= (35 if n == 40 else 370)


@pytest.mark.parametrize("mechanism", ["permute_and_flip", "exponential", "one_shot_exponential"])
def test_the_order_of_all_is_uniform(mechanism):
    """First and second, second and third: of equal candidates each order is equally likely."""
    more = {"mechanism": mechanism, **CHANGE}
    orders = Counter(safeselect.top_k([5] * 3, k=3, epsilon=3, **more).indices for _ in range(MANY))
    assert len(orders) == 6
    assert fits(orders, dict.fromkeys(orders, 1 / 6))


def test_two_rows_of_top_k_many():
    found = safeselect.select_many(
        np.zeros((MANY, 3), dtype=np.int64), k=2, epsilon=MANY, **CHANGE
    ).indices[:, 1]
    assert uniform_pairs(Counter(pairwise(found.tolist())), 3)


# ------------------------------------------------------------------------- exact, rate ln 2


class Script:
    """So many bits, and no more."""

    def __init__(self, bits: list[int]) -> None:
        self._bits = bits

    def take(self, count: int) -> int:
        if count > len(self._bits):
            raise EOFError
        value = int("".join(map(str, self._bits[:count])) or "0", 2)
        self._bits = self._bits[count:]
        return value

    def coin(self) -> int:
        return self.take(1)


def law_of(draw: Callable[[Any], Any], depth: int) -> tuple[Counter[Any], int]:
    """How many of 2**depth strings of bits lead to each outcome, and how many to none yet."""
    law: Counter[Any] = Counter()
    left, waiting = 0, [[]]
    while waiting:
        bits: list[int] = waiting.pop()
        try:
            law[draw(Script(bits))] += 1 << depth - len(bits)
        except EOFError:
            if len(bits) < depth:
                waiting += [[*bits, 0], [*bits, 1]]
            else:
                left += 1
    return law, left


def test_two_orders_exactly():
    """Each pair of orders of three has 1/36, by all strings of 14 bits.

    Strings that are too short to tell are few, and are all that may be missing from an outcome.
    """
    law, left = law_of(lambda bits: tuple(tuple(permutation(bits, 3)) for _ in range(2)), 14)
    whole = Fraction(1 << 14)
    assert sum(law.values()) + left == whole
    assert left / whole < Fraction(1, 100)
    for pair in product(permutations(range(3)), repeat=2):
        assert law[pair] / whole <= Fraction(1, 36) <= (law[pair] + left) / whole
    assert len(set(law.values())) == 1


def test_two_attempts_of_discrete_laplace_exactly():
    """Signs and whole powers of 1/2 from coins: P(a, b) = P(a) P(b), by all strings of 12 bits."""

    def half(bits: Any) -> int:
        count = 0
        while count < 2 and bits.coin():
            count += 1
        return count

    law, left = law_of(
        lambda bits: tuple(laplace_attempt(bits, lambda: half(bits)) for _ in range(2)), 12
    )
    assert left == 0
    single = {0: (1, 4), None: (1, 4), 1: (1, 8), -1: (1, 8), 2: (1, 8), -2: (1, 8)}
    for one, other in product(single, repeat=2):
        exact = Fraction(*single[one]) * Fraction(*single[other])
        assert Fraction(law[one, other], 1 << 12) == exact


@pytest.mark.parametrize("apart", [1, CONSTANTS["geometric._PIECE"], CONSTANTS["geometric._CHUNK"]])
@pytest.mark.parametrize("signed", [False, True])
def test_two_numbers_of_an_array(apart, signed):
    """At r = 1/2, numbers next to one another and as far apart as pieces and chunks are long."""
    draw = engine.geometric.discrete_laplace if signed else engine.geometric.geometric
    found = np.clip(
        draw(apart + 60_000, NoiseRate(Fraction(1), Fraction(1, 2)), Stream(seed=1)), -2, 2
    )
    single = {g: Fraction(1, 2 ** (g + 1)) for g in (0, 1)} | {2: Fraction(1, 4)}
    if signed:
        third = Fraction(1, 3)
        single = {x: third / 2 ** abs(x) for x in (-1, 0, 1)} | {2: third / 2, -2: third / 2}
    joint = {(a, b): float(single[a] * single[b]) for a, b in product(single, repeat=2)}
    assert fits(Counter(zip(found[:60_000].tolist(), found[apart:].tolist(), strict=False)), joint)


# ------------------------------------------------------------------------- counts and answers


def test_two_counts_of_a_list():
    """Noisy counts of two items at rate ln 2 or so: their signs are independent."""
    pairs: Counter[tuple[int, int]] = Counter()
    for _ in range(MANY):
        found = safeselect.unknown_domain_top_k(
            {"a": 10**6, "b": 2 * 10**6},
            k=2,
            k_bar=2,
            epsilon=1,
            delta="1e-6",
            max_contributions=1,
            places="all",
        )
        noise = dict(zip(found.labels, found.counts, strict=True))
        pairs[np.sign(noise["a"] - 10**6), np.sign(noise["b"] - 2 * 10**6)] += 1
    zero = np.tanh(0.5)
    single = {-1: (1 - zero) / 2, 0: zero, 1: (1 - zero) / 2}
    assert fits(pairs, {(a, b): single[a] * single[b] for a, b in product(single, repeat=2)})


@pytest.mark.parametrize("kind", ["SparseVector", "AdaptiveSparseVector"])
def test_two_answers_of_a_session_and_of_two(kind):
    """Gaps of two queries share the threshold's noise only: their difference is that of two noises.

    Symmetric, 0 never: both signs with 1/2; two differences that share a query, of both signs.
    Of two sessions nothing is shared: gaps above and below their median in all four ways.
    """
    signs: Counter[tuple[bool, bool]] = Counter()
    firsts = []
    for _ in range(MANY):
        session = getattr(safeselect, kind)(
            threshold=0, k=10, epsilon=10, sensitivity=1, gap_grid=Fraction(1, 1 << 40)
        )
        gaps = session.query_many([10**6] * 4).gaps
        assert len(set(gaps)) == 4
        signs[gaps[0] > gaps[1], gaps[2] > gaps[3]] += 1
        firsts.append(gaps[0])
    quarter = dict.fromkeys(product([True, False], repeat=2), 0.25)
    assert fits(signs, quarter)
    middle = sorted(firsts)[MANY // 2]
    assert fits(Counter(pairwise(gap > middle for gap in firsts)), quarter)
    assert len(set(firsts)) == MANY


def test_two_queries_of_pay_what_you_get():
    """Two lists of one session, each the first of three equal items."""
    pairs: Counter[tuple[int, int]] = Counter()
    counts = {0: 10**6, 1: 10**6, 2: 10**6}
    for _ in range(MANY // 2):
        session = safeselect.PayWhatYouGet(outcomes=4, queries=2, epsilon=1, delta="1e-6")
        first, second = (
            int(session.query(counts, k=1, k_bar=3, places="all").labels[0]) for _ in range(2)
        )
        pairs[first, second] += 1
    assert uniform_pairs(pairs, 3)
