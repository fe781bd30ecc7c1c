"""The tables and functions of a ledger in PostgreSQL, format 2.

Nobody but the owner writes to a table.  Others call functions that run with the owner's rights and
judge each record as every process does: its one spelling, hash, place, scopes, totals and caps.

- A charger has `begin_charge` and `append`: charges and their outcomes.
- An approver has `begin_charge` and `approve`: new scopes, raised limits and another signing key.
- A reader has SELECT on the records, and so have the others.

The server has no keys, so signatures and approvals are left to the processes.  All literals are
read in one way, whatever the settings of a session: the functions fix `search_path` and
`standard_conforming_strings`, and have no backslash.
"""

from __future__ import annotations

from safeselect.adapters._postgres_consequences import CONSEQUENCES
from safeselect.adapters._postgres_texts import TEXTS
from safeselect.ledger.records.fields import names_of
from safeselect.ledger.records.record import LONGEST, RECORD_DOMAIN, SCHEMA

FORMAT = 2

GRANTS = {
    "reader": (),
    "charger": ("begin_charge()", "append(text, text, text)"),
    "approver": ("begin_charge()", "approve(text, text, text)"),
}
"""The functions that a role may execute, by its duty."""

_KINDS = ("created", "scope", "charged", "released", "aborted", "settled", "raised", "key")

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
    signed boolean
)""",
    f"INSERT INTO state (last) VALUES ('{'0' * 64}')",  # noqa: S608 - a constant of ours
    """CREATE TABLE scopes (
    name text PRIMARY KEY,
    terms jsonb NOT NULL,
    caps jsonb NOT NULL,
    spent jsonb NOT NULL,
    refusals bigint NOT NULL DEFAULT 0,
    max_refusals bigint NOT NULL
)""",
    "CREATE TABLE nonces (nonce text PRIMARY KEY)",
    "CREATE TABLE requests (id text PRIMARY KEY)",
    "CREATE TABLE open_charges (charge bigint PRIMARY KEY, scopes text[] NOT NULL)",
    "CREATE TABLE kinds (kind text, fields text[], PRIMARY KEY (kind, fields))",
)

_FUNCTIONS = (
    """CREATE FUNCTION refuse() RETURNS trigger {settings} AS
$$BEGIN RAISE EXCEPTION 'records are never changed or removed'; END$$""",
    """CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON records
FOR EACH STATEMENT EXECUTE FUNCTION refuse()""",
    """CREATE FUNCTION next_only() RETURNS trigger {settings} AS
$$BEGIN
    IF NEW.seq <> (SELECT coalesce(max(seq), -1) + 1 FROM records) THEN
        RAISE EXCEPTION 'records are only appended';
    END IF;
    RETURN NEW;
END$$""",
    """CREATE TRIGGER only_appended BEFORE INSERT ON records
FOR EACH ROW EXECUTE FUNCTION next_only()""",
    *TEXTS,
    *CONSEQUENCES,
    f"""CREATE FUNCTION put(body text, hash text, signature text, kinds text[]) RETURNS void
{{settings}} AS
$$DECLARE
    here state%ROWTYPE;
    record jsonb;
    kind text;
BEGIN
    SELECT * INTO STRICT here FROM state FOR UPDATE;
    IF octet_length(put.body) + length(put.signature) > {LONGEST - 200} THEN
        RAISE EXCEPTION 'a record is too long';
    END IF;
    record := put.body::jsonb;
    IF canonical(record) IS DISTINCT FROM put.body THEN
        RAISE EXCEPTION 'a record is not canonical JSON';
    END IF;
    IF put.hash IS DISTINCT FROM encode(sha256(
        decode('{RECORD_DOMAIN.hex()}', 'hex') || convert_to(put.body, 'UTF8')), 'hex') THEN
        RAISE EXCEPTION 'a record has another hash';
    END IF;
    kind := record ->> 'kind';
    IF kind IS NULL OR kind <> ALL (put.kinds) THEN
        RAISE EXCEPTION 'a record of this kind is not written here';
    END IF;
    IF NOT EXISTS (
        SELECT FROM kinds AS known
        WHERE known.kind = record ->> 'kind' AND known.fields = names(record)
    ) THEN
        RAISE EXCEPTION 'a record has not the fields of its kind';
    END IF;
    IF kind = 'created' THEN
        IF here.count <> 0 THEN
            RAISE EXCEPTION 'a ledger is created once';
        END IF;
        here.ledger := record ->> 'ledger';
        here.signed := record -> 'signer' <> jsonb_build_object();
    END IF;
    IF record ->> 'schema' IS DISTINCT FROM '{SCHEMA}'
        OR record ->> 'ledger' IS DISTINCT FROM here.ledger
        OR record ->> 'seq' IS DISTINCT FROM here.count::text
        OR record ->> 'previous' IS DISTINCT FROM here.last THEN
        RAISE EXCEPTION 'a record does not follow the one before it';
    END IF;
    IF here.signed IS DISTINCT FROM (put.signature <> '')
        OR put.signature COLLATE "C" !~ '^([0-9a-f][0-9a-f])*$' THEN
        RAISE EXCEPTION 'a record is not signed as the ledger is';
    END IF;
    IF kind = 'charged' THEN
        PERFORM follow_charge(here.count, record);
    ELSIF kind IN ('released', 'aborted', 'settled') THEN
        PERFORM follow_outcome(record);
    ELSIF kind = 'scope' THEN
        PERFORM open_scope(record);
    ELSIF kind = 'raised' THEN
        PERFORM raise_limit(record);
    END IF;
    INSERT INTO records VALUES (here.count, put.body, put.hash, put.signature);
    -- A transaction with an older snapshot fails at its lock, because this row changed.
    UPDATE state SET count = here.count + 1, last = put.hash,
        ledger = here.ledger, signed = here.signed;
END$$""",  # noqa: S608
    """CREATE FUNCTION begin_charge() RETURNS void SECURITY DEFINER {settings} AS
$$BEGIN
    PERFORM FROM state FOR UPDATE;
END$$""",
    """CREATE FUNCTION append(body text, hash text, signature text) RETURNS void
SECURITY DEFINER {settings} AS
$$BEGIN
    PERFORM put(body, hash, signature, ARRAY['charged', 'released', 'aborted', 'settled']);
END$$""",
    """CREATE FUNCTION approve(body text, hash text, signature text) RETURNS void
SECURITY DEFINER {settings} AS
$$BEGIN
    PERFORM put(body, hash, signature, ARRAY['scope', 'raised', 'key']);
END$$""",
    # A function may be executed by everybody until that is taken away.
    "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC",
)


def schema_of(schema: str) -> list[str]:
    """Return the statements that make the tables and functions, for a path on the schema alone."""
    settings = (
        f"LANGUAGE plpgsql SET search_path = {schema}, pg_temp SET standard_conforming_strings = on"
    )
    kinds = [
        f"INSERT INTO kinds VALUES ('{kind}', ARRAY[{', '.join(map(repr, names))}])"  # noqa: S608
        for kind in _KINDS
        for names in names_of(kind)
    ]
    made = [each.format(settings=settings, schema=schema) for each in _FUNCTIONS]
    return [*_TABLES, *kinds, *made]
