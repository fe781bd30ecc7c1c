"""Exact noise for one value, in Python integers: the specification of every law in this library.

Each sampler has one file: uniform, coins, geometric, Laplace, Gaussian, lazy noise, permutation.
Each docstring gives the law as a formula.  These are building blocks: a value drawn here is private
only as part of a mechanism whose guarantee is proved.

Every loop is bounded, see `randomness.bits.rounds`.  With independent fair bits a sampler raises
`SourceError` with probability below 2**-100; given that it does not, its law is the documented one.
"""

from __future__ import annotations

from safeselect.exact.rate import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.reference.bernoulli import (
    Coin,
    bernoulli,
    bernoulli_enclosed,
    bernoulli_exp,
    bernoulli_power,
)
from safeselect.reference.discrete_gaussian import discrete_gaussian
from safeselect.reference.discrete_laplace import (
    discrete_laplace,
    discrete_laplace_exp,
    laplace_floor,
)
from safeselect.reference.geometric import geometric, geometric_digits, geometric_exp
from safeselect.reference.lazy import LazyExponential, LazyGumbel, LazyLaplace, LazyNoise
from safeselect.reference.permutation import permutation
from safeselect.reference.uniform import uniform_below

__all__ = [
    "Bits",
    "Coin",
    "LazyExponential",
    "LazyGumbel",
    "LazyLaplace",
    "LazyNoise",
    "NoiseRate",
    "bernoulli",
    "bernoulli_enclosed",
    "bernoulli_exp",
    "bernoulli_power",
    "discrete_gaussian",
    "discrete_laplace",
    "discrete_laplace_exp",
    "geometric",
    "geometric_digits",
    "geometric_exp",
    "laplace_floor",
    "permutation",
    "uniform_below",
]
