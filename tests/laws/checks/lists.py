"""Lists from unknown domains against their laws: what is listed, the bottom, and what delta pays.

The bottom's offset and the composition are worked out here from the published formulas alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from itertools import permutations, product
from math import comb, exp, expm1, log, log1p, tanh
from typing import Any

import numpy as np
from checks.cells import Enclosure, ranking_law
from checks.finding import Refuted
from checks.mechanisms import ListCase
from checks.releases import gate

from safeselect.errors import BudgetError
from safeselect.mechanisms.unknown import PayWhatYouGet
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, PureDP, ZeroConcentratedDP

_EPSILON, _DELTA = Fraction(1), Fraction(1, 10**6)
_COST: dict[str, Any] = {"epsilon": _EPSILON, "delta": _DELTA}
_SLACK = 1e-9
_REACH = 200  # discrete Laplace noise is summed so far; beyond lies less than 2**-280


def _offset(found: Any) -> Fraction:
    """How far the bottom lies above, as stated."""
    return Fraction(found.offset if hasattr(found, "offset") else found.provenance.number("offset"))


def check_list(case: ListCase, every: int) -> str:
    """Compare lists of two items near the bottom with the law, and with the stated offset.

    Raises:
        Refuted: the shares of the lists contradict it.
    """
    count = 3000 if every == 1 else 250
    released = _ask(case, {"a": 0, "b": 0}, 2, 2)
    bottom = round(_offset(released))
    counts = {"a": bottom + 1, "b": bottom - 1}
    law = (_law_of_list if case.noise == "gumbel" else _law_of_counts)(released, counts)
    found = [_ask(case, counts, 2, 2) for _ in range(count)]
    if case.noise == "gumbel":
        outcomes: Counter[Hashable] = Counter(_told(case, each.labels) for each in found)
        law = _merged(case, law)
    else:
        outcomes = Counter(tuple(sorted(each.labels)) for each in found)
    gate(outcomes, count, law)
    return f"{count} lists of two items near the bottom follow their law"


def check_bottom(case: ListCase, every: int) -> str:
    """The bottom lies as high as delta demands, and delta is spent once.

    Raises:
        Refuted: the offset, or what the parts cost together, is not what is promised.
    """
    shapes = [(1, 1, _DELTA), (2, 5, _DELTA), (3, 8, Fraction(1, 1000))]
    for k, k_bar, delta in shapes:
        result = _ask(case, {"a": 1}, k, k_bar, delta=delta)
        if result.guarantee != ApproximateDP(_EPSILON, delta):
            raise Refuted("a list does not state the cost that was asked for")
        if result.mechanism != case.name:
            raise Refuted("a list has another name")
        draws = [part for part in result.parts if isinstance(part, BoundedRange)]
        bottoms = [part for part in result.parts if isinstance(part, ApproximateDP)]
        if len(bottoms) != 1:
            raise Refuted("a list does not state what its bottom costs")
        part = float(bottoms[0].delta)
        if case.noise == "laplace":
            _require_laplace_bottom(result, float(delta))
            continue
        if len(draws) < k or len({draw.epsilon for draw in draws}) != 1:
            raise Refuted("a list does not state what its draws cost")
        each = float(draws[0].epsilon)
        spent = part + composed_delta(each, len(draws), float(_EPSILON))
        if case.arguments.get("with_counts"):
            rho = len(draws) * _concentrated(each) + float(_rho(result))
            spent = max(spent, part + _concentrated_delta(rho, float(_EPSILON)))
        if spent > float(delta) * (1 + 1e-6):
            raise Refuted("the draws and the bottom together cost more than delta")
        share = part / case.bottoms
        need = 1 + log(k_bar * (1 - share) / share) / each
        if not need - _SLACK <= float(_offset(result)) <= need + 1 + 1 / (16 * each):
            raise Refuted("the bottom is not as far away as delta demands")
    if case.name.startswith("pay_what_you_get"):
        _require_pay_what_you_get()
    return f"{len(shapes)} bottoms lie where delta puts them, and delta is spent once"


def check_two_counts(case: ListCase, every: int) -> str:
    """Two items, or the first items of two lists, are independent.

    Raises:
        Refuted: they depend on each other.
    """
    count = 1500 if every == 1 else 150
    pairs: Counter[Hashable] = Counter()
    if case.noise == "laplace" or case.arguments.get("with_counts"):
        for _ in range(count):
            found = _ask(case, {"a": 10**6, "b": 2 * 10**6}, 2, 2)
            noise = dict(zip(found.labels, found.counts, strict=True))
            signs = np.sign([noise["a"] - 10**6, noise["b"] - 2 * 10**6]).tolist()
            pairs[tuple(signs)] += 1
        # Of two counts that one user may both have, sigma squared is 2 / (2 rho).
        laplace = case.noise == "laplace"
        zero = Fraction(tanh(0.5) if laplace else _zero(1 / float(_rho(found))))
        single: dict[Any, Fraction] = {-1: (1 - zero) / 2, 0: zero, 1: (1 - zero) / 2}
    else:
        counts = dict.fromkeys("abc", 10**6)
        firsts = [_ask(case, counts, 1, 3).labels[0] for _ in range(2 * count)]
        pairs.update(zip(firsts[::2], firsts[1::2], strict=True))
        single = dict.fromkeys("abc", Fraction(1, 3))
        if case.name.startswith("pay_what_you_get"):
            pairs.update(_two_queries(counts) for _ in range(count))
            count *= 2
    gate(pairs, count, {(a, b): (single[a] * single[b],) * 2 for a, b in product(single, repeat=2)})
    return f"{count} pairs are independent"


def check_many_items(case: ListCase, n: int, every: int) -> str:
    """So many items, all equal and far above the bottom.

    Raises:
        Refuted: some items have no noise of their own, or are never listed.
    """
    counts = dict.fromkeys(range(n), 10**9)
    if case.noise == "laplace":
        _many_counts(case, counts, n)
        return f"noisy counts of {n} items: no noise comes back"
    places: Counter[Hashable] = Counter()
    lists = 12 if n > 10_000 or every > 1 else 40
    for _ in range(lists):
        places.update(int(label) * 16 // n for label in _ask(case, counts, 5, n).labels)
    gate(places, 5 * lists, {i: (_part(n, i),) * 2 for i in range(16)})
    return f"lists from {n} items: all are listed as often"


def _told(case: ListCase, labels: tuple[Any, ...]) -> Hashable:
    """Labels as they come out; with counts these say in which order."""
    return tuple(sorted(labels)) if case.arguments.get("with_counts") else labels


def _merged(case: ListCase, law: Enclosure) -> Enclosure:
    """The law of what is told of the labels."""
    found: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for labels, (low, high) in law.items():
        assert isinstance(labels, tuple)
        before = found.get(_told(case, labels), (Fraction(0), Fraction(0)))
        found[_told(case, labels)] = before[0] + low, before[1] + high
    return found


def _rho(released: Any) -> Fraction:
    """What the counts of a list are stated to cost."""
    (found,) = (part.rho for part in released.parts if isinstance(part, ZeroConcentratedDP))
    return Fraction(found)


def _zero(squared: float) -> float:
    """The chance that discrete Gaussian noise is 0."""
    return 1 / sum(exp(-x * x / (2 * squared)) for x in range(-_REACH, _REACH + 1))


def _concentrated(each: float) -> float:
    """The rho of a draw of this range: `docs/mathematics.md`, Theorem 2."""
    x = each / expm1(each)
    return x - 1 - log(x)


def _concentrated_delta(rho: float, epsilon: float) -> float:
    """The delta of rho-zCDP at this epsilon (Canonne, Kamath and Steinke 2020)."""
    low, high = 1e-9, 1e9
    for _ in range(200):  # the slope rises with x, the order less 1
        x = (low + high) / 2
        low, high = (x, high) if (1 + 2 * x) * rho - epsilon + log(x / (1 + x)) < 0 else (low, x)
    return exp(x * (1 + x) * rho - x * epsilon + x * log(x) - (1 + x) * log1p(x))


def composed_delta(each: float, draws: int, epsilon: float) -> float:
    """A lower bound for the delta of so many draws of BoundedRange(each) at this epsilon.

    Method: of Dong, Durfee and Rogers (2020), pairs of laws of two outcomes with the losses t and
        t - each, for many t between 0 and each; a sum over how often the first one comes.
    """
    worst = 0.0
    for step in range(1, 200):
        t = each * step / 200
        p = (1 - exp(t - each)) / (1 - exp(-each))
        total = 0.0
        for i in range(draws + 1):
            loss = i * t + (draws - i) * (t - each)
            if loss > epsilon:
                total += comb(draws, i) * p**i * (1 - p) ** (draws - i) * (1 - exp(epsilon - loss))
        worst = max(worst, total)
    return worst


def _ask(case: ListCase, counts: Any, k: int, k_bar: int, **more: Any) -> Any:
    return case.ask(counts, k=k, k_bar=k_bar, places="all", **{**_COST, **case.arguments, **more})


def _law_of_list(released: Any, counts: dict[str, int]) -> Enclosure:
    """The law of a list: the two counts and the bottom, ranked, down to the bottom."""
    each = next(part.epsilon for part in released.parts if isinstance(part, BoundedRange))
    grid = 1 << 20
    scores = [counts["a"] * grid, counts["b"] * grid, round(_offset(released) * grid)]
    ranked = ranking_law("gumbel", scores, each / grid, k=2, fineness=7)
    law: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for order in permutations(range(3), 2):
        listed = tuple("ab"[place] for place in order[: order.index(2) if 2 in order else 2])
        low, high = ranked[order]
        known = law.get(listed, (Fraction(0), Fraction(0)))
        law[listed] = known[0] + low, known[1] + high
    return law


def _law_of_counts(released: Any, counts: dict[str, int]) -> Enclosure:
    """Who is strictly above the noisy bottom, all with discrete Laplace noise of rate 1."""
    noise = {x: tanh(0.5) * exp(-abs(x)) for x in range(-_REACH, _REACH + 1)}
    law: dict[Hashable, float] = {}
    for bottom, mass in noise.items():
        above = {}
        for label, count in counts.items():
            least = bottom + int(_offset(released)) + 1 - count
            above[label] = sum(m for x, m in noise.items() if x >= least)
        for chosen in product((True, False), repeat=2):
            listed = tuple(label for label, yes in zip(above, chosen, strict=True) if yes)
            chance = mass
            for label, yes in zip(above, chosen, strict=True):
                chance *= above[label] if yes else 1 - above[label]
            law[listed] = law.get(listed, 0.0) + chance
    near = Fraction(_SLACK)
    return {k: (max(Fraction(v) - near, Fraction(0)), Fraction(v) + near) for k, v in law.items()}


def _require_laplace_bottom(result: Any, delta: float) -> None:
    """The least tau with P(X - Y > tau) <= delta, for one item that one user may change."""
    if [part for part in result.parts if isinstance(part, PureDP)] != [PureDP(_EPSILON)]:
        raise Refuted("a list does not state what its noise costs")
    noise = {x: tanh(0.5) * exp(-abs(x)) for x in range(-_REACH, _REACH + 1)}
    below = np.cumsum(list(noise.values()))

    def beyond(tau: int) -> float:
        # X > tau + y; `below` ends with the total.
        ends = [min(max(tau + y + _REACH, -1), 2 * _REACH) for y in noise]
        rest = [below[-1] - (below[end] if end >= 0 else 0.0) for end in ends]
        return float(sum(mass * more for mass, more in zip(noise.values(), rest, strict=True)))

    tau = int(_offset(result)) - 1
    if beyond(tau) > delta * (1 + 1e-6) or beyond(tau - 1) < delta * (1 - 1e-6):
        raise Refuted("the bottom is not as far away as delta demands")


def _require_pay_what_you_get() -> None:
    """A query costs its draws: its labels, and the bottom where that came before the k-th."""
    session = PayWhatYouGet(outcomes=4, queries=9, **_COST)
    many, none = dict.fromkeys("abc", 10**9), dict[str, int]()
    refused, due = False, 0
    for counts in (many, none):
        found = session.query(counts, k=2, k_bar=3, places="all")
        due += min(len(found.labels) + 1, 2)
    try:
        session.query(many, k=2, k_bar=3, places="all")
    except BudgetError:
        refused = True
    if not refused or due != 3 or (session.spent.outcomes, session.spent.queries) != (due, 2):
        raise Refuted("a session spends other than its draws")
    if len(session.parts) != 5:
        raise Refuted("a session does not state what its draws cost")


def _two_queries(counts: dict[str, int]) -> Hashable:
    session = PayWhatYouGet(outcomes=4, queries=2, **_COST)
    one, other = (session.query(counts, k=1, k_bar=3, places="all").labels for _ in range(2))
    return one[0], other[0]


def _many_counts(case: ListCase, counts: dict[int, int], n: int) -> None:
    """Noisy counts of all: noises do not come back after so many items."""
    found = _ask(case, counts, n, n, epsilon=Fraction(1, 1000))
    listed = list(map(int, found.labels))
    if sorted(listed) != list(range(n)):
        raise Refuted("items far above the bottom are not listed")
    noise = np.empty(n, dtype=np.int64)
    noise[listed] = np.array(found.counts) - 10**9
    # Two numbers of rate 1/1000 are equal with probability below 1/3000.
    for lag in (1, 2, 512, 4096, 1 << 16, 1 << 17, (1 << 17) + 1):
        if lag < n:
            equal = int(np.count_nonzero(noise[lag:] == noise[:-lag]))
            same: Counter[Hashable] = Counter({True: equal, False: n - lag - equal})
            most = Fraction(1, 1500)
            gate(same, n - lag, {True: (Fraction(0), most), False: (1 - most, Fraction(1))})
    half = Fraction(1, 2)
    for part in np.array_split(noise, 16):
        signs: Counter[Hashable] = Counter((part > 0).tolist())
        near = Fraction(1, 1000)
        gate(signs, part.size, {True: (half - near, half), False: (half, half + near)})


def _part(n: int, i: int) -> Fraction:
    return Fraction((n * (i + 1) - 1) // 16 - (n * i - 1) // 16, n)
