"""A server of PostgreSQL, with the roles of a ledger."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from postgres import Server, running_server
from postgres_roles import Place, make_roles


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as started:
        make_roles(started)
        yield started


@pytest.fixture
def place(server: Server, request: pytest.FixtureRequest) -> Place:
    """A schema that no other test uses, and how each role connects to it."""
    return Place(server, f"p{abs(hash(request.node.nodeid))}")
