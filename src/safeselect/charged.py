"""Charge, read, draw, commit: the order of a release whose input is not a list of candidates.

`selection._call` keeps the same order for scores of candidates.  Here it is for anything that can
be read by one function: counts of keys or of groups, numbers, or nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from safeselect.accounting.kinds import AnyGuarantee
from safeselect.promises.records import Statement
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source
from safeselect.selection._arguments import PendingRelease, Result, Scope
from safeselect.selection._call import UNREADABLE, once_charged

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release costs and is, in public terms.

    Attributes:
        mechanism: name of the mechanism and version of its law.
        guarantee: what it costs as a whole.
        parts: what its draws cost, each with how many there are.
        parameters: further public parameters, for the record.
    """

    mechanism: str
    guarantee: AnyGuarantee
    parts: tuple[tuple[AnyGuarantee, int], ...]
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Charged(Generic[_Read]):
    """A release that is paid for, inside `with charged(...)`.

    Attributes:
        values: what was read; private.
        bits: the random bits of this release.
        statement: what the result says of itself.
    """

    values: _Read
    bits: Bits
    statement: Statement
    _pending: PendingRelease | None

    def released(self, result: Result) -> Result:
        """The result; with a ledger it has its receipt, once its record is written."""
        return result if self._pending is None else self._pending.released(result)


@contextmanager
def charged(
    scope: Scope | None,
    source: Source,
    charge: Charge,
    read: Callable[[], _Read],
    *,
    unit: str | None = None,
    neighbours: str | None = None,
    unreadable: str = UNREADABLE,
) -> Iterator[Charged[_Read]]:
    """Charge the scope, read the values and give out the bits, in this order.

    Without a scope the values are read before the source is asked for anything.

    Args:
        unit: who is protected, where the values say it; a scope says it for itself.
        neighbours: which data sets are compared, where the call says it; else the scope does.
        unreadable: the one sentence for values that cannot be read after a charge.

    Raises:
        ScoreError: the values cannot be read.  After a charge there is one sentence for all
            reasons, because the reason depends on private values.
    """
    if scope is None:
        values = read()
        said = Statement.of(charge.parameters, unit=unit, neighbours=neighbours, utc=None)
        with Bits(source) as bits:
            yield Charged(values, bits, said, None)
        return
    pending = scope.prepare(charge.mechanism, charge.guarantee, charge.parts, charge.parameters)
    with Bits(source) as bits:
        try:
            said = Statement.of(
                charge.parameters,
                unit=scope.unit,
                neighbours=scope.neighbours if neighbours is None else neighbours,
                utc=pending.charge(source, bits),
            )
            yield Charged(once_charged(read, unreadable), bits, said, pending)
        except BaseException as error:
            pending.end(error)
            raise
        pending.end(None)


def is_replaced(scope: Scope | None) -> bool:
    """Whether a neighbour has another unit in the place of one; not so without a scope."""
    return scope is not None and scope.neighbours == "replace_one"


def unit_of(scope: Scope | None) -> str | None:
    """The unit of privacy that a scope protects; None without a scope."""
    return None if scope is None else scope.unit
