"""What unknown-domain releases tell about one user: all neighbours of small tables, exactly.

Every pair of histograms of up to five items with counts up to four that differ by one user, both
ways round.  The laws are those of the code itself (see `unknown_laws`); a checker that measures the
delta of mechanisms that are known to be wrong, and finds them wanting, measures these too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import product
from math import exp, log, prod
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
from safeselect import ApproximateDP
from safeselect.engine import Ranking
from safeselect.mechanisms import unknown as unknown_domain
from safeselect.mechanisms.measure import Law as Noise
from safeselect.mechanisms.unknown import laplace_offset

pytestmark = pytest.mark.claim("C2")

ROUNDING = 1e-12


def released(counts: tuple[int, ...], k: int, k_bar: Any, **more: Any) -> Any:
    """What the shipped function says of these counts, whose labels are their ranks."""
    table = dict(enumerate(counts))
    return safeselect.unknown_domain_top_k(table, k=k, k_bar=k_bar, places="all", **more)


def list_of_code(
    k: int, k_bar: int, epsilon: Fraction, delta: Fraction, contributions: int | None
) -> Callable[[tuple[int, ...]], Law]:
    """Counts -> the law of `unknown_domain_top_k` with Gumbel noise, of epsilon / k a draw."""
    cost = {"epsilon": epsilon, "delta": delta, "max_contributions": contributions}

    def law(counts: tuple[int, ...]) -> Law:
        def run(teller: Teller) -> tuple[Hashable, ...]:
            with teller.drawing():
                labels = released(counts, k, k_bar, **cost, noise="gumbel").labels
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
    measured = worst(pairs, law, exp(Fraction(epsilon)))
    assert measured <= Fraction(delta) + ROUNDING
    # Not by far: a bottom that is one and a half counts lower would not keep its own part.
    query, part = unknown_domain.plan_list(
        safeselect.ApproximateDP(epsilon, delta), (k, k_bar, k_bar), contributions, draws=k, lists=1
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
                    result = released(counts, k, (1, most), epsilon=epsilon, delta=delta)
                asked[:] = choosing.asked
                teller.asked[:] = [choosing.asked[1]]
                return f"k_bar={result.k_bar}", *(tuple(map(int, result.labels)) or (BOTTOM,))

            lists = law_of_list(run)
            steps, _, noise_rate = asked[0]
            weights = [exp(noise_rate.rate * (step - max(steps))) for step in steps]
            share = weights[chosen] / sum(weights)
            found.update({key: share * float(chance) for key, chance in lists.items()})
        return found

    assert 0.1 * delta < worst(neighbours(4, 2, most, 4), law, exp(epsilon)) <= delta + ROUNDING
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
            cost = {"epsilon": epsilon, "delta": delta, "max_contributions": contributions}
            result = released(counts, k_bar, k_bar, **cost)
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


# ------------------------------------------------------------------------ counts without a cap


def gaussian_law(squared: float) -> dict[int, float]:
    """Discrete Gaussian noise, but for what lies beyond seven deviations."""
    reach = int(7 * squared**0.5) + 1
    weights = {x: exp(-(x**2) / (2 * squared)) for x in range(-reach, reach + 1)}
    whole = sum(weights.values())
    return {x: weight / whole for x, weight in weights.items()}


def counts_of_list(
    k: int, k_bar: int, total: ApproximateDP, contributions: int | None = None
) -> Callable[[tuple[int, ...]], Law]:
    """Counts -> the law of `unknown_domain_top_k` with Gumbel noise and counts.

    For each ranking the function is called, and gets the same noise in each place.  It releases
    each exact count and that noise, so all other noises are put in their place afterwards.
    """

    cost = {"epsilon": total.epsilon, "delta": total.delta, "max_contributions": contributions}

    def law(counts: tuple[int, ...]) -> Law:
        asked = set()

        def draw(self: Noise, count: int, bits: object) -> list[int]:
            asked.add((count, self.parameter))
            return [1000] * count

        def run(teller: Teller) -> frozenset[tuple[int, int]]:
            with pytest.MonkeyPatch.context() as patch, teller.drawing():
                patch.setattr(Noise, "draw", draw)
                found = released(counts, k, k_bar, **cost, noise="gumbel", with_counts=True)
            pairs = zip(map(int, found.labels), found.counts or (), strict=True)
            return frozenset((rank, count - 1000) for rank, count in pairs)

        lists = law_of_list(run)
        ((drawn, squared),) = asked
        assert drawn == k  # however many labels come out
        noise = gaussian_law(float(squared))
        found: dict[Hashable, float] = {}
        for exact, chance in lists.items():
            assert isinstance(exact, frozenset)
            assert all(count == counts[rank] for rank, count in exact)
            for extra in product(noise.items(), repeat=len(exact)):
                pairs = zip(exact, extra, strict=True)
                outcome = frozenset((rank, count + more) for (rank, count), (more, _) in pairs)
                found[outcome] = float(chance) * prod(share for _, share in extra)
        return found

    return law


def concentrated_delta(rho: float, epsilon: float) -> float:
    """The delta of rho-zCDP at epsilon: the least over some orders 1 + x."""
    orders = [step / 16 for step in range(1, 400)]
    logs = [x * (1 + x) * rho - x * epsilon + x * log(x) - (1 + x) * log(1 + x) for x in orders]
    return exp(min(logs))


WITH_COUNTS = [
    # items, most users, k, k_bar, contributions, epsilon, delta
    (4, 3, 2, 2, None, "4", "1/5"),
    (4, 3, 1, 2, None, "3", "1/10"),
    (4, 2, 2, 3, None, "4", "1/20"),
    (4, 3, 2, 2, 1, "4", "1/5"),
    (3, 3, 3, 3, None, "9", "1/5"),
]


@pytest.mark.slow("exhaustive enumeration")
@pytest.mark.parametrize(
    ("items", "most", "k", "k_bar", "contributions", "epsilon", "delta"), some(WITH_COUNTS, 3)
)
@pytest.mark.claim("C2")
def test_counts_without_a_cap_keep_their_promise(
    items: int, most: int, k: int, k_bar: int, contributions: int | None, epsilon: str, delta: str
) -> None:
    """One user comes or goes, with any number of items; fewer labels than k may come out."""
    total = ApproximateDP(epsilon, delta)
    law = counts_of_list(k, k_bar, total, contributions)
    assert {len(outcome) for outcome in law((most, 1, 0, 0)[: k_bar + 1])} >= {0, 1}
    pairs = [*neighbours(items, most, k_bar, contributions or items)]
    measured = worst(pairs, law, exp(total.epsilon), with_count)
    assert measured <= float(total.delta) + ROUNDING
    # Pairs alone pass the bottom nearly as often as half of delta allows.
    assert measured > 0.45 * float(total.delta)
    # And what the parts say of every smaller epsilon holds, too.
    call: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "max_contributions": contributions}
    parts = released((), k, k_bar, noise="gumbel", with_counts=True, **call).parts
    *draws, counted, bottom = parts
    rho = sum(each.zcdp.rho for each in (*draws, counted))
    for smaller in (total.epsilon / 2, total.epsilon / 4):
        measured = worst(pairs, law, exp(smaller), with_count)
        most_delta = float(bottom.delta) + concentrated_delta(float(rho), float(smaller))
        assert measured <= most_delta + ROUNDING


@pytest.mark.parametrize(("k", "contributions"), [(1, None), (2, None), (3, None), (3, 2), (2, 5)])
@pytest.mark.claim("C2")
def test_a_user_of_all_that_comes_out_has_just_the_rho_that_its_counts_state(
    k: int, contributions: int | None
) -> None:
    """Far above the bottom the labels are the same, so counts tell all: no less noise would do.

    The Renyi divergence of order a of discrete Gaussian noise moved by an integer is a / (2
    sigma**2), so that of all counts is a rho, exactly.
    """
    total = ApproximateDP(12, "1/10") if k == 3 else ApproximateDP(5, "1/10")
    law = counts_of_list(k, k, total, contributions)
    call: dict[str, Any] = {"epsilon": total.epsilon, "delta": total.delta, "with_counts": True}
    call["max_contributions"] = contributions
    stated = released((), k, k, noise="gumbel", **call).parts[-2]
    moved = min(k, contributions or k)
    counts = (*(90 - place for place in range(k)), 0)
    without = (*(count - (place < moved) for place, count in enumerate(counts[:-1])), 0)
    for one, other in ((law(counts), law(without)), (law(without), law(counts))):
        for order in (2, 3):
            shared = [(p, other[key]) for key, p in one.items() if key in other]
            divergence = log(sum(p * (p / q) ** (order - 1) for p, q in shared)) / (order - 1)
            assert abs(divergence / (order * float(stated.rho)) - 1) < 1e-3
