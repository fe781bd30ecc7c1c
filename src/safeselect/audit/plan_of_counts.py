"""The plans of releases that are made of counts: lists of items, lists by group, keys."""

from __future__ import annotations

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
    list_terms,
    plan_counts,
    plan_list,
    plan_with_counts,
    read_contributions,
    read_places,
)
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, PureDP

_RARE = 14  # nats: less than one in a million


def of_list(stated: Stated) -> Plan:
    """A list of items that nobody listed before."""
    total, k, cap = stated.total, stated.whole("k"), stated.maybe("max_contributions")
    common = COUNTED | {"grid": "none", "minimize": "no", "k": str(k)}
    read_contributions(cap)
    if stated.name.endswith("laplace"):
        _, k_bar, _ = read_places(k, stated.whole("k_bar"))
        offset, noise, said = plan_counts(total, k_bar, cap or 0)
        own = said | {"max_contributions": str(cap), "candidates": str(k_bar + 1)}
        draws = (PureDP(total.epsilon), 1), (ApproximateDP(Fraction(0), total.delta), 1)
        integer(stated.release.k_bar, "k_bar", minimum=k_bar, maximum=k_bar)
        return Plan(total, draws, common | own, _least(offset, noise.rate))
    least, most = stated.whole("least_k_bar"), stated.whole("most_k_bar")
    places = read_places(k, least if least == most else (least, most))
    integer(stated.release.k_bar, "k_bar", minimum=least, maximum=most)
    law, lowest = None, None
    if stated.name.endswith("with_counts"):
        query, part, law = plan_with_counts(total, places, cap)
        # Who comes out has a user, and a count below this takes noise that is rarer than e**-14.
        lowest = -isqrt(int(2 * _RARE * law.parameter))
    else:
        query, part = plan_list(total, places, cap)
    parts, said = list_terms(query, part, law)
    return Plan(total, parts, common | said | {"candidates": str(most + 1)}, lowest)


def _least(offset: Fraction | int, rate: Fraction) -> int:
    """The least noisy count of an item that is shown, and so exceeds the noisy bottom.

    No count is below 0 before its noise.  So a count c below 0 needs two noises, of at most c and
    of at most c - 1 - offset.  Where that is rarer than e**-14, it is no count of this plan.
    """
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
        raise ParameterError("its mechanism is not that of its parameters")
    if "groups_per_user" in stated.parameters:
        own |= stated.copied("groups_per_user")
    planned = plan.parameters
    least = None
    if name == "laplace":
        least = _least(Fraction(planned["offset"]), Fraction(planned["noise_rate"]))
    return Plan(plan.guarantee, plan.parts, {**COUNTED, **own, **facts, **planned}, least)


def of_keys(stated: Stated) -> Plan:
    """Keys that are kept one by one, or a strategy for them."""
    terms = Terms.of(stated.release)
    charge = terms.charge(stated.name.removesuffix("_with_counts"))
    if charge.mechanism != stated.release.mechanism:
        raise ParameterError("its mechanism is not that of its parameters")
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
