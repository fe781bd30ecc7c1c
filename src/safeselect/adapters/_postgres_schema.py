"""The tables and functions of a ledger in PostgreSQL, format 3.

Nobody but the owner writes to a table.  Others call functions that run with the owner's rights.
Each function takes a record's content as arguments, checks them, and builds the record: so it is
canonical JSON with the fields of its kind, printable, and follows from the records before it.  The
caller has built the same record, since it signs its hash; another hash is refused.

- A charger has `begin_charge`, `charge` and `settle`.
- An approver has `begin_charge`, `open_scope`, `raise_limit` and `replace_key`.
- A reader has SELECT on the records, and so have the others.

The server has no keys, so signatures and approvals are left to the processes.  All literals are
read in one way, whatever the settings of a session: the functions fix `search_path` and
`standard_conforming_strings`, and have no backslash.
"""

from __future__ import annotations

from itertools import groupby

from safeselect.adapters._postgres_approvals import APPROVALS
from safeselect.adapters._postgres_charges import CHARGES
from safeselect.adapters._postgres_texts import TEXTS
from safeselect.ledger.records.record import LONGEST, RECORD_DOMAIN, SCHEMA

FORMAT = 3

GRANTS = {
    "reader": (),
    "charger": ("begin_charge", "charge", "settle"),
    "approver": ("begin_charge", "open_scope", "raise_limit", "replace_key"),
}
"""The functions that a role may execute, by its duty."""

# Forms of texts: a line for people, a hash.
_LINE = "[^ ](.{0,198}[^ ])?"
_HASH = "[0-9a-f]{64}"

# SQLSTATEs of our own.
MOVED, UNKNOWN, UNSAFE = "SL001", "SL002", "SL003"

_TABLES = (
    "CREATE TABLE format (version integer NOT NULL)",
    f"INSERT INTO format VALUES ({FORMAT})",  # noqa: S608 - a constant of ours
    """CREATE TABLE records (
    seq bigint PRIMARY KEY CHECK (seq >= 0),
    body text NOT NULL,
    hash text NOT NULL UNIQUE,
    signature text NOT NULL
)""",
    # What follows from the records.  The one row of state is also what writers lock.
    """CREATE TABLE state (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    count bigint NOT NULL DEFAULT 0,
    last text NOT NULL,
    ledger text,
    signed boolean,
    clock text
)""",
    f"INSERT INTO state (last) VALUES ('{'0' * 64}')",  # noqa: S608 - a constant of ours
    """CREATE TABLE scopes (
    name text PRIMARY KEY,
    terms jsonb NOT NULL,
    refusals bigint NOT NULL DEFAULT 0,
    max_refusals bigint NOT NULL
)""",
    # Numbers above and below the line.  The amounts of way 0 stay within their caps, and those of
    # one other way, if there are others: so a total may exceed the cap of a way that is not used.
    """CREATE TABLE amounts (
    scope text REFERENCES scopes,
    name text,
    way smallint NOT NULL DEFAULT 0,
    cap numeric[] NOT NULL,
    total numeric[] NOT NULL DEFAULT ARRAY[0, 1],
    PRIMARY KEY (scope, name)
)""",
    "CREATE TABLE nonces (nonce text PRIMARY KEY)",
    "CREATE TABLE requests (id text PRIMARY KEY)",
    """CREATE TABLE open_charges (
    charge bigint PRIMARY KEY,
    scopes text[] NOT NULL,
    parameters jsonb NOT NULL
)""",
    "CREATE TABLE printable (first integer PRIMARY KEY, last integer NOT NULL)",
)

