"""Many lists from unknown domains under one budget, where a short list costs little."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from fractions import Fraction
from threading import RLock
from typing import Any, Literal, final

from safeselect.errors import (
    BudgetError,
    LedgerError,
    ParameterError,
    ScoreError,
    SourceError,
    from_outside,
)
from safeselect.exact.parameters import Number, integer
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, Guarantee
from safeselect.randomness.memory import generation, sealed
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import Scope, read_ledger, unit_of
from safeselect.release.results import Receipt
from safeselect.scores.counts import check_unknown
from safeselect.selection._arguments import Labels, Scores
from safeselect.selection._call import Call
from safeselect.selection._table import choose_engine
from safeselect.sessions._opening import Reserved, leave, reserve_session
from safeselect.unknown_domain._bottom import (
    ListQuery,
    draw_list,
    odds,
    open_call,
    read_contributions,
    read_places,
    read_total,
    split_delta,
)
from safeselect.unknown_domain._discovered import DiscoveredTopK
from safeselect.unknown_domain._histogram import HeldCounts, hold_counts
from safeselect.unknown_domain._threshold import published_guarantee

_MOST = 2**20
_UNREAD = "this session ended with counts that cannot be read; what was charged stays charged"
_MECHANISM = "pay_what_you_get_gumbel/1"
_COUNTS = {"sensitivity": "1", "monotonic": "yes", "effective_range": "1"}


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of a session's queries, or the budget that is left for them.

    Attributes:
        outcomes: the labels returned, one more for each query that returned fewer than it asked
            for, and one more for each that chose k_bar.
        queries: the number of queries.
    """

    outcomes: int
    queries: int


