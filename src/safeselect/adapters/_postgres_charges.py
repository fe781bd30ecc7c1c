"""Functions of PostgreSQL for those who charge: a charge, and its one outcome."""

from __future__ import annotations

CHARGES = (
    """CREATE FUNCTION totals(asked text) RETURNS jsonb {settings} AS
$$BEGIN
    RETURN (
        SELECT jsonb_object_agg(name, CASE total[2] WHEN 1 THEN total[1]::text
            ELSE total[1] || '/' || total[2] END)
        FROM amounts WHERE scope = asked
    );
END$$""",
    # Adds a price to the totals of a scope; returns what the record says of it.
    """CREATE FUNCTION charge_scope(charged text, price jsonb) RETURNS jsonb {settings} AS
$$DECLARE
    here scopes%ROWTYPE;
    before jsonb := totals(charged);
BEGIN
    SELECT * INTO here FROM scopes WHERE name = charged;
    IF NOT FOUND OR here.refusals >= here.max_refusals THEN
        RAISE EXCEPTION 'a charge names no scope, or a scope is closed';
    END IF;
    UPDATE amounts SET total = added(total, rational(price ->> name)) WHERE scope = charged;
    IF price - ARRAY(SELECT name FROM amounts WHERE scope = charged) <> '{{}}'
        OR totals(charged) = before THEN
        RAISE EXCEPTION 'a charge has amounts that its scope has not, or costs nothing';
    END IF;
    -- The amounts of way 0, and of one other way, if there is one.
    IF NOT (
        SELECT coalesce(bool_and(fits) FILTER (WHERE way = 0), true)
            AND coalesce(bool_or(fits) FILTER (WHERE way > 0), true)
        FROM (
            SELECT way, bool_and(total[1] * cap[2] <= cap[1] * total[2]) AS fits
            FROM amounts WHERE scope = charged GROUP BY way
        ) AS ways
    ) THEN
        RAISE EXCEPTION 'a charge exceeds its cap';
    END IF;
    RETURN jsonb_build_object('scope', charged, 'terms', here.terms, 'before', before,
        'charge', object(price, true), 'after', totals(charged));
END$$""",
    """CREATE FUNCTION charge(previous text, wait integer, utc text, library jsonb, purpose text,
    mechanism text, guarantee jsonb, parts jsonb, parameters jsonb, source jsonb, nonce text,
    request jsonb, charges jsonb, hash text, signature text) RETURNS void
SECURITY DEFINER {settings} AS
$$DECLARE
    here state%ROWTYPE := hold(previous, wait);
    names text[] := ARRAY(SELECT item ->> 'scope' FROM jsonb_array_elements(charges) AS item);
    charged jsonb[];
BEGIN
    IF cardinality(names) <> (SELECT count(DISTINCT name) FROM unnest(names) AS name)
        OR cardinality(names) = 0 THEN
        RAISE EXCEPTION 'a charge names no scope, or one twice';
    END IF;
    FOR place IN 1..cardinality(names) LOOP
        charged := charged || charge_scope(names[place], charges -> (place - 1) -> 'charge');
    END LOOP;
    INSERT INTO open_charges VALUES (here.count, names, object(parameters, true));
    INSERT INTO nonces VALUES (formed(nonce, '[0-9a-f]{{32}}'));
    IF request <> '{{}}' THEN
        INSERT INTO requests VALUES (formed(request ->> 'id', '{hash}'));
        request := jsonb_build_object('id', request -> 'id',
            'asked', formed(request ->> 'asked', '{hash}'));
    END IF;
    PERFORM put(here, 'charged', hash, signature, jsonb_build_object(
        'utc', instant(utc, here.clock),
        'library', object(library, true),
        'purpose', formed(purpose, '{line}'),
        'mechanism', formed(mechanism, '{line}'),
        'guarantee', object(guarantee, false),
        'parts', ARRAY(
            SELECT jsonb_build_object('count', formed(part ->> 'count', '[1-9][0-9]{{0,17}}'),
                'each', object(part -> 'each', false))
            FROM jsonb_array_elements(parts) WITH ORDINALITY AS items (part, place) ORDER BY place
        ),
        'parameters', parameters,
        'source', jsonb_build_object('name', source -> 'name', 'health', source -> 'health',
            'production', formed(source ->> 'production', 'yes|asserted|no')),
        'nonce', nonce,
        'request', object(request, true),
        'charges', charged));
END$$""",
    # The outcome of an open charge: a commitment to an output, or a reason why there is none.
    """CREATE FUNCTION settle(previous text, wait integer, kind text, charge bigint, hash text,
    signature text, commitment text DEFAULT NULL, reason text DEFAULT NULL,
    spent jsonb DEFAULT NULL) RETURNS void SECURITY DEFINER {settings} AS
$$DECLARE
    here state%ROWTYPE := hold(previous, wait);
    ended open_charges%ROWTYPE;
    outcome jsonb := jsonb_build_object('charge', charge::text);
BEGIN
    DELETE FROM open_charges AS open WHERE open.charge = settle.charge RETURNING * INTO ended;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'an outcome is of a charge that awaits none';
    END IF;
    IF formed(kind, 'released|settled|aborted') = 'aborted' THEN
        UPDATE scopes SET refusals = refusals + 1
            WHERE reason = 'input' AND name = ANY (ended.scopes);
        outcome := outcome || jsonb_build_object('reason',
            formed(reason, 'source|interrupt|error|input'));
    ELSE
        outcome := outcome || jsonb_build_object('commitment', formed(commitment, '{hash}'));
    END IF;
    IF kind = 'released' AND EXISTS (
        SELECT FROM scopes WHERE name = ANY (ended.scopes) AND refusals >= max_refusals
    ) THEN
        RAISE EXCEPTION 'a scope is closed';
    ELSIF kind = 'settled' THEN
        IF spent = '{{}}' OR EXISTS (
            SELECT FROM jsonb_each_text(object(spent, true)) AS used,
                rational(used.value) AS amount, rational(ended.parameters ->> used.key) AS most
            WHERE amount[2] <> 1 OR amount[1] * most[2] > most[1]
        ) THEN
            RAISE EXCEPTION 'a session used other amounts than were reserved';
        END IF;
        outcome := outcome || jsonb_build_object('spent', spent);
    END IF;
    PERFORM put(here, kind, hash, signature, outcome);
END$$""",
)
"""The statements; `{settings}` is the same for all functions."""
