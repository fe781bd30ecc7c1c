"""Results as containers and frames: what is released, in the order of release, and nothing else."""

from __future__ import annotations

import io
import sys
from fractions import Fraction

import numpy as np
import pytest

import safeselect
from safeselect import (
    AdaptiveSparseVector,
    InputError,
    ParameterError,
    SparseVector,
    top_k,
    top_k_above,
    top_k_with_gaps,
    unknown_domain_top_k,
)
from safeselect.adapters.plots import plot_path, save_plot
from safeselect.engine import rankings
from safeselect.mechanisms import table

COST = {"epsilon": 1000, "sensitivity": 1}
USERS = {"tea": 50_000, "milk": 20_000, "rum": 9_000}
pytestmark = pytest.mark.filterwarnings("ignore:epsilon=")


def discovered(**more):
    return unknown_domain_top_k(USERS, k=2, k_bar=2, epsilon=1, delta="1e-9", places="all", **more)


def test_ordered_results_are_sequences_of_their_labels():
    found = top_k({"tea": 3, "milk": 900, "rum": 2000}, k=2, **COST)
    assert (len(found), list(found), found[0], found[-1]) == (2, ["rum", "milk"], "rum", "milk")
    assert found[:1] == ("rum",)
    above = top_k_above({"tea": 3, "milk": 900}, threshold=400, k=2, **COST)
    assert list(above) == ["milk"]
    unknown = discovered()
    assert (list(unknown), unknown[0], len(unknown)) == (["tea", "milk"], "tea", 2)
    many = safeselect.select_many([[3, 900, 4000], [9000, 3, 4000]], k=2, **COST)
    assert (len(many), list(many), many[1]) == (2, [[2, 1], [0, 2]], [0, 2])


def test_a_set_is_iterated_in_the_order_of_its_labels_never_of_its_scores():
    cost = {"epsilon": "0.2", "delta": "0.05", "sensitivity": 1}
    scores = {"zebra": 10**9, "ant": 10**8, "bee": 10**7, "cat": 0}
    found = top_k(scores, k=3, mechanism="laplace", **cost)
    assert list(found) == ["ant", "bee", "zebra"]
    assert "zebra" in found
    assert found.to_dict() == {"label": ["ant", "bee", "zebra"]}


def test_measurements_and_quantiles_are_sequences_of_their_values():
    found = safeselect.measure({"tea": 7, "rum": 10**30}, epsilon=1000, sensitivity_l1=1)
    assert (len(found), list(found), found[0], found[-1]) == (2, [7, 10**30], 7, 10**30)
    assert repr(found).startswith("<Numbers [")
    assert found.to_dict() == {
        "label": ["tea", "rum"],
        "value": [7, 10**30],
        "low": [7, 10**30],
        "high": [7, 10**30],
    }
    wide = safeselect.measure([5, 6], mu="1/10", sensitivity_l2_squared=1).to_dict()
    assert wide["label"] == [0, 1]
    assert wide["high"][0] - wide["value"][0] == wide["value"][1] - wide["low"][1] == 20
    points = safeselect.quantiles(
        [3] * 9 + [8] * 9, quantiles=["1/4", "3/4"], lowest=0, highest=9, step=1, epsilon=1000
    )
    assert (len(points), list(points), points[-1]) == (2, [3, 8], 8)
    assert repr(points).startswith("<Numbers [")
    assert points.to_dict() == {"label": [Fraction(1, 4), Fraction(3, 4)], "value": [3, 8]}
    whole = safeselect.measure({"tea": 7, "rum": -3}, rho=1000, sensitivity_l2_squared=1)
    assert found.to_polars()["value"].to_list() == ["7", "1" + "0" * 30]  # no frame holds it
    assert found.to_pandas()["value"].tolist() == ["7", "1" + "0" * 30]
    for each in (whole, points):
        told = each.to_dict() | {"label": [str(label) for label in each.labels]}
        assert each.to_pandas().to_dict("list") == told
        assert each.to_polars().to_dict(as_series=False) == told
        assert each.plot().axes


def test_columns_of_a_release():
    gaps = top_k_with_gaps({"tea": 3, "milk": 900, "rum": 2000}, k=2, **COST)
    columns = gaps.to_dict()
    assert list(columns) == ["rank", "label", "gap"]
    assert columns["rank"] == [1, 2]
    assert columns["gap"] == [float(gap) for gap in gaps.gaps]
    assert top_k([3, 900, 2000], k=1, **COST).to_dict()["index"] == [2]
    one = safeselect.permute_and_flip_with_gap({"tea": 3, "milk": 900}, **COST).to_dict()
    assert (one["label"], one["rank"], list(one)) == (["milk"], [1], ["rank", "label", "gap"])
    many = safeselect.select_many([[3, 900], [900, 3]], **COST).to_dict()
    assert many == {"row": [0, 1], "rank": [1, 1], "label": [1, 0], "index": [1, 0]}
    counted = discovered(max_contributions=2)
    columns = counted.to_dict()
    width = counted.noise.high_95
    assert columns["count"] == list(counted.counts)
    assert columns["low"] == [count - width for count in counted.counts]
    assert columns["high"] == [count + width for count in counted.counts]


