"""One line for people, and frames."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from safeselect import ParameterError
from safeselect.release.display import frame, library
from safeselect.release.results import TopK
from shapes import RELEASES, SAID


def test_the_line_names_labels_cost_law_source_and_record() -> None:
    assert repr(RELEASES["a"]) == "<Selection ['a'], PureDP(epsilon=1), m/1, record 7>"
    assert repr(RELEASES["groups"]) == "<Groups ['x', 'y'], PureDP(epsilon=1), m/1>"
    assert repr(RELEASES["measured"]).startswith("<Numbers [-1, 5], GaussianDP(mu_squared=1/2)")
    marked = replace(RELEASES["empty"], source="Tape (NOT PRIVATE)")
    assert repr(marked) == "<TopK [], PureDP(epsilon=1), m/1, Tape (NOT PRIVATE)>"


def test_labels_are_cut_and_have_no_control_characters() -> None:
    labels = ("\x1b[2J", "é" * 60, 10**5000, *map(str, range(19)))
    shown = repr(TopK(**SAID, labels=labels))
    assert r"'\x1b[2J'" in shown
    assert shown.isascii()
    assert "12 more" in shown
    assert len(shown) < 200


@pytest.mark.parametrize("name", ["to_pandas", "to_polars"])
def test_frames_have_the_columns_of_the_dict(name: str) -> None:
    for each in RELEASES.values():
        made: Any = getattr(each, name)()
        assert [*made.columns] == [*each.to_dict()]
        assert len(made) == len(next(iter(each.to_dict().values())))


def test_labels_in_a_frame_are_all_text_unless_all_are_small_integers() -> None:
    def column(*labels: Any) -> list[Any]:
        return frame("pandas", {"label": [*labels]})["label"].tolist()

    assert column(1, 2) == [1, 2]
    assert column(1, 2**70) == ["1", str(2**70)]
    assert column(10**5000) == ["1" + "0" * 5000]  # more digits than Python writes
    assert column(1, "b", Fraction(1, 2)) == ["1", "b", "1/2"]
    assert frame("pandas", {"value": [Fraction(1, 2)]})["value"].tolist() == [0.5]


def test_a_missing_library_is_named_with_how_to_install_it() -> None:
    with pytest.raises(ParameterError, match=r"pip install nothing_at_all$"):
        library("nothing_at_all")
