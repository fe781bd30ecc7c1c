"""Mechanisms of other forms: one release of each, a sign of it, and what is looked at.

Their laws are worked out in floats from the published formulas alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Protocol

from checks.cells import Enclosure
from checks.finding import Refuted
from checks.releases import gate

Chances = Mapping[Hashable, float]
"""A law: outcome -> probability."""

_NEAR = Fraction(1, 10**9)
_SLACK = 1e-9


class OneShotCase(Protocol):
    """What is needed here of `mechanisms.OneShot`."""

    @property
    def name(self) -> str: ...
    @property
    def noise(self) -> str: ...
    @property
    def k(self) -> int: ...
    @property
    def shape(self) -> str: ...
    @property
    def gaps(self) -> bool: ...
    @property
    def cost(self) -> Mapping[str, Any]: ...
    def run(self, scores: Any, **more: Any) -> Any: ...
    def places(self, result: Any) -> list[tuple[int, ...]]: ...


@dataclass(frozen=True, slots=True)
class Look:
    """One check of a mechanism: as `verify.Check`, whose name begins with the mechanism's."""

    kind: str
    what: str
    claim: str
    aspect: str
    examine: Callable[[int], str]
    only_full: bool = False


@dataclass(frozen=True, slots=True)
class OtherCase:
    """A mechanism of another form than `mechanisms.OneShot`.

    Args:
        name: what its results carry as `mechanism`.
        noise: the law of its noise, or what it has instead.
        release: arguments -> a result.
        fingerprint: arguments -> something released that is the same by chance with probability
            below 2**-30.
        cost: what `release` costs in epsilon.
        looks: what is looked at.
        neighbours_free: whether its release is the same for all kinds of neighbours.
        rules_in_full: whether forks and sources are left to the full effort, because the function
            that is called is looked at under another name.
    """

    name: str
    noise: str
    release: Callable[..., Any]
    fingerprint: Callable[..., Hashable]
    cost: Fraction
    looks: tuple[Look, ...]
    neighbours_free: bool = False
    rules_in_full: bool = False


def follow(found: Sequence[Hashable], law: Chances) -> None:
    """Compare outcomes with their law.

    Raises:
        Refuted: their shares contradict it.
    """
    gate(Counter(found), len(found), _enclosed(law))


def independent(found: Sequence[Hashable], law: Chances) -> None:
    """Compare pairs of outcomes that follow each other with independent ones.

    Raises:
        Refuted: they depend on each other.
    """
    pairs: list[Hashable] = [*zip(found[::2], found[1::2], strict=False)]
    both: dict[Hashable, float] = {
        (one, other): law[one] * law[other] for one, other in product(law, repeat=2)
    }
    follow(pairs, both)


def loss(worst: float, claim: float, pairs: int) -> str:
    """The sentence of a largest log-ratio, of so many pairs of laws.

    Raises:
        Refuted: it is larger than the claim, or so small that nothing was looked at.
    """
    said = f"privacy loss up to {worst / claim:.4f} of \N{GREEK SMALL LETTER EPSILON}"
    if worst > claim + _SLACK:
        raise Refuted(f"{said}: some pair of neighbours loses more than is claimed")
    if worst < claim / 8:
        raise Refuted(f"{said}: the noise is for another cost")
    return f"{said}, over {pairs} pairs of neighbours"


def _enclosed(law: Chances) -> Enclosure:
    near: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for outcome, chance in law.items():
        p = Fraction(chance)
        near[outcome] = max(p - _NEAR, Fraction(0)), min(p + _NEAR, Fraction(1))
    return near
