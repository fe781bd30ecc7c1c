"""A ledger in PostgreSQL that a role without login owns, and what each role may try there."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import pytest
from ledgers import new, pure
from postgres import Server

from safeselect import Ledger, LedgerError
from safeselect.ledger import Row
from safeselect.ledger.balance import exact_texts
from safeselect.ledger.budget import add
from safeselect.ledger.record import canonical, record_hash
from safeselect.ledger.scope import charged
from safeselect.ledger.stores.postgres import PostgresStore, send

OWNER, CHARGER, APPROVER, READER = "lo", "lc", "la", "lr"


def make_roles(server: Server) -> None:
    import psycopg

    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {OWNER} NOLOGIN")
        for role in (CHARGER, APPROVER, READER, "nobody_at_all"):
            connection.execute(f"CREATE ROLE {role} LOGIN")  # type: ignore[arg-type]
        connection.execute(f"GRANT CREATE ON DATABASE postgres TO {OWNER}")


class Place:
    """A ledger that a role without login owns, and how each role connects to it."""

    def __init__(self, server: Server, name: str) -> None:
        self.server, self.name = server, name
        self.owner = PostgresStore(f"{server.conninfo} options='-c role={OWNER}'", schema=name)

    def make(self, signer: Any = None, **budget: object) -> Ledger:
        ledger = new(self.owner, signer=signer, **budget)
        self.grant()
        return ledger

    def grant(self) -> None:
        """Give each role its duty."""
        self.owner.grant(CHARGER, "charger")
        self.owner.grant(APPROVER, "approver")
        self.owner.grant(READER, "reader")

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

    def append(self, role: str, record: dict[str, Any], signature: str = "") -> None:
        """Send this record, numbered, chained and hashed as it should be."""
        import psycopg

        seq, hash_, body = self.sql(
            READER, "SELECT seq, hash, body FROM records ORDER BY seq DESC LIMIT 1"
        )[0]
        whole = {"schema": "safeselect.record/1", "ledger": json.loads(body)["ledger"]}
        body = canonical({**whole, "seq": str(seq + 1), "previous": hash_, **record})
        row = Row(seq + 1, body, record_hash(body), signature)
        with closing(psycopg.connect(self.conninfo(role), autocommit=True)) as connection:
            send(connection, self.name, [row], 5)


def a_charge(
    ledger: Ledger, epsilon: object = "1/10", *, name: str = "a", **changes: Any
) -> dict[str, Any]:
    """The record of a charge as the library would write it, and then changed."""
    balance, payment = ledger.balance(name), pure(epsilon)
    price = balance.budget.price(payment.charge.guarantee, payment.charge.parts)
    record = {"kind": "charged", "utc": "2025-01-01", **charged("a test", payment)}
    amounts = {"charge": exact_texts(price), "after": exact_texts(add(balance.spent, price))}
    record["charges"] = [{"scope": name, **amounts, **changes}]
    return record


def refused(match: str = ".") -> Any:
    import psycopg

    return pytest.raises((psycopg.DatabaseError, LedgerError), match=match)
