"""The k best candidates, by five mechanisms."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Literal, get_args

from safeselect.accounting.calibration import Family
from safeselect.errors import ParameterError
from safeselect.exact import Interval, describe, rounded_down
from safeselect.exact.decay import Decay
from safeselect.noise import Ranking
from safeselect.noise.arrays import Steps
from safeselect.promises import ApproximateDP, BoundedRange, LaplaceDominated
from safeselect.randomness._bits import Bits
from safeselect.scores.candidates import plain
from safeselect.selection._account import Scope
from safeselect.selection._call import Call, Total
from safeselect.selection._engines import Engine
from safeselect.selection._results import TopK, TopSet
from safeselect.selection.exponential import dyadic_decay

__all__ = ["MECHANISMS", "Mechanism", "calibrated", "laplace_rate", "rank_top", "top_k"]

Mechanism = Literal[
    "exponential", "exponential_base2", "permute_and_flip", "laplace", "one_shot_exponential"
]
MECHANISMS: tuple[str, ...] = get_args(Mechanism)


def top_k(
    scores: object,
    *,
    k: int,
    epsilon: object = None,
    delta: object = None,
    rho: object = None,
    sensitivity: object = None,
    range_: object = None,
    monotonic: bool = False,
    mechanism: Mechanism | None = None,
    minimize: bool = False,
    grid: object = None,
    on_grid: bool = False,
    score_error: object = None,
    labels: object = None,
    source: object = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> TopK | TopSet:
    """Choose k candidates with large scores, best first.

    Here "exponential" names the *mechanism* (one-shot Gumbel noise); exponential *noise* is
    "one_shot_exponential".

    - "one_shot_exponential": exponential noise of scale k R / epsilon, drawn once; the whole call
      is one LaplaceDominated(epsilon).
    - "exponential": k exponential mechanisms, each on the candidates that remain, which is the same
      as one draw of Gumbel noise; each is BoundedRange.
    - "exponential_base2": the same with rational weights.
    - "permute_and_flip": k permute-and-flips, each on the candidates that remain; each is
      LaplaceDominated.
    - "laplace": Laplace noise, drawn once; an unordered set; with `delta` only.

    R is `range_`, or `sensitivity` if monotonic, or twice the `sensitivity`.

    Guarantee: with `epsilon` alone LaplaceDominated(epsilon) (BoundedRange for one draw of the
        exponential mechanism); with `delta` ApproximateDP(epsilon, delta); with `rho`
        ZeroConcentratedDP(rho).  `parts` holds the guarantees of the draws, for `compose`.
    Neighbours: as for `permute_and_flip`.
    Method: all candidates are looked at coarsely, k times for "permute_and_flip", once for the
        others, and then up to 1.5 k of them exactly, with some 600 bytes and 10 us or more each:
        for k close to n = 10**6 half a gigabyte.
    Source: Durfee and Rogers (2019) for one-shot Gumbel noise; Ding et al. (2023) for one-shot
        exponential noise; Qiao, Su and Zhang (2021), Theorem 2.2, for "laplace".

    Args:
        k: how many, from 1 to the number of candidates.
        epsilon: total cost of this call; positive rational.
        delta: with epsilon: an (epsilon, delta) total, which allows less noise.
        rho: total cost of this call in zCDP, instead of epsilon.
        mechanism: see above; by default "one_shot_exponential" for epsilon alone, "exponential"
            where delta or rho is given.
        scores, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error, labels,
            source, ledger, engine: as for `permute_and_flip`.

    Returns:
        TopK; TopSet for "laplace", whose order is not private.

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `permute_and_flip`.
    """
    if mechanism is not None and not (isinstance(mechanism, str) and mechanism in MECHANISMS):
        raise ParameterError(
            f"mechanism must be one of {', '.join(MECHANISMS)}; got {describe(mechanism)}"
        )
    total = Total.read(epsilon=epsilon, rho=rho, delta=delta)
    name = mechanism or ("one_shot_exponential" if total.is_pure else "exponential")
    call = Call(
        scores,
        sensitivity=sensitivity,
        range_=range_,
        monotonic=monotonic,
        minimize=minimize,
        grid=grid,
        on_grid=on_grid,
        score_error=score_error,
        labels=labels,
        source=source,
        ledger=ledger,
        engine=engine,
    )
    count = call.read_k(k)
    if name == "laplace":
        return _laplace_set(call, count, total)
    family, draws, each = calibrated(name, count, total)
    if name == "exponential_base2":
        decay = dyadic_decay(each / call.range_in_steps)
    else:
        decay = call.decay(each * draws / count)
    # Before the first bit: what is promised may be refused, for its size.
    guarantee, part = total.promise(family, each, draws), family(each)
    mechanism_name = f"top_k_{name}/1"
    with call.release(guarantee, mechanism_name, parts=((part, draws),), k=count):
        ranking = rank_top(name, call.engine, call.steps, count, decay, call.bits)
        return call.released(
            TopK(
                labels=tuple(call.label(index) for index in ranking.indices),
                indices=call.positions(ranking.indices),
                guarantee=guarantee,
                parts=(part,) * draws,
                mechanism=mechanism_name,
                source=call.source_name,
                base=decay.base,
            )
        )


def calibrated(name: str, k: int, total: Total) -> tuple[Family, int, Fraction]:
    """What each draw of the mechanism of this name promises, how many there are, its epsilon."""
    # One shot of exponential noise is a single draw, at k times the scale.
    draws = 1 if name == "one_shot_exponential" else k
    family: Family = BoundedRange if name.startswith("exponential") else LaplaceDominated
    return family, draws, total.per_draw(family, draws)


def rank_top(name: str, engine: Engine, steps: Steps, k: int, decay: Decay, bits: Bits) -> Ranking:
    """Rank by the mechanism of this name."""
    if name == "one_shot_exponential":
        return engine.exponential_top(steps, k, decay, bits)
    if name == "permute_and_flip":
        return engine.exponential_peeled(steps, k, decay, bits)
    return engine.gumbel_top(steps, k, decay, bits)


def _laplace_set(call: Call, k: int, total: Total) -> TopSet:
    """The unordered mechanism of Qiao, Su and Zhang (2021), Theorem 2.2."""
    guarantee = laplace_promise(total)
    decay = Decay(laplace_rate(total, call.size, k, call.range_in_steps))
    with call.release(guarantee, "top_k_laplace/1", k=k):
        ranking = call.engine.laplace_top(call.steps, k, decay, call.bits)
        # In an order that is not that of the noise: which of two elements a set names first may
        # tell which of them was put in first.
        chosen = tuple(sorted(ranking.indices))
        places = call.positions(chosen)
        return call.released(
            TopSet(
                labels=_unordered(call, chosen),
                indices=None if places is None else frozenset(places),
                guarantee=guarantee,
                parts=(guarantee,),
                mechanism="top_k_laplace/1",
                source=call.source_name,
            )
        )


def _unordered(call: Call, chosen: tuple[int, ...]) -> frozenset[object] | tuple[object, ...]:
    """Their labels; a tuple where not all candidates have labels that can be hashed."""
    labels = sorted(map(call.label, chosen), key=lambda label: (plain(label), type(label).__name__))
    with suppress(Exception):  # whatever a label's class raises
        hash(call.candidates.labels)
        return frozenset(labels)
    return tuple(labels)


def laplace_promise(total: Total) -> ApproximateDP:
    """The total, where the unordered mechanism is proved to keep it."""
    if total.epsilon is None or total.delta is None:
        raise ParameterError("mechanism='laplace' needs epsilon and delta")
    if total.epsilon > Fraction(1, 5) or total.delta > Fraction(1, 20):
        raise ParameterError("mechanism='laplace' is proved for epsilon <= 0.2 and delta <= 0.05")
    return ApproximateDP(total.epsilon, total.delta)


def laplace_rate(total: Total, size: int, k: int, range_: Fraction) -> Fraction:
    """The rate epsilon / (8 s sqrt(k ln(n / delta))) of the unordered mechanism, rounded down.

    Every score changes by at most s; by shift invariance s = R / 2 will do.
    """
    promise = laplace_promise(total)
    if size < 2:
        raise ParameterError("mechanism='laplace' needs at least two candidates")
    inside, across = size / promise.delta, promise.epsilon / (4 * range_)

    def rate(precision: int) -> Interval:
        root = (Interval.of(k, precision) * Interval.of(inside, precision).log()).sqrt()
        return Interval.of(across, precision) / root

    return rounded_down(rate)
