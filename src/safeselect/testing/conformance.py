"""Tests for a source of your own: `check_source(MySource)`.

They test the form: a request is filled as a whole, there are no copies, and no repr shows state.
They test that nothing repeats.  They cannot tell whether the bytes are random.  The guard gives a
source nothing but memory of its own, takes it back, and sees to what follows a failure: so other
buffers are not tried, nor whether a view is kept or a failed source stays failed.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from safeselect.errors import SourceError
from safeselect.randomness.foreign import members_of
from safeselect.randomness.guard import NONCE_BYTES
from safeselect.randomness.source import Source, guarded

_LENGTHS = (*range(34), 255, 256, 257, 4096, 65537)
_ROUNDS = 64  # a byte that is written stays zero in all of them with probability 2**-512
_SAMPLE = 32
_THREADS = 8


def check_source(factory: Callable[[], Source]) -> tuple[str, ...]:
    """Check that a source follows the rules of the `Source` protocol.

    The function raises an AssertionError that names the broken rule.

    Args:
        factory: builds a new source; called several times.

    Returns:
        The names of the rules tested.

    Example:
        >>> from safeselect.sources import SystemSource
        >>> from safeselect.testing import check_source
        >>> "no copies" in check_source(SystemSource)
        True
    """
    rules: dict[str, Callable[[Callable[[], Source]], None]] = {
        "protocol": _check_protocol,
        "fills exactly": _check_fills,
        "passes behind the guard": _check_guarded,
        "no copies": _check_copies,
        "silent repr": _check_repr,
        "threads": _check_threads,
    }
    if hasattr(os, "fork"):
        rules["fork"] = _check_fork
    for check in rules.values():
        check(factory)
    return (*rules,)


def _require(condition: bool, rule: str) -> None:
    if not condition:
        raise AssertionError(f"the source breaks a rule: {rule}")


def _check_protocol(factory: Callable[[], Source]) -> None:
    source = factory()
    members = members_of(source)
    _require(source is not factory(), "the factory must build a new source each time")
    _require(bool(members.name), "name must not be empty")
    source.begin()
    source.fill(bytearray(_SAMPLE))
    again = members_of(source)
    _require(members[:2] == again[:2], "name and production must never change")


def _check_fills(factory: Callable[[], Source]) -> None:
    source = factory()
    source.begin()
    for length in _LENGTHS:
        rounds = _ROUNDS if length < 300 else 8  # 2**-64 for each byte of the longer ones
        seen = 0
        for _ in range(rounds):
            buffer = bytearray(length)
            source.fill(buffer)
            seen |= int.from_bytes(buffer, "big")
        filled = seen.to_bytes(length, "big")
        _require(0 not in filled, f"fill() must overwrite every byte of a buffer of {length}")


def _check_guarded(factory: Callable[[], Source]) -> None:
    """Use the source as a release does: behind the guard, which looks for what comes back."""
    source = guarded(factory())
    buffer = bytearray(_SAMPLE)
    try:
        for _ in range(_ROUNDS):
            source.begin()
            source.fill(buffer)
    except SourceError as error:
        _require(False, f"it must pass the tests of each request ({error})")


def _check_copies(factory: Callable[[], Source]) -> None:
    source = factory()
    protocols = range(pickle.HIGHEST_PROTOCOL + 1)
    attempts: list[Callable[[], object]] = [
        partial(copy.copy, source),
        partial(copy.deepcopy, source),
        *(partial(pickle.dumps, source, protocol) for protocol in protocols),
    ]
    for attempt in attempts:
        with suppress(TypeError, pickle.PicklingError):
            attempt()
            _require(False, "it must refuse to be copied or pickled")


def _check_repr(factory: Callable[[], Source]) -> None:
    first, second = factory(), factory()
    first.begin()
    first.fill(bytearray(_SAMPLE))
    for show in (repr, str):
        _require(
            show(first) == show(second) and "0x" not in show(first),
            "repr() and str() must show neither state nor addresses",
        )


def _check_threads(factory: Callable[[], Source]) -> None:
    source = factory()
    found: list[bytes] = []

    def work() -> None:
        buffer = bytearray(_SAMPLE)
        for _ in range(_ROUNDS):
            found.append(source.begin())
            source.fill(buffer)
            found.append(bytes(buffer))

    threads = [threading.Thread(target=work) for _ in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _require(len(found) == 2 * _THREADS * _ROUNDS, "it must work for several threads at once")
    _require(len(set(found)) == len(found), "two threads must never get the same bytes")


def _check_fork(factory: Callable[[], Source]) -> None:
    source = factory()
    source.begin()
    source.fill(bytearray(_SAMPLE))
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)

    def work() -> None:
        with suppress(SourceError):  # it refuses: nothing is sent
            sending.send_bytes(_sample(source))

    child = context.Process(target=work)
    child.start()
    sending.close()
    theirs, ours = b"", _sample(source)
    with suppress(EOFError):
        theirs = receiving.recv_bytes()
    child.join()
    is_refused = child.exitcode == 0 and not theirs
    _require(is_refused or len(theirs) == len(ours), "a forked child must get bytes or an error")
    _require(
        theirs[:NONCE_BYTES] != ours[:NONCE_BYTES] and theirs[NONCE_BYTES:] != ours[NONCE_BYTES:],
        "a forked child must never get its parent's bytes",
    )


def _sample(source: Source) -> bytes:
    nonce, buffer = source.begin(), bytearray(_SAMPLE)
    source.fill(buffer)
    return nonce + buffer
