-- SPDX-License-Identifier: Apache-2.0
-- Places of requests whose name or address has the prefix, newest first: at most so many, behind a position.
--
-- Requests are in buckets of four hours by their time (migrations 0074 and 0075). The function looks up a bucket by prefix along two indexes
-- and sorts what it finds by time. It begins at the newest bucket and stops when there are enough. So the cost has a bound for every prefix:
-- two short index scans for each bucket, and sorts of single buckets.
--
-- It runs with the rights of the owner: row-level security would keep PostgreSQL from using an index on lower(). So it returns requests of
-- the tenant of the transaction only.
CREATE OR REPLACE FUNCTION chamberlain.requests_beginning(
    tenant uuid, prefix text, wanted_state text, kinds text[], owner uuid, since timestamptz, until timestamptz,
    behind_at timestamptz, behind_id uuid, most integer
) RETURNS TABLE (created_at timestamptz, request_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = on AS $$
#variable_conflict use_column
DECLARE
    origin CONSTANT timestamptz := '2000-01-01 00:00:00+00';
    least_text CONSTANT text := lower(prefix);
    -- No name goes on with more of the last character of all.
    end_text CONSTANT text := least_text || repeat(chr(1114111), 65);
    left_over integer := most;
    found_here integer;
    newest timestamptz;
    oldest timestamptz;
    current timestamptz;
BEGIN
    IF tenant IS DISTINCT FROM nullif(current_setting('chamberlain.tenant_id', true), '')::uuid THEN
        RETURN;
    END IF;
    SELECT max(r.created_at), min(r.created_at) INTO newest, oldest FROM chamberlain.request r WHERE r.tenant_id = tenant;
    IF newest IS NULL THEN
        -- No request bounds the buckets between two given times.
        RETURN;
    END IF;
    newest := date_bin('4 hours', least(newest, behind_at, until), origin);
    oldest := date_bin('4 hours', greatest(oldest, since), origin);
    -- Only buckets with a match are sorted. Scalar subqueries, because the planner would make a hash table out of an EXISTS.
    FOR current IN
        SELECT s.bucket FROM generate_series(newest, oldest, interval '-4 hours') AS s (bucket)
        WHERE coalesce(
            (
                SELECT true FROM chamberlain.request b
                WHERE b.tenant_id = tenant AND date_bin('4 hours', b.created_at, '2000-01-01 00:00:00+00'::timestamptz) = s.bucket
                AND lower(b.display_name) COLLATE "C" >= least_text AND lower(b.display_name) COLLATE "C" < end_text LIMIT 1
            ),
            (
                SELECT true FROM chamberlain.request b
                WHERE b.tenant_id = tenant AND date_bin('4 hours', b.created_at, '2000-01-01 00:00:00+00'::timestamptz) = s.bucket
                AND b.address IS NOT NULL
                AND lower(b.address) COLLATE "C" >= least_text AND lower(b.address) COLLATE "C" < end_text LIMIT 1
            ),
            false
        )
    LOOP
        RETURN QUERY
        SELECT m.created_at, m.request_id FROM (
            SELECT b.created_at, b.request_id, b.state, b.kind, b.actor_id FROM chamberlain.request b
            WHERE b.tenant_id = tenant AND date_bin('4 hours', b.created_at, '2000-01-01 00:00:00+00'::timestamptz) = current
            AND lower(b.display_name) COLLATE "C" >= least_text AND lower(b.display_name) COLLATE "C" < end_text
            UNION
            SELECT b.created_at, b.request_id, b.state, b.kind, b.actor_id FROM chamberlain.request b
            WHERE b.tenant_id = tenant AND date_bin('4 hours', b.created_at, '2000-01-01 00:00:00+00'::timestamptz) = current
            AND b.address IS NOT NULL
            AND lower(b.address) COLLATE "C" >= least_text AND lower(b.address) COLLATE "C" < end_text
        ) m
        WHERE (behind_at IS NULL OR (m.created_at, m.request_id) < (behind_at, behind_id))
            AND (since IS NULL OR m.created_at >= since) AND (until IS NULL OR m.created_at < until)
            AND (wanted_state IS NULL OR m.state = wanted_state) AND (kinds IS NULL OR m.kind = ANY (kinds))
            AND (owner IS NULL OR m.actor_id = owner)
        ORDER BY m.created_at DESC, m.request_id DESC LIMIT left_over;
        GET DIAGNOSTICS found_here = ROW_COUNT;
        left_over := left_over - found_here;
        EXIT WHEN left_over <= 0;
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION chamberlain.requests_beginning FROM PUBLIC;
GRANT EXECUTE ON FUNCTION chamberlain.requests_beginning TO chamberlain_application, chamberlain_worker;
