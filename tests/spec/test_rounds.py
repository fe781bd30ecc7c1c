"""No loop that draws goes on for ever: every one has a public bound, and the page lists it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import safeselect
from safeselect import SourceError, samplers
from safeselect.engine.geometric import discrete_laplace as laplace_array
from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds


@pytest.mark.parametrize(("digits", "expected"), [(1, 4096), (8, 512), (64, 64), (4097, 1)])
def test_rounds(digits, expected):
    assert len(rounds(digits)) == expected


class Stuck:
    """A source for tests that gives good bytes and then one value; nobody looks at its canary."""

    name, production = "Stuck", False

    def __init__(self, value: int, good: int = 0) -> None:
        self.value, self.good = bytes([value]), np.random.default_rng(good).bytes(good)

    def begin(self) -> bytes:
        return bytes(16)

    def fill(self, buffer: memoryview, /) -> None:
        piece, self.good = self.good[: len(buffer)], self.good[len(buffer) :]
        buffer[:] = piece.ljust(len(buffer), self.value)


def reaches_a_bound(call: Callable[[], object]) -> bool:
    """Whether the call ends with the error of a bound; it may end well too, in no other way."""
    try:
        call()
    except SourceError as error:
        if str(error) == str(exhausted()):
            return True
        raise
    return False


DECAY = NoiseRate(Fraction(1, 3))
BASE = NoiseRate(Fraction(1), Fraction(999, 1000))
SAMPLERS: dict[str, Callable[[Bits], object]] = {
    "uniform": lambda bits: samplers.uniform_below(bits, 5),
    "bernoulli": lambda bits: samplers.bernoulli(bits, 2, 5),
    "bernoulli_exp": lambda bits: samplers.bernoulli_exp(bits, 1, 3),
    "bernoulli_exp far": lambda bits: samplers.bernoulli_exp(bits, 10**30, 7),
    "bernoulli_power": lambda bits: samplers.bernoulli_power(bits, DECAY, 3),
    "geometric_exp": lambda bits: samplers.geometric_exp(bits, 1, 3),
    "geometric_digits": lambda bits: samplers.geometric_digits(bits, BASE),
    "discrete_laplace": lambda bits: samplers.discrete_laplace(bits, DECAY),
    "discrete_gaussian": lambda bits: samplers.discrete_gaussian(bits, Fraction(9)),
    "permutation": lambda bits: samplers.permutation(bits, 5),
    "exponential": lambda bits: samplers.LazyExponential(bits, DECAY).refine(bits, 40),
    "laplace": lambda bits: samplers.LazyLaplace(bits, DECAY).refine(bits, 40),
    "gumbel": lambda bits: samplers.LazyGumbel(bits, DECAY).refine(bits, 40),
    "array": lambda bits: laplace_array(1000, DECAY, bits),
}
EXPECTED = {  # those that reach a bound on zeros, and on ones
    (0x00): {"bernoulli_exp", "geometric_exp", "gumbel"},
    (0xFF): {"uniform", "permutation", "gumbel"},
}


@pytest.mark.claim("C5")
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("value", [0x00, 0xFF, 0x55, 0x5A, 0x92])
def test_a_sampler_on_one_value_ends(name, value):
    with Bits(Stuck(value)) as bits:
        reached = reaches_a_bound(lambda: SAMPLERS[name](bits))
    assert reached or name not in EXPECTED.get(value, set())


MECHANISMS: dict[str, Callable[..., Any]] = {
    "permute_and_flip": safeselect.permute_and_flip,
    "exponential": safeselect.exponential_mechanism,
    "laplace": lambda scores, **more: safeselect.report_noisy_max(scores, noise="laplace", **more),
    "top_k": lambda scores, **more: safeselect.top_k(scores, k=2, mechanism="exponential", **more),
    "gaps": lambda scores, **more: safeselect.top_k_with_gaps(scores, k=2, **more),
}


@pytest.mark.claim("C5")
@pytest.mark.parametrize("n", [3, 40, 5000])
@pytest.mark.parametrize("name", MECHANISMS)
def test_ties_on_one_value_end(name, n):
    """The noise of all is the same, so a tie is never decided."""
    if n > 40 and name != "permute_and_flip":
        pytest.skip("the same loop, and slow")
    scores, ended = np.zeros(n, np.int64), 0
    for value, good in ((0x5A, 100), (0x5A, 0), (0x00, 0), (0xFF, 0))[: 2 if n > 40 else 4]:
        options = {"epsilon": 1, "sensitivity": 1, "source": Stuck(value, good)}
        ended += reaches_a_bound(lambda o=options: MECHANISMS[name](scores, **o))
    assert ended > 0
