"""The exponential mechanism, base e and base 2."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import rational
from safeselect.exact.rate import Decay
from safeselect.promises.guarantees import BoundedRange
from safeselect.selection._account import Scope
from safeselect.selection._call import Call, Total, exactly_one
from safeselect.selection._results import Selection

__all__ = ["dyadic_decay", "exponential_mechanism", "exponential_mechanism_base2"]


def exponential_mechanism(
    scores: object,
    *,
    epsilon: object = None,
    rho: object = None,
    sensitivity: object = None,
    range_: object = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: object = None,
    on_grid: bool = False,
    score_error: object = None,
    labels: object = None,
    source: object = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> Selection:
    """Choose candidate r with probability proportional to exp(rate * score r).

    rate = epsilon / R, R being `range_`, or `sensitivity` if monotonic, or twice the `sensitivity`.

    Guarantee: BoundedRange(epsilon), hence epsilon-DP and about (epsilon**2 / 8)-zCDP (McSherry
        and Talwar 2007; Dong, Durfee and Rogers 2020).  For many selections under zCDP it is the
        better choice, for one pure-DP selection permute-and-flip is.
    Neighbours, Args, Raises: as for `permute_and_flip`.
    Method: the largest of score + Gumbel noise, exactly: lattice floors of the noise from certified
        enclosures of its distribution function, refined until the winner is decided.
    """
    total = Total.read(epsilon=epsilon, rho=rho)
    call = Call(
        scores,
        sensitivity=sensitivity,
        range_=range_,
        monotonic=monotonic,
        minimize=minimize,
        grid=grid,
        on_grid=on_grid,
        score_error=score_error,
        labels=labels,
        source=source,
        ledger=ledger,
        engine=engine,
    )
    each = total.per_draw(BoundedRange, 1)
    decay = call.decay(each)
    guarantee, mechanism = BoundedRange(each), "exponential_mechanism/1"
    with call.release(guarantee, mechanism):
        ranking = call.engine.gumbel_top(call.steps, 1, decay, call.bits)
        return call.selection(ranking, guarantee, mechanism)


def exponential_mechanism_base2(
    scores: object,
    *,
    epsilon: object = None,
    rho: object = None,
    base: object = None,
    sensitivity: object = None,
    range_: object = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: object = None,
    on_grid: bool = False,
    score_error: object = None,
    labels: object = None,
    source: object = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> Selection:
    """Choose candidate r with probability proportional to a rational power: base**(-score r / R).

    R is `range_`, or `sensitivity` if monotonic, or twice the `sensitivity`; so `base` is how much
    less likely a candidate is whose score is lower by R.  Where scores and R are integers with
    R = 1 all weights are rational numbers; (x / 2**y)**z is Ilvento's mechanism with these x, y, z.
    With `epsilon` or `rho` the factor per grid step is the smallest x / 2**64 that is at least
    exp(-epsilon / R).  The range of the scores is not limited.

    Guarantee: BoundedRange(epsilon); with `base`, epsilon = -ln(base), rounded up to 64 bits.
    Neighbours, Raises: as for `permute_and_flip`.
    Method: as `exponential_mechanism`.  Source: Ilvento (2020); Dong, Durfee and Rogers (2020).

    Args:
        base: an exact rational between 0 and 1; instead of epsilon and rho.  The result keeps it.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            labels, source, ledger, engine: as for `permute_and_flip`.
    """
    exactly_one({"epsilon": epsilon, "rho": rho, "base": base}, "write for example epsilon=1")
    factor = None if base is None else rational(base, "base", below=1)
    total = Total(None, None, None) if factor else Total.read(epsilon=epsilon, rho=rho)
    call = Call(
        scores,
        sensitivity=sensitivity,
        range_=range_,
        monotonic=monotonic,
        minimize=minimize,
        grid=grid,
        on_grid=on_grid,
        score_error=score_error,
        labels=labels,
        source=source,
        ledger=ledger,
        engine=engine,
    )
    if factor is not None:
        guarantee = BoundedRange(rounded_up(lambda bits: -Interval.of(factor, bits).log()))
        decay = Decay(1 / call.range_in_steps, factor)
    else:
        each = total.per_draw(BoundedRange, 1)
        guarantee = BoundedRange(each)
        decay = dyadic_decay(each / call.range_in_steps)
    mechanism, exact_base = (
        "exponential_mechanism_base2/1",
        decay.base if factor is None else factor,
    )
    with call.release(guarantee, mechanism):
        ranking = call.engine.gumbel_top(call.steps, 1, decay, call.bits)
        return call.selection(ranking, guarantee, mechanism, base=exact_base)


@lru_cache(maxsize=256)
def dyadic_decay(rate: Fraction) -> Decay:
    """The decay x / 2**64 per step with the smallest x such that it is at least exp(-rate).

    At least: a factor nearer to 1 means more noise, so rounding up is towards privacy.

    Raises:
        ParameterError: the rate is outside the permitted range (where exp(-rate) < 1 - 2**-41).
    """
    Decay(rate)
    precision = 128
    while True:
        factor = (-Interval.of(rate, precision)).exp()
        low, high = factor.scaled(64)
        # exp of a rational is never a multiple of 2**-64, so some precision tells which lie below.
        if high == low + 1:
            return Decay(Fraction(1), Fraction(high, 2**64))
        precision *= 2
