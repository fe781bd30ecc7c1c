"""Choosing among runs that are private themselves, such as a model for each hyper-parameter.

The number of runs K is never computed as a number that could be shown: one uniform number is held
against the exact law, one partial sum a run.  Whoever measures the time of a call, or counts its
runs, learns K all the same.

The whole call is charged before its first run.  That charge covers a run only if all that the run
releases together keeps the guarantee that was stated as `base`: a run takes a scope as `ledger=`
that checks this, and spends nothing.

What ends a run that is paid for is counted, and none of its words goes on.  Classes are asked by
`type`, and an error is asked nothing: its own methods may say anything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, Generic, NoReturn, TypeVar, final, get_args

from safeselect.accounting.moments import Base
from safeselect.accounting.repetition import AnyGuarantee, PoissonRepeated, Repeated
from safeselect.errors import ParameterError, ScoreError
from safeselect.exact.interval import Interval
from safeselect.exact.parameters import Number, describe, exact_text, rational
from safeselect.ledger.budget import Terms, price
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated, PureDP
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.randomness.guard import generation, sealed
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import Call, Charge, Scope, read_ledger
from safeselect.release.results import Numbers
from safeselect.scores.columns import hushed
from safeselect.scores.reading import flag
from safeselect.scores.reals import Place, place_of

_MORE = 64
_GUARD = 64  # digits of the sums beyond those of U; k runs round a sum less than 8 k times
_FAILED = (
    "a run failed: it raised an error, did not return (score, output), or released more than base "
    "covers. The reason is withheld because it can depend on private values. The charge remains; "
    "the ledger records it as 'aborted: input'. To see the error, make the same call on synthetic "
    "data without a ledger"
)
"""The one sentence for all faults of runs, after a charge."""

_Parts = tuple[tuple[AnyGuarantee, int], ...]
Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class NegativeBinomial:
    """P(K = k) is proportional to (1 - gamma)**k prod_{l < k} (l + eta) / (l + 1), k = 1, 2, ...

    For eta = 0 it is the logarithmic law, the limit; for eta = 1 the geometric one.
    """

    eta: Fraction
    gamma: Fraction

    def start(self, precision: int) -> tuple[Interval, Interval]:
        """P(K <= 0) and P(K = 1) = eta (1 - gamma) / (gamma**-eta - 1)."""
        log, rest = Interval.of(self.gamma, precision).log(), 1 - self.gamma
        first = self.eta * rest / (-(self.eta * log)).expm1() if self.eta else rest / -log
        return Interval.of(0, precision), first

    def ratio(self, k: int) -> Fraction:
        """P(K = k + 1) / P(K = k)."""
        return (1 - self.gamma) * (k + self.eta) / (k + 1)


@dataclass(frozen=True, slots=True)
class Poisson:
    """P(K = k) = exp(-mean) mean**k / k!, k = 0, 1, ..."""

    mean: Fraction

    def start(self, precision: int) -> tuple[Interval, Interval]:
        """P(K <= 0) and P(K = 1)."""
        none = (-Interval.of(self.mean, precision)).exp()
        return none, none * self.mean

    def ratio(self, k: int) -> Fraction:
        """P(K = k + 1) / P(K = k)."""
        return self.mean / (k + 1)


@final
@sealed
class Stopping:
    """K runs, K of a law.

    Method: inversion, K > k iff U >= P(K <= k), for a uniform real U whose digits are drawn until
        enclosures of the sum decide.
    Exactness: only enclosures decide, so the law is exact.
    Bits: `digits`, and 64 more with probability 2**(1 - digits) for each run.

    Args:
        law: of K.
        bits: where random bits come from.
        digits: how many digits of U are drawn at first; fewer than 128 in tests only.
    """

    __slots__ = ("_bits", "_law", "_next", "_runs", "_size", "_sum", "_u")

    def __init__(self, law: NegativeBinomial | Poisson, bits: Bits, digits: int = 128) -> None:
        self._law, self._bits = law, bits
        self._u, self._size = bits.take(digits), digits
        self._runs = 0
        self._sum, self._next = law.start(self._size + _GUARD)

    def goes_on(self) -> bool:
        """Whether one more run follows; the answer is given once for each run."""
        for _ in rounds(_MORE):
            low, high = self._sum.scaled(self._size)
            if self._u >= high:
                self._advance()
                return True
            if self._u + 1 <= low:
                return False
            self._refine()
        raise exhausted()

    def _advance(self) -> None:
        self._runs += 1
        self._sum = self._sum + self._next
        self._next = self._next * self._law.ratio(self._runs)

    def _refine(self) -> None:
        """Draw further digits of U, and add up the sum again with as many more."""
        self._u = self._u << _MORE | self._bits.take(_MORE)
        self._size += _MORE
        done, self._runs = self._runs, 0
        self._sum, self._next = self._law.start(self._size + _GUARD)
        for _ in range(done):
            self._advance()


@final
@sealed
class CoveredScope:
    """One run's scope: mechanisms take it as `ledger=`, and `check` takes other guarantees.

    Each release is refused before its first random bit if `base` does not cover the run with it:
    epsilons add up to a PureDP base and rhos to a ZeroConcentratedDP base.  A LaplaceDominated or
    BoundedRange base covers one release, which must be of that kind or a stronger one.

    Attributes:
        unit, neighbours: those of the scope that paid, or None where there is none.
    """

    __slots__ = ("_base", "_born", "_broken", "_ended", "_releases", "neighbours", "unit")
    name = "of a run"  # for messages
    utc = None  # the time is that of the call that paid

    def __init__(self, base: Base, paying: Scope | None) -> None:
        self._base = base
        self._releases: list[tuple[AnyGuarantee, _Parts]] = []
        self._broken = self._ended = False
        self._born = generation()
        self.unit = None if paying is None else paying.unit
        self.neighbours = None if paying is None else paying.neighbours

    def begin(self, charge: Charge, bits: Bits) -> CoveredScope:
        """Check that the run keeps its base; nothing is charged, and no bit is taken."""
        self.check(charge.guarantee, charge.parts)
        return self

    def check_open(self) -> None:
        """Refuse a release, or an answer of a session, after the run or in another process.

        The call charges for what one run shows.  A session that outlives its run could show what
        each of them saw.

        Raises:
            ParameterError: the run has ended, or belongs to another process.
        """
        if self._ended or generation() != self._born:
            raise ParameterError(
                "the scope of a run is valid only until the run returns, and only in its process; "
                "make all releases and session queries inside the run"
            )

    def check(self, guarantee: AnyGuarantee, parts: _Parts = ()) -> None:
        """Check a release that the run makes by other means, before it is made.

        Args:
            parts: what its draws cost, where that is known.

        Raises:
            ParameterError: `base` does not cover the run with it, or the run has ended.
        """
        self.check_open()
        self._releases.append((guarantee, parts))
        if not _covers(self._base, self._releases):
            self._refuse(guarantee)

    def released(self, output: str) -> None:
        """Do nothing: the call that paid has the receipt."""

    def settled(self, output: str, spent: Mapping[str, int]) -> None:
        """Do nothing: a session in a run has no receipt."""

    def end(self, error: BaseException | None) -> None:
        """Do nothing: the call that paid says what became of it."""

    def close(self) -> None:
        """Refuse from now on: its run has ended."""
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
            f"base={_said(self._base)} does not cover the run with release {len(self._releases)}, "
            f"{_said(guarantee)}; any charge remains. Pass the total cost of all releases of one "
            "run as base"
        )


def _covers(base: Base, releases: list[tuple[AnyGuarantee, _Parts]]) -> bool:
    if isinstance(base, (BoundedRange, LaplaceDominated)):
        # How several of them add up where one is chosen by the other is not proved for these kinds.
        kinds = BoundedRange if isinstance(base, BoundedRange) else (BoundedRange, LaplaceDominated)
        return len(releases) == 1 and all(
            isinstance(each, kinds) and each.epsilon <= base.epsilon for each, _ in releases
        )
    name, cap = ("epsilon", base.epsilon) if isinstance(base, PureDP) else ("rho", base.rho)
    if not cap or not all(isinstance(each, get_args(AnyGuarantee)) for each, _ in releases):
        return False
    terms = Terms(epsilon=cap) if name == "epsilon" else Terms(rho=cap)
    prices = [price(terms, guarantee, parts) for guarantee, parts in releases]
    return all(prices) and cap >= sum(each[name] for each in prices if each)


def _said(value: object) -> str:
    """A guarantee in words for a message; all are public."""
    if not is_dataclass(value):
        return str(value) if isinstance(value, Fraction) else describe(value)
    numbers = (getattr(value, each.name) for each in fields(value))
    return f"{type(value).__name__}({', '.join(map(_said, numbers))})"


class Ended(ScoreError):
    """What ended the runs; a ledger counts it, as it counts scores that cannot be read.

    Attributes:
        instead: what the call ends with.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(_FAILED)
        self.instead = empty(error)


