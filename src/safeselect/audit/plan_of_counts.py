"""The plans of releases that are made of counts: lists of items, lists by group, keys."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from safeselect.accounting.kinds import AnyGuarantee
from safeselect.audit.stated import Draws, Plan, Stated
from safeselect.errors import ParameterError
from safeselect.exact.parameters import integer
from safeselect.groups import ALL
from safeselect.partitions import SelectedPartitions
from safeselect.partitions.terms import Terms
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, PureDP
from safeselect.promises.records import exact_text
from safeselect.selection._table import TABLE
from safeselect.unknown_domain._bottom import (
    ListQuery,
    odds,
    read_contributions,
    read_places,
    split_delta,
)
from safeselect.unknown_domain._threshold import laplace_offset

_RARE = 14  # nats: less than one in a million
_COUNTED = {"sensitivity": "1", "monotonic": "yes", "effective_range": "1"}


def of_list(stated: Stated) -> Plan:
    total, k = stated.total, stated.whole("k")
    k_bar, contributions = stated.release.k_bar, stated.maybe("max_contributions")
    read_contributions(contributions)
    common = _COUNTED | {"grid": "none", "minimize": "no"} | stated.engine
    if stated.name.endswith("laplace"):
        k, k_bar, _ = read_places(k, stated.whole("k_bar"))
        draws, offset, least, _ = _counted(total, k_bar, 1, contributions)
        own = {"k_bar": str(k_bar), "max_contributions": str(contributions)}
        fixed = {"k_bar": k_bar, "offset": offset}
        parameters = common | own | {"k": str(k), "candidates": str(k_bar + 1)}
        return Plan(total, draws, parameters, fixed, least)
    places = stated.whole("least_k_bar"), stated.whole("most_k_bar")
    k, fewest, most = read_places(k, places[0] if places[0] == places[1] else places)
    integer(k_bar, "k_bar", minimum=fewest, maximum=most)
    few = most if contributions is None else min(most, contributions)
    number = k + (fewest < most)
    each, part = split_delta(total, stated.share, number, 1, few)
    query = ListQuery(k, fewest, most, each, odds(part), contributions)
    parts = (BoundedRange(each), number), (ApproximateDP(Fraction(0), part), 1)
    parameters = common | query.as_record | {"k": str(k), "candidates": str(most + 1)}
    return Plan(total, parts, parameters, {"offset": query.offset_in_counts(k_bar)})


def _counted(
    total: ApproximateDP, k_bar: int, changed: int, contributions: int | None
) -> tuple[Draws, Fraction, int, Fraction]:
    """Draws, offset, least count and noise rate of lists with counts, of which a user changes some.

    An item that is shown exceeds the noisy bottom, and no count is below 0 before its noise.  So a
    count c below 0 needs two noises, of at most c and of at most c - 1 - offset.  Where that has a
    probability below e**-14, it is no count of this plan.
    """
    if contributions is None:
        raise ParameterError("there is no max_contributions")
    epsilon, delta = total.epsilon / changed, total.delta / changed
    rate = epsilon / contributions
    offset = 1 + laplace_offset(rate, delta, min(k_bar, contributions))
    least = min(0, (offset + 1 - _RARE / rate) // 2 + 1)
    draws = (PureDP(epsilon), changed), (ApproximateDP(Fraction(0), delta), changed)
    return draws, Fraction(offset), least, rate


def of_groups(stated: Stated) -> Plan:
    release, name, k = (
        stated.release,
        stated.name.removeprefix("top_k_by_group_"),
        stated.whole("k"),
    )
    changed, groups = stated.whole("max_groups"), stated.whole("groups")
    integer(changed, "max_groups", minimum=1, maximum=groups)
    fixed: dict[str, Any] = {"max_groups": changed, "k_bar": release.k_bar, "offset": None}
    own, least = {}, None
    if name in ("gumbel", "laplace"):
        total, contributions = stated.total, stated.maybe("max_contributions")
        k, k_bar, _ = read_places(k, release.k_bar)
        if name == "laplace":
            own = {"max_contributions": str(contributions)}
            draws, fixed["offset"], least, rate = _counted(total, k_bar, changed, contributions)
        else:
            rate, part = split_delta(total, None, changed * k, changed, k_bar)
            query = ListQuery(k, k_bar, k_bar, rate, odds(part / changed), None)
            bottom = ApproximateDP(Fraction(0), part / changed)
            draws = (BoundedRange(rate), changed * k), (bottom, changed)
            fixed["offset"] = query.offset_in_counts(k_bar)
        guarantee: AnyGuarantee = total
    else:
        size = integer(stated.whole("candidates"), "candidates", minimum=k, maximum=ALL)
        plan = TABLE[name].calibrate(release.mechanism, stated.cost, Fraction(1), k, changed)
        own = {"candidates": str(size)}
        guarantee, draws, rate = plan.guarantee, ((plan.each, plan.draws),), plan.noise_rate.rate
        fixed["k_bar"] = None
    if "groups_per_user" in stated.parameters:
        own |= stated.copied("groups_per_user")
    if fixed["k_bar"] is not None:
        own |= {"k_bar": str(fixed["k_bar"])}
    own |= {"k": str(k), "groups": str(groups), "max_groups": str(changed)}
    parameters = _COUNTED | own | {"noise_rate": exact_text(rate)}
    return Plan(guarantee, draws, parameters, fixed | {"noise_rate": rate}, least)


def of_keys(stated: Stated) -> Plan:
    release, total = stated.release, stated.total
    terms = Terms.read(
        epsilon=total.epsilon,
        delta=total.delta,
        max_partitions=stated.whole("max_partitions"),
        pre_threshold=stated.whole("pre_threshold"),
        with_counts=stated.flag("with_counts"),
    )
    charge = terms.charge(stated.name.removesuffix("_with_counts"))
    if charge.mechanism != release.mechanism:
        raise ParameterError("its mechanism is not that of its parameters")
    fixed: dict[str, Any] = {}
    if isinstance(release, SelectedPartitions):
        table = terms.table if terms.with_counts else None
        fixed = {
            "max_partitions": terms.max_partitions,
            "pre_threshold": terms.pre_threshold,
            "mean_noise": table and table.mean_noise,
            "standard_deviation": table and table.standard_deviation,
            "noise_95": table and table.noise_95,
        }
    # The least count is that of a key that its threshold just keeps.
    least = terms.table.centre + terms.pre_threshold - 1
    return Plan(total, charge.parts, charge.parameters, fixed, least)


def of_session_of_lists(stated: Stated) -> Plan:
    outcomes, queries = stated.whole("outcomes"), stated.whole("queries")
    integer(queries, "queries", minimum=1, maximum=2**20)
    each, part = split_delta(stated.total, stated.share, outcomes, queries, 1)
    ListQuery(1, 1, 1, each, odds(part / queries), None)
    draws = (BoundedRange(each), outcomes), (ApproximateDP(Fraction(0), part), 1)
    parameters = _COUNTED | {"outcomes": str(outcomes), "queries": str(queries)}
    return Plan(stated.total, draws, parameters)
