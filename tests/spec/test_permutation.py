"""Permutations: exactly 1/n! each."""

import sys
from fractions import Fraction
from itertools import permutations
from math import factorial

import pytest
from exact_pmf import choice_tree
from sampler_laws import agrees, endless, scripted

from safeselect.samplers import permutation, uniform_below

pytestmark = pytest.mark.claim("C1")


def order_mass(n):
    return lambda order: (Fraction(1, factorial(n)),) * 2


def law_of(shuffle, n):
    return choice_tree(lambda c: tuple(shuffle(c, n)), max_leaves=4000)


@pytest.mark.parametrize("n", range(7))
def test_every_order_has_the_same_probability(monkeypatch, n):
    module = sys.modules["safeselect.samplers"]
    monkeypatch.setattr(module, "uniform_below", lambda choices, m: choices.below(m))
    law = law_of(permutation, n)
    assert law.unfinished == 0
    assert agrees(law, order_mass(n), permutations(range(n)))


def test_known_answer():
    # 2 bits choose one of three for the last place (11 is rejected), then 1 bit one of two.
    assert permutation(scripted(0b11_01_0, size=5), 3) == [2, 0, 1]
    assert sorted(permutation(endless("permutation"), 1000)) == list(range(1000))
    one, two = endless("p"), endless("p")
    expected = list(range(20))
    for last in range(19, 0, -1):
        other = uniform_below(two, last + 1)
        expected[last], expected[other] = expected[other], expected[last]
    assert permutation(one, 20) == expected