def test_frames_have_these_columns():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    counted = discovered(max_contributions=2)
    assert isinstance(counted.to_pandas(), pandas.DataFrame)
    assert isinstance(counted.to_polars(), polars.DataFrame)
    for frame in (counted.to_pandas(), counted.to_polars()):
        assert {name: list(frame[name]) for name in frame.columns} == counted.to_dict()


def test_labels_that_no_column_holds_become_text():
    pytest.importorskip("pandas")
    odd = {10**5000: 50_000, "milk": 20_000, 3: 9_000}
    found = unknown_domain_top_k(odd, k=2, k_bar=2, epsilon=1, delta="1e-9", places="all")
    assert list(found.to_polars()["label"]) == ["1" + "0" * 5000, "milk"]
    assert list(found.to_pandas()["label"]) == ["1" + "0" * 5000, "milk"]


@pytest.mark.parametrize(
    ("name", "module"), [("to_pandas", "pandas"), ("to_polars", "polars"), ("plot", "matplotlib")]
)
def test_a_missing_library_is_named(monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ParameterError, match=rf"this needs {module}: pip install"):
        getattr(discovered(), name)()


@pytest.mark.parametrize("more", [{}, {"max_contributions": 2}])
def test_plots_have_a_place_for_each_label(more):
    pytest.importorskip("matplotlib")
    for found in (discovered(**more), top_k_with_gaps(USERS, k=2, **COST)):
        (axes,) = found.plot().axes
        assert [each.get_text() for each in axes.get_yticklabels()] == ["tea", "milk"]


def test_a_plot_shows_letters_as_they_are_and_hides_nothing_that_is_odd():
    """Accents and dollar signs stay; control characters and marks that turn text do not."""
    pytest.importorskip("matplotlib")
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
    pytest.importorskip("matplotlib")
    many = top_k({f"item {place}": 10**6 for place in range(250)}, k=250, **COST).plot()
    (axes,) = many.axes
    assert len(axes.get_yticklabels()) == 200
    assert "the first 200 of 250" in axes.get_title()
    none = unknown_domain_top_k({}, k=2, k_bar=2, epsilon=1, delta="1e-9", places="all").plot()
    assert [each.get_text() for each in none.axes[0].texts] == ["nothing was found"]


