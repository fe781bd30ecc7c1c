"""Answers each request at most once, from two budgets: the part of the service without HTTP.

A request has an identity, which its caller repeats in every retry.  The answer is stored in the
table of requests, the outbox, before the ledger records that it is released.  Whatever dies, and
whenever, a retry therefore finds one of three things: the answer, a call that is still running, or
a call that was charged and died before it had an answer.  In the last case, the caller must ask
again under a new identity.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from database import Database, Witness

from safeselect import Ledger, RepeatedRequest, from_json, top_k
from safeselect.ledger.signing import Ed25519Signer
from safeselect.ledger.stores.postgres import PostgresStore

__all__ = [
    *("EPSILON", "LEDGER", "TERMS", "VISITS", "Gone", "Releases", "Running"),
    *("read_key", "scope_of"),
]

# Stands in for a table: the number of people in each ward of a region.  A person is in one ward.
VISITS = {
    region: {f"{region} {ward}": 1_000 * size for ward, size in zip("ABCDEF", sizes, strict=True)}
    for region, sizes in {
        "north": (3, 20, 5, 11, 1, 7),
        "south": (2, 4, 1, 9, 30, 17),
        "west": (40, 6, 21, 3, 12, 1),
    }.items()
}
EPSILON = "1/20"  # of each answer
TERMS = {"unit": "person", "neighbours": "add_remove"}
LEDGER = "ledger"  # the schema of the ledger; the outbox is in another
TOKENS = 5  # seconds after which a revoked token is no longer accepted


def scope_of(analyst: str) -> str:
    """Return the name of an analyst's budget."""
    return f"analyst {analyst}"


def read_key(file: str) -> Ed25519Signer:
    """Return the key that signs the records; a real service gets it from a vault."""
    return Ed25519Signer(Path(file).read_bytes(), key_id="service")


class Running(Exception):
    """The request is still being answered: repeat it soon."""


class Gone(Exception):
    """The request was charged and will have no answer: ask again under a new identity."""


class Releases:
    """The ledger and the outbox of one process; its threads may share an instance.

    Args:
        database, witness: libpq's connection string of each.
        key: the file with the key that signs.
        longest: seconds, longer than any call, after which one without an answer counts as dead.
        on_event: receives the ledger's events for logs and metrics: public numbers, never data.
    """

    def __init__(
        self, database: str, witness: str, key: str, *, longest: float, on_event: Any = None
    ) -> None:
        self._database, self._longest = Database(database), longest
        self._tokens, self._read = dict[str, str](), float("-inf")
        store = PostgresStore(database, schema=LEDGER, wait=5)
        signer, self._witness = read_key(key), Witness(witness)
        self.ledger = Ledger.open(store, signer=signer, witness=self._witness, on_event=on_event)

    def close(self) -> None:
        """Close the ledger, and this thread's connections."""
        for each in (self.ledger, self._witness, self._database):
            each.close()

    def analyst(self, token: str) -> str | None:
        """Return the analyst with this token; a real service asks its identity provider."""
        if time.monotonic() - self._read > TOKENS:
            rows = self._database.run("SELECT token_sha256, name FROM service.analysts")
            self._tokens, self._read = dict(rows), time.monotonic()
        return self._tokens.get(hashlib.sha256(token.encode()).hexdigest())

    def check(self) -> None:
        """Raise what a request would raise now if the database or ledger cannot be used."""
        self._database.run("SELECT FROM service.requests LIMIT 1")
        _ = self.ledger.head

    def answer(self, analyst: str, key: str, region: str, k: int) -> str:
        """Return the release as JSON; the text is the same whenever the request is repeated.

        Args:
            analyst: the authenticated caller; part of the identity, so that nobody can use up or
                see another analyst's request.
            key: the random identifier that the analyst chose for this request.

        Raises:
            Running: another attempt at the request is still running.
            Gone: the request was charged, and its process died before there was an answer.
            BudgetError: one of the two budgets does not allow the request; neither was charged.
            LedgerError: the ledger cannot be used now; the same request may be repeated.
        """
        request = f"{analyst}/{key}"
        if self.ledger.request(request) is None:
            self._begin(request)
        purpose = "ward report"
        budgets = (
            self.ledger.scope("visits", **TERMS, purpose=purpose)
            & self.ledger.scope(scope_of(analyst), **TERMS, purpose=purpose)
        ).asked(request, question=json.dumps(["visits", region]), outbox=self._keep)
        try:
            return top_k(
                VISITS[region], k=k, epsilon=EPSILON, sensitivity=1, monotonic=True, ledger=budgets
            ).to_json()
        except RepeatedRequest as repeated:  # with the same question: the ledger compares it
            return self._again(request, repeated.outcome)

    def _again(self, request: str, outcome: str | None) -> str:
        rows = self._database.run(
            "SELECT charge, salt, output, since < now() - make_interval(secs => %s) "
            "FROM service.requests WHERE request = %s",
            self._longest,
            request,
        )
        if outcome == "aborted" or not rows:
            raise Gone
        charge, salt, output, is_dead = rows[0]
        if output is not None:
            receipt = self.ledger.finish(charge, bytes(salt), output)
            return replace(from_json(output), receipt=receipt).to_json()
        raise Gone if is_dead else Running

    def _begin(self, request: str) -> None:
        self._database.run(
            "INSERT INTO service.requests (request) VALUES (%s) "
            "ON CONFLICT (request) DO UPDATE SET since = now()",
            request,
        )

    def _keep(self, request: str, charge: int, salt: bytes, output: str) -> None:
        kept = self._database.run(
            "UPDATE service.requests SET charge = %s, salt = %s, output = %s "
            "WHERE request = %s AND output IS NULL RETURNING request",
            *(charge, salt, output, request),
        )
        if len(kept) != 1:
            raise RuntimeError("the table of requests has lost a request")
