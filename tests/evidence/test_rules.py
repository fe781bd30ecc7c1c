"""Rules and names: each public mechanism and session with every rule that concerns it.

The table is `support/rules_table.py`.  Rules hold by arguments alone, so they are tested by
what calls return on one and the same tape, and by what source and ledger were asked.
"""

from __future__ import annotations

import inspect
import os
from fractions import Fraction
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from children import in_child
from interrupts import stopped_at
from public import PUBLIC
from rules_table import CALLS, COUNTS, ELSEWHERE, EPSILON, EVERY, ROWS, SESSIONS, Case
from tapes import TapeSource

import engine
import safeselect
from safeselect import Budget, BudgetError, Ledger, ParameterError, SourceError
from safeselect.promises.guarantees import guarantee_record
from safeselect.testing import DeterministicSource

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


# ------------------------------------------------------------------------------- the table


def drawing() -> dict[str, Any]:
    """All public names that take a source."""
    found = {}
    for name, value in PUBLIC.items():
        if inspect.isfunction(value) or inspect.isclass(value):
            try:
                parameters = inspect.signature(value).parameters
            except ValueError:
                continue
            # A result tells the name of its source; what takes one can do without.
            if "source" in parameters and parameters["source"].default is None:
                found[name] = value
    return found


def test_every_public_name_that_draws_is_in_the_table():
    assert set(drawing()) == {case.name for case in EVERY.values()} | ELSEWHERE.keys()


def test_every_word_for_a_mechanism_or_noise_is_in_the_table():
    for name, value in drawing().items():
        if name in ELSEWHERE:
            continue
        hints = get_type_hints(value.__init__ if inspect.isclass(value) else value)
        for place in ("mechanism", "noise"):
            hint = hints.get(place)
            kinds = [hint, *get_args(hint)]
            words = {w for kind in kinds if get_origin(kind) is Literal for w in get_args(kind)}
            given = {case.fixed.get(place) for case in EVERY.values() if case.name == name}
            assert words <= given, (name, place)


# ------------------------------------------------------------------------------- what is said


def scope_of(neighbours: str = "add_remove", **limits: Any) -> tuple[Ledger, Any]:
    budget = Budget(
        "person", neighbours, **(limits or {"epsilon": 1, "delta": "1/10", "own_delta": "1/10"})
    )
    ledger = Ledger.create(":memory:", {"a": budget})
    return ledger, ledger.scope("a", unit="person", neighbours=neighbours, purpose="a test")


OUTCOMES = ("charged", "released", "settled", "aborted")
SETTLED = tuple(SESSIONS)
"""A session that tells at its end what it used."""


def kinds(ledger: Ledger) -> list[str]:
    found = [record.content for record in ledger.records()]
    return [each["kind"] for each in found if each["kind"] in OUTCOMES]


# ------------------------------------------------------------------------------- neighbours


@pytest.mark.claim("C2")
@pytest.mark.parametrize("name", EVERY)
def test_monotonic_scores_are_refused_where_neighbours_replace(name):
    """Before anything is charged or drawn; without `monotonic` the same call is accepted."""
    case = EVERY[name]
    ledger, there = scope_of("replace_one")
    source = TapeSource()
    more = {"monotonic": True} if case.monotonic else {}
    with pytest.raises(ParameterError, match="requires add/remove neighbours"):
        case.run(source=source, ledger=there, **more)
    assert kinds(ledger) == []
    assert (source.asked, source.begun) == (0, 0)
    if case.monotonic:
        case.run(ledger=there)
        assert kinds(ledger)[0] == "charged"


# ------------------------------------------------------------------------------- calibration


