"""The plans of releases that are made of counts: lists of items, lists by group, keys."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt
from typing import Any, cast

from safeselect.audit.stated import Plan, Stated
from safeselect.errors import ParameterError
from safeselect.exact.parameters import integer
from safeselect.mechanisms.groups import plan_known, plan_unknown
from safeselect.mechanisms.keys import Terms
from safeselect.mechanisms.unknown import (
    COUNTED,
    plan_list,
    plan_of_list,
    read_contributions,
    read_places,
)
from safeselect.promises.guarantees import ApproximateDP, BoundedRange

_RARE = 14  # nats: less than one in a million


def of_list(stated: Stated) -> Plan:
    """A list of items that nobody listed before."""
    total, k, cap = stated.total, stated.whole("k"), stated.maybe("max_contributions")
    common = COUNTED | {"grid": "none", "minimize": "no", "k": str(k)}
    read_contributions(cap)
    laplace, counted = (stated.name.endswith(end) for end in ("laplace", "with_counts"))
    if laplace:
        least = most = stated.whole("k_bar")
    else:
        least, most = stated.whole("least_k_bar"), stated.whole("most_k_bar")
    places = read_places(k, least if least == most else (least, most))
    plan = plan_of_list(total, places, cap, laplace=laplace, with_counts=counted)
    integer(stated.release.k_bar, "k_bar", minimum=least, maximum=most)
    lowest = _least(plan.said) if laplace else None
    if counted:
        # Who comes out has a user, and a count below this takes noise that is rarer than e**-14.
        lowest = -isqrt(int(2 * _RARE * Fraction(plan.said["sigma_squared"])))
    return Plan(total, plan.parts, common | plan.said | {"candidates": str(most + 1)}, lowest)


def _least(said: Mapping[str, str]) -> int:
    """The least noisy count of an item that is shown, and so exceeds the noisy bottom.

    No count is below 0 before its noise.  So a count c below 0 needs two noises, of at most c and
    of at most c - 1 - offset.  Where that is rarer than e**-14, it is no count of this plan.
    """
    offset, rate = Fraction(said["offset"]), Fraction(said["noise_rate"])
    return min(0, int((offset + 1 - _RARE / rate) // 2) + 1)


def of_groups(stated: Stated) -> Plan:
    """A list for each group."""
    name, k = stated.name.removeprefix("top_k_by_group_"), stated.whole("k")
    cap, changed, groups = (
        stated.maybe(each) for each in ("max_contributions", "max_groups", "groups")
    )
    integer(changed, "max_groups", minimum=1, maximum=groups or 0)
    own, facts = {"k": str(k), "groups": str(groups), "max_groups": str(changed)}, {}
    if name in ("gumbel", "laplace"):
        plan = plan_unknown(stated.total, (k, stated.whole("k_bar")), changed or 0, cap)
        facts = {} if cap is None else {"max_contributions": str(cap)}
    else:
        size = range(stated.whole("candidates"))
        plan = plan_known(stated.cost, cast("Any", size), k, changed or 0, name)
        facts = {"candidates": str(len(size))}
    if plan.mechanism != stated.release.mechanism:
        raise ParameterError("its mechanism does not match its parameters")
    if "groups_per_user" in stated.parameters:
        own |= stated.copied("groups_per_user")
    planned = plan.parameters
    least = _least(planned) if name == "laplace" else None
    return Plan(plan.guarantee, plan.parts, {**COUNTED, **own, **facts, **planned}, least)


def of_keys(stated: Stated) -> Plan:
    """Keys that are kept one by one, or a strategy for them."""
    terms = Terms.of(stated.release)
    charge = terms.charge(stated.name.removesuffix("_with_counts"))
    if charge.mechanism != stated.release.mechanism:
        raise ParameterError("its mechanism does not match its parameters")
    # The least count is that of a key that its threshold just keeps.
    least = terms.table.centre + terms.pre_threshold - 1
    return Plan(terms.total, charge.parts, charge.parameters, least)


def of_session_of_lists(stated: Stated) -> Plan:
    outcomes, queries = stated.whole("outcomes"), stated.whole("queries")
    integer(queries, "queries", minimum=1, maximum=2**20)
    query, part = plan_list(stated.total, (1, 1, 1), None, draws=outcomes, lists=queries)
    draws = (BoundedRange(query.epsilon), outcomes), (ApproximateDP(Fraction(0), part), 1)
    parameters = COUNTED | {"outcomes": str(outcomes), "queries": str(queries)}
    return Plan(stated.total, draws, parameters)
