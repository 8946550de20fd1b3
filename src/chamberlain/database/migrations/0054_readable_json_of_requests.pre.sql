-- Refuse JSON that PostgreSQL cannot query in the new columns too, as 0036 does for the others.
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
        WHERE c.relnamespace = 'chamberlain'::regnamespace AND c.relname IN ('request', 'mailbox', 'release')
        GROUP BY c.relname ORDER BY c.relname
    LOOP
        EXECUTE format(
            'CREATE OR REPLACE TRIGGER refuse_unreadable BEFORE INSERT OR UPDATE OF %s ON chamberlain.%I '
            'FOR EACH ROW WHEN (%s) EXECUTE FUNCTION chamberlain.refuse_unreadable(%s)',
            found.columns, found.relname, found.any_escape, found.names
        );
    END LOOP;
END
$$;
