-- SPDX-License-Identifier: Apache-2.0
-- Give the oldest events without a position in the feed of a tenant theirs, after all that have one; at most so many, and a thousand.
--
-- One reader at a time, who sees all commits until now. So later commits get later positions, however early they were written, and a reader
-- that continues from a position misses nothing. Events committed since the previous reader are in the order of their sequences: a
-- transaction that waited for another one got its sequence after it.
--
-- It must walk the index and stop at the limit, and look up each event by its key, whatever the planner believes.
CREATE OR REPLACE FUNCTION chamberlain.place_events(tenant uuid, most integer) RETURNS void
LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan SET enable_bitmapscan = off SET enable_seqscan = off SET enable_sort = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    first bigint;
BEGIN
    -- Most readers find nothing new, and need no lock.
    IF NOT EXISTS (SELECT FROM chamberlain.event e WHERE e.tenant_id = tenant AND e.position IS NULL) THEN
        RETURN;
    END IF;
    -- The previous reader's positions are committed when this lock is held, and visible to the next statement.
    PERFORM pg_advisory_xact_lock(hashtextextended('events of ' || tenant, 0));
    first := nextval('chamberlain.event_places');
    WITH waiting AS MATERIALIZED (
        SELECT e.sequence FROM chamberlain.event e WHERE e.tenant_id = tenant AND e.position IS NULL
        ORDER BY e.position, e.sequence LIMIT least(most, 1000) FOR UPDATE
    )
    UPDATE chamberlain.event e SET position = first + placed.number - 1
    FROM (SELECT w.sequence, row_number() OVER (ORDER BY w.sequence) AS number FROM waiting w) placed
    WHERE e.tenant_id = tenant AND e.sequence = placed.sequence;
END
$$;
