"""The decision of a privacy budget: what a release costs, and whether it may be made.

Nothing here knows a ledger, a record or a file.  Six amounts add up, each an exact rational: the
pure epsilons, whether a release has none, ln M at three Rényi orders, and the deltas that releases
bring themselves.  A release may be made if the last is within its cap and *one way* is: epsilon
with `not_pure`, or one of the moments.  Which way it is may change from charge to charge.

All releases together are then (epsilon, delta)-DP, whatever is chosen, its guarantee included, from
what was seen before (`docs/mathematics.md`, Theorem 20.2).  So orders, weights and the share of own
deltas are fixed when a scope is opened.  Choosing an order afterwards would promise too much, and
so would giving own deltas what the moments leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from safeselect.accounting.bounds import pure_sum
from safeselect.accounting.moments import Moments
from safeselect.accounting.repetition import AnyGuarantee
from safeselect.accounting.sums import deltas_of, sum_of_deltas
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, log_order_constant, rounded_down, rounded_up
from safeselect.promises.guarantees import ApproximateDP, PureDP

Amounts = dict[str, Fraction]
"""What adds up, by name: epsilon, not_pure, moment_1 to moment_3, own_delta; or rho, own_delta."""

Caps = Mapping[str, Fraction]
"""The largest sums.  A moment whose cap is not positive has none, and is no way."""

View = tuple[tuple[AnyGuarantee, int], ...]
"""Guarantees that together bound all that a release shows, each with how often it occurs."""

BITS = 1024
"""The longest numerator and denominator of a term, and the longest denominator of a sum."""

WEIGHTS = Fraction(4, 5), Fraction(1, 10), Fraction(1, 10)
"""What each order may take of the delta that is not set aside: a default, written in the record."""

_MULTIPLES = 1, 2, 5  # of the first order less 1
_OWN_SHARE = Fraction(1, 4)
_UNIT = Fraction(1, 2**BITS)
_GRAIN = Fraction(1, 2**192)  # of own deltas, so that records stay short
_NONE = Fraction(0)
_NOTHING = PureDP(_NONE)
_STEPS = 32  # of the first order less 1, within each power of two
_FARTHEST = 3 * BITS  # the powers of two between which it is looked for
_CHECKED = 192  # bits of the enclosures that a stated number is compared with


@dataclass(frozen=True, slots=True)
class Terms:
    """What is fixed when a scope is opened, and written in its record.

    With epsilon and delta all six amounts add up; with epsilon alone its sum; with rho its sum, and
    with delta beside it the deltas that releases bring.

    Args:
        epsilon, rho: one of them, positive.
        delta: from 0 up to below 1.
        own_delta: how much of delta is set aside for the deltas that releases bring themselves.
        excesses: each Rényi order less 1; none if nothing of delta is left for them.
        weights: the share of each order in the rest of delta; at most 1 together.

    Raises:
        ParameterError: these are no terms under which the theorem holds.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction = _NONE
    own_delta: Fraction = field(default=_NONE, hash=False)  # hashes of fractions take time
    excesses: tuple[Fraction, ...] = field(default=(), hash=False)
    weights: tuple[Fraction, ...] = field(default=(), hash=False)

    def __post_init__(self) -> None:
        stated = [each for each in (self.epsilon, self.rho) if each is not None]
        if len(stated) != 1 or stated[0] <= 0:
            raise ParameterError("a budget requires either a positive epsilon or a positive rho")
        if not 0 <= self.own_delta <= self.delta < 1:
            raise ParameterError("own_delta must be between 0 and delta, and delta must be below 1")
        if self.epsilon is None and self.own_delta != self.delta:
            raise ParameterError("with rho, own_delta must equal delta")
        if len(self.weights) != len(self.excesses) or bool(self.excesses) != (self.rest > 0):
            raise ParameterError(
                "pass one weight per order, and pass orders if and only if own_delta < delta"
            )
        if any(each <= 0 for each in self.excesses + self.weights) or sum(self.weights) > 1:
            raise ParameterError(
                "orders must exceed 1, and weights must be positive and add up to at most 1"
            )
        if len(set(self.excesses)) != len(self.excesses):
            raise ParameterError("the orders of a budget must be distinct")

    @classmethod
    def of(
        cls, epsilon: Fraction, delta: Fraction = _NONE, own_delta: Fraction | None = None
    ) -> Terms:
        """Return the default terms: a quarter of delta set aside, and three orders for the rest.

        The first order less 1 is that at which zCDP fills the budget; the others, twice and five
        times as large, are for what follows one large release.

        Args:
            own_delta: 0 refuses releases that bring a delta; with all of delta, epsilons and deltas
                just add up.
        """
        own = delta * _OWN_SHARE if own_delta is None else own_delta
        if delta == own:
            return cls(epsilon=epsilon, delta=delta, own_delta=own)
        if epsilon <= 0 or not 0 <= own < delta < 1:  # before a logarithm is asked for
            raise ParameterError("epsilon must be positive; 0 <= own_delta <= delta < 1 must hold")
        first = _first_excess(epsilon, WEIGHTS[0] * (delta - own))
        excesses = tuple(times * first for times in _MULTIPLES)
        return cls(epsilon, None, delta, own, excesses, WEIGHTS)

    def at(self, limits: Mapping[str, Fraction]) -> Terms:
        """Return the same orders, weights and share of own deltas, at other limits.

        A scope that may be raised states its ceiling when it is opened, and its orders are chosen
        for that.  Its statement is the ceiling, raised or not: whether it was raised depends on
        outcomes (`docs/mathematics.md`, section 20).

        Args:
            limits: another epsilon, delta or rho, by name.

        Raises:
            ParameterError: these are no terms with them.
        """
        unknown = limits.keys() - self.limits.keys()
        if unknown:
            raise ParameterError(f"this budget has no {' and no '.join(sorted(unknown))}")
        share = self.own_delta / self.delta if self.delta else _NONE
        epsilon, rho = (limits.get(name, getattr(self, name)) for name in ("epsilon", "rho"))
        delta = limits.get("delta", self.delta)
        return replace(self, epsilon=epsilon, delta=delta, rho=rho, own_delta=share * delta)

    @property
    def limits(self) -> Amounts:
        """The numbers that the statement of the scope holds: epsilon or rho, and delta."""
        stated = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta or None}
        return {name: value for name, value in stated.items() if value is not None}

    @property
    def rest(self) -> Fraction:
        """The part of delta that is for the moments."""
        return self.delta - self.own_delta

    @property
    def moments(self) -> dict[str, Fraction]:
        """Each order less 1, by the name of its amount."""
        return {f"moment_{place}": each for place, each in enumerate(self.excesses, 1)}

    @property
    def names(self) -> tuple[str, ...]:
        """The amounts that add up."""
        sums = ("rho",) if self.epsilon is None else ("epsilon",)
        if not self.delta:
            return sums
        pair = () if self.epsilon is None else ("not_pure",)
        return (*sums, *pair, *self.moments, "own_delta")


