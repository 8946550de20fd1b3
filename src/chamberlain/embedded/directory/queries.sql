-- SPDX-License-Identifier: Apache-2.0
-- name: changes
-- Read the snapshot and the changes of a feed. The outer join returns one row even without changes, because the
-- snapshot is always needed.
SELECT d.system_identifier::text || CASE WHEN $8 THEN '/' || current_database() ELSE '' END AS database,
    pg_current_snapshot()::text AS snapshot, c.change, c.id, c.shown
FROM pg_control_system() AS d
LEFT JOIN directory.changed_groups(
    $1, $7, $2::text::pg_snapshot, $3::text::pg_snapshot, $4::text::xid8, $5, $6) AS c ON true

-- name: mailbox_changes
-- Read the snapshot and the changed mailboxes of a feed, as `changes` does.
SELECT d.system_identifier::text || CASE WHEN $9 THEN '/' || current_database() ELSE '' END AS database,
    pg_current_snapshot()::text AS snapshot, c.change, c.id, c.marks
FROM pg_control_system() AS d
LEFT JOIN directory.mailbox_changes(
    $1, $7, $2::text::pg_snapshot, $3::text::pg_snapshot, $4::text::xid8, $5, $6, $8) AS c ON true

-- name: is_writable
-- Return whether the role may write groups and mailboxes.
SELECT has_table_privilege('directory.groups', 'INSERT') AND has_table_privilege('directory.mailboxes', 'INSERT')

-- name: changed_tenants
-- Return the tenants with changes after their cursors. Cursors of another database say nothing about this one.
SELECT c AS tenant_id FROM directory.changed_tenants($1, $2::text[]::pg_snapshot[], $3::text[]::pg_snapshot[]) AS c

-- name: database
-- Return the identifier of this database in cursors.
SELECT d.system_identifier::text AS database FROM pg_control_system() AS d

-- name: changed_group_ids
-- Read the snapshot and the ids of changed groups, as `changes` does.
SELECT d.system_identifier::text AS database, pg_current_snapshot()::text AS snapshot, c.change, c.id,
    c.shown IS NULL AS is_removed
FROM pg_control_system() AS d
LEFT JOIN directory.changed_groups(
    $1, '', $2::text::pg_snapshot, $3::text::pg_snapshot, $4::text::xid8, $5, $6) AS c ON true

-- name: changed_user_ids
-- Read the snapshot and the ids of changed users, as `changes` does.
SELECT d.system_identifier::text AS database, pg_current_snapshot()::text AS snapshot, c.change, c.id, c.is_removed
FROM pg_control_system() AS d
LEFT JOIN directory.changed_users(
    $1, $2::text::pg_snapshot, $3::text::pg_snapshot, $4::text::xid8, $5, $6) AS c ON true

-- name: latest
-- Read the snapshot of now.
SELECT d.system_identifier::text AS database, pg_current_snapshot()::text AS snapshot FROM pg_control_system() AS d

-- name: ended_memberships
-- Read the memberships of groups that ended after a snapshot and have not begun again.
SELECT r.group_id, r.member_id, r.is_group,
    r.left_in IS NOT NULL AND NOT pg_visible_in_snapshot(r.left_in, $3::text::pg_snapshot)
        AND NOT coalesce(m.is_member, false) AS has_left,
    r.disowned_in IS NOT NULL AND NOT pg_visible_in_snapshot(r.disowned_in, $3::text::pg_snapshot)
        AND NOT coalesce(m.is_owner, false) AS was_disowned
FROM directory.removed_memberships r
LEFT JOIN directory.memberships m ON m.tenant_id = $1 AND m.group_id = r.group_id AND m.member_id = r.member_id
WHERE r.tenant_id = $1 AND r.group_id = ANY ($2::uuid[]) ORDER BY r.group_id, r.member_id

-- name: rules
-- Read the membership rules of dynamic groups.
SELECT g.id, g.membership_rule FROM directory.groups g
WHERE g.tenant_id = $1 AND g.membership_rule IS NOT NULL ORDER BY g.id

-- name: members
-- Read the members of dynamic groups.
SELECT m.group_id, m.member_id FROM directory.memberships m
WHERE m.tenant_id = $1 AND m.group_id = $2 AND m.is_member

-- name: memberships
-- Update the dynamic groups for changed users, given by tenant and id.
SELECT m.group_id, m.member_id FROM directory.memberships m
WHERE m.tenant_id = $1 AND m.group_id = ANY ($2) AND m.member_id = ANY ($3) AND m.is_member

-- name: join
-- Add members to dynamic groups.
INSERT INTO directory.memberships AS m (tenant_id, group_id, member_id, is_owner, is_member, is_group)
SELECT $1, p.group_id, p.member_id, false, true, false FROM unnest($2::uuid[], $3::uuid[]) AS p (group_id, member_id)
ON CONFLICT (tenant_id, group_id, member_id) DO UPDATE SET is_member = true WHERE NOT m.is_member

