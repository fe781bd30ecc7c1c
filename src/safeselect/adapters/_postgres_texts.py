"""Functions of PostgreSQL for the texts of records: canonical JSON, and exact numbers."""

from __future__ import annotations

from safeselect.exact.parameters import MAX_BITS

_UNIT = 2**1024  # below the line of a total that is rounded up

TEXTS = (
    # A text in JSON, in ASCII, as Python's json writes it; nothing that cannot be printed.
    """CREATE FUNCTION quoted(value text) RETURNS text {settings} AS
$$DECLARE
    found text := '';
    letter text;
    code integer;
BEGIN
    IF value COLLATE "C" ~ '^[ -~]*$' THEN
        RETURN to_json(value);
    END IF;
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
    # Writes the one spelling of a value, at most so many levels deep.
    """CREATE FUNCTION canonical(value jsonb, levels integer) RETURNS text {settings} AS
$$BEGIN
    CASE (levels > 0)::text || jsonb_typeof(value)
    WHEN 'truestring' THEN
        RETURN quoted(value #>> '{{}}');
    WHEN 'truearray' THEN
        RETURN '[' || coalesce((
            SELECT string_agg(canonical(item, levels - 1), ',' ORDER BY place)
            FROM jsonb_array_elements(value) WITH ORDINALITY AS items (item, place)
        ), '') || ']';
    WHEN 'trueobject' THEN
        RETURN '{{' || coalesce((
            SELECT string_agg(quoted(name) || ':' || canonical(item, levels - 1), ','
                ORDER BY name COLLATE "C")
            FROM jsonb_each(value) AS items (name, item)
        ), '') || '}}';
    ELSE
        RAISE EXCEPTION 'a value is missing, too deep, or no text, list or object';
    END CASE;
END$$""",
    # A text of a form: a regular expression.
    """CREATE FUNCTION formed(value text, form text) RETURNS text {settings} AS
$$BEGIN
    IF (value COLLATE "C" ~ ('^(' || form || ')$')) IS NOT TRUE THEN
        RAISE EXCEPTION 'a text is not of its form: %', form;
    END IF;
    RETURN value;
END$$""",
    # A time that the calendar has, exactly as fine as the ledger's clock.
    """CREATE FUNCTION instant(value text, clock text) RETURNS text {settings} AS
$$DECLARE
    bare text := rtrim(formed(value, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T0-9:Z]{{0,10}}'), 'Z');
    whole text := to_char((bare || substr('0001-01-01T00:00:00', length(bare) + 1))::timestamp,
        'YYYY-MM-DD"T"HH24:MI:SS');
BEGIN
    whole := CASE clock WHEN 'day' THEN left(whole, 10) WHEN 'hour' THEN left(whole, 13) || 'Z'
        WHEN 'minute' THEN left(whole, 16) || 'Z' ELSE whole || 'Z' END;
    IF value IS DISTINCT FROM whole THEN
        RAISE EXCEPTION 'a time is not as fine as the clock of the ledger';
    END IF;
    RETURN value;
END$$""",
    # An object of texts, perhaps with further objects in it.
    """CREATE FUNCTION object(value jsonb, is_flat boolean) RETURNS jsonb {settings} AS
$$BEGIN
    IF jsonb_typeof(value) IS DISTINCT FROM 'object' OR is_flat AND EXISTS (
        SELECT FROM jsonb_each(value) AS items (name, item) WHERE jsonb_typeof(item) <> 'string'
    ) THEN
        RAISE EXCEPTION 'a value is no object of texts';
    END IF;
    RETURN value;
END$$""",
    # A number as two: above and below the line, in lowest terms.
    f"""CREATE FUNCTION rational(written text) RETURNS numeric[] {{settings}} AS
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
    f"""CREATE FUNCTION added(total numeric[], price numeric[]) RETURNS numeric[] {{settings}} AS
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
)
"""The statements; `{settings}` is the same for all functions."""
