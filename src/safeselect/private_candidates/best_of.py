"""The best of a random number of private runs, and the first that passes a threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from safeselect.accounting.repetition import Base, PoissonRepeated, Repeated, Repetition
from safeselect.charged import charged
from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, describe, rational
from safeselect.private_candidates._cover import CoveredScope, check_base
from safeselect.private_candidates._ending import Ended, empty
from safeselect.private_candidates._results import ChosenRun, Out
from safeselect.private_candidates._stopping import NegativeBinomial, Poisson, Stopping
from safeselect.promises.guarantees import PureDP
from safeselect.promises.records import exact_text
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import Charge, Scope, read_ledger
from safeselect.scores.columns import hushed
from safeselect.scores.reading import flag
from safeselect.scores.reals import Place, place_of
from safeselect.selection._results import source_name

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
) -> ChosenRun[Out]:
    """Run a private mechanism K times, and release the run with the best score alone.

    K has a truncated negative binomial law, P(K = k) proportional to
    (1 - gamma)**k prod_{l < k} (l + eta) / (l + 1) for k >= 1: geometric for eta = 1 (Liu and
    Talwar 2019), logarithmic for eta = 0.  With f(x) = E x**K and F(s) the chance that a run's
    score is at most s, a score s is released with probability f(F(s)) - f(F(s-)).  Of equal scores
    the first run's counts.  A random choice of a hyper-parameter belongs into the run: its every
    run then tries one, and `guarantee.expected_runs` are tried.

    With `mean` K is Poisson instead, may be 0, and then nothing is released: the number of runs
    varies least, for a cost that rises with the mean (Papernot and Steinke 2022, Theorem 6).

    A fixed number of runs is something else: it costs the composition of all of them.

    Guarantee: Repeated(base, eta, gamma): (2 + eta) epsilon where base is epsilon-DP, and Rényi
        bounds that `compose` and a ledger use (Papernot and Steinke 2022, Theorem 2); with `mean`
        PoissonRepeated(base, mean).
    Neighbours: those of base.
    Exactness: K by inversion against enclosed partial sums; its law is exact.
    Reveals: the time of the call tells K, and so do other things that a run does: files, logs,
        network, warnings, progress bars.  Whoever sees them sees more than the guarantee covers.
        K is not in the result or in any message.  The ledger states the time of charges to its
        clock, a day by default: what remains are runs past midnight or for days, the times of its
        files, when its lines and heads are sent elsewhere or events told, and what others write
        meanwhile.  Whatever ends a run ends the call, an interrupt or sys.exit too; that it
        happened is not covered either, and a ledger counts it, as it counts scores that cannot be
        read: too many close the scope.

    Args:
        run: takes a scope and returns (score, output).  The scope goes to mechanisms as `ledger=`:
            it charges nothing, and refuses what `base` does not cover.  Releases by other means are
            checked by `scope.check(guarantee)`, or not at all.  A score is a number, exact or
            float; NaN is worse than all.
        base: what one run guarantees, its score and output included: PureDP, LaplaceDominated,
            BoundedRange or ZeroConcentratedDP.
        gamma: rational between 0 and 1; smaller means more runs.
        eta: rational, above -1 and at most 100, 1 by default; smaller costs less, and varies K
            more.
        mean: instead of gamma and eta: the mean of a Poisson number of runs, rational.
        minimize: smaller scores are better.
        source: source of random bytes for K; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: the whole call is charged there before the first run.  A call
            that fails stays charged, and is not repeated.  What ends a run may depend on private
            values, so none of its words goes on: find mistakes without a ledger, on made-up data,
            where a run's own error is raised.

    Returns:
        ChosenRun: with `mean`, its `found` is false where there was no run.

    Raises:
        ParameterError: a parameter is wrong; or, without a ledger, a run returned no pair of a
            number and an output, or released more than `base` covers.
        ScoreError: with a ledger, a run failed, for whatever reason; not told, and counted.
        KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, SystemExit: with a ledger, one of
            these ended a run.  They go on new and empty, and SystemExit as SystemExit(1); counted.
        SourceError: the source failed.
        BudgetError: the ledger refuses the charge, or cannot be used (`LedgerError`).

    Example:
        >>> from safeselect import PureDP, best_of, permute_and_flip
        >>> def run(scope):
        ...     found = permute_and_flip([3, 900], epsilon=1, sensitivity=1, ledger=scope)
        ...     return found.index, found.label
        >>> chosen = best_of(run, base=PureDP(1), gamma="1/20")
        >>> chosen.output, chosen.guarantee.pure.epsilon, chosen.guarantee.expected_runs
        (1, Fraction(3, 1), Fraction(20, 1))
    """
    guarantee, law = _repetition(base, gamma, eta, mean)
    smaller = flag(minimize, "minimize")
    parameters = {"minimize": "yes" if smaller else "no"}
    mechanism = "best_of/1" if mean is None else "best_of_poisson/1"
    charge = Charge(mechanism, guarantee, ((guarantee, 1),), parameters)
    return _Call(run, base, law, smaller, source, ledger).released(charge, None)


def first_above(
    run: Run[Out],
    *,
    threshold: Number,
    base: Base,
    gamma: Number,
    minimize: bool = False,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> ChosenRun[Out]:
    """Run a private mechanism until a run's score reaches a threshold, and release that run alone.

    After each run that does not reach it, the call ends with nothing with probability gamma.  With
    p the chance that a run passes, a passing output x is released with probability
    Q(x) / (gamma + (1 - gamma) p), Q being the law of one run.

    Guarantee: PureDP(2 epsilon) where base is epsilon-DP, whatever gamma (Liu and Talwar 2019,
        Algorithm 1, without their cap on the number of runs).
    Neighbours, Exactness, Reveals: as for `best_of`.

    Args:
        threshold: rational of either sign; public, and fixed before any run.
        base: what one run guarantees: PureDP, LaplaceDominated or BoundedRange.
        gamma: rational between 0 and 1; at most 1 / gamma runs are expected.
        minimize: smaller scores are better: a score passes that is at most the threshold.
        run, source, ledger: as for `best_of`.

    Returns:
        ChosenRun: its `found` is false where no run passed.

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `best_of`.

    Example:
        >>> from safeselect import PureDP, first_above, permute_and_flip
        >>> def run(scope):
        ...     found = permute_and_flip([3, 900], epsilon=1, sensitivity=1, ledger=scope)
        ...     return found.index, found.label
        >>> chosen = first_above(run, threshold=1, base=PureDP(1), gamma="1/20")
        >>> chosen.output, chosen.guarantee
        (1, PureDP(epsilon=Fraction(2, 1)))
    """
    one = Repeated(base, 1, gamma)  # type: ignore[arg-type]  # it reads them, and checks the base
    if base.pure is None:
        raise ParameterError(
            f"first_above is proved for a base with an epsilon, got {describe(base)}; use best_of"
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
    call = _Call(run, base, law, smaller, source, ledger)
    return call.released(charge, _place(least, smaller))


def _repetition(
    base: object, gamma: Any, eta: Any, mean: Any
) -> tuple[Repetition, NegativeBinomial | Poisson]:
    """The guarantee of the whole call, and the law of the number of runs."""
    if (gamma is None) is (mean is None) or (eta is not None and mean is not None):
        raise ParameterError(
            "best_of takes either gamma, with eta or without, or mean; write for example "
            "gamma='1/20', or mean=20"
        )
    if mean is None:
        whole = Repeated(base, 1 if eta is None else eta, gamma)  # type: ignore[arg-type]
        return whole, NegativeBinomial(whole.eta, whole.gamma)
    counted = PoissonRepeated(base, mean)  # type: ignore[arg-type]  # it reads both
    return counted, Poisson(counted.mean)


class _Call:
    """The steps of both: charge, run, compare, report.  The number of runs is nowhere kept."""

    __slots__ = ("_base", "_law", "_minimize", "_run", "_scope", "_source")

    def __init__(
        self,
        run: Run[Any],
        base: Base,
        law: NegativeBinomial | Poisson,
        minimize: bool,
        source: Source | None,
        ledger: Scope | None,
    ) -> None:
        if not callable(run):
            raise ParameterError(
                f"run must be a function of one argument, got {describe(run)}; write for example "
                "def run(scope): return score, output"
            )
        check_base(base)
        self._run, self._base, self._law = run, base, law
        self._minimize = minimize
        self._scope = read_ledger(ledger, monotonic=False)
        self._source = resolve(source)

    def released(self, charge: Charge, enough: Place | None) -> ChosenRun[Any]:
        """Make the call; with a ledger, no word of a run comes out of it."""
        try:
            return self._released(charge, enough)
        except Ended as error:
            instead = error.instead
        except BaseException as error:
            # The ledger's, or the source's; else from outside, or of the class of an output.
            if self._scope is None or issubclass(type(error), Exception):
                raise
            instead = empty(error)
        raise instead  # from here, so that no frame behind it knows a score or the number of runs

    def _released(self, charge: Charge, enough: Place | None) -> ChosenRun[Any]:
        """Charge, make the runs, and release the best, or the first that is good enough."""
        with charged(self._scope, self._source, charge, lambda: None) as call:
            runs = self._runs if self._scope is None else self._runs_charged
            found, score, output = runs(Stopping(self._law, call.bits), enough)
            return call.commit(
                ChosenRun(
                    output,
                    score,
                    found,
                    charge.guarantee,
                    charge.mechanism,
                    source_name(self._source),
                    call.statement,
                )
            )

    def _runs_charged(self, stopping: Stopping, enough: Place | None) -> tuple[bool, Any, Any]:
        """As `_runs`, paid for: whatever ends a run is counted, and what comes between two as well.

        A run may have set a timer.  (A source that fails when K needs more digits counts too; one
        call in 2**100 asks for them.)
        """
        try:
            return self._runs(stopping, enough)
        except BaseException as error:  # noqa: BLE001 - its words are a run's
            ended = Ended(error)
        raise ended  # outside, so that it has no exception as its context

    def _runs(self, stopping: Stopping, enough: Place | None) -> tuple[bool, Any, Any]:
        """Whether there is a run to release, its score and its output."""
        best: tuple[Place, Any, Any] | None = None
        while stopping.goes_on():
            place, score, output = self._once()
            # Strictly: of equal scores the first run's stays.
            if best is None or place > best[0]:
                best = place, score, output
            if enough is not None and place >= enough:
                return True, score, output
        if best is None or enough is not None:
            return False, None, None
        return True, best[1], best[2]

    def _once(self) -> tuple[Place, Any, Any]:
        cover = CoveredScope(self._base, self._scope)
        try:
            returned = self._run(cover)
        finally:
            cover.end()
        cover.verify()
        if type(returned) is not tuple or len(returned) != 2:
            raise ParameterError("a run must return a pair: return score, output")
        score, output = returned
        return _place(score, self._minimize), score, output


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
