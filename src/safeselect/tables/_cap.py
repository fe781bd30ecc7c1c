"""A cap for a user's items, chosen privately from the table for a small part of the budget."""

from __future__ import annotations

from contextlib import ExitStack

from safeselect.exact.parameters import Number, integer, rational
from safeselect.ledger import Scope
from safeselect.randomness.source import Source
from safeselect.release.call import is_replaced, read_ledger, unit_of
from safeselect.scores.containers import Unread
from safeselect.scores.counts import check_unit
from safeselect.selection import Selection, permute_and_flip
from safeselect.tables._counting import until_read
from safeselect.tables._keyed import open_keyed
from safeselect.tables._keys import warn_if_same
from safeselect.tables._sql import ITEMS_PER_USER

_DEAR = 16  # 8 nats between neighbouring caps that do as well


def choose_cap(
    table: object,
    *,
    item: str,
    user: str,
    epsilon: Number,
    most: int,
    share: Number = "0.95",
    unit: str | None = None,
    memory: str | None = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Selection[int]:
    """Choose privately a cap under which about a stated share of the users have all their items.

    A private quantile of the number of items per user, the smallest cap where several do as well:
    each further item must be needed by 16 / epsilon users.

    Guarantee, method: those of `permute_and_flip` with the scores -|t users(D) - s users| - c D for
        share = s / t, users(D) being how many users have D items or fewer.  A user moves a score by
        at most m = max(s, t - s), and one in another's place by at most m = t; c = 16 m / epsilon,
        rounded up, is public.
    Neighbours: tables that differ by all rows of one user; where the ledger's scope has
        "replace_one", tables in which all rows of one user are others.

    Args:
        table, item, user, unit, memory: as for `count_distinct_users`.
        epsilon: cost of this choice alone.
        most: the largest cap that may be chosen, up to 10 000; public.
        share: of the users who should lose nothing, between 0 and 1.
        source, ledger: as for `top_k`.

    Returns:
        Selection: its label is the cap, from 1 to `most`.

    Raises:
        InputError, ParameterError, BudgetError, SourceError: as for `top_items`.

    Example:
        >>> import pyarrow
        >>> from safeselect.tables import choose_cap
        >>> pairs = [(place, rider) for rider in range(900) for place in range(rider % 3 + 1)]
        >>> trips = pyarrow.table({"city": [a for a, _ in pairs], "rider": [b for _, b in pairs]})
        >>> cap = choose_cap(trips, item="city", user="rider", epsilon=2, most=20, share="0.9")
        >>> 3 <= cap.label <= 5  # 3 nearly always
        True
    """
    warn_if_same(item, user)
    largest = integer(most, "most", minimum=1, maximum=10_000)
    wanted = rational(share, "share", below=1)
    low, whole = wanted.numerator, wanted.denominator
    scope = read_ledger(ledger, monotonic=False)
    check_unit(unit, unit_of(scope))
    change = whole if is_replaced(scope) else max(low, whole - low)
    each = -(-_DEAR * change // rational(epsilon, "epsilon"))
    with ExitStack() as stack:
        keyed = stack.enter_context(open_keyed(table, item, user, memory, False))

        def read() -> list[int]:
            found = dict(keyed.fetch(ITEMS_PER_USER.format(most=largest + 1)))
            users, below, scores = sum(found.values()), 0, []
            for cap in range(1, largest + 1):
                below += found.get(cap, 0)
                scores.append(-abs(whole * below - low * users) - each * cap)
            return scores

        scores = until_read(stack, Unread(largest, read), unit)
        chosen: Selection[int] = permute_and_flip(
            scores,
            labels=range(1, largest + 1),
            epsilon=epsilon,
            sensitivity=change,
            source=source,
            ledger=scope,
        )
    return chosen
