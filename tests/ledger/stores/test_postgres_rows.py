"""What a charger can write to PostgreSQL, and what becomes of a commit whose reply is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from ledgers import TERMS, pure, scope
from postgres import Server, needs_postgres
from postgres_roles import APPROVER, CHARGER, READER, Place, a_charge, refused
from workers import ended, kinds

import safeselect
from safeselect import Budget, BudgetError, Ledger, LedgerDamaged, LedgerError, RepeatedRequest
from safeselect.ledger import Ed25519Signer, book, set_aside
from safeselect.ledger import scope as scope_module
from safeselect.ledger.stores import postgres

pytestmark = [pytest.mark.claim("C9"), needs_postgres]

KEY = Ed25519Signer(b"k" * 32, key_id="k")
FALSE = "ab" * 64


TIMES = {"day": "2028-02-29", "hour": "2026-12-31T23Z", "minute": "2026-01-01T00:59Z"}
FALSE_TIMES = ["2027-02-29", "infinity", "10000-01-01", "10000-01-01T0Z", "10000-01-01T00:0Z"]


def test_a_time_is_exactly_as_fine_as_the_ledgers_clock(place: Place) -> None:
    place.make(epsilon=1)
    about: dict[str, Any] = {"kind": "scope", "caps": {"epsilon": "1"}, "max_refusals": "10"}
    about["terms"] = Budget(**TERMS, epsilon=1).as_record()
    for clock, fine in TIMES.items():
        place.sql("owner", "UPDATE state SET clock = %s", values=(clock,))
        for wrong in {*TIMES.values(), *FALSE_TIMES} - {fine}:
            with refused("not as fine|out of range|invalid input"):
                place.append(APPROVER, {**about, "scope": clock, "utc": wrong})
        place.append(APPROVER, {**about, "scope": clock, "utc": fine})


def test_a_false_signature_is_set_aside_and_nothing_is_forgotten(place: Place) -> None:
    place.make(signer=KEY, epsilon=1)
    mine = Ledger.open(place.store(CHARGER), signer=KEY)
    waiting = [scope(mine).asked(f"w{n}").pay(pure("1/20")) for n in range(3)]
    under_way = scope(mine).asked("under way").pay(pure("1/20"))
    head, forged = mine.head, a_charge(mine, "1/10")
    request = {"id": "a" * 64, "asked": "b" * 64}
    place.append(CHARGER, {**forged, "request": request}, FALSE)
    twin = pure("1/10", nonce=bytes.fromhex(forged["nonce"]))
    for number, outcome in enumerate(
        (
            {"kind": "aborted", "reason": "input"},
            {"kind": "aborted", "reason": "error"},
            {"kind": "released", "commitment": "0" * 64},
        )
    ):
        place.append(CHARGER, {**outcome, "charge": str(waiting[number].charge)}, FALSE)
    for use in (
        lambda: scope(mine).pay(pure()),
        lambda: mine.balance("a"),
        lambda: Ledger.open(place.store(READER)).check(public_keys=[KEY.public_key]),
        lambda: Ledger.open(place.store(CHARGER), signer=KEY),
        lambda: under_way.released("x", b"s" * 32),
    ):
        with pytest.raises(LedgerDamaged, match=r"the signature of record \d is wrong"):
            use()
    why = {"reason": "the charger's role was used by somebody else"}
    with pytest.raises(safeselect.ParameterError, match="signer is not the"):
        set_aside(place.owner, signer=Ed25519Signer(b"x" * 32, key_id="x"), **why)
    with pytest.raises(LedgerError, match="lacks a permission"):
        set_aside(place.store(CHARGER), signer=KEY, **why)
    first = int(head.split(":")[0]) + 1
    assert set_aside(place.owner, signer=KEY, head=head, **why) == (first, first + 3)
    with pytest.raises(safeselect.ParameterError, match="nothing to set aside"):
        set_aside(place.owner, signer=KEY, **why)
    for ledger in (mine, Ledger.open(place.store(CHARGER), signer=KEY)):
        balance = ledger.check(public_keys=[KEY.public_key], head=head).scopes["a"]
        assert (balance.spent, balance.refusals) == ({"epsilon": Fraction(3, 10)}, 1)
        with pytest.raises(safeselect.SourceError, match="a nonce that this ledger already has"):
            scope(ledger).pay(twin)
        with pytest.raises(RepeatedRequest, match="was aborted"):
            scope(ledger).asked("w0").pay(pure("1/20"))
    with refused("duplicate key"):
        place.append(CHARGER, {**a_charge(mine), "request": request}, FALSE)
    assert (
        mine.check().count
        == Ledger.open(place.store(READER)).check(public_keys=[KEY.public_key]).count
    )
    under_way.released("x", b"s" * 32)
    scope(mine).pay(pure()).released("x", b"s" * 32)
    assert kinds(mine)[-4:] == ["repaired", "released", "charged", "released"]
    last = [record.content for record in mine.records()][first + 4]
    said = str(first), str(first + 3), why["reason"]
    assert (last["first"], last["last"], last["reason"]) == said


def test_only_the_key_sets_a_signature_aside(place: Place) -> None:
    """A record of kind "repaired" with a wrong signature is refused as every other."""
    place.make(signer=KEY, epsilon=1)
    mine = Ledger.open(place.store(CHARGER), signer=KEY)
    with refused("not signed as the ledger is"):
        place.append(CHARGER, a_charge(mine))
    place.append(CHARGER, a_charge(mine), FALSE)
    forged = {"kind": "repaired", "utc": "2026-01-01", "first": "2", "last": "2", "reason": "x"}
    with refused("permission denied"):
        place.append(CHARGER, forged, FALSE)
    place.append("owner", forged, FALSE)
    for use in (
        lambda: scope(mine).pay(pure()),
        lambda: Ledger.open(place.store(READER)).check(public_keys=[KEY.public_key]),
    ):
        with pytest.raises(LedgerDamaged, match="the signature of record 3 is wrong"):
            use()


def test_a_commit_is_durable_whatever_the_role_says(server: Server, place: Place) -> None:
    place.make(epsilon=1)
    import psycopg

    place.sql("owner", f"ALTER ROLE {CHARGER} SET synchronous_commit = off")
    place.sql("owner", f"ALTER ROLE {CHARGER} SET default_transaction_isolation = 'serializable'")
    try:
        ledger = Ledger.open(place.store(CHARGER))
        scope(ledger).pay(pure()).released("x", b"s" * 32)
        with closing(psycopg.connect(place.conninfo(CHARGER))) as connection:
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
            connection.execute(f"SELECT {place.name}.begin_charge(0, 1, 7)")  # type: ignore[arg-type]
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
            assert connection.execute("SHOW lock_timeout").fetchone() == ("7s",)
    finally:
        place.sql("owner", f"ALTER ROLE {CHARGER} RESET ALL")
    assert ledger.check().count == 4


Commit = Callable[[Any, Callable[[], Any]], Any]


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Commit]]:
    """What happens in the next commits of writers, in place of them."""
    import psycopg

    execute, plan, writing = psycopg.ClientCursor.execute, list[Commit](), set[int]()

    def planned(self: Any, query: Any, *more: Any, **options: Any) -> Any:
        if "begin_charge" in query:
            writing.add(id(self.connection))
        alone = self.connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        is_sent = alone and (".charge(" in query or ".settle(" in query)
        if is_sent or (query.endswith("COMMIT") and id(self.connection) in writing):
            writing.discard(id(self.connection))
            if plan:
                commit = partial(execute, self, query, *more, **options)
                return plan.pop(0)(self.connection, commit)
        return execute(self, query, *more, **options)

    monkeypatch.setattr(psycopg.ClientCursor, "execute", planned)
    yield plan
    plan.clear()


def lose(connection: Any) -> None:
    import psycopg

    connection.close()
    raise psycopg.OperationalError("the connection is lost")


def before(connection: Any, _: Callable[[], Any]) -> None:
    """The server never gets the commit."""
    lose(connection)


def after(connection: Any, commit: Callable[[], Any]) -> None:
    """The server commits, and its reply is lost."""
    commit()
    lose(connection)


@pytest.mark.parametrize("lost", [[before], [after], [before, after], [after, before]])
def test_a_lost_reply_is_asked_for_and_charged_once(
    place: Place, commits: list[Commit], lost: list[Commit]
) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    there = scope(ledger).asked("r")
    commits += lost
    pending = there.pay(pure())
    assert commits == []
    commits += lost
    pending.released("x", b"s" * 32)
    assert (commits, kinds(ledger)) == ([], ["created", "scope", "charged", "released"])
    assert ledger.balance("a").spent == {"epsilon": Fraction(1, 10)}
    with pytest.raises(RepeatedRequest, match="was released"):
        there.pay(pure())


@pytest.mark.parametrize("lost", [[before], [after], [before, after]])
def test_what_an_owner_adds_is_there_once_whose_reply_was_lost(
    place: Place, commits: list[Commit], lost: list[Commit]
) -> None:
    place.make(signer=KEY, epsilon=1)
    ledger = Ledger.open(place.store(CHARGER), signer=KEY)
    place.append(CHARGER, a_charge(ledger), FALSE)
    commits += lost
    assert set_aside(place.owner, signer=KEY, reason="x") == (2, 2)
    assert (commits, kinds(ledger)) == ([], ["created", "scope", "charged", "repaired"])


@pytest.mark.parametrize("first", [before, after])
def test_a_reply_that_cannot_be_asked_for_withholds_the_answer(
    place: Place, commits: list[Commit], first: Commit
) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    commits += [first, before, before, before]
    with pytest.raises(LedgerError, match="nothing is released") as caught:
        scope(ledger).pay(pure())
    assert caught.value.try_again is False
    assert (commits, kinds(ledger).count("charged")) == ([], first is after)
    scope(ledger).pay(pure())


def test_a_lost_reply_is_asked_for_however_much_others_wrote_meanwhile(
    place: Place, commits: list[Commit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "_RECENT", 3)
    place.make(epsilon=1)
    mine, other = (Ledger.open(place.store(CHARGER)) for _ in range(2))

    def crowded(connection: Any, commit: Callable[[], Any]) -> None:
        commit()
        for _ in range(4):
            scope(other).pay(pure("1/100"))
        lose(connection)

    commits.append(crowded)
    pending = scope(mine).asked("r").pay(pure())
    commits.append(crowded)
    assert (pending.charge, pending.released("x").record) == (2, 7)
    assert kinds(mine)[2:] == ["charged"] * 5 + ["released"] + ["charged"] * 4


def test_another_record_in_the_place_of_a_lost_one_is_decided_on(
    place: Place, commits: list[Commit]
) -> None:
    """What was offered can no longer stand: it is decided anew, on the new total."""
    place.make(epsilon=1)
    mine, other = (Ledger.open(place.store(CHARGER)) for _ in range(2))

    taken = ["1/4", "1/2"]

    def overtaken(connection: Any, _: Callable[[], Any]) -> None:
        connection.close()
        scope(other).pay(pure(taken.pop()))
        lose(connection)

    commits.append(overtaken)
    scope(mine).pay(pure("1/4"))
    assert kinds(mine) == ["created", "scope", "charged", "charged"]
    assert mine.check().scopes["a"].spent == {"epsilon": Fraction(3, 4)}
    commits.append(overtaken)
    with pytest.raises(BudgetError, match="does not allow this release"):
        scope(mine).pay(pure("1/4"))


def test_a_child_does_not_go_on_with_its_parents_charge(
    place: Place, commits: list[Commit]
) -> None:
    place.make(epsilon=1)
    ledger, children = Ledger.open(place.store(CHARGER)), list[int]()

    def fork(connection: Any, commit: Callable[[], Any]) -> Any:
        children.append(os.fork())
        return lose(connection) if children == [0] else commit()

    commits.append(fork)
    code = 1
    try:
        pending = scope(ledger).pay(pure())
    except LedgerError as error:
        code = 0 if "forked during a call of its parent process" in str(error) else 1
        if children != [0]:
            raise
    finally:
        if children == [0]:
            os._exit(code)
    assert ended(children[0]) == 0
    pending.released("x", b"s" * 32)
    assert kinds(ledger) == ["created", "scope", "charged", "released"]


@pytest.mark.parametrize(
    ("code", "again", "said"),
    [
        ("53100", True, "out of space"),
        ("42501", False, "lacks a permission"),
        ("P0001", False, "contradicts earlier rows"),
        ("55P03", True, "is locked by another writer"),
    ],
)
def test_an_error_carries_the_servers_code_and_whether_to_try_again(
    place: Place, code: str, again: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.make(epsilon=1)
    ledger, name = Ledger.open(place.store(CHARGER)), place.name
    pending = scope(ledger).pay(pure())
    place.sql(
        "owner",
        f"CREATE FUNCTION {name}.fails() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{code}'; END$$",
        f"CREATE TRIGGER fails BEFORE INSERT ON {name}.records EXECUTE FUNCTION {name}.fails()",
    )
    with pytest.raises(LedgerError, match=said) as caught:
        scope(ledger).pay(pure())
    assert (caught.value.sqlstate, caught.value.try_again) == (code, again)
    assert f"(SQLSTATE {code})" in str(caught.value)
    assert ("try again" in str(caught.value)) == again
    assert "nothing was charged" in str(caught.value)
    monkeypatch.setattr(scope_module, "OUTCOME_WAIT", 0)
    said = "the ledger was locked" if code == "55P03" else rf"{said}.* \(SQLSTATE {code}\)"
    with pytest.raises(
        safeselect.ChargeStands, match=f"record 2 remains, .*: .*{said}; a session"
    ) as caught:
        pending.released("x")
    assert "nothing was charged" not in str(caught.value)
    place.sql("owner", f"DROP TRIGGER fails ON {name}.records")
    scope(ledger).pay(pure())
    assert kinds(ledger) == ["created", "scope", "charged", "charged"]


def test_own_deltas_and_one_way_stay_within_their_caps_on_the_server(place: Place) -> None:
    caps, much = place.make(epsilon=1, delta="1/10").balance("a").budget.caps, "1000"
    own = {"own_delta": str(caps["own_delta"])}
    closed = {"moment_1": much, "moment_2": much, "not_pure": "1"}
    one_way = {"epsilon": "1/10", "moment_3": much}
    for asked, is_refused in ((own, False), (own, True), (one_way, False), (closed, True)):
        price = json.dumps(dict.fromkeys(caps, "0") | asked)
        with refused("exceeds its cap") if is_refused else nullcontext():
            place.sql("owner", f"SELECT {place.name}.charge_scope('a', '{price}')")


def watched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is sent from now on."""
    import psycopg

    execute, sent = psycopg.ClientCursor.execute, list[str]()

    def counted(self: Any, query: Any, *more: Any, **options: Any) -> Any:
        sent.append(query)
        return execute(self, query, *more, **options)

    monkeypatch.setattr(psycopg.ClientCursor, "execute", counted)
    return sent


