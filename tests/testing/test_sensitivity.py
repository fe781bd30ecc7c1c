"""The sensitivity check: it names the pair, the rule and the candidate."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from safeselect.errors import ParameterError, ScoreError
from safeselect.testing import SensitivityExceeded, check_sensitivity


def count(data):
    return [data.count("a"), data.count("b"), data.count("c")]


class TestCheckSensitivity:
    def test_counts_keep_what_is_declared(self):
        pairs = [("abc", "abca"), ("", "c"), ("aab", "ab")]
        assert check_sensitivity(count, pairs, sensitivity=1, monotonic=True) == 3
        assert check_sensitivity(count, pairs, range_=1) == 3

    def test_it_names_the_pair_and_the_candidate(self):
        with pytest.raises(SensitivityExceeded, match="pair 1 exceeds") as caught:
            check_sensitivity(count, [("a", "ab"), ("b", "bccc")], sensitivity=2)
        error = caught.value
        assert (error.pair, error.rule, error.candidate) == (1, "sensitivity", 2)
        assert error.observed == 3
        assert isinstance(error, AssertionError)

    @pytest.mark.parametrize("pair", [("ab", "b"), ("b", "ab")])
    def test_both_directions_count(self, pair):
        with pytest.raises(SensitivityExceeded, match="the declared sensitivity") as caught:
            check_sensitivity(count, [pair], sensitivity="1/2")
        assert (caught.value.candidate, check_sensitivity(count, [pair], sensitivity=1)) == (0, 1)

    def test_replacing_is_not_monotonic(self):
        assert check_sensitivity(count, [("a", "b")], sensitivity=1) == 1
        with pytest.raises(SensitivityExceeded, match="the declared monotonic") as caught:
            check_sensitivity(count, [("a", "b")], sensitivity=1, monotonic=True)
        assert (caught.value.rule, caught.value.observed) == ("monotonic", 2)

    def test_the_range_is_the_spread_of_the_changes(self):
        assert check_sensitivity(lambda d: [d, d + 1], [(0, 50)], range_=1) == 1
        with pytest.raises(SensitivityExceeded, match="the declared range") as caught:
            check_sensitivity(lambda d: [d, -d], [(0, 1)], range_=1)
        assert (caught.value.rule, caught.value.observed) == ("range", 2)

    def test_a_grid_too_coarse_for_computed_floats_is_found(self):
        """The float 0.3 lies below 3/10, and 0.3 + 1.0 above 13/10: six steps of 0.2, not five."""
        pair = [(0.3, 0.3 + 1.0)]
        with pytest.raises(SensitivityExceeded, match="changes by 6/5"):
            check_sensitivity(lambda d: [d], pair, sensitivity=1, grid="0.2", score_error=0)
        assert check_sensitivity(lambda d: [d], pair, sensitivity=1, grid="0.2") == 1

    def test_rounding_may_move_a_monotonic_score_back(self):
        """With an error of e a score may move by ceil(2 e / h) steps the other way, and no more."""
        monotonic = {"sensitivity": 1, "monotonic": True, "grid": 1, "score_error": 1}
        assert check_sensitivity(lambda d: d, [([0, 0], [3, -2])], **monotonic) == 1
        assert check_sensitivity(lambda d: d, [([0, 0], [2, -3])], **monotonic) == 1
        with pytest.raises(SensitivityExceeded, match="monotonic: some scores rise"):
            check_sensitivity(lambda d: d, [([0, 0], [3, -3])], **monotonic)

    @pytest.mark.parametrize(
        ("low", "high", "change"),
        [
            (-(2**62), 2**62, 2**63),
            (np.int64(-(2**63)), np.int64(2**63 - 1), 2**64 - 1),
            (-(2.0**70), 2.0**70, 2**71),
            (True, np.float32(0), 1),
        ],
        ids=str,
    )
    def test_arithmetic_is_exact(self, low, high, change):
        assert check_sensitivity(lambda d: [d], [(low, high)], sensitivity=change) == 1
        with pytest.raises(SensitivityExceeded, match="sensitivity") as caught:
            check_sensitivity(
                lambda d: [d], [(low, high)], sensitivity=change * Fraction(999, 1000)
            )
        assert caught.value.observed == change

    @pytest.mark.parametrize(
        "scores",
        [
            lambda d: [1] * len(d),
            lambda d: dict.fromkeys(d, 1),
            lambda d: [1] if d == "a" else {"a": 1},
        ],
    )
    def test_candidates_that_depend_on_the_data_are_found(self, scores):
        with pytest.raises(SensitivityExceeded, match="the declared candidates") as caught:
            check_sensitivity(scores, [("a", "ab")], sensitivity=1)
        assert caught.value.rule == "candidates"
        assert caught.value.candidate is None

    @pytest.mark.parametrize(
        "score",
        [0.5, float("nan"), float("inf"), Decimal("NaN"), Decimal("sNaN"), "1", None, 1j],
        ids=repr,
    )
    def test_other_scores_are_refused(self, score):
        with pytest.raises(ScoreError, match="scores must "):
            check_sensitivity(lambda d: [d], [(score, 0)], sensitivity=1)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"sensitivity": 1, "range_": 1},
            {"range_": 1, "monotonic": True},
            {"sensitivity": 0},
            {"range_": float("nan")},
        ],
    )
    def test_other_declarations_are_refused(self, options):
        with pytest.raises(ParameterError, match=r"exactly one|omit monotonic| must be "):
            check_sensitivity(count, [("a", "b")], **options)

    def test_no_pairs_prove_nothing(self):
        with pytest.raises(ParameterError, match="at least one pair"):
            check_sensitivity(count, [], sensitivity=1)
