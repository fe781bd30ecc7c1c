"""The service over HTTP: `python examples/service/serve.py 8000 2`.

    PUT /releases/{key}   {"region": "north", "k": 1}      Authorization: Bearer TOKEN
    GET /head                                              Authorization: Bearer TOKEN
    GET /health, /ready

`key` is a random UUID that the caller creates for a request, and repeats in every retry of it.

    200  the release as JSON, with its receipt; the same bytes for every retry
    401  no valid token
    403  the budget does not allow the request
    410  charged, but the call died before it had an answer: ask under a new key
    413  the question is too long
    422  the question is wrong, or another one was asked under this key
    425  still running: repeat the request
    503  busy, or the database is unavailable: repeat the request
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal
from uuid import UUID

import psycopg
from answering import Gone, Releases, Running
from anyio.to_thread import current_default_thread_limiter, run_sync
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from safeselect import BudgetError, LedgerError, ParameterError, SourceError

log = logging.getLogger("uvicorn.error")
THREADS = 6  # each has connections to the database, the ledger and the witness
LONGEST = 1_000  # bytes of a question
OPEN = ("/health", "/ready")  # to everybody
BEARER = re.compile(rb"[Bb]earer ([A-Za-z0-9._~+/-]+=*)")
WRONG = "the question is wrong, or another one was asked under this key"


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    # Endpoints run in threads: a charge waits for the database, and must not block the event loop.
    current_default_thread_limiter().total_tokens = THREADS
    app.state.releases = Releases(
        os.environ["SERVICE_DATABASE"],
        os.environ["SERVICE_WITNESS"],
        os.environ["SERVICE_KEY"],
        longest=float(os.environ.get("SERVICE_LONGEST", "60")),
        on_event=told,
    )
    yield


def told(event: object) -> None:
    """Log an event of the ledger: kind, scopes, cost and the ledger's own time, never an answer."""
    log.debug("%s", event)


class Door:
    """Checks the token and the length of a request before any byte of its body is read."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN:
            await self._inner(scope, receive, send)
            return
        refusal = await self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        count = 0

        async def limited() -> Any:
            nonlocal count
            message = await receive()
            count += len(message.get("body", b""))
            if count > LONGEST:  # a body in chunks does not state its length
                raise HTTPException(413, "the question is too long")
            return message

        await self._inner(scope, limited, send)

    async def _refusal(self, scope: Any) -> JSONResponse | None:
        said: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            said.setdefault(name, []).append(value)
        lengths = said.get(b"content-length", [])
        if any(not each.isdigit() or len(each) > 9 or int(each) > LONGEST for each in lengths):
            return JSONResponse({"detail": "the question is too long"}, 413)
        tokens = [BEARER.fullmatch(each) for each in said.get(b"authorization", [])]
        releases: Releases = scope["app"].state.releases
        try:
            if len(tokens) == 1 and tokens[0] is not None:
                token = tokens[0].group(1).decode()
                scope["analyst"] = await run_sync(releases.analyst, token)
        except psycopg.Error:
            return JSONResponse({"detail": "the database is unavailable: repeat the request"}, 503)
        if scope.get("analyst") is None:
            return JSONResponse(
                {"detail": "a token is needed"}, 401, {"WWW-Authenticate": "Bearer"}
            )
        return None


app = FastAPI(lifespan=lifespan, title="Wards", docs_url=None, redoc_url=None, openapi_url=None)
app.add_middleware(Door)


class Question(BaseModel):
    """What may be asked; the service fixes everything else."""

    model_config = ConfigDict(extra="forbid", strict=True)

    region: Literal["north", "south", "west"]
    k: int = Field(ge=1, le=3)


async def question(request: Request) -> Question:
    """Read a question; refuse repeated names, fractions, NaN and infinities."""
    try:
        return Question.model_validate(
            json.loads(
                await request.body(),
                object_pairs_hook=once,
                parse_float=refuse,
                parse_constant=refuse,
            )
        )
    except (ValueError, RecursionError, ValidationError):
        raise HTTPException(422, WRONG) from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as an object; refuse a name that occurs twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def refuse(_: str) -> None:
    """Refuse a number: a fraction, NaN or an infinity."""
    raise ValueError


@app.put("/releases/{key}")
def release(key: UUID, asked: Annotated[Question, Depends(question)], request: Request) -> Response:
    """Answer a question once, however often it is asked under this key."""
    releases: Releases = request.app.state.releases
    written = releases.answer(request.scope["analyst"], str(key), asked.region, asked.k)
    return Response(written, media_type="application/json")


@app.get("/head")
def head(request: Request) -> dict[str, str]:
    """Return the head of the ledger: publish it where nobody can change it."""
    return {"head": request.app.state.releases.ledger.head}


@app.get("/health")
async def health() -> dict[str, str]:
    """Report that the process is alive, without a look at anything else."""
    return {"status": "lives"}


@app.get("/ready")
def ready(request: Request) -> dict[str, str]:
    """Report whether the database and the ledger answer."""
    request.app.state.releases.check()
    return {"status": "ready"}


def refused(status: int, sentence: str | None = None, *, again: bool = False) -> object:
    """Return a handler that answers an exception with this status."""

    def handler(_: Request, error: Exception) -> JSONResponse:
        headers = {"Retry-After": "1"} if again else {}
        return JSONResponse({"detail": sentence or str(error)}, status, headers)

    return handler


for kind, handler in {
    BudgetError: refused(403),
    # The answer never repeats what the client sent.
    ParameterError: refused(422, WRONG),
    RequestValidationError: refused(422, WRONG),
    Gone: refused(410, "charged, but the call died: ask under a new key"),
    Running: refused(425, "still running: repeat the request", again=True),
    # The message of a ledger names a file or server; it is for the log only.
    LedgerError: refused(503, "the ledger cannot be used now: repeat the request", again=True),
    SourceError: refused(503, "no random bytes now: ask under a new key", again=True),
    psycopg.Error: refused(503, "the database is unavailable: repeat the request", again=True),
}.items():
    app.add_exception_handler(kind, handler)  # type: ignore[arg-type]