-- name: leave
-- End memberships in dynamic groups. Members who also own the group remain owners.
UPDATE directory.memberships m SET is_member = false
FROM unnest($2::uuid[], $3::uuid[]) AS p (group_id, member_id)
WHERE m.tenant_id = $1 AND m.group_id = p.group_id AND m.member_id = p.member_id AND m.is_owner

-- name: go
-- Remove members from dynamic groups, but not owners.
DELETE FROM directory.memberships m USING unnest($2::uuid[], $3::uuid[]) AS p (group_id, member_id)
WHERE m.tenant_id = $1 AND m.group_id = p.group_id AND m.member_id = p.member_id AND NOT m.is_owner

-- name: ensure_groups
-- Create the groups of requests, or find those that exist.
SELECT group_ids, made, faults, culprits FROM directory.ensure_groups(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)

-- name: describe_groups
-- Set display name, description and visibility of existing groups.
UPDATE directory.groups g SET
    display_name = i.display_name, description = i.description, visibility = i.visibility
FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    AS i (tenant_id, name, key, display_name, description, visibility)
JOIN directory.extension_values v
    ON v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = $1 AND v.value = lower(i.key)
WHERE g.tenant_id = i.tenant_id AND g.id = v.group_id
AND (g.display_name, g.description, g.visibility) IS DISTINCT FROM (i.display_name, i.description, i.visibility)

-- name: find
-- Run several queries in one call and return the rows of each.
SELECT * FROM directory.groups_by_values($1, $2, $3, $4, $5, $6)

-- name: observe_subjects
-- Read the state of each group.
SELECT item, shown FROM directory.observe_subjects($1, $2, $3)

-- name: ensure_guest_rules
-- Apply guest rules to groups and sites.
SELECT directory.ensure_guest_rules($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)

-- name: guest_rule_created_at
-- Read the creation time of each group.
SELECT i.item, g.created_at FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS i (tenant_id, id, item)
JOIN directory.groups g ON g.tenant_id = i.tenant_id AND g.id = i.id

-- name: lock_users
-- Lock users. Sorted by id, to avoid deadlocks.
SELECT u.tenant_id, u.id, u.user_type, u.account_enabled FROM directory.users u
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, id) ON u.tenant_id = i.tenant_id AND u.id = i.id
ORDER BY u.tenant_id, u.id FOR NO KEY UPDATE OF u

-- name: disable
-- Disable the accounts of guests, and update dynamic groups.
UPDATE directory.users u SET account_enabled = false
FROM unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, id) WHERE u.tenant_id = i.tenant_id AND u.id = i.id

-- name: user
-- Insert a user.
INSERT INTO directory.users (
    tenant_id, id, display_name, user_principal_name, mail, user_type, account_enabled, manager_id, properties,
    last_seen_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10)
ON CONFLICT (tenant_id, id) DO UPDATE SET
    display_name = excluded.display_name, user_principal_name = excluded.user_principal_name, mail = excluded.mail,
    user_type = excluded.user_type, account_enabled = excluded.account_enabled, manager_id = excluded.manager_id,
    properties = excluded.properties, last_seen_at = excluded.last_seen_at

-- name: license
-- Insert a license.
INSERT INTO directory.licenses (tenant_id, user_id, sku_part_number) VALUES ($1, $2, $3)

-- name: service_plan
-- Insert a service plan of a license.
INSERT INTO directory.service_plans (tenant_id, user_id, sku_part_number, service_plan_name, provisioning_status)
VALUES ($1, $2, $3, $4, $5)

-- name: group
-- Insert a group.
INSERT INTO directory.groups (
    tenant_id, id, display_name, mail_nickname, mail, description, visibility, group_types, membership_rule,
    mail_enabled, security_enabled, label_id, extensions, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::jsonb, now())

-- name: team
-- Insert the team of a group.
INSERT INTO directory.teams (tenant_id, group_id, created_at) VALUES ($1, $2, now())

-- name: channel
-- Insert a channel of a team.
INSERT INTO directory.channels (tenant_id, group_id, display_name, position, created_at) VALUES ($1, $2, $3, $4, now())

-- name: extension_value
-- Insert a value of a schema extension.
INSERT INTO directory.extension_values (tenant_id, name, member, value, group_id) VALUES ($1, $2, $3, lower($4), $5)

-- name: membership
-- Insert a membership.
INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group)
VALUES ($1, $2, $3, $4, $5, EXISTS (SELECT FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = $3))

-- name: unknown_member
-- Find a membership of a user who does not exist.
SELECT m.member_id, m.group_id FROM directory.memberships m
WHERE m.tenant_id = ANY ($1) AND m.group_id = ANY ($2) AND NOT m.is_group
    AND NOT EXISTS (SELECT FROM directory.users u WHERE u.tenant_id = m.tenant_id AND u.id = m.member_id)
