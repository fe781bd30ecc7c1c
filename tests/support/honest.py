"""Honest releases of every mechanism, with many parameters, each on a ledger of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from written import BASE, COUNTS, DAYS, tried

import safeselect as s
from safeselect.accounting.cost import PrivacyCost
from safeselect.estimates.users import best_max_groups, need_known, need_unknown
from safeselect.ledger import Ledger, log_lines
from safeselect.mechanisms.groups import plan_known, plan_unknown, release_by_group
from safeselect.promises.guarantees import ApproximateDP
from safeselect.randomness.source import resolve
from safeselect.release.results import Answers

Call = Callable[..., Any]
Honest = tuple[str, Call, dict[str, Any]]
"""A name, a call that takes `ledger=`, and the caps of its budget."""

EPSILON: dict[str, Any] = {"epsilon": 50}
DELTA: dict[str, Any] = {"epsilon": 50, "delta": "1/2"}
RHO: dict[str, Any] = {"rho": 50}
ORDER: dict[str, Any] = {"epsilon": 50, "delta": "1/1000", "order": 4}

SCORES: list[dict[str, Any]] = [
    {"sensitivity": 1},
    {"sensitivity": 1, "monotonic": True},
    {"range_": "3/2"},
    {"sensitivity": "1/2", "grid": "1/10", "minimize": True},
    {"sensitivity": 1, "grid": "1/4", "on_grid": True, "monotonic": True},
    {"sensitivity": 2, "grid": "1/8", "score_error": "1/100"},
    {"range_": 1, "grid": "1/3", "score_error": 0, "minimize": True},
    {"sensitivity": "0.3", "grid": "0.1", "monotonic": True},
]
COSTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"epsilon": "1/3"}, EPSILON),
    ({"epsilon": 2}, ORDER),
    ({"rho": "1/10"}, RHO),
]
WITH_DELTA: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *COSTS,
    ({"epsilon": "1/2", "delta": "1e-6"}, DELTA),
]
LISTS: list[Any] = [COUNTS, [3, 2000, 5, 7]]
ROWS: list[Any] = [[[3, 2000, 5], [2000, 3, 5], [1, 2, 3]], [COUNTS, COUNTS]]


def singles() -> Iterator[Honest]:
    gapped = s.permute_and_flip_with_gap, s.exponential_mechanism_with_gap
    plain = s.permute_and_flip, s.exponential_mechanism, s.exponential_mechanism_base2
    for place, (call, scores, (cost, caps)) in enumerate(product((*plain, *gapped), SCORES, COSTS)):
        more = {"gap_grid": ("1/7", None, 2)[place % 3]} if call in gapped else {}
        yield call.__name__, bound(call, LISTS[place % 2], **scores, **cost, **more), caps
    for place, (noise, scores, (cost, caps)) in enumerate(
        product(("exponential", "laplace", "gumbel"), SCORES, COSTS)
    ):
        for call in (s.report_noisy_max, s.report_noisy_max_with_gap):
            bind = bound(call, LISTS[place % 2], noise=noise, **scores, **cost)
            yield f"{call.__name__}, {noise}", bind, caps
    for scores, base in product(SCORES[:6], ("1/2", "99/100")):
        bind = bound(s.exponential_mechanism_base2, COUNTS, base=base, **scores)
        yield "a base of the whole range", bind, EPSILON
    for weights in ([1, "1/2", 0, 3], [0, 0, 1, 1]):
        for call in (s.exponential_mechanism, s.exponential_mechanism_base2):
            bind = bound(call, LISTS[1], weights=weights, epsilon=1, sensitivity=1)
            yield "weights", bind, EPSILON
    for weights in ([1, 2, 0, 3], [0, 0, 0, 5]):
        bind = bound(s.permute_and_flip, LISTS[1], weights=weights, epsilon=1, sensitivity=1)
        yield "copies", bind, EPSILON


def lists() -> Iterator[Honest]:
    names = "exponential", "exponential_base2", "permute_and_flip", "one_shot_exponential", None
    for place, (name, k, (cost, caps)) in enumerate(product(names, (1, 2, 3), WITH_DELTA)):
        scores = SCORES[place % len(SCORES)]
        yield (
            f"top_k, {name}",
            bound(s.top_k, LISTS[place % 2], k=k, mechanism=name, **scores, **cost),
            caps,
        )
    for scores, k, epsilon in product(SCORES, (1, 3), ("1/5", "1/100")):
        more = {"epsilon": epsilon, "delta": "1/1000", "mechanism": "laplace"}
        yield "top_k, laplace", bound(s.top_k, LISTS[k % 2], k=k, **more, **scores), DELTA
    for place, (noise, k, (cost, caps)) in enumerate(
        product(("exponential", "laplace"), (1, 2), COSTS)
    ):
        scores = SCORES[place % len(SCORES)]
        more: dict[str, Any] = {"gap_grid": "1/3", "noise": noise, **scores, **cost}
        yield "top_k_with_gaps", bound(s.top_k_with_gaps, LISTS[place % 2], k=k, **more), caps
    whole = [each for each in SCORES if "range_" not in each]
    for place, (scores, noise, threshold) in enumerate(
        product(whole, ("exponential", "laplace"), ("-5", 100, "10000000", "24999/7"))
    ):
        more = {"threshold": threshold, "noise": noise, "k": 1 + place % 3, "epsilon": "2/3"}
        yield "top_k_above", bound(s.top_k_above, LISTS[place % 2], **more, **scores), EPSILON
    for place, (name, (cost, caps)) in enumerate(product((*names[:3], None), WITH_DELTA)):
        for most in (None, 1, 2):
            scores = SCORES[place % len(SCORES)]
            given: dict[str, Any] = {"mechanism": name, "max_rows": most, **scores, **cost}
            rows = ROWS[place % 2]
            yield f"select_many, {name}", bound(s.select_many, rows, **given), caps
            yield f"top_k_many, {name}", bound(s.select_many, rows, k=1 + place % 3, **given), caps
    weighted: dict[str, Any] = {
        "weights": [0, 1, 2],
        "epsilon": 1,
        "sensitivity": 1,
        "mechanism": "exponential",
    }
    for name in ("exponential", "exponential_base2"):
        weighted["mechanism"] = name
        yield f"weights, {name}", bound(s.top_k, [3, 2000, 5], k=2, **weighted), EPSILON
        yield f"weights of rows, {name}", bound(s.select_many, ROWS[0], **weighted), EPSILON
        yield f"of lists, {name}", bound(s.select_many, ROWS[0], k=2, **weighted), EPSILON
    copies = {**weighted, "mechanism": "permute_and_flip"}
    yield "copies in rows", bound(s.select_many, ROWS[0], **copies), EPSILON
    noisy = {"weights": [0, 1, 2], "epsilon": 1, "sensitivity": 1, "noise": "gumbel"}
    yield "weights of noise", bound(s.report_noisy_max, [3, 2000, 5], **noisy), EPSILON


def unknown() -> Iterator[Honest]:
    places: list[Any] = [2, 5, (2, 4), (2, 2)]
    for k_bar, cap, delta, epsilon in product(
        places, (None, 1, 3, 40), ("1e-9", "1/100"), ("1/3", 2)
    ):
        given: dict[str, Any] = {"k": 2, "k_bar": k_bar, "epsilon": epsilon, "delta": delta}
        given |= {"places": "all", "max_contributions": cap, "noise": "gumbel"}
        yield "unknown_domain_top_k", bound(s.unknown_domain_top_k, COUNTS, **given), DELTA
        if cap is not None and not isinstance(k_bar, tuple):
            given["noise"] = None
            yield "the same with counts", bound(s.unknown_domain_top_k, COUNTS, **given), DELTA


def groups() -> Iterator[Honest]:
    counts = {"May": {"tea": 50_000, "milk": 20_000}, "June": {"7": 30_000}, "\u00e9": {}}

    def released(plan: Any, changed: int, told: dict[str, str], ledger: Any = None) -> Any:
        return release_by_group(
            plan, [*counts], changed, told, resolve(None), lambda: counts, scope=ledger
        )

    for changed, k, cap, k_bar in product((1, 3), (1, 2), (None, 1, 3), (2, 5)):
        total = ApproximateDP(1, "1e-9")
        plan = plan_unknown(total, (k, k_bar), changed, cap)
        told = {"k": str(k)} | ({} if cap is None else {"max_contributions": str(cap)})
        yield "groups of an unknown domain", bound(released, plan, changed, told), DELTA
    for (cost, caps), changed, k in product(WITH_DELTA, (1, 2), (1, 3)):
        paid = PrivacyCost.read(**{"rho": None, "epsilon": None} | cost)
        for name in (None, "permute_and_flip", "exponential"):
            plan = plan_known(paid, ["tea", "7", "milk"], k, changed, name)
            told = {"k": str(k), "candidates": "3"}
            yield "groups of candidates", bound(released, plan, changed, told), caps
    facts: list[tuple[Any, str]] = [
        ({3: 1}, "users in 3"),
        ({1: "3/4", 3: "1/4"}, "3/4 of users in 1, 1/4 of users in 3"),
    ]
    for shares, text in facts:
        exact = {each: Fraction(share) for each, share in shares.items()}
        paid = PrivacyCost.read(epsilon=1, rho=None)
        changed = best_max_groups(3, exact, need_known(paid, 2, None))
        told = {"k": "2", "candidates": "3", "groups_per_user": text}
        plan = plan_known(paid, ["tea", "7", "milk"], 2, changed, None)
        yield "stated facts", bound(released, plan, changed, told), EPSILON
        total = ApproximateDP(1, "1e-9")
        changed = best_max_groups(3, exact, need_unknown(total, 2, 3, None))
        plan = plan_unknown(total, (2, 3), changed, None)
        told = {"k": "2", "groups_per_user": text}
        yield "stated facts", bound(released, plan, changed, told), DELTA


def tables() -> Iterator[Honest]:
    for most, least, counted, epsilon in product((1, 2, 9), (1, 50), (False, True), ("1/2", 3)):
        given: dict[str, Any] = {"epsilon": epsilon, "delta": "1e-6", "max_partitions": most}
        given |= {"pre_threshold": least, "with_counts": counted}
        some = {str(place): place for place in range(1, 120)}
        yield "select_partitions", bound(s.select_partitions, some, **given), DELTA
        yield "partition_strategy", bound(s.partition_strategy, **given), DELTA
    for values in (COUNTS, [-(10**60), 0], [7]):
        for size in ("1/2", 3):
            yield "measure", bound(s.measure, values, epsilon="1/3", sensitivity_l1=size), EPSILON
            for cost in ({"rho": "1/9"}, {"mu": "2/5"}):
                more = {"sensitivity_l2_squared": size, **cost}
                yield "measure", bound(s.measure, values, **more), RHO


def points() -> Iterator[Honest]:
    grids: list[dict[str, Any]] = [
        {"lowest": 0, "highest": 99, "step": 1},
        {"lowest": -10, "highest": 95, "step": 7},
        {"lowest": 0, "highest": 3, "step": "2/7"},
        {"lowest": "1/3", "highest": "22/3", "step": "1/2"},
        {"lowest": Decimal("-0.50"), "highest": Decimal("1E+2"), "step": "0.0001"},
        {"lowest": Decimal("0.1"), "highest": Decimal(2), "step": "1/3"},
        {**DAYS, "step": 7},
        {"lowest": date(1, 1, 1), "highest": date(9999, 12, 31), "step": 1},
    ]
    for place, (grid, (cost, caps), ties) in enumerate(
        product(grids, WITH_DELTA, ("interval", "below"))
    ):
        dates = isinstance(grid["lowest"], date)
        values: list[Any] = [date(2024, 5, 1)] if dates else [1, 2, 2.5]
        asked = [["1/2"], ["1/4", "3/4", 0], ["9/10", "1/10"]][place % 3]
        given: dict[str, Any] = {**grid, **cost, "ties": ties}
        yield "quantiles", bound(s.quantiles, values, quantiles=asked, **given), caps
        if "delta" not in cost:
            given |= {"max_contributions": 1 + place % 3, "quantile": ("1/3", 0, 1)[place % 3]}
            yield "quantile", bound(s.quantile, values, **given), caps


def runs() -> Iterator[Honest]:
    bases: list[Any] = [BASE, s.LaplaceDominated("1/9"), s.BoundedRange("1/20")]
    for base, score in product(bases, (9, "7/2", 0.5, Decimal("3.25"), -4)):
        found: Any = Fraction(score) if isinstance(score, str) else score
        for given in ({"gamma": "1/2"}, {"gamma": "9/10", "eta": "-1/3"}, {"mean": 3}):
            more: dict[str, Any] = {"base": base, "minimize": score == 9, **given}
            yield "best_of", bound(s.best_of, tried(found, (1, "x")), **more), EPSILON
        for threshold in ("-4", "7/2"):
            more = {"base": base, "gamma": "1/2", "threshold": threshold, "minimize": score == -4}
            yield "first_above", bound(s.first_above, tried(found, "x"), **more), EPSILON
    rho = {"base": s.ZeroConcentratedDP("1/50"), "gamma": "1/2"}
    yield "runs of rho", bound(s.best_of, tried(1, 2), **rho), RHO


def sessions() -> Iterator[Honest]:
    whole = [each for each in SCORES if "range_" not in each and "minimize" not in each]

    def asked(kind: Any, values: list[Any], ledger: Any = None, **given: Any) -> Any:
        with kind(ledger=ledger, **given) as session:
            if values:
                session.query_many(values)
        return session

    for place, (kind, noise, scores) in enumerate(
        product(
            (s.SparseVector, s.AdaptiveSparseVector), ("exponential", "laplace", "geometric"), whole
        )
    ):
        given = {**scores, "threshold": ("7/2", -1, 10**5)[place % 3], "k": 1 + place % 3}
        given |= {"epsilon": "1/2", "noise": noise, "split": (None, "1/4")[place % 2]}
        given |= {"gap_grid": (None, "1/2")[place % 2]}
        values = [[], [10**9, -(10**9), 10**9, 10**9]][place // 2 % 2]
        yield kind.__name__, bound(asked, kind, values, **given), EPSILON

    def lists(asked: int, ledger: Any = None) -> Any:
        given: dict[str, Any] = {"outcomes": 9, "queries": 3, "epsilon": 1, "delta": "1e-9"}
        with s.PayWhatYouGet(**given, ledger=ledger) as session:
            for _ in range(asked):
                session.query(COUNTS, k=2, k_bar=(2, 3), places="all")
        return session

    for number in (0, 1, 3):
        yield "PayWhatYouGet", bound(lists, number), DELTA


def odd() -> Iterator[Honest]:
    """Labels of one text, numbers of odd types, grids with odd ends."""
    one: dict[str, Any] = {"epsilon": 1, "sensitivity": 1}
    alike = [type("Same", (), {"__str__": lambda self: "x"})() for _ in range(2)]
    rows = [[1, 2000], [2000, 1]]
    yield "labels of one text", bound(s.select_many, rows, labels=alike, **one), EPSILON
    yield "the same, all", bound(s.select_many, rows, labels=alike, k=2, **one), EPSILON
    yield "a tuple and its text", bound(s.top_k, [1, 2], labels=[(1,), "(1,)"], k=2, **one), EPSILON
    array = np.array([1, 2, 3])
    yield "labels of NumPy", bound(s.top_k, array, labels=array, k=3, **one), EPSILON
    yield "one candidate", bound(s.permute_and_flip, [1], **one), EPSILON
    ends: dict[str, Any] = {"lowest": Decimal("1E+5"), "highest": Decimal("1E+6"), "step": 10_000}
    yield "a coarse grid", bound(s.quantile, [1.5], quantile=0.5, epsilon=1, **ends), EPSILON
    ends = {"lowest": -0.5, "highest": np.int64(9), "step": 0.25}
    yield "a grid of floats", bound(s.quantile, [1.5], quantile=0.5, epsilon=1, **ends), EPSILON
    for score, place in ((np.float32(0.1), "1/10"), (float("inf"), 3), (1e22, 10**22)):
        given: dict[str, Any] = {"threshold": place, "base": BASE, "gamma": "1/2"}
        yield "a score of a float", bound(s.first_above, tried(score, 1), **given), EPSILON


def bound(call: Call, *given: Any, **named: Any) -> Call:
    return lambda **more: call(*given, **named, **more)


def every() -> list[Honest]:
    """All of them, in one order."""
    kinds = singles, lists, unknown, groups, tables, points, runs, sessions, odd
    return [each for kind in kinds for each in kind()]


@dataclass(frozen=True)
class Made:
    """A release in JSON, the log of its ledger, and the head."""

    release: str
    log: bytes
    head: str


def made(call: Call, caps: dict[str, Any], neighbours: str = "add_remove") -> Made:
    """Release on a new ledger."""
    terms = {"unit": "person", "neighbours": neighbours}
    ledger = Ledger.create(":memory:", {"a": s.Budget(**terms, **caps)})
    result = call(ledger=ledger.scope("a", **terms, purpose="a test"))
    records = list(ledger.records())
    result = getattr(result, "release", result)  # of a strategy
    if not hasattr(result, "to_json"):  # a session: what the ledger committed to at its end
        session = getattr(result, "_session", result)
        turns = getattr(session, "turns", None) or session._turns
        spent = {name: int(number) for name, number in records[-1].content["spent"].items()}
        closed = Answers(**turns.header, spent=tuple(sorted(spent.items())))
        result = replace(closed, receipt=result.receipt)
    return Made(result.to_json(), "".join(log_lines(records)).encode("ascii"), ledger.head)
