"""safeselect's side: whole public calls, validation, ledger-free, with the default source."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import safeselect
from measure import Call, Unavailable
from safeselect.mechanisms import prepared
from work import Work, make_scores, make_weights

__all__ = ["OURS"]


def permute_and_flip(work: Work) -> Call:
    """One permute-and-flip."""
    return _one("permute_and_flip", work)


def exponential(work: Work) -> Call:
    """One exponential mechanism."""
    return _one("exponential_mechanism", work)


def exponential_base2(work: Work) -> Call:
    """One exponential mechanism with rational weights."""
    return _one("exponential_mechanism_base2", work)


def permute_and_flip_with_gap(work: Work) -> Call:
    """One permute-and-flip with its gap."""
    return _one("permute_and_flip_with_gap", work)


def exponential_with_gap(work: Work) -> Call:
    """One exponential mechanism with its gap."""
    return _one("exponential_mechanism_with_gap", work)


def laplace(work: Work) -> Call:
    """One noisy maximum with Laplace noise."""
    return _one("report_noisy_max", work, noise="laplace")


def laplace_with_gap(work: Work) -> Call:
    """The same with its gap."""
    return _one("report_noisy_max_with_gap", work, noise="laplace")


def float_column(work: Work, fineness: int) -> Call:
    """One permute-and-flip of scores that a program computed in floats, read on a grid."""
    run, grid = _public("permute_and_flip"), Fraction(1, fineness)
    scores = make_scores(work.scores, work.n) + np.random.default_rng(3).random(work.n)
    return lambda: run(scores, epsilon=work.rate, sensitivity=1, monotonic=True, grid=grid)


def list_of_integers(work: Work) -> Call:
    """One permute-and-flip of a list of Python integers."""
    run, scores = _public("permute_and_flip"), make_scores(work.scores, work.n).tolist()
    return lambda: run(scores, epsilon=work.rate, sensitivity=1, monotonic=True)


def _one(name: str, work: Work, **more: Any) -> Call:
    run, scores, rate = _public(name), make_scores(work.scores, work.n), work.rate
    return lambda: run(scores, epsilon=rate, sensitivity=1, monotonic=True, **more)


def prepared_permute_and_flip(work: Work) -> Call:
    """One call of a prepared permute-and-flip."""
    return _prepared("PermuteAndFlip", work)


def prepared_exponential(work: Work) -> Call:
    """One call of a prepared exponential mechanism."""
    return _prepared("ExponentialMechanism", work)


def _prepared(name: str, work: Work) -> Call:
    choose = getattr(prepared, name)(epsilon=work.rate, sensitivity=1, monotonic=True)
    scores = make_scores(work.scores, work.n)
    return lambda: choose(scores)


def exponential_rho(work: Work) -> Call:
    """One exponential mechanism of a rho that is repeated."""
    run, scores, rho = _public("exponential_mechanism"), make_scores(work.scores, work.n), work.rate
    return lambda: run(scores, rho=rho, sensitivity=1, monotonic=True)


def exponential_fresh_rho(work: Work) -> Call:
    """The same with a rho that was never used before, in every call."""
    run, scores = _public("exponential_mechanism"), make_scores(work.scores, work.n)
    fresh = (work.rate + Fraction(i, 10**12) for i in itertools.count(1))
    return lambda: run(scores, rho=next(fresh), sensitivity=1, monotonic=True)


def permute_and_flip_cold(work: Work) -> Call:
    """The same with a rate that was never used before, in every call."""
    return _cold(_public("permute_and_flip"), work)


def exponential_cold(work: Work) -> Call:
    """The same with a rate that was never used before, in every call."""
    return _cold(_public("exponential_mechanism"), work)


def _cold(run: Callable[..., object], work: Work) -> Call:
    scores = make_scores(work.scores, work.n)
    fresh = (work.rate + Fraction(i, 10**12) for i in itertools.count(1))
    return lambda: run(scores, epsilon=next(fresh), sensitivity=1, monotonic=True)


def top(work: Work) -> Call:
    """One-shot Gumbel top-k."""
    return _top("exponential", work)


def top_one_shot_exponential(work: Work) -> Call:
    """One-shot top-k with exponential noise."""
    return _top("one_shot_exponential", work)


def top_peeled(work: Work) -> Call:
    """Permute-and-flip k times."""
    return _top("permute_and_flip", work)


def top_with_gaps(work: Work) -> Call:
    """One-shot top-k with exponential noise, and its gaps."""
    return _one("top_k_with_gaps", replace(work, rate=work.rate * work.k), k=work.k)


def _top(mechanism: str, work: Work) -> Call:
    run, scores, k = _public("top_k"), make_scores(work.scores, work.n), work.k
    total = work.rate * k  # so that the noise has the rate of the others
    return lambda: run(
        scores, k=k, epsilon=total, sensitivity=1, monotonic=True, mechanism=mechanism
    )


def many_permute_and_flip(work: Work) -> Call:
    """A batch of permute-and-flips."""
    return _many("select_many", ("permute_and_flip",), work, {})


def many_exponential(work: Work) -> Call:
    """A batch of exponential mechanisms."""
    return _many("select_many", ("exponential", "exponential_mechanism"), work, {})


def many_top(work: Work) -> Call:
    """A batch of one-shot top-k."""
    return _many("top_k_many", ("exponential",), work, {"k": work.k})


def _many(name: str, mechanisms: Iterable[str], work: Work, more: dict[str, Any]) -> Call:
    run = _public(name)
    flat = make_scores(work.scores, work.n * work.batch)
    scores = np.reshape(flat, (work.batch, work.n))
    total = work.rate * work.batch * work.k
    for mechanism in mechanisms:

        def call(mechanism: str = mechanism) -> object:
            return run(
                scores, epsilon=total, sensitivity=1, monotonic=True, mechanism=mechanism, **more
            )

        try:
            call()
        except safeselect.ParameterError:
            continue
        return call
    raise Unavailable(f"{name} knows none of the mechanisms {', '.join(mechanisms)}")


def exponential_weighted(work: Work) -> Call:
    """One exponential mechanism with public weights."""
    return _one("exponential_mechanism", work, weights=make_weights(work.n).tolist())


def permute_and_flip_copies(work: Work) -> Call:
    """One permute-and-flip where each candidate stands for so many."""
    return _one("permute_and_flip", work, weights=make_weights(work.n).tolist())


def one_quantile(work: Work) -> Call:
    """The median of n values."""
    return _quantile(work, "quantile", quantile="1/2")


def seven_quantiles(work: Work) -> Call:
    """Seven quantiles of n values."""
    return _quantile(work, "quantiles", quantiles=[Fraction(each, 8) for each in range(1, 8)])


def _quantile(work: Work, name: str, **asked: Any) -> Call:
    run, values = _public(name), make_scores(work.scores, work.n)
    ends = {
        "lowest": 0,
        "highest": 999,
        "step": 1,
        "neighbours": "replace_one",
    }  # the law of the others
    return lambda: run(values, epsilon=work.rate, **ends, **asked)


def best_runs(work: Work) -> Call:
    """The best of a random number of permute-and-flips, two on average; many times."""
    choose, select = _public("best_of"), _public("permute_and_flip")
    scores, base = make_scores(work.scores, work.n), safeselect.LaplaceDominated(work.rate)

    def run(scope: Any) -> tuple[int, int]:
        found = select(scores, epsilon=work.rate, sensitivity=1, monotonic=True, ledger=scope)
        return found.index, found.index

    def call() -> None:
        for _ in range(work.batch):
            choose(run, base=base, gamma="1/2")

    return call


def discrete_laplace(work: Work) -> Call:
    """n values of discrete Laplace noise, from fresh bits."""
    return _noise("discrete_laplace", work)


def geometric(work: Work) -> Call:
    """n geometric values, from fresh bits."""
    return _noise("geometric", work)


def _noise(name: str, work: Work) -> Call:
    from safeselect.engine import geometric as arrays
    from safeselect.exact.interval import NoiseRate
    from safeselect.randomness.bits import Bits
    from safeselect.randomness.source import resolve

    draw = getattr(arrays, name, None)
    if not callable(draw):
        raise Unavailable(f"safeselect.engine.geometric has no {name}")
    noise_rate, n = NoiseRate(work.rate), work.n

    def call() -> object:
        with Bits(resolve(None)) as bits:
            return draw(n, noise_rate, bits)

    return call


def _public(name: str) -> Callable[..., Any]:
    function = getattr(safeselect, name, None)
    if function is None:
        raise Unavailable(f"safeselect has no {name}")
    return function


OURS = {
    "permute_and_flip": permute_and_flip,
    "PermuteAndFlip, prepared": prepared_permute_and_flip,
    "ExponentialMechanism, prepared": prepared_exponential,
    "permute_and_flip, cold rate": permute_and_flip_cold,
    "permute_and_flip, floats on 1/1024": partial(float_column, fineness=1024),
    "permute_and_flip, floats on 1/1000": partial(float_column, fineness=1000),
    "permute_and_flip, a list": list_of_integers,
    "exponential_mechanism": exponential,
    "exponential_mechanism, cold rate": exponential_cold,
    "exponential_mechanism, rho": exponential_rho,
    "exponential_mechanism, fresh rho": exponential_fresh_rho,
    "exponential_mechanism_base2": exponential_base2,
    "permute_and_flip_with_gap": permute_and_flip_with_gap,
    "exponential_mechanism_with_gap": exponential_with_gap,
    "report_noisy_max laplace": laplace,
    "report_noisy_max_with_gap laplace": laplace_with_gap,
    "top_k_with_gaps": top_with_gaps,
    "top_k exponential": top,
    "top_k one_shot_exponential": top_one_shot_exponential,
    "top_k permute_and_flip": top_peeled,
    "select_many permute_and_flip": many_permute_and_flip,
    "select_many exponential": many_exponential,
    "top_k_many exponential": many_top,
    "exponential_mechanism, weights": exponential_weighted,
    "permute_and_flip, copies": permute_and_flip_copies,
    "quantile": one_quantile,
    "quantiles, seven": seven_quantiles,
    "best_of": best_runs,
    "engine.discrete_laplace": discrete_laplace,
    "engine.geometric": geometric,
}
