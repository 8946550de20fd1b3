-- Give the oldest events that have no place in the feed of a tenant theirs, behind all that have one; at most so many, and a thousand.
--
-- One reader at a time, who sees all that was committed until now: so whatever is committed later gets a place behind, however early it was
-- written, and a reader who goes on from a place misses nothing. Of what was committed since the reader before, the order is that of the
-- sequences: where a transaction has waited for another one, it has drawn its own after that.
--
-- Whatever the planner believes, it shall walk the index and stop when there is enough, and look up each event by its key.
CREATE OR REPLACE FUNCTION chamberlain.place_events(tenant uuid, most integer) RETURNS void
LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan SET enable_bitmapscan = off SET enable_seqscan = off SET enable_sort = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    first bigint;
BEGIN
    -- Most readers find nothing new, and wait for nobody.
    IF NOT EXISTS (SELECT FROM chamberlain.event e WHERE e.tenant_id = tenant AND e.position IS NULL) THEN
        RETURN;
    END IF;
    -- What the reader before has placed is committed when this is ours, and seen by the statement behind it.
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
