"""Evidence that grows: releases on made-up scores, day after day, against their exact laws.

    make soak                      a few minutes
    make soak ARGS='--minutes 60'

Every mechanism has an e-process: a bet against its claimed law that on average gains nothing if the
law is right.  By Ville's inequality the chance that all bets together ever reach 10**9 is then at
most 10**-9, however often one looks and however long one goes on.  So the counts are kept in a
file, by the hash of the code that made them, and every run adds to them.

Law: the enclosures of `tests/laws`, so the null hypothesis is a box of laws, and the bet is
    divided by the likeliest law of the box.
Bet: Krichevsky and Trofimov's mixture (Dirichlet, 1/2), which learns the law from the counts.
Power: a law that is KL nats an outcome away from the box, with k outcomes, is refuted after about
    (ln(10**9 * cases) + (k - 1) / 2 * ln(n)) / KL releases: for three outcomes and a shift of 0.02
    at 1/2 that is 45 000, seconds of work.  Shifts below a hundredth of a probability are inside
    the boxes.
Randomness: that of the machine, fresh on every run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import product
from math import exp, inf, lgamma, log
from pathlib import Path
from time import monotonic
from typing import Any

from safeselect import (
    AdaptiveSparseVector,
    PayWhatYouGet,
    SparseVector,
    report_noisy_max,
    report_noisy_max_with_gap,
    select_many,
    top_k,
    top_k_above,
    top_k_with_gaps,
    unknown_domain_top_k,
)
from safeselect.ledger.record import library
from safeselect.release.results import TopK
from safeselect.results import Batch

for folder in ("support", "laws"):
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / folder))

from checks.cells import Enclosure, ranking_law
from checks.releases import Release, releases

STATE = Path(__file__).parents[1] / "benchmarks" / "results" / "soak.json"
ALARM = 1e9
BATCH = 500
SCORES = [3, 1, 0]
COUNTS = {"a": 9, "b": 7, "c": 2}
SESSION: dict[str, Any] = {"threshold": 1, "k": 1, "sensitivity": 1, "monotonic": True}
ONE, HALF = Fraction(1), Fraction(1, 2)


def cases() -> list[Release]:
    """The releases of `tests/laws`, and those of further mechanisms."""
    return [*releases(), *more()]


def more() -> Iterator[Release]:
    """Mechanisms whose law follows from that of one ranking."""
    single = partial(report_noisy_max, SCORES, epsilon=2, sensitivity=1, noise="exponential")
    yield case("report_noisy_max, exponential", lambda: (single().index,), ranked("exponential", 1))
    for name, noise in (("exponential", "exponential"), ("laplace", "laplace")):
        gapped = partial(report_noisy_max_with_gap, SCORES, epsilon=1, range_=1, noise=name)
        yield case(
            f"report_noisy_max_with_gap, {name}",
            lambda gapped=gapped: (lambda r: (r.index, min(int(r.gap), 4)))(gapped()),
            partial(ranking_law, noise, SCORES, ONE, gaps=5, fineness=7),
        )
        ordered = partial(top_k_with_gaps, SCORES, k=2, epsilon=2, range_=1, noise=name)
        yield case(f"top_k_with_gaps, {name}", lambda o=ordered: o().indices, ranked(noise, 2))
        above = partial(top_k_above, SCORES, threshold=1, k=2, epsilon=4, sensitivity=1, noise=name)
        yield case(
            f"top_k_above, {name}",
            lambda a=above: a().indices,
            partial(cut, noise, [*SCORES, 1], ONE),
        )
        yield case(f"SparseVector, {name}", partial(asked, name), partial(first, noise))
        top, middle = partial(at_the_top, name), partial(in_the_middle, name)
        yield case(f"AdaptiveSparseVector, top, {name}", top, partial(first, noise))
        yield case(f"AdaptiveSparseVector, middle, {name}", middle, partial(first, noise))
    peeled = partial(top_k, SCORES, k=2, epsilon=2, range_=1, mechanism="permute_and_flip")
    yield case("top_k, permute_and_flip", lambda: peeled().indices, peeled_law)
    equal = partial(top_k, [7, 7, 7], k=2, range_=1, mechanism="laplace")
    chosen = partial(equal, epsilon="0.2", delta="0.05")
    yield case("top_k, laplace", lambda: tuple(sorted(chosen().indices)), even)
    found = partial(
        unknown_domain_top_k, COUNTS, k=2, k_bar=2, places="all", epsilon=1, delta="0.2"
    )
    yield case("unknown_domain_top_k, gumbel", lambda: found().labels, partial(discovered, found))
    yield case("PayWhatYouGet", lambda: session().labels, partial(discovered, session))
    listed = partial(found, k_bar=1, places="all", k=1, epsilon=2, max_contributions=1)
    yield case("unknown_domain_top_k, laplace", lambda: told(listed()), partial(count_law, listed))
    yield Release("top_k_many, permute_and_flip", lists, peeled_law)
    yield Release("select_many, exponential_base2", rows_by_powers, powers_law)


def session() -> TopK[str]:
    """One query of a session."""
    with PayWhatYouGet(outcomes=3, queries=1, epsilon=2, delta="0.2") as opened:
        return opened.query(COUNTS, k=2, k_bar=2, places="all")


def lists(count: int) -> list[Hashable]:
    """The first two in each of so many equal rows, at rate 1 a draw."""
    rows = [SCORES] * count
    best = select_many(rows, k=2, epsilon=2 * count, range_=1, mechanism="permute_and_flip")
    return [tuple(indices) for indices in best.indices.tolist()]


def by_powers(count: int) -> Batch:
    """One choice in each of so many equal rows, by rational weights."""
    rows = [SCORES] * count
    return select_many(rows, epsilon=count, range_=1, mechanism="exponential_base2")


def rows_by_powers(count: int) -> list[Hashable]:
    """The candidates that it chose."""
    return list(by_powers(count).indices.tolist())


def case(name: str, once: Callable[[], Hashable], law: Callable[[], Enclosure]) -> Release:
    """A release that is made one at a time."""
    return Release(name, lambda count: [once() for _ in range(count)], law)


def asked(noise: str) -> bool:
    """The answer of a sparse vector; with half of epsilon for either, both noises are alike."""
    with SparseVector(**SESSION, epsilon=2, noise=noise, split="1/2") as opened:
        return opened.query(2).above


def at_the_top(noise: str) -> bool:
    """Whether 3 is above 1 by a sigma of 1: with this split that noise is like the threshold's."""
    with AdaptiveSparseVector(**SESSION, epsilon=3, noise=noise, split="1/3", sigma=1) as opened:
        return opened.query(3).branch == "top"


