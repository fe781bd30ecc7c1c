"""What a ledger tells logs and metrics: public numbers, never data.

A hook runs outside the ledger's lock, after the record is on the disk.  So it may use the ledger,
and whatever it raises loses neither a charge nor a release.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, TypeVar

from safeselect.errors import (
    BudgetError,
    LedgerBusy,
    LedgerError,
    RepeatedRequest,
    SafeSelectWarning,
    SourceError,
)

__all__ = ["Event", "OnEvent", "reported"]

T = TypeVar("T")

_FAILURES: tuple[tuple[type[Exception], Literal["repeated", "refused", "busy", "failed"]], ...] = (
    (RepeatedRequest, "repeated"),
    (BudgetError, "refused"),
    (LedgerBusy, "busy"),
    (LedgerError, "failed"),
    (SourceError, "failed"),
)


@dataclass(frozen=True, slots=True)
class Event:
    """What happened at a ledger.

    Attributes:
        kind: "charged", "released", "settled" or "aborted", as the record that was written; or, if
            none was, "refused" for lack of budget or by a closed scope, "repeated" for a request
            that was charged before, "busy" if others held the lock, or "failed".
        scopes: the names of the scopes.
        mechanism: name of the mechanism and version of its law; empty from `Ledger.finish`.
        amounts: the price for each scope, by name as in `Balance.spent`; empty where none was
            worked out.
        seconds: how long the ledger took: to wait for its turn, check, write and sync.  The time
            that a mechanism takes may depend on data, and is never told.
    """

    kind: Literal[
        "charged", "released", "settled", "aborted", "refused", "repeated", "busy", "failed"
    ]
    scopes: tuple[str, ...]
    mechanism: str
    amounts: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict)
    seconds: Fraction = Fraction(0)


OnEvent = Callable[[Event], object]
"""A hook for logs and metrics."""


def reported(hook: OnEvent | None, event: Event, work: Callable[[], T]) -> T:
    """Do the work, and tell the hook what came of it.

    Args:
        event: what happened if the work succeeds.
    """
    if hook is None:
        return work()
    start = time.monotonic_ns()
    try:
        done = work()
    except Exception as error:
        for kind, name in _FAILURES:
            if isinstance(error, kind):
                _tell(hook, replace(event, kind=name, seconds=_since(start)))
                break
        raise
    _tell(hook, replace(event, seconds=_since(start)))
    return done


def _since(start: int) -> Fraction:
    return Fraction(time.monotonic_ns() - start, 10**9)


def _tell(hook: OnEvent, event: Event) -> None:
    try:
        hook(event)
    except Exception as error:  # noqa: BLE001 - a log that fails must lose no charge and no release
        # A filter may turn the warning into an error, which must not get out either.
        with suppress(Warning):
            warnings.warn(
                f"on_event failed with {type(error).__name__}", SafeSelectWarning, stacklevel=2
            )
