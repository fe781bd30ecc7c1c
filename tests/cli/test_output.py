"""Labels as lines of text that cannot imitate other output."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeselect.cli import escaped
from safeselect.cli._output import say


@given(st.text(st.characters(exclude_categories=())))
def test_a_label_is_one_line_from_which_it_can_be_read_back(label: str) -> None:
    line = escaped(label)
    assert len(line.splitlines()) <= 1
    line.encode("utf-8")
    printable = line.encode("ascii", "backslashreplace").decode("ascii")
    assert printable.encode("ascii").decode("unicode_escape") == label


def test_labels_that_are_not_text_are_written_as_text() -> None:
    assert escaped(7) == "7"
    assert escaped("a\\nb\nc\r\t\x00\x1b\x85\u2028\udc80") == (
        "a\\\\nb\\nc\\r\\t\\x00\\x1b\\x85\\u2028\\udc80"
    )


def test_what_is_said_goes_to_standard_error_or_nowhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    say("done")
    monkeypatch.setattr(sys, "stderr", None)
    say("nobody listens")
    assert capsys.readouterr() == ("", "done\n")
