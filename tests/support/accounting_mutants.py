"""Broken copies of the accounting, each with the test that must notice it.

Each promises less than the truth somewhere, or calls a number a lower bound that is none.  As in
`mutants`, a change whose text is not in its file exactly once is an error.
"""

from __future__ import annotations

from mutants import Mutant

_T = "tests/accounting/"
_BACKWARD = "accounting/optimum/curve.py"
_BRACKET = "accounting/optimum/bracket.py"
_CLIMB = "accounting/optimum/curve.py"
_MASSES = "accounting/optimum/pairs.py"
_PROFILES = "accounting/optimum/pairs.py"
_SIDES = "accounting/optimum/upper.py"
_VALUES = _T + "optimum/test_certified.py::test_vectors_of_several_parts"
_STEP = _T + "optimum/test_curve.py::test_a_step_bounds_every_offset"
_PRODUCT = _T + "optimum/test_pairs.py::test_a_product_is_on_its_side_of_the_exact_one"
_CHORDS = _T + "optimum/test_pairs.py::test_chords_bound_a_profile_from_both_sides"
_DOTS = _T + "optimum/test_pairs.py::test_dots_of_any_convex_values_are_their_chords"
_READ = _T + "optimum/test_pairs.py::test_a_profile_is_read_as_it_is_defined"
_BETWEEN = _T + "optimum/test_bracket.py::"
_EXACT_STEP = _T + "optimum/test_curve.py::test_a_step_in_floats_is_on_both_sides_of_the_exact_one"
_MERGED = "    whole = grid.product(masses, upper=True)\n    return Profile.of("
_RANGES_FIRST = """\
    whole = grid.product(masses, upper=True)
    if len(ranges) == 1:
        import numpy as np
        noise = Profile.of(whole, start(grid.step).upper, grid.step)
        values = [float(Fraction(int(noise.at(n)), 1 << grid.bits)) for n in range(whole.last + 2)]
        array = np.array(values)
        curve, (epsilon, count) = Curve(grid.step, array, array), ranges[0]
        last = backward(curve, round(epsilon / grid.step), count, 10**6, upper_only=True)
        whole = certain(grid.bits, upper=True)
    return Profile.of("""


def _mutant(file: str, text: str, other: str, killer: str) -> Mutant:
    return Mutant(((file, text, other),), "C2", killer)


