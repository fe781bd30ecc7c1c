"""Real releases on made-up scores, with the source of this machine, against the enclosed laws.

The gate is valid for every count.  By Chernoff's bound, the probability that any share in one run
lies this far from its probability is below `chances.FALSE_ALARM`.  Use made-up scores only: a
monitor of real releases would store data that it must not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from chances import divergence, smallest_change, threshold
from checks.cells import Enclosure, ranking_law
from checks.finding import Refuted
from effort import LONG

from safeselect.mechanisms.select import (
    exponential_mechanism,
    exponential_mechanism_base2,
    exponential_mechanism_with_gap,
    permute_and_flip,
    permute_and_flip_with_gap,
    report_noisy_max,
)
from safeselect.release.results import Selection

SEES = 0.31 if LONG else 0.85
"""The change of a probability that each comparison sees: `make test` counts very few releases."""

_SCORES = [3, 1, 0]
_GAPS = 5  # values of the gap that are distinguished; the last stands for all larger ones
_COUNT = 4_000  # at full effort
_COMPARED = 500  # more than the outcomes of all releases of a run


@dataclass(frozen=True, slots=True)
class Release:
    """A public call on made-up scores and the law that its documentation claims.

    Args:
        name: for the table.
        call: makes that many releases and returns their outcomes.
        law: the claimed law, enclosed.
        mechanisms: what its results carry as `mechanism`.
    """

    name: str
    call: Callable[[int], list[Hashable]]
    law: Callable[[], Enclosure]
    mechanisms: tuple[str, ...] = ()


def check_releases(release: Release, every: int) -> None:
    """Compare the shares of the outcomes with the claimed law.

    Raises:
        Refuted: a share has a probability below `chances.FALSE_ALARM` under the claimed law.
    """
    count = _COUNT // every
    outcomes = Counter(release.call(count))
    gate(outcomes, count, release.law())


def gate(outcomes: Counter[Hashable], count: int, law: Enclosure) -> None:
    """Raise `Refuted` if the shares of outcomes contradict a law.

    Method: P(share of `count` is as far from p as s, on its side) <= exp(-count * KL(s, p)).  The
        nearest p of the enclosure is used, and the probabilities of all outcomes are added.
    Power: a probability that leaves its enclosure by SEES is noticed with a probability of 0.999.
    """
    enough, box = threshold(_COMPARED), [(float(low), float(high)) for low, high in law.values()]
    assert smallest_change(count, box, enough) <= SEES, "too few releases for this power"
    if not outcomes.keys() <= law.keys():
        raise Refuted("a release has an outcome that its law does not have")
    for outcome, (low, high) in zip(law, box, strict=True):
        share = outcomes[outcome] / count
        if count * divergence(share, min(max(share, low), high)) > enough:
            raise Refuted("the shares of the outcomes do not follow the claimed law")


def releases() -> Iterator[Release]:
    """Yield the mechanisms that are checked, with every calibration."""
    half, one = Fraction(1, 2), Fraction(1)
    singles: dict[str, tuple[Callable[..., Selection], str]] = {
        "permute_and_flip": (permute_and_flip, "exponential"),
        "exponential_mechanism": (exponential_mechanism, "gumbel"),
        "report_noisy_max, laplace": (partial(report_noisy_max, noise="laplace"), "laplace"),
        "report_noisy_max, gumbel": (partial(report_noisy_max, noise="gumbel"), "gumbel"),
    }
    for name, (single, noise) in singles.items():
        for calibration, sensitivity, monotonic, rate in (
            ("monotonic", 1, True, one),
            ("general", 1, False, half),
            ("sensitivity 2", 2, True, half),
        ):
            call = partial(single, _SCORES, epsilon=1, sensitivity=sensitivity, monotonic=monotonic)
            yield Release(
                f"{name}, {calibration}",
                partial(_chosen, call),
                partial(_law, noise, rate),
                (f"{name.replace(', ', '_')}/1",),
            )
    for name, (gapped, noise) in {
        "permute_and_flip_with_gap": (permute_and_flip_with_gap, "exponential"),
        "exponential_mechanism_with_gap": (exponential_mechanism_with_gap, "gumbel"),
    }.items():
        call = partial(gapped, _SCORES, epsilon=1, sensitivity=1, monotonic=True)
        law = partial(_gap_law, noise, one)
        yield Release(name, partial(_gapped, call), law, (f"{name}/1",))
    rational = partial(exponential_mechanism_base2, _SCORES, base="1/2", range_=1)
    concerned = ("exponential_mechanism_base2/1",)
    yield Release("base 2, weights 8, 2, 1", partial(_chosen, rational), _rational_law, concerned)


def _law(noise: str, rate: Fraction, k: int = 1) -> Enclosure:
    return ranking_law(noise, _SCORES, rate, k=k, fineness=7)


def _gap_law(noise: str, rate: Fraction) -> Enclosure:
    return ranking_law(noise, _SCORES, rate, gaps=_GAPS, fineness=7)


def _rational_law() -> Enclosure:
    return {(i,): (Fraction(w, 11), Fraction(w, 11)) for i, w in enumerate((8, 2, 1))}


def _chosen(call: Callable[[], Selection], count: int) -> list[Hashable]:
    return [(call().index,) for _ in range(count)]


def _gapped(call: Callable[[], Selection], count: int) -> list[Hashable]:
    releases = [call() for _ in range(count)]
    return [(each.index, min(int(each.gap or 0), _GAPS - 1)) for each in releases]
