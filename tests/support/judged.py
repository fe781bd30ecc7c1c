"""Holds what was drawn against what was charged, by the table in `entitled`.

A price is a rate times what one unit of privacy may move.  Each must be covered by the part that
was charged for it, which must not be more than a thousandth too large; and what was charged in all
must cover the worst path that the table allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import entitled
from observer import Draw, Seen

WIDER = Fraction(1001, 1000)
"""How much more may be charged than was drawn."""

_ENCLOSED = 1 + Fraction(1, 1 << 80)
"""Rates are observed as enclosures."""


@dataclass
class Observation:
    """One call: what was asked for, drawn, charged and returned.

    Args:
        charges: mechanism, guarantee and parts of each release that a scope was asked to prepare.
        recorded: the guarantees in the records of the ledger, and the amounts taken.
        answers: of a session: what each query returned.
        refused: the error, where there was one.
    """

    name: str
    args: Mapping[str, Any]
    neighbours: str
    seen: Seen = field(default_factory=Seen)
    charges: list[tuple[str, Any, tuple[tuple[Any, int], ...]]] = field(default_factory=list)
    recorded: list[tuple[Mapping[str, Any], Mapping[str, str]]] = field(default_factory=list)
    result: Any = None
    answers: list[Any] = field(default_factory=list)
    refused: Exception | None = None


def _is(condition: object, *said: object) -> None:
    if not condition:
        raise AssertionError("; ".join(map(str, said)))


def _covered(drawn: Fraction, stated: Fraction, low: Fraction, what: str) -> None:
    _is(
        drawn <= stated * _ENCLOSED,
        f"{what}: {float(drawn)} is drawn and {float(stated)} is charged",
    )
    _is(stated <= WIDER * low, f"{what}: {float(low)} is drawn, and {float(stated)} is charged")


def _kind(guarantee: Any) -> str:
    return type(guarantee).__name__


# ------------------------------------------------------------------------ what is charged


def judge(found: Observation) -> None:
    """Raise an AssertionError for whatever is drawn and not charged, or charged and not drawn."""
    if found.refused is not None:
        _is(not found.seen.draws, f"{found.name} draws, and refuses")
        _is(not found.charges, f"{found.name} charges, and refuses")
        return
    replaced = found.neighbours == "replace_one"
    _is(not (replaced and found.name in _ONE_WAY), f"{found.name} has no proof for replaced units")
    if replaced and found.args.get("monotonic"):  # who leaves and who comes move both ways
        found = replace(found, args={**found.args, "monotonic": False})
    _is(found.seen.draws, f"{found.name} draws nothing that is observed")
    _is(not found.seen.elsewhere - _NO_NOISE, f"unobserved draws: {found.seen.elsewhere}")
    _is(found.charges, f"{found.name} charges nothing")
    for mechanism, guarantee, _ in found.charges:
        _is(mechanism.count("/") == 1, mechanism)
        _is(any(_same(guarantee, record) for record, _ in found.recorded), "another is recorded")
    stated = getattr(found.result, "guarantee", None)
    _is(stated is None or stated == found.charges[0][1], f"{found.name} states another guarantee")
    for (record, taken), (_, _, parts) in zip(found.recorded, found.charges, strict=True):
        for part in ("epsilon", "delta"):
            # What has no pure epsilon closes that way; tests of prices judge its moments.
            is_closed = part == "epsilon" and Fraction(taken.get("not_pure", 0)) > 0
            if part in record and part in taken and not is_closed:
                _is(Fraction(taken[part]) >= Fraction(record[part]), f"{part} is not taken in full")
        if "rho" in taken and all(hasattr(part, "pure") for part, _ in parts):
            due = sum(
                times * entitled.concentrated(_kind(part), float(part.epsilon))
                for part, times in parts
                if hasattr(part, "epsilon")
            )
            _is(float(Fraction(taken["rho"])) >= due * (1 - entitled.SLACK), "rho is not taken")
    _JUDGES.get(found.name, _ranked)(found)


_ONE_WAY = {
    *("unknown_domain_top_k", "PayWhatYouGet", "top_items", "top_items_by_group"),
    *("select_partitions", "partition_strategy", "select_keys"),
}
"""Theorems 7, 8, 9 and 19.1 are about units that are added or removed."""

_NO_NOISE = {
    "ledger.scope.Scope.begin",
    "mechanisms.keys.partition_strategy",
    "mechanisms.runs._Call._released",
}
"""What is no noise: salts of commitments, the seed of keyed decisions, a request for no bits."""


def _same(guarantee: Any, record: Mapping[str, Any]) -> bool:
    if record["type"] != _kind(guarantee):
        return False
    names = [name for name in ("epsilon", "delta", "rho", "mu_squared") if name in record]
    return all(Fraction(record[name]) == getattr(guarantee, name) for name in names)


def _total(args: Mapping[str, Any], guarantee: Any, family: str, each: Fraction, paid: int) -> None:
    """Whether `paid` draws of `each` cost what the call says and may cost, and not much less."""
    epsilon, delta, rho = (
        None if args.get(name) is None else Fraction(args[name])
        for name in ("epsilon", "delta", "rho")
    )
    if rho is not None:
        spent = paid * entitled.concentrated(family, float(each))
        _is(spent <= float(rho) * (1 + entitled.SLACK), f"rho: {spent} is drawn, {rho} charged")
        _is(float(rho) <= spent * float(WIDER), f"rho: {spent} is drawn, {rho} is charged")
        if _kind(guarantee) == "ZeroConcentratedDP":
            _is(guarantee.rho == rho, "another rho is charged")
        else:
            _is(paid == 1 and _kind(guarantee) == family, "one draw is charged for several")
            _is(each <= guarantee.epsilon <= WIDER * each, "another draw is charged")
        return
    if epsilon is None:  # a base alone, as exact as it is given
        _is(each <= guarantee.epsilon <= WIDER * each, "another base is charged")
        return
    _is(guarantee.epsilon == epsilon, f"epsilon: {epsilon} is allowed, {guarantee} charged")
    if delta is None:
        _is(_kind(guarantee) == (family if paid == 1 else "LaplaceDominated"), guarantee)
        _covered(paid * each, epsilon, paid * each, "all draws")
        return
    _is(guarantee.delta == delta, f"delta: {delta} is allowed, {guarantee} charged")
    _composed(family, paid, each, epsilon, delta)


def _composed(family: str, paid: int, each: Fraction, epsilon: Fraction, delta: Fraction) -> None:
    if not delta:
        _covered(paid * each, epsilon, paid * each, "all draws")
        return
    given = family, paid, float(each)
    least = entitled.composed_at_least(*given, float(epsilon))
    _is(
        least <= float(delta) * (1 + entitled.SLACK), f"delta: {least} is possible, {delta} charged"
    )
    wider = family, paid, float(each * WIDER)
    most = entitled.composed_at_most(*wider, float(delta))
    _is(most >= float(epsilon), f"epsilon: {most} is drawn at most, {epsilon} charged")


def _parts(found: Observation) -> list[tuple[Any, int]]:
    return list(found.charges[0][2])


def _draws(found: Observation, law: str) -> list[Draw]:
    draws = found.seen.draws
    _is(all(draw.law == law for draw in draws), f"{law} is due: {[draw.law for draw in draws]}")
    return draws


# ------------------------------------------------------------------------ rankings


def _numbers(scores: Any) -> list[list[Any]]:
    if isinstance(scores, Mapping):
        return [list(scores.values())]
    rows = scores.tolist() if hasattr(scores, "tolist") else list(scores)
    rows = rows if isinstance(rows[0], (list, tuple)) else [rows]
    return [[Fraction(each) for each in row] for row in rows]


def _read_as(draw: Draw, rows: Iterable[list[Any]], args: Mapping[str, Any]) -> None:
    """Whether the engine was given these scores, in steps, up to what all of a row share."""
    sign = -1 if args.get("minimize") else 1
    for row, steps in zip(rows, draw.scores, strict=True):
        due = [sign * entitled.rounded(each, args) for each in row]
        due = [each for each, copies in zip(due, _copies(args, due), strict=True) for _ in copies]
        moved = [(each - steps[0] + 2**63) % 2**64 - 2**63 for each in steps]
        _is(moved == [each - due[0] for each in due], f"scores {due} are drawn from as {steps}")


def _copies(args: Mapping[str, Any], row: list[int]) -> list[range]:
    """How often a candidate takes part: weights of the exponential mechanism remove at most."""
    weights = args.get("weights")
    if weights is None:
        return [range(1)] * len(row)
    given = [Fraction(w) for w in (weights.values() if isinstance(weights, Mapping) else weights)]
    return [range(int(w) if args["copied"] else int(w > 0)) for w in given]


def _ranked(found: Observation) -> None:
    args = dict(found.args)
    row = entitled.ranked(found.name, args)
    if row is None:
        _laplace_set(found)
        return
    scores = _numbers(args["scores"])
    args["copied"] = row.law == "exponential" and args.get("weights") is not None
    if found.name == "top_k_above":
        scores = [[*scores[0], Fraction(args["threshold"])]]
    k, rows = args.get("k") or 1, len(scores)
    draws = _draws(found, row.law)
    done = sum(draw.rows for draw in draws)
    _is(done == rows * (k if row.anew else 1), f"{done} rankings of {rows} rows and {k} places")
    _is(all(draw.k == (1 if row.anew else k) for draw in draws), f"places: {draws}")
    _is(all((draw.gaps is None) is not row.gaps for draw in draws), f"gaps: {draws}")
    if row.gaps:
        step = Fraction(args.get("grid") or 1)
        unit = Fraction(args.get("gap_grid") or step) / step
        _is(all(draw.gaps == unit for draw in draws), f"gaps in {unit} steps are due: {draws}")
    if draws[0].rows == rows:
        _read_as(draws[0], scores, args)
    else:
        for each, draw in zip(scores, draws[:: k if row.anew else 1], strict=True):
            _read_as(draw, [each], args)
    if args.get("weights") is not None and not args["copied"]:
        given = args["weights"]
        given = given.values() if isinstance(given, Mapping) else given
        due = [Fraction(w) for w in given if Fraction(w)]
        for draw in draws:
            had = draw.weights or ()
            _is([w / had[0] for w in had] == [w / due[0] for w in due], f"weights: {had}")
    steps = entitled.range_in_steps(args)
    least = found.args.get("moved", 0)  # what one unit does move, by what the counts say
    ((part, times),) = _parts(found)
    _is(_kind(part) == row.family, f"{row.family} is due: {part}")
    for draw in draws:
        price = row.price(draw.high, max(steps, least), k)
        _covered(price, part.epsilon, row.price(draw.low, steps, k), "a draw")
        _coarse(draw)
    paid = row.paid(k) * (args.get("max_rows") or rows)
    _is(times == paid, f"{paid} draws are due, {times} are charged")
    each = max(row.price(draw.high, steps, k) for draw in draws)
    _total(args, found.charges[0][1], row.family, each, paid)


def _coarse(draw: Draw) -> None:
    """The fixed-point rate with which candidates are looked at first is never larger."""
    fixed = draw.more.get("coarse")
    if fixed is not None:
        units = Fraction(fixed.factor, 1 << fixed.shift + fixed.back + 32)
        _is(units <= draw.high and draw.low <= units * (1 + Fraction(1, 2**20)), f"{units}: {draw}")


def _laplace_set(found: Observation) -> None:
    """Qiao, Su and Zhang (2021), Theorem 2.2: a rate of epsilon / (8 s sqrt(k ln(n / delta)))."""
    args = found.args
    (draw,) = _draws(found, "laplace")
    epsilon, delta = Fraction(args["epsilon"]), Fraction(args["delta"])
    (scores,) = _numbers(args["scores"])
    _read_as(draw, [scores], args)
    _is(draw.k == args["k"], f"{draw.k} places")
    half = float(entitled.range_in_steps(args)) / 2
    times = 8 * half * math.sqrt(args["k"] * math.log(len(scores) / float(delta)))
    drawn = float(draw.high) * times
    _is(drawn <= float(epsilon) * (1 + 1e-12), f"{drawn} is drawn, {epsilon} charged")
    _is(float(epsilon) <= drawn * float(WIDER), f"{drawn} is drawn, {epsilon} charged")
    guarantee = found.charges[0][1]
    _is((guarantee.epsilon, guarantee.delta) == (epsilon, delta), guarantee)


# ------------------------------------------------------------------------ unknown domain


def _unknown(found: Observation) -> None:
    args = found.args
    noise = args.get("noise")
    if noise == "laplace" or (noise is None and args.get("max_contributions") is not None):
        _counted(found, 1)
    else:
        _listed(found, 1)


def _places(args: Mapping[str, Any]) -> tuple[int, int]:
    k_bar = args["k_bar"]
    return k_bar if isinstance(k_bar, tuple) else (k_bar, k_bar)


def _steps_a_count(draw: Draw, counts: list[int], k_bar: int) -> tuple[Fraction, Fraction]:
    """Grid steps a count, and how far the bottom lies above the first count left out, in counts."""
    ((*listed, bottom),) = draw.scores
    known = sorted(counts, reverse=True)
    known += [0] * (k_bar + 1 - len(known))
    due = [each - known[k_bar] for each in known[:k_bar]]
    steps = Fraction(1)
    if due[0]:
        steps = Fraction(listed[0], due[0])
        _is(listed == [steps * each for each in due], f"{due} are drawn from as {listed}")
    return steps, Fraction(bottom) / steps


def _bottom(
    each: float, steps: Fraction, offset: Fraction, m: int, delta: float, what: str
) -> None:
    """The bottom lies 1 + ln(m (1 - delta) / delta) / each counts above, or a little higher."""
    least = 1 + math.log(m * (1 - delta) / delta) / each
    _is(float(offset) >= least * (1 - 1e-12), f"{what}: {float(offset)} counts, {least} are due")
    most = least + 2 / float(steps)
    _is(float(offset) <= most * float(WIDER), f"{what}: {float(offset)} counts, {least} are due")


def _listed(found: Observation, changed: int) -> None:
    """Theorem 7, in each of some groups; `changed` of them hold one unit."""
    args = found.args
    least, most = _places(args)
    chosen, k = least < most, args["k"]
    draws = [draw for draw in found.seen.draws if draw.law == "gumbel"]
    tables, rounds = args["tables"], 1 + chosen
    _is(len(draws) == rounds * len(tables), f"{len(draws)} draws of {len(tables)} lists")
    (part, times), *counted, (bottom, bottoms) = _parts(found)
    _is(bool(counted) is bool(args.get("with_counts")), f"{counted} is charged for counts")
    _is(times == changed * (k + chosen), f"{times} draws are charged")
    _is(_kind(part) == "BoundedRange" and bottom.epsilon == 0, f"{part}, {bottom}")
    epsilon, delta = Fraction(args["epsilon"]), Fraction(args["delta"])
    share = bottom.delta * bottoms / changed  # what the bottom of one list may cost
    k_bar = found.result.k_bar if chosen else least
    read = [
        _steps_a_count(draw, counts, k_bar)
        for counts, draw in zip(tables, draws[rounds - 1 :: rounds], strict=True)
    ]
    steps = max(each for each, _ in read)  # that of lists of equal counts cannot be seen
    for place in range(len(tables)):
        mine = draws[rounds * place : rounds * (place + 1)]
        _is(mine[-1].size == k_bar + 1 and mine[-1].k == k, f"{mine[-1]}")
        offset = Fraction(mine[-1].scores[0][-1]) / steps
        for draw in mine:
            _covered(draw.high * steps, part.epsilon, draw.low * steps, "a draw")
        m = min(k_bar, args.get("max_contributions") or k_bar)
        _bottom(float(mine[-1].low * steps), steps, offset, m, float(share), "the bottom")
    each, rest = max(draw.high for draw in draws) * steps, delta - share * changed
    _is(rest >= 0, f"the bottoms cost {share * changed} of {delta}")
    if counted:
        _counts_of_list(found, float(each), times, counted)
    else:
        _draws(found, "gumbel")
        _composed("BoundedRange", changed * (k + chosen), each, epsilon, rest)
    guarantee = found.charges[0][1]
    _is((guarantee.epsilon, guarantee.delta) == (epsilon, delta), guarantee)


def _counts_of_list(
    found: Observation, each: float, times: int, counted: list[tuple[Any, int]]
) -> None:
    """Theorem 15.1: noise for k counts, of which one unit may move all; all of it as zCDP."""
    ((own, once),) = counted
    args, noise = found.args, [draw for draw in found.seen.draws if draw.law != "gumbel"]
    k, cap = args["k"], args.get("max_contributions")
    _is(once == 1 and _kind(own) == "ZeroConcentratedDP", f"{own}")
    _is(sum(draw.size for draw in noise) == k, f"{noise} for {k} counts")
    moved = k if cap is None else min(k, cap)
    for draw in noise:
        _is(draw.law == "DiscreteGaussian", draw.law)
        cost = Fraction(moved) / (2 * draw.more["sigma_squared"])
        _covered(cost, own.rho, cost, "the counts")
    rho = times * entitled.concentrated("BoundedRange", each) + float(own.rho)
    epsilon, rest = float(Fraction(args["epsilon"])), float(Fraction(args["delta"])) / 2
    least = entitled.concentrated_delta(rho, epsilon)
    _is(least <= rest * (1 + entitled.SLACK), f"{least} is drawn, {rest} is left")
    wider = entitled.concentrated_delta(rho * float(WIDER), epsilon)
    _is(wider >= rest, f"{wider} is drawn at most, {rest} is left")


def _counted(found: Observation, changed: int) -> None:
    """Theorem 8: noise for all counts that one unit moves, and a bottom."""
    args = found.args
    epsilon, delta, cap = (
        Fraction(args[name]) for name in ("epsilon", "delta", "max_contributions")
    )
    moved = max(cap * changed, args.get("moved", 0))
    bottoms = [draw.more["offset"] for draw in found.seen.draws if draw.law == "bottom"]
    noise = [draw for draw in found.seen.draws if draw.law != "bottom"]
    _is({draw.law for draw in noise} == {"discrete laplace"}, f"{noise}")
    lists = len(args["tables"])
    _is(len(noise) == len(bottoms) == lists, f"{len(noise)} draws, {len(bottoms)} bottoms")
    (_, k_bar), guarantee = _places(args), found.charges[0][1]
    _is((guarantee.epsilon, guarantee.delta) == (epsilon, delta), guarantee)
    for draw, offset in zip(noise, bottoms, strict=True):
        _is(draw.size == k_bar + 1, f"{draw.size} noises for {k_bar} counts")
        _covered(draw.high * moved, epsilon, draw.low * cap * changed, "the counts of one unit")
        m = min(k_bar, int(cap))
        failing = [m * entitled.bottom_fails(float(draw.low), offset - 1 - far) for far in (0, 1)]
        share = float(delta / changed)
        _is(failing[0] <= share * (1 + entitled.SLACK), f"{failing[0]} fails, {share} is paid")
        _is(offset == 1 or failing[1] > share, f"the bottom is too high: {offset}")


# ------------------------------------------------------------------------ groups


def _groups(found: Observation) -> None:
    args, changed = found.args, int(found.result.provenance.number("max_groups"))
    stated = args.get("max_groups") or 1
    stated = len(args["tables"]) if stated == "all" else min(stated, len(args["tables"]))
    _is(args.get("groups_per_user") is not None or changed == stated, f"{changed} groups")
    if args.get("candidates") is not None:
        _as(found, "select_many", {"scores": args["tables"], "max_rows": changed})
    elif args.get("max_contributions") is not None:
        _counted(found, changed)
    else:
        _listed(found, changed)


# ------------------------------------------------------------------------ other tables


def _as(found: Observation, name: str, more: Mapping[str, Any]) -> None:
    """Judge it as another function's release: of counts of users, unless it says otherwise."""
    args = {"sensitivity": 1, "monotonic": True, **found.args, **more}
    _ranked(replace(found, name=name, args=args))


