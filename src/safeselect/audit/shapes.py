"""A release against its own parameters: it is what was paid for, and has the noise for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.kinds import AnyGuarantee
from safeselect.audit.line import Line
from safeselect.audit.points import shape_of_points, shape_of_run
from safeselect.errors import SafeSelectError
from safeselect.exact.interval import Interval, rounded_down
from safeselect.grid_quantiles import Quantiles
from safeselect.groups import GroupedTopK
from safeselect.measurements import Measurement
from safeselect.partitions import SelectedPartitions, StatedStrategy
from safeselect.private_candidates import ChosenRun
from safeselect.promises.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP
from safeselect.promises.records import exact_text
from safeselect.releases import Release
from safeselect.releases._fields import count, exact
from safeselect.selection import TopAbove
from safeselect.sessions._opening import Opened
from safeselect.unknown_domain import DiscoveredTopK
from safeselect.unknown_domain._threshold import laplace_offset

_SHAPE = "shape"
_TWICE = {"max_partitions", "pre_threshold", "max_groups", "noise_rate", "k_bar"}
"""What some releases say as a field, and among their parameters."""

_OTHER_KEYS = "It pays for other keys of a user than its parameters say."

_COSTS: Mapping[str, type[AnyGuarantee]] = {
    "measure_discrete_laplace/1": PureDP,
    "measure_discrete_gaussian/1": ZeroConcentratedDP,
    "measure_rounded_gaussian/1": GaussianDP,
}
"""Discrete Gaussian noise is not Gaussian-DP."""


def shape_of(release: Release) -> Line:
    """No more was released than the parameters allow."""
    public = dict(release.statement.parameters)
    if isinstance(release, Opened):
        return _holds("It is the opening or the end of a session, and releases no label.")
    if isinstance(release, StatedStrategy):
        if public.get("max_partitions") != str(len(release.parts)):
            return _fails(_OTHER_KEYS)
        return _holds("It is a strategy in public terms, and releases no key.")
    if isinstance(release, Quantiles):
        return shape_of_points(release)
    if isinstance(release, ChosenRun):
        return shape_of_run(release)
    for name in _TWICE & public.keys() & {each.name for each in fields(release)}:
        own: Any = getattr(release, name)
        if own is not None and exact_text(Fraction(own)) != public[name]:
            return _fails(f"Its {name} is not that of its parameters.")
    if isinstance(release, Measurement):
        return _measured(release, public)
    if isinstance(release, SelectedPartitions):
        return _keys(release, public)
    try:
        return (
            _grouped(release, public) if isinstance(release, GroupedTopK) else _few(release, public)
        )
    except SafeSelectError:
        return _fails("A parameter that says how much was asked for is no number.")


def noise_of(release: Measurement) -> Line:
    """The noise covers the declared sensitivity, for what the measurement costs."""
    public, cost = dict(release.statement.parameters), release.guarantee
    if not isinstance(cost, _COSTS.get(release.mechanism, ())):
        kind = type(cost).__name__
        return Line("range", False, f"{release.mechanism} has no guarantee of type {kind}.")
    if isinstance(cost, PureDP):
        norm, noise, name = "sensitivity_l1", release.rate, "rate"
    else:
        norm, noise, name = "sensitivity_l2_squared", release.sigma_squared, "sigma_squared"
    try:
        change = exact(public.get(norm), norm)
    except SafeSelectError:
        change = None
    if change is None or change <= 0 or noise is None:
        return Line("range", False, "The record does not say how far a unit may move the values.")
    if isinstance(cost, PureDP):
        covered = noise * change <= cost.epsilon
    elif isinstance(cost, ZeroConcentratedDP):
        covered = noise * 2 * cost.rho >= change
    else:
        covered = isinstance(cost, GaussianDP) and noise * cost.mu_squared >= change
    if noise <= 0 or not covered:
        return Line(
            "range",
            False,
            f"Noise of {name} {exact_text(noise)} does not cover a {norm} of {exact_text(change)} "
            "for that guarantee.",
        )
    return Line(
        "range",
        True,
        f"Noise of {name} {exact_text(noise)} covers the declared {norm} of {exact_text(change)}.",
    )


def _few(release: Any, public: Mapping[str, str]) -> Line:
    k, candidates, rows = (_limit(public, name) for name in ("k", "candidates", "rows"))
    labels: Any = getattr(release, "labels", None)
    flat = [1] if labels is None else _flat(labels)
    if labels is None and k != 1:
        return _fails(f"It has one label, and {k} were paid for.")
    if wrong := _wrong_base(release):
        return _fails(wrong)
    if isinstance(release, DiscoveredTopK) and "least_k_bar" in public:
        least, most = (_limit(public, name) for name in ("least_k_bar", "most_k_bar"))
        if not least <= release.k_bar <= most:
            return _fails("Its k_bar is not one that its parameters allow.")
    if isinstance(release, DiscoveredTopK) and release.offset < _least_offset(release, public):
        return _fails("The bottom is nearer than its delta demands.")
    if isinstance(release, TopAbove) and release.guarantee.pure is not None:
        # A draw for each label, and one that fell below the threshold, if there were k.
        drawn = Fraction(min(len(release.labels) + 1, k), k) * release.guarantee.pure.epsilon
        if release.spent != drawn:
            return _fails(
                f"It says it spent {exact_text(release.spent)}, and its labels cost "
                f"{exact_text(drawn)}."
            )
    if len(flat) > k * rows:
        return _fails(f"It has {len(flat)} labels, and no more than {k} were paid for.")
    if rows == 1 and _repeats(flat):
        return _fails("It names a candidate twice.")
    indices: Any = getattr(release, "indices", getattr(release, "index", None))
    places = [] if indices is None else _flat(indices)
    if k > candidates or any(i >= candidates for i in places):
        return _fails("It has more places than there were candidates.")
    return _holds(f"{len(flat)} of {candidates} candidates, as the parameters allow.")


def _least_offset(release: DiscoveredTopK, public: Mapping[str, str]) -> Fraction:
    """How far above the count after the last competitor the bottom must lie, for its delta.

    With Gumbel noise 1 + ln(m (1 - p) / p) / epsilon, for a delta p of the bottom and m items that
    a user may change; with Laplace noise the least that the tails of two noises allow.
    """
    cap = _limit(public, "max_contributions") if "max_contributions" in public else release.k_bar
    m, (*draws, bottom) = min(cap, release.k_bar), release.parts
    if not draws or not isinstance(bottom, ApproximateDP) or release.k_bar < 1:
        return Fraction(0)
    if release.counts is not None:
        return 1 + Fraction(laplace_offset(release.guarantee.epsilon / cap, bottom.delta, m))
    each, odds = draws[0].pure, m * (1 - bottom.delta) / bottom.delta
    if each is None or odds <= 1:
        return Fraction(1)
    return 1 + rounded_down(lambda bits: Interval.of(odds, bits).log()) / each.epsilon


def _wrong_base(release: Any) -> str:
    """What is wrong with the factor of the weights of base 2; nothing where there is none.

    It belongs to the whole range, or to a step of it, so a draw costs -ln(base) at least.
    """
    base: Fraction | None = getattr(release, "base", None)
    if base is None:
        return ""
    if not 0 < base < 1:
        return f"Weights of base {exact_text(base)} are none."
    each = (getattr(release, "parts", None) or (release.guarantee,))[0]
    least = rounded_down(lambda precision: -Interval.of(base, precision).log())
    if each.pure is None or each.pure.epsilon < least:
        return f"Weights of base {exact_text(base)} cost more than its draws."
    return ""


def _grouped(release: GroupedTopK, public: Mapping[str, str]) -> Line:
    k, groups = _limit(public, "k"), _limit(public, "groups")
    if len(release.groups) != groups or any(len(row) > k for row in release.labels):
        return _fails(
            f"It has {len(release.groups)} groups, and {groups} of {k} items each at most were "
            "paid for."
        )
    if any(len(set(row)) < len(row) for row in release.labels):
        return _fails("It names an item twice in a group.")
    return _holds(f"{groups} groups of {k} items at most, as the parameters allow.")


def _keys(release: SelectedPartitions, public: Mapping[str, str]) -> Line:
    if (release.counts is not None) is not (public.get("with_counts") == "yes"):
        return _fails("It has counts that its parameters do not have, or lacks them.")
    if len(release.parts) != release.max_partitions:
        return _fails(_OTHER_KEYS)
    if release.counts is not None:
        try:
            table = release.terms.table
        except SafeSelectError:
            return _fails("Its parameters have no table that keeps keys.")
        said = release.mean_noise, release.standard_deviation, release.noise_95
        if said != (table.mean_noise, table.standard_deviation, table.noise_95):
            return _fails("Its counts are said to have other noise than its parameters give.")
    return _holds(f"{len(release.labels)} keys; how many may be shown has no limit.")


def _measured(release: Measurement, public: Mapping[str, str]) -> Line:
    if public.get("values") != str(len(release.values)):
        return _fails("It has another number of values than its parameters say.")
    return _holds(f"{len(release.values)} values, as the parameters say.")


def _repeats(labels: list[Any]) -> bool:
    """Whether a label is there twice, of those that are read as what they were."""
    known = [(type(label), label) for label in labels if isinstance(label, (int, str))]
    return len(set(known)) < len(known)


def _limit(public: Mapping[str, str], name: str) -> int:
    return count(public.get(name, "1"), name)


def _flat(values: Any) -> list[Any]:
    listed = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(listed, int):
        return [listed]
    return [each for value in listed for each in (value if isinstance(value, list) else [value])]


def _holds(sentence: str) -> Line:
    return Line(_SHAPE, True, sentence)


def _fails(sentence: str) -> Line:
    return Line(_SHAPE, False, sentence)
