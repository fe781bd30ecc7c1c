"""One line for people, and frames."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from safeselect import ApproximateDP, ParameterError, PureDP, quantile
from safeselect.release.display import frame, library, with_places
from safeselect.release.results import Answers, Numbers, Selection, TopK
from shapes import RELEASES, SAID


def test_the_line_names_labels_cost_law_source_and_record() -> None:
    assert repr(RELEASES["a"]) == "<Selection ['a'], PureDP(epsilon=1), m/1, record 7>"
    assert repr(RELEASES["groups"]) == "<Groups ['x', 'y'], PureDP(epsilon=1), m/1>"
    assert repr(RELEASES["measured"]).startswith("<Numbers [-1, 5], GaussianDP(mu_squared=1/2)")
    marked = replace(RELEASES["empty"], source="Tape (NOT PRIVATE)")
    assert repr(marked) == "<TopK [], PureDP(epsilon=1), m/1, Tape (NOT PRIVATE)>"


def test_labels_are_cut_and_have_no_control_characters() -> None:
    labels = ("\x1b[2J", "é" * 60, 10**5000, *map(str, range(19)))
    shown = repr(TopK(**SAID | {"source": "NOT PRIVATE\x1b\n\u202e"}, labels=labels))
    assert r"'\x1b[2J'" in shown
    assert shown.isascii()
    assert r", NOT PRIVATE\x1b\n\u202e>" in shown
    assert "12 more" in shown
    assert len(shown) < 230


@pytest.mark.parametrize("name", ["to_pandas", "to_polars"])
def test_frames_have_the_columns_of_the_dict(name: str) -> None:
    for each in RELEASES.values():
        made: Any = getattr(each, name)()
        assert [*made.columns] == [*each.to_dict()]
        assert len(made) == len(next(iter(each.to_dict().values())))


def test_labels_in_a_frame_are_all_text_unless_all_are_small_integers() -> None:
    def column(*labels: Any) -> list[Any]:
        return frame("pandas", {"label": [*labels]})["label"].tolist()

    assert (column(1, 2), column(1, 2**70)) == ([1, 2], ["1", str(2**70)])
    assert column(10**5000) == ["1" + "0" * 5000]  # more digits than Python writes
    assert column(1, "b", Fraction(1, 2)) == ["1", "b", "1/2"]
    assert frame("pandas", {"value": [Fraction(1, 2)]})["value"].tolist() == [0.5]


@pytest.mark.parametrize("how", ["__repr__", "to_dict", "to_pandas", "to_polars", "_repr_html_"])
def test_numbers_beyond_floats_are_infinite(how: str) -> None:
    far, near = Fraction(10**400, 3), Fraction(1)
    session: Any = {"consumed": 3, "indices": (0, 2), "costs": (far, near)}
    for made in (
        Selection(**SAID, label="a", gap=far),
        TopK(**SAID, labels=("a", "b"), gaps=(far, near)),
        Answers(**SAID, **session, gaps=(near, far)),
        Numbers(**SAID, values=(-far, far)),
    ):
        getattr(made, how)()
    assert frame("pandas", {"value": [-far, near]})["value"].tolist() == [-math.inf, 1]


def test_lone_surrogates_in_frames_are_escaped() -> None:
    for name in ("pandas", "polars"):
        for column in ("label", "group"):
            assert [*frame(name, {column: ["\ud800", "é\\\n"]})[column]] == ["\\ud800", "é\\\n"]


def test_a_limit_of_digits_hides_no_number() -> None:
    long = Fraction(10**1000 + 1, 10**1000)
    grid: Any = {"lowest": 0, "highest": 9 / Fraction(10**1000), "step": 1 / Fraction(10**1000)}
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        for ends in (grid, {"lowest": 0, "highest": 10**1001, "step": 10**1000}):
            assert "quantile/1" in repr(quantile([0], quantile="1/2", epsilon=1, **ends))
        assert "epsilon<=1.01)" in repr(Selection(**SAID | {"guarantee": PureDP(long)}, label="a"))
        assert "('" not in repr(Numbers(**SAID, values=(long,)))
        assert with_places(Fraction(10**1000), 2) == "1" + "0" * 1000
        with pytest.raises(ParameterError, match="delta must be at least 1/10"):
            ApproximateDP(1, 1 / Fraction(10**1000)).approximate(1 / Fraction(10**1001))
    finally:
        sys.set_int_max_str_digits(before)


def test_a_missing_library_is_named_with_how_to_install_it() -> None:
    with pytest.raises(ParameterError, match=r"pip install nothing_at_all$"):
        library("nothing_at_all")
