"""The plan is computed again: noise, cost and parameters that do not follow are refused."""

from __future__ import annotations

from typing import Any

import pytest
from audited import CHARGED, SCOPE, Case, Json, agreed, both, kind, one, release, weaker
from written import EVERY

import safeselect as s

pytestmark = pytest.mark.claim("C9")


def replaced(case: Case) -> None:
    """Everywhere neighbours replace one unit by another, and scores are monotonic."""
    monotonic = {"monotonic": "yes", "effective_range": "1"}

    def change(records: list[Json]) -> None:
        records[SCOPE]["terms"]["neighbours"] = "replace_one"
        records[CHARGED]["parameters"] |= monotonic

    case.release["provenance"]["neighbours"] = "replace_one"
    case.release["provenance"]["parameters"] |= monotonic
    case.rewrite(change)


PARAMETERS = {
    "noise that covers less": (both(effective_range="1"), "effective_range is 1"),
    "monotonic where one replaces another": (replaced, "Replacing one unit by another can move"),
    "maybe monotonic": (both(monotonic="perhaps"), "'monotonic' must be 'yes' or 'no'"),
    "more places than candidates": (both(candidates="1"), "k must be between 1 and 1"),
    "no candidates": (both(candidates="0"), "This release is not possible"),
    "a rate that is too large": (both(noise_rate="1"), "noise_rate is 1", "a measurement"),
    "noise that is said to be less": (both(noise_low_95="-1"), "low_95 is -1", "a measurement"),
    "a smaller variance": (both(sigma_squared="3"), "sigma_squared is 3", "a discrete gaussian"),
    "a larger sensitivity": (both(sensitivity_l1="3"), "noise_deviation is", "a measurement"),
    "no sensitivity": (both(sensitivity_l1="x"), "must be a finite number", "a measurement"),
    "a base that costs more": (both(factor="1/4"), "factor is 1/4", "a base"),
    "a base of a list that costs more": (both(factor="3/8"), "factor is 3/8", "top k by base 2"),
    "one winner of two": (both(k="2"), "draws is 1 x {'type': 'LaplaceDominated'", "a selection"),
    "runs of another base": (both(base="PureDP 1/5"), "value is PureDP 1/10", "a run above"),
    "a stop that never comes": (both(gamma="0"), "must be greater than zero", "a run above"),
    "another quantile": (release(labels={"texts": ["1/3"]}), "quantiles is 1/2", "a median"),
    "ties of the other law": (both(ties="below"), "ties is below", "a median"),
    "other neighbours": (both(neighbours="replace_one"), "state different", "a median"),
    "users with no values": (both(max_contributions="0"), "max_contributions must", "a median"),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_that_do_not_follow_are_refused(refuse: Any, name: str) -> None:
    refuse("plan", *PARAMETERS[name])


# ----------------------------------------------------------------- less than the draws give


def cheap_draws(case: Case, charged: Json) -> None:
    """The whole is as it was, and what was paid is the price of draws that nobody made."""
    case.release["parts"] = charged["parts"] = one(kind("LaplaceDominated", "1/1000"))
    charged["charges"][0] |= {"charge": {"rho": "1/2000000"}, "after": {"rho": "1/2000000"}}


def bounded_range(case: Case, charged: Json) -> None:
    cheap = {"guarantee": kind("BoundedRange"), "parts": one(kind("BoundedRange"))}
    case.release |= cheap
    charged |= cheap
    charged["charges"][0] |= {"charge": {"rho": "1/8"}, "after": {"rho": "1/8"}}


def less_than_its_draws(case: Case, charged: Json) -> None:
    case.release["guarantee"] = charged["guarantee"] = kind("LaplaceDominated", "1/100")
    charged["charges"][0] |= {"charge": {"epsilon": "1/100"}, "after": {"epsilon": "101/100"}}


def less_with_delta(case: Case, charged: Json) -> None:
    less = {"type": "ApproximateDP", "epsilon": "1/100", "delta": "1/1000000"}
    case.release["guarantee"] = charged["guarantee"] = less


def pure_by_delta(case: Case, charged: Json) -> None:
    """Draws that compose to epsilon only with a delta."""
    case.release["guarantee"] = charged["guarantee"] = kind("LaplaceDominated")


def of_delta(**more: Any) -> Any:
    counts = {str(place): place for place in range(60)}
    return s.top_k(counts, k=40, epsilon=1, delta="1e-6", sensitivity=1, **more)


def select(**more: Any) -> Any:
    return s.permute_and_flip({"tea": 5, "milk": 1}, epsilon=1, sensitivity=1, **more)


DELTA, SELECTED, NO_SUCH = "a list of delta", "a selection of rho", "cannot have this guarantee"
RANGE, LESS = "draws is 1 x {'type': 'BoundedRange'", weaker("GaussianDP", "mu_squared")
EQUAL, RUNS = weaker("GaussianDP", "mu_squared", "1/4"), "best_of cannot guarantee PureDP"
DRAWS = {
    "draws that nobody made": (agreed(cheap_draws), "draws is 1 x", SELECTED, True),
    "a bounded range of permute-and-flip": (agreed(bounded_range), RANGE, SELECTED, True),
    "less than its draws": (agreed(less_than_its_draws), "draws is 2 x {'type': 'Laplace"),
    "less than its draws, with delta": (agreed(less_with_delta), "draws is 40 x", DELTA),
    "without the delta of its draws": (agreed(pure_by_delta), "draws is 40 x", DELTA),
    "a smaller mu": (LESS, "noise_deviation is", "a rounded gaussian"),
    "Gaussian-DP of discrete noise": (EQUAL, NO_SUCH, "a discrete gaussian"),
    "another kind of cost of runs": (weaker("PureDP", "epsilon"), RUNS, "the best of runs"),
}


@pytest.mark.parametrize("name", DRAWS)
def test_promises_that_do_not_follow_are_refused(refuse: Any, name: str, monkeypatch: Any) -> None:
    monkeypatch.setitem(EVERY, DELTA, of_delta)
    monkeypatch.setitem(EVERY, SELECTED, select)
    refuse("plan", *DRAWS[name])


UNCAPPED = "discovered with counts, no cap"
COUNTED, FOUND = "keys with counts", "discovered with counts"
COUNTS = {
    "counts that were not asked for": (both(with_counts="no"), "cannot have this guar", COUNTED),
    "another mean of the noise": (both(noise_mean="1"), "noise_mean is 1", COUNTED),
    "counts that are said to be closer": (both(noise_low_95="0"), "noise_low_95 is 0", COUNTED),
    "a smaller deviation": (both(noise_deviation="1/1000"), "noise_deviation is", COUNTED),
    "more competitors": (release(k_bar="4"), "k_bar must be between", FOUND),
    "fewer competitors": (release(k_bar="1"), "k_bar must be between 2", "discovered, capped"),
    "a bottom that is too near": (both(offset="40"), "offset is 40", "discovered"),
    "a bottom of few items": (both(offset="60"), "offset is 60", "discovered, capped"),
    "a bottom of counts": (both(offset="71"), "offset is 71", FOUND),
    "a bottom of many items": (both(k_bar="1000000"), "offset is ", "groups"),
    "less noise of counts": (both(sigma_squared="2"), "sigma_squared is 2", UNCAPPED),
    "a cap that nobody asked for": (both(max_contributions="1"), "sigma_squared is", UNCAPPED),
    "groups of another noise": (both(noise_rate="9"), "noise_rate is 9", "groups of candidates"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_of_counts_that_do_not_follow_are_refused(refuse: Any, name: str) -> None:
    refuse("plan", *COUNTS[name])
