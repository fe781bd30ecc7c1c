"""The public door of the specification: every name is the specification's own."""

from __future__ import annotations

from safeselect import samplers
from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.spec import samplers as spec


def test_every_public_sampler_is_the_one_of_the_specification():
    others = {"Bits": Bits, "NoiseRate": NoiseRate}
    for name in samplers.__all__:
        assert getattr(samplers, name) is (others.get(name) or getattr(spec, name)), name
