"""Which classes are believed before a call is charged, and which labels are told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from safeselect import Counts, ParameterError, ScoreError, permute_and_flip, select_many, top_k
from safeselect.scores.candidates import check_known, read_labels
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


# ----------------------------------------------------------------- labels


class NoHash:
    """Equal to its kin, and no more."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoHash) and self.name == other.name

    def __repr__(self) -> str:
        return f"NoHash({self.name})"


class Mute:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("private")

    def __hash__(self) -> int:
        raise RuntimeError("private")


class Unwritten:
    def __str__(self) -> str:
        raise RuntimeError("private")


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2, 1.0],
        [1, 2, True],
        [{"C": 1}, {"C": 2}, {"C": 1.0}],
        [{1}, {2}, frozenset({1})],
        [NoHash("a"), NoHash("b"), NoHash("a")],
        [{"a": {"b": [1]}}, {}, {"a": {"b": [1]}}],
    ],
    ids=repr,
)
def test_labels_that_are_equal_are_refused(labels: Any) -> None:
    with pytest.raises(ParameterError, match="but only 2 of 3 are distinct"):
        top_k([7, 9, 2], k=2, labels=labels, epsilon=1, sensitivity=1)


@pytest.mark.parametrize(
    "labels",
    [[Mute(), Mute()], [Mute(), "a"], ["a", Unwritten()], [np.arange(2), np.arange(2)]],
    ids=["mute", "mute and text", "unwritten", "arrays"],
)
def test_labels_that_cannot_be_compared_or_written(labels: Any) -> None:
    with pytest.raises(ParameterError, match="with == and convertible to text") as caught:
        top_k([7, 9], k=1, labels=labels, epsilon=1, sensitivity=1)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_many_labels_are_told_apart_by_their_hash() -> None:
    """Each is compared with a handful, not with 30 000: counted, not timed."""
    asked = 0

    class Counted(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal asked
            asked += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names: list[Any] = [Counted(f"label {place}") for place in range(30_000)]
    assert len(read_labels(names, len(names))) == 30_000
    assert asked < 300_000
    dicts = [{"C": place, "kernel": Counted("rbf")} for place in range(30_000)]
    assert len(read_labels(dicts, len(dicts))) == 30_000
    assert asked < 900_000
