"""The tables and functions of a ledger in PostgreSQL, format 2.

Nobody but the owner writes to a table.  Others call functions that run with the owner's rights and
judge each record as every process does: its one spelling, hash, place, scopes, totals and caps.

- A charger has `begin_charge` and `append`: charges and their outcomes.
- An approver has `begin_charge` and `approve`: new scopes and raised limits.
- A reader has SELECT on the records, and so have the others.

The server has no keys, so signatures and approvals are left to the processes.  All literals are
read in one way, whatever the settings of a session: the functions fix `search_path` and
`standard_conforming_strings`, and have no backslash.
"""

from __future__ import annotations

from safeselect.adapters._postgres_texts import TEXTS
from safeselect.ledger.records.fields import names_of
from safeselect.ledger.records.record import LONGEST, RECORD_DOMAIN, SCHEMA

__all__ = ["FORMAT", "GRANTS", "schema_of"]

FORMAT = 2

GRANTS = {
    "reader": (),
    "charger": ("begin_charge()", "append(text, text, text)"),
    "approver": ("begin_charge()", "approve(text, text, text)"),
}
"""The functions that a role may execute, by its duty."""

_KINDS = ("created", "scope", "charged", "released", "aborted", "settled", "raised")

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
    "CREATE TABLE kinds (kind text PRIMARY KEY, fields text[] NOT NULL)",
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
    """CREATE FUNCTION charge_scopes(charges jsonb) RETURNS text[] {settings} AS
$$DECLARE
    charge jsonb;
    here scopes%ROWTYPE;
    amount text;
    price numeric[];
    total numeric[];
    cap numeric[];
    is_positive boolean;
    seen text[] := ARRAY[]::text[];
BEGIN
    IF jsonb_typeof(charges) IS DISTINCT FROM 'array' OR jsonb_array_length(charges) = 0 THEN
        RAISE EXCEPTION 'a charge names no scope';
    END IF;
    FOR charge IN SELECT item FROM jsonb_array_elements(charges) AS item LOOP
        IF names(charge) <> ARRAY['after', 'before', 'charge', 'scope', 'terms'] THEN
            RAISE EXCEPTION 'a charge has other fields';
        END IF;
        SELECT * INTO here FROM scopes WHERE name = charge ->> 'scope';
        IF NOT FOUND OR here.name = ANY (seen) THEN
            RAISE EXCEPTION 'a charge names no scope, or one twice';
        END IF;
        seen := seen || here.name;
        IF here.refusals >= here.max_refusals THEN
            RAISE EXCEPTION 'a scope is closed';
        END IF;
        IF charge -> 'terms' IS DISTINCT FROM here.terms
            OR charge -> 'before' IS DISTINCT FROM here.spent
            OR names(charge -> 'charge') <> names(here.caps)
            OR names(charge -> 'after') <> names(here.caps) THEN
            RAISE EXCEPTION 'a charge does not continue the total of its scope';
        END IF;
        is_positive := false;
        FOR amount IN SELECT jsonb_object_keys(here.caps) LOOP
            price := rational(charge -> 'charge' ->> amount);
            total := added(rational(here.spent ->> amount), price);
            cap := rational(here.caps ->> amount);
            IF charge -> 'after' ->> amount IS DISTINCT FROM spelled(total) THEN
                RAISE EXCEPTION 'a charge does not add up';
            END IF;
            IF total[1] * cap[2] > cap[1] * total[2] THEN
                RAISE EXCEPTION 'a charge exceeds its cap';
            END IF;
            is_positive := is_positive OR price[1] > 0;
        END LOOP;
        IF NOT is_positive THEN
            RAISE EXCEPTION 'a charge costs nothing';
        END IF;
        UPDATE scopes SET spent = charge -> 'after' WHERE name = here.name;
    END LOOP;
    RETURN seen;
END$$""",
    """CREATE FUNCTION follow_charge(place bigint, record jsonb) RETURNS void {settings} AS
$$DECLARE
    request jsonb := record -> 'request';
BEGIN
    INSERT INTO open_charges VALUES (place, charge_scopes(record -> 'charges'));
    IF record ->> 'nonce' COLLATE "C" !~ '^[0-9a-f]{{32}}$' THEN
        RAISE EXCEPTION 'a nonce has not 16 bytes';
    END IF;
    INSERT INTO nonces VALUES (record ->> 'nonce');
    IF request <> jsonb_build_object() THEN
        IF names(request) <> ARRAY['asked', 'id']
            OR request ->> 'id' COLLATE "C" !~ '^[0-9a-f]{{64}}$'
            OR request ->> 'asked' COLLATE "C" !~ '^[0-9a-f]{{64}}$' THEN
            RAISE EXCEPTION 'a request is no two hashes';
        END IF;
        INSERT INTO requests VALUES (request ->> 'id');
    END IF;
END$$""",
    """CREATE FUNCTION follow_outcome(record jsonb) RETURNS void {settings} AS
$$DECLARE
    ended text[];
    kind text := record ->> 'kind';
BEGIN
    IF record ->> 'charge' COLLATE "C" !~ '^(0|[1-9][0-9]{{0,17}})$' THEN
        RAISE EXCEPTION 'an outcome names no charge';
    END IF;
    DELETE FROM open_charges WHERE charge = (record ->> 'charge')::bigint
        RETURNING scopes INTO ended;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'an outcome is of a charge that awaits none';
    END IF;
    IF kind = 'released' AND EXISTS (
        SELECT FROM scopes WHERE name = ANY (ended) AND refusals >= max_refusals
    ) THEN
        RAISE EXCEPTION 'a scope is closed';
    END IF;
    IF kind = 'aborted' THEN
        IF record ->> 'reason' NOT IN ('source', 'interrupt', 'error', 'input') THEN
            RAISE EXCEPTION 'a reason is none';
        END IF;
        IF record ->> 'reason' = 'input' THEN
            UPDATE scopes SET refusals = refusals + 1 WHERE name = ANY (ended);
        END IF;
    END IF;
END$$""",
    """CREATE FUNCTION follow_owner(record jsonb) RETURNS void {settings} AS
$$DECLARE
    caps jsonb := record -> 'caps';
    written text := record ->> CASE record ->> 'kind'
        WHEN 'scope' THEN 'max_refusals' ELSE 'after' END;
BEGIN
    IF written COLLATE "C" !~ '^[1-9][0-9]{{0,6}}$' THEN
        RAISE EXCEPTION 'a limit is no count';
    END IF;
    IF record ->> 'kind' = 'scope' THEN
        IF names(caps) = ARRAY[]::text[] OR EXISTS (
            SELECT FROM jsonb_each_text(caps) AS cap WHERE (rational(cap.value))[1] = 0
        ) THEN
            RAISE EXCEPTION 'a scope has no cap';
        END IF;
        INSERT INTO scopes VALUES (
            record ->> 'scope', record -> 'terms', caps,
            (SELECT jsonb_object_agg(name, '0') FROM jsonb_object_keys(caps) AS name),
            0, written::bigint
        );
        RETURN;
    END IF;
    UPDATE scopes SET max_refusals = written::bigint
        WHERE name = record ->> 'scope' AND record ->> 'limit' = 'max_refusals'
        AND max_refusals::text = record ->> 'before' AND written::bigint > max_refusals;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'a limit is not raised by this';
    END IF;
END$$""",
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
    IF names(record) IS DISTINCT FROM
        (SELECT known.fields FROM kinds AS known WHERE known.kind = record ->> 'kind') THEN
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
    ELSIF kind IN ('scope', 'raised') THEN
        PERFORM follow_owner(record);
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
    PERFORM put(body, hash, signature, ARRAY['scope', 'raised']);
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
        f"INSERT INTO kinds VALUES ('{kind}', ARRAY[{', '.join(map(repr, names_of(kind)))}])"  # noqa: S608
        for kind in _KINDS
    ]
    made = [each.format(settings=settings, schema=schema) for each in _FUNCTIONS]
    return [*_TABLES, *kinds, *made]
