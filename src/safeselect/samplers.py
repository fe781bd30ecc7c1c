"""Exact samplers for one value: the public names of `safeselect.spec`, its specification."""

from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.spec.samplers import (
    Coin,
    LazyExponential,
    LazyGumbel,
    LazyLaplace,
    LazyNoise,
    bernoulli,
    bernoulli_enclosed,
    bernoulli_exp,
    bernoulli_power,
    discrete_gaussian,
    discrete_laplace,
    discrete_laplace_exp,
    geometric,
    geometric_digits,
    geometric_exp,
    laplace_floor,
    permutation,
    uniform_below,
)

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
