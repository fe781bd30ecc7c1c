"""The plan of a release, computed again from its mechanism, its cost and its public parameters.

Everything that was fixed before the first bit follows from these: what the draws cost, the rate of
the noise, offsets, and all parameters as a record states them.  The planning code of the library
computes them; a release is compared with the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from typing import Any, cast
from warnings import catch_warnings, simplefilter

from safeselect.accounting.cost import PrivacyCost
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.repetition import AnyGuarantee, PoissonRepeated, Repeated
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import exact_text, integer, rational
from safeselect.mechanisms.groups import plan_known, plan_unknown
from safeselect.mechanisms.keys import Terms
from safeselect.mechanisms.measure import Law
from safeselect.mechanisms.quantiles import charge_of
from safeselect.mechanisms.select import Asked, calibrate_unordered, read_gap_grid
from safeselect.mechanisms.sessions import read_terms
from safeselect.mechanisms.table import LAWS, Calibration
from safeselect.mechanisms.unknown import (
    COUNTED,
    plan_lists,
    plan_of_list,
    read_contributions,
    read_places,
)
from safeselect.mechanisms.weighted_keys import WeightedTerms
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, PureDP, ZeroConcentratedDP
from safeselect.release.call import Charge
from safeselect.release.codec import read_count
from safeselect.release.results import Batch, Release
from safeselect.scores.reading import Reading

_DIGEST = re.compile("sha256:[0-9a-f]{64}", re.ASCII)
_RARE = 14  # nats: less than one in a million

Draws = tuple[tuple[AnyGuarantee, int], ...]
"""The guarantees of draws, each with the number of them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What was fixed before the first bit.

    Attributes:
        guarantee: what the whole release costs.
        draws: what its draws cost.
        parameters: all public parameters, as a record states them.
        least: the least count that may be released; None where no count is.
    """

    guarantee: AnyGuarantee
    draws: Draws
    parameters: Mapping[str, str]
    least: int | None = None


@dataclass(frozen=True, slots=True)
class Stated:
    """What a release states.

    Attributes:
        name: of the mechanism, without the version of its law.
    """

    release: Any
    name: str
    parameters: Mapping[str, str]

    def text(self, name: str) -> str:
        """A parameter that must be there."""
        if name not in self.parameters:
            raise ParameterError(f"the parameter '{name}' is missing")
        return self.parameters[name]

    def whole(self, name: str) -> int:
        """A parameter that is an integer from 0."""
        return read_count(self.text(name), name)

    def maybe(self, name: str) -> int | None:
        """The same, or None where it is not stated."""
        return self.whole(name) if name in self.parameters else None

    def flag(self, name: str) -> bool:
        """A parameter that is "yes" or "no"."""
        if self.text(name) not in ("yes", "no"):
            raise ParameterError(f"the parameter '{name}' must be 'yes' or 'no'")
        return self.text(name) == "yes"

    def copied(self, *names: str) -> dict[str, str]:
        """Parameters that follow from no other."""
        return {name: self.text(name) for name in names}

    @property
    def total(self) -> ApproximateDP:
        """A cost with delta."""
        if not isinstance(self.release.guarantee, ApproximateDP):
            raise ParameterError("the release does not state a delta")
        return self.release.guarantee

    @property
    def cost(self) -> PrivacyCost:
        """The cost that a caller gave."""
        whole = self.release.guarantee
        if isinstance(whole, ApproximateDP):
            return PrivacyCost(whole.epsilon, whole.delta, None)
        if isinstance(whole, ZeroConcentratedDP):
            return PrivacyCost(None, None, whole.rho)
        return PrivacyCost(whole.epsilon, None, None)


def plan_of(release: Release) -> Plan:
    """Compute the plan of a release again.

    Raises:
        SafeSelectError: the parameters allow no such release, or one of them is missing.
    """
    name = release.mechanism.partition("/")[0]
    stated = Stated(release, name, dict(release.provenance.parameters))
    planned = next((made for start, made in _PLANS.items() if name.startswith(start)), _of_scores)
    with catch_warnings():  # a large epsilon is no news to an auditor
        simplefilter("ignore")
        return planned(stated)


def _of_scores(stated: Stated) -> Plan:
    release, given, asked = stated.release, stated.parameters, _asked(stated)
    name, weighted, _ = stated.name.partition("_weighted")
    k, size = stated.whole("k"), stated.whole("candidates")
    with_gaps = "_with_gap" in name or "_above_" in name
    integer(k, "k", minimum=1, maximum=size - with_gaps)
    rows, more = 1, {"k": str(k), "candidates": str(size)}
    if isinstance(release, Batch):
        every = stated.whole("rows")
        rows = every if "max_rows" not in given else stated.whole("max_rows")
        integer(rows, "max_rows", minimum=1, maximum=every)
        more |= {"rows": str(every)} | ({"max_rows": str(rows)} if "max_rows" in given else {})
    plan = _planned(stated, asked, name, k, size, rows)
    if with_gaps:
        step = read_gap_grid(asked.reading, plan, stated.text("gap_grid"))
        more |= {"gap_grid": exact_text(step)}
    if "_above_" in name:
        threshold = rational(stated.text("threshold"), "threshold", signed=True)
        more |= {"threshold": exact_text(threshold)}
    if weighted:
        if not _DIGEST.fullmatch(stated.text("weights")) or (LAWS[name].drawn == "again" and k > 1):
            raise ParameterError("weights must be a hash; weighted permute-and-flip requires k=1")
        more |= stated.copied("weights")
    parameters = {**asked.recorded, **plan.stated, **more}
    return Plan(plan.guarantee, ((plan.each, plan.draws),), parameters)


def _planned(stated: Stated, asked: Asked, name: str, k: int, size: int, rows: int) -> Calibration:
    if name == "top_k_laplace":
        return calibrate_unordered(asked, size, k)
    plan = asked.calibrate(name, k, rows)
    if name == "exponential_mechanism_base2" and stated.text("factor") != plan.stated["factor"]:
        own = rational(stated.text("factor"), "factor", below=1)
        if _priced(own) == plan.guarantee:
            return asked.calibrate_base2(own)  # given instead of an epsilon
    return plan


def _asked(stated: Stated) -> Asked:
    given = stated.parameters
    size = given.get("sensitivity"), given.get("range"), stated.flag("monotonic")
    scored = *size, stated.flag("minimize"), *_reading(stated)
    cost = stated.cost
    return Asked.read((cost.epsilon, cost.delta, cost.rho), scored, None, None, None)


def _reading(stated: Stated) -> tuple[str | None, bool, str | None]:
    """The arguments grid, on_grid and score_error."""
    given = stated.parameters
    grid = None if given.get("grid") == "none" else stated.text("grid")
    return grid, "on_grid" in given and stated.flag("on_grid"), given.get("score_error")


def _priced(base: Fraction) -> BoundedRange:
    return BoundedRange(rounded_up(lambda bits: -Interval.of(base, bits).log()))


def _of_measurement(stated: Stated) -> Plan:
    release = stated.release
    whole, law = release.guarantee, stated.name.removeprefix("measure_")
    norm = "sensitivity_l1" if law == "discrete_laplace" else "sensitivity_l2_squared"
    change = rational(stated.text(norm), norm)
    if not isinstance(whole, (PureDP, ZeroConcentratedDP, GaussianDP)):
        raise ParameterError(f"{release.mechanism} cannot guarantee {type(whole).__name__}")
    return _charged(stated, Law.of(whole, change).charge(stated.whole("values")))


def _of_points(stated: Stated) -> Plan:
    release, asked, neighbours = stated.release, stated.release.labels, stated.text("neighbours")
    if neighbours != release.provenance.neighbours:
        raise ParameterError("the parameters and the provenance state different neighbours")
    if not asked or not all(type(q) is Fraction and 0 <= q <= 1 for q in {*asked}):
        raise ParameterError("the quantiles of a release must be one or more numbers from 0 to 1")
    grid = stated.copied("lowest", "highest", "step")  # compared with the points
    ties = stated.name.partition("_")[2] or "interval"
    treated = neighbours, stated.whole("max_contributions"), ties
    charge, _ = charge_of(asked, grid, stated.cost, treated)
    return _charged(stated, charge)


def _charged(stated: Stated, charge: Charge, least: int | None = None) -> Plan:
    """The plan of a release with this charge, whose mechanism must be that of the release."""
    if charge.mechanism != stated.release.mechanism:
        said = f"{stated.release.mechanism} cannot have this guarantee with these parameters"
        raise ParameterError(said)
    return Plan(charge.guarantee, charge.parts, charge.parameters, least)


def _of_runs(stated: Stated) -> Plan:
    whole: Any = stated.release.guarantee
    parameters = stated.copied("minimize")
    stated.flag("minimize")
    kinds: Any = {"best_of": Repeated, "best_of_poisson": PoissonRepeated, "first_above": PureDP}
    if not isinstance(whole, kinds[stated.name]):
        raise ParameterError(f"{stated.name} cannot guarantee {type(whole).__name__}")
    if stated.name == "first_above":
        threshold = rational(stated.text("threshold"), "threshold", signed=True)
        base = stated.text("base").partition(" ")[0]
        if base not in ("PureDP", "LaplaceDominated", "BoundedRange"):
            raise ParameterError("the base must be PureDP, LaplaceDominated or BoundedRange")
        gamma = rational(stated.text("gamma"), "gamma", below=1)
        parameters |= {"base": f"{base} {exact_text(whole.epsilon / 2)}"}
        parameters |= {"threshold": exact_text(threshold), "gamma": exact_text(gamma)}
    return Plan(whole, ((whole, 1),), parameters)


def _of_session(stated: Stated) -> Plan:
    whole = stated.release.guarantee
    name, _, noise = stated.name.rpartition("_")
    grid, on_grid, score_error = _reading(stated)
    reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
    asked = stated.text("threshold"), stated.whole("k"), whole.epsilon, stated.text("sensitivity")
    drawn = stated.flag("monotonic"), noise, stated.text("split"), stated.text("gap_grid")
    sigma = stated.text("top_margin") if name == "adaptive_sparse_vector" else None
    terms = read_terms(name, reading, *asked, *drawn, sigma)
    return Plan(terms.guarantee, ((terms.guarantee, 1),), terms.as_record)


def _of_list(stated: Stated) -> Plan:
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


def _of_groups(stated: Stated) -> Plan:
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
    if "groups_per_user" in stated.parameters:
        own |= stated.copied("groups_per_user")
    planned = plan.charge.parameters
    charge = replace(plan.charge, parameters={**COUNTED, **own, **facts, **planned})
    return _charged(stated, charge, _least(planned) if name == "laplace" else None)


def _of_keys(stated: Stated) -> Plan:
    """Keys that are kept one by one, or a strategy for them."""
    terms = Terms.of(stated.release)
    charge = terms.charge(stated.name.removesuffix("_with_counts"))
    # The least count is that of a key that its threshold just keeps.
    least = terms.table.centre + terms.pre_threshold - 1
    return _charged(stated, charge, least if terms.with_counts else None)


def _of_weighted_keys(stated: Stated) -> Plan:
    total, most = stated.total, stated.whole("max_partitions")
    terms = WeightedTerms.read(total.epsilon, total.delta, most)
    return _charged(stated, terms.charge(stated.name.removesuffix("_gaussian")))


def _of_lists(stated: Stated) -> Plan:
    limits = stated.whole("outcomes"), stated.whole("queries")
    return _charged(stated, plan_lists(stated.total, *limits)[1])


_PLANS: Mapping[str, Callable[[Stated], Plan]] = {
    "unknown_domain_top_k_": _of_list,
    "pay_what_you_get_": _of_lists,
    "top_k_by_group_": _of_groups,
    "select_partitions_gaussian": _of_weighted_keys,
    "select_partitions": _of_keys,
    "partition_strategy": _of_keys,
    "measure_": _of_measurement,
    "quantile": _of_points,
    "best_of": _of_runs,
    "first_above": _of_runs,
    "sparse_vector_": _of_session,
    "adaptive_sparse_vector_": _of_session,
}
"""How a name begins; all others rank by noisy scores."""
