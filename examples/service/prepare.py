"""Makes roles, ledger and table of requests, once, by an administrator: `prepare.py DATABASE`.

The service logs in as a role that may charge the ledger and keep requests, and nothing else: it
cannot write a total, raise a cap, edit or delete.
"""

from __future__ import annotations

import sys

import psycopg
from answering import ANALYSTS, LEDGER, TERMS

from safeselect import Budget, Ledger
from safeselect.adapters.postgres import PostgresStore

SERVICE = "service"
"""The role that the service logs in as."""

ROLES = """
CREATE ROLE ledger_owner NOLOGIN;
CREATE ROLE service LOGIN;
ALTER ROLE service SET idle_in_transaction_session_timeout = '30s'"""
OWNERSHIP = """
DO $$BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO ledger_owner', current_database()); END$$;
GRANT ledger_owner TO CURRENT_USER"""
REQUESTS = """
CREATE SCHEMA service;
CREATE TABLE service.requests (
    request text PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT now(),
    charge bigint UNIQUE,
    salt bytea,
    output text
);
GRANT USAGE ON SCHEMA service TO service;
GRANT SELECT, INSERT, UPDATE ON service.requests TO service"""


def main(database: str, data: str = "100", each: str = "30") -> str:
    """Return the head of the new ledger.

    Args:
        database: how an administrator connects, in libpq's words.
        data: the epsilon of the data, for all analysts together.
        each: the epsilon of each analyst.
    """
    with psycopg.connect(database) as connection:
        known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (SERVICE,))
        if known.fetchone() is None:
            connection.execute(ROLES)
        connection.execute(OWNERSHIP)
        connection.execute(REQUESTS)
    budgets = {"visits": Budget(**TERMS, epsilon=data)}
    budgets |= {f"analyst {name}": Budget(**TERMS, epsilon=each) for name in ANALYSTS}
    owner = PostgresStore(f"{database} options='-c role=ledger_owner'", schema=LEDGER)
    with Ledger.create(owner, budgets) as ledger:
        owner.grant(SERVICE, "charger")
        return ledger.head


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
