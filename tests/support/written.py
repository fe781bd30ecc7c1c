"""Every kind of release, for the tests of their JSON; chance decides little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

import safeselect as s
from safeselect.accounting.cost import PrivacyCost
from safeselect.ledger import scope as charged
from safeselect.mechanisms.groups import plan_known, plan_unknown, release_by_group
from safeselect.mechanisms.keys import release_keys
from safeselect.mechanisms.weighted_keys import WeightedTerms
from safeselect.promises.guarantees import ApproximateDP
from safeselect.randomness.source import resolve

COUNTS = {"tea": 50_000, "milk": 20_000, 7: 30_000}
PARAMETERS: dict[str, Any] = {"epsilon": "1/3", "sensitivity": 1}
ROWS = [[3, 2000, 5], [2000, 3, 5]]
SET: dict[str, Any] = {"mechanism": "laplace", "epsilon": "1/10", "delta": "1e-6", "sensitivity": 1}
UNKNOWN: dict[str, Any] = {"k": 2, "k_bar": 3, "epsilon": 1, "delta": "1e-9", "places": "all"}

CALLS: dict[str, Callable[..., Any]] = {
    "a selection": partial(s.permute_and_flip, COUNTS, **PARAMETERS),
    "a position": partial(s.exponential_mechanism, [3, 90_000], monotonic=True, **PARAMETERS),
    "a base": partial(
        s.exponential_mechanism_base2, COUNTS, base="1/2", sensitivity="1/2", grid="1/1000"
    ),
    "a gap": partial(s.permute_and_flip_with_gap, COUNTS, gap_grid="1/7", **PARAMETERS),
    "of a range": partial(s.permute_and_flip, COUNTS, epsilon=1, range_="3/2"),
    "an odd label": partial(s.permute_and_flip, {(1, "b"): 1, None: 2}, **PARAMETERS),
    "a wild text": partial(s.permute_and_flip, {'"\udc80\n\x00\u2028é': 1}, **PARAMETERS),
    "a huge integer": partial(s.permute_and_flip, {-(10**19_000): 1}, **PARAMETERS),
    "a vast integer": partial(s.permute_and_flip, {10**30_000: 1}, **PARAMETERS),
    "top k": partial(s.top_k, COUNTS, k=2, **PARAMETERS),
    "top k of rho": partial(s.top_k, COUNTS, k=3, rho="1/10", sensitivity=1),
    "top k of delta": partial(s.top_k, [1, 2, 3], k=2, delta="1e-6", **PARAMETERS),
    "top k by base 2": partial(s.top_k, COUNTS, k=2, mechanism="exponential_base2", **PARAMETERS),
    "top k with gaps": partial(s.top_k_with_gaps, COUNTS, k=2, **PARAMETERS),
    "a set": partial(s.top_k, COUNTS, k=2, **SET),
    "a set of odd labels": partial(s.top_k, [1, 2, 3], labels=[{"a": 1}, 1, "1"], k=3, **SET),
    "rows": partial(s.select_many, ROWS, **PARAMETERS),
    "rows with labels": partial(s.select_many, ROWS, labels=["x", 2, 0.5], **PARAMETERS),
    "rows of mappings": partial(s.select_many, [COUNTS, COUNTS], k=2, **PARAMETERS),
    "rows of positions": partial(s.select_many, ROWS, k=2, rho=1, sensitivity=1),
    "above": partial(s.top_k_above, COUNTS, threshold=25_000, k=3, **PARAMETERS),
    "none above": partial(s.top_k_above, COUNTS, threshold=10**9, k=3, **PARAMETERS),
    "all above": partial(s.top_k_above, COUNTS, threshold=-1, k=3, **PARAMETERS),
    "discovered": partial(s.unknown_domain_top_k, COUNTS, **UNKNOWN),
    "discovered, capped": partial(
        s.unknown_domain_top_k,
        Counter({"tea": 70_000, Decimal(3): 60_000, 10**6000: 40_000}),
        noise="gumbel",
        max_contributions=2,
        **{**UNKNOWN, "k_bar": (2, 3)},
    ),
    "discovered with counts": partial(
        s.unknown_domain_top_k, COUNTS, max_contributions=3, **UNKNOWN
    ),
    "discovered with counts, no cap": partial(
        s.unknown_domain_top_k, COUNTS, with_counts=True, **UNKNOWN
    ),
    "nothing discovered": partial(s.unknown_domain_top_k, {}, max_contributions=3, **UNKNOWN),
}

ONE = PrivacyCost.read(epsilon=1, rho=None, delta=None)
KEYS: dict[str, Any] = {"epsilon": 1, "delta": "1e-9", "max_partitions": 3}


def by_group(plan: Any, *, k: int, ledger: Any = None, **told: str) -> Any:
    """Three groups, of which the last has no row."""
    groups = ["May", "June", "\u00e9"]
    counts = {"May": {"tea": 50_000, "milk": 20_000}, "June": {"7": 30_000}, "\u00e9": {}}
    told = {"k": str(k), **told}
    return release_by_group(plan, groups, 2, told, resolve(None), lambda: counts, scope=ledger)


TABLES: dict[str, Callable[..., Any]] = {
    "keys": partial(s.select_partitions, COUNTS, pre_threshold=10, **KEYS),
    "keys with counts": partial(
        s.select_partitions,
        {**COUNTS, "\u2028": 70_000, -(10**60): 90_000},
        with_counts=True,
        **KEYS,
    ),
    "keys by weights": lambda **o: release_keys(
        WeightedTerms.read(**KEYS), COUNTS, None, o.get("source"), o.get("ledger")
    ),
    "no keys": partial(s.select_partitions, {}, with_counts=True, **KEYS),
    "a strategy": lambda **o: s.partition_strategy(**KEYS, **o).release,
    "a strategy with counts": lambda **o: (
        s.partition_strategy(with_counts=True, pre_threshold=10, **KEYS, **o).release
    ),
    "a measurement": partial(s.measure, COUNTS, epsilon="1/3", sensitivity_l1=2),
    "a measurement of integers": partial(
        s.measure, [-(10**60), 0], epsilon="1/3", sensitivity_l1="1/2"
    ),
    "a discrete gaussian": partial(
        s.measure, [3, 4], labels=["x", (1, 2)], rho="1/8", sensitivity_l2_squared=1
    ),
    "a rounded gaussian": partial(s.measure, COUNTS, mu="1/8", sensitivity_l2_squared="3/2"),
    "groups": partial(by_group, plan_unknown(ApproximateDP(1, "1e-9"), (2, 3), 2, None), k=2),
    "groups with counts": partial(
        by_group, plan_unknown(ApproximateDP(1, "1e-9"), (2, 3), 2, 3), k=2, max_contributions="3"
    ),
    "groups of candidates": partial(
        by_group, plan_known(ONE, ["tea", "7", "milk"], 2, 2, None), k=2, candidates="3"
    ),
}
"""What is made of tables; their parameters are others than those of scores."""


def tried(score: Any, output: Any) -> Callable[[Any], tuple[Any, Any]]:
    """A run that always returns the same."""
    return lambda scope: (score, output)


DAYS = {"lowest": date(2024, 1, 1), "highest": date(2024, 12, 31), "step": 1}
GRID: dict[str, Any] = {"lowest": 0, "highest": 99, "step": 1, "epsilon": "1/3"}
BASE = s.PureDP("1/10")

POINTS: dict[str, Callable[..., Any]] = {
    "a median": partial(s.quantile, [1, 2, 3], quantile="1/2", **GRID),
    "a median from below": partial(s.quantile, [1, 2, 3], quantile="1/2", ties="below", **GRID),
    "quartiles": partial(
        s.quantiles, range(99), quantiles=["3/4", "1/4", "1/2"], ties="below", **GRID
    ),
    "a day": partial(s.quantile, [date(2024, 3, 1)], quantile=1, epsilon="1/3", **DAYS),
    "decimals": partial(
        s.quantiles,
        [],
        quantiles=["1/3", "2/3"],
        lowest=Decimal("-0.5"),
        highest=Decimal("0.5"),
        step="0.0000001",
        epsilon="1/3",
    ),
    "thirds and decimals": partial(
        s.quantiles,
        [0] * 10**5 + [1] * 10**5,
        quantiles=["1/100", "99/100"],
        lowest=Decimal(0),
        highest=Decimal(1),
        step="1/3",
        epsilon=1,
    ),
    "fractions": partial(
        s.quantile, [0.3], quantile="1/2", lowest="0", highest="1", step="1/7", epsilon="1/3"
    ),
    "a vast grid": partial(
        s.quantile, [], quantile=0, lowest=-(2**200), highest=2**200, step=1, epsilon="1/3"
    ),
    "the best of runs": partial(s.best_of, tried(3, "x"), base=BASE, gamma="1/2"),
    "the best of numbers": partial(
        s.best_of, tried(-(10**60), 10**60), base=BASE, gamma="1/2", eta="-1/2"
    ),
    "the best of odd runs": partial(s.best_of, tried(0.5, None), base=BASE, gamma="1/2"),
    "no run at all": partial(
        s.best_of, tried(1, 2), base=BASE, mean="1/1000000000000000000000000000000"
    ),
    "runs of poisson": partial(s.best_of, tried(1, 2), base=s.BoundedRange("1/20"), mean=60),
    "a run above": partial(s.first_above, tried(9, "x"), threshold=-5, base=BASE, gamma=0.5),
    "no run above": partial(s.first_above, tried(9, "x"), threshold=10, base=BASE, gamma="0.9"),
    "runs of rho": partial(
        s.best_of, tried(9, "x"), base=s.ZeroConcentratedDP("1/50"), gamma="1/2"
    ),
}
"""Points of grids, and chosen runs, which have other parameters than those of scores too."""

EVERY = CALLS | TABLES | POINTS

RHO = (
    *("top k of rho", "rows of positions", "a discrete gaussian", "a rounded gaussian"),
    "runs of rho",
)
"""Those that cost rho, which goes to a budget of its own."""


def opened(monkeypatch: Any, scope: Any) -> list[str]:
    """What a ledger commits to of two sessions, at the end of each."""
    seen: list[str] = []

    def spy(salt: bytes, output: str) -> str:
        seen.append(output)
        return real(salt, output)

    real = charged.commitment
    monkeypatch.setattr(charged, "commitment", spy)
    s.SparseVector(threshold=3, k=2, epsilon="1/2", sensitivity=1, ledger=scope).close()
    with s.PayWhatYouGet(outcomes=9, queries=3, epsilon=1, delta="1e-9", ledger=scope) as session:
        session.query(COUNTS, k=2, k_bar=2, places="all")
    return seen