# --------------------------------------------------------------------------------- the four steps


def caps(terms: Terms) -> Amounts:
    """Return the largest sums, those of moments rounded down."""
    stated = {"epsilon": terms.epsilon, "rho": terms.rho, "own_delta": terms.own_delta}
    found = {name: cap for name, cap in stated.items() if name in terms.names and cap is not None}
    if "not_pure" in terms.names:
        found["not_pure"] = _NONE
    for name in terms.moments:
        if (cap := _moment_cap(terms, name)) > 0:
            found[name] = cap
    return {name: found[name] for name in terms.names if name in found}


@lru_cache(maxsize=256)
def price(terms: Terms, guarantee: AnyGuarantee, parts: View = ()) -> Mapping[str, Fraction] | None:
    """Return what a release adds to each amount, rounded up; None if an amount is not bounded.

    Where nothing has a delta, the pair of epsilon and `not_pure` is that of the whole or of the
    parts, whichever has the less epsilon, and each moment that of whichever has less.  Where
    anything has one, *one* of them pays everything: which event had which delta is not known.

    It is a function of public parameters and of earlier outcomes, and known before the draw.
    """
    found = _cost(terms, _views(terms, guarantee, parts), _log_moment)
    if found is None:
        return None
    least = _NONE if found.get("own_delta") else _UNIT
    for name in found.keys() - {"not_pure", "own_delta"}:
        if name != "epsilon" or not found.get("not_pure"):
            found[name] = max(least, _rounded(found[name]))
    return {name: found[name] for name in terms.names}


