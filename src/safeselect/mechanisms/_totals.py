"""What a call may cost, and how far one unit of privacy may move the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from safeselect._exact import describe, rational
from safeselect.accounting import per_draw_epsilon
from safeselect.accounting.calibration import Family
from safeselect.accounting.record import exact
from safeselect.errors import ParameterError
from safeselect.guarantees import (
    ApproximateDP,
    Guarantee,
    LaplaceDominated,
    ZeroConcentratedDP,
)

__all__ = ["Change", "Total", "exactly_one"]


def exactly_one(given: Mapping[str, object]) -> None:
    """Refuse none, or more than one, of several alternative parameters."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        names = " and ".join(given) if len(given) == 2 else ", ".join(given)
        got = " and ".join(named) if named else "none"
        raise ParameterError(f"give exactly one of {names}; got {got}")


@dataclass(frozen=True, slots=True)
class Total:
    """The total cost of a call: epsilon, epsilon with delta, or rho."""

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None

    @classmethod
    def read(cls, *, epsilon: object, rho: object, delta: object = None) -> Total:
        """Read and check the parameters.

        Raises:
            ParameterError: not exactly one of epsilon and rho, delta without epsilon, or a value
                that is not a positive number.
        """
        exactly_one({"epsilon": epsilon, "rho": rho})
        if delta is not None and epsilon is None:
            raise ParameterError("delta goes with epsilon; with rho there is none")
        return cls(
            None if epsilon is None else rational(epsilon, "epsilon"),
            None if delta is None else rational(delta, "delta", below=1),
            None if rho is None else rational(rho, "rho"),
        )

    def per_draw(self, family: Family, count: int) -> Fraction:
        """The largest epsilon of each of `count` draws of this family that the total allows."""
        return per_draw_epsilon(
            family,  # type: ignore[arg-type]  # mypy doubts that a class is hashable
            count,
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho,
        )

    @property
    def is_pure(self) -> bool:
        """Whether it is epsilon alone."""
        return self.delta is None and self.rho is None

    def promise(self, family: Family, each: Fraction, draws: int) -> Guarantee:
        """What the whole call guarantees: the strongest kind that is proved."""
        if self.epsilon is not None and self.delta is not None:
            return ApproximateDP(self.epsilon, self.delta)
        if draws == 1:
            return family(each)
        if self.rho is not None:
            return ZeroConcentratedDP(self.rho)
        # Every draw moves by at most each * |t - s| along the line from one score vector to the
        # other, so all of them together by draws * each * |t - s|: the hypothesis of lemma L0.
        return LaplaceDominated(each * draws)


@dataclass(frozen=True, slots=True)
class Change:
    """How far one unit of privacy, a person say, may move the scores.

    Either `sensitivity`, the largest change of any one score, or `range_`, the largest difference
    between the changes of two scores.
    """

    sensitivity: Fraction | None
    range_: Fraction | None
    monotonic: bool

    @classmethod
    def read(cls, *, sensitivity: object, range_: object, monotonic: object) -> Change:
        """Read and check the parameters.

        Raises:
            ParameterError: not exactly one of the two, monotonic with range_, or a wrong value.
        """
        exactly_one({"sensitivity": sensitivity, "range_": range_})
        if not isinstance(monotonic, (bool, np.bool_)):
            raise ParameterError(f"monotonic must be True or False, got {describe(monotonic)}")
        if monotonic and range_ is not None:
            raise ParameterError("monotonic=True goes with sensitivity=; range_= already covers it")
        return cls(
            None if sensitivity is None else rational(sensitivity, "sensitivity"),
            None if range_ is None else rational(range_, "range_"),
            bool(monotonic),
        )

    def told(self, grid: Fraction) -> dict[str, str]:
        """As parameters for records, with the grid of the scores."""
        values = {"sensitivity": self.sensitivity, "range": self.range_, "grid": grid}
        given = {name: exact(value) for name, value in values.items() if value is not None}
        return {**given, "monotonic": "yes" if self.monotonic else "no"}

    def range_in_steps(self, grid: Fraction, *, exact: bool) -> Fraction:
        """The range of the change of the scores on the grid, in steps; rounded up.

        Two scores move apart by at most 2 * sensitivity, or by sensitivity where all move the same
        way.  Rounding scores down to the grid may stretch each change to the next whole step, and
        a range by one step more (`docs/mathematics.md`, section 6).
        """
        if self.sensitivity is not None:
            each = self.sensitivity / grid
            return (1 if self.monotonic else 2) * (each if exact else Fraction(-(-each // 1)))
        if self.range_ is None:
            raise ParameterError("give exactly one of sensitivity and range_; got none")
        steps = self.range_ / grid
        return steps if exact else Fraction(-(-steps // 1) + 1)
