"""Checks of the scalar samplers: the law by the tree of random bits, against Python integers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import Any

from safeselect.audit.exact_pmf import Law, bit_tree, restarted
from safeselect.audit.finding import Refuted
from safeselect.audit.series import Bounds, exp_minus
from safeselect.exact.rate import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.spec.samplers import (
    bernoulli,
    bernoulli_exp,
    discrete_laplace,
    geometric,
    permutation,
    uniform_attempt,
)

Exact = Mapping[Any, Bounds]


@dataclass(frozen=True, slots=True)
class Primitive:
    """A sampler, its claimed law, and how deep its tree is walked.

    Args:
        name: for the table.
        run: draws one value.
        law: enclosures of the probabilities of some outcomes.
        leaves: the number of runs at full effort.
        restarts: whether run is one attempt of a rejection loop, None where the loop restarts.
    """

    name: str
    run: Callable[[Bits], Hashable]
    law: Exact
    leaves: int
    restarts: bool = False


def check_primitive(primitive: Primitive, every: int) -> str:
    """Compare the proved bounds of a sampler's law with the claimed one.

    Raises:
        Refuted: a probability lies outside its proved bounds, or the bounds are too wide.
    """
    law = bit_tree(primitive.run, max_leaves=max(200, primitive.leaves // every))
    if primitive.restarts:
        law = restarted(law)
    compare(law, primitive.law)
    if law.unfinished > Fraction(1, 4):
        raise Refuted("the tree of random bits is deeper than it should be")
    return f"all but {_per_million(law.unfinished)} of the mass"


def compare(law: Law, exact: Exact) -> None:
    """Raise `Refuted` if a law's bounds exclude an exact probability."""
    for outcome, (low, high) in exact.items():
        least, most = law.bounds(outcome)
        if least > high or most < low:
            raise Refuted("a probability lies outside the bounds that were proved for it")


def primitives() -> Iterator[Primitive]:
    """Yield the samplers that are checked."""
    for n in (1, 2, 3, 5, 6, 7, 11, 16, 33, 64):
        law = {v: _known(Fraction(1, n)) for v in range(n)}
        yield Primitive(f"uniform below {n}", partial(uniform_attempt, n=n), law, 200, True)
    for p, q in ((1, 2), (1, 3), (3, 7), (15, 16)):
        coin = partial(bernoulli, numerator=p, denominator=q)
        yield Primitive(f"coin {p}/{q}", coin, {True: _known(Fraction(p, q))}, 600)
    for x in (Fraction(1, 2), Fraction(1), Fraction(7, 3)):
        coin = partial(bernoulli_exp, numerator=x.numerator, denominator=x.denominator)
        yield Primitive(f"coin exp(-{x})", coin, {True: exp_minus(x)}, 3000)
    for x in (Fraction(1, 2), Fraction(2)):
        stop = _complement(exp_minus(x))
        law = {g: _times(stop, exp_minus(x * g)) for g in range(8)}
        yield Primitive(
            f"geometric, rate {x}", partial(geometric, noise_rate=NoiseRate(x)), law, 3000
        )
    halves = partial(geometric, noise_rate=NoiseRate(Fraction(1), Fraction(1, 2)), step=2)
    law = {g: _known(Fraction(1, 1 << g + 1)) for g in range(8)}
    yield Primitive("geometric, base 1/2", halves, law, 3000)
    signed = partial(discrete_laplace, noise_rate=NoiseRate(Fraction(1)))
    law = {v: _laplace(v) for v in range(-6, 7)}
    yield Primitive("discrete Laplace, rate 1", signed, law, 3000)
    orders = {order: _known(Fraction(1, 6)) for order in permutations(range(3))}
    yield Primitive("order of 3", _order_of_three, orders, 1000)


def _order_of_three(bits: Bits) -> Hashable:
    return tuple(permutation(bits, 3))


def _known(value: Fraction) -> Bounds:
    return value, value


def _complement(value: Bounds) -> Bounds:
    return 1 - value[1], 1 - value[0]


def _times(one: Bounds, two: Bounds) -> Bounds:
    return one[0] * two[0], one[1] * two[1]


def _laplace(v: int) -> Bounds:
    """(1 - r) / (1 + r) * r**|v| for r = 1/e."""
    low, high = exp_minus(Fraction(1))
    power = exp_minus(Fraction(abs(v)))
    return (1 - high) / (1 + high) * power[0], (1 - low) / (1 + low) * power[1]


def _per_million(share: Fraction) -> str:
    millionths = -(-share * 10**6 // 1)
    return f"{millionths} millionths"