def add(total: Mapping[str, Fraction], price: Mapping[str, Fraction]) -> Amounts:
    """Return the new running total.

    It is the exact sum.  Only if its denominator exceeds 1024 bits, it is rounded up to a multiple
    of 2**-1024, so that the numbers of an old ledger stay short.
    """
    return {name: _rounded(total[name] + price[name]) for name in total}


def allows(caps: Caps, price: Mapping[str, Fraction], after: Mapping[str, Fraction]) -> bool:
    """Whether a release of this price may be made, with the sums after it: the whole decision."""
    return any(price.values()) and bool(ways(caps, after))


def ways(caps: Caps, after: Mapping[str, Fraction]) -> list[str]:
    """Return the ways whose sums are within their caps; none if own deltas are not.

    A way is named by its amount; that of epsilon is lost, too, once a release has none.
    """
    within = [name for name, cap in caps.items() if after[name] <= cap]
    if "own_delta" in caps and "own_delta" not in within:
        return []
    if "not_pure" in caps and "not_pure" not in within:
        within = [name for name in within if name != "epsilon"]
    return [name for name in within if name not in ("own_delta", "not_pure")]


# ------------------------------------------------------------------------------ what may be asked


def fits(
    caps: Caps, total: Mapping[str, Fraction], price: Mapping[str, Fraction]
) -> tuple[int | None, str]:
    """Return how many more releases of this price fit, and the amount that ends them.

    None and "" if their number has no limit.  Sums of equal prices grow in a line and a way that is
    lost stays lost, so it is the largest number that any way allows, and no more than own deltas
    allow.
    """
    own = _times(caps, total, price, "own_delta") if "own_delta" in caps else None
    open_ = [name for name in ways(caps, total) if name != "epsilon" or not price.get("not_pure")]
    counts = {name: _times(caps, total, price, name) for name in open_}
    most, last = 0, next(iter(caps))
    for name, count in counts.items():
        if count is None:  # nothing but own deltas ends it
            return own, "" if own is None else "own_delta"
        if count >= most:
            most, last = count, name
    if own is not None and own < most:
        return max(0, own), "own_delta"
    return most, last


def used(caps: Caps, total: Mapping[str, Fraction]) -> Fraction:
    """Return the least share used among the ways that are open; 1 if none is."""
    return min((total[name] / caps[name] for name in ways(caps, total)), default=Fraction(1))


def largest_loss(terms: Terms, total: Mapping[str, Fraction]) -> Fraction | None:
    """Return r, rounded up: with probability 1 - delta the loss has never been above it so far.

    For each individual person, counted from the opening; the loss that others see if nothing
    brought a delta of its own (`docs/mathematics.md`, Theorem 20.4).  It is not the epsilon of a
    guarantee: it depends on outcomes.  None where nothing is known, because a sum of epsilons has a
    release without.
    """
    if terms.epsilon is None:
        return None
    found = [] if total.get("not_pure") else [total["epsilon"]]
    for (name, excess), weight in zip(terms.moments.items(), terms.weights, strict=True):
        found.append(_reading(total[name], excess, weight * terms.rest))
    return min(found, default=None)


# ------------------------------------------------------------------------------------ verification


def understated(
    terms: Terms, stated: Mapping[str, Fraction], guarantee: AnyGuarantee, parts: View = ()
) -> list[str]:
    """Return the amounts that are stated below what the release surely costs.

    Two versions may round a logarithm differently, and a sharper theorem may lower a price, so no
    stated price is compared for equality.
    """
    least = _least(terms, guarantee, parts)
    if least is None or stated.keys() != least.keys():
        return sorted(terms.names)
    # The pair (0, 1) is true of every release.
    known = ("epsilon", "not_pure") if stated.get("not_pure") else ()
    return [name for name in least if name not in known and stated[name] < least[name]]


