"""PostgreSQL's roles, tried by SQL: who may charge cannot spend beyond a cap, edit or approve."""

from __future__ import annotations

import threading
from contextlib import closing
from fractions import Fraction
from typing import Any

import pytest
from ledgers import TERMS, pure, scope
from postgres import needs_postgres
from postgres_roles import APPROVER, CHARGER, OWNER, READER, Place, a_charge, refused
from workers import ended, kinds, start_child

from safeselect import Budget, BudgetError, Ledger, LedgerError, ParameterError
from safeselect.exact.parameters import exact_text
from safeselect.ledger import Row
from safeselect.ledger.balance import add
from safeselect.ledger.record import canonical, record_hash
from safeselect.ledger.stores.postgres import send

pytestmark = [pytest.mark.claim("C9"), needs_postgres]


def test_the_roles_do_their_duties(place: Place) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    scope(ledger).pay(pure()).released("x", b"s" * 32)
    with pytest.raises(LedgerError, match="the role lacks a permission"):
        ledger.add_scope("b", Budget(**TERMS, epsilon=100))
    approving = Ledger.open(place.store(APPROVER))
    approving.add_scope("b", Budget(**TERMS, epsilon=1))
    with pytest.raises(LedgerError, match="the role lacks a permission"):
        scope(approving).pay(pure())
    (scope(ledger) & scope(ledger, "b")).asked("r").pay(pure("9/10"))
    reading = Ledger.open(place.store(READER))
    assert reading.check().head == ledger.head
    for act in (
        lambda: scope(reading).pay(pure()),
        lambda: reading.add_scope("c", Budget(**TERMS, epsilon=1)),
    ):
        with pytest.raises(LedgerError, match="the role lacks a permission"):
            act()
    with pytest.raises(LedgerError, match=r"is not there, or is another's|lacks a permission"):
        Ledger.open(place.store("nobody_at_all"))
    assert reading.balance("a").left == {"epsilon": 0}


def test_a_closed_scope_is_reopened_by_an_approver_alone(place: Place) -> None:
    Ledger.create(place.owner, {"a": Budget(**TERMS, epsilon=1)}, max_refusals=1)
    place.grant()
    ledger = Ledger.open(place.store(CHARGER))
    under_way = scope(ledger).pay(pure())
    scope(ledger).pay(pure()).aborted("input")
    with refused("a scope is closed"):
        place.append(CHARGER, a_charge(ledger))
    released = {"kind": "released", "charge": str(under_way.charge), "commitment": "0" * 64}
    with refused("a scope is closed"):
        place.append(CHARGER, released)
    with pytest.raises(LedgerError, match="the role lacks a permission"):
        ledger.reopen("a", reason="found")
    Ledger.open(place.store(APPROVER)).reopen("a", reason="found")
    under_way.released("x", b"s" * 32)
    scope(ledger).pay(pure())


def test_approvers_sign_and_the_role_writes(place: Place) -> None:
    pytest.importorskip("cryptography")
    from safeselect.ledger import approve
    from safeselect.ledger.signing import Ed25519Signer

    key = Ed25519Signer(b"a" * 32, key_id="a")
    budgets = {
        "a": Budget(**TERMS, epsilon=1, ceiling={"epsilon": "3/2"}),
        "b": Budget(**TERMS, epsilon=1, delta="1e-6", ceiling={"epsilon": 2, "delta": "1e-5"}),
    }
    Ledger.create(place.owner, budgets, approvers=[key.public_key])
    place.grant()
    ledger, approving = Ledger.open(place.store(CHARGER)), Ledger.open(place.store(APPROVER))
    scope(ledger).pay(pure(1))
    wanted = ledger.propose.limit("a", limit="epsilon", to="3/2", reason="x")
    with pytest.raises(LedgerError, match="the role lacks a permission"):
        ledger.enact(wanted, [approve(wanted, key)])
    with pytest.raises(ParameterError, match="requires 1 approvals, but has 0"):
        approving.enact(wanted, [])
    approving.enact(wanted, [approve(wanted, key)])
    scope(ledger).pay(pure("1/2"))
    with refused("exceeds its cap"):
        place.append(CHARGER, beyond(ledger))
    wanted = approving.propose.scope("c", Budget(**TERMS, rho=1))
    approving.enact(wanted, [approve(wanted, key)])
    scope(ledger, "c").pay(pure())
    for limit, to in (("epsilon", "7/4"), ("delta", "1e-5"), ("epsilon", 2)):
        scope(ledger, "b").pay(pure("1/2"))
        wanted = approving.propose.limit("b", limit=limit, to=to, reason="x")
        approving.enact(wanted, [approve(wanted, key)])
    scope(ledger, "b").pay(pure("1/2"))
    assert ledger.balance("b").budget.caps == Budget(**TERMS, epsilon=2, delta="1e-5").caps
    with pytest.raises(BudgetError, match="does not allow"):
        scope(ledger, "b").pay(pure("1/2"))
    assert Ledger.open(place.store(CHARGER)).check().scopes == ledger.scopes()