ACCOUNTING = {
    # ------------------------------------------------------------------- tangents for chords
    "tangent for chord: offsets on the grid alone": _mutant(
        _CLIMB, "return above, larger", "return larger, larger", _STEP
    ),
    "tangent for chord: half the bend": _mutant(
        _CLIMB, "    above *= _EIGHTH\n", "    above *= _EIGHTH / 2\n", _STEP
    ),
    "tangent for chord: wide cells do not mind dents": _mutant(
        _CLIMB,
        "    raised: Floats = values + earlier * (2 * width * width * tables.widest)\n",
        "    raised: Floats = values + 0 * earlier\n",
        _T + "optimum/test_curve.py::test_a_step_bounds_every_offset",
    ),
    "tangent for chord: where an epsilon is read": _mutant(
        _BRACKET,
        "        share = Fraction(here - goal, here - there)\n",
        "        share = Fraction(here - goal, max(1, self.at(low - 1) - here))\n",
        _BETWEEN + "test_an_epsilon_is_read_on_the_chord",
    ),
    "tangent for chord: where a delta is read": _mutant(
        _BRACKET,
        "Fraction(here - ((here - there) * low >> bits), 1 << bits))",
        "Fraction(here - ((self.at(place - 1) - here) * low >> bits), 1 << bits))",
        _BETWEEN + "test_a_delta_is_read_on_the_chord",
    ),
    "tangent for chord: a curve on another grid": _mutant(
        _BRACKET,
        "        return here - ((here - there) * self._share(s)[0] >> self.masses.bits)\n",
        "        fall = self.values[max(0, place - 1)] - self.values[max(1, place)]\n"
        "        return here - (fall * self._share(s)[0] >> self.masses.bits)\n",
        _BETWEEN + "test_a_curve_on_another_grid_is_its_chords",
    ),
    # ------------------------------------------------------------------------ rounding down
    "rounding down: products": _mutant(
        _MASSES,
        "[-(-w >> bits) for w in weights] if upper",
        "[w >> bits for w in weights] if upper",
        _PRODUCT,
    ),
    "rounding down: chords": _mutant(
        _MASSES,
        "max(0, -((below * (low - one) - above * high) >> bits))",
        "max(0, (above * low - below * (high - one)) >> bits)",
        _DOTS,
    ),
    "rounding down: what is missing to 1": _mutant(
        _MASSES, "rest = max(0, one - values[-1] - sum(inner))", "rest = 0", _CHORDS
    ),
    "rounding down: a profile's sum": _mutant(
        _BRACKET,
        "return masses.infinite - (-total >> bits) if masses.upper else total >> bits",
        "return masses.infinite + (total >> bits) if masses.upper else total >> bits",
        _BETWEEN + "test_a_sum_is_rounded_to_its_side",
    ),
    "rounding down: floats of a curve": _mutant(
        _BRACKET,
        "found.append(-(-number >> -shift) if upper else number >> -shift)",
        "found.append(number >> -shift)",
        _BETWEEN + "test_floats_are_rounded_to_their_side",
    ),
    "rounding down: a step in floats": _mutant(
        _BACKWARD, "higher *= _UP", "higher *= _DOWN", _EXACT_STEP
    ),
    "rounding up: the lower bound of a step": _mutant(
        _BACKWARD, "lower * _DOWN", "lower * _UP", _EXACT_STEP
    ),
    # ---------------------------------------------------------------- range before Gaussian
    "range before Gaussian": _mutant(_SIDES, _MERGED, _RANGES_FIRST, _VALUES),
    "unequal ranges in one order": _mutant(
        "accounting/optimum/certified.py",
        "                    following[more] = found if known is None else _larger(known, found)\n",
        "                    following[more] = found if known is None else known\n",
        _T + "optimum/test_certified.py::test_two_ranges_against_the_recursion",
    ),
    # ------------------------------------------------------------------------- tail dropped
    "tail dropped: large losses": _mutant(
        _MASSES, "        infinite += sum(weights[len(weights) - right :])\n", "", _PRODUCT
    ),
    "tail dropped: small losses": _mutant(
        _MASSES, "        kept[0] += sum(weights[:left])\n", "", _PRODUCT
    ),
    "tail dropped: the end of a curve": _mutant(
        _BACKWARD,
        "known[len(values) :] = values[-1] if level else 0\n",
        "known[len(values) :] = 0\n",
        _T + "optimum/test_curve.py::test_a_curve_that_is_cut_stays_level",
    ),
    "tail dropped: beyond the last place of a profile": _mutant(
        _BRACKET,
        "                total += self.values[-1] * sum(unknown)\n",
        "                total += 0 * sum(unknown)\n",
        _BETWEEN + "test_a_profile_stays_level_beyond_its_curve",
    ),
    "tail dropped: what a law leaves out": _mutant(
        "accounting/laws.py",
        "            total = ours[count] - (theirs[count] * grown >> self.bits) + self.beyond\n",
        "            total = ours[count] - (theirs[count] * grown >> self.bits)\n",
        _T + "test_laws.py::test_what_a_law_leaves_out_counts",
    ),
    # ---------------------------------------------------------------------- lower and others
    "chords taken for a lower bound": _mutant(
        _PROFILES, "    return rounded_up(shift)", "    return rounded_up(shift) / 4", _CHORDS
    ),
    "the delta of a part is forgotten": _mutant(
        "accounting/composition.py",
        "    deltas = _deltas(parts)\n    rest = what_is_left(delta, deltas)\n",
        "    deltas = []\n    rest = what_is_left(delta, deltas)\n",
        _T + "test_composition.py::test_approximate_parts_take_their_delta_from_the_total",
    ),
    "a rate that costs too much": _mutant(
        "accounting/search.py",
        "        if found <= limit:\n            best = max(best, at)\n",
        "        if found <= limit * (1 + near):\n            best = max(best, at)\n",
        _T + "test_search.py::test_a_search_returns_nothing_that_costs_more",
    ),
}
"""By what is wrong."""
