"""Functions of PostgreSQL for the texts of records: canonical JSON, and exact numbers."""

from __future__ import annotations

_UNIT = 2**1024  # below the line of a total that is rounded up

TEXTS = (
    # A text in JSON, in ASCII, as Python's json writes it.
    """CREATE FUNCTION quoted(value text) RETURNS text {settings} AS
$$DECLARE
    found text := '';
    letter text;
    code integer;
BEGIN
    IF value COLLATE "C" ~ '^[ -~]*$' AND strpos(value, chr(34)) = 0
        AND strpos(value, chr(92)) = 0 THEN
        RETURN chr(34) || value || chr(34);
    END IF;
    FOREACH letter IN ARRAY regexp_split_to_array(value, '') LOOP
        code := ascii(letter);
        IF code < 32 OR code = 127 THEN
            RAISE EXCEPTION 'a text cannot be printed';
        ELSIF code IN (34, 92) THEN
            found := found || chr(92) || letter;
        ELSIF code < 127 THEN
            found := found || letter;
        ELSIF code < 65536 THEN
            found := found || chr(92) || 'u' || lpad(to_hex(code), 4, '0');
        ELSE
            code := code - 65536;
            found := found || chr(92) || 'u' || to_hex(55296 + code / 1024)
                || chr(92) || 'u' || to_hex(56320 + code % 1024);
        END IF;
    END LOOP;
    RETURN chr(34) || found || chr(34);
END$$""",
    # The one spelling of a value: so the server and every process read the same.
    """CREATE FUNCTION canonical(value jsonb) RETURNS text {settings} AS
$$BEGIN
    CASE jsonb_typeof(value)
    WHEN 'string' THEN
        RETURN quoted(value #>> '{{}}');
    WHEN 'array' THEN
        RETURN '[' || coalesce((
            SELECT string_agg(canonical(item), ',' ORDER BY place)
            FROM jsonb_array_elements(value) WITH ORDINALITY AS items (item, place)
        ), '') || ']';
    WHEN 'object' THEN
        RETURN '{{' || coalesce((
            SELECT string_agg(quoted(name) || ':' || canonical(item), ',' ORDER BY name COLLATE "C")
            FROM jsonb_each(value) AS items (name, item)
        ), '') || '}}';
    ELSE
        RAISE EXCEPTION 'a value is no text, list or object';
    END CASE;
END$$""",
    """CREATE FUNCTION names(value jsonb) RETURNS text[] {settings} AS
$$BEGIN
    IF jsonb_typeof(value) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'a value is no object';
    END IF;
    RETURN ARRAY(SELECT name FROM jsonb_object_keys(value) AS name ORDER BY name COLLATE "C");
END$$""",
    # A number as two: above and below the line, in lowest terms.
    """CREATE FUNCTION rational(written text) RETURNS numeric[] {settings} AS
$$DECLARE
    above numeric;
    below numeric := 1;
BEGIN
    IF written IS NULL OR length(written) > 4000
        OR written COLLATE "C" !~ '^(0|[1-9][0-9]*)(/[1-9][0-9]*)?$' THEN
        RAISE EXCEPTION 'a number is none';
    END IF;
    above := split_part(written, '/', 1)::numeric;
    IF strpos(written, '/') > 0 THEN
        below := split_part(written, '/', 2)::numeric;
        IF below = 1 OR gcd(above, below) <> 1 THEN
            RAISE EXCEPTION 'a number is not in lowest terms';
        END IF;
    END IF;
    RETURN ARRAY[above, below];
END$$""",
    # The new total as records spell it: exact, and rounded up where it would grow too long.
    f"""CREATE FUNCTION added(total numeric[], price numeric[]) RETURNS numeric[] {{settings}} AS
$$DECLARE
    above numeric := total[1] * price[2] + price[1] * total[2];
    below numeric := total[2] * price[2];
    common numeric := gcd(above, below);
BEGIN
    above := div(above, common);
    below := div(below, common);
    IF below > {_UNIT} THEN
        above := div(above * {_UNIT} + below - 1, below);
        below := {_UNIT};
        common := gcd(above, below);
        above := div(above, common);
        below := div(below, common);
    END IF;
    RETURN ARRAY[above, below];
END$$""",
    """CREATE FUNCTION spelled(value numeric[]) RETURNS text {settings} AS
$$BEGIN
    RETURN CASE WHEN value[2] = 1 THEN value[1]::text
        ELSE value[1]::text || '/' || value[2]::text END;
END$$""",
)
"""The statements; `{settings}` is the same for all functions."""
