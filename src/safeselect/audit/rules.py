"""Rules of every mechanism: the charge comes first, a fork shares nothing, sources are known.

Whatever is looked at here follows from arguments and from the order of events, so a single release
shows it; where two releases are compared, they agree by chance with probability below 2**-30.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from hashlib import shake_256
from typing import Any

from safeselect.audit.finding import Refuted
from safeselect.audit.mechanisms import LISTS, ONE_SHOT, SESSIONS
from safeselect.errors import BudgetError, ParameterError, SafeSelectError, SourceError
from safeselect.ledger import Budget, Ledger
from safeselect.promises.records import guarantee_record
from safeselect.sessions import PayWhatYouGet
from safeselect.sources import OpenSSLSource as Ours
from safeselect.testing import DeterministicSource

__all__ = ["check_charge", "check_fork", "check_sources"]

_VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"
_EQUAL = 1000  # equal candidates; four winners are the same by chance with probability 10**-12
_UNIT = "person"


def check_charge(name: str, every: int) -> str:
    """A ledger is charged once, before the first bit, what the result states; failures keep it.

    Raises:
        Refuted: a bit was drawn before, or another amount, or another number of charges.
    """
    _charged_first(name)
    _refused_draws_nothing(name)
    _a_failure_keeps_the_charge(name)
    _replaced_neighbours(name)
    return "one charge, before the first bit, of what the result states; kept when the source fails"


def check_fork(name: str, every: int) -> str:
    """A child and its parent release different things, and a child cannot use an open session.

    Raises:
        Refuted: they release the same, or the child was answered.
    """
    if not hasattr(os, "fork"):
        return "this system has no fork"
    _fingerprint(name)  # so that the source is warm, and has bytes to share if it kept any
    first, second = (_in_child(lambda: _fingerprint(name)) for _ in range(2))
    ours = repr(_fingerprint(name))
    if len({first, second, ours}) < 3:
        raise Refuted("a process and its children release the same")
    ask = _open_session(name)
    if ask is not None:
        ask()
        if _in_child(ask) != "SourceError":
            raise Refuted("a child answers with its parent's noise")
        ask()
    return "a child's releases are its own" + (
        "" if ask is None else ", sessions are refused there"
    )


def check_sources(name: str, every: int) -> str:
    """Foreign sources are mixed with the system's bytes; seeds and stuck devices are refused.

    Raises:
        Refuted: a predictable source decided a release, or passed for one of this package's.
    """
    found = _run(name, source=OpenSSLSource(b"a stream that somebody knows"))
    if _source_of(found) != "ForeignSource(OpenSSLSource)":
        raise Refuted("a foreign source passes for one of this package's own")
    same = [_fingerprint(name, source=OpenSSLSource(b"the same stream")) for _ in range(2)]
    if same[0] == same[1]:
        raise Refuted("a predictable source decides a release")
    _refused(SourceError, name, source=_Stuck())
    for seed in (7, b"seed", OpenSSLSource):
        _refused(ParameterError, name, source=seed)
    with warnings.catch_warnings(), _production(""):
        warnings.simplefilter("ignore")
        seeded = DeterministicSource(b"known", i_understand_this_is_not_private=True)
        if "NOT PRIVATE" not in _source_of(_run(name, source=seeded)):
            raise Refuted("a result does not say that its source is for tests")
    with _production("1"):
        _refused(ParameterError, name, source=seeded)
        _refused(ParameterError, name, engine="reference")
        if _source_of(_run(name, source=Ours())) != "OpenSSLSource":
            raise Refuted("a result names another source")
    return "foreign sources are named and mixed; seeds, stuck and predictable sources are refused"


# ---- sources that somebody else may write


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


class _Stuck(OpenSSLSource):
    def __init__(self) -> None:
        super().__init__(b"")

    def fill(self, buffer: Any, /) -> None:
        buffer[:] = bytes(len(buffer))


class _Witness(OpenSSLSource):
    """Notes what was charged at each request; fails from a request on, if it is told to."""

    name = "witness"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(os.urandom(16))
        self._ledger = ledger
        self.seen: list[Fraction] = []
        self.failing = False

    def fill(self, buffer: Any, /) -> None:
        self.seen.append(self._ledger.balance("a").spent["epsilon"])
        if self.failing:
            raise OSError
        super().fill(buffer)


# ---- one release of each mechanism


def _run(name: str, **more: Any) -> Any:
    """A release; of a session, the session after one answer."""
    if (case := ONE_SHOT.get(name)) is not None:
        return case.run([[3, 5, 4]] * 3 if case.shape == "rows" else [3, 5, 4], **more)
    if (listed := LISTS.get(name)) is not None:
        given = {"epsilon": 1, "delta": "1/1000000", **listed.arguments, **more}
        return listed.ask({"a": 900, "b": 905}, k=2, k_bar=2, places="all", **given)
    session = SESSIONS[name].open(**{**_session(name), **more})
    session.query(5)
    session.query_many([-(10**9), 5])
    session.close()
    return session


def _session(name: str) -> dict[str, Any]:
    return {"threshold": 5, "k": 9, "epsilon": 1, "sensitivity": 1, "noise": SESSIONS[name].noise}


def _fingerprint(name: str, **more: Any) -> Hashable:
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
    whole = SESSIONS[name].noise == "geometric"
    fine = {"epsilon": "1/1000000000"} if whole else {"gap_grid": Fraction(1, 1 << 40)}
    session = SESSIONS[name].open(**{**_session(name), **fine, **more})
    gap: Hashable = session.query(10**15).gap
    return gap


def _open_session(name: str) -> Callable[[], Hashable] | None:
    """Of a session that is open, what asks it once more; None for a mechanism without sessions."""
    if name in SESSIONS:
        session = SESSIONS[name].open(**_session(name))
        return lambda: session.query(5).above
    if name.startswith("pay_what_you_get"):
        listed = PayWhatYouGet(outcomes=40, queries=9, epsilon=1, delta="1/1000000")
        return lambda: listed.query({"a": 900}, k=1, k_bar=1, places="all").labels
    return None


def _source_of(result: Any) -> str:
    return str(result.source)


# ---- the ledger


def _ledger(neighbours: str = "add_remove", **caps: Any) -> tuple[Ledger, Any]:
    budget = Budget(_UNIT, neighbours, **(caps or {"epsilon": 10, "delta": "1/5"}))
    ledger = Ledger.create(":memory:", {"a": budget})
    return ledger, ledger.scope("a", unit=_UNIT, neighbours=neighbours, purpose="verification")


def _outcomes(ledger: Ledger) -> list[str]:
    kinds = [str(record.content["kind"]) for record in ledger.records()]
    return [kind for kind in kinds if kind in ("charged", "released", "settled", "aborted")]


def _witnessed(name: str, source: Any, scope: Any) -> Any:
    """A release whose source was tested before, so that its first request is the release's."""
    return _run(name, source=source, ledger=scope)