def test_the_server_raises_up_to_the_ceiling_that_was_stated(place: Place) -> None:
    """It computes no logarithm: the caps of moments are those of the record, judged by readers."""
    budgets = {
        "a": Budget(**TERMS, epsilon=1, delta="1e-6", ceiling={"epsilon": 2}),
        "b": Budget(**TERMS, epsilon=1),
    }
    Ledger.create(place.owner, budgets)
    place.grant()
    scope(Ledger.open(place.store(CHARGER))).pay(pure())
    caps = {name: exact_text(cap) for name, cap in budgets["a"].at("epsilon", TWO).caps.items()}
    fine = {"scope": "a", "limit": "epsilon", "before": "1", "after": "2", "caps": caps}
    approved = [{"key": "x", "signature": "x"}]

    def raised(**changes: Any) -> None:
        about = {"kind": "raised", "utc": "2026-01-01", "reason": "x", "approvals": approved}
        place.append(APPROVER, {**about, **fine, **changes})

    without = {name: cap for name, cap in caps.items() if name != "not_pure"}
    none = "a limit is not raised by this|not of its form"  # there is no ceiling of it
    for changes, said in (
        ({"after": "2000001/1000000"}, "a limit is not raised by this"),
        ({"after": "1"}, "a limit is not raised by this"),
        ({"before": "1/2"}, "a limit is not raised by this"),
        ({"approvals": []}, "a limit is not raised by this"),
        ({"limit": "delta", "before": "1/1000000", "after": "1/100000"}, none),
        ({"limit": "own_delta", "before": "1/4000000", "after": "1/100000"}, none),
        ({"limit": "moment_1", "before": "1", "after": "2"}, none),
        ({"scope": "b"}, none),
        ({"limit": "max_refusals", "before": "10", "after": "11"}, none),
        ({"caps": without}, "a cap is missing, or of an amount that there is not"),
        ({"caps": {**caps, "rho": "1"}}, "a cap is missing, or of an amount that there is not"),
        ({"caps": {**caps, "moment_4": "1"}}, "a cap is missing, or of an amount that there is"),
        ({"caps": {**caps, "epsilon": "x"}}, "invalid input syntax"),
        ({"caps": []}, "no object of texts"),
        ({"reason": " x"}, "not of its form"),
        ({"limit": ["epsilon"]}, "a value is no text"),
        ({"x": "y"}, "the fields of its kind"),
    ):
        with refused(said):
            raised(**changes)
            pytest.fail(str(changes))
    assert Ledger.open(place.store(READER)).check().scopes["a"].budget == budgets["a"]


TWO = Fraction(2)


def test_a_way_without_a_cap_is_closed_on_the_server(place: Place) -> None:
    """A moment whose cap is not positive states none; its sum goes on."""
    place.make(epsilon="1/100", delta="1e-9", ceiling={"epsilon": 5})
    ledger = Ledger.open(place.store(CHARGER))
    assert "moment_1" not in ledger.balance("a").budget.caps
    scope(ledger).pay(pure("1/100"))
    assert ledger.balance("a").spent["moment_1"] > 0
    with refused("exceeds its cap"):
        place.append(CHARGER, a_charge(ledger, "1/1000"))
    assert ledger.check().scopes["a"] == ledger.balance("a")


