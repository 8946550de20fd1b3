-- SPDX-License-Identifier: Apache-2.0
-- name: count_users
-- Count the people of a tenant.
SELECT count(*) FROM directory.users u
WHERE u.tenant_id = $1
    AND NOT EXISTS (SELECT FROM directory.mailboxes b WHERE b.tenant_id = $1 AND b.user_id = u.id)

-- name: users
-- Read people in the order of their ids. The holder of an address is found by the index, so a user name costs one probe.
SELECT u.id, u.display_name, u.user_principal_name, u.mail, u.user_type, u.account_enabled, u.manager_id,
    u.properties::text AS properties, s.document::text AS document, s.created_at, s.changed_at
FROM directory.users u
LEFT JOIN directory.scim_resources s ON s.tenant_id = $1 AND s.id = u.id
WHERE u.tenant_id = $1
    AND NOT EXISTS (SELECT FROM directory.mailboxes b WHERE b.tenant_id = $1 AND b.user_id = u.id)
    AND ($2::uuid IS NULL OR u.id = $2)
    AND ($3::text IS NULL OR u.id = ANY (ARRAY(
        SELECT e.id FROM directory.scim_resources e WHERE e.tenant_id = $1 AND e.external_id = $3)))
    AND ($4::text IS NULL OR u.id = ANY (ARRAY(
        SELECT a.holder_id FROM directory.addresses a WHERE a.tenant_id = $1 AND a.address = lower($4))))
    AND ($5::uuid IS NULL OR u.id > $5)
ORDER BY u.id OFFSET $6 LIMIT $7

-- name: groups_of
-- List the groups of people, by name. No index leads from members to groups; the memberships of the tenant are read.
SELECT m.member_id, g.id, g.display_name FROM directory.memberships m
JOIN directory.groups g ON g.tenant_id = $1 AND g.id = m.group_id
WHERE m.tenant_id = $1 AND m.member_id = ANY ($2) AND m.is_member
ORDER BY m.member_id, lower(g.display_name), g.id

-- name: lock_user
-- Lock a user.
SELECT FROM directory.users u WHERE u.tenant_id = $1 AND u.id = $2 FOR NO KEY UPDATE

-- name: user_exists
-- Check that a user exists.
SELECT EXISTS (SELECT FROM directory.users u WHERE u.tenant_id = $1 AND u.id = $2)

-- name: store
-- Store the document of a resource.
INSERT INTO directory.scim_resources AS s (tenant_id, id, external_id, document, created_at, changed_at)
VALUES ($1, $2, $3, $4::jsonb, now(), now())
ON CONFLICT (tenant_id, id) DO UPDATE SET
    external_id = excluded.external_id, document = excluded.document, changed_at = excluded.changed_at

-- name: forget
-- Remove the document of a deleted resource.
DELETE FROM directory.scim_resources WHERE tenant_id = $1 AND id = $2

-- name: count_groups
-- Count the groups of a tenant.
SELECT count(*) FROM directory.groups g WHERE g.tenant_id = $1

-- name: groups
-- Read groups in the order of their ids.
SELECT g.id, g.display_name, g.created_at, g.changed_in::text AS changed_in, s.external_id, s.changed_at
FROM directory.groups g
LEFT JOIN directory.scim_resources s ON s.tenant_id = $1 AND s.id = g.id
WHERE g.tenant_id = $1
    AND ($2::uuid IS NULL OR g.id = $2)
    AND ($3::text IS NULL OR g.id = ANY (ARRAY(
        SELECT e.id FROM directory.scim_resources e WHERE e.tenant_id = $1 AND e.external_id = $3)))
    AND ($4::text IS NULL OR g.sorted_name = lower($4))
    AND ($5::uuid IS NULL OR g.id > $5)
    AND ($8::uuid IS NULL OR EXISTS (
        SELECT FROM directory.memberships m
        WHERE m.tenant_id = $1 AND m.group_id = g.id AND m.member_id = $8 AND m.is_member))
ORDER BY g.id OFFSET $6 LIMIT $7

-- name: members_of
-- List the direct members of groups.
SELECT m.group_id, m.member_id, m.is_group FROM directory.memberships m
WHERE m.tenant_id = $1 AND m.group_id = ANY ($2) AND m.is_member ORDER BY m.group_id, m.member_id

-- name: lock_group
-- Lock a group.
SELECT FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = $2 FOR UPDATE

-- name: unknown_member
-- Find a member that is neither a user nor a group.
SELECT i.id FROM unnest($2::uuid[]) AS i (id)
WHERE NOT EXISTS (SELECT FROM directory.users u WHERE u.tenant_id = $1 AND u.id = i.id)
    AND NOT EXISTS (SELECT FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = i.id)
LIMIT 1
