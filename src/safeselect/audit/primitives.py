"""The scalar samplers' laws by walking the tree of their random bits, against Python integers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from safeselect.audit.exact_pmf import Law, bit_tree, restarted
from safeselect.audit.finding import Refuted
from safeselect.audit.series import Bounds, exp_minus
from safeselect.samplers import (
    Bits,
    Decay,
    bernoulli,
    bernoulli_exp,
    discrete_laplace,
    geometric,
    permutation,
)
from safeselect.samplers.uniform import uniform_attempt

__all__ = ["Primitive", "check_primitive", "primitives"]

Exact = Mapping[Hashable, Bounds]


@dataclass(frozen=True, slots=True)
class Primitive:
    """A sampler, its claimed law, and how deep its tree is walked.

    Args:
        name: for the table.
        run: draws one value.
        law: enclosures of the probabilities of some outcomes.
        leaves: runs at full effort.
        restarts: run is one attempt of a rejection loop, None where the loop starts again.
    """

    name: str
    run: Callable[[Bits], Hashable]
    law: Exact
    leaves: int
    restarts: bool = False


def check_primitive(primitive: Primitive, every: int) -> str:
    """Compare the proved bounds of a sampler's law with the claimed one.

    Raises:
        Refuted: a probability lies outside its proved bounds, or too little was proved to see it.
    """
    law = bit_tree(primitive.run, max_leaves=max(200, primitive.leaves // every))
    if primitive.restarts:
        law = restarted(law)
    compare(law, primitive.law)
    if law.unfinished > Fraction(1, 4):
        raise Refuted("the tree of random bits is deeper than it should be")
    return f"all but {_per_million(law.unfinished)} of the mass"


def compare(law: Law, exact: Exact) -> None:
    """Refute a law by bounds that exclude an exact probability."""
    for outcome, (low, high) in exact.items():
        least, most = law.bounds(outcome)
        if least > high or most < low:
            raise Refuted("a probability lies outside the bounds that were proved for it")


def primitives() -> Iterator[Primitive]:
    """The samplers that are checked."""
    for n in (1, 2, 3, 5, 6, 7, 11, 16, 33, 64):
        yield Primitive(
            f"uniform below {n}",
            lambda bits, n=n: uniform_attempt(bits, n),
            {v: _known(Fraction(1, n)) for v in range(n)},
            200,
            restarts=True,
        )
    for p, q in ((1, 2), (1, 3), (3, 7), (15, 16)):
        yield Primitive(
            f"coin {p}/{q}",
            lambda bits, p=p, q=q: bernoulli(bits, p, q),
            {True: _known(Fraction(p, q))},
            600,
        )
    for x in (Fraction(1, 2), Fraction(1), Fraction(7, 3)):
        yield Primitive(
            f"coin exp(-{x})",
            lambda bits, x=x: bernoulli_exp(bits, x.numerator, x.denominator),
            {True: exp_minus(x)},
            3000,
        )
    for x in (Fraction(1, 2), Fraction(2)):
        yield Primitive(
            f"geometric, rate {x}",
            lambda bits, x=x: geometric(bits, Decay(x)),
            {g: _times(_complement(exp_minus(x)), exp_minus(x * g)) for g in range(8)},
            3000,
        )
    yield Primitive(
        "geometric, base 1/2",
        lambda bits: geometric(bits, Decay(Fraction(1), Fraction(1, 2)), step=2),
        {g: _known(Fraction(1, 1 << g + 1)) for g in range(8)},
        3000,
    )
    yield Primitive(
        "discrete Laplace, rate 1",
        lambda bits: discrete_laplace(bits, Decay(Fraction(1))),
        {v: _laplace(v) for v in range(-6, 7)},
        3000,
    )
    yield Primitive(
        "order of 3",
        lambda bits: tuple(permutation(bits, 3)),
        {order: _known(Fraction(1, 6)) for order in permutations(range(3))},
        1000,
    )


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
