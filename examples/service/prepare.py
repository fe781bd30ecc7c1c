"""Makes the ledger and the table of requests, once: `python examples/service/prepare.py DATABASE`."""

from __future__ import annotations

import sys

import psycopg
from releases import ANALYSTS, LEDGER, TERMS

from safeselect import Budget, Ledger
from safeselect.adapters.postgres import PostgresStore

REQUESTS = """
CREATE SCHEMA service;
CREATE TABLE service.requests (
    request text PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT now(),
    charge bigint UNIQUE,
    salt bytea,
    output text
)"""


def main(database: str, data: str = "100", each: str = "30") -> str:
    """Return the head of the new ledger."""
    budgets = {"visits": Budget(**TERMS, epsilon=data)}
    budgets |= {f"analyst {name}": Budget(**TERMS, epsilon=each) for name in ANALYSTS}
    ledger = Ledger.create(PostgresStore(database, schema=LEDGER), budgets)
    with psycopg.connect(database) as connection:
        connection.execute(REQUESTS)
    return ledger.head


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
