CREATE TABLE format (version integer NOT NULL);
INSERT INTO format VALUES (1);
CREATE TABLE records (
    seq bigint PRIMARY KEY CHECK (seq >= 0),
    body text NOT NULL,
    hash text NOT NULL UNIQUE,
    signature text NOT NULL,
    total_of text,
    nonce text UNIQUE,
    settles bigint UNIQUE
);
CREATE INDEX totals ON records (total_of, seq);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$BEGIN RAISE EXCEPTION 'records are never changed or removed'; END$$;
CREATE FUNCTION append() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$BEGIN
    IF NEW.seq <> (SELECT coalesce(max(seq), -1) + 1 FROM records) THEN
        RAISE EXCEPTION 'records are only appended';
    END IF;
    RETURN NEW;
END$$;
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON records
FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER only_appended BEFORE INSERT ON records
FOR EACH ROW EXECUTE FUNCTION append();
