"""Creates roles, ledger, witness and tables, as an administrator; may be run again.

    prepare.py DATABASE WITNESS KEY SETUP.json

SETUP.json names the budgets, the analysts with the SHA-256 of their tokens, and the approvers with
their public keys of Ed25519:

    {"data": "100", "approvers": ["d75a98…"], "approvals_needed": 1,
     "analysts": {"ada": {"epsilon": "30", "token_sha256": "9f86d0…"}}}

The first run stores them in the ledger and the database.  A later run can replace analysts' tokens;
a change of a budget needs the approvers.  The service logs in as a role that may charge the ledger,
keep requests and publish heads.  It cannot write a total, raise a cap, edit or delete.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from answering import LEDGER, TERMS, read_key, scope_of
from database import Witness

from safeselect import Budget, Ledger
from safeselect.ledger.stores.postgres import PostgresStore

SERVICE = "service"
"""The role that the service logs in as."""

ROLES = """
DO $$BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'service') THEN
        CREATE ROLE service LOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ledger_owner') THEN
        CREATE ROLE ledger_owner NOLOGIN;
    END IF;
    EXECUTE format('GRANT CREATE ON DATABASE %I TO ledger_owner', current_database());
END$$;
ALTER ROLE service SET idle_in_transaction_session_timeout = '30s';
GRANT ledger_owner TO CURRENT_USER"""
TABLES = """
CREATE SCHEMA IF NOT EXISTS service;
CREATE TABLE IF NOT EXISTS service.requests (
    request text PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT now(),
    charge bigint UNIQUE,
    salt bytea,
    output text
);
CREATE TABLE IF NOT EXISTS service.analysts (
    name text PRIMARY KEY,
    token_sha256 text NOT NULL UNIQUE CHECK (token_sha256 ~ '^[0-9a-f]{64}$')
);
GRANT USAGE ON SCHEMA service TO service;
GRANT SELECT, INSERT, UPDATE ON service.requests TO service;
GRANT SELECT ON service.analysts TO service"""
HEADS = """
CREATE SCHEMA IF NOT EXISTS witness;
CREATE TABLE IF NOT EXISTS witness.newest (head text NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS one_head ON witness.newest ((true));
GRANT USAGE ON SCHEMA witness TO service;
GRANT SELECT, INSERT, UPDATE ON witness.newest TO service"""


def main(database: str, witness: str, key: str, setup: Mapping[str, Any]) -> str:
    """Return the head of the ledger.

    Args:
        database, witness: the administrator's libpq connection string of each.
        key: the file with the 32 bytes of the key that signs the records.
        setup: budgets, analysts and approvers.
    """
    with psycopg.connect(database) as connection:
        connection.execute(ROLES)
        connection.execute(TABLES)
    with psycopg.connect(witness) as connection:
        connection.execute(HEADS)
    budgets = {"visits": Budget(**TERMS, epsilon=setup["data"])}
    for name, analyst in setup["analysts"].items():
        budgets[scope_of(name)] = Budget(**TERMS, epsilon=analyst["epsilon"])
    owner = PostgresStore(f"{database} options='-c role=ledger_owner'", schema=LEDGER)
    with psycopg.connect(database) as connection:
        known = connection.execute("SELECT to_regnamespace(%s) IS NOT NULL", (LEDGER,)).fetchone()
    kept = Witness(witness)
    signing: dict[str, Any] = {"signer": read_key(key), "witness": kept}
    with closing(kept), ledger_of(owner, known == (True,), budgets, setup, signing) as ledger:
        opened = {name: balance.budget for name, balance in ledger.scopes().items()}
        if other := [name for name, budget in budgets.items() if opened.get(name) != budget]:
            sys.exit(f"approvers must sign other budgets first: {', '.join(other)}")
        owner.grant(SERVICE, "charger")
        with psycopg.connect(database) as connection:
            connection.execute("DELETE FROM service.analysts")
            for name, analyst in setup["analysts"].items():
                connection.execute(
                    "INSERT INTO service.analysts VALUES (%s, %s)", (name, analyst["token_sha256"])
                )
        return ledger.head


def ledger_of(
    owner: PostgresStore,
    is_there: bool,
    budgets: Mapping[str, Budget],
    setup: Mapping[str, Any],
    signing: Mapping[str, Any],
) -> Ledger:
    """Create the ledger, or open it; an earlier run may have ended before the first head."""
    if not is_there:
        approvers = [bytes.fromhex(each) for each in setup["approvers"]]
        needed = setup.get("approvals_needed")
        return Ledger.create(
            owner, budgets, approvers=approvers, approvals_needed=needed, **signing
        )
    head = None
    if signing["witness"].last() is None:
        with Ledger.open(owner, signer=signing["signer"]) as ledger:
            checker = ledger.check()
        if checker.nonces:
            sys.exit("the ledger has charges, but the witness has lost its head")
        head = checker.head
    return Ledger.open(owner, head=head, **signing)


if __name__ == "__main__":
    print(main(*sys.argv[1:4], json.loads(Path(sys.argv[4]).read_text("utf-8"))))
