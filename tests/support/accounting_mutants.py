"""Broken copies of the accounting, each with the test that must notice it.

Each promises less than the truth somewhere, or calls a number a lower bound that is none.
"""

from __future__ import annotations

from mutants import Break

OPTIMUM = "tests/accounting/optimum/"

_RANGES_FIRST = """\
upper=True)
    if len(ranges) == 1:
        import numpy as np
        noise = Profile.of(whole, start(grid.step).upper, grid.step)
        values = [float(Fraction(int(noise.at(n)), 1 << grid.bits)) for n in range(whole.last + 2)]
        array = np.array(values)
        curve, (epsilon, count) = Curve(grid.step, array, array), ranges[0]
        last = backward(curve, round(epsilon / grid.step), count, 10**6, upper_only=True)
        whole = certain(grid.bits, upper=True)
    """
_CHANGES = {
    "tangent for chord: offsets on the grid alone": (
        ("accounting/optimum/curve.py:_bounded", "return above", "return larger"),
        OPTIMUM + "test_curve.py::test_a_step_bounds_every_offset",
    ),
    "tangent for chord: half the bend": (
        ("accounting/optimum/curve.py:_bounded", "= _EIGHTH", "= _EIGHTH / 2"),
        OPTIMUM + "test_curve.py::test_a_step_bounds_every_offset",
    ),
    "tangent for chord: wide cells do not mind dents": (
        (
            "accounting/optimum/curve.py:_raised",
            "earlier * (2 * width * width * tables.widest)",
            "0 * earlier",
        ),
        OPTIMUM + "test_curve.py::test_a_step_bounds_every_offset",
    ),
    "tangent for chord: where an epsilon is read": (
        ("accounting/optimum/bracket.py:_above", "here - there", "max(1, self.at(low - 1) - here)"),
        OPTIMUM + "test_bracket.py::test_an_epsilon_is_read_on_the_chord",
    ),
    "tangent for chord: where a delta is read": (
        (
            "accounting/optimum/certified.py:delta_of",
            "here - there",
            "profile.at(place - 1) - here",
        ),
        OPTIMUM + "test_bracket.py::test_a_delta_is_read_on_the_chord",
    ),
    "tangent for chord: a curve on another grid": (
        (
            "accounting/optimum/bracket.py:between",
            "return here - ((here - there)",
            (
                "fall = self.values[max(0, place - 1)] - self.values[max(1, place)]\n"
                "        return here - (fall"
            ),
        ),
        OPTIMUM + "test_bracket.py::test_a_curve_on_another_grid_is_its_chords",
    ),
    "rounding down: products": (
        ("accounting/optimum/pairs.py:product", "-(-w >> bits)", "w >> bits"),
        OPTIMUM + "test_pairs.py::test_a_product_is_on_its_side_of_the_exact_one",
    ),
    "rounding down: chords": (
        (
            "accounting/optimum/pairs.py:dots",
            "-((below * (low - one) - above * high) >> bits)",
            "(above * low - below * (high - one)) >> bits",
        ),
        OPTIMUM + "test_pairs.py::test_dots_of_any_convex_values_are_their_chords",
    ),
    "rounding down: what is missing to 1": (
        ("accounting/optimum/pairs.py:dots", "max(0, one - values[-1] - sum(inner))", "0"),
        OPTIMUM + "test_fixed.py::test_chords_bound_a_profile_from_both_sides",
    ),
    "rounding down: a profile's sum": (
        ("accounting/optimum/bracket.py:at", "infinite - (-", "infinite + ("),
        OPTIMUM + "test_bracket.py::test_a_sum_is_rounded_to_its_side",
    ),
    "rounding down: floats of a curve": (
        ("accounting/optimum/bracket.py:_integers", "-(-number >> -shift) if upper else ", ""),
        OPTIMUM + "test_bracket.py::test_floats_are_rounded_to_their_side",
    ),
    "rounding down: a step in floats": (
        ("accounting/optimum/curve.py:one_more", "higher *= _UP", "higher *= _DOWN"),
        OPTIMUM + "test_curve.py::test_a_step_in_floats_is_on_both_sides_of_the_exact_one",
    ),
    "rounding up: the lower bound of a step": (
        ("accounting/optimum/curve.py:one_more", "lower * _DOWN", "lower * _UP"),
        OPTIMUM + "test_curve.py::test_a_step_in_floats_is_on_both_sides_of_the_exact_one",
    ),
    "range before Gaussian": (
        ("accounting/optimum/upper.py:upper_profile", "upper=True)\n    ", _RANGES_FIRST),
        OPTIMUM + "test_certified.py::test_vectors_of_several_parts",
    ),
    "unequal ranges in one order": (
        ("accounting/optimum/certified.py:interleaved", "_larger(known, found)", "known"),
        OPTIMUM + "test_certified.py::test_two_ranges_against_the_recursion",
    ),
    "tail dropped: large losses": (
        (
            "accounting/optimum/pairs.py:_cut",
            "        infinite += sum(weights[len(weights) - right :])\n",
            "",
        ),
        OPTIMUM + "test_pairs.py::test_a_product_is_on_its_side_of_the_exact_one",
    ),
    "tail dropped: small losses": (
        ("accounting/optimum/pairs.py:_cut", "        kept[0] += sum(weights[:left])\n", ""),
        OPTIMUM + "test_pairs.py::test_a_product_is_on_its_side_of_the_exact_one",
    ),
    "tail dropped: the end of a curve": (
        ("accounting/optimum/curve.py:_extended", "values[-1] if level else ", ""),
        OPTIMUM + "test_curve.py::test_a_curve_that_is_cut_stays_level",
    ),
    "tail dropped: beyond the last place of a profile": (
        ("accounting/optimum/bracket.py:at", "self.values[-1]", "0"),
        OPTIMUM + "test_bracket.py::test_a_profile_stays_level_beyond_its_curve",
    ),
    "tail dropped: what a law leaves out": (
        ("accounting/laws.py:above", " + self.beyond", ""),
        "tests/accounting/test_laws.py::test_what_a_law_leaves_out_counts",
    ),
    "chords taken for a lower bound": (
        ("accounting/optimum/fixed.py:_shift", "rounded_up(shift)", "rounded_up(shift) / 4"),
        OPTIMUM + "test_fixed.py::test_chords_bound_a_profile_from_both_sides",
    ),
    "the delta of a part is forgotten": (
        ("accounting/composition.py:_best", " deltas_of(parts)", " []"),
        "tests/accounting/test_composition.py::test_approximate_parts_take_their_delta_from_the_total",
    ),
    "a rate that costs too much": (
        ("accounting/search.py:nearer", "if found <= limit:", "if found <= limit * (1 + near):"),
        "tests/accounting/test_search.py::test_a_search_returns_nothing_that_costs_more",
    ),
}
ACCOUNTING = {name: (Break(*each), test) for name, (each, test) in _CHANGES.items()}
"""By what is wrong: the break, and the test that notices it."""
