"""Six amounts, one way of several within its cap: what is granted, and that no one gains by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeselect.accounting.composition import compose
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.repetition import AnyGuarantee, PoissonRepeated, Repeated
from safeselect.errors import ParameterError
from safeselect.ledger import budget
from safeselect.ledger.budget import Terms, View, add, caps, fits, price, ways
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)
from vectors import vectors

VECTORS = vectors("budget")["cases"]
KINDS: dict[str, Callable[[Any], AnyGuarantee]] = {
    "pure": lambda e: PureDP(Fraction(e)),
    "laplace": lambda e: LaplaceDominated(Fraction(e)),
    "range": lambda e: BoundedRange(Fraction(e)),
    "zcdp": lambda rho: ZeroConcentratedDP(Fraction(rho)),
    "gaussian": lambda squared: GaussianDP(Fraction(squared)),
    "approximate": lambda both: ApproximateDP(Fraction(both[0]), Fraction(both[1])),
    "own": lambda delta: ApproximateDP(Fraction(0), Fraction(delta)),
}
COSTLY = ApproximateDP(Fraction(10**6), Fraction(1, 2))
"""A whole that bounds nothing by itself: the parts pay."""


def cases(kind: str) -> list[Any]:
    """The vectors of one kind."""
    return [pytest.param(c["given"], c["value"], id=c["id"]) for c in VECTORS if c["kind"] == kind]


def exact(text: str) -> Fraction:
    """A number of the vectors."""
    return Fraction(text)


def terms_of(stated: dict[str, Any]) -> Terms:
    """The default terms that a vector names."""
    own = exact(stated["own_delta"]) if "own_delta" in stated else None
    made: Terms = budget.Terms.of(exact(stated["epsilon"]), exact(stated["delta"]), own)
    return made


def view(parts: Sequence[Any]) -> View:
    """Parts of a vector as guarantees."""
    return tuple((KINDS[kind](parameter), count) for kind, parameter, count in parts)


def nothing(terms: Terms) -> dict[str, Fraction]:
    """The sums before the first charge."""
    return dict.fromkeys(terms.names, Fraction(0))


def priced(terms: Terms, parts: View) -> dict[str, Fraction]:
    """The price of a release of which these are the parts, or which this one is."""
    if len(parts) == 1 and parts[0][1] == 1:
        found = budget.price(terms, parts[0][0])
    elif any(isinstance(each, ApproximateDP) for each, _ in parts):
        found = budget.price(terms, COSTLY, parts)
    else:  # nothing has a delta: a whole that bounds less than its parts do
        found = budget.price(terms, ZeroConcentratedDP(Fraction(10**9)), parts)
    assert found is not None
    return dict(found)


def count(terms: Terms, first: Sequence[View], each: View) -> int:
    """How many of `each` are granted one after the other, after `first`."""
    allowed, total = budget.caps(terms), nothing(terms)
    for one in first:
        cost = priced(terms, one)
        total = budget.add(total, cost)
        assert budget.allows(allowed, cost, total)
    cost, granted = priced(terms, each), 0
    while budget.allows(allowed, cost, after := budget.add(total, cost)):
        total, granted = after, granted + 1
        assert granted < 10**5  # a budget that takes everything would never end
    return granted


# ------------------------------------------------------------------------------------ the vectors


@pytest.mark.parametrize(("stated", "value"), cases("default_terms"))
def test_default_terms_and_caps_are_those_of_the_vectors(
    stated: dict[str, Any], value: dict[str, Any]
) -> None:
    terms = terms_of(stated)
    assert terms.own_delta == exact(value["own_delta"])
    assert terms.excesses == tuple(exact(each) for each in value["excesses"])
    assert terms.weights == tuple(exact(each) for each in value["weights"])
    found = caps(terms)
    for name, cap in zip(terms.moments, value["caps"], strict=True):
        assert 0 <= exact(cap) - found[name] < exact(cap) / 2**63


@pytest.mark.parametrize(("stated", "value"), cases("log_moment"))
def test_moments_are_those_of_the_vectors(stated: dict[str, Any], value: str) -> None:
    excess = exact(stated["excess"])
    terms = Terms(Fraction(1), None, Fraction(1, 2), Fraction(0), (excess,), (Fraction(1),))
    cost = price(terms, KINDS[stated["guarantee"]](stated["parameter"]))
    assert cost is not None
    assert -Fraction(1, 10**38) <= cost["moment_1"] - exact(value) < exact(value) / 2**63


@pytest.mark.parametrize(("stated", "value"), cases("granted"))
def test_as_many_are_granted_as_the_vectors_say(stated: dict[str, Any], value: int) -> None:
    terms, each = terms_of(stated), view(stated["each"])
    first = [view([part]) for part in stated["first"]]
    assert count(terms, first, each) == value
    total = nothing(terms)
    for one in first:
        total = add(total, priced(terms, one))
    assert fits(caps(terms), total, priced(terms, each))[0] == value


@pytest.mark.parametrize(("stated", "value"), cases("reading"))
def test_the_loss_so_far_is_that_of_the_vectors(
    stated: dict[str, Any], value: dict[str, str]
) -> None:
    terms, total = terms_of(stated), None
    for part in stated["charged"]:
        cost = priced(terms, view([part]))
        total = add(total or nothing(terms), cost)
    found = budget.largest_loss(terms, total or nothing(terms))
    assert found is not None
    assert -Fraction(1, 10**38) <= found - exact(value["always"]) < Fraction(1, 2**60)


# ------------------------------------------------------------------------------- every guarantee

TERMS = Terms.of(Fraction(1), Fraction(1, 10**6))
RUNS = Repeated(PureDP(Fraction(1, 50)), Fraction(1), Fraction(1, 10))


@pytest.mark.parametrize(
    ("guarantee", "epsilon", "not_pure", "own"),
    [
        (PureDP(Fraction(1, 10)), "1/10", 0, "0"),
        (LaplaceDominated(Fraction(1, 10)), "1/10", 0, "0"),
        (BoundedRange(Fraction(1, 10)), "1/10", 0, "0"),
        (ZeroConcentratedDP(Fraction(1, 1000)), "0", 1, "0"),
        (GaussianDP(Fraction(1, 1000)), "0", 1, "0"),
        (ApproximateDP(Fraction(1, 10), Fraction(1, 10**8)), "1/10", 0, "1e-8"),
        (RUNS, "3/50", 0, "0"),
        (Repeated(ZeroConcentratedDP(Fraction(1, 1000)), Fraction(1), Fraction(1, 9)), "0", 1, "0"),
        (PoissonRepeated(ZeroConcentratedDP(Fraction(1, 1000)), Fraction(5)), "0", 1, "0"),
    ],
)
def test_every_guarantee_has_a_price(
    guarantee: AnyGuarantee, epsilon: str, not_pure: int, own: str
) -> None:
    cost = price(TERMS, guarantee)
    assert cost is not None
    assert tuple(cost) == TERMS.names
    assert (cost["epsilon"], cost["not_pure"]) == (exact(epsilon), not_pure)
    assert cost["own_delta"] == exact(own)
    assert all(cost[name] > 0 for name in TERMS.moments)
    assert not budget.understated(TERMS, cost, guarantee)
    for name in TERMS.moments:
        low, high = budget._log_moments([(guarantee, 1)], TERMS.moments[name], 256).fractions()
        assert low <= cost[name] <= high * (1 + Fraction(1, 2**62))


SUMMED = st.lists(
    st.tuples(
        st.sampled_from([PureDP, LaplaceDominated, BoundedRange]),
        st.fractions(Fraction(1, 1000), 3, max_denominator=1000),
        st.integers(1, 9),
    ),
    min_size=1,
    max_size=4,
)


@given(SUMMED, st.sampled_from([TERMS, Terms(epsilon=Fraction(1)), Terms(rho=Fraction(1))]))
def test_parts_pay_no_more_than_the_whole_that_is_their_sum(listed: Any, terms: Terms) -> None:
    parts = tuple((kind(size), times) for kind, size, times in listed)
    epsilon = sum((size * times for _, size, times in listed), Fraction(0))
    is_laplace = all(kind is not PureDP for kind, _, _ in listed)
    wholes = [PureDP(epsilon), *([LaplaceDominated(epsilon)] if is_laplace else [])]
    by_parts = dict(price(terms, PureDP(2 * epsilon), parts) or {})
    for whole in wholes:
        alone = dict(price(terms, whole) or {})
        assert price(terms, whole, parts) == by_parts
        assert all(by_parts[name] <= alone[name] for name in alone)
    less, both = (price(terms, PureDP(epsilon / 2), each) or {} for each in ((), parts))
    assert all(both[name] <= less[name] for name in less)


@pytest.mark.parametrize(
    ("terms", "guarantee"),
    [
        (Terms(epsilon=Fraction(1)), ZeroConcentratedDP(Fraction(1))),
        (Terms(epsilon=Fraction(1)), GaussianDP(Fraction(1))),
        (Terms(epsilon=Fraction(1)), ApproximateDP(Fraction(1), Fraction(1, 10**9))),
        (Terms(rho=Fraction(1)), ApproximateDP(Fraction(1), Fraction(1, 10**9))),
    ],
)
def test_a_sum_does_not_take_what_it_does_not_bound(terms: Terms, guarantee: AnyGuarantee) -> None:
    assert price(terms, guarantee) is None
    assert budget.understated(terms, nothing(terms), guarantee) == sorted(terms.names)


def test_of_rho_the_cheaper_view_pays() -> None:
    whole, each = LaplaceDominated(Fraction(1, 2)), BoundedRange(Fraction(1, 20))
    assert price(Terms(rho=Fraction(1)), whole, ((each, 10),)) == {"rho": 10 * each.zcdp.rho}
    assert price(Terms(rho=Fraction(1)), whole, ((whole, 2),)) == {"rho": whole.zcdp.rho}


def test_the_deltas_of_one_release_are_those_of_its_composition() -> None:
    part = ApproximateDP(Fraction(1, 50), Fraction(1, 10**8))
    whole = ApproximateDP(Fraction(3, 50), 1 - (1 - part.delta) ** 3)
    assert compose([part] * 3).guarantee == whole
    found = (price(TERMS, whole, ((part, 3),)) or {})["own_delta"]
    assert whole.delta <= found < whole.delta + Fraction(1, 2**190)
    tiny = ApproximateDP(0, Fraction(1, 10**90))
    assert (price(TERMS, whole, ((tiny, 3),)) or {})["own_delta"] == 3 * tiny.delta


def test_parts_with_a_delta_do_not_make_a_whole_without_one_cheaper() -> None:
    parts = (ApproximateDP("1/10", Fraction(1, 10**9)), 1), (BoundedRange(1), 1)
    whole, summed = BoundedRange(2), Terms.of(Fraction(3), Fraction(1, 10), Fraction(1, 10))
    assert price(summed, whole, parts) == price(summed, whole)
    assert (price(TERMS, whole, parts) or {})["own_delta"] == Fraction(1, 10**9)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"epsilon": Fraction(1), "rho": Fraction(1)},
        {"epsilon": Fraction(0)},
        {"own_delta": Fraction(1, 5)},
        {"own_delta": -Fraction(1, 100)},
        {"delta": Fraction(1), "own_delta": Fraction(1)},
        {"weights": (Fraction(1, 2), Fraction(2, 3))},
        {"weights": (Fraction(1),)},
        {"weights": (Fraction(0), Fraction(1, 2))},
        {"excesses": (Fraction(3), Fraction(3))},
        {"excesses": (Fraction(0), Fraction(3))},
        {"excesses": (), "weights": ()},
        {"own_delta": Fraction(1, 10)},
        {"epsilon": None, "rho": Fraction(1)},
    ],
)
def test_terms_under_which_nothing_is_proved_are_refused(wrong: dict[str, Any]) -> None:
    good = {
        "epsilon": Fraction(1),
        "delta": Fraction(1, 10),
        "excesses": (Fraction(3), Fraction(6)),
        "weights": (Fraction(1, 2), Fraction(1, 2)),
    }
    assert Terms(**good)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"own_delta|positive|order"):
        Terms(**(good | wrong if wrong else {}))


@pytest.mark.parametrize("delta", ["1", "2"])
def test_default_terms_of_no_budget_are_refused(delta: str) -> None:
    with pytest.raises(ParameterError, match="delta < 1"):
        Terms.of(Fraction(1), exact(delta))
    with pytest.raises(ParameterError, match="must be positive"):
        Terms.of(Fraction(0), Fraction(1, 10))


# ----------------------------------------------------------------------- what the filter is worth


def test_with_all_of_delta_set_aside_epsilons_and_deltas_add_up() -> None:
    """A list (1, 1e-6) of an unknown domain is charged as a whole: its parts add up to more."""
    terms = Terms.of(Fraction(2), Fraction(2, 10**6), Fraction(2, 10**6))
    assert caps(terms) == {"epsilon": 2, "not_pure": 0, "own_delta": Fraction(2, 10**6)}
    whole = ApproximateDP(Fraction(1), Fraction(1, 10**6))
    parts: View = ((BoundedRange(Fraction(648, 10000)), 50), *view([("own", "5e-7", 1)]))
    cost = price(terms, whole, parts)
    assert cost == {"epsilon": 1, "not_pure": 0, "own_delta": Fraction(1, 10**6)}
    assert fits(caps(terms), nothing(terms), cost)[0] == 2


def test_a_raise_keeps_all_that_was_granted() -> None:
    ceiling = Terms.of(Fraction(2), Fraction(1, 10**5))
    before = ceiling.at({"epsilon": Fraction(1), "delta": Fraction(1, 10**6)})
    assert (before.excesses, before.weights) == (ceiling.excesses, ceiling.weights)
    assert before.own_delta / before.delta == ceiling.own_delta / ceiling.delta
    assert before.at({"epsilon": Fraction(2), "delta": Fraction(1, 10**5)}) == ceiling
    assert all(caps(ceiling)[name] >= cap for name, cap in caps(before).items())
    assert before.at({}) == before
    for alone in (Terms(epsilon=Fraction(1)), Terms(rho=Fraction(1))):
        ((name, _),) = alone.limits.items()
        assert alone.at({name: Fraction(2)}).limits == {name: 2}
        with pytest.raises(ParameterError, match="this budget has no delta"):
            alone.at({name: Fraction(2), "delta": Fraction(1, 10)})
    with pytest.raises(ParameterError, match="delta must be below 1"):
        before.at({"delta": Fraction(1)})


def test_a_cap_below_one_allows_something() -> None:
    """ln M up to 0.6 or so: caps are no whole numbers."""
    terms = Terms(
        Fraction(1, 2), None, Fraction(1, 10), Fraction(0), (Fraction(2),), (Fraction(1),)
    )
    assert 0 < caps(terms)["moment_1"] < 1
    cost = price(terms, ZeroConcentratedDP(Fraction(1, 100)))
    assert cost is not None
    assert ways(caps(terms), cost) == ["moment_1"]


def test_long_prices_and_sums_are_rounded_up() -> None:
    odd, unit = Fraction(1, 2**1024 + 1), Fraction(1, 2**1024)
    long = ApproximateDP(odd, Fraction(1, 2) + odd)
    for own in (None, Fraction(3, 4)):  # moments and sums, or sums alone
        cost = price(Terms.of(Fraction(1), Fraction(3, 4), own), long)
        assert cost is not None
        assert (cost["epsilon"], cost["own_delta"]) == (unit, Fraction(1, 2) + unit)
    assert add({"epsilon": Fraction(1)}, {"epsilon": odd}) == {"epsilon": 1 + unit}
    assert add({"epsilon": Fraction(0)}, {"epsilon": unit}) == {"epsilon": unit}


# ------------------------------------------------------------------------------------ verification


def test_a_price_is_refused_only_below_what_the_release_surely_costs() -> None:
    guarantee = BoundedRange(Fraction(1, 10))
    cost = priced(TERMS, ((guarantee, 1),))
    # Another formula may round the last bit the other way.
    lower = {**cost, "moment_2": cost["moment_2"] * (1 - Fraction(1, 2**66))}
    low = budget._log_moments([(guarantee, 1)], TERMS.excesses[1], 300).fractions()[0]
    assert bool(budget.understated(TERMS, lower, guarantee)) == (lower["moment_2"] < low)
    for name in TERMS.moments:
        wrong = {**cost, name: cost[name] * (1 - Fraction(1, 2**50))}
        assert budget.understated(TERMS, wrong, guarantee) == [name]
    assert budget.understated(TERMS, {**cost, "epsilon": Fraction(1, 11)}, guarantee) == ["epsilon"]
    assert not budget.understated(TERMS, {**cost, "epsilon": Fraction(0), "not_pure": 1}, guarantee)
    assert budget.understated(TERMS, {"epsilon": Fraction(1)}, guarantee) == sorted(TERMS.names)
    wrong = {**priced(TERMS, ((GaussianDP(Fraction(1, 100)), 1),)), "not_pure": Fraction(0)}
    assert budget.understated(TERMS, wrong, GaussianDP(Fraction(1, 100))) == ["not_pure"]
    own = priced(TERMS, view([("own", "1e-8", 1)]))
    assert budget.understated(TERMS, {**own, "own_delta": Fraction(0)}, KINDS["own"]("1e-8"))


def test_a_cap_is_refused_only_above_what_the_terms_allow() -> None:
    stated = caps(TERMS)
    assert not budget.overstated(TERMS, stated)
    assert not budget.overstated(TERMS, {**stated, "moment_1": stated["moment_1"] / 2})
    for name, cap in stated.items():
        wrong = {**stated, name: cap * (1 + Fraction(1, 2**50)) or Fraction(1)}
        assert budget.overstated(TERMS, wrong) == [name]
    assert budget.overstated(TERMS, {**stated, "moment_4": Fraction(1)}) == ["moment_4"]
    for name in ("epsilon", "not_pure", "own_delta"):
        assert budget.overstated(TERMS, {n: c for n, c in stated.items() if n != name}) == [name]
    # A moment may be missing, which closes its way; a cap of 0 would divide by 0.
    assert not budget.overstated(TERMS, {n: c for n, c in stated.items() if n != "moment_2"})
    assert budget.overstated(TERMS, {**stated, "moment_2": Fraction(0)}) == ["moment_2"]


def test_stated_orders_are_taken_as_they_are() -> None:
    """A version that would choose others verifies the caps of these."""
    weights = Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)
    other = replace(TERMS, excesses=(Fraction(10), Fraction(20), Fraction(50)), weights=weights)
    assert not budget.overstated(other, caps(other))
    assert set(budget.overstated(other, caps(TERMS))) == set(TERMS.moments)
