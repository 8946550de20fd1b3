-- SPDX-License-Identifier: Apache-2.0
-- Places of mailboxes whose name or address has the prefix, newest first: at most so many, behind a position.
--
-- Mailboxes are numbered in spans of 4,096 as they come in (migration 0038). The function looks up a span by kind and prefix along an index
-- and sorts what it finds by time. It begins at the newest span and stops when there are enough. So the cost has a bound for every prefix:
-- about 250 short index scans for a million mailboxes, and sorts of single spans. A walk from the newest on would read everything where
-- only old mailboxes have the prefix. A sort of all that have it would take too long where many have it.
--
-- The order is by span, then by time. The two differ only where a transaction was open while a span ended. The span of a position is that
-- of its mailbox, or of the newest mailbox before it where that one is gone.
CREATE OR REPLACE FUNCTION chamberlain.mailboxes_beginning(
    tenant uuid, name_prefix text, address_prefix text, kinds text[], states text[], reader uuid, behind_at timestamptz, behind_id uuid,
    most integer
) RETURNS TABLE (created_at timestamptz, request_id uuid)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = on AS $$
#variable_conflict use_column
DECLARE
    -- No name goes on with more of the last character of all: names have at most 64.
    name_end CONSTANT text := name_prefix || repeat(chr(1114111), 65);
    address_end CONSTANT text := address_prefix || repeat(chr(1114111), 65);
    left_over integer := most;
    found_here integer;
    -- Mailboxes from before migration 0038, until 0040 numbers them.
    unnumbered CONSTANT integer := -2147483648;
    newest integer;
    oldest integer;
    current integer;
BEGIN
    IF behind_at IS NULL THEN
        SELECT max(found.span) INTO newest FROM unnest(kinds) AS k (kind) CROSS JOIN LATERAL (
            SELECT m.span FROM chamberlain.mailbox m WHERE m.tenant_id = tenant AND m.kind = k.kind ORDER BY m.span DESC LIMIT 1
        ) found;
    ELSE
        SELECT m.span INTO newest FROM chamberlain.mailbox m WHERE m.request_id = behind_id AND m.tenant_id = tenant;
        IF newest IS NULL THEN
            SELECT max(found.span) INTO newest FROM unnest(kinds) AS k (kind) CROSS JOIN LATERAL (
                SELECT m.span FROM chamberlain.mailbox m
                WHERE m.tenant_id = tenant AND m.kind = k.kind AND (m.created_at, m.request_id) < (behind_at, behind_id)
                ORDER BY m.created_at DESC, m.request_id DESC LIMIT 1
            ) found;
        END IF;
    END IF;
    SELECT min(found.span) INTO oldest FROM unnest(kinds) AS k (kind) CROSS JOIN LATERAL (
        SELECT m.span FROM chamberlain.mailbox m
        WHERE m.tenant_id = tenant AND m.kind = k.kind AND m.span > unnumbered ORDER BY m.span LIMIT 1
    ) found;
    -- Only spans with a match are sorted. Scalar subqueries, because the planner would make a hash table out of an EXISTS.
    FOR current IN
        SELECT s.span FROM (
            SELECT generate_series(newest, oldest, -1) AS span UNION ALL SELECT unnumbered
        ) s
        WHERE coalesce(
            (
                SELECT true FROM chamberlain.mailbox b
                WHERE b.tenant_id = tenant AND b.kind = ANY (kinds) AND b.span = s.span
                AND b.name_key COLLATE "C" >= name_prefix AND b.name_key COLLATE "C" < name_end LIMIT 1
            ),
            (
                SELECT true FROM chamberlain.mailbox b
                WHERE b.tenant_id = tenant AND b.kind = ANY (kinds) AND b.span = s.span
                AND b.address COLLATE "C" >= address_prefix AND b.address COLLATE "C" < address_end LIMIT 1
            ),
            (
                SELECT true FROM chamberlain.mailbox b
                WHERE b.tenant_id = tenant AND b.kind = ANY (kinds) AND b.span = s.span
                AND b.alias COLLATE "C" >= address_prefix AND b.alias COLLATE "C" < address_end LIMIT 1
            ),
            false
        )
    LOOP
        -- The outer conditions look up one row each, so they run in order and only until there are enough: hence OFFSET 0.
        RETURN QUERY
        SELECT sorted.created_at, sorted.request_id FROM (
            SELECT m.created_at, m.request_id FROM (
                SELECT b.created_at, b.request_id FROM chamberlain.mailbox b
                WHERE b.tenant_id = tenant AND b.kind = ANY (kinds) AND b.span = current
                AND b.name_key COLLATE "C" >= name_prefix AND b.name_key COLLATE "C" < name_end
                UNION
                SELECT b.created_at, b.request_id FROM chamberlain.mailbox b
                WHERE b.tenant_id = tenant AND b.kind = ANY (kinds) AND b.span = current
                AND b.address COLLATE "C" >= address_prefix AND b.address COLLATE "C" < address_end
                UNION
                SELECT b.created_at, b.request_id FROM chamberlain.mailbox b
                WHERE b.tenant_id = tenant AND b.kind = ANY (kinds) AND b.span = current
                AND b.alias COLLATE "C" >= address_prefix AND b.alias COLLATE "C" < address_end
            ) m
            WHERE behind_at IS NULL OR current < newest OR (m.created_at, m.request_id) < (behind_at, behind_id)
            ORDER BY m.created_at DESC, m.request_id DESC OFFSET 0
        ) sorted
        WHERE (
            reader IS NULL
            OR (SELECT reader = ANY (m.readers) FROM chamberlain.mailbox m WHERE m.request_id = sorted.request_id)
        ) AND (
            states IS NULL
            OR coalesce((SELECT q.state FROM chamberlain.request q WHERE q.request_id = sorted.request_id), 'succeeded') = ANY (states)
        )
        LIMIT left_over;
        GET DIAGNOSTICS found_here = ROW_COUNT;
        left_over := left_over - found_here;
        EXIT WHEN left_over <= 0;
    END LOOP;
END
$$;
