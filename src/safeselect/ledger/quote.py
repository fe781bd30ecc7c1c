"""The price of a call that is not made: nothing is charged, read or drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, cast, get_args

from safeselect.accounting.repetition import AnyGuarantee
from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.budget import View
from safeselect.randomness.bits import Bits
from safeselect.release.call import Charge


class _Told(Exception):
    def __init__(self, charge: Charge) -> None:
        super().__init__()
        self.charge = charge


@dataclass(frozen=True, slots=True)
class Quote:
    """A scope that mechanisms take as `ledger=`, which ends their call where others charge it."""

    unit: str
    neighbours: str
    name: str = "a quote"

    def asked(self, *_: object, **__: object) -> Quote:
        """Return the same: no request and no other scope changes the price."""
        return self

    __and__ = __rand__ = asked

    def begin(self, charge: Charge, bits: Bits) -> NoReturn:
        """End the call, before its data are read."""
        raise _Told(charge)


def quoted(asked: object, unit: str, neighbours: str) -> tuple[AnyGuarantee, View]:
    """Return the guarantee of a release, and those of its parts.

    Args:
        asked: a guarantee; what has one, such as a release; or a function that makes the call with
            the scope that it gets.

    Raises:
        ParameterError: it is none of these, or the function charges nothing.
    """
    if isinstance(asked, get_args(AnyGuarantee)):
        return cast("AnyGuarantee", asked), ()
    guarantee = getattr(asked, "guarantee", None)
    if isinstance(guarantee, get_args(AnyGuarantee)):
        parts = Counter(getattr(asked, "parts", ()))
        return cast("AnyGuarantee", guarantee), tuple(parts.items())
    if not callable(asked):
        raise ParameterError(
            "pass a guarantee such as PureDP('1/10'), a release, or a function of a scope such "
            f"as lambda scope: top_k(..., ledger=scope); got {describe(asked)}"
        )
    try:
        cast("Callable[[Quote], object]", asked)(Quote(unit, neighbours))
    except _Told as told:
        return told.charge.guarantee, told.charge.parts
    raise ParameterError("the function must pass its argument to a mechanism as ledger=")
