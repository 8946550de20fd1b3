-- SPDX-License-Identifier: Apache-2.0
-- name: list_unscheduled
-- List the tenants that have no job yet.
SELECT t.tenant_id FROM chamberlain.tenant t
WHERE NOT EXISTS (SELECT FROM chamberlain.drift_check d WHERE d.tenant_id = t.tenant_id)

-- name: schedule
-- Queue the job of the first check of a tenant. A tenant has a row here from the moment on when it has its job.
WITH met AS (
    INSERT INTO chamberlain.drift_check (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING tenant_id
)
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, run_at, is_scheduled)
SELECT tenant_id, $2, tenant_id, $3, $4, $4 > now() FROM met

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
-- Read the accepted and ignored findings of these objects.
SELECT subject_id, about, kind, ignored_observed FROM chamberlain.finding
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

-- name: accepts_repairs
-- Find the migration that runs once no older process is left. Older processes cannot read requests that repair.
SELECT FROM migration.applied WHERE file_name = '0058_repair_requests.post.sql'

-- name: running_repair
-- Find the unfinished request that repairs a finding.
SELECT request_id FROM chamberlain.request
WHERE tenant_id = $1 AND request_id = $2 AND state IN ('queued', 'running', 'waiting')

-- name: request_repair
-- Write a request that repairs a finding, and queue its job. Its event has a reader, or is left out.
WITH accepted AS (
    INSERT INTO chamberlain.request (
        request_id, tenant_id, kind, state, display_name, body, approval_required, people_checked, steps, client_id,
        actor_type, actor_id, actor_name, trace_id, created_at, updated_at
    ) VALUES ($1, $2, $12, 'queued', $3, $4::text::json, false, true, $5::text::json, $6, $7, $8, $9, $10, $11, $11)
), queued AS (
    INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) VALUES ($2, $14, $1, $10)
), announced AS (
    INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data)
    SELECT gen_random_uuid(), $2, 'request.accepted', $1, $11, chamberlain.accepted_event($1, $12, $3, 'queued', $7, $8, $9)
    FROM chamberlain.tenant t WHERE t.tenant_id = $2 AND t.events_read_at > now() - interval '31 days'
)
UPDATE chamberlain.finding SET repair_request_id = $1 WHERE tenant_id = $2 AND finding_id = $13

-- name: announce_repairs
-- Announce the repairs of requests. A finding that disappears afterwards counts as repaired. Drift checks lock findings
-- in the same order.
WITH locked AS MATERIALIZED (
    SELECT f.tenant_id, f.finding_id FROM chamberlain.request r
    JOIN chamberlain.finding f ON f.tenant_id = r.tenant_id AND f.repair_request_id = r.request_id
    WHERE r.request_id = ANY ($1)
    ORDER BY f.subject_id, f.kind, f.about, f.finding_id FOR NO KEY UPDATE OF f
)
UPDATE chamberlain.finding f SET action = CASE WHEN f.state IN ('open', 'accepted') THEN 'repair' ELSE f.action END
FROM locked WHERE f.tenant_id = locked.tenant_id AND f.finding_id = locked.finding_id
RETURNING f.repair_request_id, f.finding_id

-- name: withdraw_repairs
-- Withdraw the announcements of repairs that failed.
WITH locked AS MATERIALIZED (
    SELECT f.tenant_id, f.finding_id FROM unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, finding_id)
    JOIN chamberlain.finding f USING (tenant_id, finding_id)
    WHERE f.state IN ('open', 'accepted') AND f.action = 'repair'
    ORDER BY f.subject_id, f.kind, f.about, f.finding_id FOR NO KEY UPDATE OF f
)
UPDATE chamberlain.finding f SET action = NULL
FROM locked WHERE f.tenant_id = locked.tenant_id AND f.finding_id = locked.finding_id

-- name: read_changed
-- Read the changed objects of a tenant, oldest first.
SELECT kind, object_id, changed_at FROM chamberlain.changed_object WHERE tenant_id = $1
ORDER BY changed_at, kind, object_id LIMIT $2

-- name: delete_changed
-- Delete compared objects. An object that changed again meanwhile stays.
DELETE FROM chamberlain.changed_object c
USING unnest($2::text[], $3::uuid[], $4::timestamptz[]) AS i (kind, object_id, changed_at)
WHERE c.tenant_id = $1 AND c.kind = i.kind AND c.object_id = i.object_id AND c.changed_at = i.changed_at

-- name: delete_all_changed
-- Delete the changed objects of a deleted tenant.
DELETE FROM chamberlain.changed_object WHERE tenant_id = $1

-- name: queue_report
-- Queue the report of newly opened findings, once a day. $2 kind of the job, $3 notice, $5 kind of the notice, $6 kinds
-- of findings.
WITH due AS (
    UPDATE chamberlain.drift_check c SET reported_at = now()
    FROM (SELECT reported_at AS since FROM chamberlain.drift_check WHERE tenant_id = $1) last
    WHERE c.tenant_id = $1
    AND (last.since IS NULL OR (last.since AT TIME ZONE 'UTC')::date < (now() AT TIME ZONE 'UTC')::date)
    AND EXISTS (
        SELECT FROM chamberlain.finding f
        WHERE f.tenant_id = $1 AND f.state = 'open' AND f.kind = ANY ($6)
        AND f.opened_at > coalesce(last.since, '-infinity')
    )
    RETURNING last.since
), queued AS (
    -- The lane of notices is that of their tenant.
    INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, lane) SELECT $1, $2, $3, $4, $1 FROM due
)
INSERT INTO chamberlain.notice (tenant_id, notice_id, kind, subject_id, at, since)
SELECT $1, $3, $5, $1, now(), due.since FROM due
