-- name: list_unscheduled
-- List the tenants that have no job yet.
SELECT t.tenant_id FROM chamberlain.tenant t
WHERE NOT EXISTS (SELECT FROM chamberlain.drift_check d WHERE d.tenant_id = t.tenant_id)

-- name: schedule
-- Queue the job of the first check of a tenant. A tenant has a row here from the moment on when it has its job.
WITH met AS (
    INSERT INTO chamberlain.drift_check (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING tenant_id
)
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, run_at)
SELECT tenant_id, $2, tenant_id, $3, $4 FROM met

-- name: lock_check
-- Lock the state of the check of a tenant. A concurrent request for a check waits, so that it is due after the running
-- check.
SELECT phase, position_at, position_id, asked_at, began_at, finished_at FROM chamberlain.drift_check
WHERE tenant_id = $1 FOR UPDATE

-- name: save_check
-- Keep how far they have come.
UPDATE chamberlain.drift_check SET
    phase = $2, position_at = $3, position_id = $4, began_at = $5, finished_at = $6
WHERE tenant_id = $1

-- name: delete_check
-- Delete the state of a deleted tenant.
DELETE FROM chamberlain.drift_check WHERE tenant_id = $1

-- name: request_check
-- Record the time of a requested check.
INSERT INTO chamberlain.drift_check (tenant_id, asked_at) VALUES ($1, $2)
ON CONFLICT (tenant_id) DO UPDATE SET asked_at = excluded.asked_at
RETURNING xmax = 0 AS is_first, phase, position_at, position_id, asked_at, began_at, finished_at

-- name: queue
-- Queue the job of a check.
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) VALUES ($1, $2, $1, $3)

-- name: run_now
-- Make a queued check due.
UPDATE chamberlain.job SET run_at = now()
WHERE tenant_id = $1 AND kind = $2 AND held_reason IS NULL AND run_at > now()

-- name: read_repairs
-- Read the repairs of these objects.
SELECT subject_id, about, repairs, digest, found_at, has_given_up, is_under_way FROM chamberlain.drift_repair
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND about = ANY ($3)

-- name: lock_findings
-- Lock the findings of objects. Same lock order as in the writes of findings. Acceptance waits until the repair is
-- announced.
SELECT FROM chamberlain.finding
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND state IN ('open', 'accepted') AND source = $3 AND about = ANY ($4)
ORDER BY subject_id, kind, about FOR NO KEY UPDATE

-- name: accepted
-- Read the accepted findings of these objects.
SELECT subject_id, about, kind FROM chamberlain.finding
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND state = 'accepted' AND source = $3 AND about = ANY ($4)

-- name: save_repairs
-- Save the records of repairs.
INSERT INTO chamberlain.drift_repair (
    tenant_id, subject_id, about, repairs, digest, found_at, has_given_up, is_under_way
)
SELECT $1, subject_id, about, repairs, digest, found_at, has_given_up, is_under_way
FROM unnest($2::uuid[], $3::text[], $4::integer[], $5::text[], $6::timestamptz[], $7::boolean[], $8::boolean[])
    AS r (subject_id, about, repairs, digest, found_at, has_given_up, is_under_way)
ORDER BY subject_id, about
ON CONFLICT (tenant_id, subject_id, about) DO UPDATE SET
    repairs = excluded.repairs, digest = excluded.digest, found_at = excluded.found_at,
    has_given_up = excluded.has_given_up, is_under_way = excluded.is_under_way

-- name: delete_repairs
-- Delete the records of repairs.
DELETE FROM chamberlain.drift_repair d USING unnest($2::uuid[], $3::text[]) AS r (subject_id, about)
WHERE d.tenant_id = $1 AND d.subject_id = r.subject_id AND d.about = r.about

-- name: removed
-- List guests who were removed by a policy or template, or are about to be.
SELECT subject_id, about FROM chamberlain.finding
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND state IN ('open', 'repaired') AND kind = ANY ($3)
AND action = 'remove'

-- name: lock_mailboxes
-- Lock in a fixed order to avoid deadlocks. These rows cannot be deleted until the transaction ends.
SELECT request_id FROM chamberlain.mailbox WHERE tenant_id = $1 AND request_id = ANY ($2)
ORDER BY request_id FOR KEY SHARE

-- name: lock_requests
-- Return the mailboxes and groups that are no longer managed.
SELECT request_id FROM chamberlain.request WHERE tenant_id = $1 AND request_id = ANY ($2)
ORDER BY request_id FOR KEY SHARE
