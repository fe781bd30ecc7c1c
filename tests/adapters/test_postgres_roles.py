"""PostgreSQL's roles, tried by SQL: who may charge cannot spend beyond a cap, edit or approve."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, chained, new, pure, scope
from postgres import Server, needs_postgres, running_server
from workers import ended, kinds, start_child

from safeselect import (
    Budget,
    BudgetError,
    HmacSigner,
    Ledger,
    LedgerDamaged,
    LedgerError,
    ParameterError,
    RepeatedRequest,
)
from safeselect.adapters.postgres import PostgresStore
from safeselect.ledger.entries import amounts, charged
from safeselect.ledger.records.budget import add
from safeselect.ledger.records.record import canonical, record_hash

pytestmark = [pytest.mark.claim("C9"), needs_postgres]

OWNER, CHARGER, APPROVER, READER = "lo", "lc", "la", "lr"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as started:
        import psycopg

        with psycopg.connect(started.conninfo, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {OWNER} NOLOGIN")
            for role in (CHARGER, APPROVER, READER, "nobody_at_all"):
                connection.execute(f"CREATE ROLE {role} LOGIN")
            connection.execute(f"GRANT CREATE ON DATABASE postgres TO {OWNER}")
        yield started


class Place:
    """A ledger that a role without login owns, and how each role connects to it."""

    def __init__(self, server: Server, name: str) -> None:
        self.server, self.name = server, name
        self.owner = PostgresStore(f"{server.conninfo} options='-c role={OWNER}'", schema=name)

    def make(self, signer: Any = None, **budget: object) -> Ledger:
        ledger = new(self.owner, signer=signer, **budget)
        self.owner.grant(CHARGER, "charger")
        self.owner.grant(APPROVER, "approver")
        self.owner.grant(READER, "reader")
        return ledger

    def conninfo(self, role: str) -> str:
        named = f"{self.server.conninfo} application_name={self.name}"
        return named.replace("user=owner", f"user={role}")

    def store(self, role: str) -> PostgresStore:
        return PostgresStore(self.conninfo(role), schema=self.name)

    def sql(self, role: str, *statements: str, values: Any = None) -> Any:
        import psycopg

        with closing(psycopg.connect(self.conninfo(role), autocommit=True)) as connection:
            connection.execute(f"SET search_path = {self.name}")
            for statement in statements:
                cursor = connection.execute(statement, values)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else None

    def append(self, role: str, record: dict[str, Any], function: str = "append") -> None:
        """Call the function with this record, numbered, chained and hashed as it should be."""
        last = self.sql(READER, "SELECT seq, hash, body FROM records ORDER BY seq DESC LIMIT 1")[0]
        ledger = json.loads(last[2])["ledger"]
        whole = {"schema": "safeselect.record/2", "ledger": ledger, "seq": str(last[0] + 1)}
        body = canonical({**whole, "previous": last[1], **record})
        self.sql(role, f"SELECT {function}(%s, %s, '')", values=(body, record_hash(body)))


@pytest.fixture
def place(server: Server, request: pytest.FixtureRequest) -> Place:
    return Place(server, f"r{abs(hash(request.node.name))}")


def a_charge(ledger: Ledger, epsilon: object = "1/10", **changes: Any) -> dict[str, Any]:
    """The record of a charge as the library would write it, and then changed."""
    balance, charge = ledger.balance("a"), pure(epsilon)
    price = balance.budget.price(charge.guarantee, charge.parts)
    record = {"kind": "charged", "utc": "2025-01-01", **charged("a test", charge)}
    record["charges"] = [{**amounts("a", balance, price), **changes}]
    return record


def refused(match: str = ".") -> Any:
    import psycopg

    return pytest.raises(psycopg.DatabaseError, match=match)


def test_the_roles_do_their_duties(place: Place) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    scope(ledger).begin(pure()).released("x", b"s" * 32)
    with pytest.raises(LedgerError, match="the role lacks a permission"):
        ledger.add_scope("b", Budget(**TERMS, epsilon=100))
    approving = Ledger.open(place.store(APPROVER))
    approving.add_scope("b", Budget(**TERMS, epsilon=1))
    with pytest.raises(LedgerError, match="the role lacks a permission"):
        scope(approving).begin(pure())
    (scope(ledger) & scope(ledger, "b")).asked("r").begin(pure("9/10"))
    reading = Ledger.open(place.store(READER))
    assert reading.check().head == ledger.head
    for act in (
        lambda: scope(reading).begin(pure()),
        lambda: reading.add_scope("c", Budget(**TERMS, epsilon=1)),
    ):
        with pytest.raises(LedgerError, match="the role lacks a permission"):
            act()
    with pytest.raises(LedgerError, match=r"is not there, or is another's|lacks a permission"):
        Ledger.open(place.store("nobody_at_all"))
    assert reading.balance("a").left == {"epsilon": 0}


def test_a_closed_scope_is_reopened_by_an_approver_alone(place: Place) -> None:
    Ledger.create(place.owner, {"a": Budget(**TERMS, epsilon=1)}, max_refusals=1)
    for role, duty in ((CHARGER, "charger"), (APPROVER, "approver"), (READER, "reader")):
        place.owner.grant(role, duty)  # type: ignore[arg-type]
    ledger = Ledger.open(place.store(CHARGER))
    under_way = scope(ledger).begin(pure())
    scope(ledger).begin(pure()).aborted("input")
    with refused("a scope is closed"):
        place.append(CHARGER, a_charge(ledger))
    released = {"kind": "released", "charge": str(under_way.charge), "commitment": "0" * 64}
    with refused("a scope is closed"):
        place.append(CHARGER, released)
    with pytest.raises(LedgerError, match="the role lacks a permission"):
        ledger.reopen("a", reason="found")
    Ledger.open(place.store(APPROVER)).reopen("a", reason="found")
    under_way.released("x", b"s" * 32)
    scope(ledger).begin(pure())


def test_approvers_sign_and_the_role_writes(place: Place) -> None:
    pytest.importorskip("cryptography")
    from safeselect.adapters.ed25519 import Ed25519Signer
    from safeselect.ledger import approve

    key = Ed25519Signer(b"a" * 32, key_id="a")
    budgets = {
        "a": Budget(**TERMS, epsilon=1),
        "b": Budget(**TERMS, epsilon=1, delta="1e-6", order=20),
    }
    Ledger.create(place.owner, budgets, approvers=[key])
    place.owner.grant(CHARGER, "charger")
    place.owner.grant(APPROVER, "approver")
    place.owner.grant(READER, "reader")
    ledger, approving = Ledger.open(place.store(CHARGER)), Ledger.open(place.store(APPROVER))
    scope(ledger).begin(pure(1))
    wanted = ledger.propose.limit("a", limit="epsilon", to="3/2", reason="x")
    with pytest.raises(LedgerError, match="the role lacks a permission"):
        ledger.enact(wanted, [approve(wanted, key)])
    with pytest.raises(ParameterError, match="needs 1 approvals and has 0"):
        approving.enact(wanted, [])
    approving.enact(wanted, [approve(wanted, key)])
    scope(ledger).begin(pure("1/2"))
    with refused("exceeds its cap"):
        place.append(CHARGER, beyond(ledger))
    wanted = approving.propose.scope("c", Budget(**TERMS, rho=1))
    approving.enact(wanted, [approve(wanted, key)])
    scope(ledger, "c").begin(pure())
    wanted = approving.propose.limit("b", limit="epsilon", to=2, reason="x")
    with pytest.raises(LedgerError, match="contradicts the rows before it"):
        approving.enact(wanted, [approve(wanted, key)])
    assert Ledger.open(place.store(CHARGER)).check().scopes == ledger.scopes()


def beyond(ledger: Ledger) -> dict[str, Any]:
    """A charge that adds up and exceeds the cap."""
    spent = ledger.balance("a").spent["epsilon"] + Fraction(1, 10)
    return a_charge(ledger, after={"epsilon": str(spent)})


ATTEMPTS = [
    "UPDATE records SET body = 'x'",
    "DELETE FROM records",
    "TRUNCATE records",
    "INSERT INTO records VALUES (9, 'x', 'x', '')",
    'UPDATE scopes SET spent = \'{"epsilon": "0"}\'',
    'UPDATE scopes SET caps = \'{"epsilon": "100"}\'',
    "UPDATE state SET count = 0",
    "DELETE FROM nonces",
    "DELETE FROM open_charges",
    "INSERT INTO kinds VALUES ('x', ARRAY['x'])",
    "SELECT * FROM state FOR UPDATE",
    "BEGIN; LOCK TABLE records IN EXCLUSIVE MODE",
    "ALTER TABLE records DISABLE TRIGGER ALL",
    "DROP TABLE records",
    "DROP FUNCTION begin_charge()",
    "CREATE OR REPLACE FUNCTION begin_charge() RETURNS void LANGUAGE sql AS ''",
    "CREATE FUNCTION gcd(numeric, numeric) RETURNS numeric LANGUAGE sql AS 'SELECT 1'",
    "CREATE TABLE more (x text)",
    "SELECT put('x', 'x', '', ARRAY['scope'])",
    "SELECT approve('x', 'x', '')",
    "SELECT charge_scopes('[]')",
    "SELECT open_scope('{}')",
    "SELECT raise_limit('{}')",
    "SELECT follow_outcome('{}')",
    f"SET ROLE {OWNER}",
    f"SET SESSION AUTHORIZATION {OWNER}",
    f"GRANT {OWNER} TO {CHARGER}",
    "GRANT INSERT ON records TO PUBLIC; INSERT INTO records VALUES (9, 'x', 'x', '')",
    "ALTER SCHEMA {0} OWNER TO lc",
    "SET session_replication_role = replica",
]


@pytest.mark.parametrize("role", [CHARGER, READER])
def test_no_role_writes_to_a_table_or_changes_a_function(place: Place, role: str) -> None:
    ledger = place.make(epsilon=1)
    scope(ledger).begin(pure())
    head = ledger.head
    for statement in ATTEMPTS:
        with refused("permission denied|must be owner|must have admin option"):
            place.sql(role, statement.replace("{0}", place.name))
    assert ledger.check(head=head).head == head
    assert place.sql("owner", "SELECT count(*) FROM scopes") == [(1,)]


def test_an_approver_writes_to_no_table_and_charges_nothing(place: Place) -> None:
    ledger = place.make(epsilon=1)
    for statement in ATTEMPTS:
        if "approve(" not in statement:
            with refused("permission denied|must be owner|must have admin option"):
                place.sql(APPROVER, statement.replace("{0}", place.name))
    with refused("permission denied"):
        place.append(APPROVER, a_charge(ledger))
    with refused("of this kind is not written here"):
        place.append(APPROVER, a_charge(ledger), "approve")


def forgeries(ledger: Ledger) -> dict[str, tuple[dict[str, Any], str]]:
    """Charges that no process would write, each with what the server says."""
    spent = {"epsilon": str(ledger.balance("a").spent["epsilon"])}
    fine = a_charge(ledger)
    (one,) = fine["charges"]
    nothing = {**one, "charge": {"epsilon": "0"}, "after": one["before"]}
    again = [record.content for record in ledger.records()][2]
    return {
        "beyond the cap": (
            a_charge(ledger, charge={"epsilon": "1"}, after={"epsilon": "11/10"}),
            "exceeds its cap",
        ),
        "a hair beyond the cap": (
            a_charge(
                ledger,
                charge={"epsilon": f"{9 * 10**29 + 1}/{10**30}"},
                after={"epsilon": f"{10**30 + 1}/{10**30}"},
            ),
            "exceeds its cap",
        ),
        "the total reset": (
            a_charge(ledger, before={"epsilon": "0"}, after={"epsilon": "1/10"}),
            "does not continue the total",
        ),
        "not added": (a_charge(ledger, after=spent), "does not add up"),
        "added too little": (a_charge(ledger, after={"epsilon": "11/100"}), "does not add up"),
        "added too much": (a_charge(ledger, after={"epsilon": "1/2"}), "does not add up"),
        "not in lowest terms": (
            a_charge(ledger, charge={"epsilon": "10/100"}), "not in lowest terms"
        ),
        "over one": (a_charge(ledger, charge={"epsilon": "1/1"}), "not in lowest terms"),
        "negative": (
            a_charge(ledger, charge={"epsilon": "-1/10"}, after={"epsilon": "0"}),
            "a number is none",
        ),
        "over zero": (a_charge(ledger, charge={"epsilon": "1/0"}), "a number is none"),
        "no number": (a_charge(ledger, charge={"epsilon": "NaN"}), "a number is none"),
        "a line break": (a_charge(ledger, charge={"epsilon": "1/10\n"}), "cannot be printed"),
        "free": ({**fine, "charges": [nothing]}, "costs nothing"),
        "another amount": (
            a_charge(ledger, charge={"rho": "1/10"}), "does not continue the total"
        ),
        "more amounts": (
            a_charge(ledger, charge={"epsilon": "1/10", "delta": "0"}),
            "does not continue the total",
        ),
        "no scope": ({**fine, "charges": []}, "names no scope"),
        "scopes that are no list": ({**fine, "charges": {}}, "names no scope"),
        "another scope": (a_charge(ledger, scope="b"), "names no scope"),
        "a scope twice": ({**fine, "charges": [one, one]}, "one twice"),
        "other terms": (
            a_charge(ledger, terms={**one["terms"], "budget": {"epsilon": "100"}}),
            "does not continue the total",
        ),
        "another field": (a_charge(ledger, more="x"), "a charge has other fields"),
        "another kind": ({**fine, "kind": "gift"}, "of this kind is not written here"),
        "a new scope": (
            {"kind": "scope", "scope": "b", "terms": one["terms"], "caps": {"epsilon": "9"},
             "max_refusals": "10", "utc": "now"},
            "of this kind is not written here",
        ),
        "a raised limit": (
            {"kind": "raised", "scope": "a", "limit": "max_refusals", "before": "10", "after": "99",
             "reason": "x", "approvals": [], "utc": "now"},
            "of this kind is not written here",
        ),
        "a second ledger": (
            {"kind": "created", "utc": "x", "library": {}, "signer": {}, "place": {}},
            "of this kind is not written here",
        ),
        "carried totals": (
            {"kind": "carried", "scopes": {}, "open": {}, "nonces": "", "requests": ""},
            "of this kind is not written here",
        ),
        "an old nonce": ({**fine, "nonce": again["nonce"]}, "duplicate key"),
        "no nonce": ({**fine, "nonce": "x"}, "has not 16 bytes"),
        "an old request": ({**fine, "request": again["request"]}, "duplicate key"),
        "no request": ({**fine, "request": {"id": "x", "asked": "x"}}, "no two hashes"),
        "one more field": ({**fine, "more": "x"}, "has not the fields of its kind"),
        "another place": ({**fine, "seq": "9"}, "does not follow the one before"),
        "another predecessor": ({**fine, "previous": "0" * 64}, "does not follow the one before"),
        "another ledger": ({**fine, "ledger": "0" * 32}, "does not follow the one before"),
        "the old schema": (
            {**fine, "schema": "safeselect.record/1"}, "does not follow the one before"
        ),
        "an outcome of none": (
            {"kind": "aborted", "charge": "0", "reason": "error"}, "awaits none"
        ),
        "an outcome of no place": (
            {"kind": "aborted", "charge": "2 ", "reason": "error"}, "names no charge"
        ),
        "an outcome without a reason": (
            {"kind": "aborted", "charge": "2", "reason": "mercy"}, "a reason is none"
        ),
        "an unprintable text": ({**fine, "purpose": "a\tb"}, "cannot be printed"),
    }  # fmt: skip


def test_the_charger_cannot_forge_a_record(place: Place) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    scope(ledger).asked("r").begin(pure())
    head = ledger.head
    attempts = forgeries(ledger)
    assert len(attempts) > 35
    for name, (record, said) in attempts.items():
        with refused(said):
            place.append(CHARGER, record)
            pytest.fail(name)
    assert ledger.check(head=head).head == head
    # The same by the same way, not forged: the server refuses no record of the library's.
    place.append(CHARGER, a_charge(ledger))
    assert ledger.balance("a").spent == {"epsilon": Fraction(2, 10)}


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.replace('"kind"', ' "kind"'),
        lambda body: body[:-1] + ',"kind":"charged"}',
        lambda body: body.replace('{"charges":[', '{"charges":[],"charges":['),
        lambda body: body.replace('"a test"', '"\\u0061 test"'),
        lambda body: body.replace('"a test"', '"é"'),
        lambda body: body.replace('"a test"', "7"),
        lambda body: body.replace('"a test"', "null"),
        lambda body: body.replace('"a test"', "true"),
        lambda body: body.replace('"a test"', '"\\u0000"'),
        lambda body: body.replace('"a test"', '"\\ud800"'),
        lambda body: body + " ",
        lambda body: "[" + body + "]",
        lambda body: "",
        lambda body: "x" * 300_000,
    ],
)
def test_a_record_has_one_spelling(place: Place, change: Callable[[str], str]) -> None:
    """A second one could be read in one way by the server and in another by a process."""
    ledger = place.make(epsilon=1)
    (_, hash_, _), *_ = place.sql(READER, "SELECT seq, hash, 1 FROM records ORDER BY seq DESC")
    whole = {"schema": "safeselect.record/2", "ledger": ledger.id, "seq": "2", "previous": hash_}
    body = change(canonical({**a_charge(ledger), **whole}))
    with refused():
        place.sql(CHARGER, "SELECT append(%s, %s, '')", values=(body, record_hash(body)))
    with refused("has another hash"):
        fine = canonical({**a_charge(ledger), **whole})
        place.sql(CHARGER, "SELECT append(%s, %s, '')", values=(fine, record_hash(body)))
    with refused("not signed as the ledger is"):
        place.sql(CHARGER, "SELECT append(%s, %s, 'ab')", values=(fine, record_hash(fine)))
    assert kinds(ledger) == ["created", "scope"]


@pytest.mark.parametrize(
    "text", ["é", "ÿ", "\u20ac", "\U0001f600", "a\\b", 'a"b', "/", '\u00e9\\\U00010000"', "日本"]
)
def test_every_text_has_the_librarys_spelling_on_the_server(place: Place, text: str) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    there = ledger.scope("a", **TERMS, purpose=text)
    there.begin(pure()).released("x", b"s" * 32)
    assert ledger.check().count == 4


def test_totals_whose_denominators_grow_are_rounded_as_the_library_does(place: Place) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    primes = [p for p in range(1000, 2000) if all(p % q for q in range(2, 45))]
    for prime in primes[:110:3]:
        scope(ledger).begin(pure(Fraction(1, prime**4)))
    assert ledger.balance("a").spent["epsilon"].denominator.bit_length() > 1000
    big = Fraction(1, 3**600)
    for _ in range(3):
        scope(ledger).begin(pure(big))
    assert add({"epsilon": Fraction(1, 3)}, {"epsilon": big})
    assert ledger.check().scopes["a"] == ledger.balance("a")


def test_a_charger_with_an_older_snapshot_cannot_charge(place: Place) -> None:
    import psycopg

    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    late = a_charge(ledger, "9/10")
    last = place.sql(READER, "SELECT hash FROM records ORDER BY seq DESC LIMIT 1")[0][0]
    whole = {"schema": "safeselect.record/2", "ledger": ledger.id, "seq": "2", "previous": last}
    body = canonical({**late, **whole})
    with closing(psycopg.connect(place.conninfo(CHARGER))) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute(f"SET search_path = {place.name}")
        connection.execute("SELECT count(*) FROM records")
        scope(ledger).begin(pure("9/10"))
        with refused("could not serialize"):
            connection.execute("SELECT append(%s, %s, '')", (body, record_hash(body)))
        connection.rollback()
        with refused("does not follow the one before"):
            connection.execute(f"SET search_path = {place.name}").execute(
                "SELECT append(%s, %s, '')", (body, record_hash(body))
            )
    assert ledger.balance("a").spent == {"epsilon": Fraction(9, 10)}


def test_settings_and_tables_of_a_session_change_no_function(place: Place) -> None:
    """A temporary table or function of the charger's is not what the owner's functions use."""
    import psycopg

    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    record = a_charge(ledger, "2")
    last = place.sql(READER, "SELECT hash FROM records ORDER BY seq DESC LIMIT 1")[0][0]
    whole = {"schema": "safeselect.record/2", "ledger": ledger.id, "seq": "2", "previous": last}
    body = canonical({**record, **whole})
    with closing(psycopg.connect(place.conninfo(CHARGER), autocommit=True)) as connection:
        for statement in (
            "SET standard_conforming_strings = off",
            "SET backslash_quote = on",
            "SET transform_null_equals = on",
            (
                "CREATE TEMP TABLE scopes AS SELECT 'a' AS name, '{}'::jsonb AS terms, "
                '\'{"epsilon": "100"}\'::jsonb AS caps, \'{"epsilon": "0"}\'::jsonb AS spent, '
                "0::bigint AS refusals, 10::bigint AS max_refusals"
            ),
            (
                "CREATE FUNCTION pg_temp.gcd(numeric, numeric) RETURNS numeric LANGUAGE sql "
                "AS 'SELECT 1.0'"
            ),
            (
                "CREATE FUNCTION pg_temp.canonical(jsonb) RETURNS text LANGUAGE sql "
                "AS 'SELECT null::text'"
            ),
            f"SET search_path = pg_temp, {place.name}",
        ):
            connection.execute(statement)  # type: ignore[arg-type]
        with refused("exceeds its cap"):
            connection.execute(
                f"SELECT {place.name}.append(%s, %s, '')",
                (body, record_hash(body)),  # type: ignore[arg-type]
            )
    assert ledger.balance("a").spent == {"epsilon": 0}


def test_a_signed_ledger_on_the_server(place: Place) -> None:
    signer = HmacSigner(b"k" * 32, key_id="k")
    place.make(signer=signer, epsilon=1)
    ledger = Ledger.open(place.store(CHARGER), signer=signer)
    scope(ledger).begin(pure()).released("x", b"s" * 32)
    with refused("not signed as the ledger is"):
        place.append(CHARGER, a_charge(ledger))
    assert ledger.check(verifier=signer).count == 4


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


def test_a_schema_of_format_1_is_used_as_it_is(server: Server, place: Place) -> None:
    made = (Path(__file__).parents[1] / "support" / "postgres_format_1.sql").read_text("utf-8")
    elsewhere = Place(server, f"{place.name}_b")
    ledger = elsewhere.make(epsilon=1)
    scope(ledger).begin(pure()).released("x", b"s" * 32)
    rows = elsewhere.sql(READER, "SELECT * FROM records ORDER BY seq")
    place.sql("owner", f"CREATE SCHEMA {place.name}", made)
    for row in rows:
        place.sql("owner", "INSERT INTO records VALUES (%s, %s, %s, %s)", values=row)
    place.sql(
        "owner",
        f"GRANT USAGE ON SCHEMA {place.name} TO {CHARGER}",
        f"GRANT SELECT, INSERT ON {place.name}.records TO {CHARGER}",
        f"GRANT SELECT ON {place.name}.format TO {CHARGER}",
    )
    old = Ledger.open(place.store(CHARGER))
    assert old.head == ledger.head
    scope(old).asked("r").begin(pure()).released("x", b"s" * 32)
    old.add_scope("b", Budget(**TERMS, epsilon=1))
    (scope(old) & scope(old, "b")).begin(pure("8/10"))
    with pytest.raises(BudgetError, match="does not allow this release: it costs epsilon"):
        scope(old).begin(pure())
    assert old.check().count == 8
    with pytest.raises(LedgerError, match="is not of format 2"):
        PostgresStore(server.conninfo, schema=place.name).grant(CHARGER, "charger")


def backends(place: Place) -> set[int]:
    found = place.sql(
        "owner",
        "SELECT pid FROM pg_stat_activity WHERE usename = %s AND application_name = %s",
        values=(CHARGER, place.name),
    )
    return {pid for (pid,) in found}


def test_a_thread_keeps_one_connection(place: Place) -> None:
    place.make(epsilon=1000)
    store = place.store(CHARGER)
    with Ledger.open(store) as ledger:
        (mine,) = backends(place)
        for _ in range(5):
            scope(ledger).begin(pure()).released("x", b"s" * 32)
        assert backends(place) == {mine}
        meanwhile: list[set[int]] = []

        def other() -> None:
            scope(ledger).begin(pure()).released("x", b"s" * 32)
            meanwhile.append(backends(place))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert len(meanwhile[0]) == 2
        assert mine in meanwhile[0]
    for _ in range(100):
        if not backends(place):
            break
        threading.Event().wait(0.05)
    assert backends(place) == set()


def test_a_connection_that_the_server_ended_is_made_anew(place: Place) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    scope(ledger).begin(pure())
    place.sql(
        "owner",
        f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{CHARGER}'",  # noqa: S608
    )
    scope(ledger).begin(pure())
    assert kinds(ledger).count("charged") == 2


def test_a_child_has_a_connection_of_its_own_and_leaves_its_parents_open(place: Place) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    scope(ledger).begin(pure())
    before = backends(place)

    def in_child() -> None:
        scope(ledger).begin(pure())
        assert len(backends(place) - before) == 1

    for _ in range(3):
        assert ended(start_child(in_child)) == 0
    scope(ledger).begin(pure())
    assert before <= backends(place)
    assert kinds(ledger).count("charged") == 5


def test_an_error_in_a_transaction_leaves_a_connection_that_works(place: Place) -> None:
    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    before = backends(place)
    for _ in range(3):
        with pytest.raises(BudgetError, match="does not allow this release: it costs epsilon"):
            scope(ledger).begin(pure(2))
        with pytest.raises(LedgerError, match="lacks a permission"):
            ledger.add_scope("b", Budget(**TERMS, epsilon=1))
        scope(ledger).begin(pure())
    assert backends(place) == before


def test_a_handler_in_the_middle_of_a_transaction_gets_another_connection(place: Place) -> None:
    """Its COMMIT must not commit half of what it interrupted."""
    ledger = place.make(epsilon=1)
    store = place.store(CHARGER)

    def work(journal: Any) -> None:
        assert len(store.read(lambda rows: rows.rows(0, 10))) == 2
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(work)
    other = Ledger.open(store)
    scope(other).begin(pure())
    assert ledger.check().count == 3


def test_rows_that_the_owner_adds_behind_the_servers_back_are_refused(place: Place) -> None:
    ledger = place.make(epsilon=1)
    scope(ledger).begin(pure("9/10"))
    records = [record.content for record in ledger.records()]
    records.append({**records[2], "nonce": "0" * 32})
    line = json.loads(chained(records).splitlines()[-1])
    body = canonical(line["record"])
    place.sql("owner", "INSERT INTO records VALUES (3, %s, %s, '')", values=(body, line["hash"]))
    with pytest.raises(LedgerDamaged, match="record 3 does not continue the running total"):
        scope(ledger).begin(pure())


def test_a_retry_on_another_connection_is_told_and_finished(place: Place) -> None:
    place.make(epsilon=1)
    first, second = (Ledger.open(place.store(CHARGER)) for _ in range(2))
    pending = scope(first).asked("r").begin(pure())
    with pytest.raises(RepeatedRequest, match="has no outcome yet"):
        scope(second).asked("r").begin(pure())
    receipt = second.finish(pending.charge, b"s" * 32, "x")
    assert pending.released("x", b"s" * 32) == receipt
    assert kinds(first).count("released") == 1
