"""A release of another library on a ledger: what it costs is asserted, not proved here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import final, get_args

from safeselect.accounting.kinds import AnyGuarantee
from safeselect.errors import BudgetError, LedgerError, ParameterError, SourceError
from safeselect.exact.parameters import describe
from safeselect.ledger.entries import Charge
from safeselect.ledger.pending import Pending, Reason
from safeselect.ledger.records.record import text
from safeselect.release.results import Receipt

EXTERNAL = "external"
"""The source in the record of a release whose guarantee is asserted; no source has this name."""

_NAMED = re.compile(r"[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+)+", re.ASCII)
_OURS = re.compile(r"[a-z0-9_]+/[0-9]+", re.ASCII)


@final
class ExternalRelease:
    """A charged release of another library; `released` ends it, once.

    Leaving a `with` block without a release ends it too: with an exception as "input", because only
    the caller knows whether the exception depended on private values.  Such refusals are counted,
    and too many close the scope.
    """

    __slots__ = ("_pending",)

    def __init__(self, pending: Pending) -> None:
        """Only `Scope.charge` calls this."""
        self._pending: Pending | None = pending

    def released(self, output: str) -> Receipt:
        """Write a commitment to the output; show the output only after this returns.

        Args:
            output: the output as text, such as JSON; the ledger keeps its hash alone.

        Returns:
            Receipt: place of the record, and the salt that opens the commitment.

        Raises:
            ParameterError: the output is not text.
            BudgetError: a scope was closed in between; the charge stands.
            LedgerError: the outcome was written before, or could not be written; the charge stands.
        """
        if not isinstance(output, str):
            raise ParameterError(f"output must be text, got {type(output).__name__}")
        if self._pending is None:
            raise LedgerError("the outcome of this charge is in the ledger already")
        receipt = self._pending.released(output)
        self._pending = None
        return receipt

    def __enter__(self) -> ExternalRelease:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pending is None:
            return
        pending, self._pending = self._pending, None
        reason: Reason = "input"
        if error is None or isinstance(error, (BudgetError, LedgerError)):
            reason = "error"
        elif isinstance(error, SourceError):
            reason = "source"
        elif not isinstance(error, Exception):
            reason = "interrupt"
        # The charge stands with or without this record; an error is already being raised.
        with suppress(LedgerError):
            pending.aborted(reason)
        if error is None:
            raise LedgerError("the block ended without a release; the charge stands")


def external_charge(
    guarantee: object, mechanism: object, parameters: Mapping[str, str] | None
) -> Charge:
    """Return the charge of a release of another library.

    Raises:
        ParameterError: an argument is wrong.
    """
    if not isinstance(guarantee, get_args(AnyGuarantee)):
        raise ParameterError(
            f"guarantee must be one of safeselect's, such as PureDP(1), got {describe(guarantee)}"
        )
    name = text(mechanism, "mechanism")
    if not _NAMED.fullmatch(name) or _OURS.fullmatch(name):
        raise ParameterError(
            "mechanism must name the library first, such as 'opendp/laplace', and a version of its "
            f"law after that, if there is one: {name!r}"
        )
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ParameterError(f"parameters must map names to texts, got {describe(parameters)}")
    recorded = {
        text(key, "the name of a parameter"): text(value, "the value of a parameter")
        for key, value in (parameters or {}).items()
    }
    parts = ((guarantee, 1),)
    nonce = os.urandom(16)
    return Charge(name, guarantee, parts, recorded, EXTERNAL, "asserted", "not tested", nonce)
