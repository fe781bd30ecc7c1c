"""Answers from two budgets, each request at most once: the part of the service that is not HTTP.

A request has an identity, which its caller repeats in a retry.  The answer is in the table of
requests, the outbox, before the ledger says that it is released.  So whatever dies, and whenever, a
retry finds one of three things: the answer; a call that still runs; or a call that died before it
had an answer, which was charged and must be asked anew.
"""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

import psycopg

from safeselect import Ledger, RepeatedRequest, from_json, top_k
from safeselect.adapters.postgres import PostgresStore

__all__ = ["ANALYSTS", "EPSILON", "LEDGER", "TERMS", "VISITS", "Gone", "Releases", "Running"]

# Stands for a table: persons by the ward of a region where they were.  One person is in one ward.
VISITS = {
    region: {f"{region} {ward}": 1_000 * size for ward, size in zip("ABCDEF", sizes, strict=True)}
    for region, sizes in {
        "north": (3, 20, 5, 11, 1, 7),
        "south": (2, 4, 1, 9, 30, 17),
        "west": (40, 6, 21, 3, 12, 1),
    }.items()
}
ANALYSTS = ("ada", "ben", "cyd", "dan")
EPSILON = "1/20"  # of each answer
TERMS = {"unit": "person", "neighbours": "add_remove"}
LEDGER = "ledger"  # the schema of the ledger; the outbox is in another


class Running(Exception):
    """The request is being answered: ask again soon."""


class Gone(Exception):
    """The request was charged and has no answer: ask under a new identity."""


class Releases:
    """The ledger and the outbox of one process; its threads may use it at once.

    Args:
        database: how to connect, in libpq's words.
        longest: seconds after which a call without an answer is dead.  Longer than any call takes.
        on_event: gets what the ledger tells logs and metrics: public numbers, never data.
    """

    def __init__(self, database: str, *, longest: float, on_event: Any = None) -> None:
        self._database, self._longest = database, longest
        self._own = threading.local()
        store = PostgresStore(database, schema=LEDGER, wait=5)
        self.ledger = Ledger.open(store, on_event=on_event)

    def answer(self, analyst: str, key: str, region: str, k: int) -> str:
        """Return the release in JSON; the same text whenever the request is repeated.

        Args:
            analyst: who asks, after they were recognised.  Part of the identity, so that nobody can
                use up, or see, a request of another.
            key: what the analyst chose for this request, at random.

        Raises:
            Running: another try of the request is under way.
            Gone: the request was charged, and its process died.
            BudgetError: one of the two budgets does not allow it; neither was charged.
            LedgerError: the ledger cannot be used now; the same request may be repeated.
        """
        request = f"{analyst}/{key}"
        if self.ledger.request(request) is None:
            self._begin(request)
        purpose = "ward report"
        budgets = (
            self.ledger.scope("visits", **TERMS, purpose=purpose)
            & self.ledger.scope(f"analyst {analyst}", **TERMS, purpose=purpose)
        ).asked(request, question=json.dumps(["visits", region]), outbox=self._keep)
        try:
            return top_k(
                VISITS[region], k=k, epsilon=EPSILON, sensitivity=1, monotonic=True, ledger=budgets
            ).to_json()
        except RepeatedRequest as repeated:  # of the same question: the ledger compares them
            return self._again(request, repeated.outcome)

    def _again(self, request: str, outcome: str | None) -> str:
        rows = self._sql(
            "SELECT charge, salt, output, since < now() - make_interval(secs => %s) "
            "FROM service.requests WHERE request = %s",
            (self._longest, request),
        )
        charge, salt, output, is_dead = rows[0]
        if outcome == "aborted":
            raise Gone
        if output is not None:
            receipt = self.ledger.finish(charge, bytes(salt), output)
            return replace(from_json(output), receipt=receipt).to_json()
        raise Gone if is_dead else Running

    def _begin(self, request: str) -> None:
        self._sql(
            "INSERT INTO service.requests (request) VALUES (%s) "
            "ON CONFLICT (request) DO UPDATE SET since = now()",
            (request,),
        )

    def _keep(self, request: str, charge: int, salt: bytes, output: str) -> None:
        self._sql(
            "UPDATE service.requests SET charge = %s, salt = %s, output = %s "
            "WHERE request = %s AND output IS NULL RETURNING request",
            (charge, salt, output, request),
            rows=1,
        )

    def _sql(self, statement: str, values: tuple[Any, ...], rows: int | None = None) -> list[Any]:
        """Run one statement on this thread's connection; it is durable when this returns."""
        connection = getattr(self._own, "connection", None)
        if connection is None or connection.closed:
            connection = psycopg.connect(self._database, autocommit=True)
            self._own.connection = connection
        try:
            cursor = connection.execute(statement, values)
            found = cursor.fetchall() if cursor.description else []
        except psycopg.OperationalError:
            connection.close()
            raise
        if rows is not None and len(found) != rows:
            raise RuntimeError("the table of requests has lost a request")
        return found
