"""Every exception and every warning that safeselect raises on purpose.

One class for each decision that a caller can take.  Messages quote parameters, types and
positions in public lists; they never quote a score, a count, a random byte or a cell of a table,
because people who may read a log may not be allowed to read the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction


class SafeSelectError(Exception):
    """The base class for all safeselect exceptions except `testing.SensitivityExceeded`.

    It is never raised itself.
    """


class ParameterError(SafeSelectError, ValueError):
    """A public parameter, such as epsilon or a label, is invalid. Change the call."""


class ScoreError(SafeSelectError, ValueError):
    """The scores, counts or values have the wrong type or form. Change how you pass them."""


class InputError(SafeSelectError, ValueError):
    """A file or a table cannot be read as requested. Correct the input, or pass a different file,
    table or column name.
    """


class BudgetError(SafeSelectError, RuntimeError):
    """The privacy budget does not allow this release. Nothing is released.

    Attributes:
        scope: name of the scope of the ledger, if it is known.
        asked: cost of the refused release, by the names of the amounts.
        left: amount of each that the scope has left.
    """

    def __init__(
        self,
        message: str = "",
        *,
        scope: str | None = None,
        asked: Mapping[str, Fraction] | None = None,
        left: Mapping[str, Fraction] | None = None,
    ) -> None:
        super().__init__(message)
        self.scope = scope
        self.asked = dict(asked or {})
        self.left = dict(left or {})


class RepeatedRequest(BudgetError):
    """The request was already charged. Nothing is charged or drawn again.

    Attributes:
        scope: the names of the scopes of the call.
        record: place in the ledger of the record of the charge.
        outcome: "released", "settled" or "aborted"; None if the call is running, or its process
            ended.
    """

    def __init__(
        self,
        message: str = "",
        *,
        scope: str | None = None,
        record: int | None = None,
        outcome: str | None = None,
    ) -> None:
        super().__init__(message, scope=scope)
        self.record = record
        self.outcome = outcome


class LedgerError(SafeSelectError, RuntimeError):
    """The ledger cannot be used, for example because it is full. Nothing is released.

    A charge that was in progress may remain. It does not remain after `LedgerBusy`, and it does
    after `ChargeStands`.

    Attributes:
        sqlstate: PostgreSQL's code, if the server reported the failure.
        try_again: whether nothing was charged and the same call may succeed later.
    """

    sqlstate: str | None = None
    try_again: bool = False


class LedgerBusy(LedgerError):
    """Another process or thread holds the lock on the ledger.

    Nothing was charged. Try again.
    """

    try_again = True


class ChargeStands(LedgerError):
    """A charge remains in the ledger, but the answer is withheld.

    If the request has an outbox that contains the answer, `Ledger.finish` releases it. Otherwise
    the answer is lost.

    Attributes:
        charge: place in the ledger of the record of the charge.
    """

    def __init__(self, message: str = "", *, charge: int | None = None) -> None:
        super().__init__(message)
        self.charge = charge


class LedgerDamaged(LedgerError):
    """A record of the ledger is not valid. Inspect the ledger before you release anything."""


class LedgerRolledBack(LedgerError):
    """A known record, or the published head that was passed, is not in the ledger."""


class SourceError(SafeSelectError, RuntimeError):
    """The source of random bytes failed. There is no output. Any charge that was made remains."""


class SafeSelectWarning(UserWarning):
    """The call is allowed, but something about it may be wrong.

    An example is an epsilon above 10.
    """


def from_outside(error: BaseException) -> bool:
    """Whether an error came while values were read, but not of them, as an interrupt does.

    A panic of a Rust library comes of values, though it is no `Exception`.
    """
    return not isinstance(error, Exception) and type(error).__module__ != "pyo3_runtime"
