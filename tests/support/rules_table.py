"""Every public name that draws random bits, in each variant, for the rules that hold of all.

`CALLS` release at once; `SESSIONS` are opened, and asked.  A new name, and a new word for
`mechanism` or `noise`, fails `tests/evidence/test_rules.py` until it stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from public import PUBLIC

EPSILON = "1/8"


@dataclass(frozen=True)
class Case:
    """A public name with the arguments that it needs beside its cost and change.

    Args:
        name: in `safeselect`.
        fixed: the arguments that make this variant.
        cost: what it costs; `double` costs twice as much.
        scores: three candidates, or rows of them, or counts; None for a session.
        ask: of a session, one query whose answer may be anything.
        prepared: whether it is made with the arguments, and then called with the scores.
        monotonic: whether it takes `monotonic=`; otherwise its counts are monotonic always.
    """

    name: str
    fixed: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=lambda: {"epsilon": EPSILON})
    scores: Any = None
    ask: Callable[[Any], Any] | None = None
    monotonic: bool = True
    prepared: bool = False

    @property
    def change(self) -> dict[str, Any]:
        """How far scores may move."""
        return {"sensitivity": 1} if self.monotonic else {}

    @property
    def delta(self) -> Fraction:
        """The delta that it costs."""
        return Fraction(self.cost.get("delta", 0))

    def run(self, scores: Any = None, **more: Any) -> Any:
        """Call it, or open it: with its own scores unless others are given."""
        function = PUBLIC[self.name]
        given = {**self.change, **self.cost, **self.fixed, **more}
        given = {name: value for name, value in given.items() if value is not None}
        if self.ask is not None:
            return function(**given)
        own = self.scores if scores is None else scores
        if self.prepared:
            labels = given.pop("labels", None)
            return function(**given)(own, labels=labels)
        return function(own, **given)


THREE = [3, 5, 4]
ROWS = [[3, 5, 4], [9, 9, 9], [1, 0, 1]]
COUNTS = {"a": 900, "b": 905, "c": 902}
BOTH = {"epsilon": EPSILON, "delta": "1e-6"}
ABOVE = {"threshold": 5, "k": 3}
LISTED = {"k": 2, "k_bar": 2, "places": "all"}

CALLS: dict[str, Case] = {
    "permute_and_flip": Case("permute_and_flip", scores=THREE),
    "exponential_mechanism": Case("exponential_mechanism", scores=THREE),
    "exponential_mechanism_base2": Case("exponential_mechanism_base2", scores=THREE),
    "select_many": Case("select_many", scores=ROWS),
    "top_k_many": Case("select_many", {"k": 2}, scores=ROWS),
    "permute_and_flip_with_gap": Case("permute_and_flip_with_gap", scores=THREE),
    "exponential_mechanism_with_gap": Case("exponential_mechanism_with_gap", scores=THREE),
    "unknown gumbel": Case(
        "unknown_domain_top_k", {**LISTED, "noise": "gumbel"}, BOTH, COUNTS, monotonic=False
    ),
    "unknown counts": Case(
        "unknown_domain_top_k", {**LISTED, "with_counts": True}, BOTH, COUNTS, monotonic=False
    ),
    "unknown laplace": Case(
        "unknown_domain_top_k",
        {**LISTED, "noise": "laplace", "max_contributions": 1},
        BOTH,
        COUNTS,
        monotonic=False,
    ),
    "unknown pair": Case(
        "unknown_domain_top_k",
        {"k": 2, "k_bar": (2, 4), "places": "all"},
        BOTH,
        COUNTS,
        monotonic=False,
    ),
}
for _word in ("exponential", "laplace", "gumbel"):
    for _name in ("report_noisy_max", "report_noisy_max_with_gap"):
        CALLS[f"{_name} {_word}"] = Case(_name, {"noise": _word}, scores=THREE)
for _word in ("exponential", "laplace"):
    CALLS[f"top_k_with_gaps {_word}"] = Case(
        "top_k_with_gaps", {"k": 2, "noise": _word}, scores=THREE
    )
    CALLS[f"top_k_above {_word}"] = Case(
        "top_k_above", {"k": 2, "noise": _word, "threshold": 4}, scores=THREE
    )
for _word in ("exponential", "exponential_base2", "permute_and_flip"):
    for _name, _more in (("select_many", {}), ("top_k_many", {"k": 2})):
        CALLS[f"{_name} {_word}"] = Case("select_many", {"mechanism": _word, **_more}, scores=ROWS)
for _word in ("exponential", "exponential_base2", "permute_and_flip", "one_shot_exponential"):
    CALLS[f"top_k {_word}"] = Case("top_k", {"k": 2, "mechanism": _word}, scores=THREE)
CALLS["top_k laplace"] = Case(
    "top_k", {"k": 2, "mechanism": "laplace"}, {"epsilon": EPSILON, "delta": "1/100"}, THREE
)

for _name in ("PermuteAndFlip", "ExponentialMechanism", "ExponentialMechanismBase2"):
    _word = _name.replace("Base2", "_base2")
    CALLS[f"prepared {_word}"] = Case(_name, scores=THREE, prepared=True)
for _word in ("exponential", "laplace", "gumbel"):
    CALLS[f"prepared noisy max {_word}"] = Case(
        "ReportNoisyMax", {"noise": _word}, scores=THREE, prepared=True
    )
for _word in ("exponential", "exponential_base2", "permute_and_flip", "one_shot_exponential"):
    CALLS[f"prepared top k {_word}"] = Case(
        "TopKMechanism", {"k": 2, "mechanism": _word}, scores=THREE, prepared=True
    )

SESSIONS: dict[str, Case] = {
    f"{_name} {_word}": Case(
        _name, {**ABOVE, "noise": _word}, ask=lambda session, value=5: session.query(value)
    )
    for _name in ("SparseVector", "AdaptiveSparseVector")
    for _word in ("exponential", "laplace", "geometric")
}
SESSIONS["PayWhatYouGet"] = Case(
    "PayWhatYouGet",
    {"outcomes": 9, "queries": 3},
    BOTH,
    ask=lambda session, counts=None: session.query(counts or COUNTS, k=2, k_bar=2, places="all"),
    monotonic=False,
)

KEYS: dict[str, Case] = {
    _name: Case("select_partitions", {"max_partitions": 1, **_more}, BOTH, COUNTS, monotonic=False)
    for _name, _more in (("keys", {}), ("keys with counts", {"with_counts": True}))
}
"""Releases whose number of counts is private: their requests tell it, and nothing else."""

EVERY = CALLS | SESSIONS | KEYS

ELSEWHERE = {
    "partition_strategy": "tests/mechanisms/test_keys.py: no counts when it is charged",
    "measure": "tests/mechanisms/test_measure.py: neighbours may replace",
    "best_of": "tests/mechanisms/test_runs.py: it takes a function, and no scores",
    "first_above": "tests/mechanisms/test_runs.py: the same",
    "quantile": "tests/mechanisms/test_quantiles.py: it takes values, and no scores",
    "quantiles": "tests/mechanisms/test_quantiles.py: the same",
}
"""What draws, and has the rules of the ledger in a file of its own, for this reason."""