def in_the_middle(noise: str) -> bool:
    """Whether 2 is above 1, where nothing reaches sigma: with this split the other one is."""
    sigma = 10**6
    with AdaptiveSparseVector(
        **SESSION, epsilon=2, noise=noise, split="1/2", sigma=sigma
    ) as opened:
        return opened.query(2).above


# -------------------------------------------------------------------------------------- laws


def ranked(noise: str, k: int) -> Callable[[], Enclosure]:
    """The law of the first k of one ranking at rate 1."""
    return partial(ranking_law, noise, SCORES, ONE, k=k, fineness=8)


def first(noise: str) -> Enclosure:
    """Whether 2 with noise is above 1 with noise, at rate 1."""
    law = ranking_law(noise, [2, 1], ONE, fineness=8)
    return {True: law[0,], False: law[1,]}


def powers_law() -> Enclosure:
    """Rational weights; the base is public."""
    base = by_powers(BATCH).base
    weights = [base**-score for score in SCORES]
    return {i: (w / sum(weights), w / sum(weights)) for i, w in enumerate(weights)}


def told(found: TopK[str]) -> int | None:
    """The noisy count of the only item, if it was found."""
    return next(map(clipped, found.counts or ()), None)


def clipped(count: int) -> int:
    """What is told apart."""
    return min(max(count, 7), 11)


def count_law(found: Callable[[], TopK[str]]) -> Enclosure:
    """The noisy count of the largest item where it is above the bottom; both at rate 2.

    The bottom's place is public.  Noise beyond 40 has a chance below 1e-34.
    """
    bottom, noise_rate = COUNTS["b"] + int(found().provenance.number("offset") or 0), exp(-2)
    noise = {x: (1 - noise_rate) / (1 + noise_rate) * noise_rate ** abs(x) for x in range(-40, 41)}
    sums: Counter[Hashable] = Counter()
    for x, y in product(noise, repeat=2):
        count = COUNTS["a"] + x
        sums[clipped(count) if count > bottom + y else None] += noise[x] * noise[y]
    room = Fraction(1, 10**9)  # for the rounding of the floats
    return {
        outcome: (max(Fraction(chance) - room, Fraction(0)), Fraction(chance) + room)
        for outcome, chance in sums.items()
    }


def cut(noise: str, scores: list[int], noise_rate: Fraction) -> Enclosure:
    """The law of the first two of one ranking, as far as the last candidate does not come first."""
    last, sums = len(scores) - 1, dict[Hashable, tuple[Fraction, Fraction]]()
    for order, (low, high) in ranking_law(noise, scores, noise_rate, k=2, fineness=8).items():
        end = (*order, last).index(last)
        known = sums.get(order[:end], (Fraction(0), Fraction(0)))
        sums[order[:end]] = known[0] + low, known[1] + high
    return sums


def peeled_law() -> Enclosure:
    """Permute-and-flip among three, then among the two that are left."""
    law = {}
    for (one,), (low, high) in ranking_law("exponential", SCORES, ONE, fineness=8).items():
        left = [i for i in range(3) if i != one]
        rest = ranking_law("exponential", [SCORES[i] for i in left], ONE, fineness=8)
        for (place,), (low2, high2) in rest.items():
            law[one, left[place]] = low * low2, high * high2
    return law


def even() -> Enclosure:
    """Two of three equal ones."""
    return dict.fromkeys(((0, 1), (0, 2), (1, 2)), (Fraction(1, 3), Fraction(1, 3)))


