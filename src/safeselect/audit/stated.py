"""What a release states, and the plan that it must have: public, and fixed before the first bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from safeselect.accounting.cost import PrivacyCost
from safeselect.accounting.repetition import AnyGuarantee
from safeselect.errors import ParameterError
from safeselect.promises.guarantees import ApproximateDP, ZeroConcentratedDP
from safeselect.release.codec import read_count

Draws = tuple[tuple[AnyGuarantee, int], ...]
"""The guarantees of draws, each with the number of them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What was fixed before the first bit.

    Attributes:
        guarantee: what the whole release costs.
        draws: what its draws cost.
        parameters: all public parameters, as a record states them.
        least: the least count that may be released, where there is one.
    """

    guarantee: AnyGuarantee
    draws: Draws
    parameters: Mapping[str, str]
    least: int | None = None


@dataclass(frozen=True, slots=True)
class Stated:
    """What a release states.

    Attributes:
        name: of the mechanism, without the version of its law.
    """

    release: Any
    name: str
    parameters: Mapping[str, str]

    def text(self, name: str) -> str:
        """A parameter that must be there."""
        if name not in self.parameters:
            raise ParameterError(f"there is no {name}")
        return self.parameters[name]

    def whole(self, name: str) -> int:
        """A parameter that is an integer from 0."""
        return read_count(self.text(name), name)

    def maybe(self, name: str) -> int | None:
        """The same, or None where it is not stated."""
        return self.whole(name) if name in self.parameters else None

    def flag(self, name: str) -> bool:
        """A parameter that is "yes" or "no"."""
        if self.text(name) not in ("yes", "no"):
            raise ParameterError(f"{name} must be yes or no")
        return self.text(name) == "yes"

    def copied(self, *names: str) -> dict[str, str]:
        """Parameters that follow from no other."""
        return {name: self.text(name) for name in names}

    @property
    def total(self) -> ApproximateDP:
        """A cost with delta."""
        if not isinstance(self.release.guarantee, ApproximateDP):
            raise ParameterError("it costs no delta")
        return self.release.guarantee

    @property
    def cost(self) -> PrivacyCost:
        """The cost that a caller gave."""
        whole = self.release.guarantee
        if isinstance(whole, ApproximateDP):
            return PrivacyCost(whole.epsilon, whole.delta, None)
        if isinstance(whole, ZeroConcentratedDP):
            return PrivacyCost(None, None, whole.rho)
        return PrivacyCost(whole.epsilon, None, None)
