"""A budget of six amounts grants and adds up as the proved program does (proofs/Budget.v)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

import pytest
from proved_tables import AMOUNTS, WITHIN, budget_cases, read

from safeselect.ledger.budget import add, allows

pytestmark = pytest.mark.claim("C8")

NAMES = "epsilon", "not_pure", "own_delta", "moment_1", "moment_2"
UNIT = Fraction(1, 7)
LISTS = list(product(AMOUNTS, repeat=4))


def amounts(numbers: Sequence[int]) -> dict[str, Fraction]:
    """In units; what is not pure is counted."""
    named = zip(NAMES, numbers, strict=True)
    return {name: number * (Fraction(1) if name == "not_pure" else UNIT) for name, number in named}


def answer(caps: Mapping[str, Fraction], prices: Sequence[Sequence[int]]) -> str:
    """What is granted and what is spent, in units."""
    total, told = amounts((0,) * len(NAMES)), ""
    for price in map(amounts, prices):
        granted = allows(caps, price, after := add(total, price))
        total, told = after if granted else total, told + "01"[granted]
    units = [total[name] / (1 if name == "not_pure" else UNIT) for name in NAMES]
    return f"{told}:{','.join(map(str, units))}"


def answers() -> dict[tuple[int, ...], list[str]]:
    """The answers of the proved program, by caps."""
    return {tuple(map(int, row[0])): row[1:] for row in read("budget")[1]}


@pytest.mark.parametrize("within", WITHIN)
def test_a_budget_grants_as_proved(within: tuple[int, int, int, int]) -> None:
    """All 625 lists of four charges under each of 16 caps."""
    epsilon, own, *moments = within
    caps = amounts((epsilon, 0, own, *moments))
    for prices, told in zip(LISTS, answers()[within], strict=True):
        assert answer(caps, prices) == told, prices


@pytest.mark.parametrize("name", NAMES)
def test_a_cap_that_is_one_unit_larger_is_found(name: str) -> None:
    for within in [(3, 0, 2, 3), (6, 2, 4, 3), (3, 2, 2, 6), (6, 2, 2, 3)]:
        epsilon, own, *moments = within
        caps = amounts((epsilon, 0, own, *moments))
        caps[name] += 1 if name == "not_pure" else UNIT
        told = zip(LISTS, answers()[within], strict=True)
        if any(answer(caps, prices) != each for prices, each in told):
            return
    pytest.fail(f"another cap of {name} makes no difference")


def test_the_table_has_every_case() -> None:
    rows = read("budget")[1]
    assert [(row[0], len(row) - 1) for row in rows] == [(a, len(b)) for a, b in budget_cases()]
