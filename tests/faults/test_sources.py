"""Sources that fail, shorten or lie, at every byte of a whole release.

There is no result; with a ledger the release is charged unless it failed before its charge; the
record tells why there is no output; the next release, from a good source, works.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from ledgers import new, outcomes, scope

import safeselect
from safeselect import SourceError
from safeselect.sources import CallbackSource

PRICE = Fraction(1)
CALLS: dict[str, Callable[..., Any]] = {
    "permute_and_flip": lambda **more: safeselect.permute_and_flip(
        [3, 1, 2], epsilon=PRICE, sensitivity=1, **more
    ),
    "top_k": lambda **more: safeselect.top_k(
        [3, 1, 2], k=2, mechanism="permute_and_flip", epsilon=PRICE, sensitivity=1, **more
    ),
    "top_k_with_gaps": lambda **more: safeselect.top_k_with_gaps(
        [3, 1, 2], k=2, epsilon=PRICE, sensitivity=1, **more
    ),
    "unknown_domain_top_k": lambda **more: safeselect.unknown_domain_top_k(
        {"a": 9, "b": 5}, k=1, k_bar=1, places="all", epsilon=PRICE, delta="1e-6", **more
    ),
    "sparse_vector": lambda **more: safeselect.SparseVector(
        threshold=1, k=1, epsilon=PRICE, sensitivity=1, **more
    ).close(),
}
TESTS = (1024, 1024, 1024, 1024, 16)  # what the start-up tests of a callback ask for, in a row
NONCE = 16


def good(count: int) -> bytes:
    return os.urandom(count)


def broken_at(byte: int, how: str) -> Callable[[int], Any]:
    """A device whose answers are wrong from this byte on, not counting the start-up tests."""
    given = tests = 0

    def device(count: int) -> Any:
        nonlocal given, tests
        if tests < len(TESTS) and (tests or count == TESTS[0]):
            tests += 1
            return good(count)
        start, given = given, given + count
        if given <= byte:
            return good(count)
        before = good(max(byte - start, 0))
        return {
            "short": lambda: before,
            "long": lambda: good(count + 1),
            "raises": lambda: (_ for _ in ()).throw(OSError("gone")),
            "none": lambda: None,
            "another type": lambda: bytearray(good(count)),
        }[how]()

    return device


def bytes_of(name: str) -> tuple[int, int]:
    """How many bytes a release with a ledger takes before its charge, and in all."""
    asked: list[int] = []

    def device(count: int) -> bytes:
        asked.append(count)
        return good(count)

    ledger = new(":memory:", epsilon=1, delta="1e-3")
    CALLS[name](source=CallbackSource(device, exclusive=True), ledger=scope(ledger))
    assert asked[: len(TESTS) + 1] == [NONCE, *TESTS]
    return NONCE, sum(asked) - sum(TESTS)


@pytest.mark.claim("C5")
@pytest.mark.parametrize("how", ["short", "long", "raises", "none", "another type"])
@pytest.mark.parametrize("name", CALLS)
def test_a_device_that_breaks_at_any_byte(name, how):
    ledger = new(":memory:", epsilon=10**4, delta="1/2")
    there, (nonces, total) = scope(ledger), bytes_of(name)
    # Every byte at the seams, and some of those in between.
    seams = [0, 15, 16, 31, 32, 47, 48, *range(49, total, 29)]
    places = [*range(total)] if how == "short" else seams
    failed = charged = 0
    for byte in places:
        source = CallbackSource(broken_at(byte, how), exclusive=True)
        with pytest.raises(
            SourceError, match=r"failed while drawing|not return bytes of the requested length"
        ) as caught:
            CALLS[name](source=source, ledger=there)
        assert caught.value.__context__ is None
        failed += 1
        charged += byte >= nonces
        with pytest.raises(SourceError, match="cannot be used again"):
            CALLS[name](source=source, ledger=there)
    assert outcomes(ledger) == ["charged", "source"] * charged
    assert ledger.check().scopes["a"].spent["epsilon"] == charged * PRICE
    assert 0 < failed - charged <= nonces
    CALLS[name](source=CallbackSource(good), ledger=there)
    assert outcomes(ledger)[-2:] == ["charged", "settled" if "vector" in name else "released"]