def _items(found: Observation) -> None:
    args = found.args
    if args.get("candidates") is not None or args.get("candidates_are_public"):
        _as(found, "top_k", {"scores": args["tables"][0]})
        return
    args = {**args, "k_bar": args.get("k_bar") or 10 * args["k"]}
    _unknown(replace(found, args=args))


def _cap(found: Observation) -> None:
    """Scores -|t users(D) - s users| - c D, of a table in which each user has one item."""
    share = Fraction(found.args.get("share") or "0.95")
    s, t = share.numerator, share.denominator
    moved = t if found.neighbours == "replace_one" else max(s, t - s)
    dear = math.ceil(16 * moved / Fraction(found.args["epsilon"]))
    users = found.args["people"]
    scores = [-(t - s) * users - dear * cap for cap in range(1, found.args["most"] + 1)]
    given = {"scores": scores, "sensitivity": moved, "monotonic": False}
    _as(found, "permute_and_flip", given)


# ------------------------------------------------------------------------ sessions


def _sparse(found: Observation) -> None:
    """Theorem 12.1: the move of the threshold, and one of the noise behind each answer above."""
    args = found.args
    up, back = entitled.moves(args)
    noise = args.get("noise") or "exponential"
    if noise == "geometric":
        up, back = Fraction(math.ceil(up)), Fraction(math.ceil(back))
    threshold, *values = _draws(found, noise)
    branches = 2 if found.name == "AdaptiveSparseVector" else 1
    _is(len(values) == branches * len(found.answers), f"{len(values)} noises")
    path = low = Fraction(0)
    for place, answer in enumerate(found.answers):
        both = values[branches * place : branches * (place + 1)]
        if answer.above:
            draw = both[1] if answer.branch == "middle" else both[0]
            path, low = path + draw.high * (up + back), low + draw.low * (up + back)
    epsilon, spent = Fraction(args["epsilon"]), sum(answer.cost for answer in found.answers)
    _covered(path, spent, low, "the answers above")
    share = args.get("split")
    if share is not None:
        _is(
            abs(threshold.high * up - epsilon * Fraction(share)) < Fraction(1, 10**9),
            f"the threshold costs {float(threshold.high * up)}",
        )
    guarantee, left = found.charges[0][1], found.result.budget if branches == 2 else 0
    drawn, least = path + threshold.high * up, low + threshold.low * up + left
    _covered(drawn, guarantee.epsilon, least, "a session")
    _is(guarantee.epsilon == epsilon, f"{epsilon} is allowed, {guarantee} charged")
    _is(_kind(guarantee) == ("PureDP" if noise == "geometric" else "LaplaceDominated"), guarantee)


