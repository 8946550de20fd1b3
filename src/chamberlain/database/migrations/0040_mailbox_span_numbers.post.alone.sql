-- Number the mailboxes from before 0038 from -1 downwards, the newest first. It commits each span, so locks are short. After an interruption
-- it continues below the lowest number that it gave.
DO $$
DECLARE
    ids uuid[];
    number integer;
BEGIN
    SELECT least(min(m.span), 0) INTO number FROM chamberlain.mailbox m WHERE m.span > -2147483648;
    number := coalesce(number, 0);
    FOR ids IN
        SELECT array_agg(ranked.request_id) FROM (
            SELECT m.request_id, (row_number() OVER (ORDER BY m.created_at DESC, m.request_id DESC) - 1) / 4096 AS part
            FROM chamberlain.mailbox m WHERE m.span = -2147483648
        ) ranked GROUP BY ranked.part ORDER BY ranked.part
    LOOP
        number := number - 1;
        UPDATE chamberlain.mailbox m SET span = number WHERE m.request_id = ANY (ids);
        COMMIT;
    END LOOP;
END
$$;
