-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: columns
-- Columns of a release.
release_id, tenant_id, types, state, total, released, skipped, client_id, created_by, trace_id, created_at, updated_at,
finished_at

-- name: objects
-- List the managed objects of these types. `code` is the reason to skip one. A group whose request was removed after
-- its retention time has its mark in `subject`. $1 tenant, $2 types.
WITH busy AS MATERIALIZED (
    SELECT i.object_id, i.request_id, i.display_name, i.mail, i.state,
        CASE WHEN a.kind IN ('group', 'team') THEN a.kind ELSE 'mailbox' END AS type
    FROM chamberlain.adoption_item i JOIN chamberlain.adoption a USING (tenant_id, adoption_id)
    WHERE i.tenant_id = $1 AND a.state IN ('running', 'undoing') AND i.state IN ('pending', 'adopted')
), object AS MATERIALIZED (
    SELECT 'mailbox' AS type, m.request_id AS key, m.mailbox_id AS id, NULL::uuid AS object_id, m.request_id,
        m.display_name, m.address AS mail, CASE
            WHEN q.state = 'failed' THEN 'requestFailed'
            WHEN coalesce(q.state, 'succeeded') <> 'succeeded' THEN 'requestOpen'
            WHEN m.request_id IN (SELECT busy.request_id FROM busy) THEN 'adoptionRunning'
        END AS code
    FROM chamberlain.mailbox m
    LEFT JOIN chamberlain.request q ON q.tenant_id = m.tenant_id AND q.request_id = m.request_id
    WHERE m.tenant_id = $1 AND 'mailbox' = ANY ($2)
    AND coalesce(q.state, 'succeeded') NOT IN ('rejected', 'cancelled', 'expired')
    UNION ALL
    SELECT r.kind, r.request_id, coalesce((r.result ->> 'id')::uuid, r.request_id), (r.result ->> 'id')::uuid,
        r.request_id, r.display_name, r.address, CASE
            WHEN r.state = 'failed' THEN 'requestFailed'
            WHEN r.state <> 'succeeded' THEN 'requestOpen'
            WHEN r.request_id IN (SELECT busy.request_id FROM busy) THEN 'adoptionRunning'
        END
    FROM chamberlain.request r
    WHERE r.tenant_id = $1 AND r.kind IN ('group', 'team') AND r.kind = ANY ($2)
    AND r.state NOT IN ('rejected', 'cancelled', 'expired')
    UNION ALL
    SELECT CASE WHEN s.is_team THEN 'team' ELSE 'group' END, s.request_id, s.subject_id, s.subject_id, s.request_id,
        s.display_name, s.mail, NULL
    FROM chamberlain.subject s
    WHERE s.tenant_id = $1 AND s.request_id IS NOT NULL AND CASE WHEN s.is_team THEN 'team' ELSE 'group' END = ANY ($2)
    AND s.request_id NOT IN (SELECT busy.request_id FROM busy) AND NOT EXISTS (
        SELECT FROM chamberlain.request r WHERE r.tenant_id = s.tenant_id AND r.request_id = s.request_id
        AND r.state NOT IN ('rejected', 'cancelled', 'expired')
    )
    UNION ALL
    SELECT busy.type, busy.request_id, busy.object_id, busy.object_id, busy.request_id, busy.display_name, busy.mail,
        'adoptionRunning'
    FROM busy WHERE busy.state = 'pending' AND busy.type = ANY ($2)
    UNION ALL
    SELECT 'assignment', s.subject_id, s.subject_id, s.subject_id, NULL, s.display_name, s.mail,
        CASE WHEN r.state IN ('queued', 'running', 'waiting') THEN 'requestOpen' END
    FROM chamberlain.subject s
    LEFT JOIN chamberlain.request r ON r.tenant_id = s.tenant_id AND r.request_id = s.assignment_request_id
    WHERE s.tenant_id = $1 AND s.is_assigned AND 'assignment' = ANY ($2)
)

-- name: count_objects
-- Count the managed objects by type and by the reason to skip them.
{objects} SELECT type, code, count(*) AS number FROM object GROUP BY type, code ORDER BY type, code

-- name: first_objects
-- List the first managed objects, and the first ones to skip.
{objects}
(
    SELECT type, id, display_name, mail, code FROM object WHERE code IS NULL ORDER BY type, display_name, key LIMIT $3
) UNION ALL (
    SELECT type, id, display_name, mail, code FROM object WHERE code IS NOT NULL
    ORDER BY type, display_name, key LIMIT $3
)

-- name: insert_items
-- Save the managed objects as items of a release, and count them.
{objects}, inserted AS (
    INSERT INTO chamberlain.release_item (
        tenant_id, release_id, type, key, id, object_id, request_id, display_name, mail, state, code
    )
    SELECT $1, $3, type, key, id, object_id, request_id, display_name, mail,
        CASE WHEN code IS NULL THEN 'pending' ELSE 'skipped' END, code
    FROM object ORDER BY type, key ON CONFLICT DO NOTHING RETURNING state
)
SELECT count(*) FILTER (WHERE state = 'pending') AS total, count(*) FILTER (WHERE state = 'skipped') AS skipped
FROM inserted

-- name: insert
-- Save a release, unless another one of the tenant is running.
INSERT INTO chamberlain.release ({columns})
VALUES ($2, $1, $3, 'running', $4, 0, $5, $6, $7::text::json, $8, $9, $9, NULL)
ON CONFLICT DO NOTHING RETURNING release_id