def discovered(found: Callable[[], TopK[str]]) -> Enclosure:
    """A ranking with the bottom as one more candidate; its place and the rate are public."""
    query = found()
    bottom = COUNTS["c"] + (query.provenance.number("offset") or 0)
    unit = bottom.denominator
    scores = [COUNTS["a"] * unit, COUNTS["b"] * unit, int(bottom * unit)]
    labels = ("a", "b")
    law = cut("gumbel", scores, query.parts[0].epsilon / unit)
    return {tuple(labels[i] for i in order): bounds for order, bounds in law.items()}


# ---------------------------------------------------------------------------------- evidence


def evidence(counts: Mapping[str, int], law: Mapping[str, tuple[float, float]]) -> float:
    """The logarithm of the e-value of these counts against a box of laws.

    An outcome that the law does not have refutes it at once.
    """
    if not counts.keys() <= law.keys():
        return inf
    seen = [counts.get(outcome, 0) for outcome in law]
    half = len(seen) / 2
    bet = lgamma(half) - lgamma(sum(seen) + half)
    bet += sum(lgamma(count + 0.5) - lgamma(0.5) for count in seen)
    likely = likeliest(seen, list(law.values()))
    return bet - sum(count * log(p) for count, p in zip(seen, likely, strict=True) if count)


def likeliest(seen: list[int], box: list[tuple[float, float]]) -> list[float]:
    """The law in the box under which the counts are likeliest: shares, cut to it.

    Outcomes never seen get their least; where that leaves mass over, it is theirs and not counted.
    """
    total = max(sum(seen), 1)

    def shares(scale: float) -> list[float]:
        return [
            min(max(scale * count / total, low), high)
            for count, (low, high) in zip(seen, box, strict=True)
        ]

    least, most = -60.0, 60.0  # the logarithm of the scale at which the shares add up to 1
    for _ in range(80):
        middle = (least + most) / 2
        least, most = (middle, most) if sum(shares(exp(middle))) < 1 else (least, middle)
    return shares(exp(most))


def read(path: Path) -> dict[str, dict[str, dict[str, int]]]:
    """Counts by the hash of the code, case and outcome."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text())
    if content["schema"] != "safeselect.soak/1":
        raise SystemExit(f"{path} is of another schema")
    return content["counts"]


def write(path: Path, counts: Mapping[str, object]) -> None:
    """All of it, or nothing new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"schema": "safeselect.soak/1", "counts": counts}
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
    os.replace(fresh, path)


class Soak:
    """The counts of all cases, with their laws.

    Args:
        known: counts of earlier runs, which are added to.
    """

    def __init__(self, cases: list[Release], known: dict[str, dict[str, int]]) -> None:
        self.cases = cases
        self.laws = [
            {
                repr(outcome): (float(low), float(high))
                for outcome, (low, high) in each.law().items()
            }
            for each in cases
        ]
        # A case whose law was changed starts anew.
        keys = (sha256(repr(sorted(law.items())).encode()).hexdigest()[:12] for law in self.laws)
        self.names = [f"{each.name} {key}" for each, key in zip(cases, keys, strict=True)]
        self.counts = [Counter(known.get(name, {})) for name in self.names]

    def step(self, number: int) -> None:
        """Make some more releases of a case."""
        self.counts[number].update(map(repr, self.cases[number].call(BATCH)))

    def nats(self) -> list[float]:
        """The evidence against each case, shared out so that all together stay below the alarm."""
        pairs = zip(self.counts, self.laws, strict=True)
        return [evidence(counts, law) - log(len(self.cases)) for counts, law in pairs]

    def refuted(self) -> list[str]:
        """The cases whose law is refuted."""
        found = zip(self.names, self.nats(), strict=True)
        return [name for name, nats in found if nats >= log(ALARM)]


def main(arguments: list[str] | None = None) -> int:
    """Go round the cases, once at least, until the time is over; 1 if a law was refuted."""
    words = argparse.ArgumentParser(description="Releases on made-up scores against their laws.")
    words.add_argument("--minutes", type=float, default=3, help="how long (3)")
    words.add_argument("--state", type=Path, default=STATE, help="where the counts are kept")
    options = words.parse_args(arguments)
    end = monotonic() + 60 * options.minutes
    everything, code = read(options.state), library()["source_tree_sha256"]
    soak = Soak(cases(), everything.get(code, {}))
    number = 0
    while (number < len(soak.cases) or monotonic() < end) and not soak.refuted():
        soak.step(number % len(soak.cases))
        number += 1
    everything[code] = dict(zip(soak.names, map(dict, soak.counts), strict=True))
    write(options.state, everything)
    for name, counts, nats in zip(soak.names, soak.counts, soak.nats(), strict=True):
        print(f"{sum(counts.values()):>12} releases  10**{nats / log(10):8.1f}  {name}")
    for name in soak.refuted():
        print(f"REFUTED: {name}")
    return int(bool(soak.refuted()))


if __name__ == "__main__":
    sys.exit(main())
