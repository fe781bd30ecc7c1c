"""The guarantees of the best of many runs: the mean number of runs, and what they add.

The best of K runs has the law A(y) = Q(y) E f'(X), where f is the generating function of K, Q the
law of one run, and X is uniform between the probability of a worse run and that of one no better.
f' is at most E K, and f'(x) is proportional to (gamma + (1 - gamma)(1 - x))**-(1 + eta), a power of
the probability of an event of one run (`docs/mathematics.md`, section 18).  For a Poisson number of
runs it is proportional to exp(-mean (1 - x)), the exponential of such a probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.moments import Base, Repetition
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, rounded_down, rounded_up
from safeselect.exact.parameters import Number, describe, rational
from safeselect.promises.guarantees import (
    ApproximateDP,
    Guarantee,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)


def change_of(base: Base, ratio: Interval) -> Interval:
    """Enclose a delta of (ln ratio, delta)-DP of one run, ratio >= 1."""
    if isinstance(base, ZeroConcentratedDP):
        return _of_zcdp(base.rho, ratio)
    whole = Interval.of(base.epsilon, ratio.precision).exp()
    if isinstance(base, PureDP):
        return _positive((whole - ratio) / (whole + 1))
    part = _positive(1 - (ratio / whole).sqrt())
    if isinstance(base, LaplaceDominated) or not base.epsilon:
        return part
    return part * part / (1 - 1 / whole)


def _of_zcdp(rho: Fraction, ratio: Interval) -> Interval:
    """By Canonne, Kamath and Steinke (2020), or by Pinsker's inequality; never above 1."""
    precision, log = ratio.precision, ratio.log()
    pinsker = (Interval.of(rho, precision) / 2).sqrt()
    ends = [Fraction(1), pinsker.fractions()[1]]
    order = round((log.fractions()[1] + rho) / (2 * rho) / _SHORT) * _SHORT if rho else _SHORT
    if order > 1 + _SHORT:
        b = Interval.of(order, precision)
        less = Interval.of(order - 1, precision)
        exponent = less * (b * rho - log) + less * (less / b).log() - b.log()
        ends.append(exponent.exp().fractions()[1])
    return Interval.of(min(ends), precision)


def _positive(bound: Interval) -> Interval:
    zero = Interval.of(0, bound.precision)
    return Interval(max(bound.lower, zero.lower), max(bound.upper, zero.upper), bound.precision)


_SHORT = Fraction(1, 1 << 32)
_MOST_RUNS = 10**6