@final
@sealed
class PayWhatYouGet:
    """A session of unknown-domain lists in which a query costs the draws that it made.

    A query has the law of `unknown_domain_top_k` with Gumbel noise, with the session's epsilon per
    draw and delta per query.  A list of k labels took k draws; one that ended at the bottom after
    r < k labels took r + 1.  So a query costs min(r + 1, k) outcomes, one more where k_bar is
    chosen.  Before a query, its largest cost, k (or k + 1), is reserved.  Afterwards the unused
    part is returned; a query that fails returns nothing.

    Guarantee: all queries together are ApproximateDP(epsilon, delta), however the queries and their
        tables are chosen.  There are at most `outcomes` draws, each BoundedRange(epsilon_0), and
        `queries` bottoms; the bound for all of them is fixed when the session opens.
    Neighbours: as for `unknown_domain_top_k`, in all tables at once.
    Source: Durfee and Rogers (2019), "pay what you get", with the accounting that is proved in
        `docs/mathematics.md`, Theorem 9.
    Reveals: `spent` follows from what was released.

    A session belongs to one process: it cannot be copied, and a child of a fork cannot spend from
    it.  Threads take turns.  With a ledger, one record charges the whole cost when the session
    opens.  A second one settles it when the session is exhausted or closed, and states how many
    outcomes and queries were used; the charge stands with and without it.  At counts that cannot be
    read the session ends, and the second record counts the refusal.  While the scope is closed, the
    session answers nothing.

    Args:
        outcomes: how many outcomes all queries may cost together.
        queries: how many queries there may be.
        epsilon, delta: total cost of the session, charged when it opens.
        threshold_delta: the part of delta that pays for the bottoms of all queries; by default
            delta or half of it: the one that puts the bottom lower.
        ledger: `ledger.scope(...)`: epsilon and delta are charged there when the session opens;
            close the session, or use a `with` block, to record what was used.
        source, engine: as for `unknown_domain_top_k`.

    Raises:
        ParameterError: a parameter is wrong.
    """

    __slots__ = (
        *("_born", "_busy", "_each", "_end", "_engine", "_guarantee", "_limit", "_lock"),
        *("_odds", "_part", "_reserved", "_source", "_spent", "_unit"),
    )

    def __init__(
        self,
        *,
        outcomes: int,
        queries: int,
        epsilon: Number,
        delta: Number,
        threshold_delta: Number | None = None,
        source: Source | None = None,
        ledger: Scope | None = None,
        engine: str | None = None,
    ) -> None:
        most = integer(outcomes, "outcomes", minimum=1, maximum=_MOST)
        self._limit = Spent(most, integer(queries, "queries", minimum=1, maximum=_MOST))
        self._guarantee = read_total(epsilon, delta)
        self._each, self._part = split_delta(
            self._guarantee, threshold_delta, most, self._limit.queries, 1
        )
        self._odds = odds(self._part / self._limit.queries)
        ListQuery(1, 1, 1, self._each, self._odds, None)  # refuses what no query could use
        choose_engine(engine)
        self._engine = engine
        self._source = source if source is None else resolve(source)
        scope = read_ledger(ledger, monotonic=True)
        self._unit = unit_of(scope)
        self._reserved: Reserved | None = None
        if scope is not None:
            parts = (BoundedRange(self._each), most), (ApproximateDP(Fraction(0), self._part), 1)
            limits = {name: str(number) for name, number in asdict(self._limit).items()} | _COUNTS
            _, self._reserved = reserve_session(
                scope, resolve(source), self._guarantee, _MECHANISM, parts, limits, lambda _: None
            )
        self._end: BudgetError | ScoreError | None = None
        self._busy = False
        self._spent = Spent(0, 0)
        self._born = generation()
        self._lock = RLock()

    @property
    def guarantee(self) -> ApproximateDP:
        """The cost of the whole session, however much of it is used."""
        return self._guarantee

    @property
    def parts(self) -> tuple[Guarantee, ...]:
        """The guarantees whose composition `guarantee` is."""
        draws = (BoundedRange(self._each),) * self._limit.outcomes
        return (*draws, ApproximateDP(Fraction(0), self._part))

    @property
    def receipt(self) -> Receipt | None:
        """With `ledger=`, once the session is settled: the receipt of the record of its use."""
        return None if self._reserved is None else self._reserved.receipt

    @property
    def spent(self) -> Spent:
        """The cost and the number of the queries so far."""
        return self._spent

    @property
    def remaining(self) -> Spent:
        """The budget for further queries; a query for k labels needs k outcomes, or k + 1."""
        spent = self._spent
        return Spent(self._limit.outcomes - spent.outcomes, self._limit.queries - spent.queries)

    def query(
        self,
        counts: Scores[Any],
        *,
        k: int,
        k_bar: int | tuple[int, int],
        max_contributions: int | None = None,
        places: int | Literal["all"] | None = None,
        labels: Labels[Any] = None,
    ) -> DiscoveredTopK:
        """Ask for at most k labels; arguments are those of `unknown_domain_top_k`.

        The result's `guarantee` is that of the whole session: do not add it up.

        Raises:
            ParameterError, ScoreError: an argument is wrong, and nothing was spent; or the counts
                cannot be read, and the query was spent, because that depends on the counts.  With a
                ledger that ends the session.
            BudgetError: too little of the session's budget is left, or it or the ledger's scope is
                closed (`LedgerError`: the ledger cannot be used); nothing was spent.
            SourceError: the source failed, or the session belongs to another process.
        """
        # Before the lock, which a fork may have copied while it was held.
        if generation() != self._born:
            raise SourceError("the session was opened in another process and cannot be spent here")
        k, least, most = read_places(k, k_bar)
        contributions = read_contributions(max_contributions)
        check_unknown(counts, places, k_bar=most, contributions=contributions, unit=self._unit)
        query = ListQuery(k, least, most, self._each, self._odds, contributions)
        with self._lock:
            self._require(query.draws)
            held = hold_counts(counts, labels, most + 1)
            held.unit = self._unit or held.unit
            call = open_call(held, self._source, self._engine)
            if self._reserved is not None:
                self._reserved.check_open()
            self._busy = True
            try:
                # The largest cost, before a count is looked at and before the first bit of noise.
                self._spend(query.draws, 1)
                found, chosen = self._draw(query, held, call)
            finally:
                self._busy = False
            # Returns the draws that were reserved and not made: min(r + 1, k) were.
            self._spend(min(len(found) + 1, k) - k, 0)
            if 0 in (self.remaining.outcomes, self.remaining.queries):
                # A record that fails must not lose what is paid for; `close` tries it again.
                with suppress(LedgerError):
                    self._tell()
        return DiscoveredTopK(
            labels=found,
            counts=None,
            k_bar=chosen,
            offset=query.offset_in_counts(chosen),
            guarantee=self.guarantee,
            parts=self.parts,
            mechanism=_MECHANISM,
            source=call.source_name,
            statement=call.statement,
        )

    def close(self) -> None:
        """End the session; with a ledger, settle it unless that was done when it was exhausted.

        Raises:
            LedgerError: the record could not be written; `close` tries it again.
        """
        if generation() != self._born:
            return  # the process that opened it settles it
        with self._lock:
            self._end = self._end or BudgetError("the session is closed")
            self._tell()

    def __enter__(self) -> PayWhatYouGet:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        leave(self.close, error)

    def published(self) -> ApproximateDP:
        """Return, for comparison, the guarantee of Theorem 2 of Durfee and Rogers (2019).

        epsilon* is the least of k e, k e (e**e - 1) / (e**e + 1) + e sqrt(2 k ln(1/d)) and
        k e**2 / 2 + e sqrt(k ln(1/d) / 2) for k outcomes of e each.  The delta is d + 2 l odds for
        l queries, where d is the part of delta for the composition.

        Raises:
            ParameterError: the theorem's delta is 1 or more.
        """
        return published_guarantee(
            self._each,
            self._limit.outcomes,
            self._limit.queries * self._odds,
            self._guarantee.delta - self._part,
        )

    def _draw(self, query: ListQuery, held: HeldCounts, call: Call) -> tuple[tuple[str, ...], int]:
        """Read the counts, on which no later error depends, and draw one list."""
        try:
            with call.release(self.guarantee, _MECHANISM, k=query.k, more=query.as_record):
                return draw_list(query, held, call)
        except BaseException as error:
            if self._reserved is None or hasattr(call, "scores_on_grid") or from_outside(error):
                raise
            self._end = ScoreError(_UNREAD)
        # The error depends on the counts: on a ledger, one sentence, which is counted.
        raise self._reserved.refused(_UNREAD)

    def _require(self, worst: int) -> None:
        left = self.remaining
        if self._busy:
            raise ParameterError("this session was asked while it was answering")
        if self._end:
            raise type(self._end)(str(self._end))
        if left.queries < 1:
            raise BudgetError("the session has no queries left")
        if left.outcomes < worst:
            raise BudgetError(
                f"the session has {left.outcomes} outcomes left, and this query may cost {worst}: "
                "ask for a smaller k"
            )

    def _spend(self, outcomes: int, queries: int) -> None:
        self._spent = Spent(self._spent.outcomes + outcomes, self._spent.queries + queries)

    def _tell(self) -> None:
        """Record once what was used, if there is a ledger."""
        if self._reserved is not None:
            self._reserved.settle(asdict(self._spent))