-- name: find
-- Find a release.
SELECT {columns} FROM chamberlain.release WHERE tenant_id = $1 AND release_id = $2

-- name: lock
-- Lock a release for a change.
{find} FOR UPDATE

-- name: page
-- Paginate the releases of a tenant, newest first.
SELECT {columns} FROM chamberlain.release
WHERE tenant_id = $1 AND ($2::timestamptz IS NULL OR (created_at, release_id) < ($2, $3::uuid))
ORDER BY created_at DESC, release_id DESC LIMIT $4

-- name: remarks
-- Find skipped items, and released items with a remark.
SELECT type, id, display_name, mail, code FROM chamberlain.release_item
WHERE tenant_id = $1 AND release_id = $2 AND state IN ('skipped', 'released') AND code IS NOT NULL
ORDER BY state DESC, type, key LIMIT $3

-- name: find_items
-- Find pending items. New items first, then by the longest wait.
SELECT type, key, id, object_id, request_id, display_name, mail, generation, waits_since, waited
FROM chamberlain.release_item
WHERE tenant_id = $1 AND release_id = $2 AND state = 'pending' AND key <> ALL ($4)
ORDER BY waits_since NULLS FIRST, type, key LIMIT $3

-- name: settle
-- End pending items, with optional reasons. Items that another run has ended are left out.
UPDATE chamberlain.release_item t SET state = i.state, code = i.code
FROM unnest($3::text[], $4::uuid[], $5::text[], $6::text[]) AS i (type, key, state, code)
WHERE t.tenant_id = $1 AND t.release_id = $2 AND t.type = i.type AND t.key = i.key AND t.state = 'pending'
RETURNING t.type, t.key

-- name: wait
-- Save the start of retries of the directory, and the time of waits by cause.
UPDATE chamberlain.release_item t SET waits_since = coalesce(t.waits_since, $5), waited = i.waited::jsonb
FROM unnest($3::text[], $4::uuid[], $6::text[]) AS i (type, key, waited)
WHERE t.tenant_id = $1 AND t.release_id = $2 AND t.type = i.type AND t.key = i.key

-- name: count
-- Add to the counts of a release.
UPDATE chamberlain.release SET released = released + $3, skipped = skipped + $4, updated_at = $5
WHERE tenant_id = $1 AND release_id = $2

-- name: finish
-- End a running release.
UPDATE chamberlain.release SET state = 'succeeded', updated_at = $3, finished_at = $3
WHERE tenant_id = $1 AND release_id = $2 AND state = 'running'

-- name: free_names
-- Delete the reservations of the names and addresses of requests.
WITH held AS (
    SELECT r.request_id, 'address' AS kind, lower(r.address) AS value FROM chamberlain.request r
    WHERE r.tenant_id = $1 AND r.request_id = ANY ($2)
    UNION ALL
    SELECT m.request_id, v.kind, v.value FROM chamberlain.mailbox m
    CROSS JOIN LATERAL (VALUES ('address', lower(m.address)), ('address', m.alias), ('name', m.name_key))
        AS v (kind, value)
    WHERE m.tenant_id = $1 AND m.request_id = ANY ($2)
)
DELETE FROM chamberlain.reservation v USING held
WHERE v.tenant_id = $1 AND v.kind = held.kind AND v.value = held.value AND v.request_id = held.request_id

-- name: forget_keys
-- Delete the idempotency keys of requests that a release removes. There is no index by request, so it runs once.
DELETE FROM chamberlain.idempotency_key k USING chamberlain.release_item i
WHERE i.tenant_id = $1 AND i.release_id = $2 AND i.state = 'pending' AND k.tenant_id = i.tenant_id
AND k.request_id = i.request_id

-- name: lock_assignments
-- Lock groups and sites in a fixed order to avoid deadlocks, and read their assignments.
SELECT s.tenant_id, s.subject_id, s.type, s.display_name, s.generation, s.template_id, s.policy_id,
    coalesce(r.state, '') AS state
FROM chamberlain.subject s
LEFT JOIN chamberlain.request r ON r.tenant_id = s.tenant_id AND r.request_id = s.assignment_request_id
WHERE s.tenant_id = $1 AND s.subject_id = ANY ($2)
ORDER BY s.tenant_id, s.subject_id FOR NO KEY UPDATE OF s

-- name: clear_assignments
-- Clear the assignments of groups and sites. The settings for guests stay in the directory, so no request applies them.
-- The job of the policy ends its timers and findings.
WITH cleared AS (
    UPDATE chamberlain.subject s SET
        template_id = NULL, policy_id = NULL, generation = s.generation + 1, assignment_request_id = NULL,
        assigned_at = $3, assigned_by = $4::text::json, assigned_type = s.type, policy_assigned_at = $3,
        policy_begun = false
    FROM unnest($2::uuid[], $5::boolean[]) AS i (subject_id, has_policy)
    WHERE s.tenant_id = $1 AND s.subject_id = i.subject_id
    RETURNING s.subject_id, s.generation, i.has_policy
), saved AS (
    UPDATE chamberlain.release_item t SET generation = c.generation FROM cleared c
    WHERE t.tenant_id = $1 AND t.release_id = $6 AND t.type = 'assignment' AND t.key = c.subject_id
)
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT $1, $7, c.subject_id, $8 FROM cleared c WHERE c.has_policy

-- name: close_guest_findings
-- Close the findings about guests who violated the cleared guest template.
UPDATE chamberlain.finding SET state = 'gone', last_seen_at = $4
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND kind = ANY ($3) AND state IN ('open', 'accepted')