@dataclass(frozen=True, slots=True)
class Repeated(Repetition):
    """The guarantee of the best of K runs, where K follows a truncated negative binomial law.

    P(K = k) is proportional to (1 - gamma)**k times the product of (l + eta) / (l + 1) over l < k,
    for k >= 1; eta = 1 is the geometric law of mean 1 / gamma.  The likelihood ratio of the best
    run is that of one run times a factor of at most e**shift, on at most E K times the probability
    (`docs/mathematics.md`, section 18).

    Args:
        base: guarantee of one run, including its score: PureDP, LaplaceDominated, BoundedRange or
            ZeroConcentratedDP.
        eta: rational, above -1 and at most 100.
        gamma: rational between 0 and 1.

    Source: Papernot and Steinke (2022), Theorem 2; Liu and Talwar (2019) for eta = 1.
    """

    base: Base
    eta: Fraction
    gamma: Fraction

    def __post_init__(self) -> None:
        _read_base(self.base)
        eta = rational(self.eta, "eta", signed=True)
        if not -1 < eta <= 100:
            raise ParameterError(f"eta must be above -1 and at most 100, got {describe(eta)}")
        object.__setattr__(self, "eta", eta)
        object.__setattr__(self, "gamma", rational(self.gamma, "gamma", below=1))

    @property
    def pure(self) -> PureDP | None:
        """PureDP with epsilon times 2 + eta if each run is epsilon-DP, and otherwise None.

        Source: Papernot and Steinke (2022), Corollary 3.
        """
        own = self.base.pure
        return None if own is None else PureDP((2 + self.eta) * own.epsilon)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """A zCDP guarantee, from `pure` or from a bound on the Rényi divergence at one order.

        This bound also holds at all lower orders. At higher orders, the divergence grows more
        slowly than the order.
        """
        return _zcdp_of_repeated(self)

    @property
    def expected_runs(self) -> Fraction:
        """E[K], the mean number of runs, rounded up to 64 significant bits."""
        if self.eta == 1:
            return 1 / self.gamma
        return rounded_up(self.mean_runs)

    @property
    def shift(self) -> Fraction:
        """An upper bound on the amount by which the privacy loss of the best run exceeds that of
        one run.
        """
        rho = self.base.zcdp.rho
        ratio = _log_of_ratio(rho, self.gamma) if rho else rho
        # The limit of large orders is the epsilon of a pure guarantee.
        return (1 + self.eta) * (min(ratio, self.base.pure.epsilon) if self.base.pure else ratio)

    def approximate(self, delta: Number) -> ApproximateDP:
        """Return an ApproximateDP guarantee that follows from this one, with the given delta.

        Its epsilon is the epsilon of one run at delta / E[K] plus a shift, or the pure bound.

        `compose` with this delta finds the least epsilon that is known.
        """
        at = rational(delta, "delta", below=1)
        less = rounded_down(lambda bits: Interval.of(at, bits) / self.mean_runs(bits))
        return _approximate(self, at, less)

    def mean_runs(self, precision: int) -> Interval:
        """Return an interval that contains E[K], the mean number of runs.

        An output is at most E[K] times as likely from the best run as from one run. E[K] is eta *
        (1 - gamma) / (gamma * (1 - gamma**eta)) > 1, or the limit of this for eta = 0.
        """
        log = Interval.of(self.gamma, precision).log()
        odds = (1 - self.gamma) / self.gamma
        if not self.eta:
            return odds / -log
        power = Interval.of(self.eta, precision)
        return power * odds / -(power * log).expm1()

    most_likelier = mean_runs

    def log_moment(self, one: Interval, excess: Interval) -> Interval:
        """Return an upper bound on the logarithm of a moment of the best run's likelihood ratio,
        given `one`, the corresponding logarithm for a single run.

        The moment is the mean of the ratio to the power a - 1, and a = 1 + excess. The bound
        is one + excess * shift + ln E[K].
        """
        return one + excess * self.shift + self.mean_runs(one.precision).log()


@dataclass(frozen=True, slots=True)
class PoissonRepeated(Repetition):
    """The guarantee of the best of K runs, where K follows a Poisson law.

    If K is 0, there is no output.

    The likelihood ratio of the best run is that of one run times a factor of at most e**shift, on
    at most `mean` times the probability.  "Nothing" has the same probability on all data.

    Args:
        base: guarantee of one run, as for `Repeated`.
        mean: mean of K; rational, above 0 and at most 10**6.

    Source: Papernot and Steinke (2022), Theorem 6, with a bound that holds for means below 1 as
        well (`docs/mathematics.md`, section 18).
    """

    base: Base
    mean: Fraction

    def __post_init__(self) -> None:
        _read_base(self.base)
        mean = rational(self.mean, "mean")
        if mean > _MOST_RUNS:
            raise ParameterError(f"mean must be at most {_MOST_RUNS}, got {describe(mean)}")
        object.__setattr__(self, "mean", mean)

    @property
    def pure(self) -> PureDP | None:
        """The guarantee PureDP(epsilon + shift) if each run is epsilon-DP, and otherwise None."""
        own = self.base.pure
        return None if own is None else PureDP(own.epsilon + self.shift)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """A zCDP guarantee, computed as for `Repeated`."""
        return _zcdp_of_repeated(self)

    @property
    def expected_runs(self) -> Fraction:
        """E[K], the mean number of runs."""
        return self.mean

    @property
    def shift(self) -> Fraction:
        """An upper bound on the amount by which the privacy loss of the best run exceeds that of
        one run.

        It is the mean, multiplied by the largest change of the probability of an event of one run.
        """
        return _shift_of_poisson(self.base, self.mean)

    def approximate(self, delta: Number) -> ApproximateDP:
        """Return an ApproximateDP guarantee that follows from this one, with the given delta.

        Its epsilon is the epsilon of one run at delta / mean plus a shift, or the pure bound.

        `compose` with this delta finds the least epsilon that is known.
        """
        at = rational(delta, "delta", below=1)
        if at >= self.mean:  # at least as probable as that there is a run at all
            return ApproximateDP(Fraction(0), at)
        return _approximate(self, at, at / self.mean)

    def most_likelier(self, precision: int) -> Interval:
        """Return an interval that contains E[K] + P(K = 0), where K is the number of runs.

        The property `zcdp` uses this number in its bound on a moment of the best run's likelihood
        ratio. An output is at most E[K] times as likely from the best run as from one run, and
        there is no output with probability P(K = 0).
        """
        return self.mean + (-Interval.of(self.mean, precision)).exp()

    def log_moment(self, one: Interval, excess: Interval) -> Interval:
        """Return an upper bound on the logarithm of a moment of the best run's likelihood ratio,
        given `one`, the corresponding logarithm for a single run.

        The moment is the mean of the ratio to the power a - 1, and a = 1 + excess. The bound
        is ln(P(K = 0) + mean * e**s), where s is `one` plus a correction.
        """
        mean = Interval.of(self.mean, one.precision)
        # (1 + 1/(a - 1)) p exceeds p' by at most this, so a p' - (a - 1) p.
        change = change_of(self.base, 1 / excess + 1)
        return ((-mean).exp() + mean * (one + excess * mean * change).exp()).log()


