"""Real releases on made-up scores, with the source of this machine, against the enclosed laws.

The gate is exact for every count: by Chernoff's bound a share this far from its probability has a
chance below `ALARM` in all checks of one run together.  Made-up scores only: a monitor of real
releases would keep what it must not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import log

from safeselect.audit.cells import Enclosure, ranking_law
from safeselect.audit.finding import Refuted
from safeselect.lattice.laws import EXPONENTIAL, GUMBEL, LAPLACE
from safeselect.mechanisms import (
    exponential_mechanism,
    exponential_mechanism_base2,
    permute_and_flip,
    report_noisy_max,
    select_many,
    top_k,
)
from safeselect.samplers.decay import Decay

__all__ = ["ALARM", "Release", "check_releases", "gate", "releases"]

ALARM = 1e-9
_SCORES = [3, 1, 0]
_COMPARED = 500  # more than the outcomes of all releases of a run


@dataclass(frozen=True, slots=True)
class Release:
    """A public call on made-up scores and the law that its documentation claims.

    Args:
        name: for the table.
        call: makes that many releases and returns their outcomes.
        law: the claimed law, enclosed.
        count: releases at full effort.
    """

    name: str
    call: Callable[[int], list[Hashable]]
    law: Callable[[], Enclosure]
    count: int


def check_releases(release: Release, every: int) -> str:
    """Compare the shares of the outcomes with the claimed law.

    Raises:
        Refuted: a share that the claimed law has with a chance below ALARM only.
    """
    count = release.count // every
    outcomes = Counter(release.call(count))
    gate(outcomes, count, release.law())
    return f"{count} releases"


def gate(outcomes: Counter[Hashable], count: int, law: Enclosure) -> None:
    """Refute a law by shares of outcomes.

    Method: P(share of `count` is as far from p as s, on its side) <= exp(-count * KL(s, p)); the
        nearest p of the enclosure is taken, and the chances of all outcomes are added.
    """
    if not outcomes.keys() <= law.keys():
        raise Refuted("a release has an outcome that its law does not have")
    for outcome, (low, high) in law.items():
        share = outcomes[outcome] / count
        nearest = min(max(share, float(low)), float(high))
        if count * _divergence(share, nearest) > log(2 * _COMPARED / ALARM):
            raise Refuted("the shares of the outcomes do not follow the claimed law")


def _divergence(share: float, chance: float) -> float:
    """KL(share, chance) of two coins in nats; infinite where only one of them is certain."""
    if share == chance:
        return 0.0
    if chance in (0.0, 1.0):
        return float("inf")
    first = share * log(share / chance) if share else 0.0
    second = (1 - share) * log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return first + second


def releases() -> Iterator[Release]:
    """The mechanisms that are checked, with every calibration."""
    half, one, two = Fraction(1, 2), Fraction(1), Fraction(2)
    yield _single("permute_and_flip, monotonic", _choose(permute_and_flip, True), EXPONENTIAL, one)
    yield _single("permute_and_flip, general", _choose(permute_and_flip, False), EXPONENTIAL, half)
    yield _single("exponential, monotonic", _choose(exponential_mechanism, True), GUMBEL, one)
    yield _single("exponential, general", _choose(exponential_mechanism, False), GUMBEL, half)
    for noise, law in (("exponential", EXPONENTIAL), ("laplace", LAPLACE), ("gumbel", GUMBEL)):
        yield _single(
            f"report_noisy_max, {noise}",
            lambda noise=noise: (
                report_noisy_max(_SCORES, noise=noise, epsilon=1, sensitivity=1).index
            ),
            law,
            half,
        )
    yield Release(
        "base 2, weights 1/2",
        _repeated(lambda: (exponential_mechanism_base2(_SCORES, base="1/2", range_=1).index,)),
        lambda: {
            (i,): (Fraction(weight, 11), Fraction(weight, 11)) for i, weight in enumerate((8, 2, 1))
        },
        16_000,
    )
    for mechanism, law in (("one_shot_exponential", EXPONENTIAL), ("exponential", GUMBEL)):
        yield Release(
            f"top_k, {mechanism}",
            _repeated(
                lambda mechanism=mechanism: (
                    top_k(
                        _SCORES, k=2, epsilon=2, sensitivity=1, monotonic=True, mechanism=mechanism
                    ).indices
                )
            ),
            lambda law=law: ranking_law(law, _SCORES, Decay(one), k=2, fineness=7),
            16_000,
        )
    for mechanism, law in (("permute_and_flip", EXPONENTIAL), ("exponential", GUMBEL)):
        yield Release(
            f"select_many, {mechanism}",
            lambda count, mechanism=mechanism: [
                (index,)
                for index in select_many(
                    [_SCORES] * count,
                    epsilon=two * count,
                    sensitivity=1,
                    mechanism=mechanism,
                ).indices.tolist()
            ],
            lambda law=law: ranking_law(law, _SCORES, Decay(one), fineness=7),
            16_000,
        )


def _choose(mechanism: Callable[..., object], monotonic: bool) -> Callable[[], int]:
    def call() -> int:
        return mechanism(_SCORES, epsilon=1, sensitivity=1, monotonic=monotonic).index  # type: ignore[attr-defined,no-any-return]

    return call


def _single(name: str, call: Callable[[], int], law: object, rate: Fraction) -> Release:
    return Release(
        name,
        _repeated(lambda: (call(),)),
        lambda: ranking_law(law, _SCORES, Decay(rate), fineness=7),  # type: ignore[arg-type]
        16_000,
    )


def _repeated(call: Callable[[], Hashable]) -> Callable[[int], list[Hashable]]:
    return lambda count: [call() for _ in range(count)]
