"""Unknown domains by their definition: offsets at their ends, grids, records, odd items."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import exp, sqrt
from typing import Any

import pytest
from gmpy2 import mpz
from ledgers import new, scope

import safeselect
from safeselect import Budget, Ledger, ParameterError
from safeselect.mechanisms.items import item
from safeselect.mechanisms.unknown import ListQuery, gumbel_offset, laplace_offset

pytestmark = pytest.mark.claim("C2")

COUNTED: dict[str, Any] = {
    "k": 3, "k_bar": 3, "places": "all", "epsilon": 1, "delta": "0.01", "max_contributions": 1
}  # fmt: skip
LISTED: dict[str, Any] = {"k": 1, "k_bar": 2, "places": "all", "epsilon": 1, "delta": "1e-6"}


def test_records_tell_the_range_of_places_and_the_cap() -> None:
    found = safeselect.unknown_domain_top_k({"a": 5}, **COUNTED)
    told = dict(found.statement.parameters)
    assert found.source == "OpenSSLSource"
    assert (told["k_bar"], told["max_contributions"], told["k"]) == ("3", "1", "3")
    capped = safeselect.unknown_domain_top_k(
        {"a": 5}, **LISTED, noise="gumbel", max_contributions=4
    )
    told = dict(capped.statement.parameters)
    assert (told["max_contributions"], told["most_k_bar"], told["candidates"]) == ("4", "2", "3")
    free = dict(safeselect.unknown_domain_top_k({"a": 5}, **LISTED).statement.parameters)
    assert "max_contributions" not in free


@pytest.mark.parametrize("more", [{}, {"max_contributions": 2}])
def test_a_budget_that_protects_replaced_users_pays_for_none(more: dict[str, Any]) -> None:
    kinds = {"unit": "person", "neighbours": "replace_one"}
    ledger = Ledger.create(":memory:", {"a": Budget(**kinds, epsilon=9, delta="1/10")})
    there = ledger.scope("a", **kinds, purpose="a test")
    with pytest.raises(ParameterError, match="add/remove neighbours"):
        safeselect.unknown_domain_top_k({"a": 5}, **LISTED, **more, ledger=there)
    assert ledger.balance("a").spent["epsilon"] == 0


def test_charged_parts_are_the_draws_and_one_bottom() -> None:
    ledger = new(":memory:", epsilon=9, delta="1/10")
    for places in (3, (2, 3)):
        given = {**LISTED, "k": 2, "k_bar": places}
        found = safeselect.unknown_domain_top_k({"a": 5}, **given, ledger=scope(ledger))
        charged = [r.content for r in ledger.records() if r.content["kind"] == "charged"][-1]
        draws = 2 if places == 3 else 3
        assert [part["count"] for part in charged["parts"]] == [str(draws), "1"]
        assert charged["parts"][1]["each"]["delta"] == "1/1000000"
        assert len(found.parts) == draws + 1


@pytest.mark.parametrize("delta", [1, "3/2", 2])
def test_delta_is_below_one(delta: Any) -> None:
    with pytest.raises(ParameterError, match="delta must be"):
        safeselect.unknown_domain_top_k({"a": 5}, **{**LISTED, "delta": delta})


@pytest.mark.parametrize(
    "epsilon",
    [Fraction(1, 1000), *(Fraction(n, 64) for n in (1, 2, 3, 4, 5, 64, 65, 128, 129)), 10**6],
)
def test_a_nat_has_at_least_64_steps_and_no_more_than_need_be(epsilon: Any) -> None:
    fineness = ListQuery(1, 1, 1, Fraction(epsilon), Fraction(1, 9), None).fineness
    least = next(bits for bits in range(21) if 2**bits >= 64 * epsilon or bits == 20)
    assert fineness == least


def test_an_offset_is_never_below_zero() -> None:
    grid = Fraction(1, 4)
    assert gumbel_offset(Fraction(1), Fraction(3), 1, grid) == 0
    assert gumbel_offset(Fraction(1), Fraction(1), 1, grid) == 0
    assert gumbel_offset(Fraction(1), Fraction(1), 3, grid) == 5  # ln 3 = 1.0986...
    # P(X - Y > -1) is 1/2 and more: already below delta.
    assert laplace_offset(Fraction(1), Fraction(9, 10), 1) == 0


def test_items_at_their_ends() -> None:
    huge = 2**65536
    for number in (huge - 1, 1 - huge, 0, 2**65535):
        assert item(number) == str(mpz(number))
    assert item(huge) is None
    assert item((0, (1, 2), 0)) is None  # what Decimal would read as 12
    assert item(Decimal("0E+99999")) == item(Decimal("0E-99999")) == "0"
    assert item(Decimal("1E+20001")) is None
    assert item(Decimal("1E-20001")) is None
    assert item(Fraction(1, huge)) is item(Fraction(huge + 1, 2)) is None
    assert (item(3 + 0j), item(3 + 1j)) == ("3", None)


@pytest.mark.parametrize("cap", [1, 3])
@pytest.mark.parametrize("epsilon", ["1/3", 1, 6])
def test_what_is_said_of_the_noise_of_counts_is_what_its_law_says(epsilon: Any, cap: int) -> None:
    given = {**COUNTED, "epsilon": epsilon, "max_contributions": cap}
    found = safeselect.unknown_domain_top_k({"a": 5}, **given)
    noise, rate = found.noise, float(found.noise_rate)
    assert noise is not None
    assert found.noise_rate == Fraction(epsilon) / cap
    chance = [(1 - exp(-rate)) / (1 + exp(-rate)) * exp(-rate * x) for x in range(3000)]
    deviation = sqrt(2 * sum(x**2 * p for x, p in enumerate(chance)))
    assert deviation <= noise.deviation < deviation + 0.002
    within = next(
        w for w in range(3000) if chance[0] + 2 * sum(chance[1 : w + 1]) >= Fraction(19, 20)
    )
    assert (noise.law, noise.low_95, noise.high_95) == ("discrete Laplace", -within, within)
    assert safeselect.unknown_domain_top_k({"a": 5}, **LISTED).noise is None
