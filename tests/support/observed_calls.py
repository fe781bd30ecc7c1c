"""Calls of every public name that draws and can be charged, with other values of each parameter.

`CASES` are the names with a call each; `vary` has, for each parameter of the signature, calls in
which it has another value than in the first one.  `called` makes one of them and says what was
observed.  A new public name, and a new parameter, fails `tests/observed/` until it stands here.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
from judged import Observation
from observer import observed
from public import PUBLIC
from tapes import TapeSource

import safeselect
from safeselect import Budget, Counts, Ledger, PureDP, permute_and_flip, tables
from safeselect.errors import SafeSelectError
from safeselect.sources import CallbackSource

Args = dict[str, Any]
MARKED = ("tables", "moved", "people")
"""What only the table by hand reads."""


@dataclass(frozen=True)
class Case:
    """A public name, a call of it, and what is changed in others.

    Args:
        args: of the first call.
        vary: parameter -> what is changed to give it another value.
        more: further calls that a fault needs to be seen.
    """

    args: Args
    vary: dict[str, list[Args]] = field(default_factory=dict)
    more: list[Args] = field(default_factory=list)


class Watching:
    """A scope that notes what it is asked to charge, and lets the real one charge it."""

    def __init__(self, scope: Any, charges: list[Any]) -> None:
        self._scope, self._charges = scope, charges

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scope, name)

    name = property(lambda self: self._scope.name)
    unit = property(lambda self: self._scope.unit)
    neighbours = property(lambda self: self._scope.neighbours)

    def begin(self, charge: Any, bits: Any) -> Any:
        self._charges.append((charge.mechanism, charge.guarantee, tuple(charge.parts)))
        return self._scope.begin(charge, bits)

    def check_open(self) -> None:
        self._scope.check_open()


def _budget(args: Mapping[str, Any], neighbours: str) -> Budget:
    if args.get("mu") is not None:
        return Budget("person", neighbours, epsilon=10**6, delta="1/2")
    if args.get("rho") is not None:
        return Budget("person", neighbours, rho=10**6)
    return Budget("person", neighbours, epsilon=10**6, delta="9/10")


def called(name: str, args: Args) -> Observation:
    """Make one call on a ledger of its own."""
    given = {key: value for key, value in args.items() if key not in MARKED and value is not None}
    neighbours = given.pop("ledger", "add_remove")
    found = Observation(name, args, neighbours)
    ledger = Ledger.create(":memory:", {"a": _budget(given, neighbours)})
    scope = ledger.scope("a", unit="person", neighbours=neighbours, purpose="a test")
    given["ledger"] = Watching(scope, found.charges)
    with warnings.catch_warnings(), observed() as found.seen:
        warnings.simplefilter("ignore")
        try:
            _make(name, given, found)
        except SafeSelectError as error:
            found.refused = error
    for record in ledger.records():
        content: Any = record.content
        if content["kind"] == "charged":
            found.recorded.append((content["guarantee"], content["charges"][0]["charge"]))
    return found


def released(name: str, given: Args, ledger: Any) -> Any:
    """What a call returns that is charged to this scope."""
    found = Observation(name, given, "add_remove")
    _make(name, {**given, "ledger": ledger}, found)
    return found.result


def _make(name: str, given: Args, found: Observation) -> None:
    function = PUBLIC.get(name)
    if name in ("best_of", "first_above"):
        given["run"] = _RUNS[given["run"]]
        found.result = function(**given)
    elif name == "PayWhatYouGet":
        places = {key: given.pop(key) for key in ("k", "k_bar")}
        counts = given.pop("counts")
        with function(**given) as session:
            while session.remaining.queries and session.remaining.outcomes >= places["k"]:
                found.answers.append(session.query(counts, places="all", **places))
            found.result = session
    elif name in ("SparseVector", "AdaptiveSparseVector"):
        values = given.pop("values")
        with function(**given) as session:
            while session.remaining:
                for value in values:
                    if session.remaining:
                        found.answers.append(session.query(value))
            found.result = session
    elif name == "partition_strategy":
        strategy = found.result = function(**given)
        for key, users in _KEYS.items():
            strategy.keep_keyed(key, users)
            strategy.should_keep(users)
        strategy.keep_column(list(_KEYS.values()))
        if given.get("with_counts"):
            strategy.noisy_count_if_kept(40)
            strategy.noisy_count_keyed("d", 40)
    elif isinstance(function, type):
        scores, labels = given.pop("scores"), given.pop("labels", None)
        found.result = function(**given)(scores, labels=labels)
    else:
        function = function or getattr(tables, name)
        found.result = function(*[given.pop(key) for key in _FIRST if key in given], **given)


_FIRST = ("scores", "counts", "values", "table")
_KEYS = {"a": 1, "b": 9, "c": 40, "d": 300}


def _run(scope: Any) -> tuple[int, int]:
    chosen = permute_and_flip([3, 9, 5], epsilon="1/4", sensitivity=1, ledger=scope)
    return chosen.index, chosen.index


def _other_run(scope: Any) -> tuple[float, str]:
    found = permute_and_flip({"x": 1, "y": 2}, epsilon="1/4", sensitivity=1, ledger=scope)
    return float(found.label == "x"), found.label


def _third_run(scope: Any) -> tuple[Fraction, None]:
    found = permute_and_flip([7, 7], epsilon="1/4", sensitivity=1, ledger=scope)
    return Fraction(found.index, 2), None


_RUNS = {"first": _run, "second": _other_run, "third": _third_run}

# ------------------------------------------------------------------------ what all share

SCORES = [3, 41, 5, 17, 30]
ROWS = [[3, 41, 5], [9, 9, 8], [0, 50, 49], [7, 1, 30]]
NAMES = ["a", "b", "c", "d", "e"]
COUNTS = {"a": 930, "b": 925, "c": 910, "d": 890, "e": 40}
_FRACTIONS = [Fraction(31, 10), Fraction(411, 10), Fraction(52, 10), 17, Fraction(303, 10)]
_GRID = {"scores": _FRACTIONS, "grid": "1/4"}

_SOURCES: list[Args] = [{"source": TapeSource(seed=3)}, {"source": CallbackSource(os.urandom)}]
_SCOPES = [{"ledger": "add_remove"}, {"ledger": "replace_one"}]
_RANGES = [
    {"range_": 3, "sensitivity": None},
    {"range_": "7/2", "sensitivity": None},
    {**_GRID, "range_": "7/2", "sensitivity": None},
    {**_GRID, "range_": "7/2", "sensitivity": None, "score_error": 0},
    {"range_": "7/2", "sensitivity": None, "grid": "1/2", "on_grid": True},
]
_CHANGES = [{"sensitivity": 2}, {"sensitivity": "9/4"}]
_COSTS: dict[str, list[Args]] = {
    "epsilon": [{"epsilon": "1/2"}, {"epsilon": 2}],
    "rho": [{"rho": "1/8", "epsilon": None}, {"rho": "1/50", "epsilon": None}],
}
_BOTH: dict[str, list[Args]] = {
    "epsilon": [{"epsilon": "1/2"}, {"epsilon": 2}],
    "delta": [{"delta": "1/1000"}, {"delta": "1e-9"}],
}
_WEIGHTS = [
    {"weights": [1, 2, 0, "1/3", 5]},
    {"weights": {"a": 1, "b": "2/7", "c": 3, "d": 0, "e": 1}, "labels": NAMES},
]
_COPIES = [
    {"weights": [1, 2, 0, 3, 1]},
    {"weights": dict(zip(NAMES, [2, 1, 1, 0, 4], strict=True)), "labels": NAMES},
]


def _read(values: Args) -> dict[str, list[Args]]:
    """How numbers become scores, and where random bits and budgets come from."""
    return {
        "monotonic": [{"monotonic": True}, {"monotonic": True, "ledger": "replace_one"}],
        "minimize": [{"minimize": True}],
        "grid": [values, {**values, "grid": "3/7"}],
        "on_grid": [{"on_grid": True, "grid": "1/2"}],
        "score_error": [{**values, "score_error": 0}, {**values, "score_error": "1/3"}],
        "source": _SOURCES,
        "ledger": _SCOPES,
    }


_SCORED = {
    **_read(_GRID),
    **_COSTS,
    "sensitivity": _CHANGES,
    "range_": _RANGES,
    "scores": [
        {"scores": np.array([9.0, 8.0, 70.0])},
        {"scores": dict(zip(NAMES, SCORES, strict=True))},
    ],
    "labels": [{"labels": NAMES}, {"labels": [5, 4, 3, 2, 1]}],
}
_ONE: Args = {"scores": SCORES, "epsilon": 1, "sensitivity": 1}
_STEPS: dict[str, list[Args]] = {"gap_grid": [{"gap_grid": "1/2"}, {"gap_grid": 3}]}
_THIRDS: Args = {"scores": [[Fraction(each, 3) for each in row] for row in ROWS], "grid": "1/4"}
_MANY = {
    **_SCORED,
    **_read(_THIRDS),
    "range_": [*_RANGES[:2], {**_THIRDS, "range_": 3, "sensitivity": None}],
    "scores": [{"scores": np.array(ROWS[:2])}, {"scores": ROWS[1:]}],
    "labels": [{"labels": NAMES[:3]}, {"labels": [3, 1, 2]}],
    "delta": [{"delta": "1/1000"}, {"delta": "1e-9"}],
    "max_rows": [{"max_rows": 1}, {"max_rows": 3}, {"max_rows": 2, "delta": "1e-6"}],
    "mechanism": [
        {"mechanism": each} for each in ("permute_and_flip", "exponential", "exponential_base2")
    ],
    "weights": [
        {"weights": [1, 2, 0], "mechanism": "exponential"},
        {"weights": [1, "1/3", 3], "mechanism": "exponential_base2"},
        {"weights": [1, 0, 2], "mechanism": "permute_and_flip"},
    ],
}
_NOISES = [{"noise": "gumbel"}, {"noise": "laplace"}]
# Capped counts of users: between neighbours that replace one, one goes up and another one down.
_USERS = Counts({"a": 90, "b": 80, "c": 95}, places="all", max_contributions=2, unit="person")
_REPLACED: list[Args] = [
    {"scores": _USERS, "ledger": "replace_one", "moved": 2},
    {"scores": _USERS, "ledger": "replace_one", "moved": 2, "sensitivity": None, "range_": 1},
    {"scores": _USERS, "ledger": "replace_one", "moved": 2, "sensitivity": None, "range_": 2},
    {"scores": _USERS, "ledger": "replace_one", "moved": 2, "monotonic": True},
    {"scores": _USERS, "ledger": "add_remove", "moved": 1, "monotonic": True},
    {"scores": _USERS, "ledger": "add_remove", "moved": 1, "sensitivity": None, "range_": 1},
]
_LARGE = [{"scores": [*range(60)]}, {"scores": [each % 97 for each in range(5000)]}]
_PEELED = ("exponential", "exponential_base2", "permute_and_flip", "one_shot_exponential")
_SET: Args = {"mechanism": "laplace", "epsilon": "1/5", "delta": "1/100"}
_LISTS: dict[str, list[Args]] = {
    "k": [{"k": 1}, {"k": 3}],
    "delta": [{"delta": "1/1000"}, {"delta": "1e-9"}],
    "mechanism": [{"mechanism": each} for each in _PEELED],
    "weights": [
        {**each, "mechanism": mechanism} for each, mechanism in zip(_WEIGHTS, _PEELED, strict=False)
    ],
}

CASES: dict[str, Case] = {
    "permute_and_flip": Case(_ONE, {**_SCORED, "weights": _COPIES}, _REPLACED + _LARGE),
    "exponential_mechanism": Case(_ONE, {**_SCORED, "weights": _WEIGHTS}, _REPLACED + _LARGE),
    "exponential_mechanism_base2": Case(
        _ONE,
        {
            **_SCORED,
            "weights": _WEIGHTS,
            "base": [{"base": "1/2", "epsilon": None}, {"base": "3/4", "epsilon": None}],
        },
    ),
    "report_noisy_max": Case(
        {**_ONE, "noise": "exponential"},
        {
            **_SCORED,
            "noise": _NOISES,
            "weights": [{**each, "noise": "gumbel"} for each in _WEIGHTS],
        },
        [{**each, "noise": "laplace"} for each in _LARGE],
    ),
    "permute_and_flip_with_gap": Case(_ONE, {**_SCORED, **_STEPS}),
    "exponential_mechanism_with_gap": Case(_ONE, {**_SCORED, **_STEPS}),
    "report_noisy_max_with_gap": Case(
        {**_ONE, "noise": "exponential"}, {**_SCORED, **_STEPS, "noise": _NOISES}
    ),
    "top_k": Case(
        {**_ONE, "k": 2},
        {**_SCORED, **_LISTS},
        [
            _SET,
            *_REPLACED,
            {**_SET, "k": 3, "epsilon": "1/9"},
            {**_SET, "k": 4, "monotonic": True},
            {**_SET, "k": 2, "scores": [*range(40)]},
            {"mechanism": "exponential", "rho": "1/10", "epsilon": None, "k": 3},
            {"mechanism": "permute_and_flip", "delta": "1e-6", "k": 3},
        ],
    ),
    "top_k_with_gaps": Case(
        {**_ONE, "k": 2},
        {**_SCORED, **_STEPS, "k": [{"k": 1}, {"k": 4}], "noise": [{"noise": "laplace"}]},
    ),
    "top_k_above": Case(
        {**_ONE, "k": 2, "threshold": 20},
        {
            **{name: calls for name, calls in _SCORED.items() if name not in ("rho", "range_")},
            "gap_grid": _STEPS["gap_grid"],
            "k": [{"k": 1}, {"k": 5}],
            "threshold": [{"threshold": -4}, {"threshold": 35}],
            "noise": [{"noise": "laplace"}],
        },
    ),
    "select_many": Case(
        {**_ONE, "scores": ROWS},
        {**_MANY, "k": [{"k": 2}, {"k": 3}]},
        [{"scores": ROWS * 30}, *({**each, "k": 2} for calls in _MANY.values() for each in calls)],
    ),
}

_PREPARED = {
    "PermuteAndFlip": "permute_and_flip",
    "ExponentialMechanism": "exponential_mechanism",
    "ExponentialMechanismBase2": "exponential_mechanism_base2",
    "ReportNoisyMax": "report_noisy_max",
    "TopKMechanism": "top_k",
}
for _prepared, _function in _PREPARED.items():
    _given = CASES[_function]
    CASES[_prepared] = Case(
        _given.args,
        {name: calls for name, calls in _given.vary.items() if name not in ("scores", "labels")},
        _REPLACED if _prepared in ("PermuteAndFlip", "ExponentialMechanism") else [],
    )

# ------------------------------------------------------------------------ unknown domains and keys

_LISTED: Args = {
    "counts": COUNTS,
    "places": "all",
    "tables": [list(COUNTS.values())],
    "k": 2,
    "k_bar": 3,
    "epsilon": 1,
    "delta": "1e-6",
}
_FEWER = {"x": 700, "y": 690, "z": 30, "w": 5}
_OTHER: list[Args] = [
    {"counts": _FEWER, "tables": [list(_FEWER.values())]},
    {
        "counts": Counts(_FEWER, places="all", max_contributions=2),
        "places": None,
        "tables": [list(_FEWER.values())],
    },
]
_DRAWN = {"source": _SOURCES, "ledger": [{"ledger": "add_remove"}, {"ledger": "replace_one"}]}
CASES["unknown_domain_top_k"] = Case(
    _LISTED,
    {
        **_BOTH,
        **_DRAWN,
        "counts": _OTHER,
        "k": [{"k": 1}, {"k": 3}],
        "k_bar": [{"k_bar": 2}, {"k_bar": 4}, {"k_bar": (2, 4)}],
        "max_contributions": [{"max_contributions": 1}, {"max_contributions": 2}],
        "noise": [{"noise": "gumbel"}, {"noise": "laplace", "max_contributions": 2}],
        "with_counts": [{"with_counts": True}, {"with_counts": True, "k": 3}],
        "places": [{"places": 5}, {"places": 9}],
        "labels": [
            {"counts": list(COUNTS.values()), "labels": NAMES},
            {"counts": list(COUNTS.values()), "labels": ["u", "v", "w", "x", "y"]},
        ],
    },
    [
        {"noise": "gumbel", "max_contributions": 2},
        {"max_contributions": 3, "epsilon": 4},
        {"k": 3, "k_bar": (3, 4), "delta": "1/100"},
        {"with_counts": True, "k_bar": (3, 4), "epsilon": "1/2"},
        {"with_counts": True, "noise": "gumbel", "max_contributions": 1},
        {"with_counts": True, "max_contributions": 2},
    ],
)
_KEPT: Args = {"counts": COUNTS, "epsilon": 1, "delta": "1e-6", "max_partitions": 1}
_DECIDED: dict[str, list[Args]] = {
    **_BOTH,
    **_DRAWN,
    "max_partitions": [
        *({"max_partitions": most} for most in (2, 7, 8, 9)),
        {"max_partitions": 8, "delta": "1/100"},
        {"max_partitions": 8, "delta": "1e-3", "epsilon": 2},
        {"max_partitions": 40, "with_counts": True},
    ],
    "pre_threshold": [{"pre_threshold": 5}, {"pre_threshold": 950}],
    "with_counts": [{"with_counts": True}],
}
_CAPPED = Counts(COUNTS, places="all", max_contributions=2)
CASES["select_partitions"] = Case(
    _KEPT,
    {
        **_DECIDED,
        "counts": [{"counts": _CAPPED, "max_partitions": 2}, {"counts": _FEWER}],
        "labels": [
            {"counts": list(COUNTS.values()), "labels": NAMES},
            {"counts": [1, 2], "labels": ["x", "y"]},
        ],
    },
    [{"counts": _CAPPED, "max_partitions": 1, "moved": 2}],
)
CASES["partition_strategy"] = Case(
    {key: value for key, value in _KEPT.items() if key != "counts"}, _DECIDED
)

# ------------------------------------------------------------------------ sessions

_ABOVE: Args = {"threshold": 100, "k": 2, "epsilon": 1, "sensitivity": 1, "values": [9, 5000, 4000]}
_FAR: Args = {"values": [Fraction(93, 10), 5000, Fraction(40007, 10)]}
_ASKED = {
    **{name: calls for name, calls in _read({"grid": "1/4", **_FAR}).items() if name != "minimize"},
    "epsilon": _COSTS["epsilon"],
    "sensitivity": _CHANGES,
    "threshold": [{"threshold": -50}, {"threshold": "205/2"}],
    "k": [{"k": 1}, {"k": 5}],
    "noise": [{"noise": "laplace"}, {"noise": "geometric"}],
    "split": [{"split": "1/2"}, {"split": "1/9"}],
    "gap_grid": _STEPS["gap_grid"],
}
_SESSIONS: list[Args] = [
    {"noise": noise, "monotonic": one_way, "k": 3}
    for noise in ("exponential", "laplace", "geometric")
    for one_way in (False, True)
]
CASES["SparseVector"] = Case(_ABOVE, _ASKED, _SESSIONS)
CASES["AdaptiveSparseVector"] = Case(
    _ABOVE, {**_ASKED, "sigma": [{"sigma": 1}, {"sigma": 10**9}]}, _SESSIONS
)
_PAID: Args = {"outcomes": 7, "queries": 3, "epsilon": 1, "delta": "1e-6", "k": 2, "k_bar": 3}
_PAID |= {"counts": COUNTS, "tables": [list(COUNTS.values())]}
CASES["PayWhatYouGet"] = Case(
    _PAID,
    {
        **_BOTH,
        **_DRAWN,
        "outcomes": [{"outcomes": 2}, {"outcomes": 12}],
        "queries": [{"queries": 1}, {"queries": 6}],
    },
)

# ------------------------------------------------------------------------ numbers and quantiles

_SQUARED: Args = {"epsilon": None, "sensitivity_l1": None, "sensitivity_l2_squared": 2}
_TABLE = Counts(_FEWER, places="all", max_contributions=2, unit="person")
CASES["measure"] = Case(
    {"values": [5, -3, 90], "epsilon": 1, "sensitivity_l1": 1},
    {
        "epsilon": [{"epsilon": "1/2"}, {"epsilon": 3}],
        "rho": [{**_SQUARED, "rho": "1/8"}, {**_SQUARED, "rho": "1e-9"}],
        "mu": [{**_SQUARED, "mu": "1/2"}, {**_SQUARED, "mu": "3/2"}],
        "sensitivity_l1": [{"sensitivity_l1": 3}, {"sensitivity_l1": "5/2"}],
        "sensitivity_l2_squared": [
            {**_SQUARED, "rho": 1},
            {**_SQUARED, "rho": 1, "sensitivity_l2_squared": "7/2"},
        ],
        "values": [{"values": np.array([1, 2])}, {"values": _FEWER}],
        "labels": [{"labels": ["a", "b", "c"]}, {"labels": [3, 2, 1]}],
        "source": _SOURCES,
        "ledger": _SCOPES,
    },
    [
        {"values": _TABLE, "ledger": ledger, "moved": moved, **cost}
        for ledger, moved in (("add_remove", 2), ("replace_one", 4))
        for cost in (
            {"sensitivity_l1": 2},
            {"sensitivity_l1": 4},
            {**_SQUARED, "rho": 1},
            {**_SQUARED, "mu": 1, "sensitivity_l2_squared": 4},
        )
    ],
)
_VALUES: Args = {
    "values": [*range(0, 100, 3), 50, 50, 50],
    "lowest": 0,
    "highest": 120,
    "step": 1,
    "epsilon": 1,
}
_GRIDS: dict[str, list[Args]] = {
    "values": [{"values": [1, 2, 3]}, {"values": np.array([1.5, 99.0])}],
    "lowest": [{"lowest": -7}, {"lowest": "1/2"}],
    "highest": [{"highest": 99}, {"highest": 10**9}],
    "step": [{"step": 2}, {"step": "1/3"}],
    "epsilon": [{"epsilon": "1/2"}, {"epsilon": 2}],
    "rho": [{"rho": "1/8", "epsilon": None}, {"rho": "1/50", "epsilon": None}],
    "neighbours": [{"neighbours": "replace_one", "ledger": "replace_one"}],
    "ties": [{"ties": "below"}],
    "source": _SOURCES,
    "ledger": [{"ledger": "add_remove"}, {"ledger": "replace_one", "neighbours": "replace_one"}],
}
_REPLACING: Args = {"neighbours": "replace_one", "ledger": "replace_one"}
CASES["quantile"] = Case(
    {**_VALUES, "quantile": "1/2"},
    {
        **_GRIDS,
        "quantile": [{"quantile": "1/4"}, {"quantile": 1}, {"quantile": 0}, {"quantile": "9/10"}],
        "max_contributions": [{"max_contributions": 2}, {"max_contributions": 5}],
    },
    [
        {**_REPLACING, "quantile": "9/10"},
        {**_REPLACING, "quantile": 0, "max_contributions": 3},
        {"ledger": "replace_one"},
    ],
)
_SEVERAL = ["1/4", "1/2", "9/10"]
CASES["quantiles"] = Case(
    {**_VALUES, "quantiles": _SEVERAL},
    {
        **_GRIDS,
        "quantiles": [{"quantiles": ["1/3"]}, {"quantiles": [0, "1/8", "3/8", "7/8", 1]}],
        "delta": [{"delta": "1/1000"}, {"delta": "1e-9"}],
        "max_contributions": [
            {"max_contributions": 2, "quantiles": ["1/2"]},
            {"max_contributions": 3, "quantiles": ["1/2"]},
        ],
    },
    [{**_REPLACING, "ties": "below"}, {**_REPLACING, "rho": "1/9", "epsilon": None}],
)

# ------------------------------------------------------------------------ runs and groups

_QUARTER = PureDP("1/4")
_STOPPED: Args = {"run": "first", "base": _QUARTER, "gamma": "1/3"}
_REPEATED: dict[str, list[Args]] = {
    "run": [{"run": "second"}, {"run": "third"}],
    "base": [{"base": safeselect.LaplaceDominated("1/4")}, {"base": PureDP("2001/8000")}],
    "gamma": [{"gamma": "1/2"}, {"gamma": "1/9"}],
    "minimize": [{"minimize": True}],
    "source": _SOURCES,
    "ledger": _SCOPES,
}
CASES["best_of"] = Case(
    _STOPPED,
    {
        **_REPEATED,
        "eta": [{"eta": 0}, {"eta": 2}, {"eta": "-1/2"}],
        "mean": [{"mean": 3, "gamma": None}, {"mean": "1/2", "gamma": None}],
    },
)
CASES["first_above"] = Case(
    {**_STOPPED, "threshold": 1},
    {**_REPEATED, "threshold": [{"threshold": 2}, {"threshold": "-1/2"}]},
)

# ------------------------------------------------------------------------ tables


def _table(cells: Mapping[tuple[str, str], int], *names: str) -> pyarrow.Table:
    """So many users, each with one row, for each pair of a group and an item."""
    pairs = [pair for pair, users in cells.items() for _ in range(users)]
    columns = ([g for g, _ in pairs], [i for _, i in pairs], [*range(len(pairs))])
    return pyarrow.table(dict(zip(names, columns, strict=True)))


_MONTHS = {
    ("May", "a"): 90,
    ("May", "b"): 60,
    ("May", "c"): 10,
    ("June", "a"): 70,
    ("June", "c"): 50,
}
_OTHERS = {("May", "b"): 80, ("June", "a"): 20, ("June", "b"): 9, ("June", "c"): 3}
_TRIPS, _RIDES = (
    _table(_MONTHS, "month", "city", "rider"),
    _table(_OTHERS, "month", "city", "rider"),
)
_NAMED = _table(_MONTHS, "moon", "town", "who")
_BY_MONTH = [[90, 60, 10], [70, 0, 50]]
_BY_OTHER = [[0, 80, 0], [20, 9, 3]]
_CITIES: Args = {"candidates": ["a", "b", "c"]}
_COLUMNS: Args = {"table": _TRIPS, "item": "city", "user": "rider"}
_OPENED: dict[str, list[Args]] = {"unit": [{"unit": "person"}, {"unit": "rider"}], **_DRAWN}
_SMALL: Args = {"table": tables.TableAs(_TRIPS, memory="200MB")}


def _totals(cells: list[list[int]]) -> list[int]:
    return [sum(counts) for counts in zip(*cells, strict=True)]


_ALL: Args = {"tables": [_totals(_BY_MONTH)]}
_ANY: Args = {**_COLUMNS, "epsilon": 1, "delta": "1e-6"}
_KNOWN: Args = {**_CITIES, "k_bar": None, "delta": None}
_RHOS: list[Args] = [{**_KNOWN, "rho": rho, "epsilon": None} for rho in ("1/8", "1/50")]
_OTHER_NAMES: Args = {"table": _NAMED, "item": "town", "user": "who"}
_BY_NAME: dict[str, list[Args]] = {"item": [_OTHER_NAMES], "user": [_OTHER_NAMES]}
_PEELS: list[Args] = [{**_CITIES, "delta": None, "mechanism": each} for each in _PEELED[:3]]
CASES["top_items_by_group"] = Case(
    {**_ANY, "group": "month", "groups": ["May", "June"], "k": 1, "k_bar": 2, "tables": _BY_MONTH},
    {
        **_BOTH,
        **_OPENED,
        "rho": _RHOS,
        "table": [{"table": _RIDES, "tables": _BY_OTHER}, {"table": _TRIPS.to_pandas()}],
        "group": [
            {**_OTHER_NAMES, "group": "moon"},
            {**_OTHER_NAMES, "group": "moon", "table": _NAMED.to_pandas()},
        ],
        "item": [{**_OTHER_NAMES, "group": "moon"}],
        "user": [{**_OTHER_NAMES, "group": "moon"}],
        "k": [{"k": 2}, {"k": 2, "max_groups": 2}],
        "groups": [
            {"groups": ["June"], "tables": _BY_MONTH[1:]},
            {"groups": ["June", "May"], "tables": _BY_MONTH[::-1]},
        ],
        "groups_are_public": [
            {"groups_are_public": True, "groups": None, "tables": _BY_MONTH[::-1]}
        ],
        "max_groups": [
            {"max_groups": 2},
            {"max_groups": "all"},
            {"max_groups": 2, "k_bar": None, **_CITIES},
        ],
        "groups_per_user": [{"groups_per_user": 1}, {"groups_per_user": {1: 5, 2: 5}}],
        "candidates": [
            _KNOWN,
            {"candidates": ["c", "a"], "k_bar": None, "tables": [[10, 90], [50, 70]]},
        ],
        "k_bar": [{"k_bar": 1}, {"k_bar": 3}],
        "max_contributions": [{"max_contributions": 1}, {"max_contributions": 2, "max_groups": 2}],
        "mechanism": [{**each, "k_bar": None} for each in _PEELS],
    },
    [
        {**_KNOWN, "max_groups": 2, "k": k, "mechanism": each}
        for each in _PEELED[:3]
        for k in (1, 2)
    ],
)
CASES["top_items"] = Case(
    {**_ANY, **_ALL, "k": 1, "k_bar": 2},
    {
        **_BOTH,
        **_OPENED,
        "rho": _RHOS,
        "table": [
            {"table": _RIDES, "tables": [_totals(_BY_OTHER)]},
            {"table": _TRIPS.to_pandas()},
            _SMALL,
        ],
        **_BY_NAME,
        "k": [{"k": 2}, {"k": 3, "k_bar": 5}],
        "candidates": [_KNOWN, {"candidates": ["c", "a"], "k_bar": None, "tables": [[60, 160]]}],
        "candidates_are_public": [{"candidates_are_public": True, "k_bar": None}],
        "k_bar": [{"k_bar": 1}, {"k_bar": 3}, {"k_bar": (1, 3)}, {"k_bar": None}],
        "max_contributions": [{"max_contributions": 1}, {"max_contributions": 2}],
        "with_counts": [{"with_counts": True}],
        "mechanism": [{**_KNOWN, "mechanism": each} for each in _PEELED]
        + [{**_CITIES, **_SET, "k_bar": None}],
        "rows": [{"rows": 280}, {"rows": 10**7}],
    },
)
CASES["select_keys"] = Case(
    {**_ANY},
    {
        **{name: calls for name, calls in _DECIDED.items() if name != "max_partitions"},
        **_OPENED,
        "max_partitions": [{"max_partitions": 2}, {"max_partitions": 8}],
        "noise": [{"noise": "gaussian", "max_partitions": 2}],
        # Of a table, keys below it are not even read: so some must lie above.
        "pre_threshold": [{"pre_threshold": 3}, {"pre_threshold": 5}],
        "table": [{"table": _RIDES}, {"table": _TRIPS.to_pandas()}, _SMALL],
        **_BY_NAME,
        "rows": [{"rows": 280}, {"rows": 10**7}],
    },
)
_SUMS = pyarrow.table({"fare": [7, 9, 30, 41] * 20, "rider": [*range(80)]})
_ASKS: Args = {"table": _SUMS, "value": "fare", "user": "rider", "of": "largest"}
_OWED = pyarrow.table({"owed": [3, 4], "who": [1, 2]})
CASES["table_quantiles"] = Case(
    {**_ASKS, "quantiles": _SEVERAL, "lowest": 0, "highest": 120, "step": 1, "epsilon": 1},
    {
        **{name: calls for name, calls in _GRIDS.items() if name != "values"},
        **{name: calls for name, calls in _OPENED.items() if name not in _GRIDS},
        "quantiles": [{"quantiles": ["1/3"]}, {"quantiles": [0, "1/8", "3/8", "7/8", 1]}],
        "delta": [{"delta": "1/1000"}, {"delta": "1e-9"}],
        "table": [{"table": _SUMS.to_pandas()}, {"table": _OWED, "value": "owed", "user": "who"}],
        "value": [{"table": _OWED, "value": "owed", "user": "who"}],
        "user": [{"table": _OWED, "value": "owed", "user": "who"}],
        "of": [{"of": "smallest"}, {"of": "sum"}],
    },
)
CASES["choose_cap"] = Case(
    {**_COLUMNS, "epsilon": 1, "most": 4, "people": 280},
    {
        **_OPENED,
        "epsilon": _COSTS["epsilon"],
        "table": [{"table": _RIDES, "people": 112}, {"table": _TRIPS.to_pandas()}],
        **_BY_NAME,
        "most": [{"most": 2}, {"most": 9}],
        "share": [{"share": "1/2"}, {"share": "1/3"}],
    },
)

# ------------------------------------------------------------------------ what is not called

ELSEWHERE: dict[str, str] = {
    "safeselect.adapters.diffprivlib.quantile": "quantile, for a list of another library",
    "safeselect.adapters.opendp.make_report_noisy_max": "its cost is the other library's map",
    "safeselect.adapters.opendp.make_top_k": "the same",
    "safeselect.adapters.opendp.make_top_k_with_gaps": "the same",
    "safeselect.adapters.synthetic_data.exponential_mechanism": "exponential_mechanism with floats",
}
"""Names that draw by way of others: `tests/adapters/` has their own tests."""

ONE_VALUE: dict[tuple[str, str], str] = {
    **{(name, "weights"): "refused" for name in CASES if name.endswith(("_gap", "_gaps"))}
}
"""Parameters of which not all values can be tried here."""
