"""Plots of releases: what they show, and what they leave out."""

from __future__ import annotations

import io
import math
from decimal import Decimal

import pytest

from safeselect import from_json, top_k, top_k_with_gaps, unknown_domain_top_k
from safeselect.release.results import Groups, Numbers, Selection
from shapes import COUNTED, RELEASES, SAID

pytest.importorskip("matplotlib")
COST = {"epsilon": 1000, "sensitivity": 1}
USERS = {"tea": 50_000, "milk": 20_000, "rum": 9_000}
pytestmark = pytest.mark.filterwarnings("ignore:epsilon=")


def discovered(**more):
    return unknown_domain_top_k(USERS, k=2, k_bar=2, epsilon=1, delta="1e-9", places="all", **more)


@pytest.mark.parametrize("more", [{}, {"max_contributions": 2}])
def test_plots_have_a_place_for_each_label(more):
    for found in (discovered(**more), top_k_with_gaps(USERS, k=2, **COST)):
        (axes,) = found.plot().axes
        assert [each.get_text() for each in axes.get_yticklabels()] == ["tea", "milk"]


def test_a_plot_shows_letters_as_they_are_and_hides_nothing_that_is_odd():
    """Accents and dollar signs stay; control characters and marks that turn text do not."""
    odd = {"Z\u00fcrich $\\frac$": 50_000, "a\u202eb\n": 20_000, "x" * 99: 9_000, "rare": 0}
    found = unknown_domain_top_k(
        odd, k=3, k_bar=3, epsilon=1, delta="1e-9", places="all", max_contributions=2
    )
    figure = found.plot()
    (axes,) = figure.axes
    shown = [each.get_text() for each in axes.get_yticklabels()]
    assert shown == ["Z\u00fcrich $\\\\frac$", "a\\u202eb\\n", "x" * 40 + "..."]
    title = figure.get_suptitle()
    assert title.startswith("the best\nε = 1, δ = 1e-9, ")
    assert "each user counts for at most 2 items" in title
    assert [bar.get_width() for bar in axes.patches] == list(found.counts)
    figure.savefig(io.BytesIO())  # a dollar sign starts no formula


def test_a_plot_says_what_it_leaves_out_and_that_nothing_was_found():
    many = top_k({f"item {place}": 10**6 for place in range(250)}, k=250, **COST).plot()
    (axes,) = many.axes
    assert len(axes.texts) == 50
    assert "the first 50 of 250" in many.get_suptitle()
    none = unknown_domain_top_k({}, k=2, k_bar=2, epsilon=1, delta="1e-9", places="all").plot()
    assert [each.get_text() for each in none.axes[0].texts] == ["nothing to show"]


def test_groups_have_a_part_each_and_no_figure_is_higher_than_a_page_or_two():
    """Of 40 groups, the first 25 bars; a group of which nothing is shown is named."""
    groups = tuple(f"group {place}" for place in range(40))
    for size, shown in ((3, 9), (1, 25)):
        parts = {"labels": (tuple("abc"[:size]),) * 40, "counts": ((9, 5, 1)[:size],) * 40}
        figure = Groups(**COUNTED, groups=groups, **parts).plot()
        assert [axes.get_title(loc="left") for axes in figure.axes] == [*groups[:shown]]
        assert sum(len(axes.patches) for axes in figure.axes) == 25
        assert figure.get_figheight() < 20
    figure = RELEASES["groups"].plot()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["x"]
    assert "nothing was found in 'y'" in figure.get_suptitle()


@pytest.mark.parametrize("name", RELEASES)
def test_every_shape_is_a_picture_in_a_notebook(name: str):
    figure = RELEASES[name].plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    drawn = [len(axes.patches) + len(axes.lines) + len(axes.texts) for axes in figure.axes]
    assert all(drawn)


@pytest.mark.parametrize("score", [0.5, True, math.nan, math.inf, Decimal("sNaN"), (1,), "$a$"])
def test_a_score_is_drawn_as_before_once_it_was_stored(score):
    """A number at its place; of anything else the text is on a card."""
    release = Numbers(**SAID | {"source": "NOT PRIVATE \x1b\udc80"}, values=(score,), labels=("a",))
    for figure in (release.plot(), from_json(release.to_json()).plot()):
        (axes,) = figure.axes
        places = [line.get_xdata().tolist() for line in axes.lines]
        cards = [text.get_text() for text in axes.texts]
        assert (places, cards) == (([[0.5]], []) if str(score) == "0.5" else ([], [f"a / {score}"]))
        assert figure.get_suptitle().endswith(r"NOT PRIVATE \x1b\udc80")


def test_a_choice_is_a_card_with_its_label():
    (axes,) = Selection(**SAID, label="<$a$>").plot().axes
    assert [each.get_text() for each in axes.texts] == ["<$a$>"]
    assert axes.texts[0].get_bbox_patch() is not None