def test_blocks_and_months_on_the_server(place: Place) -> None:
    Ledger.create(
        place.owner,
        {
            "wards": Budget(**TERMS, epsilon=1, delta="1e-6", blocks=["north", "south"]),
            "year": Budget(
                "person and month", "add_remove", rho=1, blocks=("2026-11", "2027-01"), per="month"
            ),
        },
    )
    place.grant()
    ledger = Ledger.open(place.store(CHARGER))
    assert [*ledger.scopes()] == [
        "wards/north", "wards/south", "year/2026-11", "year/2026-12", "year/2027-01"
    ]  # fmt: skip
    north, south = scope(ledger, "wards/north"), scope(ledger, "wards/south")
    (north & south).pay(pure("1/4"))
    for closed in ("wards", "wards/east", "wards/"):
        charge = {**a_charge(ledger, name="wards/north")["charges"][0], "scope": closed}
        with refused("names no scope"):
            place.append(CHARGER, {**a_charge(ledger, name="wards/north"), "charges": [charge]})
    assert ledger.check().scopes == ledger.scopes()
    for name, blocks, said in (
        ("wards", ["east", "south"], "the name of another one's block"),
        ("wards", [], "duplicate key"),
        ("wards/east", [], "the name of another one's block"),
        ("wards/east", ["x"], "the name of another one's block"),
        ("wards/south", [], "the name of another one's block"),
    ):
        terms = Budget(**TERMS, epsilon=1, blocks=blocks).as_record()
        opened = {"kind": "scope", "utc": "2026-01-01", "scope": name, "terms": terms}
        with refused(said):
            place.append(APPROVER, {**opened, "caps": {"epsilon": "1"}, "max_refusals": "10"})
    charge = a_charge(Ledger.open(place.owner), name="wards/south", scope="wards")
    with refused("names no scope, or a scope is closed"):
        place.append(CHARGER, charge)


def beyond(ledger: Ledger) -> dict[str, Any]:
    """A charge that adds up and exceeds the cap."""
    spent = ledger.balance("a").spent["epsilon"] + Fraction(1, 10)
    return a_charge(ledger, after={"epsilon": str(spent)})


ATTEMPTS = [
    "UPDATE records SET body = 'x'",
    "DELETE FROM records",
    "INSERT INTO records VALUES (9, 'x', 'x', '')",
    "UPDATE scopes SET refusals = 0",
    "UPDATE scopes SET above = below",
    "DELETE FROM forms",
    "BEGIN; LOCK TABLE records IN EXCLUSIVE MODE",
    "ALTER TABLE records DISABLE TRIGGER ALL",
    "CREATE OR REPLACE FUNCTION hold() RETURNS void LANGUAGE sql AS ''",
    "CREATE FUNCTION gcd(numeric, numeric) RETURNS numeric LANGUAGE sql AS 'SELECT 1'",
    "SELECT appended(1, '{}', 'x', 'x', '')",
    "SELECT begun(1)",
    "SELECT open_scope(1, '{}', 'x', '')",
    "SELECT raise_limit(1, '{}', 'x', '')",
    "SELECT replace_key(1, '{}', 'x', '')",
    "SELECT charge_scope('a', '{}')",
    f"SET ROLE {OWNER}",
    f"GRANT {OWNER} TO {CHARGER}",
    "GRANT INSERT ON records TO PUBLIC; INSERT INTO records VALUES (9, 'x', 'x', '')",
    "ALTER SCHEMA {0} OWNER TO lc",
    "SET session_replication_role = replica",
]


@pytest.mark.parametrize("role", [CHARGER, READER, APPROVER])
def test_no_role_writes_to_a_table_or_changes_a_function(place: Place, role: str) -> None:
    ledger = place.make(epsilon=1)
    scope(ledger).pay(pure())
    head = ledger.head
    own = ("open_scope(", "raise_limit(", "replace_key(") if role == APPROVER else ()
    for statement in ATTEMPTS:
        if not any(each in statement for each in own):
            with refused("permission denied|must be owner|must have admin option"):
                place.sql(role, statement.replace("{0}", place.name))
    if role != CHARGER:
        with refused("permission denied"):
            place.append(role, a_charge(ledger))
    assert ledger.check(head=head).head == head
    assert place.sql("owner", "SELECT count(*) FROM scopes") == [(1,)]


