"""The adaptive sparse vector technique: values far above the threshold cost half."""

from __future__ import annotations

from fractions import Fraction
from types import TracebackType
from typing import final

from safeselect.engine import single
from safeselect.engine.single import Kind
from safeselect.exact.parameters import Number, rational
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
from safeselect.sessions._terms import SQRT2, SessionArguments


@final
@sealed
class AdaptiveSparseVector:
    """Say for value after value whether it lies above a threshold, with up to 2k answers above.

    The threshold gets noise X once, as in `SparseVector`.  With e1 = (1 - split) * epsilon / k and
    e2 = e1 / 2, each value gets two independent noises, of scale c sensitivity / e2 and
    c sensitivity / e1, c = 2, or 1 if monotonic.  The first gives the answer "top" if value + noise
    exceeds the noisy threshold by `sigma` or more; it costs e2.  Otherwise the second gives
    "middle" if value + noise is at least the noisy threshold; it costs e1.  Otherwise the answer is
    "below", and is free.  An answer above has a gap as in `SparseVector`, by the noise that gave
    it.  The session continues while e1 is left: the savings of "top" pay for further answers.

    Guarantee, Neighbours, Exactness, Reveals: as for `SparseVector`.  The remaining budget can be
        used in this session only: all of `epsilon` was charged when it opened.

    Args:
        k: how many answers above the threshold are guaranteed, 1 .. 2**20.
        sigma: positive rational, in score units; by default c sensitivity / e2 times the square
            root of 2 (a fraction near it), which is the standard deviation of that Laplace noise.
        threshold, epsilon, sensitivity, monotonic, noise, split, grid, on_grid, score_error,
            gap_grid, source, ledger, engine: as for `SparseVector`.

    Raises:
        ParameterError, SourceError: as for `SparseVector`.
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
        sigma: Number | None = None,
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
        half = setting.answer / 2
        margin = SQRT2 * setting.scale(half) if sigma is None else rational(sigma, "sigma")
        terms = setting.terms(
            "adaptive_sparse_vector", ("top", margin, half), ("middle", Fraction(0), setting.answer)
        )
        bytes_from = resolve(source)
        tier: single.Variates = named_engine(engine, single, single.REFERENCE)
        scope = read_ledger(ledger, monotonic=setting.monotonic)
        # All parameters are accepted and the guarantee is fixed; the next line draws the first bit.
        self._session = Session(terms, bytes_from, tier, scope)

    @property
    def guarantee(self) -> LaplaceDominated | PureDP:
        """The cost of the whole session, whatever its answers."""
        return self._session.terms.guarantee

    @property
    def mechanism(self) -> str:
        """Name of the mechanism and version of its law."""
        return self._session.terms.mechanism

    @property
    def source(self) -> str:
        """The name of the source of random bytes."""
        return self._session.source

    @property
    def sigma(self) -> Fraction:
        """By how much a noisy value must exceed the noisy threshold for "top"."""
        return self._session.terms.branches[0].margin

    @property
    def budget(self) -> Fraction:
        """How much epsilon is left for further answers of this session."""
        return self._session.budget

    @property
    def threshold_rate(self) -> Fraction:
        """The rate of the threshold's noise per score unit, 1 / scale."""
        return self._session.terms.noise_rate.rate / self._session.terms.reading.step

    @property
    def value_rates(self) -> dict[str, Fraction]:
        """For each branch, "top" and "middle", the rate of the values' noise per score unit."""
        terms = self._session.terms
        return {
            str(branch.name): branch.noise_rate.rate / terms.reading.step
            for branch in terms.branches
        }

    @property
    def receipt(self) -> Receipt | None:
        """With `ledger=`, once the session is settled: the receipt of the record of its use."""
        return self._session.receipt

    @property
    def remaining(self) -> int:
        """How many further answers above the threshold are guaranteed."""
        return self._session.remaining

    def query(self, value: Number) -> Answer:
        """Answer for one value; raises what `SparseVector.query` raises."""
        return self._session.query(value)

    def query_many(self, values: Values) -> Answers:
        """Answer for value after value until too little is left; see `SparseVector.query_many`."""
        return self._session.query_many(values)

    def close(self) -> None:
        """End the session, drop the threshold's noise and, with a ledger, settle it.

        Raises:
            LedgerError: the record could not be written; `close` tries it again.
        """
        self._session.close()

    def __enter__(self) -> AdaptiveSparseVector:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        leave(self.close, error)
