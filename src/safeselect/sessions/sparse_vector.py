"""The sparse vector technique: which of many values lie above a threshold, and by how much."""

from __future__ import annotations

from fractions import Fraction
from types import TracebackType
from typing import final

from safeselect.engine import single
from safeselect.engine.single import Kind
from safeselect.exact.parameters import Number
from safeselect.promises.guarantees import LaplaceDominated, PureDP
from safeselect.randomness.memory import sealed
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import Scope, read_ledger
from safeselect.release.results import Receipt
from safeselect.selection._arguments import Values
from safeselect.selection._table import named_engine
from safeselect.sessions._answers import Answer, Answers
from safeselect.sessions._opening import leave
from safeselect.sessions._session import Session
from safeselect.sessions._terms import SessionArguments


@final
@sealed
class SparseVector:
    """Say for value after value whether it lies above a threshold, until k answers are above.

    The threshold gets noise X once, of scale sensitivity / (split * epsilon).  Each value gets its
    own noise Y, of scale c k sensitivity / ((1 - split) * epsilon); c is 2, or 1 if monotonic.
    If (value + Y) - (threshold + X) is at least 0, the answer is "above", and its gap is that
    difference rounded down to `gap_grid`.  Otherwise the answer is "below".  The means of
    exponential and geometric noise are public and are subtracted from the difference.  Values may
    be chosen after earlier answers were seen.

    Guarantee: all answers, gaps included, cost `epsilon`, which is charged when the session opens:
        LaplaceDominated(epsilon) with exponential and Laplace noise, PureDP(epsilon) with geometric
        noise (`docs/mathematics.md`, section 12; Ding et al. 2023).
    Neighbours: those for which `sensitivity` was computed; `monotonic=True` asserts add/remove
        neighbours for which all values that may be asked move the same way.
    Exactness: continuous noise is compared by bounds from the digits drawn.  Where these do not
        decide, further digits are drawn.  So ties cost nothing, and nothing is rounded.
    Reveals: the number of random bits depends on values with a probability below 2**-50 an answer.
        Integers of different lengths take slightly different times.  The tier "reference" hides
        neither.

    A session is one object for one process.  It cannot be copied or pickled, shows no noise, and
    refuses a child of a fork.  Threads may share it.  It is a context manager.

    With a ledger, one record charges the whole cost when the session opens.  A second record
    settles it when the session is exhausted or closed, and states how many of the k answers were
    used.  At a value that cannot be read the session ends, and the second record counts the
    refusal.  A session on a scope that is closed answers nothing.

    Args:
        threshold: rational, of either sign, in score units; public.
        k: how many answers above the threshold, 1 .. 2**20; answers below are free.
        epsilon: total cost of the session; positive rational.
        sensitivity: largest change of any one value, in score units, when one unit of privacy (a
            person, say) is added, removed or changed.
        monotonic: all values move the same way between neighbours; halves the values' noise.
        noise: "exponential" (the smallest variance), "laplace" or "geometric".
        split: the share of `epsilon` that the threshold's noise costs, between 0 and 1; by default
            1 / (1 + (c k)**(2/3)), which minimizes the variance of the gap.
        grid, on_grid, score_error: how values are read, as for `permute_and_flip`; without a grid
            every value must be an integer.  With one, the threshold too goes to the nearest step.
        gap_grid: public step of the gaps; by default that of the values.
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: epsilon is charged there before the first bit is drawn; close
            the session, or use a `with` block, to record its end.
        engine: "reference" for the scalar tier.

    Raises:
        ParameterError: a parameter is wrong.
        SourceError: the source failed.
    """

    __slots__ = ("_session",)

    def __init__(
        self,
        *,
        threshold: Number,
        k: int,
        epsilon: Number,
        sensitivity: Number,
        monotonic: bool = False,
        noise: Kind = "exponential",
        split: Number | None = None,
        grid: Number | None = None,
        on_grid: bool = False,
        score_error: Number | None = None,
        gap_grid: Number | None = None,
        source: Source | None = None,
        ledger: Scope | None = None,
        engine: str | None = None,
    ) -> None:
        setting = SessionArguments.read(
            threshold=threshold,
            k=k,
            epsilon=epsilon,
            sensitivity=sensitivity,
            monotonic=monotonic,
            noise=noise,
            split=split,
            grid=grid,
            on_grid=on_grid,
            score_error=score_error,
            gap_grid=gap_grid,
        )
        terms = setting.terms("sparse_vector", (None, Fraction(0), setting.answer))
        bytes_from = resolve(source)
        tier: single.Variates = named_engine(engine, single, single.REFERENCE)
        scope = read_ledger(ledger, monotonic=setting.monotonic)
        # All parameters are accepted and the guarantee is fixed; the next line draws the first bit.
        self._session = Session(terms, bytes_from, tier, scope)

    @property
    def guarantee(self) -> LaplaceDominated | PureDP:
        """The cost of the whole session, however many queries there are."""
        return self._session.terms.guarantee

    @property
    def mechanism(self) -> str:
        """Name of the mechanism and version of its law, such as "sparse_vector_laplace/1"."""
        return self._session.terms.mechanism

    @property
    def source(self) -> str:
        """The name of the source of random bytes."""
        return self._session.source

    @property
    def receipt(self) -> Receipt | None:
        """With `ledger=`, once the session is settled: the receipt of the record of its use."""
        return self._session.receipt

    @property
    def threshold_rate(self) -> Fraction:
        """The rate of the threshold's noise per score unit, 1 / scale."""
        return self._session.terms.noise_rate.rate / self._session.terms.reading.step

    @property
    def value_rate(self) -> Fraction:
        """The rate of the values' noise per score unit, 1 / scale."""
        (branch,) = self._session.terms.branches
        return branch.noise_rate.rate / self._session.terms.reading.step

    @property
    def remaining(self) -> int:
        """How many answers above the threshold are left."""
        return self._session.remaining

    def query(self, value: Number) -> Answer:
        """Answer for one value: an integer of any type, or any number if there is a `grid`.

        Raises:
            ScoreError: the value cannot be read, which ends the session.
            BudgetError: k answers above the threshold have been given, or the ledger's scope is
                closed.
            SourceError: the source failed, which ends the session; or the session had ended so
                before; or it was opened in another process.
            ParameterError: the session is closed.
        """
        return self._session.query(value)

    def query_many(self, values: Values) -> Answers:
        """Answer for value after value, as `query` does, up to the k-th answer above.

        Args:
            values: a list, a tuple, a one-dimensional NumPy array, or a column of another library.

        Raises:
            The same as `query`.
        """
        return self._session.query_many(values)

    def close(self) -> None:
        """End the session, drop the threshold's noise and, with a ledger, settle it.

        Raises:
            LedgerError: the record could not be written; `close` tries it again.
        """
        self._session.close()

    def __enter__(self) -> SparseVector:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        leave(self.close, error)
