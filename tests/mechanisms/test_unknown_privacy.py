"""What unknown-domain releases tell about one user: all neighbours of small tables, exactly.

Every pair of histograms of up to five items with counts up to four that differ by one user, both
ways round.  The laws are those of the code itself (see `unknown_laws`); a checker that measures the
delta of mechanisms that are known to be wrong, and finds them wanting, measures these too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from math import exp
from typing import Any

import pytest
from effort import some
from unknown_laws import (
    BOTTOM,
    Law,
    Teller,
    discrete_laplace_law,
    law_of_counts,
    law_of_list,
    neighbours,
    worst,
)

import safeselect
from safeselect.engine import Ranking
from safeselect.mechanisms import unknown as unknown_domain
from safeselect.mechanisms.unknown import laplace_offset

pytestmark = pytest.mark.claim("C2")

ROUNDING = 1e-12


def list_of_code(
    k: int, k_bar: int, epsilon: Fraction, delta: Fraction, contributions: int | None
) -> Callable[[tuple[int, ...]], Law]:
    """Counts -> the law of `unknown_domain_top_k` with Gumbel noise, of epsilon / k a draw."""

    def law(counts: tuple[int, ...]) -> Law:
        def run(teller: Teller) -> tuple[Hashable, ...]:
            with teller.drawing():
                labels = safeselect.unknown_domain_top_k(
                    dict(enumerate(counts)),
                    k=k,
                    k_bar=k_bar,
                    places="all",
                    epsilon=epsilon,
                    delta=delta,
                    max_contributions=contributions,
                    noise="gumbel",
                ).labels
            ranks = tuple(map(int, labels))  # which come out as texts
            return ranks if len(ranks) == k else (*ranks, BOTTOM)

        return {key: float(chance) for key, chance in law_of_list(run).items()}

    return law


LISTS = [
    # items, k, k_bar, contributions, epsilon, delta
    (5, 2, 3, None, "1", "1/20"),
    (5, 1, 4, None, "1/2", "1/5"),
    (5, 2, 2, None, "3", "1/1000"),
    (5, 3, 3, 1, "2", "1/20"),
    (5, 2, 4, 2, "1", "1/10"),
    (4, 2, 3, 3, "1/2", "1/20"),
]


@pytest.mark.parametrize(
    ("items", "k", "k_bar", "contributions", "epsilon", "delta"), some(LISTS, 2)
)
@pytest.mark.claim("C2")
def test_lists_keep_their_promise(
    items: int, k: int, k_bar: int, contributions: int | None, epsilon: str, delta: str
) -> None:
    law = list_of_code(k, k_bar, Fraction(epsilon), Fraction(delta), contributions)
    pairs = neighbours(items, 4, k_bar, contributions or items)
    factor = exp(Fraction(epsilon))
    measured = worst(pairs, law, factor)
    assert measured <= Fraction(delta) + ROUNDING
    # Not by far: a bottom that is one and a half counts lower would not keep its own part.
    query, part = unknown_domain.plan_list(
        safeselect.ApproximateDP(epsilon, delta), (k, k_bar, k_bar), contributions
    )
    assert measured > part * exp(-1.5 * query.epsilon)


class Choosing(Teller):
    """An engine that also tells which k_bar is chosen, by its place in the range."""

    def __init__(self, chosen: int, order: tuple[int, ...]) -> None:
        super().__init__(order)
        self.chosen = chosen

    def noisy_top_k(self, noise: str, steps: Any, k: int, noise_rate: Any, bits: object) -> Ranking:
        ranking = super().noisy_top_k(noise, steps, k, noise_rate, bits)
        return Ranking((self.chosen,), None) if len(self.asked) == 1 else ranking


@pytest.mark.claim("C2")
def test_lists_whose_k_bar_is_chosen_keep_their_promise() -> None:
    epsilon, delta, k, most = Fraction(2), Fraction(1, 1000), 1, 3

    def law(counts: tuple[int, ...]) -> Law:
        found: dict[Hashable, float] = {}
        for chosen in range(most):
            asked: list[Any] = []

            def run(teller: Teller, chosen: int = chosen, asked: list[Any] = asked) -> Hashable:
                choosing = Choosing(chosen, teller.order)
                with choosing.drawing():
                    result = safeselect.unknown_domain_top_k(
                        dict(enumerate(counts)),
                        k=k,
                        k_bar=(1, most),
                        places="all",
                        epsilon=epsilon,
                        delta=delta,
                    )
                asked[:] = choosing.asked
                teller.asked[:] = [choosing.asked[1]]
                return f"k_bar={result.k_bar}", *(tuple(map(int, result.labels)) or (BOTTOM,))

            lists = law_of_list(run)
            steps, _, noise_rate = asked[0]
            weights = [exp(noise_rate.rate * (step - max(steps))) for step in steps]
            share = weights[chosen] / sum(weights)
            found.update({key: share * float(chance) for key, chance in lists.items()})
        return found

    measured = worst(neighbours(4, 2, most, 4), law, exp(epsilon))
    assert 0.1 * delta < measured <= delta + ROUNDING
    # The choice of k_bar itself tells: half of what its draw is charged would not cover it.
    assert worst(neighbours(4, 2, most, 4), law, exp(epsilon / 4)) > 10 * delta


REACH = 10  # of the noise in these tests; at epsilon 3/2 a count, 2e-7 lies beyond


def counts_of_code(
    k_bar: int, epsilon: Fraction, delta: Fraction, contributions: int
) -> Callable[[tuple[int, ...]], Law]:
    """Counts -> the law of `unknown_domain_top_k` with Laplace noise, up to noise beyond REACH.

    The function is called once a table; where it asks for its noise, in the step that decides what
    is released, this step is repeated for every noise there is.
    """
    chances = discrete_laplace_law(float(epsilon / contributions), REACH)
    decide = unknown_domain._above_bottom

    def law(counts: tuple[int, ...]) -> Law:
        teller, laws, decided = Teller(), [], []

        def decide_all(*state: Any) -> list[tuple[Any, int]]:
            def run(noise: tuple[int, ...]) -> Hashable:
                teller.noise = noise
                return frozenset((int(label), count) for label, count in decide(*state))

            laws.append(law_of_counts(run, k_bar + 1, chances))
            decided[:] = decide(*state)
            return decided

        with pytest.MonkeyPatch.context() as patch, teller.drawing():
            patch.setattr(unknown_domain, "_above_bottom", decide_all)
            result = safeselect.unknown_domain_top_k(
                dict(enumerate(counts)),
                k=k_bar,
                k_bar=k_bar,
                places="all",
                epsilon=epsilon,
                delta=delta,
                max_contributions=contributions,
            )
        assert list(zip(result.labels, result.counts or (), strict=True)) == decided
        assert {(n, noise_rate.rate) for n, noise_rate in teller.asked} == {
            (k_bar + 1, epsilon / contributions)
        }
        (found,) = laws
        return found

    return law


def defined_counts(
    k_bar: int, each: float, offset: int, *, inclusive: bool = False, reach: int = REACH
) -> Callable[[tuple[int, ...]], Law]:
    """Counts -> the law with Laplace noise by definition: who is at or above the noisy bottom."""
    chances = discrete_laplace_law(each, reach)

    def law(counts: tuple[int, ...]) -> Law:
        def run(noise: tuple[int, ...]) -> Hashable:
            bottom = counts[k_bar] + offset + noise[k_bar]
            noisy = [(rank, counts[rank] + noise[rank]) for rank in range(k_bar) if counts[rank]]
            return frozenset(pair for pair in noisy if pair[1] >= bottom + (not inclusive))

        return law_of_counts(run, k_bar + 1, chances)

    return law


def with_count(part: tuple[int, int], at: Callable[[int], Hashable]) -> Hashable:
    return at(part[0]), part[1]


@pytest.mark.slow("exhaustive enumeration")
@pytest.mark.parametrize(
    ("k_bar", "contributions", "epsilon", "delta"),
    some(
        [(1, 1, "3/2", "1/20"), (1, 2, "3", "1/10"), (2, 1, "3/2", "1/50"), (2, 2, "3", "1/10")], 3
    ),
)
@pytest.mark.claim("C2")
def test_released_counts_keep_their_promise(
    k_bar: int, contributions: int, epsilon: str, delta: str
) -> None:
    each = Fraction(epsilon) / contributions
    offset = 1 + laplace_offset(each, Fraction(delta), min(k_bar, contributions))
    law = counts_of_code(k_bar, Fraction(epsilon), Fraction(delta), contributions)
    for counts in ((4, 4, 4), (4, 3, 1), (3, 0, 0), (1, 1, 1), (0, 0, 0)):
        table = counts[: k_bar + 1]
        assert law(table) == defined_counts(k_bar, float(each), offset)(table)
    pairs = neighbours(5, 4, k_bar, contributions)
    measured = worst(pairs, law, exp(Fraction(epsilon)), with_count)
    assert measured <= Fraction(delta) + 1e-6
    assert measured > 0.1 * Fraction(delta)


@pytest.mark.claim("C2")
def test_a_bottom_for_one_item_is_caught_where_a_user_may_bring_two() -> None:
    each, delta = Fraction(3, 2), Fraction(1, 10)
    pairs = list(neighbours(4, 2, 2, 2))

    def measured(m: int) -> float:
        law = defined_counts(2, float(each), 1 + laplace_offset(each, delta, m))
        return worst(pairs, law, exp(2 * each), with_count)

    assert measured(1) > 1.3 * delta
    assert measured(2) <= delta + 1e-6
