"""Numbers for people are rounded to the safe side; the rest is in tests/cli/test_page.py."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction

import pytest

from safeselect import ApproximateDP, ZeroConcentratedDP
from safeselect.accounting.cost import rounded_text
from safeselect.release.display import bound, cost, number, with_places
from safeselect.release.page import Section, as_part, escaped

LONG = Fraction(9877949808361780035, 4611686018427387904)  # 2.141938...


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (LONG, "ε ≤ 2.15"),
        (Fraction(1), "ε = 1"),
        (Fraction("1.23456"), "ε = 1.23456"),
        (Fraction(1, 3), "ε ≤ 0.334"),
        (1 + Fraction(1, 10**30), "ε ≤ 1.01"),
        (Fraction(10**400 + 1), "ε ≤ 1.01e+400"),
        (Fraction(0), "ε = 0"),
    ],
)
def test_epsilon_is_rounded_up(value: Fraction, written: str) -> None:
    assert bound("epsilon", value) == written
    assert Fraction(written.split()[-1]) >= value


def test_every_direction_is_kept() -> None:
    for value in (LONG, -LONG, Fraction("4516.19"), Fraction(2, 3), Fraction(-1, 7)):
        low, high = (Fraction(number(value, way, 3)) for way in (ROUND_FLOOR, ROUND_CEILING))
        assert low <= value <= high
        assert (high == low) == (value == Fraction("4516.19"))
    assert (number(Fraction("4516.19")), number(Fraction(4516191, 1000))) == ("4516.19", "4516.19")
    assert number(Fraction(4516191, 1000), ROUND_CEILING) == "4516.2"
    assert with_places(Fraction(2, 3), 4, down=True) == "0.6666"
    assert with_places(Fraction(1, 3), 4) == "0.3334"
    assert Fraction(rounded_text(LONG).removeprefix("about ")) > LONG
    assert Fraction(rounded_text(LONG, ROUND_FLOOR).removeprefix("about ")) < LONG


def test_what_a_guarantee_costs() -> None:
    assert cost(ApproximateDP(LONG, Fraction(1, 3 * 10**6))) == "ε ≤ 2.15, δ ≤ 3.34e-7"
    assert cost(ZeroConcentratedDP("1/8")) == "ρ = 0.125"


def test_a_part_of_a_page_is_escaped() -> None:
    part = as_part(Section("<a>", {"<b>": "&"}, {"<c>": [("<d>",), ("\x1b<e>",)]})).text
    for letter in "abcde":
        assert f"&lt;{letter}&gt;" in part
        assert f"<{letter}>" not in part
    assert "\\x1b" in part
    assert escaped("é\\\n") == "é\\\\\\n"