def test_a_plot_is_refused_before_anything_is_drawn(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    assert plot_path(str(tmp_path / "a.PNG")) == tmp_path / "a.PNG"
    with pytest.raises(ParameterError, match=r"must be named \.png, \.svg or \.pdf, got 'a\.gif'"):
        plot_path("a.gif")
    with pytest.raises(InputError, match="there is no such directory"):
        plot_path(str(tmp_path / "none" / "a.png"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ParameterError, match=r"pip install 'safeselect\[plots\]'"):
        plot_path("a.png")


def test_a_plot_that_cannot_be_written_does_not_lose_the_release(tmp_path):
    pytest.importorskip("matplotlib")
    figure = discovered().plot()
    file = tmp_path / "a.svg"
    assert save_plot(figure, file) is None
    assert file.read_text("utf-8").startswith("<?xml")
    trouble = save_plot(figure, tmp_path / "gone" / "a.svg")
    assert trouble is not None
    assert trouble.endswith("the release stands")


def test_a_repr_is_short_and_has_no_control_characters():
    labels = {f"item\n\x1b[31m{place}": 10**6 - place for place in range(40)}
    found = top_k(labels, k=30, **COST)
    text = repr(found)
    assert text.startswith(r"<TopK ['item\n\x1b[31m0', ")
    assert "... 20 more]" in text
    assert text.endswith("LaplaceDominated(epsilon=1000), top_k_one_shot_exponential/1>")
    assert text.isprintable()
    assert len(repr(top_k({"x" * 10**6: 9, "y": 1}, k=1, **COST))) < 200
    assert repr(top_k({10**5000: 9, 1: 1}, k=1, **COST)).startswith("<TopK [1000")


# ------------------------------------------------------------------------------- rates of noise


@pytest.fixture
def drawn(monkeypatch):
    """The rates per grid step that the engine was called with."""
    seen = []
    for name in ("noisy_top_k", "peeled_top_k", "noisy_max_rows"):
        original = getattr(table.engine, name)

        def watched(noise, scores, *rest, original=original, **more):
            seen.extend(each.rate for each in rest if hasattr(each, "rate"))
            return original(noise, scores, *rest, **more)

        monkeypatch.setattr(table.engine, name, watched)
    assert rankings is not None
    return seen


@pytest.mark.parametrize("total", [{"epsilon": 1}, {"rho": "0.1"}])
@pytest.mark.parametrize("grid", [None, "1/8"])
@pytest.mark.parametrize(
    "call",
    [
        safeselect.permute_and_flip,
        safeselect.exponential_mechanism,
        safeselect.permute_and_flip_with_gap,
        safeselect.exponential_mechanism_with_gap,
        lambda scores, **more: top_k(scores, k=2, **more),
        lambda scores, **more: top_k(scores, k=2, mechanism="one_shot_exponential", **more),
        lambda scores, **more: top_k(scores, k=2, mechanism="permute_and_flip", **more),
        lambda scores, **more: top_k(scores, k=1, **more),
        lambda scores, **more: top_k_with_gaps(scores, k=3, **more),
        lambda scores, **more: safeselect.select_many([scores] * 3, **more),
        lambda scores, **more: safeselect.select_many([scores] * 3, k=2, **more),
    ],
)
def test_the_noise_rate_of_a_result_is_the_one_that_was_drawn(drawn, call, grid, total):
    found = call([3, 900, 7, 8, 100], sensitivity=2, grid=grid, **total)
    assert {found.noise_rate} == {rate / Fraction(grid or 1) for rate in drawn}


def test_the_noise_rate_above_a_threshold(drawn):
    found = top_k_above([3, 900, 5], threshold=400, k=2, epsilon=1, sensitivity=1)
    assert {found.noise_rate} == {Fraction(1, 4)} == set(drawn)


def test_the_noise_rate_of_an_unknown_domain():
    assert discovered(max_contributions=4).noise_rate == Fraction(1, 4)
    listed = discovered(max_contributions=4, noise="gumbel")
    assert listed.noise_rate == listed.parts[0].epsilon


def test_another_base_has_no_rational_rate():
    assert (
        safeselect.exponential_mechanism_base2([1, 2], epsilon=1, sensitivity=1).noise_rate is None
    )


def test_rates_of_sessions():
    public = {"threshold": 10, "k": 3, "epsilon": 2, "sensitivity": 1, "split": "1/4"}
    with SparseVector(**public) as session:
        # docs/gaps.md: split epsilon / sensitivity, (1 - split) epsilon / (c k sensitivity).
        assert session.threshold_rate == Fraction(1, 2)
        assert session.value_rate == Fraction(3, 2) / 6
    with SparseVector(**public, monotonic=True, grid="1/8", on_grid=True) as session:
        assert session.threshold_rate == Fraction(1, 2)
        assert session.value_rate == Fraction(3, 2) / 3
    with AdaptiveSparseVector(**public) as adaptive:
        assert adaptive.threshold_rate == Fraction(1, 2)
        assert set(adaptive.value_rates) == {"top", "middle"}
        assert adaptive.value_rates["middle"] == 2 * adaptive.value_rates["top"]


def test_indices_are_plain_integers():
    found = safeselect.select_many(np.array([[3, 900], [900, 3]]), **COST).to_dict()
    assert all(type(value) is int for name in ("label", "index", "row") for value in found[name])


def test_keys_are_a_container_without_ranks():
    asked = {"epsilon": 1, "delta": "1e-9", "max_partitions": 1}
    found = safeselect.select_partitions(USERS, **asked, with_counts=True)
    assert (list(found), len(found)) == (["milk", "rum", "tea"], 3)
    columns = found.to_dict()
    assert list(columns) == ["label", "count", "low", "high"]
    assert columns["count"] == list(found.counts)
    assert safeselect.select_partitions(USERS, **asked).to_dict() == {"label": list(found)}
    assert repr(found).startswith("<TopK ['milk', 'rum', 'tea'], ApproximateDP(")
    pandas = pytest.importorskip("pandas")
    assert isinstance(found.to_pandas(), pandas.DataFrame)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-9"), ("0.2", "1e-6"), (3, "1e-4")])
def test_intervals_of_kept_counts_hold_95_percent_and_not_much_more(epsilon, delta):
    """By the law of the thresholds, from the stated probabilities."""
    asked = {"epsilon": epsilon, "delta": delta, "max_partitions": 1, "with_counts": True}
    strategy = safeselect.partition_strategy(**asked)
    columns = safeselect.select_partitions({"a": 10**6}, **asked).to_dict()
    noise = [columns["count"][0] - columns["high"][0], columns["count"][0] - columns["low"][0]]
    chance = strategy.probability_of_keep
    centre = strategy.terms.table.centre  # the noise is centre - J, and P(J <= n) = chance(n)
    inside = chance(centre - noise[0]) - chance(centre - noise[1] - 1)
    assert inside >= Fraction(95, 100)
    for low, high in ((noise[0] + 1, noise[1]), (noise[0], noise[1] - 1)):
        assert chance(centre - low) - chance(centre - high - 1) < Fraction(975, 1000)
    tails = chance(centre - noise[1] - 1), 1 - chance(centre - noise[0])
    assert max(tails) <= Fraction(1, 40)
