"""Many lists from unknown domains under one budget, in which a short list costs little."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from fractions import Fraction
from threading import Lock
from typing import Literal, final

from safeselect.counts import check_unknown
from safeselect.errors import BudgetError, LedgerError, ParameterError, ScoreError, SourceError
from safeselect.exact.parameters import Number, integer
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, Guarantee
from safeselect.promises.records import Receipt
from safeselect.randomness.memory import generation, sealed
from safeselect.randomness.source import Source, resolve
from safeselect.selection._arguments import PendingRelease, Scope, read_ledger, unit_of
from safeselect.selection._results import source_name
from safeselect.selection._table import choose_engine
from safeselect.sessions._opening import Opened, reserve_session
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
from safeselect.unknown_domain._histogram import hold_counts
from safeselect.unknown_domain._threshold import published_guarantee

__all__ = ["Outlay", "PayWhatYouGet"]

_MOST = 2**20
_UNREAD = "the counts cannot be read as the arguments say; what the query may cost was spent"
_MECHANISM = "pay_what_you_get_gumbel/1"


@dataclass(frozen=True, slots=True)
class Outlay:
    """What queries of a session cost, or what is left for them.

    Attributes:
        outcomes: labels returned, and one more a query.
        queries: how many.
    """

    outcomes: int
    queries: int


@final
@sealed
class PayWhatYouGet:
    """A session of unknown-domain lists that charges each query what it returned, plus one.

    The law of a query is that of `unknown_domain_top_k` with Gumbel noise, at the session's own
    epsilon a draw and delta a query.  A list that ends at the bottom after r labels took r + 1
    draws, so it costs r + 1 outcomes whatever k was (one more where k_bar is chosen).  Before a
    query its largest cost, k + 1, is reserved; what was not needed comes back afterwards, and a
    query that fails keeps it.

    Guarantee: all queries together ApproximateDP(epsilon, delta), however they are chosen, and
        whatever tables they ask: at most `outcomes` draws, each BoundedRange(epsilon_0), by the
        product accountant, whose order is fixed when the session opens; and `queries` bottoms.
    Neighbours: as for `unknown_domain_top_k`, in all tables at once.
    Source: Durfee and Rogers (2019), "pay what you get", with the accounting that is proved in
        `docs/mathematics.md`, section 15.
    Reveals: `spent` follows from what was released.

    A session is for one process: a child of a fork cannot spend from it, nor can a copy, for there
    is none.  Threads take turns.

    With a ledger the whole cost is reserved in one record when the session opens, and settled in a
    second one when it is exhausted or closed: how many outcomes and queries were used.  The charge
    stands whatever was used, and if the process dies, without a second record.

    Args:
        outcomes: how many outcomes all queries may cost together.
        queries: how many queries there may be.
        epsilon, delta: total cost of the session, to be charged when it opens.
        threshold_delta: the part of delta that pays for the bottoms of all queries; by default
            delta or half of it, whichever puts the bottom lower.
        ledger: `ledger.scope(...)`: epsilon and delta are charged there when the session opens;
            close it, or use it in a `with` block, so that what was used is written too.
        source, engine: as for `unknown_domain_top_k`.

    Raises:
        ParameterError: a parameter is wrong.
    """

    __slots__ = (
        *("_born", "_closed", "_each", "_engine", "_guarantee", "_limit", "_lock"),
        *("_odds", "_part", "_pending", "_receipt", "_source", "_source_name", "_spent", "_unit"),
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
        most = integer(outcomes, "outcomes", minimum=2, maximum=_MOST)
        self._limit = Outlay(most, integer(queries, "queries", minimum=1, maximum=_MOST))
        self._guarantee = read_total(epsilon, delta)
        self._each, self._part = split_delta(
            self._guarantee, threshold_delta, most, self._limit.queries, 1
        )
        self._odds = odds(self._part / self._limit.queries)
        ListQuery(1, 1, 1, self._each, self._odds, None)  # refuses what no query could draw
        choose_engine(engine)
        self._engine = engine
        self._source = source if source is None else resolve(source)
        scope = read_ledger(ledger, monotonic=True)
        self._unit = unit_of(scope)
        self._pending: PendingRelease | None = None
        if scope is not None:
            parts = (BoundedRange(self._each), most), (ApproximateDP(Fraction(0), self._part), 1)
            told = {name: str(number) for name, number in asdict(self._limit).items()}
            known = resolve(source)
            self._source_name = source_name(known)
            self._pending = reserve_session(scope, known, self._guarantee, _MECHANISM, parts, told)
        self._receipt: Receipt | None = None
        self._closed = False
        self._spent = Outlay(0, 0)
        self._born = generation()
        self._lock = Lock()

    @property
    def guarantee(self) -> ApproximateDP:
        """What the whole session costs, however much of it is used."""
        return self._guarantee

    @property
    def parts(self) -> tuple[Guarantee, ...]:
        """The guarantees whose composition `guarantee` is."""
        draws = (BoundedRange(self._each),) * self._limit.outcomes
        return (*draws, ApproximateDP(Fraction(0), self._part))

    @property
    def receipt(self) -> Receipt | None:
        """With `ledger=`, once the session is settled: where the record of what it used is."""
        return self._receipt

    @property
    def spent(self) -> Outlay:
        """What the queries so far have cost, and how many they were."""
        return self._spent

    @property
    def remaining(self) -> Outlay:
        """What is left for further queries; a query for k labels needs k + 1 outcomes."""
        spent = self._spent
        return Outlay(self._limit.outcomes - spent.outcomes, self._limit.queries - spent.queries)

    def query(
        self,
        counts: object,
        *,
        k: int,
        k_bar: int | tuple[int, int],
        max_contributions: int | None = None,
        places: int | Literal["all"] | None = None,
        labels: object = None,
    ) -> DiscoveredTopK:
        """Ask for at most k labels; arguments are those of `unknown_domain_top_k`.

        The result's `guarantee` is that of the session: not to be added up.

        Raises:
            ParameterError, ScoreError: an argument is wrong, and nothing was spent; or the counts
                cannot be read, which depends on them, so the query was spent.
            BudgetError: the session has not enough left, or is closed; nothing was spent.
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
            self._require(query.draws + 1)
            held = hold_counts(counts, labels, most + 1)
            call = open_call(held, self._source, self._engine)
            unread = False
            # The largest cost, before a count is looked at and before the first bit of noise.
            self._spend(query.draws + 1, 1)
            try:
                with call:
                    found, chosen = draw_list(query, held, call)
            except (ParameterError, ScoreError):
                if self._unit is None:
                    raise
                unread = True
            if unread:
                # It depends on the counts: with a ledger, one sentence for all, and it is paid for.
                raise ScoreError(_UNREAD)
            self._spend(len(found) - k, 0)  # what was reserved and not needed comes back
            if self._exhausted:
                # The answer is paid for: it is not lost with the record, which `close` tries again.
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
        )

    def close(self) -> None:
        """End the session; with a ledger, settle it unless that was done when it was exhausted.

        Raises:
            LedgerError: the record could not be written; the session is closed, and closing it
                again tries again.
        """
        if generation() != self._born:
            return  # the process that opened it settles it
        with self._lock:
            self._closed = True
            self._tell()

    def __enter__(self) -> PayWhatYouGet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def published(self) -> ApproximateDP:
        """For comparison: what Theorem 2 of Durfee and Rogers (2019) states for the same draws.

        epsilon* is the least of k e, k e (e**e - 1) / (e**e + 1) + e sqrt(2 k ln(1/d)) and
        k e**2 / 2 + e sqrt(k ln(1/d) / 2) for k outcomes of e each; the delta is d + 2 l odds for l
        queries, d being what delta leaves for the composition.

        Raises:
            ParameterError: that delta is 1 or more, so the theorem says nothing.
        """
        return published_guarantee(
            self._each,
            self._limit.outcomes,
            self._limit.queries * self._odds,
            self._guarantee.delta - self._part,
        )

    def _require(self, worst: int) -> None:
        left = self.remaining
        if self._closed:
            raise BudgetError("the session is closed")
        if left.queries < 1:
            raise BudgetError("the session has no queries left")
        if left.outcomes < worst:
            raise BudgetError(
                f"the session has {left.outcomes} outcomes left, and this query may cost {worst}: "
                "ask for a smaller k"
            )

    def _spend(self, outcomes: int, queries: int) -> None:
        self._spent = Outlay(self._spent.outcomes + outcomes, self._spent.queries + queries)

    @property
    def _exhausted(self) -> bool:
        """Whether not even a query for one label is left."""
        return self.remaining.queries < 1 or self.remaining.outcomes < 2

    def _tell(self) -> None:
        """Write what was used, once, if there is a ledger."""
        if self._pending is not None:
            spent = asdict(self._spent)
            self._receipt = self._pending.settled(
                Opened(self._guarantee, _MECHANISM, self._source_name, spent), spent
            )
            self._pending = None
