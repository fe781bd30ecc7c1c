"""Whole releases in many threads at once and around forks: nothing shared, nothing corrupted."""

from __future__ import annotations

import json
import multiprocessing
import os
import ssl
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from chances import fits
from children import in_child

import safeselect
from safeselect.engine import draws, rankings, tables
from safeselect.sources import CallbackSource

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "laws.json").read_text())
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
        assert fits(union, law(group))
    # Of the largest calls the beginnings will do: whole requests are the same or independent.
    assert all_different(data[:64] for data in drawn)
    assert scores.tolist() == stair(n).tolist()


# ---------------------------------------------------------------------------------------- forks


def fingerprint(name: str = "permute_and_flip") -> str:
    """What a series of releases chose among 64 equal candidates: at least 240 random bits."""
    call, _ = CALLS[name]
    scores = np.zeros(64, dtype=np.int64)
    return str([call(scores) for _ in range(40)])


@needs_fork
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.claim("C6")
def test_parent_child_and_sibling_release_differently(name):
    fingerprint(name)  # the default source and all tables are there before the fork
    found = [
        in_child(lambda: fingerprint(name).encode()).decode(),
        fingerprint(name),
        in_child(lambda: fingerprint(name).encode()).decode(),
        in_child(lambda: in_child(lambda: fingerprint(name).encode())).decode(),
    ]
    assert all(each.startswith("[[") for each in found)
    assert len(set(found)) == 4


WORKER = """
import numpy as np
from safeselect import permute_and_flip

def work(_):
    scores = np.zeros(64, dtype=np.int64)
    return [permute_and_flip(scores, epsilon=1, range_=1).index for _ in range(40)]
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.claim("C6")
def test_workers_release_differently(method, tmp_path, monkeypatch):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    (tmp_path / "safeselect_releasing_worker.py").write_text(WORKER)
    monkeypatch.syspath_prepend(str(tmp_path))
    import safeselect_releasing_worker

    mine = safeselect_releasing_worker.work(0)
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map(safeselect_releasing_worker.work, range(6), chunksize=1)
    assert len({tuple(each) for each in [mine, *found]}) == 7


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_releases_while_threads_of_its_parent_were_releasing():
    """No lock stays behind, and no table that was half made."""
    children: list[object] = []

    def work(number: int) -> None:
        if number:
            for _ in range(20):
                fingerprint()
            return
        for _ in range(10):
            children.append(in_child(lambda: fingerprint().encode()))

    in_threads(work)
    assert len({each for each in children if isinstance(each, bytes)}) == 10


class Forking:
    """Random bytes; at the given request it forks, and the child goes on as if nothing were."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.child: int | None = None

    def __call__(self, count: int) -> bytes:
        self.left -= 1
        answer = os.urandom(count)
        if self.left == 0:
            self.child = os.fork()
        return answer


def forked_release(release: Callable[[CallbackSource], str], at: int) -> tuple[bytes, str]:
    """What the child of a fork inside a request came to, and the parent's release."""
    reading, writing = os.pipe()
    function = Forking(at)
    source = CallbackSource(function, exclusive=True, fork_safe=True)
    result = ""
    try:
        result = release(source)
    except BaseException as error:
        result = type(error).__name__
    finally:
        if function.child == 0:
            os.write(writing, result.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    assert function.child is not None
    os.waitpid(function.child, 0)
    return answer, result


def large_top_k(source: CallbackSource) -> str:
    """A release that asks for more than one piece of 2**18 bytes at once."""
    scores = np.zeros(30_000, dtype=np.int64)
    call = safeselect.top_k(scores, k=25_000, epsilon=1, range_=1, source=source)
    return str(hash(call.indices))


def small_top_k(source: CallbackSource) -> str:
    call = safeselect.top_k(np.zeros(5000, dtype=np.int64), k=3, epsilon=1, range_=1, source=source)
    return str(call.indices)


@needs_fork
@pytest.mark.parametrize(
    ("release", "at"),
    [(small_top_k, 5), (small_top_k, 6), (large_top_k, 5), (large_top_k, 6), (large_top_k, 7)],
)
@pytest.mark.claim("C6")
def test_a_fork_inside_a_request_is_an_error_in_the_child(release, at):
    """Requests 1 to 4 are start-up tests, 5 the nonce, then comes noise.

    The source says that it may go on in a child.  But a child that went on with the noise drawn
    before, and fresh noise for the rest, would make a second release that shares some.
    """
    child, parent = forked_release(release, at)
    assert child == b"SourceError"
    assert parent != "SourceError"


@needs_fork
@pytest.mark.parametrize("n", [4, 60, 5000])
def test_a_fork_after_the_last_request_gives_the_same_release(monkeypatch, n):
    """Not another one: parent and child have the same noise and the same scores."""
    combine, children = rankings.combine, []

    def forking(*arguments: object) -> object:
        children.append(os.fork())
        return combine(*arguments)

    monkeypatch.setattr(rankings, "combine", forking)
    scores = np.zeros(n, dtype=np.int64)
    reading, writing = os.pipe()
    try:
        index = safeselect.permute_and_flip(scores, epsilon=1, range_=1).index
        if children == [0]:
            os.write(writing, str(index).encode())
    finally:
        if children == [0]:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert int(pipe.read()) == index
    os.waitpid(children[0], 0)
