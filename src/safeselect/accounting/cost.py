"""The total cost of a call, and warnings about values that are almost surely a mistake."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from safeselect.errors import ParameterError, SafeSelectWarning
from safeselect.exact.interval import Interval, rounded_down
from safeselect.exact.parameters import rational
from safeselect.promises.guarantees import (
    ApproximateDP,
    Family,
    Guarantee,
    LaplaceDominated,
    ZeroConcentratedDP,
)
from safeselect.scores.reading import exactly_one

_LARGE = 10  # nats


def rounded_text(value: Fraction, rounding: str = ROUND_CEILING) -> str:
    """A number for people: exact where it is short, otherwise about, up to the sixth digit."""
    pair = Decimal(value.numerator), Decimal(value.denominator)
    decimal = Context(prec=9).divide(*pair)
    is_exact = Fraction(decimal) == value
    if not is_exact and max(value.numerator, value.denominator) < 1000:
        return str(value)
    shown = decimal if is_exact else Context(prec=6, rounding=rounding).divide(*pair)
    shown = shown.normalize(Context(prec=9))
    form = "f" if -7 < shown.adjusted() < 9 else "e"
    return f"{'' if is_exact else 'about '}{shown:{form}}"


def caution(sentence: str) -> None:
    """Warn; the warning names the line outside this package that called it."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "safeselect":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, SafeSelectWarning, stacklevel=level)


def read_epsilon(epsilon: object) -> Fraction:
    """Read the total epsilon of a call or a session; warn if it is above 10.

    Raises:
        ParameterError: it is not a positive number.
    """
    value = rational(epsilon, "epsilon")
    if value > _LARGE:
        caution(
            f"epsilon={rounded_text(value)} is above {_LARGE}: one person's data can make an "
            "outcome more than 20000 times as likely, which protects nobody"
        )
    return value


@dataclass(frozen=True, slots=True)
class PrivacyCost:
    """The total cost of a call: epsilon, epsilon with delta, or rho."""

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None

    @classmethod
    def read(cls, epsilon: object, delta: object = None, rho: object = None) -> PrivacyCost:
        """Read and check the parameters.

        Raises:
            ParameterError: not exactly one of epsilon and rho, delta without epsilon, or a value
                that is not a positive number.
        """
        exactly_one({"epsilon": epsilon, "rho": rho}, "for example epsilon=1")
        if delta is not None and epsilon is None:
            raise ParameterError("delta requires epsilon; do not pass delta with rho")
        return cls(
            None if epsilon is None else read_epsilon(epsilon),
            None if delta is None else rational(delta, "delta", below=1),
            None if rho is None else rational(rho, "rho"),
        )

    def per_draw(self, family: Family, count: int) -> Fraction:
        """The largest epsilon of each of `count` draws of this family that the total allows."""
        if count == 1 and self.epsilon is not None and self.delta is None:
            return self.epsilon
        # Loaded where it is needed: a release of pure epsilon runs nothing of it.
        from safeselect.accounting.rate import per_draw_epsilon

        total = self.epsilon, self.delta, self.rho
        return per_draw_epsilon(family, count, *total)  # type: ignore[arg-type]  # it is hashable

    @property
    def is_pure(self) -> bool:
        """Whether it is epsilon alone."""
        return self.delta is None and self.rho is None

    def guarantee(self, family: Family, each: Fraction, draws: int) -> Guarantee:
        """The guarantee of the whole call: the strongest kind that is proved."""
        if self.epsilon is not None and self.delta is not None:
            return ApproximateDP(self.epsilon, self.delta)
        if draws == 1:
            return family(each)
        if self.rho is not None:
            return ZeroConcentratedDP(self.rho)
        # Every draw moves by at most each * |t - s| along the line from one score vector to the
        # other, so all of them together by draws * each * |t - s|: the hypothesis of lemma L0.
        return LaplaceDominated(each * draws)

    def unordered(self, size: int, k: int, range_: Fraction) -> tuple[ApproximateDP, Fraction]:
        """The guarantee of a set of the k best candidates, and the noise rate, rounded down.

        Each score + Laplace noise of rate epsilon / (8 s sqrt(k ln(n / delta))), where every score
        changes by at most s; by shift invariance s = R / 2 will do (Qiao, Su and Zhang 2021,
        Theorem 2.2).

        Raises:
            ParameterError: the mechanism is not proved to keep this cost.
        """
        epsilon, delta = self.epsilon, self.delta
        if epsilon is None or delta is None:
            raise ParameterError("mechanism='laplace' requires epsilon and delta")
        if epsilon > Fraction(1, 5) or delta > Fraction(1, 20):
            raise ParameterError(
                "mechanism='laplace' has a privacy proof only for epsilon <= 0.2 and delta <= 0.05"
            )
        if size < 2:
            raise ParameterError("mechanism='laplace' requires at least two candidates")
        inside, across = size / delta, epsilon / (4 * range_)

        def rate(precision: int) -> Interval:
            return across / (k * Interval.of(inside, precision).log()).sqrt()

        return ApproximateDP(epsilon, delta), rounded_down(rate)


UNPRICED = PrivacyCost(None, None, None)
"""For a call whose mechanism reads its cost by itself."""
