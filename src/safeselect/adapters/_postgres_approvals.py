"""Functions of PostgreSQL for those who approve: new scopes, raised limits, another signing key."""

from __future__ import annotations

APPROVALS = (
    """CREATE FUNCTION open_scope(previous text, wait integer, utc text, scope text, terms jsonb,
    caps jsonb, max_refusals text, hash text, signature text, approvals jsonb DEFAULT NULL)
RETURNS void SECURITY DEFINER {settings} AS
$$DECLARE
    here state%ROWTYPE := hold(previous, wait);
BEGIN
    INSERT INTO scopes VALUES (formed(scope, '{line}'), object(terms, false), 0,
        formed(max_refusals, '[1-9][0-9]{{0,6}}')::bigint);
    INSERT INTO amounts (scope, name, cap)
        SELECT open_scope.scope, key, rational(value) FROM jsonb_each_text(object(caps, true));
    IF caps = '{{}}' OR EXISTS (SELECT FROM amounts WHERE cap[1] = 0) THEN
        RAISE EXCEPTION 'a scope has no cap';
    END IF;
    PERFORM put(here, 'scope', hash, signature, jsonb_strip_nulls(jsonb_build_object('utc',
        instant(utc, here.clock), 'scope', scope, 'terms', terms, 'caps', caps,
        'max_refusals', max_refusals, 'approvals', approvals)));
END$$""",
    # A cap at a Rényi order follows from logarithms: such a budget is not raised on a server.
    """CREATE FUNCTION raise_limit(previous text, wait integer, utc text, scope text, "limit" text,
    before text, after text, reason text, approvals jsonb, hash text, signature text) RETURNS void
SECURITY DEFINER {settings} AS
$$DECLARE
    here state%ROWTYPE := hold(previous, wait);
    low numeric[] := rational(before);
    high numeric[] := rational(after);
    field text[] := ARRAY['budget', "limit"];
BEGIN
    UPDATE scopes SET max_refusals = high[1] WHERE name = scope AND "limit" = 'max_refusals'
        AND max_refusals = low[1] AND low[2] * high[2] = 1 AND high[1] > low[1];
    IF NOT FOUND THEN
        UPDATE amounts SET cap = high WHERE amounts.scope = raise_limit.scope AND name = "limit"
            AND cap = low AND high[1] * low[2] > low[1] * high[2]
            AND jsonb_array_length(approvals) > 0;
        UPDATE scopes SET terms = jsonb_set(terms, field, to_jsonb(after))
            WHERE FOUND AND name = scope AND NOT terms -> 'budget' ? 'order';
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'a limit is not raised by this';
    END IF;
    PERFORM put(here, 'raised', hash, signature, jsonb_build_object('utc', instant(utc, here.clock),
        'scope', scope, 'limit', "limit", 'before', before, 'after', after,
        'reason', formed(reason, '{line}'), 'approvals', approvals));
END$$""",
    """CREATE FUNCTION replace_key(previous text, wait integer, utc text, signer jsonb,
    replaces text, handover text, approvals jsonb, hash text, signature text) RETURNS void
SECURITY DEFINER {settings} AS
$$DECLARE
    here state%ROWTYPE := hold(previous, wait);
BEGIN
    PERFORM put(here, 'key', hash, signature, jsonb_build_object('utc',
        instant(utc, here.clock), 'signer', object(signer, true), 'replaces', replaces,
        'handover', handover, 'approvals', approvals));
END$$""",
)
"""The statements; `{settings}` is the same for all functions."""
