"""What is declared wrongly is refused by its name, before anything is drawn or charged.

A row is a rule: a part of the message, and calls that it answers.  Each is made with a source that
must not be asked and, where it takes one, with a ledger.  Whole messages are in `test_mistakes.py`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from entry_points import FUNCTIONS, call, parameters
from ledgers import new, scope
from public import PUBLIC
from rules_table import ELSEWHERE, EVERY

from safeselect import ParameterError, PureDP, ScoreError, accounting, estimates, samplers
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C2")

SECRET = 987_654_321  # a score or a count: no message may show it


class Untouched:
    """A source that must not be asked."""

    name, production = "Untouched", True

    def begin(self) -> bytes:
        raise AssertionError("asked")

    def fill(self, buffer: memoryview) -> None:
        raise AssertionError("asked")

    def take(self, count: int) -> int:
        raise AssertionError("asked")


def guarded(function: Callable[..., Any], there: Any) -> Callable[..., Any]:
    """The same function, with a source and a ledger that show whether it went too far."""
    more = {"source": Untouched(), "ledger": there}
    return lambda *given, **named: function(*given, **{**more, **named})


DRAWING = {case.name for case in EVERY.values()} | ELSEWHERE.keys()
NAMES: dict[str, Any] = {
    **{name: getattr(samplers, name) for name in samplers.__all__},
    **{
        name: getattr(module, name) for module in (accounting, estimates) for name in module.__all__
    },
    **PUBLIC,
    "np": np,
    "Fraction": Fraction,
    "SECRET": SECRET,
    "DAY": datetime.date(2024, 2, 29),
    "NOON": datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC),
    "BITS": Untouched(),
    "RATE": NoiseRate(Fraction(1)),
    "THREE": [SECRET, 1, 2],
    "COUNTS": {"Zebedee": SECRET, "b": 2},
    "ONE": {"epsilon": 1, "sensitivity": 1},
    "LIST": {"k": 2, "k_bar": 3, "places": "all", "epsilon": 1, "delta": "1e-6"},
    "POINTS": {"lowest": 0, "highest": 9, "step": 1, "epsilon": 1},
    "PAID": {"outcomes": 9, "queries": 4, "epsilon": 1, "delta": "1e-6"},
    "ABOVE": {"threshold": 5, "k": 2, "epsilon": 1, "sensitivity": 1},
    "GRID": {"quantile": "1/2", "lowest": 0, "highest": 9, "step": 1, "epsilon": 1},
    "RUN": {"base": PureDP(1), "gamma": "1/2"},
    "GAP": {"rate": 1, "noise": "laplace", "measured_rate": 1},
    "BOUND": {"threshold": 0, "alpha": "1/20", "threshold_rate": 1, "value_rate": 1},
    "ERROR": {"n": 10, "k": 2, "gap": 1, "epsilon": 1, "range_": 1},
    "GROUPS": {"k": 5, "epsilons": [1], "delta": "1e-7", "groups": 12, "groups_per_user": 3},
}
REFUSED: dict[str, list[str]] = {
    # --- what a call may cost
    "exactly one of": [
        "report_noisy_max(THREE, noise='laplace', sensitivity=1)",
        "top_k_with_gaps(THREE, k=1, epsilon=1, rho=1, sensitivity=1)",
        "top_k(THREE, k=1, delta='0.1', sensitivity=1)",
        "select_many([THREE], epsilon=1, rho=1, range_=1)",
        "measure([SECRET], sensitivity_l1=1)",
        "measure([SECRET], epsilon=1, rho=1, sensitivity_l1=1)",
        "expected_error(**{**ERROR, 'rho': 1})",
        "calibrate(PureDP, k=3, epsilon=1, rho=1)",
        "calibrate(PureDP, k=3)",
    ],
    "exactly one of epsilon, rho, base": [
        "exponential_mechanism_base2(THREE, base='1/2', epsilon=1, sensitivity=1)",
        "exponential_mechanism_base2(THREE, base='1/2', rho=1, sensitivity=1)",
        "exponential_mechanism_base2(THREE, sensitivity=1)",
    ],
    "exactly one of sensitivity and range_": [
        "exponential_mechanism_with_gap(THREE, epsilon=1)",
        "top_k(THREE, k=2, epsilon=1, sensitivity=1, range_=1)",
        "expected_error(**{**ERROR, 'sensitivity': 1})",
    ],
    "omit monotonic=True": [
        "report_noisy_max(THREE, noise='laplace', epsilon=1, range_=1, monotonic=True)"
    ],
    "delta requires epsilon": ["top_k(THREE, k=1, rho=1, delta='0.1', sensitivity=1)"],
    "requires epsilon and delta": [
        "top_k(THREE, k=1, epsilon='0.2', sensitivity=1, mechanism='laplace')",
        "top_k(THREE, k=1, rho='0.2', sensitivity=1, mechanism='laplace')",
        "unknown_domain_top_k(COUNTS, **{**LIST, 'epsilon': None})",
        "PayWhatYouGet(**{**PAID, 'delta': None})",
        "explain_groups(**{**GROUPS, 'delta': None})",
    ],
    "epsilon <= 0.2 and delta <= 0.05": [
        f"top_k(THREE, k=1, epsilon='{epsilon}', delta='{delta}', sensitivity=1, "
        "mechanism='laplace')"
        for epsilon, delta in (("0.2000001", "0.05"), ("0.2", "0.0500001"))
    ],
    "at least two": [
        "top_k([SECRET], k=1, epsilon='0.2', delta='0.05', sensitivity=1, mechanism='laplace')",
        "permute_and_flip_with_gap([SECRET], **ONE)",
        "top_k_with_gaps([SECRET], k=1, **ONE)",
    ],
    "base must ": [
        f"exponential_mechanism_base2(THREE, base={base}, sensitivity=1)"
        for base in ("0", "1", "2", "-1", "'x'", "True", "float('nan')", "'1e-99999'")
    ],
    "noise rate": [
        "unknown_domain_top_k(COUNTS, **{**LIST, 'epsilon': 2**45})",
        "PayWhatYouGet(**{**PAID, 'epsilon': 2**50})",
        "measure([SECRET], epsilon=1, sensitivity_l1=2**41)",
    ],
    "the noise rate must be between 2**-40 and 2**20 per grid step": [
        f"{function}, epsilon={epsilon}, sensitivity=1)"
        for function in (
            "permute_and_flip(THREE",
            "top_k(THREE, k=2",
            "SparseVector(threshold=1, k=1",
        )
        for epsilon in ("'1e-15'", "10**8")
    ],
    "requires sensitivity_l1": [
        "measure([SECRET], epsilon=1)",
        "measure([SECRET], epsilon=1, sensitivity_l1=1, sensitivity_l2_squared=1)",
    ],
    "require sensitivity_l2_squared": ["measure([SECRET], rho=1, sensitivity_l1=1)"],
    "mu must be greater": ["measure([SECRET], mu=0, sensitivity_l2_squared=1)"],
    "sigma**2 of the noise must be": ["measure([SECRET], mu=1, sensitivity_l2_squared=2**101)"],
    "delta must be less than 1": [
        "unknown_domain_top_k(COUNTS, **{**LIST, 'delta': 1})",
        "calibrate(PureDP, k=3, epsilon=1, delta=1)",
        "PureDP(1).approximate(1)",
        "ZeroConcentratedDP(1).approximate('3/2')",
        "ApproximateDP(1, 1)",
    ],
    "delta must be greater than zero": ["BoundedRange(1).approximate(0)", "ApproximateDP(1, 0)"],
    "epsilon must be": [
        "PureDP(-1)",
        "LaplaceDominated(True)",
        "BoundedRange('nan')",
        "ApproximateDP(-1, '1/2')",
        "PureDP(1).delta(-1)",
        "LaplaceDominated(1).delta(-1)",
        "compose_delta([PureDP(1)], -1)",
    ],
    "rho must be": ["ZeroConcentratedDP(-1)", "ZeroConcentratedDP('0,5')"],
    "mu_squared must be": ["GaussianDP(-1)", "GaussianDP(True)"],
    # --- how many, and which
    "k must be between 1 and 3": [
        f"top_k(THREE, k={k}, **ONE)" for k in ("0", "4", "-1", "2**32 + 3", "2**64 + 1")
    ]
    + ["top_k_above(THREE, threshold=5, k=4, **ONE)"],
    "k must be between 1 and 2": ["top_k_with_gaps(THREE, k=3, **ONE)"],
    "k must be between 1 and 1048576": ["SparseVector(**{**ABOVE, 'k': 0})"],
    "k must be between": ["expected_error(**{**ERROR, 'k': 11})", "error_ratio(0, 1)"],
    "n must be between": ["expected_error(**{**ERROR, 'n': 0})"],
    "too large": ["expected_error(**{**ERROR, 'n': 5000, 'k': 1000, 'mechanism': 'exponential'})"],
    "k must be an integer": [
        f"top_k(THREE, k={k}, **ONE)"
        for k in ("True", "1.0", "'1'", "Fraction(1)", "[1]", "np.array(1)")
    ],
    "k_bar must be between 4 and": ["unknown_domain_top_k(COUNTS, **{**LIST, 'k': 4})"],
    "the least k_bar must be between 2": [
        "unknown_domain_top_k(COUNTS, **{**LIST, 'k_bar': (1, 5)})"
    ],
    "the largest k_bar must be between 3": [
        "unknown_domain_top_k(COUNTS, **{**LIST, 'k_bar': (3, 2)})"
    ],
    "requires a single k_bar": [
        "unknown_domain_top_k(COUNTS, **{**LIST, 'k_bar': (2, 3), 'max_contributions': 2})"
    ],
    "max_rows must be": [
        f"select_many([THREE] * 3, max_rows={most}, **ONE)" for most in ("0", "4", "1.5", "True")
    ],
    "requires max_contributions": ["unknown_domain_top_k(COUNTS, noise='laplace', **LIST)"],
    "mechanism must be 'exponential', 'exponential_base2',": [
        f"top_k(THREE, k=1, mechanism={word}, **ONE)"
        for word in ("'gumbel'", "''", "True", "['exponential']", "np.array(['laplace', 'gumbel'])")
    ],
    "mechanism must be": [
        "select_many([THREE], mechanism='laplace', **ONE)",
        "expected_error(**{**ERROR, 'mechanism': 'laplace'})",
        "explain_groups(**{**GROUPS, 'known': True, 'mechanism': 'laplace'})",
    ],
    "noise must be 'exponential', 'laplace' or 'gumbel'": [
        "report_noisy_max(THREE, noise='Gumbel', **ONE)",
        "gap_p_value(1, rate=1, noise='gaussian')",
    ],
    "noise must be 'exponential' or 'laplace', got ": [
        "top_k_with_gaps(THREE, k=1, noise='gumbel', **ONE)",
        "top_k_above(THREE, threshold=5, k=1, noise='gumbel', **ONE)",
        "gap_confidence_bound(1, noise='gumbel', **BOUND)",
        "variance_ratio(1, noise='gumbel', measured_rate=1)",
    ],
    "noise must be 'exponential', 'laplace' or 'geometric'": [
        "SparseVector(noise='gumbel', **ABOVE)"
    ],
    "noise must be 'gumbel' or 'laplace', got 'exponential'": [
        "unknown_domain_top_k(COUNTS, noise='exponential', **LIST)"
    ],
    "split must be less than 1": ["SparseVector(split=1, **ABOVE)"],
    "with_counts must be True or False": [
        "unknown_domain_top_k(COUNTS, with_counts='yes', **LIST)",
        "explain_keys([1], '1e-7', with_counts=1)",
    ],
    "a mapping's keys are its labels": ["unknown_domain_top_k(COUNTS, labels=['a'], **LIST)"],
    "pass labels= with the counts": ["unknown_domain_top_k([SECRET], **LIST)"],
    "labels must be a list, got set": ["unknown_domain_top_k([SECRET], labels={'a'}, **LIST)"],
    "labels must contain one label for each score, in the same order, got 2 labels for 3 scores": [
        "select_many([THREE], labels=['a', 'b'], **ONE)",
        "permute_and_flip(THREE, labels=['a', 'b'], **ONE)",
    ],
    "on_grid=True requires grid=": ["permute_and_flip(THREE, on_grid=True, **ONE)"],
    # --- weights
    "at least one": ["exponential_mechanism(THREE, weights=[0, 0, 0], **ONE)"],
    "weights must be 3 numbers": [
        f"exponential_mechanism(THREE, weights={weights}, **ONE)"
        for weights in ("[1, 2]", "{0: 1, 1: 2, 'c': 3}")
    ],
    "weights must be numbers": [
        f"exponential_mechanism(np.array(THREE), weights={weights}, **ONE)"
        for weights in ("'123'", "{1, 2, 3}")
    ],
    "weights must ": [
        f"exponential_mechanism(THREE, weights={weights}, **ONE)"
        for weights in (
            *("[1, 2, -1]", "[1, 2, float('nan')]", "[1, 2, True]", "np.ones((3, 1))"),
            "[1, 1, Fraction(1, 2**4097)]",
        )
    ],
    "weights= requires the exponential mechanism, or permute-and-flip with k=1": [
        "permute_and_flip(THREE, weights=[1, '1/2', 1], **ONE)",
        "top_k(THREE, k=2, mechanism='permute_and_flip', weights=[1, 2, 1], **ONE)",
        "top_k(THREE, k=1, mechanism='one_shot_exponential', weights=[1, 2, 1], **ONE)",
        "report_noisy_max(THREE, noise='laplace', weights=[1, 2, 1], **ONE)",
    ],
    # --- what holds the scores: its class, its shape and its length are public
    "at least one candidate": [
        "permute_and_flip([], **ONE)",
        "select_many(np.zeros((3, 0), int), **ONE)",
    ],
    "at least one row": ["select_many(np.zeros((0, 3), int), **ONE)"],
    "the same number of candidates": ["select_many([THREE, [SECRET]], **ONE)"],
    "one dimension": ["permute_and_flip(np.array([THREE], dtype=object), **ONE)"],
    "two-dimensional": [
        f"select_many({scores}, **ONE)"
        for scores in ("np.zeros((2, 2, 2), int)", "np.array(THREE)", "np.ma.array([THREE])")
    ],
    "scores must be a list, tuple, dict, plain NumPy array or data frame column": [
        "permute_and_flip({SECRET}, **ONE)",
        "permute_and_flip(None, **ONE)",
        "permute_and_flip(np.ma.array(THREE), **ONE)",
        "select_many([np.ma.array(THREE), THREE], **ONE)",
    ],
    # --- what counts say of themselves
    "counts must be a mapping from labels to counts, got list": ["Counts([SECRET], places='all')"],
    "places must be": [
        f"{given}'places': {places}}})"
        for given in ("Counts(COUNTS, **{", "unknown_domain_top_k(COUNTS, **{**LIST, ")
        for places in ("0", "2.5", "'some'", "True")
    ],
    "max_contributions must be": ["Counts(COUNTS, places='all', max_contributions=0)"],
    "unit must be a string": ["Counts(COUNTS, places='all', unit=np.str_(7))"],
    # --- gaps
    "gap_grid must ": [
        f"exponential_mechanism_with_gap(THREE, gap_grid={grid}, **ONE)"
        for grid in ("0", "-1", "True", "'0,5'", "float('nan')", "[1]", "1 << 5000", "'1/0'")
    ],
    "pass one rate": ["variance_ratio(noise='laplace', measured_rate=1)"],
    "gap per measurement (2) or one fewer; got 0": [
        "estimate_fixed_from_gaps([1, 2], [], variance_ratio=1)",
        "estimate_from_gaps([1, 2], [], **GAP)",
    ],
    "gap per measurement (1) or one fewer": ["intervals_from_gaps([1], [1, 2], **GAP)"],
    "one gap for each measurement": ["estimate_from_answers([1], [], **GAP)"],
    "must not be negative": [
        "estimate_from_answers([1], [-SECRET], **GAP)",
        "estimate_from_threshold(0, -SECRET, threshold=1, variance_ratio=1)",
        "gap_p_value(-1, rate=1, noise='gumbel')",
    ],
    "empty": [
        "error_from_gaps([], [], **GAP)",
        "estimate_fixed_from_gaps([], [], variance_ratio=1)",
    ],
    "must be a flat list": ["estimate_from_gaps(str(SECRET), [1], **GAP)"],
    "got ndarray": ["estimate_fixed_from_gaps(np.eye(2), [1], variance_ratio=1)"],
    "[0]": [
        "estimate_from_gaps([f'{SECRET}x'], [1], **GAP)",
        "estimate_fixed_from_gaps([1, 2], [float('nan')], variance_ratio=1)",
    ],
    "alpha must be less than 1": [
        "intervals_from_gaps([1], [1], alpha=1, **GAP)",
        "gap_confidence_bound(1, noise='laplace', **{**BOUND, 'alpha': 1})",
    ],
    # --- quantiles, runs, plans
    "quantile must be at most 1": ["quantile([SECRET], **{**GRID, 'quantile': '1.1'})"],
    "highest must not be below lowest": ["quantile([SECRET], **{**GRID, 'lowest': 10})"],
    "neighbours must be 'add_remove' or 'replace_one'": ["quantile([1], neighbours='all', **GRID)"],
    "pass lowest and highest, the ends of the grid": [
        "quantile([SECRET], **{**GRID, 'lowest': None})"
    ],
    "or two numbers, got 9 (int) as highest": ["quantile([SECRET], **{**GRID, 'lowest': DAY})"],
    "for times, use": ["quantile([SECRET], **{**GRID, 'lowest': NOON, 'highest': DAY})"],
    "step must be greater than zero": ["quantile([SECRET], **{**GRID, 'step': 0})"],
    "whole number of days": [
        "quantile([SECRET], **{**GRID, 'lowest': DAY, 'highest': DAY, 'step': '1/2'})"
    ],
    "one or more distinct numbers": [
        f"quantiles([SECRET], quantiles={shares}, **POINTS)" for shares in ("[]", "['1/2', '0.5']")
    ],
    "max_contributions=1": [
        "quantiles([SECRET], quantiles=['1/2', '1/3'], max_contributions=2, **POINTS)"
    ],
    "quantiles must be a list": ["quantiles([SECRET], quantiles='1/2', **POINTS)"],
    "ties must be 'interval' or 'below'": ["quantile([SECRET], ties=np.str_('below'), **GRID)"],
    "run must be a function": ["best_of(3, **RUN)", "first_above(3, threshold=1, **RUN)"],
    "base must be PureDP": [
        "best_of(len, **{**RUN, 'base': ApproximateDP(1, '1e-6')})",
        "first_above(len, threshold=1, **{**RUN, 'base': 1})",
        "Repeated(Repeated(PureDP(1), 1, '1/2'), 1, '1/2')",
        "PoissonRepeated(ApproximateDP(1, '1e-6'), 1)",
    ],
    "gamma must be less than 1": [
        "best_of(len, **{**RUN, 'gamma': 1})",
        "Repeated(PureDP(1), 1, 1)",
    ],
    "gamma must be greater than zero": ["Repeated(PureDP(1), 1, 0)"],
    "eta must be above -1": ["best_of(len, eta=-1, **RUN)"],
    "at most 100": ["Repeated(PureDP(1), 101, '1/2')"],
    "mean must be greater than zero": ["best_of(len, base=PureDP(1), mean=0)"],
    "mean must be at most 1000000": [
        "best_of(len, base=PureDP(1), mean=10**6 + 1)",
        "PoissonRepeated(PureDP(1), 10**7)",
    ],
    "pass either mean or gamma to best_of": [
        "best_of(len, base=PureDP(1))",
        "best_of(len, mean=3, **RUN)",
        "best_of(len, base=PureDP(1), eta=1, mean=3)",
    ],
    "a base that is epsilon-DP": [
        "first_above(len, threshold=1, base=ZeroConcentratedDP(1), gamma='1/2')"
    ],
    "at least one epsilon": [
        "explain_items(5, [], '1e-7')",
        "explain_keys([], '1e-7')",
        "explain_groups(**{**GROUPS, 'epsilons': []})",
    ],
    "use a larger epsilon": [
        "explain_keys(['1e-9'], '1e-7')",
        "explain_keys(['1e-9'], '1e-7', keys_per_user=3)",
    ],
    "keys_per_user cannot be used with": [
        "explain_keys([1], '1e-7', keys_per_user=3, max_partitions=2)"
    ],
    "keys_per_user must include at least one user": ["explain_keys([1], '1e-7', keys_per_user={})"],
    "groups_per_user must include at least one user": [
        "explain_groups(**{**GROUPS, 'groups_per_user': {}})"
    ],
    "a number of groups": ["explain_groups(**{**GROUPS, 'groups_per_user': {0: 1}})"],
    "cannot be used with known=True": ["explain_groups(known=True, k_bar=9, **GROUPS)"],
    "family must be one of": [
        f"calibrate({family}, k=3, epsilon=1)"
        for family in ("ZeroConcentratedDP", "ApproximateDP", "'PureDP'", "PureDP(1)", "int")
    ],
    # --- laws and samplers
    "shift must be between 1 and 4096": ["DiscreteLaplace(1, 0)", "DiscreteGaussian(1, 5000)"],
    "sigma2 must be less than 1048576": ["DiscreteGaussian(2**20)"],
    "p must be less than 1": ["RandomizedResponse(1, 2)"],
    "n must be between 2": ["RandomizedResponse('0.1', 1)"],
    "n must be an int of at least": [
        f"{function}(BITS, {n})"
        for function in ("uniform_below", "permutation")
        for n in ("-1", "True", "2.0", "'3'", "None")
    ],
    "step must be an int of at least": [
        f"{function}(BITS, NoiseRate(Fraction(1), Fraction(1, 2)){more}, step={step})"
        for function, more in (
            *((name, "") for name in ("geometric", "geometric_digits", "discrete_laplace")),
            *(("LazyGumbel", ""), ("bernoulli_power", ", 1")),
        )
        for step in ("0", "-1", "True", "1.5", "'x'")
    ],
    "noise_rate must be a NoiseRate": [
        f"{function}(BITS, {rate})"
        for function in ("geometric", "discrete_laplace", "LazyExponential")
        for rate in ("Fraction(1, 2)", "0.5", "None", "'1/2'")
    ],
    "rate and base must be Fractions": [
        *(f"NoiseRate({rate})" for rate in ("0.5", "'1/2'", "None", "True", "np.int64(1)")),
        *(f"NoiseRate(Fraction(1), {base})" for base in ("0.5", "'1/2'", "np.int64(1)")),
    ],
    "must be Python ints": [
        f"{function}(BITS, {pair})"
        for function in ("bernoulli", "bernoulli_exp", "geometric_exp")
        for pair in ("0.5, 1", "1, 2.0", "True, 2", "Fraction(1, 2), 1")
    ],
    "must be at least": [
        "bernoulli(BITS, 1, 0)",
        "bernoulli_exp(BITS, -1, 2)",
        "geometric_exp(BITS, 0, 1)",
        "discrete_laplace_exp(BITS, 1, 0)",
    ],
    "must be at most 1": ["bernoulli(BITS, 3, 2)"],
    "exponent must be an int from": [
        f"bernoulli_power(BITS, RATE, {power})" for power in ("-1", "2**64 + 1", "1.0", "True")
    ],
    "sigma_squared must be a positive Fraction": [
        f"discrete_gaussian(BITS, {squared})" for squared in ("Fraction(0)", "1", "1.0", "None")
    ],
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_rule_is_named_before_anything_is_drawn_or_charged(message: str) -> None:
    ledger = new(":memory:", epsilon=9, delta="1/10")
    head, there = ledger.head, scope(ledger)
    names = NAMES | {name: guarded(NAMES[name], there) for name in DRAWING}
    for typed in REFUSED[message]:
        with pytest.raises((ParameterError, ScoreError)) as caught:
            eval(typed, dict(names))  # noqa: S307 - the table above
        said = str(caught.value)
        assert message in said, typed
        assert len(said) <= 450, typed
        assert [word for word in (str(SECRET), "Zebedee") if word in said] == [], typed
        assert caught.value.__cause__ is None, typed
        assert ledger.head == head, typed


SIGNED = {"threshold", "measurement"}
"""Where -1 is right."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_read_and_named(name: str) -> None:
    for parameter in {*parameters(name)} - {"sensitivity_l2_squared"}:  # epsilon needs the other
        for wrong in (object(), -1, float("nan")):
            if parameter in SIGNED and type(wrong) is int:
                continue
            with pytest.raises(ParameterError, match=parameter.removesuffix("_")):
                call(name, **{**FUNCTIONS[name], parameter: wrong})
