"""One release of each mechanism, for rules that hold of all, and sources that others may write."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from fractions import Fraction
from hashlib import shake_256
from typing import Any

from safeselect.audit.finding import Refuted
from safeselect.audit.mechanisms import LISTS, ONE_SHOT, OTHERS, SESSIONS
from safeselect.audit.tables import KEYS, MEASURES
from safeselect.mechanisms.unknown import PayWhatYouGet

_EQUAL = 1000  # equal candidates; four winners are the same by chance with probability 10**-12


class OpenSSLSource:
    """A foreign source with the name of one of the package's own: the same stream each time."""

    name = "OpenSSLSource"
    production = True

    def __init__(self, seed: bytes) -> None:
        self._seed, self._count = seed, 0

    def begin(self) -> bytes:
        """Sixteen bytes of the stream."""
        return self._next(16)

    def fill(self, buffer: Any, /) -> None:
        """Bytes of the stream."""
        buffer[:] = self._next(len(buffer))

    def _next(self, size: int) -> bytes:
        self._count += 1
        return shake_256(b"%d " % self._count + self._seed).digest(size)


class Stuck(OpenSSLSource):
    def __init__(self) -> None:
        super().__init__(b"")

    def fill(self, buffer: Any, /) -> None:
        buffer[:] = bytes(len(buffer))


def release(name: str, **more: Any) -> Any:
    """A release; of a session, the session after one answer."""
    if (case := ONE_SHOT.get(name)) is not None:
        return case.run([[3, 5, 4]] * 3 if case.shape == "rows" else [3, 5, 4], **more)
    if (listed := LISTS.get(name)) is not None:
        given = {"epsilon": 1, "delta": "1/1000000", **listed.arguments, **more}
        return listed.ask({"a": 900, "b": 905}, k=2, k_bar=2, places="all", **given)
    if name in KEYS:
        return KEYS[name].run({1: 900, 2: 1}, **more)
    if name in MEASURES:
        return MEASURES[name].run([900, -3], **more)
    if name in OTHERS:
        return OTHERS[name].release(**more)
    session = SESSIONS[name].open(**{**_session(name), **more})
    session.query(5)
    session.query_many([-(10**9), 5])
    session.close()
    return session


def _session(name: str) -> dict[str, Any]:
    return {"threshold": 5, "k": 9, "epsilon": 1, "sensitivity": 1, "noise": SESSIONS[name].noise}


def fingerprint(name: str, **more: Any) -> Hashable:
    """Something released that is the same by chance with probability below 2**-30."""
    if (case := ONE_SHOT.get(name)) is not None:
        rows = case.shape == "rows"
        scores = [[7] * 400] * 4 if rows else [7] * _EQUAL
        calls = (case.run(scores, **more) for _ in range(1 if rows else 4))
        return tuple(place for call in calls for place in case.places(call))
    if (listed := LISTS.get(name)) is not None:
        given = {"delta": "1/1000000", **listed.arguments, **more}
        if listed.noise == "laplace":
            counts = dict.fromkeys(range(4), 10**9)
            found = listed.ask(counts, k=4, k_bar=4, places="all", epsilon="1/1000000", **given)
            return tuple(sorted(zip(found.labels, found.counts, strict=True)))
        counts = dict.fromkeys(range(500), 10**9)
        calls = (
            listed.ask(counts, k=2, k_bar=500, places="all", epsilon=1, **given) for _ in range(2)
        )
        return tuple(found.labels for found in calls)
    if name in KEYS:
        # With four users a key is kept about one time in three.
        return tuple(KEYS[name].ask(dict.fromkeys(range(300), 4), **more)[1])
    if name in MEASURES:
        noisy: Hashable = MEASURES[name].run([0] * 60, **more).values
        return noisy
    if name in OTHERS:
        return OTHERS[name].fingerprint(**more)
    whole = SESSIONS[name].noise == "geometric"
    fine = {"epsilon": "1/1000000000"} if whole else {"gap_grid": Fraction(1, 1 << 40)}
    session = SESSIONS[name].open(**{**_session(name), **fine, **more})
    gap: Hashable = session.query(10**15).gap
    return gap


def open_session(name: str) -> Callable[[], Hashable] | None:
    """Of a session that is open, what asks it once more; None for a mechanism without sessions."""
    if name in SESSIONS:
        session = SESSIONS[name].open(**_session(name))
        return lambda: session.query(5).above
    if name.startswith("pay_what_you_get"):
        listed = PayWhatYouGet(outcomes=40, queries=9, epsilon=1, delta="1/1000000")
        return lambda: listed.query({"a": 900}, k=1, k_bar=1, places="all").labels
    return None


def source_of(result: Any) -> str:
    """The name of its source, as a result carries it."""
    return str(result.source)


def refused(kind: type[Exception], name: str, **more: Any) -> None:
    """See that a release is refused with such an error.

    Raises:
        Refuted: it was not.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release(name, **more)
    except kind:
        return
    raise Refuted("what must be refused was released")
