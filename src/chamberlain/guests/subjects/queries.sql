-- SPDX-License-Identifier: Apache-2.0
-- name: lock_template
-- Lock a template before the check that it is not assigned. Assigning locks the row too, so that it cannot be deleted.
SELECT FROM chamberlain.template WHERE tenant_id = $1 AND template_id = $2 FOR UPDATE

-- name: lock_policy
-- Lock a policy before the check that it is not assigned.
SELECT FROM chamberlain.policy WHERE tenant_id = $1 AND policy_id = $2 FOR UPDATE

-- name: is_assigned
-- Return whether a template or policy is assigned.
SELECT EXISTS (SELECT FROM chamberlain.subject WHERE tenant_id = $1 AND template_id = $2)
    OR EXISTS (SELECT FROM chamberlain.subject WHERE tenant_id = $1 AND policy_id = $3) AS is_assigned

-- name: member_ship_types
-- Read the membership types of known groups.
SELECT subject_id, member_ship_type FROM chamberlain.subject WHERE tenant_id = $1 AND subject_id = ANY ($2)

-- name: observe
-- Keeps the assignment, and newer observations. Rows are locked in the order of ids to avoid deadlocks.
INSERT INTO chamberlain.subject AS s (
    tenant_id, subject_id, type, display_name, name_key, mail, is_team, member_ship_type, request_id, site_url, sharing,
    observed_at
)
SELECT tenant_id, subject_id, type, display_name, name_key, mail, is_team, member_ship_type, request_id, site_url,
    sharing, observed_at
FROM unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::smallint[], $9::uuid[],
    $10::text[], $11::text[], $12::timestamptz[]
) AS o (
    tenant_id, subject_id, type, display_name, name_key, mail, is_team, member_ship_type, request_id, site_url, sharing,
    observed_at
)
ORDER BY tenant_id, subject_id
ON CONFLICT (tenant_id, subject_id) DO UPDATE SET
    type = excluded.type, display_name = excluded.display_name, name_key = excluded.name_key, mail = excluded.mail,
    is_team = excluded.is_team, member_ship_type = excluded.member_ship_type, request_id = excluded.request_id,
    site_url = excluded.site_url, sharing = excluded.sharing, observed_at = excluded.observed_at
WHERE s.observed_at <= excluded.observed_at

-- name: lock
-- Lock known groups and sites in a fixed order to avoid deadlocks.
SELECT FROM chamberlain.subject WHERE tenant_id = $1 AND subject_id = ANY ($2) ORDER BY subject_id FOR UPDATE

-- name: delete
-- Delete groups that are gone, with their assignments and metadata. A group can be gone before it was discovered.
WITH forgotten AS (DELETE FROM chamberlain.group_metadata WHERE tenant_id = $1 AND subject_id = ANY ($2))
DELETE FROM chamberlain.subject WHERE tenant_id = $1 AND subject_id = ANY ($2)

-- name: unseen
-- Find groups and sites that were not observed since a time.
SELECT subject_id FROM chamberlain.subject WHERE tenant_id = $1 AND observed_at < $2 LIMIT $3

-- name: ids_after
-- Paginate ids in order, optionally after an id.
SELECT subject_id FROM chamberlain.subject
WHERE tenant_id = $1 AND ($2::uuid IS NULL OR subject_id > $2) ORDER BY subject_id LIMIT $3
