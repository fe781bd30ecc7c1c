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
    # Beside each record what no two may share: the nonce of a charge or, for an outcome, the place
    # of its charge; and the hash of a request ID.
    """CREATE TABLE records (
    seq bigint PRIMARY KEY CHECK (seq >= 0),
    body text NOT NULL,
    hash text NOT NULL,
    signature text NOT NULL,
    key text UNIQUE,
    request text
)""",
    "CREATE UNIQUE INDEX ON records (request) WHERE request IS NOT NULL",
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
    # The amounts of a scope in their order, and of each the cap and the total, above and below the
    # line.  An amount without a cap is no way.
    """CREATE TABLE scopes (
    name text PRIMARY KEY,
    quoted text NOT NULL,
    terms jsonb NOT NULL,
    refusals bigint NOT NULL DEFAULT 0,
    max_refusals bigint NOT NULL,
    names text[] NOT NULL,
    above numeric[] NOT NULL,
    below numeric[] NOT NULL,
    cap_above numeric[],
    cap_below numeric[]
)""",
    # What lies, after the amounts, between nonce, previous hash, request, place and time: charges
    # that differ from an earlier one in these alone are not spelled and checked anew.
    "CREATE TABLE forms (digest bytea PRIMARY KEY, pieces text[] NOT NULL)",
    "CREATE TABLE printable (first integer PRIMARY KEY, last integer NOT NULL)",
)

