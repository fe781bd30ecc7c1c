"""A number of a subclass is the number of the class that it extends, wherever it enters."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from gmpy2 import mpz

from safeselect import quantile
from safeselect.exact.parameters import describe, plain, rational
from safeselect.scores.candidates import read_candidates
from safeselect.scores.reading import Reading
from safeselect.scores.reals import place_of

pytestmark = pytest.mark.claim("C3")


def lying(kind: type, number: Any) -> Any:
    """An object of a subclass whose own methods and properties all say something else, or raise."""

    def nine(*_: object) -> int:
        return 9

    def text(*_: object) -> str:
        return "9"

    def raised(*_: object) -> Any:
        raise RuntimeError("number 4711")

    names = {
        **dict.fromkeys(("__int__", "__index__", "__trunc__", "item", "conjugate"), nine),
        **dict.fromkeys(("__str__", "__repr__", "__format__"), text),
        "__float__": lambda _: 9.0,
        "as_integer_ratio": lambda _: (9, 1),
        "numerator": property(nine),
        "denominator": property(raised),
        "real": property(raised),
        **dict.fromkeys(("__eq__", "__lt__", "__gt__", "__bool__", "__array__"), raised),
        **dict.fromkeys(("bit_length", "as_tuple", "adjusted", "is_nan", "__len__"), raised),
        "__hash__": lambda _: hash("0.5"),
    }
    found = type(f"Own{kind.__name__}", (kind,), names)(number)
    assert isinstance(found, kind)
    return found


NUMBERS: list[tuple[type, Any, Fraction]] = [
    (int, 3, Fraction(3)),
    (int, 2**20, Fraction(2**20)),
    (float, 0.25, Fraction(1, 4)),
    (Fraction, Fraction(1, 3), Fraction(1, 3)),
    (Fraction, Fraction(2**20, 7), Fraction(2**20, 7)),
    (Decimal, Decimal("0.125"), Fraction(1, 8)),
    (np.int64, 3, Fraction(3)),
    (np.uint8, 3, Fraction(3)),
    (np.float16, 0.25, Fraction(1, 4)),
    (np.float32, 0.25, Fraction(1, 4)),
    (np.float64, 0.25, Fraction(1, 4)),
]
IDS = [f"{kind.__name__} {exact}" for kind, _, exact in NUMBERS]


@pytest.mark.parametrize(("kind", "number", "exact"), NUMBERS, ids=IDS)
def test_a_subclass_is_what_it_extends(kind: type, number: Any, exact: Fraction) -> None:
    own = lying(kind, number)
    found = plain(own)
    assert type(found) in (int, float, Decimal, Fraction, type(plain(lying(Fraction, 1))))
    assert Fraction(*map(int, found.as_integer_ratio())) == exact
    assert place_of(own) == (2, exact)
    assert rational(own, "epsilon") == exact
    reading = Reading.read(grid="1/840", on_grid=False, score_error=None)
    scores = [read_candidates([each, 0]).scores_on_grid(reading).tolist() for each in (own, exact)]
    assert scores[0] == scores[1]
    given: dict[str, Any] = {"lowest": 0, "highest": 2**80, "step": "1/840", "epsilon": 10**6}
    with pytest.warns(UserWarning, match="epsilon="):
        released = quantile([own] * 9, quantile="1/2", **given).value
    assert released == exact * 840 // 1 / Fraction(840)


@pytest.mark.parametrize("value", [True, np.True_, np.bool_(True), np.uint64(1), mpz(1)])
def test_truth_is_one(value: Any) -> None:
    assert type(plain(value)) is int
    assert plain(value) == 1


def test_a_text_of_a_subclass_is_its_characters() -> None:
    """And the texts that were read before are not mixed up with it."""
    assert rational("0.5", "epsilon") == Fraction(1, 2)
    assert rational(lying(str, "0.25"), "epsilon") == Fraction(1, 4)
    assert rational("0.25", "epsilon") == Fraction(1, 4)
    assert rational("0.5", "epsilon") == Fraction(1, 2)


def test_a_long_number_is_described_by_its_own_length() -> None:
    assert describe(lying(int, 2**4000)) == "Ownint of 4001 bits"
    assert describe(lying(Fraction, Fraction(1, 2**4000))) == "OwnFraction of 4001 bits"