_FUNCTIONS = (
    """CREATE FUNCTION only_grows() RETURNS trigger {settings} AS
$$BEGIN
    IF TG_OP = 'INSERT' AND NEW.seq = (SELECT coalesce(max(seq), -1) + 1 FROM records) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'records are only appended, never changed or removed';
END$$""",
    """CREATE TRIGGER only_appended BEFORE INSERT ON records
FOR EACH ROW EXECUTE FUNCTION only_grows()""",
    """CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON records
FOR EACH STATEMENT EXECUTE FUNCTION only_grows()""",
    *TEXTS,
    # Locks the ledger until the commit, which is then durable whatever the session says.
    f"""CREATE FUNCTION hold(previous text, wait integer) RETURNS state {{settings}} AS
$$DECLARE
    here state%ROWTYPE;
BEGIN
    IF pg_is_in_recovery() OR current_setting('fsync') <> 'on' THEN
        RAISE EXCEPTION 'the server only follows another, or does not wait for its disk'
            USING ERRCODE = '{UNSAFE}';
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a record is only written in a transaction that is read committed'
            USING ERRCODE = '{UNSAFE}';
    END IF;
    PERFORM set_config('synchronous_commit', 'on', true),
        set_config('lock_timeout', wait || 's', true);
    SELECT * INTO STRICT here FROM state FOR UPDATE;
    IF here.last <> previous THEN
        IF EXISTS (SELECT FROM records WHERE hash = previous) THEN
            RAISE EXCEPTION 'another record was written meanwhile' USING ERRCODE = '{MOVED}';
        END IF;
        RAISE EXCEPTION 'the previous record is not in the ledger' USING ERRCODE = '{UNKNOWN}';
    END IF;
    RETURN here;
END$$""",  # noqa: S608
    """CREATE FUNCTION begin_charge(wait integer) RETURNS void SECURITY DEFINER {settings} AS
$$BEGIN
    PERFORM hold(NULL, wait);
END$$""",
    # Builds the record of these fields, and adds it.
    f"""CREATE FUNCTION put(here state, kind text, hash text, signature text, fields jsonb)
RETURNS void {{settings}} AS
$$DECLARE
    body text := canonical(fields || jsonb_build_object('kind', kind, 'ledger', here.ledger,
        'previous', here.last, 'schema', '{SCHEMA}', 'seq', here.count::text), 8);
BEGIN
    IF octet_length(body) + length(signature) > {LONGEST - 200} THEN
        RAISE EXCEPTION 'a record is too long';
    ELSIF here.signed IS DISTINCT FROM (formed(signature, '([0-9a-f][0-9a-f])*') <> '') THEN
        RAISE EXCEPTION 'a record is not signed as the ledger is';
    ELSIF hash IS DISTINCT FROM encode(sha256(
        decode('{RECORD_DOMAIN.hex()}', 'hex') || convert_to(body, 'UTF8')), 'hex') THEN
        RAISE EXCEPTION 'a record has another hash';
    END IF;
    INSERT INTO records VALUES (here.count, body, hash, signature);
    UPDATE state SET count = here.count + 1, last = hash;
END$$""",  # noqa: S608
    *CHARGES,
    *APPROVALS,
    # A function may be executed by everybody until that is taken away.
    "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC",
)


def schema_of(schema: str) -> list[str]:
    """Return the statements that make the tables and functions, for a path on the schema alone."""
    settings = (
        f"LANGUAGE plpgsql SET search_path = {schema}, pg_temp SET standard_conforming_strings = on"
    )
    forms = {"settings": settings, "schema": schema, "line": _LINE, "hash": _HASH}
    made = [each.format(**forms) for each in _FUNCTIONS]
    return [*_TABLES, *made, _printable()]


def _printable() -> str:
    """Return the statement that lists the characters beyond ASCII that this Python prints."""
    runs = groupby(range(0x80, 0x110000), lambda code: chr(code).isprintable())
    found = [[*codes] for is_printed, codes in runs if is_printed]
    rows = ", ".join(f"({codes[0]}, {codes[-1]})" for codes in found)
    return f"INSERT INTO printable VALUES {rows}"  # noqa: S608 - numbers of ours