def _pay(found: Observation) -> None:
    """Theorem 9: as many draws as outcomes, and a bottom for each query."""
    args = found.args
    draws, (part, bottom) = _draws(found, "gumbel"), _parts(found)
    _is(part[1] == args["outcomes"] and _kind(part[0]) == "BoundedRange", f"{part}")
    made, share = 0, float(bottom[0].delta * bottom[1] / args["queries"])
    for draw, answer in zip(draws, found.answers, strict=True):
        made += min(len(answer.labels) + 1, args["k"])
        steps, offset = _steps_a_count(draw, args["tables"][0], draw.size - 1)
        _is(draw.k == args["k"], f"{draw.k} places")
        _covered(draw.high * steps, part[0].epsilon, draw.low * steps, "a draw")
        _bottom(float(draw.low * steps), steps, offset, draw.size - 1, share, "the bottom")
    _is(made <= args["outcomes"], f"{made} draws, {args['outcomes']} are charged")
    _is(len(draws) <= args["queries"], f"{len(draws)} queries")
    epsilon, delta = Fraction(args["epsilon"]), Fraction(args["delta"])
    _composed(
        "BoundedRange",
        args["outcomes"],
        part[0].epsilon,
        epsilon,
        delta - bottom[0].delta * bottom[1],
    )
    guarantee = found.charges[0][1]
    _is((guarantee.epsilon, guarantee.delta) == (epsilon, delta), guarantee)


