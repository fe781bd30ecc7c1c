"""The service over HTTP: `python examples/service/serve.py 8000 2`.

    PUT /releases/{key}   {"region": "north", "k": 1}      Authorization: Bearer TOKEN

`key` is a UUID that the caller makes at random, and repeats in every retry of this request.

    200  the release in JSON, with its receipt; the same bytes for every retry
    401  nobody whom the service knows
    403  the budget does not allow it
    410  charged, and died before it had an answer: ask under a new key
    422  the question is wrong, or another one was asked under this key
    425  still running: repeat it
    503  busy, or the database is away: repeat it
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal
from uuid import UUID

import psycopg
from answering import ANALYSTS, Gone, Releases, Running
from anyio.to_thread import current_default_thread_limiter
from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from safeselect import BudgetError, LedgerError, ParameterError, SourceError

log = logging.getLogger("uvicorn.error")
THREADS = 6  # each has two connections to the database: its own, and the ledger's


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    # Endpoints run in threads: a charge waits for the database, and must not hold up the loop.
    current_default_thread_limiter().total_tokens = THREADS
    app.state.releases = Releases(
        os.environ["SERVICE_DATABASE"],
        longest=float(os.environ.get("SERVICE_LONGEST", "60")),
        on_event=told,
    )
    # token hash -> analyst; a real service asks its identity provider.
    app.state.tokens = json.loads(os.environ["SERVICE_TOKENS"])
    yield


def told(event: object) -> None:
    """What may be logged: kind, scopes, price and the ledger's own time.  Never an answer."""
    log.debug("%s", event)


app = FastAPI(lifespan=lifespan, title="Wards")


class Question(BaseModel, extra="forbid"):
    """What may be asked: all else is fixed by the service."""

    region: Literal["north", "south", "west"]
    k: int = Field(ge=1, le=3)


def analyst(request: Request, authorization: Annotated[str, Header()] = "") -> str:
    """Return who asks."""
    given = hashlib.sha256(authorization.removeprefix("Bearer ").encode()).hexdigest()
    for known, name in request.app.state.tokens.items():
        if hmac.compare_digest(known, given) and name in ANALYSTS:
            return str(name)
    raise HTTPException(401, "a token is needed", {"WWW-Authenticate": "Bearer"})


@app.put("/releases/{key}")
def release(
    key: UUID, question: Question, who: Annotated[str, Depends(analyst)], request: Request
) -> Response:
    """Answer a question once, however often it is asked under this key."""
    releases: Releases = request.app.state.releases
    written = releases.answer(who, str(key), question.region, question.k)
    return Response(written, media_type="application/json")


@app.get("/head")
def head(request: Request) -> dict[str, str]:
    """Return the head of the ledger: publish it where nobody can change it."""
    return {"head": request.app.state.releases.ledger.head}


def refused(status: int, sentence: str | None = None, *, again: bool = False) -> object:
    """Return a handler that answers an exception with this status."""

    def handler(_: Request, error: Exception) -> JSONResponse:
        headers = {"Retry-After": "1"} if again else {}
        return JSONResponse({"detail": sentence or str(error)}, status, headers)

    return handler


for kind, handler in {
    BudgetError: refused(403),
    ParameterError: refused(422),
    Gone: refused(410, "charged, and died before it had an answer: ask under a new key"),
    Running: refused(425, "still running: repeat the request", again=True),
    # The message of a ledger names a place in the service; it is for the log.
    LedgerError: refused(503, "the ledger cannot be used now: repeat the request", again=True),
    SourceError: refused(503, "no random bytes now: ask under a new key", again=True),
    psycopg.OperationalError: refused(503, "the database is away: repeat the request", again=True),
}.items():
    app.add_exception_handler(kind, handler)  # type: ignore[arg-type]