# `{record}` is for functions that take one, `{inner}` for those that others call.
_FUNCTIONS = (
    """CREATE FUNCTION only_grows() RETURNS trigger {settings} AS
$$BEGIN
    RAISE EXCEPTION 'records are only appended, by functions, never changed or removed';
END$$""",
    """CREATE TRIGGER only_appended BEFORE INSERT ON records FOR EACH ROW
WHEN (current_setting('safeselect.place', true) IS DISTINCT FROM NEW.seq::text)
EXECUTE FUNCTION only_grows()""",
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
        RETURN CASE WHEN value::text COLLATE "C" ~ '^[ -~]*$' AND strpos(value::text, chr(92)) = 0
            THEN value::text ELSE quoted(value #>> '{{}}') END;
    WHEN 'truearray' THEN
        RETURN '[' || coalesce((
            SELECT string_agg(canonical(item, levels - 1), ',' ORDER BY place)
            FROM jsonb_array_elements(value) WITH ORDINALITY AS items (item, place)
        ), '') || ']';
    WHEN 'trueobject' THEN
        RETURN '{{' || coalesce((
            SELECT string_agg(canonical(to_jsonb(name), levels) || ':'
                || canonical(item, levels - 1), ',' ORDER BY name COLLATE "C")
            FROM jsonb_each(value) AS items (name, item)
        ), '') || '}}';
    ELSE
        RAISE EXCEPTION 'a value is missing, too deep, or no text, list or object';
    END CASE;
END$$""",
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
    IF (jsonb_typeof(value) = 'string' AND length(value #>> '{{}}') BETWEEN 1 AND 200
        AND btrim(value #>> '{{}}') = value #>> '{{}}') IS NOT TRUE THEN
        RAISE EXCEPTION 'a value is no text, or not of its form';
    END IF;
    RETURN value #>> '{{}}';
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
    above numeric := split_part(written, '/', 1);
    below numeric := coalesce(nullif(split_part(written, '/', 2), ''), '1');
BEGIN
    IF (written = above || CASE WHEN strpos(written, '/') > 0 THEN '/' || below ELSE '' END
        AND translate(written, '0123456789/', '') = '') IS NOT TRUE THEN
        RAISE EXCEPTION 'a number is not of its form';
    ELSIF greatest(above, below) >= {2**MAX_BITS} OR below = 0 OR strpos(written, '/') > 0
        AND (below = 1 OR gcd(above, below) <> 1) THEN
        RAISE EXCEPTION 'a number is too long, or not in lowest terms';
    END IF;
    RETURN ARRAY[above, below];
END$$""",
    # -------------------------------------------------------------------------------------- records
    # Says that the commit is durable and waits for locks only so long, whatever the session says.
    f"""CREATE FUNCTION begun(wait integer) RETURNS text {{inner}} AS
$$BEGIN
    IF pg_is_in_recovery() OR current_setting('fsync') <> 'on'
        OR current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a record is only written where the server waits for its disk, follows no '
            'other, and in a transaction that is read committed' USING ERRCODE = '{UNSAFE}';
    END IF;
    RETURN set_config('synchronous_commit', 'on', true)
        || set_config('lock_timeout', wait || 's', true);
END$$""",
    # Returns the rows from `first` on.  If fewer than `most` are there, locks the ledger until the
    # commit first; otherwise the caller reads on, without the lock.
    """CREATE FUNCTION begin_charge(first bigint, most integer, wait integer)
RETURNS SETOF records SECURITY DEFINER {settings} AS
$$BEGIN
    PERFORM begun(wait);
    PERFORM FROM state WHERE count < first + most FOR UPDATE;
    RETURN QUERY SELECT * FROM records WHERE seq >= first ORDER BY seq LIMIT most;
END$$""",
    # What only the owner writes: the first record, and notes on others.
    """CREATE FUNCTION note{record} AS
$$BEGIN
    PERFORM begun(wait), set_config('safeselect.place', body::jsonb ->> 'seq', true);
    UPDATE state SET count = count + 1, last = hash, ledger = body::jsonb ->> 'ledger',
        signed = signature <> '', clock = coalesce(clock, body::jsonb ->> 'clock');
    INSERT INTO records VALUES ((body::jsonb ->> 'seq')::bigint, body, hash, signature);
END$$""",
    # Checks a record of a kind with these fields, and perhaps one more, of any texts.
    """CREATE FUNCTION formed_record(record jsonb, body text, kinds text, fields text[],
    more text DEFAULT NULL) RETURNS jsonb {inner} AS
$$DECLARE
    known text[] := fields || ARRAY['schema', 'kind', 'ledger', 'seq', 'previous']
        || CASE WHEN record ? more THEN ARRAY[more] END;
BEGIN
    IF canonical(record, 8) <> body THEN
        RAISE EXCEPTION 'a record has another hash or spelling';
    ELSIF (formed(record ->> 'kind', kinds) IS NOT NULL AND record ?& known
        AND record - known = '{{}}') IS NOT TRUE THEN
        RAISE EXCEPTION 'an object does not have the fields of its kind';
    END IF;
    RETURN record;
END$$""",
    # Locks the ledger until the commit, and adds a record of the right form; returns its place.
    f"""CREATE FUNCTION appended(wait integer, record jsonb, body text, hash text, signature text,
    key text DEFAULT NULL, request text DEFAULT NULL) RETURNS bigint {{inner}} AS
$$DECLARE
    here state%ROWTYPE;
    begun text := begun(wait);
    bare text := rtrim(record ->> 'utc', 'Z');
    whole text := bare || substr('0001-01-01T00:00:00', length(bare) + 1);
BEGIN
    IF length(body) + length(signature) > {LONGEST - 200} THEN
        RAISE EXCEPTION 'a record is too long';
    ELSIF hash IS DISTINCT FROM encode(sha256(
        decode('{RECORD_DOMAIN.hex()}', 'hex') || convert_to(body, 'UTF8')), 'hex') THEN
        RAISE EXCEPTION 'a record has another hash or spelling';
    END IF;
    UPDATE state SET count = count + 1, last = hash WHERE last = record ->> 'previous'
        RETURNING * INTO here;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another record was written meanwhile' USING ERRCODE = '{MOVED}';
    ELSIF here.signed IS DISTINCT FROM (signature <> '' AND formed(signature, '([0-9a-f][0-9a-f])*')
        IS NOT NULL) THEN
        RAISE EXCEPTION 'a record is not signed as the ledger is';
    ELSIF (record ->> 'schema' = '{SCHEMA}' AND record ->> 'ledger' = here.ledger
        AND record ->> 'seq' = (here.count - 1)::text) IS NOT TRUE THEN
        RAISE EXCEPTION 'a record has another place';
    ELSIF record ? 'utc' AND (whole = to_char(whole::timestamp, 'YYYY-MM-DD"T"HH24:MI:SS')
        AND record ->> 'utc' = CASE here.clock WHEN 'day' THEN left(whole, 10)
            WHEN 'hour' THEN left(whole, 13) || 'Z' WHEN 'minute' THEN left(whole, 16) || 'Z' END)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'a time is not as fine as the clock of the ledger';
    END IF;
    begun := set_config('safeselect.place', record ->> 'seq', true);
    INSERT INTO records VALUES (here.count - 1, body, hash, signature, key, request);
    RETURN here.count - 1;
END$$""",  # noqa: S608
    # -------------------------------------------------------------------------------------- charges
    # Adds a price to the sums of a scope; returns what the record states of both.  A total is
    # exact, and rounded up where it would grow too long.
    """CREATE FUNCTION charge_scope(charged text, price jsonb) RETURNS text {inner} AS
$$DECLARE
    here scopes%ROWTYPE;
    cost numeric[];
    above numeric;
    below numeric;
    common numeric;
    after text := '';
    paid text := '';
    is_free boolean := true;
    within text[] := '{{}}';
BEGIN
    SELECT * INTO here FROM scopes WHERE name = charged AND refusals < max_refusals;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'a charge names no scope, or a scope is closed';
    END IF;
    FOR i IN 1 .. cardinality(here.names) LOOP
        cost := rational(price ->> here.names[i]);
        above := here.above[i] * cost[2] + cost[1] * here.below[i];
        below := here.below[i] * cost[2];
        common := gcd(above, below);
        IF below > {unit} * common THEN
            above := div(above * {unit} + below - 1, below);
            below := {unit};
            common := gcd(above, below);
        END IF;
        above := div(above, common);
        below := div(below, common);
        here.above[i] := above;
        here.below[i] := below;
        after := after || ',"' || here.names[i] || '":"' || above
            || CASE below WHEN 1 THEN '' ELSE '/' || below END || '"';
        paid := paid || ',"' || here.names[i] || '":"' || (price ->> here.names[i]) || '"';
        is_free := is_free AND cost[1] = 0;
        IF above * here.cap_below[i] <= here.cap_above[i] * below THEN
            within := within || here.names[i];
        END IF;
    END LOOP;
    -- Own deltas are always within their cap, and one way: epsilon with its other half, or another.
    IF here.names && ARRAY['own_delta'] AND NOT within && ARRAY['own_delta'] THEN
        within := '{{}}';
    ELSIF here.names && ARRAY['not_pure'] AND NOT within && ARRAY['not_pure'] THEN
        within := array_remove(within, 'epsilon');
    END IF;
    IF is_free THEN
        RAISE EXCEPTION 'a charge costs nothing';
    ELSIF within <@ ARRAY['own_delta', 'not_pure'] THEN
        RAISE EXCEPTION 'a charge exceeds its cap';
    END IF;
    UPDATE scopes SET above = here.above, below = here.below WHERE name = charged;
    RETURN ',{{"after":{{' || substr(after, 2) || '}},"charge":{{' || substr(paid, 2)
        || '}},"scope":' || here.quoted || '}}';
END$$""",
    # Checks what charges have in common; returns what comes between that in which they differ.
    f"""CREATE FUNCTION form_of(record jsonb) RETURNS text[] {{inner}} AS
$$DECLARE
    source jsonb := object(record -> 'source', true);
    each jsonb;
    parts text := '';
BEGIN
    IF (line(record -> 'purpose') IS NOT NULL AND line(record -> 'mechanism') IS NOT NULL
        AND source ->> 'production' IN ('yes', 'asserted', 'no')) IS NOT TRUE THEN
        RAISE EXCEPTION 'a charge does not have the fields of its kind';
    END IF;
    FOR i IN 0 .. jsonb_array_length(record -> 'parts') - 1 LOOP
        each := record -> 'parts' -> i;
        parts := concat(parts, ',{{{{"count":"', formed(each ->> 'count', '[1-9][0-9]{{{{0,17}}}}'),
            '","each":', canonical(object(each -> 'each', false), 4), '}}}}');
    END LOOP;
    RETURN ARRAY[
        concat(',"guarantee":', canonical(object(record -> 'guarantee', false), 6),
            ',"kind":"charged","ledger":"', record ->> 'ledger', '"', CASE WHEN record ? 'library'
                THEN ',"library":' || canonical(object(record -> 'library', true), 2) END,
            ',"mechanism":', canonical(record -> 'mechanism', 1), ',"nonce":"'),
        concat('","parameters":', canonical(object(record -> 'parameters', true), 2), ',"parts":[',
            substr(parts, 2), '],"previous":"'),
        concat('","purpose":', canonical(record -> 'purpose', 1), ',"request":'),
        ',"schema":"{SCHEMA}","seq":"',
        concat('","source":{{{{"health":', canonical(source -> 'health', 1), ',"name":',
            canonical(source -> 'name', 1), ',"production":"', source ->> 'production',
            '"}}}},"utc":"'),
        '"}}}}'];
END$$""",
    """CREATE FUNCTION charge{record} AS
$$DECLARE
    record jsonb := body;
    request jsonb := record -> 'request';
    nonce text := record ->> 'nonce';
    asked text := '{{}}';
    form bytea := sha256(convert_to((record
        - ARRAY['charges', 'nonce', 'previous', 'request', 'seq', 'utc'])::text, 'UTF8'));
    found text[];
    pieces text[];
    place bigint;
    charged text;
    charges text := '';
    names text[] := '{{}}';
BEGIN
    IF request <> '{{}}' THEN
        asked := '{{"asked":"' || formed(request ->> 'asked', '{hash}') || '","id":"'
            || formed(request ->> 'id', '{hash}') || '"}}';
    END IF;
    SELECT forms.pieces INTO found FROM forms WHERE digest = form;
    pieces := coalesce(found, form_of(record));
    place := appended(wait, record, body, hash, signature, nonce, request ->> 'id');
    IF found IS NULL THEN
        DELETE FROM forms WHERE place % 1000 = 0;  -- so that they are some thousand at most
        INSERT INTO forms VALUES (form, pieces);
    END IF;
    FOR i IN 0 .. jsonb_array_length(record -> 'charges') - 1 LOOP
        charged := record -> 'charges' -> i ->> 'scope';
        IF charged = ANY (names) THEN
            RAISE EXCEPTION 'a charge names a scope twice';
        END IF;
        names := names || charged;
        charges := charges || charge_scope(charged, record -> 'charges' -> i -> 'charge');
    END LOOP;
    IF charges = '' OR nonce COLLATE "C" !~ '^[0-9a-f]{{32}}$'
        OR body <> concat('{{"charges":[', substr(charges, 2), ']', pieces[1], nonce, pieces[2],
        record ->> 'previous', pieces[3], asked, pieces[4], place, pieces[5],
        record ->> 'utc', pieces[6]) THEN
        RAISE EXCEPTION 'a charge does not add up, or has another spelling';
    END IF;
END$$""",
    # The outcome of an open charge: a commitment to an output, or a reason why there is none.
    """CREATE FUNCTION settle{record} AS
$$DECLARE
    record jsonb := body;
    kind text := record ->> 'kind';
    place bigint := record ->> 'charge';
    seq bigint;
    charged jsonb;
    there text[];
BEGIN
    -- In most of them no text needs an escape: they are spelled at once.
    IF body <> concat('{{"charge":"', place, '","commitment":"', record ->> 'commitment',
        '","kind":"released","ledger":"', record ->> 'ledger', '","previous":"',
        record ->> 'previous', '","schema":"', record ->> 'schema', '","seq":"', record ->> 'seq',
        '"}}') THEN
        PERFORM formed_record(record, body, 'released|settled|aborted', CASE kind
            WHEN 'aborted' THEN ARRAY['charge', 'reason']
            WHEN 'settled' THEN ARRAY['charge', 'commitment', 'spent']
            ELSE ARRAY['charge', 'commitment'] END);
    END IF;
    IF (place::text = record ->> 'charge' AND (record ->> 'commitment' COLLATE "C" ~ '^{hash}$'
        OR kind = 'aborted' AND record ->> 'reason' IN ('source', 'interrupt', 'error', 'input')))
        IS NOT TRUE THEN
        RAISE EXCEPTION 'an outcome is not of its form';
    END IF;
    seq := appended(wait, record, body, hash, signature, place::text);
    SELECT earlier.body INTO charged FROM records AS earlier WHERE earlier.seq = place;
    IF (charged ->> 'kind' = 'charged') IS NOT TRUE THEN
        RAISE EXCEPTION 'an outcome is of a charge that awaits none';
    END IF;
    there := ARRAY(SELECT each ->> 'scope' FROM jsonb_array_elements(charged -> 'charges') AS each);
    IF kind = 'aborted' THEN
        UPDATE scopes SET refusals = refusals + 1
            WHERE record ->> 'reason' = 'input' AND name = ANY (there);
    ELSIF kind = 'released' AND EXISTS (
        SELECT FROM scopes WHERE name = ANY (there) AND refusals >= max_refusals
    ) THEN
        RAISE EXCEPTION 'a scope is closed';
    ELSIF kind = 'settled' AND (record -> 'spent' = '{{}}' OR EXISTS (
        SELECT FROM jsonb_each_text(object(record -> 'spent', true)) AS used,
            rational(used.value) AS amount,
            rational(charged -> 'parameters' ->> used.key) AS most
        WHERE amount[2] <> 1 OR amount[1] * most[2] > most[1]
    )) THEN
        RAISE EXCEPTION 'a session used other amounts than were reserved';
    END IF;
END$$""",
    # --------------------------------------------------------------------------------------- scopes
    # The amounts that add up under these terms.
    """CREATE FUNCTION names_of(terms jsonb) RETURNS text[] {inner} AS
$$BEGIN
    RETURN ARRAY(SELECT name FROM unnest(ARRAY['rho', 'epsilon', 'not_pure', 'own_delta'] || ARRAY(
        SELECT 'moment_' || place FROM generate_series(1, jsonb_array_length(terms -> 'excesses'))
            AS place)) AS name
        WHERE CASE name WHEN 'not_pure' THEN terms ?& ARRAY['epsilon', 'delta']
            WHEN 'own_delta' THEN terms ? 'delta' ELSE terms ? name OR name ~ '^moment' END
        ORDER BY name COLLATE "C");
END$$""",
    # A scope, or one for each of its blocks; no other begins with the name of blocks and a slash.
    """CREATE FUNCTION open_scope{record} AS
$$DECLARE
    record jsonb := formed_record(body::jsonb, body, 'scope',
        ARRAY['utc', 'scope', 'terms', 'caps', 'max_refusals'], 'approvals');
    seq bigint := appended(wait, record, body, hash, signature);
    scope text := line(record -> 'scope');
    terms jsonb := object(record -> 'terms', false);
    blocks text[] := ARRAY(SELECT line(value) FROM jsonb_array_elements(terms -> 'blocks'));
    names text[];
    opened text;
BEGIN
    IF EXISTS (
        SELECT FROM scopes WHERE max_refusals < 0 AND starts_with(scope, name || '/')
            OR blocks <> '{{}}' AND starts_with(name, scope || '/')
    ) THEN
        RAISE EXCEPTION 'a scope has the name of another one''s block';
    ELSIF blocks <> '{{}}' THEN
        INSERT INTO scopes VALUES (scope, '', '{{}}', 0, -1, '{{}}', '{{}}', '{{}}');
    END IF;
    FOREACH opened IN ARRAY CASE blocks WHEN '{{}}' THEN ARRAY[scope]
        ELSE ARRAY(SELECT scope || '/' || block FROM unnest(blocks) AS block) END LOOP
        names := names_of(terms -> 'budget');
        INSERT INTO scopes VALUES (opened, canonical(to_jsonb(opened), 1), terms -> 'budget', 0,
            formed(record ->> 'max_refusals', '[1-9][0-9]{{0,6}}')::bigint, names,
            array_fill(0, ARRAY[cardinality(names)]), array_fill(1, ARRAY[cardinality(names)]));
        PERFORM capped(opened, record -> 'caps');
    END LOOP;
END$$""",
    # Sets the caps of a scope, of amounts that it has; the pair of epsilon is stated whole.
    """CREATE FUNCTION capped(asked text, caps jsonb) RETURNS void {inner} AS
$$DECLARE
    known text[];
BEGIN
    UPDATE scopes SET cap_above = ARRAY(SELECT CASE WHEN caps ? each THEN
            (rational(caps ->> each))[1] END FROM unnest(names) AS each),
        cap_below = ARRAY(SELECT CASE WHEN caps ? each THEN
            (rational(caps ->> each))[2] END FROM unnest(names) AS each)
        WHERE name = asked RETURNING names INTO known;
    IF object(caps, true) - known <> '{{}}' OR EXISTS (
        SELECT FROM unnest(known) AS each WHERE each !~ '^moment_' AND NOT caps ? each
    ) THEN
        RAISE EXCEPTION 'a cap is missing, or of an amount that there is not';
    END IF;
END$$""",
    # A limit of the terms goes up to the ceiling that they state; logarithms are not computed here.
    """CREATE FUNCTION raise_limit{record} AS
$$DECLARE
    record jsonb := formed_record(body::jsonb, body, 'raised', ARRAY['utc', 'scope', 'limit',
        'before', 'after', 'caps', 'reason', 'approvals']);
    seq bigint := appended(wait, record, body, hash, signature);
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
    record jsonb := formed_record(body::jsonb, body, 'key',
        ARRAY['utc', 'signer', 'replaces', 'handover', 'approvals']);
    seq bigint := appended(wait, record, body, hash, signature);
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
    forms = {"settings": settings, "inner": inner, "record": record, "hash": _HASH, "unit": _UNIT}
    made = [each.format(**forms, schema=schema) for each in _FUNCTIONS]
    return [*_TABLES, *made, _printable()]


def _printable() -> str:
    """Return the statement that lists the characters beyond ASCII that this Python prints."""
    runs = groupby(range(0x80, 0x110000), lambda code: chr(code).isprintable())
    found = [[*codes] for is_printed, codes in runs if is_printed]
    rows = ", ".join(f"({codes[0]}, {codes[-1]})" for codes in found)
    return f"INSERT INTO printable VALUES {rows}"  # noqa: S608 - numbers of ours