LIMIT 1

-- name: guest_default
-- Insert or replace the guest rules of a tenant.
INSERT INTO directory.guest_defaults AS d (
    tenant_id, allow_to_add_guests, guests_added_by, allowed_guest_domains, blocked_guest_domains)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id) DO UPDATE SET
    allow_to_add_guests = excluded.allow_to_add_guests, guests_added_by = excluded.guests_added_by,
    allowed_guest_domains = excluded.allowed_guest_domains, blocked_guest_domains = excluded.blocked_guest_domains

-- name: guest_settings
-- Insert the guest rules of a group.
INSERT INTO directory.guest_settings (
    tenant_id, group_id, allow_to_add_guests, guests_added_by, allowed_guest_domains, blocked_guest_domains)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: ensure_mailboxes
-- Create the mailboxes of requests, or find those that exist.
SELECT mailbox_ids, made, faults, culprits FROM directory.ensure_mailboxes(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
    $25, $26, $27, $28, $29, $30, $31, $32)

-- name: describe_mailboxes
-- Set the display name of existing mailboxes.
UPDATE directory.users u SET display_name = i.display_name
FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) AS i (tenant_id, name, key, display_name)
JOIN directory.user_extension_values v
    ON v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = $1 AND v.value = lower(i.key)
WHERE u.tenant_id = i.tenant_id AND u.id = v.user_id AND u.display_name <> i.display_name
RETURNING u.tenant_id, u.id

-- name: list
-- List at most `most` mailboxes of a tenant in the order of their ids, after one of them.
SELECT json_build_object(
    'id', m.user_id, 'recipientType', m.recipient_type, 'name', m.name, 'displayName', u.display_name,
    'mail', coalesce(u.mail, ''), 'values', coalesce(m.extensions -> $2::text, '{}'))::text AS shown
FROM directory.mailboxes m
JOIN directory.users u ON u.tenant_id = m.tenant_id AND u.id = m.user_id
WHERE m.tenant_id = $1 AND m.user_id > $3 AND m.created_at <= coalesce($4, now())
ORDER BY m.user_id LIMIT $5

-- name: mailboxes_by_id
-- Read mailboxes of a tenant by id.
SELECT item, shown FROM directory.mailboxes_by_id($1, $2, $3, coalesce($4, now()))

-- name: look_up
-- Addresses are joined into one text: encoding an array of short texts takes the driver twice as long.
SELECT tenant_id, people, known_labels, taken_addresses, found_members, found_groups
FROM directory.look_up($1, $2, $3, $4, $5, string_to_array($6, E'\x1f'), $7, $8, $9, $10)

-- name: find_people
-- Find people by typed words.
SELECT ids, people FROM directory.find_people($1, $2, $3)

-- name: labels
-- List the labels of a tenant by name.
SELECT l.id, l.display_name FROM directory.labels l
WHERE l.tenant_id = $1 ORDER BY lower(l.display_name) COLLATE "C", l.id

-- name: relations
-- Look up managers and memberships of each tenant.
SELECT tenant_id, managers, members FROM directory.relations($1, $2, $3, $4, $5, $6)

-- name: known_groups
-- Find which groups exist in each tenant.
SELECT tenant_id, known FROM directory.known_groups($1, $2, $3)

-- name: owners
-- Look up the owners of groups in each tenant.
SELECT tenant_id, owners FROM directory.group_owners($1, $2, $3, $4)

-- name: take_faults
-- Count a call for the faults of an operation, the oldest first.
SELECT f.tenant_id, f.kind, f.retry_after_seconds, f.after_calls, f.times, f.calls
FROM directory.take_faults($1, $2) AS f ORDER BY f.created_at, f.id

-- name: list_faults
-- List the faults of a tenant that have not ended.
SELECT f.id, f.operation, f.kind, f.retry_after_seconds AS retry_after, f.after_calls, f.times, f.calls, f.ends_at
FROM directory.requested_faults f WHERE f.tenant_id = $1 AND f.ends_at > now() ORDER BY f.created_at, f.id

-- name: set_fault
-- Set a fault unless the tenant has too many, and delete those that have ended.
WITH ended AS (
    DELETE FROM directory.requested_faults WHERE ends_at <= now()
)
INSERT INTO directory.requested_faults AS f (
    tenant_id, id, operation, kind, retry_after_seconds, after_calls, times, ends_at)
SELECT $1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8)
WHERE $9 > (SELECT count(*) FROM directory.requested_faults o WHERE o.tenant_id = $1 AND o.ends_at > now())
RETURNING f.id, f.operation, f.kind, f.retry_after_seconds AS retry_after, f.after_calls, f.times, f.calls, f.ends_at

-- name: clear_faults
-- Clear one fault of a tenant, or all.
DELETE FROM directory.requested_faults f WHERE f.tenant_id = $1 AND ($2::uuid IS NULL OR f.id = $2)
RETURNING true
