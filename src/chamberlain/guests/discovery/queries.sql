-- SPDX-License-Identifier: Apache-2.0
-- name: queue_missing_jobs
-- Queue the discovery job of each tenant without one. A tenant has a row here from the moment on when it has its job.
WITH met AS (
    INSERT INTO chamberlain.discovery (tenant_id)
    SELECT t.tenant_id FROM chamberlain.tenant t
    WHERE NOT EXISTS (SELECT FROM chamberlain.discovery d WHERE d.tenant_id = t.tenant_id)
    ON CONFLICT DO NOTHING RETURNING tenant_id
)
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) SELECT tenant_id, $1, tenant_id, $2 FROM met

-- name: find_cursors
-- Read the next cursors of tenants after $1, by id. Jobs of suspended and parked tenants are not claimed, so they are
-- left out.
SELECT d.tenant_id, d.position, d.mailbox_position FROM chamberlain.discovery d
JOIN chamberlain.tenant t USING (tenant_id)
WHERE d.tenant_id > $1 AND d.position IS NOT NULL AND d.mailbox_position IS NOT NULL
AND NOT t.suspended AND NOT t.directory_parked
ORDER BY d.tenant_id LIMIT $2

-- name: wake
-- Make the jobs of tenants due, unless they run. The kind is part of the text, so that every plan uses its index.
UPDATE chamberlain.job SET run_at = now()
WHERE tenant_id = ANY ($1) AND kind = 'subjectDiscover' AND held_reason IS NULL AND lease_until IS NULL
AND run_at > now()

-- name: find
-- Read the state of a tenant's discovery.
SELECT position, scan_began_at FROM chamberlain.discovery WHERE tenant_id = $1

-- name: save
-- Save the state of a tenant's discovery.
UPDATE chamberlain.discovery SET position = $2, scan_began_at = $3 WHERE tenant_id = $1

-- name: lock_assigned
-- Lock assigned groups that are gone. Held until they are removed, so that nothing is assigned to them in between.
-- All transactions lock them in this order.
SELECT tenant_id, subject_id, type, display_name, template_id, policy_id FROM chamberlain.subject
WHERE tenant_id = $1 AND subject_id = ANY ($2) ORDER BY tenant_id, subject_id FOR UPDATE

-- name: delete
-- Delete the state of a deleted tenant.
DELETE FROM chamberlain.discovery WHERE tenant_id = $1

-- name: find_mailbox_position
-- Read the cursor of changed mailboxes.
SELECT mailbox_position FROM chamberlain.discovery WHERE tenant_id = $1

-- name: save_changed_mailboxes
-- Save the cursor of changed mailboxes, note them for the drift check, and queue its job. $2 cursor, $3 requests of
-- mailboxes. Mailboxes whose request has just ended are left out, because their change is the creation.
WITH positioned AS (
    UPDATE chamberlain.discovery SET mailbox_position = $2 WHERE tenant_id = $1
), noted AS (
    INSERT INTO chamberlain.changed_object (tenant_id, kind, object_id, changed_at)
    SELECT $1, m.kind, m.request_id, $4 FROM chamberlain.mailbox m
    LEFT JOIN chamberlain.request r ON r.tenant_id = m.tenant_id AND r.request_id = m.request_id
    WHERE m.request_id = ANY ($3) AND m.tenant_id = $1
    AND (r.request_id IS NULL OR (r.state = 'succeeded' AND r.finished_at < now() - interval '1 minute'))
    ORDER BY m.kind, m.request_id
    ON CONFLICT (tenant_id, kind, object_id) DO UPDATE SET changed_at = excluded.changed_at
    RETURNING object_id
)
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT $1, $5, $1, $6 WHERE EXISTS (SELECT FROM noted)

-- name: save_changed
-- Note changed objects for the drift check, and queue its job. $2 are groups and sites, $3 requests of groups, $4
-- removed groups. Groups that were just created are left out, because their change is the creation.
WITH changed AS (
    SELECT 'assignment' AS kind, s.subject_id AS id FROM chamberlain.subject s
    WHERE s.tenant_id = $1 AND s.subject_id = ANY ($2) AND s.is_assigned
    UNION
    SELECT 'group', r.request_id FROM chamberlain.request r
    WHERE r.request_id = ANY ($3) AND r.tenant_id = $1 AND r.state = 'succeeded'
    AND r.finished_at < now() - interval '1 minute'
    UNION
    SELECT 'group', s.request_id FROM chamberlain.subject s
    WHERE s.tenant_id = $1 AND s.subject_id = ANY ($4) AND s.request_id IS NOT NULL
), noted AS (
    INSERT INTO chamberlain.changed_object (tenant_id, kind, object_id, changed_at)
    SELECT $1, kind, id, $5 FROM changed ORDER BY kind, id
    ON CONFLICT (tenant_id, kind, object_id) DO UPDATE SET changed_at = excluded.changed_at
    RETURNING object_id
)
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT $1, $6, $1, $7 WHERE EXISTS (SELECT FROM noted)
