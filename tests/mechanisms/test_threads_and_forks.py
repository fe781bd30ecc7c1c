"""Whole releases in many threads at once, and a fork at the end of one: nothing is corrupted.

That children draw other bits, and none of a request that a fork cut in two, is looked at in
`tests/attacks/test_forks.py` and `tests/randomness/`.
"""

from __future__ import annotations

import os
import ssl
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from chances import fits
from children import forked_within

import safeselect
from safeselect import PureDP, best_of, first_above
from safeselect.engine import draws, rankings, tables
from safeselect.mechanisms import sessions, unknown
from vectors import vectors

VECTORS = vectors("laws")
THREADS = 8
STAIR = [0, 1, 2, 3]  # case v3 of the vectors, at rate 1/10
RATE = Fraction(1, 10)

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

CALLS: dict[str, tuple[Callable[..., list[object]], str]] = {
    "permute_and_flip": (
        lambda scores, **more: [
            safeselect.permute_and_flip(scores, epsilon=RATE, range_=1, **more).index
        ],
        "a_permute_and_flip_probs",
    ),
    "exponential_mechanism": (
        lambda scores, **more: [
            safeselect.exponential_mechanism(scores, epsilon=RATE, range_=1, **more).index
        ],
        "b_exponential_mechanism_probs",
    ),
    "top_k": (
        lambda scores, **more: [
            safeselect.top_k(
                scores, k=2, epsilon=2 * RATE, range_=1, mechanism="exponential", **more
            ).indices
        ],
        "c1_peeled_em_top2",
    ),
    "select_many": (
        lambda scores, **more: safeselect.select_many(
            np.tile(scores, (3, 1)), epsilon=3 * RATE, range_=1, **more
        ).indices.tolist(),
        "a_permute_and_flip_probs",
    ),
}


def law(group: str) -> dict[object, float]:
    case = VECTORS[group]["cases"]["v3@rate=1/10"]
    if "probs" in case:
        return {i: float(share) for i, share in enumerate(case["probs"])}
    return {
        tuple(map(int, order.split(","))): float(share)
        for order, share in case["ordered_top2"].items()
    }


def stair(n: int) -> np.ndarray:
    """The four of the law, then others so far behind that they never win: below e**-500."""
    return np.array(STAIR + [-(10**4)] * (n - len(STAIR)), dtype=np.int64)


# -------------------------------------------------------------------------------------- threads


def in_threads(work: Callable[[int], None]) -> None:
    """Run it in eight threads that begin together and take turns far more often than usual."""
    barrier, errors = threading.Barrier(THREADS), []

    def guarded(number: int) -> None:
        try:
            barrier.wait(timeout=30)
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    finally:
        sys.setswitchinterval(usual)
    assert errors == []
    assert not any(thread.is_alive() for thread in threads)


def all_different(drawn: Iterable[bytes]) -> bool:
    """Whether no 8 bytes, counted from the beginning of each, occur twice.

    2**16 pieces of 64 bits do by chance with probability below 2**-33.
    """
    pieces = [data[i : i + 8] for data in drawn for i in range(0, len(data) - 7, 8)]
    assert len(pieces) < 1 << 16
    return len(set(pieces)) == len(pieces)


@pytest.mark.parametrize(("n", "rounds"), [(4, 90), (60, 60), (5000, 25)])
@pytest.mark.claim("C6")
def test_eight_threads_releasing_at_once(monkeypatch, n, rounds):
    """All release from the same array, by tables that none of them has made before.

    The union follows the law: false alarms 1e-9 each.  With 5000 candidates 200 calls of each kind
    are too few to tell laws apart, but not to see a candidate win that never can.
    """
    for module, name in ((tables, "noise_table"), (draws, "plan"), (tables, "bound_table")):
        getattr(module, name).cache_clear()
    drawn: list[bytes] = []
    rand_bytes = ssl.RAND_bytes

    def recorded(count: int) -> bytes:
        drawn.append(rand_bytes(count))
        return drawn[-1]

    monkeypatch.setattr(ssl, "RAND_bytes", recorded)
    scores = stair(n)
    scores.flags.writeable = False
    found = {name: [Counter() for _ in range(THREADS)] for name in CALLS}

    def work(number: int) -> None:
        for _ in range(rounds):
            for name, (call, _) in CALLS.items():
                found[name][number].update(call(scores))

    in_threads(work)
    for name, (_, group) in CALLS.items():
        calls = THREADS * rounds * (3 if name == "select_many" else 1)
        union = sum(found[name], Counter())
        assert union.total() == calls
        assert fits(union, law(group), sees=0.4)
    # Of the largest calls the beginnings will do: whole requests are the same or independent.
    assert all_different(data[:64] for data in drawn)
    assert scores.tolist() == stair(n).tolist()


# ---------------------------------------------------------------------------------------- forks


@needs_fork
@pytest.mark.parametrize("n", [4, 60, 5000])
def test_a_fork_after_the_last_request_gives_the_same_release(monkeypatch, n):
    """Not another one: parent and child have the same noise and the same scores."""
    combine, scores = rankings.combine, np.zeros(n, dtype=np.int64)

    def chosen(fork):
        monkeypatch.setattr(rankings, "combine", lambda *given: (fork(), combine(*given))[1])
        return safeselect.permute_and_flip(scores, epsilon=1, range_=1).index

    parent, child = forked_within(chosen)
    assert int(parent) == int(child)


@needs_fork
@pytest.mark.parametrize("call", [best_of, partial(first_above, threshold=1)])
@pytest.mark.claim("C6")
def test_a_child_that_is_forked_in_a_run_releases_nothing(call):
    """It has the number of runs of its parent."""

    def released(fork):
        return call(lambda _: (1, fork() and 1), base=PureDP(1), gamma="1/9").values

    assert forked_within(released) == ["(1,)", "SourceError"]


@needs_fork
@pytest.mark.claim("C6")
def test_a_child_that_is_forked_in_an_answer_gets_none(monkeypatch):
    """It has the threshold of its parent, or would use the same draws once more."""
    read, hold = sessions.read_values, unknown.hold_counts

    def answered(fork):
        monkeypatch.setattr(sessions, "read_values", lambda *given: (fork(), read(*given))[1])
        opened = safeselect.SparseVector(threshold=5, k=2, epsilon=1, sensitivity=1)
        return opened.query_many([10**6]).indices

    def listed(fork):
        monkeypatch.setattr(unknown, "hold_counts", lambda *given: (fork(), hold(*given))[1])
        opened = safeselect.PayWhatYouGet(outcomes=4, queries=4, epsilon=1, delta="1e-9")
        return (opened.query({0: 10**6}, k=1, k_bar=1, places="all").k_bar - 1,)

    assert forked_within(answered) == forked_within(listed) == ["(0,)", "SourceError"]
