"""Every name of a mechanism that a result can carry, with a call that gives such a result.

Noise and rates are written here by hand, from the published mechanisms; nothing is read from the
package's own tables.  A name that has no call here has no check, and `test_coverage.py` fails.

Each call is made with epsilon such that the noise has one nat for each unit of score.  Scores are
monotonic of sensitivity 1, unless a case says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import log, sqrt
from typing import Any, Literal

from checks.finding import Check
from checks.grids import grids
from checks.grouped import first_of_groups, rows_of_groups
from checks.runs import runs
from checks.tables import KEYS, MEASURES
from checks.weighted import weighted
from checks.weighted_keys import weighted_keys

from safeselect.mechanisms.select import (
    exponential_mechanism,
    exponential_mechanism_base2,
    exponential_mechanism_with_gap,
    permute_and_flip,
    permute_and_flip_with_gap,
    report_noisy_max,
    report_noisy_max_with_gap,
    select_many,
    top_k,
    top_k_above,
    top_k_with_gaps,
)
from safeselect.mechanisms.sessions import AdaptiveSparseVector, SparseVector
from safeselect.mechanisms.unknown import PayWhatYouGet, unknown_domain_top_k

Places = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OneShot:
    """A mechanism that is called once on a list, or on rows, of scores.

    Args:
        name: what its results carry as `mechanism`.
        call: (scores, arguments) -> a result.
        noise: the law of its noise.
        arguments: those that are always given.
        k: how many are chosen of each list.
        shape: "list", "rows", or "above", with a threshold as one more candidate.
        gaps: whether gaps are released.
        ordered: whether the order of the chosen is released.
        anew: whether noise is drawn anew for each of the k.
        cost: n -> what one call on n candidates costs, for a rate of one nat a unit.
        rate: n -> the noise rate for each unit of score that the documentation claims.
    """

    name: str
    call: Callable[..., Any]
    noise: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    k: int = 1
    shape: Literal["list", "rows", "above"] = "list"
    gaps: bool = False
    ordered: bool = True
    anew: bool = False
    cost: Mapping[str, Any] = field(default_factory=lambda: {"epsilon": 1})
    rate: Callable[[int], float] = field(default=lambda n: 1.0)

    def run(self, scores: Any, *, halved: bool = False, **more: Any) -> Any:
        """Call it; for rows the cost is that of each row, and `halved` halves the sensitivity."""
        # Stated by the row, so that no warning about a large total appears.
        rows = len(scores) if self.shape == "rows" else 1
        sensitivity = Fraction(1, rows * (1 + halved))
        given = {"monotonic": True, "sensitivity": sensitivity}
        given |= {**self.cost, **self.arguments, **more}
        if self.shape == "above":
            given.setdefault("threshold", -(10**9))
        return self.call(scores, **given)

    def places(self, result: Any) -> list[Places]:
        """The chosen places: of each row, in the order in which they are released."""
        if self.shape == "rows":
            return [tuple(row) for row in result.indices.reshape(-1, self.k).tolist()]
        found = getattr(result, "indices", None)
        if found is None:
            return [(result.index,)]
        return [tuple(found)]

    def released_gaps(self, result: Any) -> tuple[Fraction, ...]:
        """The gaps of a result; none if it releases none."""
        if not self.gaps:
            return ()
        return tuple(result.gaps) if hasattr(result, "gaps") else (result.gap,)


@dataclass(frozen=True, slots=True)
class SessionCase:
    """A sparse-vector session: `name` and `noise` as above, `open` its class."""

    name: str
    open: Callable[..., Any]
    noise: str

    @property
    def adaptive(self) -> bool:
        """Whether it has two branches."""
        return self.open is AdaptiveSparseVector


@dataclass(frozen=True, slots=True)
class ListCase:
    """A list from an unknown domain.

    Args:
        name, noise: as above.
        ask: (counts, k, k_bar, arguments) -> a result.
        arguments: those that are always given, the cost apart.
    """

    name: str
    noise: str
    ask: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)


_TWO: Mapping[str, Any] = {"k": 2}
_COST: Mapping[str, Any] = {"epsilon": 2}


def _one_shot() -> Iterator[OneShot]:
    """Written by hand: which noise a mechanism has is what is tested."""
    yield OneShot("permute_and_flip/1", permute_and_flip, "exponential")
    yield OneShot("exponential_mechanism/1", exponential_mechanism, "gumbel")
    yield OneShot("exponential_mechanism_base2/1", exponential_mechanism_base2, "gumbel")
    for name, call, noise in (
        ("permute_and_flip", permute_and_flip_with_gap, "exponential"),
        ("exponential_mechanism", exponential_mechanism_with_gap, "gumbel"),
    ):
        yield OneShot(f"{name}_with_gap/1", call, noise, gaps=True)
    for noise in ("exponential", "laplace", "gumbel"):
        word: dict[str, Any] = {"noise": noise}
        name = f"report_noisy_max_with_gap_{noise}/1"
        yield OneShot(f"report_noisy_max_{noise}/1", report_noisy_max, noise, word)
        yield OneShot(name, report_noisy_max_with_gap, noise, word, gaps=True)
        if noise != "gumbel":
            both = {**word, **_TWO}
            for name, call, shape in (
                ("top_k_with_gaps", top_k_with_gaps, "list"),
                ("top_k_above", top_k_above, "above"),
            ):
                kind: Any = shape
                yield OneShot(
                    f"{name}_{noise}/1", call, noise, both, 2, kind, gaps=True, cost=_COST
                )
    for mechanism, noise, anew in (
        ("exponential", "gumbel", False),
        ("exponential_base2", "gumbel", False),
        ("permute_and_flip", "exponential", True),
        ("one_shot_exponential", "exponential", False),
    ):
        word = {"mechanism": mechanism}
        both = {**word, **_TWO}
        yield OneShot(f"top_k_{mechanism}/1", top_k, noise, both, 2, anew=anew, cost=_COST)
        if mechanism == "one_shot_exponential":
            continue
        yield OneShot(f"select_many_{mechanism}/1", select_many, noise, word, shape="rows")
        for name, call in (("many", select_many), ("by_group", rows_of_groups)):
            if (name, mechanism) != ("by_group", "exponential_base2"):  # which groups refuse
                yield OneShot(
                    f"top_k_{name}_{mechanism}/1",
                    call,
                    noise,
                    both,
                    2,
                    "rows",
                    anew=anew,
                    cost=_COST,
                )
    small, word = {"epsilon": "1/5", "delta": "1/20"}, {"mechanism": "laplace", **_TWO}
    yield OneShot(
        "top_k_laplace/1",
        top_k,
        "laplace",
        word,
        2,
        ordered=False,
        cost=small,
        rate=_unordered_rate,
    )


def _unordered_rate(n: int) -> float:
    """Of Qiao, Su and Zhang (2021), Theorem 2.2, for epsilon = 1/5, delta = 1/20, k = 2, R = 1."""
    return 0.2 / (4 * sqrt(2 * log(n / 0.05)))


def _pay_what_you_get(counts: Any, **more: Any) -> Any:
    """One query of a session."""
    query = {key: more.pop(key) for key in ("k", "k_bar", "places")}
    with PayWhatYouGet(outcomes=6, queries=2, **more) as session:
        return session.query(counts, **query)


ONE_SHOT: Mapping[str, OneShot] = {case.name: case for case in _one_shot()}
"""By name."""

SESSIONS: Mapping[str, SessionCase] = {
    f"{word}_{noise}/1": SessionCase(f"{word}_{noise}/1", kind, noise)
    for word, kind in (
        ("sparse_vector", SparseVector),
        ("adaptive_sparse_vector", AdaptiveSparseVector),
    )
    for noise in ("exponential", "laplace", "geometric")
}
"""By name."""

LISTS: Mapping[str, ListCase] = {
    case.name: case
    for case in (
        ListCase("unknown_domain_top_k_gumbel/1", "gumbel", unknown_domain_top_k),
        ListCase(
            "unknown_domain_top_k_gumbel_with_counts/1",
            "gumbel",
            unknown_domain_top_k,
            {"with_counts": True},
        ),
        ListCase(
            "unknown_domain_top_k_laplace/1",
            "laplace",
            unknown_domain_top_k,
            {"max_contributions": 1},
        ),
        ListCase("top_k_by_group_gumbel/1", "gumbel", first_of_groups),
        ListCase("top_k_by_group_laplace/1", "laplace", first_of_groups, {"max_contributions": 1}),
        ListCase("pay_what_you_get_gumbel/1", "gumbel", _pay_what_you_get),
    )
}
"""By name."""


OTHERS: tuple[Check, ...] = (*weighted(ONE_SHOT), *grids(), *runs(), *weighted_keys())
"""With weights, quantiles, private runs, keys by weights."""


def names() -> tuple[str, ...]:
    """All names that a result can carry, in the order of this page."""
    others = dict.fromkeys(check.name.partition(": ")[0] for check in OTHERS)
    return (*ONE_SHOT, *LISTS, *SESSIONS, *KEYS, *MEASURES, *others)
