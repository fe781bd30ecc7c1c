"""`make walks`: what is typed, and that a page which says something else is noticed."""

from __future__ import annotations

import pytest

import walks


@pytest.mark.parametrize("page", walks.WALKS)
def test_a_walk_begins_with_what_it_needs(page: str) -> None:
    typed = list(walks.blocks((walks.ROOT / page).read_text("utf-8")))
    kind, command = typed[0]
    assert (kind, command.split()[:2]) == ("console", ["pip", "install"])
    assert all(body.strip() for _, body in typed)
    assert {kind for kind, _ in typed} == {"console", "python"} or page == "docs/exports.md"


def test_values_are_compared() -> None:
    text = "a = 2\na + a  # 4\na  # two\n"
    walks.type_in(text, {}, "a page")
    with pytest.raises(AssertionError, match=r"a page: a \+ a is 4, and not 5"):
        walks.type_in(text.replace("# 4", "# 5"), {}, "a page")