_Kind = Repeated | PoissonRepeated


def _read_base(base: object) -> None:
    if not isinstance(base, Base):
        raise ParameterError(
            "base must be PureDP, LaplaceDominated, BoundedRange or ZeroConcentratedDP, got "
            f"{describe(base)}; the library has no proof for repeated runs with another guarantee"
        )


def _approximate(repeated: _Kind, delta: Fraction, less: Fraction) -> ApproximateDP:
    """From one run at delta `less` and the shift, or from the pure guarantee."""
    found = repeated.base.approximate(less).epsilon + repeated.shift
    if repeated.pure is not None:
        found = min(found, repeated.pure.approximate(delta).epsilon)
    return ApproximateDP(found, delta)


@lru_cache(maxsize=256)
def _shift_of_poisson(base: Base, mean: Fraction) -> Fraction:
    """The mean times a bound on how much a probability changes; rounded up."""
    if not (base.rho if isinstance(base, ZeroConcentratedDP) else base.epsilon):
        return Fraction(0)
    return rounded_up(lambda bits: mean * change_of(base, Interval.of(1, bits)))


def log_of_ratio_at(rho: Fraction, gamma: Fraction, order: Fraction, precision: int) -> Interval:
    """Enclose (1 - 1/a) r(a) + ln(1/gamma) / a, r(a) = a rho, at the order a >= 1.

    It bounds ln((gamma + (1 - gamma) p') / (gamma + (1 - gamma) p)) for the probabilities p and p'
    of one event in a run on neighbouring data, where the Rényi divergence of order a is r(a).
    """
    log = -Interval.of(gamma, precision).log()
    return (order - 1) * rho + log / order


@lru_cache(maxsize=256)
def _log_of_ratio(rho: Fraction, gamma: Fraction) -> Fraction:
    """The same bound at an order near the best, sqrt(ln(1/gamma) / rho); rounded up."""
    order = max(Fraction(1), _root(-Interval.of(gamma, 96).log() / rho))
    return rounded_up(lambda bits: log_of_ratio_at(rho, gamma, order, bits))


def _zcdp_of_repeated(repeated: _Kind) -> ZeroConcentratedDP:
    """The Rényi divergence at one order, which bounds that of all below; or from the pure one."""
    rho, pure = repeated.base.zcdp.rho, repeated.pure
    found = _rho_of_repeated(repeated, rho) if rho else rho
    return ZeroConcentratedDP(min(found, pure.zcdp.rho) if pure else found)


@lru_cache(maxsize=256)
def _rho_of_repeated(repeated: _Kind, rho: Fraction) -> Fraction:
    """a rho + shift + ln(most) / (a - 1) at an order a near the best; rounded up."""
    shift = repeated.shift
    excess = max(_SHORT, _root(repeated.most_likelier(96).log() / rho))

    def bound(precision: int) -> Interval:
        return (1 + excess) * rho + shift + repeated.most_likelier(precision).log() / excess

    return rounded_up(bound)


def _root(squared: Interval) -> Fraction:
    """About the square root of a number, to choose an order by; 0 where it may be negative."""
    root = squared.sqrt()
    return round(root.fractions()[1] / _SHORT) * _SHORT if root.bounded else Fraction(0)


AnyGuarantee = Guarantee | GaussianDP | Repeated | PoissonRepeated
"""What a release may cost, of this library or of another."""
