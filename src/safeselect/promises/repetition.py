"""The numbers of `Repeated`: the mean number of runs, and what the repetition adds to a loss.

The best of K runs has the law A(y) = Q(y) E f'(X), where f is the generating function of K, Q the
law of one run, and X is uniform between the probability of a worse run and that of one no better.
f' is at most E K, and f'(x) is proportional to (gamma + (1 - gamma)(1 - x))**-(1 + eta), a power of
the probability of an event of one run (`docs/mathematics.md`, section 18).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from safeselect.exact.interval import Interval, rounded_down, rounded_up

__all__ = [
    "delta_of_one_run",
    "expected_runs",
    "log_of_ratio",
    "log_of_ratio_at",
    "mean_runs",
    "rho_of_repeated",
]

_SHORT = Fraction(1, 1 << 32)


def mean_runs(eta: Fraction, gamma: Fraction, precision: int) -> Interval:
    """Enclose E K = eta (1 - gamma) / (gamma (1 - gamma**eta)), which is above 1."""
    log = Interval.of(gamma, precision).log()
    odds = Interval.of((1 - gamma) / gamma, precision)
    if not eta:
        return odds / -log
    power = Interval.of(eta, precision)
    return power * odds / -(power * log).expm1()


def expected_runs(eta: Fraction, gamma: Fraction) -> Fraction:
    """E K, rounded up to 64 significant bits; 1 / gamma for eta = 1."""
    if eta == 1:
        return 1 / gamma
    return rounded_up(lambda precision: mean_runs(eta, gamma, precision))


def delta_of_one_run(delta: Fraction, eta: Fraction, gamma: Fraction) -> Fraction:
    """delta / E K, rounded down."""
    return rounded_down(
        lambda precision: Interval.of(delta, precision) / mean_runs(eta, gamma, precision)
    )


def log_of_ratio_at(rho: Fraction, gamma: Fraction, order: Fraction, precision: int) -> Interval:
    """Enclose (1 - 1/a) r(a) + ln(1/gamma) / a, r(a) = a rho, at the order a >= 1.

    It bounds ln((gamma + (1 - gamma) p') / (gamma + (1 - gamma) p)) for the probabilities p and p'
    of one event in a run on neighbouring data, where the Rényi divergence of order a is r(a).
    """
    log = -Interval.of(gamma, precision).log()
    return Interval.of((order - 1) * rho, precision) + log / Interval.of(order, precision)


@lru_cache(maxsize=256)
def log_of_ratio(rho: Fraction, gamma: Fraction) -> Fraction:
    """The same bound at an order near the best, sqrt(ln(1/gamma) / rho); rounded up."""
    order = max(Fraction(1), _root(-Interval.of(gamma, 96).log() / Interval.of(rho, 96)))
    return rounded_up(lambda bits: log_of_ratio_at(rho, gamma, order, bits))


@lru_cache(maxsize=256)
def rho_of_repeated(rho: Fraction, shift: Fraction, eta: Fraction, gamma: Fraction) -> Fraction:
    """The Rényi divergence of the best run at one order; rounded up."""
    excess = max(_SHORT, _root(mean_runs(eta, gamma, 96).log() / Interval.of(rho, 96)))

    def bound(precision: int) -> Interval:
        log = mean_runs(eta, gamma, precision).log() / Interval.of(excess, precision)
        return Interval.of((1 + excess) * rho + shift, precision) + log

    return rounded_up(bound)


def _root(squared: Interval) -> Fraction:
    """About the square root of a number, to choose an order by; 0 where it may be negative."""
    root = squared.sqrt()
    return round(root.fractions()[1] / _SHORT) * _SHORT if root.bounded else Fraction(0)
