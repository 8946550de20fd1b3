-- SPDX-License-Identifier: Apache-2.0
-- name: failed
-- List the requests that have been failed since before this time, longest first.
SELECT tenant_id, request_id FROM chamberlain.request_by_state
WHERE state = 'failed' AND since < $1 AND NOT chamberlain.is_of_clock_fault(since, $1) ORDER BY since LIMIT $2

-- name: remove_finished
-- Remove finished requests with the rows that belong only to them. An index on the creation time finds finished
-- requests, because no request finishes before its creation. Rows that belong only to the request are deleted with it.
-- Audit rows and events stay. Metadata goes only if the group does not exist any more. A mailbox that exists stays, and
-- keeps its name and addresses.
WITH old AS MATERIALIZED (
    SELECT oldest.request_id FROM chamberlain.tenant t CROSS JOIN LATERAL (
        SELECT r.request_id FROM chamberlain.request r
        WHERE r.tenant_id = t.tenant_id AND r.created_at < $1 AND r.finished_at < $1
        AND r.state IN ('succeeded', 'rejected', 'cancelled', 'expired')
        AND NOT chamberlain.is_of_clock_fault(r.finished_at, $1)
        ORDER BY r.created_at LIMIT $2
    ) oldest
    LIMIT $2
), gone AS (
    DELETE FROM chamberlain.request r USING old WHERE r.request_id = old.request_id
    RETURNING r.tenant_id, r.request_id, r.kind, r.state, r.address, r.updated_at,
        chamberlain.clean(coalesce(r.result, r.made)) ->> 'id' AS object_id
), forgotten AS (
    DELETE FROM chamberlain.group_metadata m USING gone
    WHERE m.tenant_id = gone.tenant_id AND m.subject_id = gone.object_id::uuid AND gone.kind IN ('group', 'team')
    AND NOT EXISTS (
        SELECT FROM chamberlain.subject s WHERE s.tenant_id = m.tenant_id AND s.subject_id = m.subject_id
    )
), given_back AS (
    DELETE FROM chamberlain.reservation v USING gone
    WHERE v.tenant_id = gone.tenant_id AND v.kind = 'address' AND v.value = lower(gone.address)
    AND v.request_id = gone.request_id AND gone.kind NOT IN ('shared', 'equipment', 'room')
), remembered AS (
    UPDATE chamberlain.mailbox m SET updated_at = gone.updated_at FROM gone
    WHERE m.request_id = gone.request_id AND gone.state = 'succeeded'
), never_made AS (
    DELETE FROM chamberlain.mailbox m USING gone WHERE m.request_id = gone.request_id AND gone.state <> 'succeeded'
    RETURNING m.tenant_id, m.readers, m.kind, m.created_at, m.request_id
), unread AS (
    DELETE FROM chamberlain.mailbox_reader d USING never_made m, unnest(m.readers) reader
    WHERE d.tenant_id = m.tenant_id AND d.user_id = reader AND d.kind = m.kind AND d.created_at = m.created_at
    AND d.request_id = m.request_id
)
SELECT count(*) AS removed FROM gone

-- name: remove_events
-- Remove the oldest events of each tenant. Rows that another transaction reads or erases are skipped. Sequences and
-- times have nearly the same order, so an event stays a moment longer at most.
WITH old AS MATERIALIZED (
    SELECT oldest.tenant_id, oldest.sequence FROM chamberlain.tenant t CROSS JOIN LATERAL (
        SELECT e.tenant_id, e.sequence, e.at FROM chamberlain.event e
        WHERE e.tenant_id = t.tenant_id ORDER BY e.sequence LIMIT $2 FOR UPDATE SKIP LOCKED
    ) oldest
    WHERE oldest.at < $1 AND NOT chamberlain.is_of_clock_fault(oldest.at, $1) AND (
        SELECT e.at FROM chamberlain.event e WHERE e.tenant_id = t.tenant_id ORDER BY e.sequence LIMIT 1
    ) < $1
    LIMIT $2
), gone AS (
    DELETE FROM chamberlain.event e USING old WHERE e.tenant_id = old.tenant_id AND e.sequence = old.sequence
    RETURNING e.sequence
)
SELECT count(*) AS removed FROM gone

