-- Refuse JSON that PostgreSQL cannot query: \u0000, or half of a surrogate pair. The type json takes both.
--
-- Triggers in place of CHECK constraints: the statement reads no rows, and a row that an earlier version stored can still be updated in its
-- other columns. A CHECK, also one that is not valid, would refuse every update of such a row.

CREATE FUNCTION chamberlain.refuse_unreadable() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    name text;
    written text;
    before text;
BEGIN
    FOREACH name IN ARRAY TG_ARGV LOOP
        EXECUTE format('SELECT ($1).%I::text', name) INTO written USING NEW;
        IF TG_OP = 'UPDATE' THEN
            EXECUTE format('SELECT ($1).%I::text', name) INTO before USING OLD;
        END IF;
        IF written IS DISTINCT FROM before THEN
            -- Raises untranslatable_character or invalid_text_representation.
            PERFORM written::jsonb;
        END IF;
    END LOOP;
    RETURN NEW;
END
$$;

DO $$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT c.relname,
            string_agg(format('%I', a.attname), ', ' ORDER BY a.attnum) AS columns,
            string_agg(format('%L', a.attname), ', ' ORDER BY a.attnum) AS names,
            string_agg(format('strpos(NEW.%I::text, %L) > 0', a.attname, '\u'), ' OR ' ORDER BY a.attnum) AS any_escape
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.atttypid = 'json'::regtype AND NOT a.attisdropped
        WHERE c.relnamespace = 'chamberlain'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        GROUP BY c.relname ORDER BY c.relname
    LOOP
        EXECUTE format(
            'CREATE TRIGGER refuse_unreadable BEFORE INSERT OR UPDATE OF %s ON chamberlain.%I '
            'FOR EACH ROW WHEN (%s) EXECUTE FUNCTION chamberlain.refuse_unreadable(%s)',
            found.columns, found.relname, found.any_escape, found.names
        );
    END LOOP;
END
$$;

-- Read JSON of templates and policies that an earlier version stored with \u0000 or half of a surrogate pair. PostgreSQL can query none of
-- it, and one such row would fail every list of its tenant. The text shows U+FFFD in their place. New rows of that kind are refused
-- by the triggers above.
CREATE FUNCTION chamberlain.clean_escapes(content json) RETURNS json LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    written text := content::text;
BEGIN
    PERFORM written::jsonb;
    RETURN content;
EXCEPTION WHEN untranslatable_character OR invalid_text_representation THEN
    -- An escape begins behind an even number of backslashes.
    written := regexp_replace(written, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g');
    -- The service writes no escaped pairs, so whole pairs are lost with the halves.
    RETURN regexp_replace(written, '(?<!\\)((?:\\\\)*)\\u[dD][89a-fA-F][0-9a-fA-F]{2}', '\1\\ufffd', 'g')::json;
END
$$;

-- Inlined into each query, so that JSON without escapes costs one search.
CREATE FUNCTION chamberlain.clean(content json) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN strpos(content::text, '\u') > 0 THEN chamberlain.clean_escapes(content) ELSE content END
$$;
