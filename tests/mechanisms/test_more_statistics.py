"""Batches and unknown domains as they are called, two-sided, each with mutants that must fail.

False alarms: 1e-9 each (Chernoff).  Power: n draws find a shift d of a probability p once
n d**2 / (2 p (1 - p)) exceeds 50, with probability above 0.999: 0.06 for 6 000, 0.09 for 3 000.
Every mutant shifts one by more.  The random bytes are those of a fixed seed, so a pass stays one.
The laws come from the enclosures of `checks`, or from sums over all noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from fractions import Fraction

import numpy as np
import pytest
from chances import fits
from checks.cells import ranking_law
from either import select_many

from safeselect import PayWhatYouGet, unknown_domain_top_k
from safeselect.testing import DeterministicSource, InsecureSourceWarning

pytestmark = pytest.mark.slow("statistics with power")

ENGINES = ("array", "reference")
ROWS, DRAWS = 6_000, 3_000
SCORES = [3, 1, 0]
ONE = Fraction(1)


def source() -> DeterministicSource:
    with pytest.warns(InsecureSourceWarning):
        return DeterministicSource(b"more", i_understand_this_is_not_private=True)


def middle(law: Mapping[Hashable, tuple[Fraction, Fraction]]) -> dict[Hashable, float]:
    """The middles of enclosures, so close to the law that no test sees the difference."""
    return {outcome: float(low + high) / 2 for outcome, (low, high) in law.items()}


def first_of(noise: str, candidates: list[int]) -> dict[int, float]:
    law = ranking_law(noise, [SCORES[i] for i in candidates], ONE, fineness=8)
    return {candidates[place]: p for (place,), p in middle(law).items()}


def one(noise: str) -> dict[Hashable, float]:
    return dict(first_of(noise, [0, 1, 2]))


def two(noise: str) -> dict[Hashable, float]:
    """One after the other, from those that are left."""
    return {
        (best, second): p * q
        for best, p in first_of(noise, [0, 1, 2]).items()
        for second, q in first_of(noise, [i for i in range(3) if i != best]).items()
    }


BATCHES = {
    "permute_and_flip": (one("exponential"), two("exponential")),
    "exponential": (one("gumbel"), two("gumbel")),
}


@pytest.mark.claim("C1")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mechanism", BATCHES)
def test_batches_follow_their_laws(mechanism, engine):
    single, double = BATCHES[mechanism]
    rows = np.tile(SCORES, (ROWS, 1))
    setting = {"mechanism": mechanism, "range_": 1, "engine": engine, "source": source()}
    chosen = select_many(rows, epsilon=ROWS, **setting)
    assert fits(Counter(chosen.indices.tolist()), single)
    ordered = select_many(rows[:DRAWS], k=2, epsilon=2 * DRAWS, **setting)
    assert fits(Counter(map(tuple, ordered.indices.tolist())), double)
    if engine == "array":
        for wrong in (2 * ROWS, ROWS // 2):  # twice and half the rate
            chosen = select_many(rows, epsilon=wrong, **setting)
            assert not fits(Counter(chosen.indices.tolist()), single)
            ordered = select_many(rows[:DRAWS], k=2, epsilon=wrong, **setting)
            assert not fits(Counter(map(tuple, ordered.indices.tolist())), double)


@pytest.mark.claim("C1")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_in_base_2_follows_its_law(engine):
    rows = np.tile(SCORES, (ROWS, 1))

    def chosen(epsilon):
        result = select_many(
            rows,
            epsilon=epsilon,
            range_=1,
            mechanism="exponential_base2",
            engine=engine,
            source=source(),
        )
        return Counter(result.indices.tolist()), result.parts[0].epsilon

    seen, each = chosen(ROWS)
    weights = [float(np.exp(float(each) * score)) for score in SCORES]
    law = {i: weight / sum(weights) for i, weight in enumerate(weights)}
    assert 0.9 < each <= 1
    assert fits(seen, law)
    assert not fits(chosen(2 * ROWS)[0], law)


# --------------------------------------------------------------------------- unknown domains

COUNTS = {"a": 9, "b": 7, "c": 2}


def list_law(epsilon: Fraction, offset: Fraction) -> dict[Hashable, float]:
    """Gumbel noise on a, b and a bottom at c + offset; what comes before the bottom."""
    unit = offset.denominator
    scores = [9 * unit, 7 * unit, int((2 + offset) * unit)]
    found: Counter[Hashable] = Counter()
    whole = ranking_law("gumbel", scores, epsilon / unit, k=2, fineness=8)
    for order, p in middle(whole).items():
        found[tuple("ab|"[i] for i in (*order, 2)[: (*order, 2).index(2)])] += p
    return found


def discovered(tape: DeterministicSource, engine: str):
    return unknown_domain_top_k(
        COUNTS, k=2, k_bar=2, places="all", epsilon=1, delta="0.2", engine=engine, source=tape
    )


def session(tape: DeterministicSource, engine: str):
    opened = PayWhatYouGet(
        outcomes=3, queries=1, epsilon=2, delta="0.2", engine=engine, source=tape
    )
    return opened.query(COUNTS, k=2, k_bar=2, places="all")


@pytest.mark.claim("C1")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("run", [discovered, session])
def test_lists_follow_their_law(run, engine):
    tape = source()
    told = run(tape, engine)
    epsilon, offset = told.parts[0].epsilon, told.statement.number("offset")
    law = list_law(epsilon, offset)
    assert len(law) == 5
    seen = Counter(run(tape, engine).labels for _ in range(DRAWS))
    assert fits(seen, law)
    # Half and twice the rate, and a bottom that is two counts off.
    for wrong in ((epsilon / 2, offset), (2 * epsilon, offset), (epsilon, offset - 2)):
        assert not fits(seen, list_law(*wrong))


def counts_law(rate: float, offset: int) -> dict[Hashable, float]:
    """Discrete Laplace noise on a, b and the bottom at c + offset: labels, larger first."""
    noise = np.arange(-80, 81)
    masses = (1 - np.exp(-rate)) / (1 + np.exp(-rate)) * np.exp(-rate * np.abs(noise))
    a, b, c = (COUNTS[label] + noise for label in "abc")
    a, b, bottom = a[:, None, None], b[None, :, None], (c + offset)[None, None, :]
    chance = masses[:, None, None] * masses[None, :, None] * masses[None, None, :]
    both, first = (a > bottom) & (b > bottom), a >= b  # equal ones in the order of their labels
    cells = {
        ("a", "b"): both & first,
        ("b", "a"): both & ~first,
        ("a",): (a > bottom) & (b <= bottom),
        ("b",): (b > bottom) & (a <= bottom),
        (): (a <= bottom) & (b <= bottom),
    }
    return {labels: float(chance[cell].sum()) for labels, cell in cells.items()}


@pytest.mark.claim("C1")
@pytest.mark.parametrize("engine", ENGINES)
def test_lists_with_counts_follow_their_law(engine):
    tape = source()

    def run():
        return unknown_domain_top_k(
            COUNTS,
            k=2,
            k_bar=2,
            places="all",
            epsilon="1/2",
            delta="0.2",
            max_contributions=1,
            engine=engine,
            source=tape,
        )

    offset = int(run().statement.number("offset"))
    law = counts_law(0.5, offset)
    assert sum(law.values()) == pytest.approx(1)
    seen = Counter(run().labels for _ in range(DRAWS))
    assert fits(seen, law)
    for wrong in ((0.25, offset), (1.0, offset), (0.5, offset - 1)):
        assert not fits(seen, counts_law(*wrong))