def empty(error: BaseException) -> BaseException:
    """What goes on instead of an error that a run may have written: made of its class alone."""
    # Where nobody has loaded asyncio no run can raise its error.
    cancelled = getattr(sys.modules.get("asyncio.exceptions"), "CancelledError", GeneratorExit)
    for kind in (KeyboardInterrupt, GeneratorExit, cancelled):
        if issubclass(type(error), kind):
            return kind()
    return SystemExit(1) if issubclass(type(error), SystemExit) else ScoreError(_FAILED)


Found = tuple[()] | tuple[object, Out]
Run = Callable[[CoveredScope], tuple[Any, Out]]
"""run(scope) -> (score, output); both, and all that the run releases, keep `base` together."""


def best_of(
    run: Run[Out],
    *,
    base: Base,
    gamma: Number | None = None,
    eta: Number | None = None,
    mean: Number | None = None,
    minimize: bool = False,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Numbers[Any, Out]:
    """Run a differentially private mechanism a random number of times, and release only the
    result of the run with the best score.

    K follows a truncated negative binomial law: P(K = k) is proportional to (1 - gamma)**k prod_{l
    < k} (l + eta) / (l + 1) for k >= 1. It is geometric for eta = 1 (Liu and Talwar 2019) and
    logarithmic for eta = 0. Let f(x) = E[x**K], and let F(s) be the probability that the score of a
    run is at most s. Then a score s is released with probability f(F(s)) - f(F(s-)). Of equal
    scores, the first is released. To search over hyper-parameters, draw a setting at random inside
    each run; on average `guarantee.expected_runs` of them are tried.

    With `mean`, K follows a Poisson law and can be 0, in which case nothing is released. The number
    of runs then varies least, but the cost rises with the mean (Papernot and Steinke 2022, Theorem
    6).

    A fixed number of runs is different: it costs the composition of all runs.

    Guarantee: Repeated(base, eta, gamma): (2 + eta) epsilon if base is epsilon-DP, and Rényi
        bounds that `compose` and a ledger use (Papernot and Steinke 2022, Theorem 2); with `mean`
        PoissonRepeated(base, mean).
    Neighbours: those of base.
    Exactness: K is drawn by inversion with enclosures of partial sums; its law is exact.
    Reveals: the time of the call reveals K, and so do other effects of a run: files, logs, network
        traffic, warnings, progress bars. The guarantee does not cover what they reveal. K is not in
        the result or in any message. The ledger states the time of charges only to the precision of
        its clock, a day by default. What remains visible are runs that pass midnight or take days,
        the times of the ledger's files, the moments at which its lines, heads and events are sent
        elsewhere, and records that others write meanwhile. Anything that ends a run, such as an
        interrupt or sys.exit, ends the call. The guarantee does not cover this fact. A ledger
        counts it, as it counts scores that cannot be read: too many of them close the scope.

    Args:
        run: function that takes a scope and returns (score, output). Pass the scope to mechanisms
            as `ledger=`: it charges nothing, and refuses releases that `base` does not cover. Call
            `scope.check(guarantee)` for releases by other means; otherwise they are not checked. A
            score is an exact number or a float; NaN is worse than all others.
        base: guarantee of one run, including its score and output: PureDP, LaplaceDominated,
            BoundedRange or ZeroConcentratedDP.
        gamma: rational between 0 and 1; a smaller value means more runs.
        eta: rational, above -1 and at most 100 (default: 1); a smaller value costs less, but K
            varies more.
        mean: mean of a Poisson number of runs, a rational; instead of gamma and eta.
        minimize: smaller scores are better.
        source: source of random bytes for K; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: the whole call is charged there before the first run. A call
            that fails remains charged, and is not repeated. The error of a run may depend on
            private values, so its message is not passed on. To find mistakes, call without a ledger
            on synthetic data; then the run's own error is raised.

    Returns:
        Numbers: its `value` is the score of the chosen run, and its only label is the output. With
            `mean` it is empty if there was no run.

    Raises:
        ParameterError: a parameter is wrong; or, without a ledger, a run did not return a pair of a
            number and an output, or released more than `base` covers.
        ScoreError: with a ledger, a run failed. The reason is not shown, and the ledger counts the
            failure.
        KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, SystemExit: with a ledger, one of
            these ended a run. A new, empty exception of the class is raised (SystemExit as
            SystemExit(1)), and the ledger counts it.
        SourceError: the source failed.
        BudgetError: the ledger refuses the charge, or cannot be used (`LedgerError`).

    Example:
        >>> from safeselect import PureDP, best_of, permute_and_flip
        >>> def run(scope):
        ...     found = permute_and_flip([3, 900], epsilon=1, sensitivity=1, ledger=scope)
        ...     return found.index, found.label
        >>> chosen = best_of(run, base=PureDP(1), gamma="1/20")
        >>> chosen.labels, chosen.guarantee.pure.epsilon, chosen.guarantee.expected_runs
        ((1,), Fraction(3, 1), Fraction(20, 1))
    """
    guarantee, law = _repetition(base, gamma, eta, mean)
    smaller = flag(minimize, "minimize")
    parameters = {"minimize": "yes" if smaller else "no"}
    mechanism = "best_of/1" if mean is None else "best_of_poisson/1"
    charge = Charge(mechanism, guarantee, ((guarantee, 1),), parameters)
    scope = read_ledger(ledger, monotonic=False)
    return _Call(run, base, law, smaller, resolve(source), scope).released(charge, None)


def first_above(
    run: Run[Out],
    *,
    threshold: Number,
    base: Base,
    gamma: Number,
    minimize: bool = False,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Numbers[Any, Out]:
    """Run a differentially private mechanism until a score reaches a threshold or the call stops at
    random, and release only the result of a run that reached the threshold.

    After each run that does not reach the threshold, the call ends without a result with
    probability gamma. Let Q be the law of one run, and p the probability that a run passes. Then a
    passing output x is released with probability Q(x) / (gamma + (1 - gamma) p).

    Guarantee: PureDP(2 epsilon) if base is epsilon-DP, for every gamma (Liu and Talwar 2019,
        Algorithm 1, without their cap on the number of runs).
    Neighbours, Exactness, Reveals: as for `best_of`.

    Args:
        threshold: public rational of either sign, fixed before any run.
        base: guarantee of one run: PureDP, LaplaceDominated or BoundedRange.
        gamma: rational between 0 and 1; the expected number of runs is at most 1 / gamma.
        minimize: smaller scores are better; a score passes if it is at most the threshold.
        run, source, ledger: as for `best_of`.

    Returns:
        Numbers: as for `best_of`; empty if no run passed.

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `best_of`.

    Example:
        >>> from safeselect import PureDP, first_above, permute_and_flip
        >>> def run(scope):
        ...     found = permute_and_flip([3, 900], epsilon=1, sensitivity=1, ledger=scope)
        ...     return found.index, found.label
        >>> chosen = first_above(run, threshold=1, base=PureDP(1), gamma="1/20")
        >>> chosen.labels, chosen.guarantee
        ((1,), PureDP(epsilon=Fraction(2, 1)))
    """
    one = Repeated(base, 1, gamma)  # type: ignore[arg-type]  # it reads them, and checks the base
    if base.pure is None:
        raise ParameterError(
            "first_above has a privacy proof only for a base that is epsilon-DP, got "
            f"{describe(base)}; use best_of"
        )
    least, smaller = rational(threshold, "threshold", signed=True), flag(minimize, "minimize")
    guarantee = PureDP(2 * base.pure.epsilon)
    parameters = {
        "base": f"{type(base).__name__} {exact_text(base.pure.epsilon)}",
        "gamma": exact_text(one.gamma),
        "minimize": "yes" if smaller else "no",
        "threshold": exact_text(least),
    }
    law = NegativeBinomial(one.eta, one.gamma)
    charge = Charge("first_above/1", guarantee, ((guarantee, 1),), parameters)
    scope = read_ledger(ledger, monotonic=False)
    call = _Call(run, base, law, smaller, resolve(source), scope)
    return call.released(charge, _place(least, smaller))


def _repetition(
    base: object, gamma: Number | None, eta: Number | None, mean: Number | None
) -> tuple[Repeated | PoissonRepeated, NegativeBinomial | Poisson]:
    """The guarantee of the whole call, and the law of the number of runs."""
    if (gamma is None) is (mean is None) or (eta is not None and mean is not None):
        raise ParameterError(
            "pass either mean or gamma to best_of (eta only with gamma), for example gamma='1/20' "
            "or mean=20"
        )
    if mean is None:
        whole = Repeated(base, 1 if eta is None else eta, gamma)  # type: ignore[arg-type]
        return whole, NegativeBinomial(whole.eta, whole.gamma)
    counted = PoissonRepeated(base, mean)  # type: ignore[arg-type]  # it reads both
    return counted, Poisson(counted.mean)


@dataclass(frozen=True, slots=True, repr=False)
class _Call(Generic[Out]):
    """The steps of both: charge, run, compare, report.  The number of runs is nowhere kept."""

    run: Run[Out]
    base: Base
    law: NegativeBinomial | Poisson
    minimize: bool
    source: Source
    scope: Scope | None

    def __post_init__(self) -> None:
        if not callable(self.run):
            raise ParameterError(
                f"run must be a function of one argument, got {describe(self.run)}; for example "
                "def run(scope): return score, output"
            )

    def released(self, charge: Charge, enough: Place | None) -> Numbers[object, Out]:
        """Make the call; with a ledger, no word of a run comes out of it."""
        try:
            return self._released(charge, enough)
        except Ended as error:
            instead = error.instead
        except BaseException as error:
            # The ledger's, or the source's; else from outside, or of the class of an output.
            if self.scope is None or issubclass(type(error), Exception):
                raise
            instead = empty(error)
        raise instead  # from here, so that no frame behind it knows a score or the number of runs

    def _released(self, charge: Charge, enough: Place | None) -> Numbers[object, Out]:
        """Charge, make the runs, and release the best, or the first that is good enough."""
        with Call(charge, lambda: None, source=self.source, scope=self.scope) as call:
            runs = self._runs if self.scope is None else self._runs_charged
            found = runs(Stopping(self.law, call.bits), enough)
            call.bits.take(0)  # refuses in a child of a fork: it has the number of its parent
            return call.commit(Numbers(values=found[:1], labels=found[1:], **call.header))

    def _runs_charged(self, stopping: Stopping, enough: Place | None) -> Found[Out]:
        """As `_runs`, paid for: whatever ends a run is counted, and what comes between two as well.

        A run may have set a timer.  (A source that fails when K needs more digits counts too; one
        call in 2**100 asks for them.)
        """
        try:
            return self._runs(stopping, enough)
        except BaseException as error:  # noqa: BLE001 - its words are a run's
            ended = Ended(error)
        raise ended  # outside, so that it has no exception as its context

    def _runs(self, stopping: Stopping, enough: Place | None) -> Found[Out]:
        """The score and the output of the run to release; nothing where there is none."""
        best: tuple[Place, object, Out] | None = None
        while stopping.goes_on():
            place, score, output = self._once()
            # Strictly: of equal scores the first run's stays.
            if best is None or place > best[0]:
                best = place, score, output
            if enough is not None and place >= enough:
                return score, output
        return () if best is None or enough is not None else best[1:]

    def _once(self) -> tuple[Place, object, Out]:
        cover = CoveredScope(self.base, self.scope)
        try:
            returned = self.run(cover)
        finally:
            cover.close()
        cover.verify()
        if type(returned) is not tuple or len(returned) != 2:
            raise ParameterError("a run must return a pair: return score, output")
        score, output = returned
        return _place(score, self.minimize), score, output


def _place(score: object, minimize: bool) -> Place:
    """Where a score stands among all: larger is better; infinities have a place, NaN the last."""
    with hushed():  # a caller's class may raise anything
        side, number = place_of(score)
        return ((4 - side) if side else 0, -number) if minimize else (side, number)
    # Not quoted: the scores of runs that are not chosen are private.
    raise ParameterError(
        "a run must return (score, output) with a number as its score, such as 3, 0.5, "
        "Fraction(1, 2) or Decimal('0.5')"
    )
