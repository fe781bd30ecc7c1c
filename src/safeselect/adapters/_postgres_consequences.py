"""Functions of PostgreSQL that judge a record by those before it, and keep what follows."""

from __future__ import annotations

CONSEQUENCES = (
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
    """CREATE FUNCTION open_scope(record jsonb) RETURNS void {settings} AS
$$DECLARE
    caps jsonb := record -> 'caps';
    written text := record ->> 'max_refusals';
BEGIN
    IF written COLLATE "C" !~ '^[1-9][0-9]{{0,6}}$' THEN
        RAISE EXCEPTION 'a limit is no count';
    END IF;
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
END$$""",
    # A cap at a Rényi order follows from logarithms: such a budget is not raised on a server.
    """CREATE FUNCTION raise_limit(record jsonb) RETURNS void {settings} AS
$$DECLARE
    here scopes%ROWTYPE;
    amount text := record ->> 'limit';
    before numeric[] := rational(record ->> 'before');
    after numeric[] := rational(record ->> 'after');
BEGIN
    SELECT * INTO here FROM scopes WHERE name = record ->> 'scope';
    IF NOT FOUND OR after[1] * before[2] <= before[1] * after[2] THEN
        RAISE EXCEPTION 'a limit is not raised by this';
    END IF;
    IF amount = 'max_refusals' AND after[2] = 1
        AND here.max_refusals::text = record ->> 'before' THEN
        UPDATE scopes SET max_refusals = after[1]::bigint WHERE name = here.name;
    ELSIF jsonb_array_length(record -> 'approvals') > 0
        AND NOT here.terms -> 'budget' ? 'order'
        AND here.caps ->> amount = record ->> 'before' THEN
        UPDATE scopes SET caps = jsonb_set(caps, ARRAY[amount], record -> 'after'),
            terms = jsonb_set(terms, ARRAY['budget', amount], record -> 'after')
            WHERE name = here.name;
    ELSE
        RAISE EXCEPTION 'a limit is not raised by this';
    END IF;
END$$""",
)
"""The statements; `{settings}` is the same for all functions."""