# ------------------------------------------------------------------------ keys


def _weighted_keys(found: Observation) -> None:
    """Theorem 19.4: half of delta hides the keys of one user alone, the rest is that of zCDP."""
    epsilon, delta = float(Fraction(found.args["epsilon"])), Fraction(found.args["delta"])
    (shared, _), (lone, _) = _parts(found)
    stated = dict(found.result.provenance.parameters)
    squared, threshold = int(stated["sensitivity_l2_squared"]), int(stated["threshold"])
    for draw in _draws(found, "DiscreteGaussian"):
        variance = draw.more["sigma_squared"]
        _covered(squared / (2 * variance), shared.rho, squared / (2 * variance), "the weights")
        passes = 0.0
        for keys in range(1, found.args["max_partitions"] + 1):
            above = threshold - math.isqrt(squared // keys) - 0.5
            alone = math.erfc(above / math.sqrt(2 * variance)) / 2
            passes = max(passes, -math.expm1(keys * math.log1p(-alone)))
        _is(math.isclose(passes, lone.delta, rel_tol=1e-4), f"{passes} is drawn, {lone} charged")
    _is(delta / WIDER <= 2 * lone.delta <= delta, f"{lone} of {delta}")
    whole = entitled.concentrated_delta(float(shared.rho), epsilon)
    _is(whole <= float(delta) / 2 * (1 + entitled.SLACK), f"{whole} is drawn, {delta} charged")


def _keys(found: Observation) -> None:
    """Theorems 19.1 and 19.2 for each key, and the composition of those of one user."""
    args = found.args
    if args.get("noise") == "gaussian":
        _weighted_keys(found)
        return
    most = args.get("max_partitions") or 1
    moved = max(most, args.get("moved", 0))
    epsilon, delta = Fraction(args["epsilon"]), Fraction(args["delta"])
    ((part, times),) = _parts(found)
    _is(times == most, f"{times} decisions are charged, {most} are due")
    guarantee = found.charges[0][1]
    _is((guarantee.epsilon, guarantee.delta) == (epsilon, delta), guarantee)
    for draw in found.seen.draws:
        _is(draw.law in ("thresholds", "keyed thresholds"), draw.law)
        table = draw.more["table"]
        one = 1 << table.bits
        chances = [Fraction(row, one) for row in table.rows]
        _decisions(chances, part, bool(args.get("with_counts")))
    _is(moved == most, f"one unit moves {moved} counts")
    each, share = float(part.epsilon), float(part.delta)
    kept = -math.expm1(most * math.log1p(-share))
    if most * part.epsilon <= epsilon:
        _is(kept <= float(delta) * (1 + entitled.SLACK), f"{kept} is drawn, {delta} charged")
        _is(float(delta) <= kept * float(WIDER), f"{kept} is drawn, {delta} charged")
        _is(epsilon <= WIDER * most * part.epsilon, "epsilon is not used")
        first = _crossing(each, share)
    else:
        pure = entitled.optimum_of_pure(most, each, float(epsilon))
        whole = 1 - (1 - pure) * (1 - kept)
        _is(whole <= float(delta) * (1 + entitled.SLACK), f"{whole} is drawn, {delta} charged")
        wider = entitled.optimum_of_pure(most, each * 1.001, float(epsilon))
        _is(1 - (1 - wider) * (1 - kept * 1.001) >= float(delta), "delta is not used")
        first = _crossing(float(epsilon) / most, -math.expm1(math.log1p(-float(delta)) / most))
    # Whichever split keeps a key with fewer users is due, however few keys there are.
    second = _half(most, float(epsilon), float(delta)) if most > 1 else first
    mine = _crossing(each, share)
    _is(mine <= min(first, second) * 1.001, f"{mine} users are needed, {min(first, second)} due")


def _crossing(epsilon: float, delta: float) -> float:
    """With about so many users a key is kept half of the time."""
    grown = math.exp(epsilon)
    return math.log((grown + 2 * delta - 1) / (delta * (grown + 1))) / epsilon


def _half(most: int, epsilon: float, delta: float) -> float:
    """The same for half of delta each for pure guarantees and for the decisions."""
    low, high = epsilon / most, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        fits = entitled.optimum_of_pure(most, middle, epsilon) <= delta / 2
        low, high = (middle, high) if fits else (low, middle)
    left = 1 - (1 - delta) / (1 - delta / 2)
    return _crossing(low, -math.expm1(math.log1p(-left) / most))


def _decisions(chances: list[Fraction], part: Any, with_counts: bool) -> None:
    """The inequalities of section 19, between rationals, e**epsilon to a hundred digits."""
    grown, delta = entitled.grown(part.epsilon), part.delta
    _is(chances[0] == 0 and chances[-1] == 1, "a table does not run from 0 to 1")
    up = down = Fraction(0)
    steps = [after - before for before, after in pairwise(chances)]
    for before, after in pairwise(chances):
        _is(before <= after <= grown * before + delta, "a key is kept too soon")
        _is(1 - before <= grown * (1 - after) + delta, "a key is kept too surely")
    if with_counts:
        up = steps[0] + sum(max(n - grown * s, 0) for s, n in pairwise(steps))
        down = sum(max(s - grown * n, 0) for s, n in zip(steps, [*steps[1:], 0], strict=True))
        _is(max(up, down) <= delta, "a count tells more than its decision")
    _is(chances[1] * WIDER >= part.delta, "a key of one user is kept too seldom")


# ------------------------------------------------------------------------ numbers, quantiles, runs


def _measured(found: Observation) -> None:
    args, draws = found.args, found.seen.draws
    guarantee, values = found.charges[0][1], sum(draw.size for draw in draws)
    _is(values == len(_numbers(args["values"])[0]), f"{values} noises")
    norm = args.get("sensitivity_l1") or args.get("sensitivity_l2_squared")
    norm = Fraction(norm)
    moved = max(norm, args.get("moved", 0))  # of counts that move by 1 each
    for draw in draws:
        if args.get("epsilon") is not None:
            _is(draw.law == "discrete laplace" and _kind(guarantee) == "PureDP", draw.law)
            _covered(draw.high * moved, guarantee.epsilon, draw.low * norm, "the values")
            continue
        squared = draw.more["sigma_squared"]
        if args.get("rho") is not None:
            _is(draw.law == "DiscreteGaussian", draw.law)
            _is(_kind(guarantee) == "ZeroConcentratedDP", guarantee)
            _covered(moved / (2 * squared), guarantee.rho, norm / (2 * squared), "the values")
        else:
            _is(draw.law == "RoundedGaussian" and _kind(guarantee) == "GaussianDP", draw.law)
            _covered(moved / squared, guarantee.mu_squared, norm / squared, "the values")
    name = next(n for n in ("epsilon", "rho", "mu") if args.get(n) is not None)
    due = Fraction(args[name]) ** (2 if name == "mu" else 1)
    _is(getattr(guarantee, "mu_squared" if name == "mu" else name) == due, guarantee)


def _quantiles(found: Observation) -> None:
    """Section 18: each draw pays for its own target among what its part holds."""
    args = found.args
    asked = args.get("quantiles") or [args["quantile"]]
    targets = sorted(map(Fraction, asked))
    several = len(targets) > 1
    replaced = (args.get("neighbours") or "add_remove") == "replace_one"
    ties = args.get("ties") or "interval"
    fine = 16 if several and ties == "interval" else 1
    levels, draws = len(targets).bit_length(), _draws(found, "point")
    _is(len(draws) == len(targets), f"{len(draws)} points")
    ((part, times),) = _parts(found)
    _is(times == levels and _kind(part) == "BoundedRange", f"{times} levels of {part}")
    cap, due = args.get("max_contributions") or 1, _tree(targets)
    for draw, target in zip(draws, due, strict=True):
        said = draw.more
        _is((said["quantile"], said["ties"], said["fine"]) == (target, ties, fine), said)
        twice = 2 if several and replaced else 1  # what leaves one part and enters another
        steps = cap * entitled.quantile_range(target, replaced and not several) * fine * twice
        _covered(draw.high * steps, part.epsilon, draw.low * steps, "a point")
    _total(args, found.charges[0][1], "BoundedRange", part.epsilon, levels)


def _tree(targets: list[Fraction]) -> list[Fraction]:
    """The targets in the order of their draws, each relative to its part."""
    if not targets:
        return []
    place = (len(targets) - 1) // 2
    middle = targets[place]
    below = [each / middle for each in targets[:place]]
    above = [(each - middle) / (1 - middle) for each in targets[place + 1 :]]
    return [middle, *_tree(below), *_tree(above)]


def _runs(found: Observation) -> None:
    """Theorem 10 and its kin: the law of the number of runs, and what they cost together."""
    args, stop = found.args, found.seen.draws[0]
    guarantee, base = found.charges[-1][1], Fraction(args["base"].epsilon)
    for draw in found.seen.draws[1:]:  # of the runs: permute-and-flip with a sensitivity of 1
        _is(draw.law == "exponential", draw.law)
        _covered(draw.high * 2, base, draw.low * 2, "a run")
    if args.get("mean") is not None:
        mean = Fraction(args["mean"])
        _is((stop.law, stop.more) == ("Poisson", {"mean": mean}), f"{stop}")
        _is((guarantee.base, guarantee.mean) == (args["base"], mean), guarantee)
        worst = float(base) + float(mean) * math.expm1(float(base)) / (math.exp(float(base)) + 1)
        _is(float(guarantee.pure.epsilon) >= worst * (1 - 1e-12), guarantee.pure)
        return
    eta = Fraction(1) if args.get("eta") is None else Fraction(args["eta"])
    gamma = Fraction(args["gamma"])
    _is((stop.law, stop.more) == ("NegativeBinomial", {"eta": eta, "gamma": gamma}), f"{stop}")
    if found.name == "first_above":
        _is(_kind(guarantee) == "PureDP", guarantee)
        _covered(2 * base, guarantee.epsilon, 2 * base, "all runs")
        return
    _is((guarantee.base, guarantee.eta, guarantee.gamma) == (args["base"], eta, gamma), guarantee)
    _covered((2 + eta) * base, guarantee.pure.epsilon, (2 + eta) * base, "all runs")


_JUDGES = {
    "unknown_domain_top_k": _unknown,
    "top_items_by_group": _groups,
    "top_items": _items,
    "choose_cap": _cap,
    "select_keys": _keys,
    "table_quantiles": _quantiles,
    "SparseVector": _sparse,
    "AdaptiveSparseVector": _sparse,
    "PayWhatYouGet": _pay,
    "select_partitions": _keys,
    "partition_strategy": _keys,
    "measure": _measured,
    "quantile": _quantiles,
    "quantiles": _quantiles,
    "best_of": _runs,
    "first_above": _runs,
}
