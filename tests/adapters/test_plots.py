"""Plots of releases: what they show, and what they leave out."""

from __future__ import annotations

import io

import pytest

from safeselect import top_k, top_k_with_gaps, unknown_domain_top_k

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
    assert shown == ["Z\u00fcrich $\\frac$", "a\\u202eb\\n", "x" * 40 + "..."]
    title = axes.get_title()
    assert "epsilon = 1, delta = 1e-9, a user counts for 2 items at most" in title
    assert [bar.get_width() for bar in axes.patches] == list(found.counts)
    figure.savefig(io.BytesIO())  # a dollar sign starts no formula


def test_a_plot_says_what_it_leaves_out_and_that_nothing_was_found():
    many = top_k({f"item {place}": 10**6 for place in range(250)}, k=250, **COST).plot()
    (axes,) = many.axes
    assert len(axes.get_yticklabels()) == 200
    assert "the first 200 of 250" in axes.get_title()
    none = unknown_domain_top_k({}, k=2, k_bar=2, epsilon=1, delta="1e-9", places="all").plot()
    assert [each.get_text() for each in none.axes[0].texts] == ["nothing was found"]
