"""Which classes are believed before a call is charged: their own, by identity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import pytest

from safeselect import Counts, ParameterError, ScoreError, permute_and_flip, select_many
from safeselect.scores.candidates import check_known
from safeselect.scores.reading import INTEGERS, Sensitivity

pytestmark = pytest.mark.claim("C10")


class Alike(type(Mapping)):  # type: ignore[misc]
    """A class of classes that are equal to every other class."""

    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return hash(Counts)


class Liar(Mapping[str, int], metaclass=Alike):
    """A mapping that would pass for counts of ours."""

    places = "all"
    unit = None

    def __init__(self) -> None:
        self.asked: list[str] = []

    @property
    def counts(self) -> dict[str, int]:
        self.asked.append("counts")
        return {"a": 1}

    @property
    def __class__(self) -> Any:
        self.asked.append("class")
        return Counts

    def check_known(self, *_: object, **__: object) -> None:
        self.asked.append("check")

    def __getitem__(self, label: str) -> int:
        self.asked.append("item")
        return 1

    def __iter__(self) -> Iterator[str]:
        self.asked.append("iter")
        return iter("a")

    def __len__(self) -> int:
        self.asked.append("len")
        return 1


def test_no_other_class_is_asked_what_its_counts_are():
    liar = Liar()
    check_known(liar, Sensitivity(Fraction(1, 2), None, False), INTEGERS, None, False)
    assert liar.asked == []
    for call in (permute_and_flip, select_many):
        with pytest.raises(ScoreError, match=r"scores must be a .*, got Liar"):
            call(liar, epsilon=1, sensitivity=1)
    assert not {"counts", "check", "item", "iter", "len"} & {*liar.asked}
    ours = Counts({"a": 1}, places="all", unit="one rider")
    with pytest.raises(ParameterError, match="must be at least 1"):
        check_known(ours, Sensitivity(Fraction(1, 2), None, False), INTEGERS, None, False)