def _charged_first(name: str) -> None:
    ledger, scope = _ledger()
    source = _Witness(ledger)
    with _tested(source, name):
        result = _witnessed(name, source, scope)
    spent = ledger.balance("a").spent
    guarantee = result.guarantee
    if not source.seen or set(source.seen) != {spent["epsilon"]}:
        raise Refuted("bits were drawn before the ledger was charged")
    if spent["epsilon"] != _whole_cost(name) or spent["epsilon"] != guarantee.epsilon:
        raise Refuted("what was charged is not what was asked for")
    if spent["delta"] != getattr(guarantee, "delta", 0) and name in LISTS:
        raise Refuted("the delta that was charged is not what was asked for")
    if _outcomes(ledger) not in (["charged", "released"], ["charged", "settled"]):
        raise Refuted("there is not one charge with one outcome")
    record = next(each.content for each in ledger.records() if each.content["kind"] == "charged")
    if record["mechanism"] != name or record["guarantee"] != guarantee_record(guarantee):
        raise Refuted("the record of the charge names another mechanism or guarantee")
    if name not in LISTS and getattr(result, "receipt", None) is None:
        raise Refuted("a release on a ledger has no receipt")
    ledger.check()


def _whole_cost(name: str) -> Fraction:
    if name in ONE_SHOT:
        return Fraction(ONE_SHOT[name].cost["epsilon"])
    return Fraction(1)


def _refused_draws_nothing(name: str) -> None:
    ledger, scope = _ledger(epsilon="1/9", delta="1/5")
    source = _Witness(ledger)
    with _tested(source, name):
        _refused(BudgetError, name, source=source, ledger=scope)
    if source.seen or _outcomes(ledger):
        raise Refuted("a release that the budget does not allow draws bits")


def _a_failure_keeps_the_charge(name: str) -> None:
    ledger, scope = _ledger()
    source = _Witness(ledger)
    with _tested(source, name):
        source.failing = True
        _refused(SafeSelectError, name, source=source, ledger=scope)
    if ledger.balance("a").spent["epsilon"] != _whole_cost(name):
        raise Refuted("a release that failed gave its charge back")
    if set(_outcomes(ledger)) & {"released"}:
        raise Refuted("a release that failed is recorded as released")


def _replaced_neighbours(name: str) -> None:
    """Where neighbours replace, scores move both ways: `monotonic` must be refused, uncharged."""
    ledger, scope = _ledger("replace_one")
    more = {"monotonic": True} if name in SESSIONS else {}
    _refused(ParameterError, name, ledger=scope, **more)
    if _outcomes(ledger):
        raise Refuted("a release that is refused was charged")


@contextmanager
def _tested(source: _Witness, name: str) -> Iterator[None]:
    """Let the guard test the source first, which draws bytes that go into no release."""
    _run(name, source=source)
    source.seen.clear()
    yield


def _refused(kind: type[Exception], name: str, **more: Any) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _run(name, **more)
    except kind:
        return
    raise Refuted("what must be refused was released")


@contextmanager
def _production(value: str) -> Iterator[None]:
    """The variable that allows only production, set for a while."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before


def _in_child(work: Callable[[], Hashable]) -> str:
    """What a forked child's work returned, or the name of its error."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forks in a process with threads
        child = os.fork()
    if not child:
        try:
            os.close(ours)
            try:
                said = repr(work())
            except Exception as error:  # noqa: BLE001 - it is told to the parent
                said = type(error).__name__
            os.write(theirs, said.encode()[:4096])
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(child, 0)
    return said
