"""The tables and functions of a ledger in PostgreSQL, format 1.

Nobody but the owner writes to a table.  Others call functions that run with the owner's rights.
Each function takes a record and checks it: that it is canonical JSON with the fields of its kind,
printable, of the stated hash, and that it follows from the records before it.

- A charger has `begin_charge`, `charge` and `settle`.
- An approver has `begin_charge`, `open_scope`, `raise_limit` and `replace_key`.
- A reader has SELECT on the records, and so have the others.

The server has no keys, so signatures and approvals are left to the processes.  Names and literals
are read in one way, whatever the settings of a session: only functions that a role may execute
begin a call, and they fix `search_path` and `standard_conforming_strings` for those that they call.
"""

from __future__ import annotations

from itertools import groupby

from safeselect.exact.parameters import MAX_BITS
from safeselect.ledger.record import LONGEST, RECORD_DOMAIN, SCHEMA

_UNIT = 2**1024  # below the line of a total that is rounded up

FORMAT = 1

GRANTS = {
    "reader": (),
    "charger": ("begin_charge", "charge", "settle"),
    "approver": ("begin_charge", "open_scope", "raise_limit", "replace_key"),
}
"""The functions that a role may execute, by its duty."""

_HASH = "[0-9a-f]{64}"

# SQLSTATEs of our own.
MOVED, UNSAFE = "SL001", "SL002"

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
    # one other way: so a total may exceed the cap of a way that is not used, or that has no cap.
    """CREATE TABLE amounts (
    scope text REFERENCES scopes,
    name text,
    way smallint NOT NULL DEFAULT 0,
    cap numeric[],
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

# `{record}` is for functions that take one, `{inner}` for those that others call.
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
    # ---------------------------------------------------------------------------- texts and numbers
    # A text in JSON, in ASCII, as Python's json writes it; nothing that cannot be printed.
    """CREATE FUNCTION quoted(value text) RETURNS text {inner} AS
$$DECLARE
    found text := '';
    letter text;
    code integer;
BEGIN
    FOREACH letter IN ARRAY regexp_split_to_array(value, '') LOOP
        code := ascii(letter);
        IF code NOT BETWEEN 32 AND 126 AND code > coalesce(
            (SELECT last FROM printable WHERE first <= code ORDER BY first DESC LIMIT 1), 0) THEN
            RAISE EXCEPTION 'a text cannot be printed';
        END IF;
        found := found || CASE
            WHEN code IN (34, 92) THEN chr(92) || letter
            WHEN code < 127 THEN letter
            WHEN code < 65536 THEN chr(92) || 'u' || lpad(to_hex(code), 4, '0')
            ELSE chr(92) || 'u' || to_hex(55296 + (code - 65536) / 1024)
                || chr(92) || 'u' || to_hex(56320 + (code - 65536) % 1024) END;
    END LOOP;
    RETURN '"' || found || '"';
END$$""",
    # The one spelling of a value, at most so many levels deep.
    """CREATE FUNCTION canonical(value jsonb, levels integer) RETURNS text {inner} AS
