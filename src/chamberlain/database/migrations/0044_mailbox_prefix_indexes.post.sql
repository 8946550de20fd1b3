-- The indexes of 0041 to 0043 replace these. An index that was built concurrently and failed is there without being valid.
DO $$
BEGIN
    IF (
        SELECT count(*) FROM pg_index i WHERE i.indisvalid AND i.indexrelid IN (
            to_regclass('chamberlain.mailbox_span_name'), to_regclass('chamberlain.mailbox_span_address'),
            to_regclass('chamberlain.mailbox_span_alias')
        )
    ) < 3 THEN
        RAISE EXCEPTION 'An index chamberlain.mailbox_span_* is missing or not valid. Run REINDEX INDEX CONCURRENTLY on it, then migrate again.';
    END IF;
END
$$;
DROP INDEX chamberlain.mailbox_name, chamberlain.mailbox_address, chamberlain.mailbox_alias;
