"""What a run takes as `ledger=`: it checks what the run releases, and spends nothing.

The whole call is charged before its first run.  That charge covers a run only if all that the run
releases together keeps the guarantee that was stated as `base`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, final

from safeselect.accounting.repetition import AnyGuarantee, Base, PoissonRepeated, Repeated
from safeselect.errors import ParameterError, SafeSelectError
from safeselect.exact.parameters import describe
from safeselect.ledger.balance import Budget
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated, PureDP
from safeselect.promises.records import guarantee_record
from safeselect.randomness.bits import Bits
from safeselect.randomness.memory import generation, sealed
from safeselect.release.call import Charge, Scope

_Parts = tuple[tuple[AnyGuarantee, int], ...]


@final
@sealed
class CoveredScope:
    """One run's scope: mechanisms take it as `ledger=`, and `check` takes other guarantees.

    Each release is refused before its first random bit if the run would then exceed `base`:
    epsilons add up to a PureDP base and rhos to a ZeroConcentratedDP base.  A LaplaceDominated or
    BoundedRange base covers one release, which must be of that kind or a stronger one.

    Attributes:
        unit, neighbours: those of the scope that paid, or None where there is none.
    """

    __slots__ = ("_base", "_born", "_broken", "_ended", "_releases", "neighbours", "unit")

    def __init__(self, base: Base, paying: Scope | None) -> None:
        self._base = base
        self._releases: list[tuple[AnyGuarantee, _Parts]] = []
        self._broken = self._ended = False
        self._born = generation()
        self.unit = None if paying is None else paying.unit
        self.neighbours = None if paying is None else paying.neighbours

    @property
    def name(self) -> str:
        """A name for messages."""
        return "of a run"

    def begin(self, charge: Charge, bits: Bits) -> _Covered:
        """Check that the run keeps its base; nothing is charged, and no bit is taken."""
        self.cover(charge.guarantee, charge.parts)
        return _Covered(self)

    def check_open(self) -> None:
        """Refuse a release, or an answer of a session, after the run or in another process.

        The call charges for what one run shows.  A session that outlives its run could show what
        each of them saw.

        Raises:
            ParameterError: the run has ended, or belongs to another process.
        """
        if self._ended or generation() != self._born:
            raise ParameterError(
                "a run's scope covers what this run releases, in its own process and until it "
                "returns; make the release, and ask its sessions, inside the run"
            )

    def check(self, guarantee: AnyGuarantee) -> None:
        """Check a release that the run makes by other means, before it is made.

        Raises:
            ParameterError: with it the run would exceed `base`, or the run has ended.
        """
        self.cover(guarantee, ())

    def cover(self, guarantee: AnyGuarantee, parts: _Parts) -> None:
        """As `check`, for a release that has parts."""
        self.check_open()
        self._releases.append((guarantee, parts))
        if not _covers(self._base, self._releases):
            self._refuse(guarantee)

    def end(self) -> None:
        """Close the scope: its run has ended."""
        self._ended = True

    def verify(self) -> None:
        """Check the whole run once more.

        Raises:
            ParameterError: a release was refused, and the run went on all the same.
        """
        # Threads of the run may have been checked at the same time: the whole is checked again.
        if self._broken or (self._releases and not _covers(self._base, self._releases)):
            self._refuse(self._releases[-1][0])

    def _refuse(self, guarantee: AnyGuarantee) -> NoReturn:
        self._broken = True
        raise ParameterError(
            f"a run may release what base={_said(self._base)} covers, and {_said(guarantee)} is "
            f"beyond it, being release {len(self._releases)} of the run; what was charged stays "
            "charged: write as base what all releases of one run cost together"
        )


@final
@sealed
class _Covered:
    """A release in a run: nothing is written, and the time is that of the call that paid."""

    __slots__ = ("_cover",)
    utc = None

    def __init__(self, cover: CoveredScope) -> None:
        self._cover = cover

    def check_open(self) -> None:
        """Refuse an answer of a session after the run, or in another process."""
        self._cover.check_open()

    def released(self, output: str) -> None:
        """Do nothing: there is no receipt."""

    def settled(self, output: str, spent: Mapping[str, int]) -> None:
        """Do nothing: a session in a run has no receipt."""

    def end(self, error: BaseException | None) -> None:
        """Do nothing: the call that paid says what became of it."""


def check_base(base: Base) -> None:
    """Check, before anything is charged, that runs can be held against this base.

    Raises:
        ParameterError: its number has more bits than a budget may have.
    """
    _covers(base, [])


def _covers(base: Base, releases: list[tuple[AnyGuarantee, _Parts]]) -> bool:
    if isinstance(base, (BoundedRange, LaplaceDominated)):
        # How several of them add up where one is chosen by the other is not proved for these kinds.
        kinds = BoundedRange if isinstance(base, BoundedRange) else (BoundedRange, LaplaceDominated)
        return len(releases) == 1 and all(
            isinstance(each, kinds) and each.epsilon <= base.epsilon for each, _ in releases
        )
    if isinstance(base, PureDP):
        name, cap = "epsilon", base.epsilon
        budget = Budget("run", "run", epsilon=cap) if cap else None
    else:
        name, cap = "rho", base.rho
        budget = Budget("run", "run", rho=cap) if cap else None
    try:
        return budget is not None and cap >= sum(
            budget.price(guarantee, parts)[name] for guarantee, parts in releases
        )
    except SafeSelectError:  # it has no price in these terms
        return False


def _said(guarantee: AnyGuarantee) -> str:
    """A guarantee in words for a message; all are public."""
    if isinstance(guarantee, Repeated):
        return f"Repeated({_said(guarantee.base)}, {guarantee.eta}, {guarantee.gamma})"
    if isinstance(guarantee, PoissonRepeated):
        return f"PoissonRepeated({_said(guarantee.base)}, {guarantee.mean})"
    try:
        kind, *numbers = map(str, guarantee_record(guarantee).values())
    except (AttributeError, TypeError):
        return describe(guarantee)
    return f"{kind}({', '.join(numbers)})"