@lru_cache(maxsize=256)
def _least(terms: Terms, guarantee: AnyGuarantee, parts: View) -> Mapping[str, Fraction] | None:
    """What a release surely costs: as `price`, with moments from below; None if not bounded."""
    return _cost(
        terms,
        _views(terms, guarantee, parts),
        lambda view, excess: _log_moments(view, excess, _CHECKED).fractions()[0],
    )


def overstated(terms: Terms, stated: Caps) -> list[str]:
    """Return the caps that are stated above what the terms allow, as far as that is sure."""
    found = [name for name in stated if name not in terms.names]
    exact = {name: cap for name, cap in caps(terms).items() if name not in terms.moments}
    found += [name for name, cap in exact.items() if stated.get(name) != cap]
    for name in terms.moments.keys() & stated.keys():
        # A cap of 0 would be a way that allows nothing; such a moment states none.
        if not 0 < stated[name] <= _enclosed_cap(terms, name, _CHECKED).fractions()[1]:
            found.append(name)
    return found


# -------------------------------------------------------------------------------- prices and views


def _views(terms: Terms, guarantee: AnyGuarantee, parts: View) -> tuple[View, ...]:
    """The whole and its parts; only one of them where anything has a delta of its own.

    Then it is the whole if epsilons and deltas just add up, else the parts.  A whole that is the
    sum of its parts is left out: mechanisms that have the parts' moments have it together, so it
    allows no smaller ones.
    """
    whole: View = ((guarantee, 1),)
    if not parts or parts == whole:
        return (whole,)
    if any(isinstance(each, ApproximateDP) for each, _ in whole + parts):
        return (whole if terms.epsilon is not None and not terms.rest else parts,)
    summed = pure_sum(parts)
    return (parts,) if summed and guarantee in (summed, summed.pure) else (whole, parts)


def _exact(terms: Terms, views: tuple[View, ...]) -> Amounts | None:
    """The amounts that are no logarithms: those of the view with least epsilon, or rho."""
    found: Amounts = {}
    if terms.epsilon is not None:
        pure = [total for view in views if (total := _sum(view, _epsilon)) is not None]
        if "not_pure" in terms.names:
            found["not_pure"] = _NONE if pure else Fraction(1)
        elif not pure:
            return None
        found["epsilon"] = min(pure, default=_NONE)
    else:
        rhos = [total for view in views if (total := _sum(view, _rho)) is not None]
        found["rho"] = min(rhos, default=_NONE)
    own = [_failing(view) for view in views]
    if "own_delta" in terms.names:
        found["own_delta"] = _rounded(max(own))
    elif max(own):
        return None
    return found


def _cost(
    terms: Terms, views: tuple[View, ...], log_moment: Callable[[View, Fraction], Fraction]
) -> Amounts | None:
    """All amounts; each moment that of the view where it is least."""
    found = _exact(terms, views)
    if found is not None:
        for name, excess in terms.moments.items():
            found[name] = min(log_moment(view, excess) for view in views)
    return found


def _sum(view: View, of: Callable[[AnyGuarantee], Fraction | None]) -> Fraction | None:
    total = _NONE
    for each, count in view:
        amount = of(each)
        if amount is None:
            return None
        total += amount * count
    return total


def _without_delta(each: AnyGuarantee) -> AnyGuarantee:
    """What holds outside an event of probability delta (`docs/mathematics.md`, Lemma 20.1)."""
    return PureDP(each.epsilon) if isinstance(each, ApproximateDP) else each


def _epsilon(each: AnyGuarantee) -> Fraction | None:
    pure = _without_delta(each).pure
    return None if pure is None else pure.epsilon


def _rho(each: AnyGuarantee) -> Fraction | None:
    zcdp = _without_delta(each).zcdp
    return None if zcdp is None else zcdp.rho