@pytest.mark.claim("C2")
@pytest.mark.parametrize("name", [name for name in CALLS if "many" in name])
def test_a_row_that_is_not_exact_counts_wherever_it_stands(name):
    """First, in the middle or last: the noise of all other rows is the same.

    Whether such a row is refused or widens the change of all, its place is no matter.
    """
    case, found = CALLS[name], []
    usual = [0.0, 8.0, 16.0, 24.0, 32.0]
    for place in (0, 5, 11):
        rows = [list(usual) for _ in range(12)]
        rows[place] = [0.3, 8.3, 16.3, 24.3, 32.3]
        outcome = []
        for seed in range(12):
            try:
                result = case.run(
                    rows, source=TapeSource(seed=seed), sensitivity="1/4", grid=1, epsilon=1
                )
            except safeselect.SafeSelectError as error:
                outcome.append([type(error).__name__])
            else:
                outcome.append(np.delete(result.indices, (0, 5, 11), axis=0).tolist())
        found.append(outcome)
    assert found[0] == found[1] == found[2]


# ------------------------------------------------------------------------------- the ledger


class Looking(TapeSource):
    """Notes what was charged at each request."""

    def __init__(self, ledger: Ledger, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self._ledger = ledger
        self.seen: list[Any] = []

    def fill(self, buffer: Any, /) -> None:
        self.seen.append(self._ledger.balance("a").spent["epsilon"])
        super().fill(buffer)


@pytest.mark.claim("C8")
@pytest.mark.parametrize("name", EVERY)
def test_one_charge_before_the_first_bit_and_never_another(name):
    case = EVERY[name]
    ledger, there = scope_of()
    source = Looking(ledger)
    made = case.run(source=source, ledger=there)
    assert set(source.seen) == {Fraction(EPSILON)}
    if case.ask is not None:
        for _ in range(2):
            case.ask(made)
        many = getattr(made, "query_many", None)
        if many is not None:
            many([-(10**6)] * 3)
        made.close()
    assert set(source.seen) == {Fraction(EPSILON)}
    assert kinds(ledger) == ["charged", "settled" if name.startswith(SETTLED) else "released"]
    spent = ledger.balance("a").spent
    assert spent["epsilon"] == made.guarantee.epsilon == Fraction(EPSILON)
    assert spent["own_delta"] == case.delta
    assert made.receipt is not None
    ledger.check()


@pytest.mark.claim("C8")
@pytest.mark.parametrize("name", EVERY)
def test_the_record_says_what_was_charged_and_for_what(name):
    """Mechanism, guarantee and parts as in the result; source, nonce, and every public number."""
    case = EVERY[name]
    ledger, there = scope_of()
    source = TapeSource(seed=3)
    made = case.run(source=source, ledger=there)
    record = next(r.content for r in ledger.records() if r.content["kind"] == "charged")
    mechanism = getattr(made, "mechanism", None) or "pay_what_you_get_gumbel/1"
    assert record["mechanism"] == mechanism
    assert record["guarantee"] == guarantee_record(made.guarantee)
    assert source.name in repr(record["source"])
    assert record["nonce"] in {n.to_bytes(16, "big").hex() for n in range(1, source.begun + 1)}
    told_there = record["parameters"]
    for place in ("k", "outcomes", "queries"):
        if place in case.fixed:
            assert told_there[place] == str(case.fixed[place])
    for place in ("threshold", "max_contributions"):
        if place in case.fixed:
            assert Fraction(told_there[place]) == case.fixed[place]
    if case.monotonic:
        assert (told_there["monotonic"], Fraction(told_there["sensitivity"])) == ("no", 1)
    if case.ask is None:
        shape = np.shape(case.scores) if case.monotonic else None
        if shape is not None:
            extra = case.name == "top_k_above"
            assert int(told_there["candidates"]) - shape[-1] in (0, int(extra))
            assert told_there.get("rows") == (str(shape[0]) if len(shape) > 1 else None)
        parts = sum(int(each["count"]) for each in record["parts"])
        assert parts == len(getattr(made, "parts", (made.guarantee,)))


@pytest.mark.claim("C8")
@pytest.mark.parametrize("name", EVERY)
def test_what_the_budget_does_not_allow_draws_nothing(name):
    case = EVERY[name]
    ledger, there = scope_of(epsilon="1/9", delta="1/10", own_delta="1/10")
    source = TapeSource()
    with pytest.raises(BudgetError, match="does not allow this release"):
        case.run(source=source, ledger=there)
    assert (source.asked, kinds(ledger)) == (0, [])


@pytest.mark.claim("C8")
@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("name", EVERY)
def test_a_failure_keeps_the_charge(name, after):
    """At the first request, which is the salt's, and at the next: no result, no refund."""
    case = EVERY[name]
    ledger, there = scope_of()
    source = TapeSource(seed=2, lasts=after)

    def work() -> None:
        made = case.run(source=source, ledger=there)
        if case.ask is not None:
            case.ask(made)

    with pytest.raises(SourceError, match="device is gone"):
        work()
    assert ledger.balance("a").spent["epsilon"] == Fraction(EPSILON)
    assert kinds(ledger)[0] == "charged"


# ------------------------------------------------------------------------------- requests


def extremes(case: Case) -> list[Any]:
    if not case.monotonic:
        return [COUNTS, dict.fromkeys("abc", 10**9), {"a": 1}, {}]
    rows = case.scores is ROWS
    each = [[0, 0, 0], [0, 2**40, -(2**40)], [-(2**62), 7, 2**62], [5, 5, 4]]
    return [[scores] * 3 if rows else scores for scores in each]


@pytest.mark.claim("C4")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("with_ledger", [False, True])
def test_what_is_asked_of_the_source_depends_on_no_score(name, with_ledger):
    """The same requests for all scores and tapes; where k_bar is chosen they follow from it."""
    case = CALLS[name]
    if name == "unknown pair":
        case = Case(
            **{f: getattr(case, f) for f in ("name", "cost", "scores", "ask", "monotonic")},
            fixed={"k": 2, "k_bar": (3, 3), "places": "all"},
        )
    found = set()
    for scores in extremes(case):
        for seed in range(3):
            source = TapeSource(seed=seed)
            more = {"ledger": scope_of()[1]} if with_ledger else {}
            case.run(scores, source=source, **more)
            found.add(tuple(source.events))
    assert len(found) == 1


@pytest.mark.claim("C4")
@pytest.mark.parametrize("name", SESSIONS)
def test_what_a_query_asks_depends_on_no_value(name):
    case, found = SESSIONS[name], set()
    values = extremes(case) if not case.monotonic else [-(10**6), 0, 5, 10**6, 2**70, -(2**70)]
    for value in values:
        for seed in range(3):
            source = TapeSource(seed=seed)
            made = case.run(source=source)
            case.ask(made, value) if value != {} else made.query({}, k=2, k_bar=2, places="all")
            found.add(tuple(source.events))
    assert len(found) == 1


# ------------------------------------------------------------------------------- wiped


@pytest.mark.claim("C10")
@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("name", [*CALLS, "PayWhatYouGet"])
def test_private_copies_and_unused_bits_are_wiped(name, failing, monkeypatch):
    """All scores that the engine was given, and the bits, whether the call returns or fails."""
    case = EVERY[name]
    kept, drawn = engine.keep(monkeypatch)
    source = TapeSource(lasts=0) if failing else TapeSource(seed=1)
    try:
        made = case.run(source=source)
        if case.ask is not None:
            case.ask(made)
    except SourceError:
        assert failing
    else:
        assert not failing
    assert kept
    assert not any(array.any() for array in kept)
    assert drawn
    for bits in drawn:
        with pytest.raises(SourceError, match="closed"):
            bits.take(1)


@pytest.mark.parametrize("name", [name for name in SESSIONS if "Sparse" in name])
def test_a_session_that_is_over_holds_no_noise(name):
    """Closed, exhausted, failed or interrupted: no noise or bits are left; each says why."""
    case = SESSIONS[name]
    closed = case.run()
    closed.close()
    exhausted = case.run(epsilon=100)
    while exhausted.remaining:
        exhausted.query(10**9)
    source = TapeSource(lasts=10**4)
    failed = case.run(source=source)
    source._lasts = 0
    with pytest.raises(SourceError, match="device is gone"):
        failed.query(1)
    source._lasts = 10**9
    interrupted = case.run()
    assert "_draw" in stopped_at(lambda: interrupted.query(1), 41, KeyboardInterrupt()).place
    for session, kind, words in (
        (closed, ParameterError, "closed"),
        (exhausted, BudgetError, "has released all"),
        (failed, SourceError, "ended because an answer"),
        (interrupted, SourceError, "ended because an answer"),
    ):
        for ask in (lambda s=session: s.query(1), lambda s=session: s.query_many([1, 2])):
            with pytest.raises(kind, match=words):
                ask()
        assert engine.noise_of_session(session) is None
        with pytest.raises(SourceError, match="closed"):
            engine.bits_of_session(session).take(1)


# ------------------------------------------------------------------------------- forks


@needs_fork
@pytest.mark.claim("C6")
@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_is_refused_after_a_fork_whatever_is_asked_of_it(name):
    """In a child, one query or many; in the parent it goes on, and its budget is its own."""
    case = SESSIONS[name]
    made = case.run()
    case.ask(made)
    assert in_child(lambda: repr(case.ask(made)).encode()) == "SourceError"
    if hasattr(made, "query_many"):
        assert in_child(lambda: repr(made.query_many([1, 2])).encode()) == "SourceError"
        assert in_child(lambda: repr(made.query_many([])).encode()) == "SourceError"

    def closed_there() -> bytes:
        made.close()
        return repr(case.ask(made)).encode()

    assert in_child(closed_there) in ("SourceError", "BudgetError")
    case.ask(made)


@needs_fork
@pytest.mark.claim("C6")
def test_a_ledgered_session_that_a_child_closes_is_not_settled_by_it(tmp_path):
    path = tmp_path / "budget.db"
    ledger = Ledger.create(path, {"a": Budget("person", "add_remove", epsilon=1, delta="1/10")})
    there = ledger.scope("a", unit="person", neighbours="add_remove", purpose="p")
    session = SESSIONS["PayWhatYouGet"].run(ledger=there)

    def close() -> bytes:
        session.close()
        return b"closed"

    in_child(close)
    assert kinds(Ledger.open(path)) == ["charged"]
    session.close()
    assert kinds(Ledger.open(path)) == ["charged", "settled"]


@needs_fork
@pytest.mark.claim("C6")
@pytest.mark.parametrize("name", EVERY)
def test_a_source_that_is_not_for_forks_is_refused_in_a_child(name):
    """The bytes of a callback could be the parent's again."""
    case = EVERY[name]
    source = safeselect.sources.CallbackSource(os.urandom, exclusive=True)
    case.run(source=source)

    def work() -> bytes:
        made = case.run(source=source)
        return repr(case.ask(made) if case.ask else made).encode()

    assert in_child(work) == "SourceError"


# ------------------------------------------------------------------------------- production


@pytest.mark.claim("C7")
@pytest.mark.parametrize("name", EVERY)
def test_where_only_production_is_allowed(name, monkeypatch):
    """No source for tests; the same call without it is accepted."""
    case = EVERY[name]
    seeded = DeterministicSource(b"x", i_understand_this_is_not_private=True)
    monkeypatch.setenv("SAFESELECT_REQUIRE_PRODUCTION", "1")
    with pytest.raises(ParameterError, match="SAFESELECT_REQUIRE_PRODUCTION"):
        case.run(source=seeded)
    case.run()


@pytest.mark.parametrize("name", EVERY)
def test_a_source_for_tests_is_named_in_the_result(name):
    case = EVERY[name]
    made = case.run(source=DeterministicSource(b"x", i_understand_this_is_not_private=True))
    named = made.source if hasattr(made, "source") else case.ask(made).source
    assert "NOT PRIVATE" in named