def forgeries(ledger: Ledger) -> list[tuple[dict[str, Any], str]]:
    """Charges that no process would write, each with what the server says.

    Those that differ in one value are in `test_postgres_forged.py`.
    """
    spent, fine = {"epsilon": str(ledger.balance("a").spent["epsilon"])}, a_charge(ledger)
    (one,) = fine["charges"]
    nothing = {**one, "charge": {"epsilon": "0"}, "after": spent}
    again = [record.content for record in ledger.records()][2]
    owners = "cannot store records of this kind|permission denied"
    hair = {
        "charge": {"epsilon": f"{9 * 10**29 + 1}/{10**30}"},
        "after": {"epsilon": f"{10**30 + 1}/{10**30}"},
    }
    return [
        (a_charge(ledger, **hair), "exceeds its cap"),
        (a_charge(ledger, charge={"epsilon": "1/1"}), "not in lowest terms"),
        (a_charge(ledger, charge={"epsilon": "1/0"}), "not in lowest terms"),
        (a_charge(ledger, charge={"epsilon": "1/10\n"}), "not of its form"),
        ({**fine, "charges": [nothing]}, "costs nothing"),
        (a_charge(ledger, charge={"rho": "1/10"}), "not of its form"),
        (a_charge(ledger, charge={"epsilon": "1/10", "delta": "0"}), "does not add up"),
        ({"kind": "gift"}, owners),
        ({"kind": "scope", "scope": "b", "terms": {}, "caps": {"epsilon": "9"},
          "max_refusals": "10", "utc": "now"}, owners),
        ({"kind": "raised", "scope": "a", "limit": "max_refusals", "before": "10", "after": "99",
          "caps": {}, "reason": "x", "approvals": [], "utc": "now"}, owners),
        ({"kind": "created", "utc": "x", "library": {}, "signer": {}, "place": {}}, owners),
        ({**fine, "nonce": again["nonce"]}, "duplicate key"),
        ({**fine, "request": again["request"]}, "duplicate key"),
        ({**fine, "": "x"}, "has another spelling"),
        ({"kind": "aborted", "charge": "0", "reason": "error"}, "awaits none"),
    ]  # fmt: skip


def test_the_charger_cannot_forge_a_record(place: Place) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    scope(ledger).asked("r").pay(pure())
    head = ledger.head
    for record, said in forgeries(ledger):
        with refused(said):
            place.append(CHARGER, record)
            pytest.fail(str(record))
    assert ledger.check(head=head).head == head
    # The same by the same way, not forged: the server refuses no record of the library's.
    place.append(CHARGER, a_charge(ledger))
    assert ledger.balance("a").spent == {"epsilon": Fraction(2, 10)}


def test_the_record_is_that_of_the_hash_and_the_signature(place: Place) -> None:
    ledger = place.make(epsilon=1)
    for signature in ("ab", "é", "a", "AB", " "):
        with refused("not signed as the ledger is|not of its form"):
            place.append(CHARGER, a_charge(ledger), signature)
    assert kinds(ledger) == ["created", "scope"]


@pytest.mark.parametrize("text", ["é", "\u20ac", "\U0001f600", "a\\b", 'a"b', "/"])
def test_every_text_has_the_librarys_spelling_on_the_server(place: Place, text: str) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    there = ledger.scope("a", **TERMS, purpose=text)
    there.pay(pure()).released("x", b"s" * 32)
    there.pay(pure(parameters={text: text, "a": text}))
    assert ledger.check().count == 5


def test_totals_whose_denominators_grow_are_rounded_as_the_library_does(place: Place) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    primes = [p for p in range(1000, 2000) if all(p % q for q in range(2, 45))]
    for prime in primes[:110:3]:
        scope(ledger).pay(pure(Fraction(1, prime**4)))
    assert ledger.balance("a").spent["epsilon"].denominator.bit_length() > 1000
    big = Fraction(1, 3**600)
    for _ in range(3):
        scope(ledger).pay(pure(big))
    assert add({"epsilon": Fraction(1, 3)}, {"epsilon": big})
    assert ledger.check().scopes["a"] == ledger.balance("a")


def test_a_charger_with_an_older_snapshot_cannot_charge(place: Place) -> None:
    import psycopg

    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    late = a_charge(ledger, "9/10")
    last = place.sql(READER, "SELECT hash FROM records ORDER BY seq DESC LIMIT 1")[0][0]
    whole = {"schema": "safeselect.record/1", "ledger": ledger.id, "seq": "2", "previous": last}
    body = canonical({**late, **whole})
    row = Row(2, body, record_hash(body), "")
    with closing(psycopg.connect(place.conninfo(CHARGER))) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT count(*) FROM pg_class")
        scope(ledger).pay(pure("9/10"))
        with refused("in a transaction that is read committed"):
            send(connection, place.name, [row], 5)
        connection.rollback()
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        with refused("another record was written meanwhile"):
            send(connection, place.name, [row], 5)
    assert ledger.balance("a").spent == {"epsilon": Fraction(9, 10)}


