"""The plan of a release, computed again from its mechanism, its cost and its public parameters.

Everything that was fixed before the first bit follows from these: what the draws cost, the rate of
the noise, offsets, and all parameters as a record states them.  The planning code of the library
computes them; a release is compared with the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, get_args
from warnings import catch_warnings, simplefilter

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.repetition import PoissonRepeated, Repeated
from safeselect.audit.plan_of_counts import of_groups, of_keys, of_list, of_session_of_lists
from safeselect.audit.stated import Plan, Stated
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import exact_text, integer, rational, read_choice
from safeselect.mechanisms.measure import Law
from safeselect.mechanisms.quantiles import Neighbours
from safeselect.mechanisms.select import Asked, calibrate_unordered, read_gap_grid
from safeselect.mechanisms.sessions import read_terms
from safeselect.mechanisms.table import LAWS, Calibration
from safeselect.promises.guarantees import BoundedRange, PureDP, ZeroConcentratedDP
from safeselect.release.results import Batch, Release
from safeselect.scores.reading import Reading

_DIGEST = re.compile("sha256:[0-9a-f]{64}", re.ASCII)


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
    release, name, given = stated.release, stated.name.removesuffix("_weighted"), stated.parameters
    asked, law = _asked(stated), LAWS[name]
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
    if name != stated.name:
        if not _DIGEST.fullmatch(stated.text("weights")) or (law.drawn == "again" and k > 1):
            raise ParameterError("it has no weights")
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
    return Asked.read(stated.cost, scored, None, None, None)


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
    charge = None
    if isinstance(whole, (PureDP, ZeroConcentratedDP, GaussianDP)):
        charge = Law.of(whole, change).charge(stated.whole("values"))
    if charge is None or charge.mechanism != release.mechanism:
        raise ParameterError(f"{release.mechanism} cannot have this guarantee")
    return Plan(whole, charge.parts, charge.parameters)


def _of_points(stated: Stated) -> Plan:
    release, asked = stated.release, stated.release.labels
    kind, _, below = stated.name.partition("_")
    several, neighbours = kind == "quantiles", stated.text("neighbours")
    most = integer(stated.whole("max_contributions"), "max_contributions", minimum=1, maximum=2**32)
    if not asked or (len(asked) > 1) is not several or (several and most > 1):
        raise ParameterError("its number of quantiles does not match its mechanism")
    if neighbours != release.provenance.neighbours:
        raise ParameterError("its noise does not match its neighbours")
    read_choice(neighbours, "neighbours", get_args(Neighbours))
    levels = len(asked).bit_length()
    each = stated.cost.per_draw(BoundedRange, levels)
    guarantee = stated.cost.guarantee(BoundedRange, each, levels)
    if len({*asked}) < len(asked) or not all(type(q) is Fraction and 0 <= q <= 1 for q in asked):
        raise ParameterError("its quantiles are not valid")
    parameters = {"quantiles": ", ".join(map(exact_text, asked)), "ties": below or "interval"}
    parameters |= {"max_contributions": str(most), "neighbours": neighbours}
    parameters |= stated.copied("lowest", "highest", "step")  # compared with the points
    return Plan(guarantee, ((BoundedRange(each), levels),), parameters)


def _of_runs(stated: Stated) -> Plan:
    whole: Any = stated.release.guarantee
    parameters = stated.copied("minimize")
    stated.flag("minimize")
    kinds: Mapping[str, Any] = {"best_of": Repeated, "best_of_poisson": PoissonRepeated}
    if not isinstance(whole, kinds.get(stated.name, PureDP)):
        raise ParameterError(f"{stated.name} has no guarantee of type {type(whole).__name__}")
    if stated.name == "first_above":
        threshold = rational(stated.text("threshold"), "threshold", signed=True)
        base, _, own = stated.text("base").partition(" ")
        if base not in ("PureDP", "LaplaceDominated", "BoundedRange"):
            raise ParameterError("its base is not valid")
        if rational(own, "base") * 2 != whole.epsilon:
            raise ParameterError(f"its guarantee is not twice that of its base, {base} {own}")
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


_PLANS: Mapping[str, Callable[[Stated], Plan]] = {
    "unknown_domain_top_k_": of_list,
    "pay_what_you_get_": of_session_of_lists,
    "top_k_by_group_": of_groups,
    "select_partitions": of_keys,
    "partition_strategy": of_keys,
    "measure_": _of_measurement,
    "quantile": _of_points,
    "best_of": _of_runs,
    "first_above": _of_runs,
    "sparse_vector_": _of_session,
    "adaptive_sparse_vector_": _of_session,
}
"""How a name begins; all others rank by noisy scores."""
