"""Where a ledger is: a file, or a schema of PostgreSQL by a URL that holds no password."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from safeselect.cli._options import declare
from safeselect.cli._output import reading
from safeselect.errors import InputError
from safeselect.ledger import Ed25519Signer, Store

_URL = re.compile(r"\s*(--[a-z-]+=)?\s*(postgres[\w+]*:.*)", re.IGNORECASE | re.DOTALL)
# A user without a colon, and no other @: whatever else is written there may be a password.
_PLAIN = re.compile(r"postgres(ql)?://([^:@/?#%]*@)?[^@/?#]*/[^@/?#]*(\?[^@?#]*)?")
# In whatever form a connection is written: a URL of any scheme, or keywords.
_SECRET = re.compile(r"password\s*=|://[^/]*:.*@", re.IGNORECASE | re.DOTALL)
_FORM = "postgresql://USER@HOST/DATABASE?schema=NAME"


def refuse_password(word: str) -> None:
    """Refuse a word of the command line that may hold a password, without repeating it.

    Raises:
        InputError: it is a URL of PostgreSQL in another form than ours, or has a password.
    """
    found = _URL.fullmatch(word)
    if _SECRET.search(unquote(word)) or (found and not _PLAIN.fullmatch(found[2])):
        raise InputError(
            f"the URL of a ledger in PostgreSQL must have the form {_FORM}, without a password; "
            "put the password in PGPASSWORD or ~/.pgpass"
        )


def place_of(written: str) -> str | Store:
    """Return the file, or the store of a URL.

    Raises:
        InputError: it is a URL that may hold a password.
        ParameterError: it names no schema, or psycopg is not installed.
    """
    refuse_password(written)
    if _URL.fullmatch(written) is None:
        return written
    from safeselect.ledger.stores.postgres import PostgresStore  # a file needs no database

    parts = urlsplit(written)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    if "schema" not in given:
        raise InputError(f"the URL has no schema; use {_FORM}")
    schema = given.pop("schema")
    query = urlencode(given, quote_via=quote)
    return PostgresStore(parts._replace(query=query).geturl(), schema=schema)


KEY = declare("--key FILE  private Ed25519 key for signing, in a PEM file without a password")


def read_key(file: str | None, key_id: str) -> Ed25519Signer | None:
    """Return the key in a file, if one is named.

    Raises:
        InputError: the file cannot be read.
        ParameterError: it holds no such key, or `cryptography` is not installed.
    """
    if file is None:
        return None
    with reading(file):
        content = Path(file).read_bytes()
    return Ed25519Signer(content, key_id=key_id)


def name_of(place: str | Store) -> str:
    """Return a name for people."""
    return Path(place).name if isinstance(place, str) else place.name