def test_who_writes_alone_sends_one_statement_and_who_meets_another_queues(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.make(epsilon=100)
    mine, other = (Ledger.open(place.store(CHARGER)) for _ in range(2))
    there, sent = scope(mine), watched(monkeypatch)
    there.pay(pure()).released("x", b"s" * 32)
    assert [query.partition("(")[0] for query in sent] == [
        f"SELECT {place.name}.charge",
        f"SELECT {place.name}.settle",
    ]
    scope(other).pay(pure())
    for _ in range(22):  # the first is refused by the server, 20 queue, the last is alone again
        sent.clear()
        there.pay(pure())
        locked = sum("begin_charge" in query for query in sent)
        assert (len(sent), locked) in ((1, 0), (2, 1), (3, 1))  # nobody runs after others
    assert len(sent) == 1
    assert mine.check().count == other.check().count == 27


def test_what_is_refused_without_the_lock_is_judged_anew(place: Place) -> None:
    """A refusal is told of all records, never of those that were seen alone."""
    place.make(epsilon=1)
    mine, other = (Ledger.open(place.store(CHARGER)) for _ in range(2))
    there, same = (scope(each).asked("r") for each in (mine, other))
    there.pay(pure()).released("x", b"s" * 32)
    with pytest.raises(RepeatedRequest, match="was released"):
        same.pay(pure())
    for _ in range(9):
        scope(mine).pay(pure())
    for ledger in (mine, other):
        with pytest.raises(BudgetError, match="does not allow"):
            scope(ledger).pay(pure())
    assert other.check().count == 13


def test_a_long_read_is_made_without_the_lock(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    place.make(epsilon=100)
    mine, other = (Ledger.open(place.store(CHARGER)) for _ in range(2))
    there = scope(mine)
    for _ in range(8):
        scope(other).pay(pure())
    monkeypatch.setattr(postgres, "_MANY", 5)
    execute, locked = psycopg.ClientCursor.execute, list[bool]()

    def looked(self: Any, query: Any, *more: Any, **options: Any) -> Any:
        done = execute(self, query, *more, **options)
        if "begin_charge" in query:
            try:
                place.sql("owner", "SELECT FROM state FOR UPDATE NOWAIT")
                locked.append(False)
            except psycopg.errors.LockNotAvailable:
                locked.append(True)
        return done

    monkeypatch.setattr(psycopg.ClientCursor, "execute", looked)
    there.pay(pure())
    # With the lock it looks, too, whether the record that it sent without the lock is there.
    assert (locked, mine.check().count) == ([False, False, True, True], 11)