$$BEGIN
    CASE (levels > 0)::text || jsonb_typeof(value)
    WHEN 'truestring' THEN
        RETURN quoted(value #>> '{{}}');
    WHEN 'truearray' THEN
        RETURN '[' || coalesce((
            SELECT string_agg(spelled(item, levels - 1), ',' ORDER BY place)
            FROM jsonb_array_elements(value) WITH ORDINALITY AS items (item, place)
        ), '') || ']';
    WHEN 'trueobject' THEN
        RETURN '{{' || coalesce((
            SELECT string_agg(spelled(to_jsonb(name), levels) || ':' || spelled(item, levels - 1),
                ',' ORDER BY name COLLATE "C")
            FROM jsonb_each(value) AS items (name, item)
        ), '') || '}}';
    ELSE
        RAISE EXCEPTION 'a value is missing, too deep, or no text, list or object';
    END CASE;
END$$""",
    # The same; of a text in ASCII without escapes, which most are, without a call.
    """CREATE FUNCTION spelled(value jsonb, levels integer) RETURNS text LANGUAGE sql AS
$$SELECT CASE WHEN jsonb_typeof(value) = 'string' AND value::text COLLATE "C" ~ '^[ -~]*$'
    AND strpos(value::text, chr(92)) = 0 THEN value::text ELSE canonical(value, levels) END$$""",
    # A text of a form: a regular expression.
    """CREATE FUNCTION formed(value text, form text) RETURNS text {inner} AS
$$BEGIN
    IF (value COLLATE "C" ~ ('^(' || form || ')$')) IS NOT TRUE THEN
        RAISE EXCEPTION 'a text is not of its form: %', form;
    END IF;
    RETURN value;
END$$""",
    # A text for people, in one line.
    """CREATE FUNCTION line(value jsonb) RETURNS text {inner} AS
$$BEGIN
    IF jsonb_typeof(value) IS DISTINCT FROM 'string' THEN
        RAISE EXCEPTION 'a value is no text';
    END IF;
    RETURN formed(value #>> '{{}}', '[^ ](.{{0,198}}[^ ])?');
END$$""",
    # An object with these fields, and no other.
    """CREATE FUNCTION shaped(value jsonb, fields text[]) RETURNS jsonb {inner} AS
$$BEGIN
    IF (value ?& fields AND object(value, false) - fields = '{{}}') IS NOT TRUE THEN
        RAISE EXCEPTION 'an object does not have the fields of its kind';
    END IF;
    RETURN value;
END$$""",
    # A time that the calendar has, exactly as fine as the ledger's clock.
    """CREATE FUNCTION instant(value text, clock text) RETURNS text {inner} AS
$$DECLARE
    bare text := rtrim(formed(value, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T0-9:Z]{{0,10}}'), 'Z');
    whole text := to_char((bare || substr('0001-01-01T00:00:00', length(bare) + 1))::timestamp,
        'YYYY-MM-DD"T"HH24:MI:SS');
BEGIN
    IF value IS DISTINCT FROM (CASE clock WHEN 'day' THEN left(whole, 10)
        WHEN 'hour' THEN left(whole, 13) || 'Z' WHEN 'minute' THEN left(whole, 16) || 'Z' END) THEN
        RAISE EXCEPTION 'a time is not as fine as the clock of the ledger';
    END IF;
    RETURN value;
END$$""",
    # An object of texts, perhaps with further objects in it.
    """CREATE FUNCTION object(value jsonb, is_flat boolean) RETURNS jsonb {inner} AS
$$BEGIN
    IF jsonb_typeof(value) IS DISTINCT FROM 'object' OR is_flat AND EXISTS (
        SELECT FROM jsonb_each(value) AS items (name, item) WHERE jsonb_typeof(item) <> 'string'
    ) THEN
        RAISE EXCEPTION 'a value is no object of texts';
    END IF;
    RETURN value;
END$$""",
    # A number as two: above and below the line, in lowest terms.
    f"""CREATE FUNCTION rational(written text) RETURNS numeric[] {{inner}} AS
$$DECLARE
    above numeric := split_part(formed(written, '(0|[1-9][0-9]*)(/[1-9][0-9]*)?'), '/', 1);
    below numeric := coalesce(nullif(split_part(written, '/', 2), ''), '1');
BEGIN
    IF greatest(above, below) >= {2**MAX_BITS} OR strpos(written, '/') > 0
        AND (below = 1 OR gcd(above, below) <> 1) THEN
        RAISE EXCEPTION 'a number is too long, or not in lowest terms';
    END IF;
    RETURN ARRAY[above, below];
END$$""",
    # The new total as records spell it: exact, and rounded up where it would grow too long.
    f"""CREATE FUNCTION added(total numeric[], price numeric[]) RETURNS numeric[] {{inner}} AS
$$DECLARE
    above numeric := total[1] * price[2] + price[1] * total[2];
    below numeric := total[2] * price[2];
    common numeric := gcd(above, below);
BEGIN
    IF below > {_UNIT} * common THEN
        above := div(above * {_UNIT} + below - 1, below);
        below := {_UNIT};
        common := gcd(above, below);
    END IF;
    RETURN ARRAY[div(above, common), div(below, common)];
END$$""",
    # -------------------------------------------------------------------------------------- records
    # Locks the ledger until the commit, which is then durable whatever the session says.
    f"""CREATE FUNCTION hold(wait integer) RETURNS state {{inner}} AS
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
    RETURN here;
END$$""",  # noqa: S608
    """CREATE FUNCTION begin_charge(wait integer) RETURNS void SECURITY DEFINER {settings} AS
$$BEGIN
    PERFORM hold(wait);
END$$""",
    # What only the owner writes: the first record, and notes on others.
    """CREATE FUNCTION note{record} AS
$$BEGIN
    PERFORM hold(wait);
    INSERT INTO records VALUES ((body::jsonb ->> 'seq')::bigint, body, hash, signature);
    UPDATE state SET count = count + 1, last = hash, ledger = body::jsonb ->> 'ledger',
        signed = signature <> '', clock = coalesce(clock, body::jsonb ->> 'clock');
END$$""",
    # Adds a record of a kind with these fields, and perhaps one more; returns it.
    f"""CREATE FUNCTION appended(wait integer, body text, hash text, signature text, kinds text,
    fields text[], more text DEFAULT NULL) RETURNS jsonb {{inner}} AS
$$DECLARE
    here state%ROWTYPE := hold(wait);
    record jsonb;
BEGIN
    IF length(body) + length(signature) > {LONGEST - 200} THEN
        RAISE EXCEPTION 'a record is too long';
    END IF;
    record := body;
    IF here.last IS DISTINCT FROM record ->> 'previous' THEN
        RAISE EXCEPTION 'another record was written meanwhile' USING ERRCODE = '{MOVED}';
    ELSIF here.signed IS DISTINCT FROM (formed(signature, '([0-9a-f][0-9a-f])*') <> '') THEN
        RAISE EXCEPTION 'a record is not signed as the ledger is';
    ELSIF canonical(record, 8) <> body OR hash IS DISTINCT FROM encode(sha256(
        decode('{RECORD_DOMAIN.hex()}', 'hex') || convert_to(body, 'UTF8')), 'hex') THEN
        RAISE EXCEPTION 'a record has another hash or spelling';
    ELSIF (record ->> 'schema', record ->> 'ledger', record ->> 'seq')
        IS DISTINCT FROM ('{SCHEMA}', here.ledger, here.count::text) THEN
        RAISE EXCEPTION 'a record has another place';
    END IF;
    PERFORM formed(record ->> 'kind', kinds), shaped(record, fields || ARRAY['schema', 'kind',
        'ledger', 'seq', 'previous'] || CASE WHEN record ? more THEN ARRAY[more] END);
    IF 'utc' = ANY (fields) THEN
        PERFORM instant(record ->> 'utc', here.clock);
    END IF;
    INSERT INTO records VALUES (here.count, body, hash, signature);
    UPDATE state SET count = here.count + 1, last = hash;
    RETURN record;
END$$""",  # noqa: S608
    # -------------------------------------------------------------------------------------- charges
    # Adds a price to the sums of a scope; returns them as the record spells them.
    """CREATE FUNCTION charge_scope(charged text, price jsonb) RETURNS jsonb {inner} AS
$$DECLARE
    after jsonb;
    is_allowed boolean;
BEGIN
    IF NOT EXISTS (SELECT FROM scopes WHERE name = charged AND refusals < max_refusals) THEN
        RAISE EXCEPTION 'a charge names no scope, or a scope is closed';
    END IF;
    -- The amounts of way 0, if there are any, and of one other way.
    WITH sums AS (
        UPDATE amounts SET total = added(total, rational(price ->> name)) WHERE scope = charged
        RETURNING name, way, cap, total
    ), ways AS (
        SELECT way, bool_and(cap IS NOT NULL AND total[1] * cap[2] <= cap[1] * total[2]) AS fits
        FROM sums GROUP BY way
    )
    SELECT (SELECT jsonb_object_agg(name, CASE total[2] WHEN 1 THEN total[1]::text
            ELSE total[1] || '/' || total[2] END) FROM sums),
        (SELECT coalesce(bool_and(fits) FILTER (WHERE way = 0), true)
            AND bool_or(fits) FILTER (WHERE way > 0) FROM ways)
        INTO after, is_allowed;
    PERFORM shaped(price, ARRAY(SELECT jsonb_object_keys(after)));
    IF NOT EXISTS (SELECT FROM jsonb_each_text(price) AS amounts WHERE value <> '0') THEN
        RAISE EXCEPTION 'a charge costs nothing';
    ELSIF is_allowed IS NOT TRUE THEN
        RAISE EXCEPTION 'a charge exceeds its cap';
    END IF;
    RETURN after;
END$$""",
    """CREATE FUNCTION charge{record} AS
$$DECLARE
    record jsonb := appended(wait, body, hash, signature, 'charged', ARRAY['utc', 'purpose',
        'mechanism', 'guarantee', 'parts', 'parameters', 'source', 'nonce', 'request', 'charges'],
        'library');
    request jsonb := record -> 'request';
    each jsonb;
    names text[] := '{{}}';
BEGIN
    PERFORM line(record -> 'purpose'), line(record -> 'mechanism'),
        object(record -> 'guarantee', false), object(record -> 'parameters', true),
        object(coalesce(record -> 'library', '{{}}'), true),
        object(shaped(record -> 'source', ARRAY['name', 'production', 'health']), true),
        formed(record -> 'source' ->> 'production', 'yes|asserted|no');
    FOR each IN SELECT * FROM jsonb_array_elements(record -> 'parts') LOOP
        PERFORM object(shaped(each, ARRAY['count', 'each']) -> 'each', false),
            formed(each ->> 'count', '[1-9][0-9]{{0,17}}');
    END LOOP;
    FOR each IN SELECT * FROM jsonb_array_elements(record -> 'charges') LOOP
        PERFORM shaped(each, ARRAY['scope', 'charge', 'after']);
        IF each ->> 'scope' = ANY (names) THEN
            RAISE EXCEPTION 'a charge names a scope twice';
        ELSIF charge_scope(line(each -> 'scope'), each -> 'charge') <> each -> 'after' THEN
            RAISE EXCEPTION 'a charge does not add up';
        END IF;
        names := names || (each ->> 'scope');
    END LOOP;
    IF names = '{{}}' THEN
        RAISE EXCEPTION 'a charge names no scope';
    END IF;
    INSERT INTO open_charges VALUES ((record ->> 'seq')::bigint, names, record -> 'parameters');
    INSERT INTO nonces VALUES (formed(record ->> 'nonce', '[0-9a-f]{{32}}'));
    IF request <> '{{}}' THEN
        PERFORM formed(shaped(request, ARRAY['id', 'asked']) ->> 'asked', '{hash}');
        INSERT INTO requests VALUES (formed(request ->> 'id', '{hash}'));
    END IF;
END$$""",
    # The outcome of an open charge: a commitment to an output, or a reason why there is none.
    """CREATE FUNCTION settle{record} AS
$$DECLARE
    kind text := body::jsonb ->> 'kind';
    record jsonb := appended(wait, body, hash, signature, 'released|settled|aborted', CASE kind
        WHEN 'aborted' THEN ARRAY['charge', 'reason']
        WHEN 'settled' THEN ARRAY['charge', 'commitment', 'spent']
        ELSE ARRAY['charge', 'commitment'] END);
    place bigint := formed(record ->> 'charge', '0|[1-9][0-9]{{0,17}}');
    ended open_charges%ROWTYPE;
BEGIN
    DELETE FROM open_charges WHERE charge = place RETURNING * INTO ended;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'an outcome is of a charge that awaits none';
    END IF;
    IF kind = 'aborted' THEN
        PERFORM formed(record ->> 'reason', 'source|interrupt|error|input');
        UPDATE scopes SET refusals = refusals + 1
            WHERE record ->> 'reason' = 'input' AND name = ANY (ended.scopes);
    ELSE
        PERFORM formed(record ->> 'commitment', '{hash}');
    END IF;
    IF kind = 'released' AND EXISTS (
        SELECT FROM scopes WHERE name = ANY (ended.scopes) AND refusals >= max_refusals
    ) THEN
        RAISE EXCEPTION 'a scope is closed';
    ELSIF kind = 'settled' AND (record -> 'spent' = '{{}}' OR EXISTS (
        SELECT FROM jsonb_each_text(object(record -> 'spent', true)) AS used,
            rational(used.value) AS amount, rational(ended.parameters ->> used.key) AS most
        WHERE amount[2] <> 1 OR amount[1] * most[2] > most[1]
    )) THEN
        RAISE EXCEPTION 'a session used other amounts than were reserved';
    END IF;
END$$""",
    # --------------------------------------------------------------------------------------- scopes
    # The amounts that add up under these terms, each with its way.
    """CREATE FUNCTION ways(terms jsonb) RETURNS TABLE (name text, way integer) LANGUAGE sql AS
$$SELECT * FROM (VALUES ('rho', 1), ('epsilon', 1), ('not_pure', 1), ('own_delta', 0))
        AS found (name, way) WHERE CASE name WHEN 'not_pure' THEN terms ?& ARRAY['epsilon', 'delta']
            WHEN 'own_delta' THEN terms ? 'delta' ELSE terms ? name END
    UNION ALL SELECT 'moment_' || place, place + 1
    FROM generate_series(1, jsonb_array_length(terms -> 'excesses')) AS place$$""",
    # A scope, or one for each of its blocks; no other begins with the name of blocks and a slash.
    """CREATE FUNCTION open_scope{record} AS
$$DECLARE
    record jsonb := appended(wait, body, hash, signature, 'scope',
        ARRAY['utc', 'scope', 'terms', 'caps', 'max_refusals'], 'approvals');
    scope text := line(record -> 'scope');
    terms jsonb := object(record -> 'terms', false);
    blocks text[] := ARRAY(SELECT line(value) FROM jsonb_array_elements(terms -> 'blocks'));
    opened text;
BEGIN
    IF EXISTS (
        SELECT FROM scopes WHERE max_refusals < 0 AND starts_with(scope, name || '/')
            OR blocks <> '{{}}' AND starts_with(name, scope || '/')
    ) THEN
        RAISE EXCEPTION 'a scope has the name of another one''s block';
    ELSIF blocks <> '{{}}' THEN
        INSERT INTO scopes VALUES (scope, '{{}}', 0, -1);
    END IF;
    FOREACH opened IN ARRAY CASE blocks WHEN '{{}}' THEN ARRAY[scope]
        ELSE ARRAY(SELECT scope || '/' || block FROM unnest(blocks) AS block) END LOOP
        INSERT INTO scopes VALUES (opened, terms -> 'budget', 0,
            formed(record ->> 'max_refusals', '[1-9][0-9]{{0,6}}')::bigint);
        INSERT INTO amounts (scope, name, way) SELECT opened, * FROM ways(terms -> 'budget');
        PERFORM capped(opened, record -> 'caps');
    END LOOP;
END$$""",
    # Sets the caps of a scope, of amounts that it has; the pair of epsilon is stated whole.
    """CREATE FUNCTION capped(asked text, caps jsonb) RETURNS void {inner} AS
$$BEGIN
    UPDATE amounts SET cap = CASE WHEN caps ? name THEN rational(caps ->> name) END
        WHERE scope = asked;
    IF object(caps, true) - ARRAY(SELECT name FROM amounts WHERE scope = asked) <> '{{}}'
        OR EXISTS (
            SELECT FROM amounts WHERE scope = asked AND name !~ '^moment_' AND cap IS NULL
        ) THEN
        RAISE EXCEPTION 'a cap is missing, or of an amount that there is not';
    END IF;
END$$""",
    # A limit of the terms goes up to the ceiling that they state; logarithms are not computed here.
    """CREATE FUNCTION raise_limit{record} AS
$$DECLARE
    record jsonb := appended(wait, body, hash, signature, 'raised', ARRAY['utc', 'scope', 'limit',
        'before', 'after', 'caps', 'reason', 'approvals']);
    scope text := line(record -> 'scope');
    "limit" text := line(record -> 'limit');
    reason text := line(record -> 'reason');
    low numeric[] := rational(record ->> 'before');
    high numeric[] := rational(record ->> 'after');
    ceiling numeric[];
BEGIN
    UPDATE scopes SET max_refusals = high[1] WHERE name = scope AND "limit" = 'max_refusals'
        AND max_refusals = low[1] AND low[2] * high[2] = 1 AND high[1] > low[1]
        AND record -> 'caps' = '{{}}';
    IF NOT FOUND THEN
        SELECT rational(terms -> 'ceiling' ->> "limit") INTO ceiling FROM scopes
            WHERE name = scope AND terms -> "limit" = record -> 'before';
        IF (high[1] * low[2] > low[1] * high[2] AND high[1] * ceiling[2] <= ceiling[1] * high[2]
            AND jsonb_array_length(record -> 'approvals') > 0) IS NOT TRUE THEN
            RAISE EXCEPTION 'a limit is not raised by this';
        END IF;
        UPDATE scopes SET terms = jsonb_set(terms, ARRAY["limit"], record -> 'after')
            WHERE name = scope;
        PERFORM capped(scope, record -> 'caps');
    END IF;
END$$""",
    """CREATE FUNCTION replace_key{record} AS
$$DECLARE
    record jsonb := appended(wait, body, hash, signature, 'key',
        ARRAY['utc', 'signer', 'replaces', 'handover', 'approvals']);
BEGIN
    PERFORM object(record -> 'signer', true);
END$$""",
    # A function may be executed by everybody until that is taken away.
    "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC",
)


def schema_of(schema: str) -> list[str]:
    """Return the statements that make the tables and functions, for a path on the schema alone."""
    inner = "LANGUAGE plpgsql"
    settings = f"{inner} SET search_path = {schema}, pg_temp SET standard_conforming_strings = on"
    record = "(wait integer, body text, hash text, signature text) RETURNS void"
    record += f" SECURITY DEFINER {settings}"
    forms = {"settings": settings, "inner": inner, "record": record, "hash": _HASH}
    made = [each.format(**forms, schema=schema) for each in _FUNCTIONS]
    return [*_TABLES, *made, _printable()]


def _printable() -> str:
    """Return the statement that lists the characters beyond ASCII that this Python prints."""
    runs = groupby(range(0x80, 0x110000), lambda code: chr(code).isprintable())
    found = [[*codes] for is_printed, codes in runs if is_printed]
    rows = ", ".join(f"({codes[0]}, {codes[-1]})" for codes in found)
    return f"INSERT INTO printable VALUES {rows}"  # noqa: S608 - numbers of ours