def test_settings_and_tables_of_a_session_change_no_function(place: Place) -> None:
    """A temporary table or function of the charger's is not what the owner's functions use."""
    import psycopg

    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    record = a_charge(ledger, "2")
    last = place.sql(READER, "SELECT hash FROM records ORDER BY seq DESC LIMIT 1")[0][0]
    whole = {"schema": "safeselect.record/1", "ledger": ledger.id, "seq": "2", "previous": last}
    body = canonical({**record, **whole})
    with closing(psycopg.connect(place.conninfo(CHARGER), autocommit=True)) as connection:
        for statement in (
            "SET standard_conforming_strings = off",
            "SET backslash_quote = on",
            "SET transform_null_equals = on",
            (
                "CREATE TEMP TABLE scopes AS SELECT 'a' AS name, '{}'::jsonb AS terms, 0::bigint "
                "AS refusals, 10::bigint AS max_refusals, ARRAY['epsilon'] AS names, ARRAY[0.0] AS "
                "above, ARRAY[1.0] AS below, ARRAY[100.0] AS cap_above, ARRAY[1.0] AS cap_below"
            ),
            (
                "CREATE FUNCTION pg_temp.gcd(numeric, numeric) RETURNS numeric LANGUAGE sql "
                "AS 'SELECT 1.0'"
            ),
            (
                "CREATE FUNCTION pg_temp.canonical(jsonb, integer) RETURNS text LANGUAGE sql "
                "AS 'SELECT null::text'"
            ),
            f"SET search_path = pg_temp, {place.name}",
        ):
            connection.execute(statement)  # type: ignore[arg-type]
        with refused("exceeds its cap"):
            send(connection, place.name, [Row(2, body, record_hash(body), "")], 5)
    assert ledger.balance("a").spent == {"epsilon": 0}


def test_what_a_grant_refuses(place: Place) -> None:
    place.make(epsilon=1)
    for role, duty, said in (
        ("A", "reader", "role must be a plain lower-case name"),
        ("x; DROP", "reader", "role must be a plain lower-case name"),
        (None, "reader", "role must be a plain lower-case name"),
        (READER, "owner", "duty must be reader, charger or approver"),
    ):
        with pytest.raises(ParameterError, match=said):
            place.owner.grant(role, duty)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="cannot be used"):
        place.owner.grant("not_there", "reader")
    with pytest.raises(LedgerError, match="only the owner of schema"):
        place.store(CHARGER).grant(READER, "charger")


def backends(place: Place) -> set[int]:
    found = place.sql(
        "owner",
        "SELECT pid FROM pg_stat_activity WHERE usename = %s AND application_name = %s",
        values=(CHARGER, place.name),
    )
    return {pid for (pid,) in found}


def test_transactions_share_the_connections_that_are_free(place: Place) -> None:
    place.make(epsilon=1000)
    store = place.store(CHARGER)
    with Ledger.open(store) as ledger:
        (mine,) = backends(place)
        for _ in range(5):
            scope(ledger).pay(pure()).released("x", b"s" * 32)
        thread = threading.Thread(target=lambda: scope(ledger).pay(pure()).released("x", b"s" * 32))
        thread.start()
        thread.join()
        assert backends(place) == {mine}
        found: list[set[int]] = []
        store.read(lambda _: store.read(lambda _: found.append(backends(place))))
        assert len(found[0]) == 2
        assert mine in found[0]
    for _ in range(100):
        if not backends(place):
            break
        threading.Event().wait(0.05)
    assert backends(place) == set()


def test_a_connection_that_the_server_ended_is_made_anew(place: Place) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    scope(ledger).pay(pure())
    place.sql(
        "owner",
        f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{CHARGER}'",  # noqa: S608
    )
    scope(ledger).pay(pure())
    assert kinds(ledger).count("charged") == 2


def test_a_child_has_a_connection_of_its_own_and_leaves_its_parents_open(place: Place) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    scope(ledger).pay(pure())
    before = backends(place)

    def in_child() -> None:
        scope(ledger).pay(pure())
        assert len(backends(place) - before) == 1

    for _ in range(3):
        assert ended(start_child(in_child)) == 0
    scope(ledger).pay(pure())
    assert before <= backends(place)
    assert kinds(ledger).count("charged") == 5


def test_a_handler_in_the_middle_of_a_transaction_gets_another_connection(place: Place) -> None:
    """Its COMMIT must not commit half of what it interrupted."""
    ledger, store = place.make(epsilon=1), place.store(CHARGER)

    def work(journal: Any) -> None:
        assert len(store.read(lambda rows: rows.rows(0, 10))) == 2
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(work)
    scope(Ledger.open(store)).pay(pure())
    assert ledger.check().count == 3