-- name: remove_findings
-- Remove closed findings. Open and accepted findings stay. Locked ones are skipped.
WITH old AS MATERIALIZED (
    SELECT f.tenant_id, f.finding_id FROM chamberlain.finding f
    WHERE f.state IN ('gone', 'repaired') AND f.last_seen_at < $1
    AND NOT chamberlain.is_of_clock_fault(f.last_seen_at, $1)
    ORDER BY f.last_seen_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM chamberlain.finding f USING old WHERE f.tenant_id = old.tenant_id AND f.finding_id = old.finding_id
    RETURNING f.finding_id
)
SELECT count(*) AS removed FROM gone

-- name: remove_repairs
-- Remove repairs that had no difference since this time.
WITH old AS MATERIALIZED (
    SELECT d.tenant_id, d.subject_id, d.about FROM chamberlain.drift_repair d
    WHERE d.found_at < $1 AND NOT chamberlain.is_of_clock_fault(d.found_at, $1)
    ORDER BY d.found_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM chamberlain.drift_repair d USING old
    WHERE d.tenant_id = old.tenant_id AND d.subject_id = old.subject_id AND d.about = old.about
    RETURNING d.about
)
SELECT count(*) AS removed FROM gone

-- name: remove_adoptions
-- Remove undone adoptions, items first. The adoption follows when none is left.
WITH old AS MATERIALIZED (
    SELECT a.tenant_id, a.adoption_id FROM chamberlain.adoption a
    WHERE a.state = 'undone' AND a.finished_at < $1
    AND NOT chamberlain.is_of_clock_fault(a.finished_at, $1)
    ORDER BY a.finished_at LIMIT 10
), items AS MATERIALIZED (
    SELECT item.tenant_id, item.adoption_id, item.object_id FROM old CROSS JOIN LATERAL (
        SELECT i.tenant_id, i.adoption_id, i.object_id FROM chamberlain.adoption_item i
        WHERE i.tenant_id = old.tenant_id AND i.adoption_id = old.adoption_id LIMIT $2
    ) item
    LIMIT $2
), released AS (
    DELETE FROM chamberlain.adoption_item i USING items
    WHERE i.tenant_id = items.tenant_id AND i.adoption_id = items.adoption_id AND i.object_id = items.object_id
    RETURNING i.object_id
), gone AS (
    DELETE FROM chamberlain.adoption a USING old
    WHERE a.tenant_id = old.tenant_id AND a.adoption_id = old.adoption_id AND NOT EXISTS (
        SELECT FROM chamberlain.adoption_item i WHERE i.tenant_id = a.tenant_id AND i.adoption_id = a.adoption_id
    )
    RETURNING a.adoption_id
)
SELECT (SELECT count(*) FROM released) + (SELECT count(*) FROM gone) AS removed

-- name: remove_releases
-- Remove releases that ended, items first. The release follows when none is left.
WITH old AS MATERIALIZED (
    SELECT r.tenant_id, r.release_id FROM chamberlain.release r
    WHERE r.state = 'succeeded' AND r.finished_at < $1
    AND NOT chamberlain.is_of_clock_fault(r.finished_at, $1)
    ORDER BY r.finished_at LIMIT 10
), items AS MATERIALIZED (
    SELECT item.tenant_id, item.release_id, item.type, item.key FROM old CROSS JOIN LATERAL (
        SELECT i.tenant_id, i.release_id, i.type, i.key FROM chamberlain.release_item i
        WHERE i.tenant_id = old.tenant_id AND i.release_id = old.release_id LIMIT $2
    ) item
    LIMIT $2
), removed_items AS (
    DELETE FROM chamberlain.release_item i USING items
    WHERE i.tenant_id = items.tenant_id AND i.release_id = items.release_id AND i.type = items.type AND i.key = items.key
    RETURNING i.key
), gone AS (
    DELETE FROM chamberlain.release r USING old
    WHERE r.tenant_id = old.tenant_id AND r.release_id = old.release_id AND NOT EXISTS (
        SELECT FROM chamberlain.release_item i WHERE i.tenant_id = r.tenant_id AND i.release_id = r.release_id
    )
    RETURNING r.release_id
)
SELECT (SELECT count(*) FROM removed_items) + (SELECT count(*) FROM gone) AS removed