def _failing(view: View) -> Fraction:
    """How likely a part fails, rounded up; at most the sum of their deltas."""
    deltas = deltas_of(view)
    failing = -(-sum_of_deltas(deltas) // _GRAIN) * _GRAIN
    return min(failing, sum((delta * count for delta, count in deltas), _NONE))


def _log_moment(view: View, excess: Fraction) -> Fraction:
    """ln M of all guarantees of a view at one order, rounded up once."""
    return rounded_up(lambda bits: _log_moments(view, excess, bits))


def _log_moments(view: Iterable[tuple[AnyGuarantee, int]], excess: Fraction, bits: int) -> Interval:
    kept = [(_without_delta(each), count) for each, count in view]
    # A delta alone, of which a list has one, moves nothing: its logarithm would be that of 1.
    listed = [(each, count) for each, count in kept if each != _NOTHING]
    return _moments(excess, bits).log_product(listed)


_moments = lru_cache(maxsize=64)(Moments)  # what every price at an order shares


# ------------------------------------------------------------------------------------------- caps


@lru_cache(maxsize=256)
def _moment_cap(terms: Terms, name: str) -> Fraction:
    """The cap of one moment, rounded down; 0 if it is surely not positive."""
    if _enclosed_cap(terms, name, _CHECKED).upper <= 0:
        return _NONE
    return max(_NONE, rounded_down(lambda bits: _enclosed_cap(terms, name, bits)))


def _enclosed_cap(terms: Terms, name: str, bits: int) -> Interval:
    weights = dict(zip(terms.moments, terms.weights, strict=True))
    epsilon = terms.epsilon or _NONE
    return _cap_at(epsilon, weights[name] * terms.rest, terms.moments[name], bits)


def _cap_at(epsilon: Fraction, delta: Fraction, excess: Fraction, bits: int) -> Interval:
    """The largest ln M at the order 1 + excess that gives (epsilon, delta).

    excess epsilon + ln delta + a ln a - (a - 1) ln(a - 1); Canonne, Kamath and Steinke (2020).
    """
    leading = excess * epsilon + Interval.of(delta, bits).log()
    return leading - log_order_constant(excess, bits)


def _first_excess(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The m 2**k, 32 <= m < 64, at which the cap over x (1 + x), the largest rho, is largest.

    With c the cap at x and a = 1 + x, that quotient rises while g = x a (epsilon + ln(a/x)) -
    (1 + 2x) c is positive.  g is ln(1/delta) at 0, and its derivative is -1 - 2c, where c rises: so
    g rises, then falls, and has one zero.  The best is one of the two numbers beside it.
    """
    low, high = -_FARTHEST * _STEPS, _FARTHEST * _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        if _rises(epsilon, delta, _on_ladder(middle)):
            low = middle
        else:
            high = middle
    below, above = _on_ladder(low), _on_ladder(high)

    def gain(bits: int) -> Interval:
        at = [_cap_at(epsilon, delta, x, bits) for x in (above, below)]
        return at[0] * (below * (1 + below)) - at[1] * (above * (1 + above))

    return above if _is_positive(gain) else below


def _on_ladder(place: int) -> Fraction:
    octave, step = divmod(place, _STEPS)
    return (_STEPS + step) * Fraction(2) ** octave


def _rises(epsilon: Fraction, delta: Fraction, x: Fraction) -> bool:
    def slope(bits: int) -> Interval:
        rate = epsilon + Interval.of((1 + x) / x, bits).log()
        return x * (1 + x) * rate - (1 + 2 * x) * _cap_at(epsilon, delta, x, bits)

    return _is_positive(slope)


def _is_positive(of: Callable[[int], Interval]) -> bool:
    bits = _CHECKED
    while True:
        found = of(bits)
        if found.lower > 0:
            return True
        if found.upper <= 0 or bits > 16 * BITS:
            return False
        bits *= 2


# ------------------------------------------------------------------------------------------ shares


def _times(
    caps: Caps, total: Mapping[str, Fraction], price: Mapping[str, Fraction], name: str
) -> int | None:
    """How often a price fits into what is left of one cap; None if the price is 0."""
    left = caps[name] - total[name]
    if left < 0:
        return -1
    return left // price[name] if price[name] else None


def _reading(total: Fraction, excess: Fraction, delta: Fraction) -> Fraction:
    """(ln M - ln delta) / (a - 1), rounded up."""
    return rounded_up(lambda bits: (total - Interval.of(delta, bits).log()) / excess)


def _rounded(value: Fraction) -> Fraction:
    return value if value.denominator <= 1 << BITS else -(-value // _UNIT) * _UNIT
