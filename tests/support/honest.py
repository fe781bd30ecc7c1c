"""Honest releases of every mechanism, with many parameters, each on a ledger of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from observed_calls import CASES, MARKED, released
from written import BASE, tried

import safeselect as s
from safeselect.ledger import Ledger, log_lines

Call = Callable[..., Any]
Honest = tuple[str, Call, dict[str, Any]]
"""A name, a call that takes `ledger=`, and the caps of its budget."""

EPSILON: dict[str, Any] = {"epsilon": 50}
DELTA: dict[str, Any] = {"epsilon": 50, "delta": "1/2"}
RHO: dict[str, Any] = {"rho": 50}
SUMS: dict[str, Any] = {"epsilon": 50, "delta": "1/1000", "own_delta": "1/1000"}

_SESSIONS = ("SparseVector", "AdaptiveSparseVector", "PayWhatYouGet")
_OF_THE_SCOPE = {"ledger", "unit", "source", "moved", "neighbours"}
"""What another ledger, or another source, than those of `made` would be needed for."""


def cases() -> Iterator[Honest]:
    """The calls in which each parameter of each mechanism has some values."""
    for name, case in CASES.items():
        changes = [("", {}), *((word, each) for word, some in case.vary.items() for each in some)]
        for word, change in [*changes, *(("more", each) for each in case.more)]:
            if not _OF_THE_SCOPE & {word, *change}:
                args = {**case.args, **change}
                given = {k: v for k, v in args.items() if k not in MARKED and v is not None}
                rho = bool({"rho", "mu"} & given.keys())
                caps = {"rho": 10**6} if rho else {"epsilon": 10**6, "delta": "9/10"}
                yield f"{name}, {word}", partial(released, name, given), caps


def sessions() -> list[Honest]:
    return [each for each in cases() if each[0].partition(",")[0] in _SESSIONS]


def odd() -> Iterator[Honest]:
    """Labels of one text, numbers of odd types, grids with odd ends."""
    one: dict[str, Any] = {"epsilon": 1, "sensitivity": 1}
    alike = [type("Same", (), {"__str__": lambda self: "x"})() for _ in range(2)]
    rows = [[1, 2000], [2000, 1]]
    yield "labels of one text", partial(s.select_many, rows, labels=alike, **one), EPSILON
    yield "the same, all", partial(s.select_many, rows, labels=alike, k=2, **one), EPSILON
    tuples = [(1,), "(1,)"]
    yield "a tuple and its text", partial(s.top_k, [1, 2], labels=tuples, k=2, **one), EPSILON
    array = np.array([1, 2, 3])
    yield "labels of NumPy", partial(s.top_k, array, labels=array, k=3, **one), EPSILON
    yield "one candidate", partial(s.permute_and_flip, [1], **one), EPSILON
    for lowest, highest, step in (
        (Decimal("1E+5"), Decimal("1E+6"), 10_000),
        (-0.5, np.int64(9), 0.25),
        (Decimal("-0.50"), Decimal("1E+2"), "0.0001"),
        ("1/3", "22/3", "1/2"),
    ):
        grid: dict[str, Any] = {"lowest": lowest, "highest": highest, "step": step}
        yield "a grid", partial(s.quantile, [1.5], quantile=0.5, epsilon=1, **grid), EPSILON
    for score, place in ((np.float32(0.1), "1/10"), (float("inf"), 3), (1e22, 10**22)):
        given: dict[str, Any] = {"threshold": place, "base": BASE, "gamma": "1/2"}
        yield "a score of a float", partial(s.first_above, tried(score, 1), **given), EPSILON


def every() -> list[Honest]:
    """All of them, in one order."""
    return [*cases(), *odd()]


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
    result = getattr(result, "release", result)  # of a strategy, or a session that is settled
    return Made(result.to_json(), "".join(log_lines(records)).encode("ascii"), ledger.head)
