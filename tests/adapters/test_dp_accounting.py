"""Our guarantees inside the real accountants: never cheaper than they are, and counted as often."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import safeselect as s
from safeselect.accounting import DiscreteLaplace, RandomizedResponse, compose_delta
from safeselect.accounting.gaussian import GaussianDP
from safeselect.adapters.dp_accounting import dp_event, dp_events, dp_pld

dpa: Any = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
from dp_accounting import pld, rdp  # noqa: E402 - they come with it

ADD_REMOVE = dpa.NeighboringRelation.ADD_OR_REMOVE_ONE
SLACK = 1e-9  # the accountants' own arithmetic: floats, transforms, cut tails


def accountant(name: str, **options: Any) -> Any:
    kind = {"rdp": rdp.RdpAccountant, "pld": pld.PLDAccountant}[name]
    return kind(neighboring_relation=ADD_REMOVE, **options)


KINDS = {
    (s.BoundedRange, "rdp"): "ZCDpEvent",
    (s.BoundedRange, "pld"): "LaplaceDpEvent",
    (s.LaplaceDominated, "rdp"): "LaplaceDpEvent",
    (s.LaplaceDominated, "pld"): "LaplaceDpEvent",
    (s.PureDP, "rdp"): "ZCDpEvent",
    (s.PureDP, "pld"): "DiscreteLaplaceDpEvent",
    (s.ZeroConcentratedDP, "rdp"): "ZCDpEvent",
}


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_which_event(kind: type, name: Any) -> None:
    event = dp_event(kind(1), accountant=name)
    assert type(event).__name__ == KINDS[kind, name]
    assert accountant(name).supports(event)
    assert isinstance(dp_event(kind(0), accountant=name), dpa.NoOpDpEvent)


# ------------------------------------------------------------------------------- rounding


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=256))
def test_parameters_are_rounded_towards_more_loss(epsilon: Fraction) -> None:
    """As exact rationals, and after the division that the accountants do."""
    laplace = dp_event(s.LaplaceDominated(epsilon), accountant="pld").noise_multiplier
    assert Fraction(laplace) <= 1 / epsilon
    assert Fraction(1 / laplace) >= epsilon
    assert 1 / laplace <= float(epsilon) * (1 + 2**-50)
    step = dp_event(s.PureDP(epsilon), accountant="pld").noise_parameter
    assert Fraction(math.nextafter(step, 0)) < epsilon <= Fraction(step)
    for kind in (s.BoundedRange, s.PureDP):
        rho = dp_event(kind(epsilon), accountant="rdp").rho
        assert Fraction(math.nextafter(rho, 0)) < kind(epsilon).zcdp.rho <= Fraction(rho)


def test_mixed_parts_and_a_real_release() -> None:
    best = s.top_k([5, 3, 9, 1], k=3, rho="1/10", sensitivity=1)
    event = dp_events([*best.parts, s.PureDP("1/10"), s.PureDP("1/10")], accountant="rdp")
    assert [each.count for each in event.events] == [3, 2]
    exact = 3 * best.parts[0].zcdp.rho + 2 * s.PureDP("1/10").zcdp.rho  # type: ignore[union-attr]
    rho = sum(each.count * each.event.rho for each in event.events)
    assert rho == pytest.approx(float(exact), rel=1e-15)
    assert dp_events([], accountant="pld") == dpa.ComposedDpEvent([])


# ------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("name", ["rdp", "pld"])
def test_what_no_event_covers_is_refused(name: Any) -> None:
    with pytest.raises(s.ParameterError, match="ApproximateDP guarantee has no event"):
        dp_event(s.ApproximateDP(1, "1e-6"), accountant=name)
    with pytest.raises(s.ParameterError, match="ApproximateDP guarantee has no event"):
        dp_events([s.PureDP(1), s.ApproximateDP(1, "1e-6")], accountant=name)
    for kind in (s.PureDP, s.LaplaceDominated, s.BoundedRange):
        with pytest.raises(s.ParameterError, match="at most 256"):
            dp_event(kind(257), accountant=name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dp_event(1, accountant="rdp"), r"must be one of a release, got 1 \(int\)"),
        (lambda: dp_event(s.ZeroConcentratedDP("1/10"), accountant="pld"), "no PLD event"),
        (lambda: dp_event(s.PureDP(1), accountant="gdp"), "accountant must be 'rdp' or 'pld'"),
        (lambda: dp_event(s.PureDP(1), accountant=["rdp"]), "got an object of type list"),
        (lambda: dp_events(s.PureDP(1), accountant="rdp"), "guarantees must be a list"),
        *(
            (lambda parts=parts, far=far: dp_pld(parts, far), "interval must be within the range")
            for parts in ([], [s.PureDP(1)])
            for far in (10**400, "1e-400")
        ),
        (lambda: dp_events([s.PureDP(1), "1"], accountant="rdp"), "got '1'"),
        (lambda: dp_pld([s.ZeroConcentratedDP(1)], 1e-3), "no dominating pair"),
        *(
            (lambda law=law: dp_pld([law], "1e-2"), "too large to be computed here; pass")
            for law in (RandomizedResponse("1e-300", 2), DiscreteLaplace(2, 50))
        ),
        (lambda: dp_pld(s.PureDP(1), 1e-3), "must be a list"),
        (lambda: dp_pld([s.PureDP(1)] * 100, "1e-5"), "larger interval"),
    ],
)
def test_wrong_arguments(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(s.ParameterError, match=message):
        call()


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", None)
    with pytest.raises(
        s.ParameterError, match=r"dp_accounting is required; run .*\[dp-accounting\]"
    ):
        dp_event(s.PureDP(1), accountant="rdp")


# ------------------------------------------------------------------------- loss distributions


def noise(sigma: float, count: int, interval: float) -> Any:
    made = pld.privacy_loss_distribution.from_gaussian_mechanism(
        sigma, value_discretization_interval=interval
    )
    return made.self_compose(count)


@pytest.mark.claim("C2")
def test_a_list_composes_with_the_distributions_of_others() -> None:
    """The whole block of ranges before their Gaussian, against our own bracket of both."""
    ranges, interval = [s.BoundedRange("1/2")] * 16, 1e-3
    found = dp_pld(ranges, interval).compose(noise(5, 16, interval)).get_epsilon_for_delta(1e-6)
    ours = s.compose([*ranges, *[GaussianDP("1/25")] * 16], "1e-6", "1e-4")
    assert float(ours.lower) * (1 - SLACK) <= found <= float(ours.guarantee.epsilon) * (1 + 1e-4)
    # Far less than the same ranges as Laplace events, one by one.
    events = accountant("pld", value_discretization_interval=interval)
    events.compose(dp_events(ranges, accountant="pld"))
    assert dp_pld(ranges, interval).get_epsilon_for_delta(1e-6) < 0.7 * events.get_epsilon(1e-6)


@pytest.mark.parametrize(
    "parts",
    [
        [s.BoundedRange("1/3")] * 5,
        [s.BoundedRange("1/3")] * 2 + [s.BoundedRange("1/7"), s.LaplaceDominated("1/5")],
        [s.PureDP("1/4")] * 3 + [s.ApproximateDP("1/10", "1e-6")],
        [GaussianDP("1/9")],
    ],
)
def test_a_distribution_costs_at_least_its_list(parts: Any) -> None:
    found = dp_pld(parts, 1e-3)
    for epsilon in (0.1, 0.4, 0.8):
        composed = compose_delta(parts, Fraction(epsilon), "1e-3")
        delta = found.get_delta_for_epsilon(epsilon)
        assert delta >= float(composed.lower) * (1 - SLACK)
        assert delta <= float(composed.guarantee.delta) * 1.3 + 1e-12


def test_what_is_no_interval_is_refused_and_a_cost_of_0_costs_nothing() -> None:
    for interval in (0, -1, "x", True):
        with pytest.raises(s.ParameterError, match="interval"):
            dp_pld([s.PureDP(1)], interval)
    assert dp_pld([s.PureDP(0)], 1e-3).get_delta_for_epsilon(0.0) <= 1e-12


@pytest.mark.parametrize("squared", ["1/25", "1", "1/7"])
@pytest.mark.parametrize("name", ["rdp", "pld"])
def test_gaussian_noise_is_an_event_of_its_own(squared: str, name: str) -> None:
    """The multiplier is 1 / mu rounded down, and what they make of it covers what is exact."""
    guarantee = GaussianDP(squared)
    event = dp_event(guarantee, accountant=name)
    inverse = 1 / Fraction(event.noise_multiplier) ** 2
    assert guarantee.mu_squared <= inverse <= guarantee.mu_squared * (1 + Fraction(1, 10**15))
    theirs = accountant(name).compose(event).get_epsilon(1e-6)
    assert theirs >= float(guarantee.approximate("1e-6").epsilon) * (1 - 1e-6)
