-- SPDX-License-Identifier: Apache-2.0
-- name: create_user
-- Insert a user.
INSERT INTO directory.users (
    tenant_id, id, display_name, user_principal_name, mail, user_type, account_enabled, properties)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8::jsonb) ON CONFLICT (tenant_id, id) DO NOTHING RETURNING true

-- name: lock_user
-- Lock a user and read the values that can change.
SELECT u.display_name, u.user_principal_name, u.mail, u.user_type, u.account_enabled, u.properties::text AS properties
FROM directory.users u WHERE u.tenant_id = $1 AND u.id = $2 FOR UPDATE

-- name: update_user
-- Set the values of a user.
UPDATE directory.users SET
    display_name = $3, user_principal_name = $4, mail = $5, user_type = $6, account_enabled = $7, properties = $8::jsonb
WHERE tenant_id = $1 AND id = $2

-- name: delete_user
-- Delete a user.
DELETE FROM directory.users WHERE tenant_id = $1 AND id = $2

-- name: delete_memberships
-- Remove a user or group from all groups. No index leads there, as such deletions are rare.
DELETE FROM directory.memberships WHERE tenant_id = $1 AND member_id = $2

-- name: delete_licenses
-- Delete the licences of a user.
DELETE FROM directory.licenses WHERE tenant_id = $1 AND user_id = $2

-- name: delete_service_plans
-- Delete the service plans of a user.
DELETE FROM directory.service_plans WHERE tenant_id = $1 AND user_id = $2

-- name: delete_addresses
-- Release all addresses of a user or group.
DELETE FROM directory.addresses WHERE tenant_id = $1 AND holder_id = $2

-- name: delete_scim_resource
-- Delete the attributes that a SCIM client wrote.
DELETE FROM directory.scim_resources WHERE tenant_id = $1 AND id = $2

-- name: delete_extension_values
-- Remove the extension values of a mailbox from the index.
DELETE FROM directory.user_extension_values WHERE tenant_id = $1 AND user_id = $2

-- name: delete_mailbox_permissions
-- Delete the permissions on a mailbox, and those of a user on other mailboxes.
DELETE FROM directory.mailbox_permissions WHERE tenant_id = $1 AND (mailbox_id = $2 OR user_id = $2)

-- name: delete_mailbox
-- Delete a mailbox.
DELETE FROM directory.mailboxes WHERE tenant_id = $1 AND user_id = $2

-- name: delete_manager
-- Clear the manager of all subordinates.
UPDATE directory.users SET manager_id = NULL WHERE tenant_id = $1 AND manager_id = $2

-- name: clear_manager
-- Clear the manager of a user.
UPDATE directory.users SET manager_id = NULL
WHERE tenant_id = $1 AND id = $2 AND manager_id IS NOT NULL RETURNING true

-- name: set_manager
-- Set the manager of a user to an existing user.
UPDATE directory.users SET manager_id = $3
WHERE tenant_id = $1 AND id = $2 AND EXISTS (SELECT FROM directory.users m WHERE m.tenant_id = $1 AND m.id = $3)
RETURNING true

-- name: products
-- List the products that users of a tenant have, with all service plans of each.
SELECT l.sku_part_number AS name, ARRAY(
    SELECT DISTINCT p.service_plan_name FROM directory.service_plans p
    WHERE p.tenant_id = $1 AND p.sku_part_number = l.sku_part_number ORDER BY p.service_plan_name) AS plans
FROM (SELECT DISTINCT sku_part_number FROM directory.licenses WHERE tenant_id = $1) AS l ORDER BY l.sku_part_number

-- name: remove_license
-- Delete one licence of a user.
DELETE FROM directory.licenses WHERE tenant_id = $1 AND user_id = $2 AND sku_part_number = $3 RETURNING true

-- name: add_license
-- Insert a licence of a user.
INSERT INTO directory.licenses (tenant_id, user_id, sku_part_number) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: remove_service_plans
-- Delete the service plans of one licence.
DELETE FROM directory.service_plans WHERE tenant_id = $1 AND user_id = $2 AND sku_part_number = $3

-- name: add_service_plans
-- Insert the service plans of one licence.
INSERT INTO directory.service_plans (tenant_id, user_id, sku_part_number, service_plan_name, provisioning_status)
SELECT $1, $2, $3, p.name, p.status FROM unnest($4::text[], $5::text[]) AS p (name, status)

-- name: release_addresses
-- Release the old addresses of a user or group that are not among the new ones.
DELETE FROM directory.addresses WHERE tenant_id = $1 AND holder_id = $2
    AND address = ANY (directory.lowered($3::text[])) AND address <> ALL (directory.lowered($4::text[]))

-- name: reserve_addresses
-- Reserve addresses for a user or group. Sorted, to avoid deadlocks.
INSERT INTO directory.addresses (tenant_id, address, holder_id)
SELECT $1, a.address, $2 FROM unnest(directory.lowered($3::text[])) AS a (address) ORDER BY 2
ON CONFLICT DO NOTHING

-- name: taken_address
-- Find an address that another object has.
SELECT a.address FROM directory.addresses a
WHERE a.tenant_id = $1 AND a.address = ANY (directory.lowered($3::text[])) AND a.holder_id <> $2
ORDER BY a.address LIMIT 1

-- name: default_domain
-- Find the domain of most members of a tenant.
SELECT lower(split_part(u.user_principal_name, '@', 2)) AS domain
FROM directory.users u WHERE u.tenant_id = $1 AND u.user_type = 'Member'
GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1

-- name: create_group
-- Insert a group.
INSERT INTO directory.groups (
    tenant_id, id, display_name, mail_nickname, mail, description, visibility, group_types, membership_rule,
    mail_enabled, security_enabled, label_id, extensions, created_at, unique_name)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, '{}', now(), $13)
ON CONFLICT DO NOTHING RETURNING true

-- name: lock_group
-- Lock a group and read the values that can change.
SELECT g.id, g.display_name, g.mail_nickname, g.mail, g.description, g.visibility, g.group_types, g.membership_rule,
    g.mail_enabled, g.security_enabled, g.label_id, g.extensions::text AS extensions, g.unique_name
FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = $2 FOR UPDATE

-- name: group_by_unique_name
-- Find the group with a unique name.
SELECT g.id FROM directory.groups g WHERE g.tenant_id = $1 AND g.unique_name = $2

-- name: lock_unique_name
-- Serialize the calls with this unique name, so that two of them create one group.
SELECT pg_advisory_xact_lock(hashtextextended('directory.unique_name' || $1::text || $2::text, 0))

-- name: update_group
-- Set the values of a group. Equal values are no change.
UPDATE directory.groups g SET
    display_name = $3, mail_nickname = $4, description = $5, visibility = $6, group_types = $7, membership_rule = $8,
    label_id = $9, unique_name = $10
WHERE g.tenant_id = $1 AND g.id = $2
    AND (g.display_name, g.mail_nickname, g.description, g.visibility, g.group_types, g.membership_rule, g.label_id,
        g.unique_name) IS DISTINCT FROM ($3, $4, $5, $6, $7, $8, $9, $10)

-- name: has_label
-- Check that a sensitivity label exists.
SELECT EXISTS (SELECT FROM directory.labels l WHERE l.tenant_id = $1 AND l.id = $2)

-- name: set_extensions
-- Set the extension attributes of a group. Equal values are no change.
UPDATE directory.groups g SET extensions = $3::jsonb
WHERE g.tenant_id = $1 AND g.id = $2 AND g.extensions IS DISTINCT FROM $3::jsonb

-- name: forget_extension_values
-- Remove extension values of a group from the index.
DELETE FROM directory.extension_values v USING unnest($3::text[], $4::text[], $5::text[]) AS i (name, member, value)
WHERE v.tenant_id = $1 AND v.name = i.name AND v.member = i.member AND v.value = lower(i.value) AND v.group_id = $2

-- name: index_extension_values
-- Add extension values of a group to the index. Sorted, to avoid deadlocks.
INSERT INTO directory.extension_values (tenant_id, name, member, value, group_id)
SELECT $1, i.name, i.member, lower(i.value), $2 FROM unnest($3::text[], $4::text[], $5::text[]) AS i (name, member, value)
ORDER BY 2, 3, 4 ON CONFLICT DO NOTHING

-- name: delete_group
-- Delete a group.
DELETE FROM directory.groups WHERE tenant_id = $1 AND id = $2

-- name: delete_members
-- Delete the owners and members of a group.
DELETE FROM directory.memberships WHERE tenant_id = $1 AND group_id = $2

-- name: delete_team
-- Delete the team of a group.
DELETE FROM directory.teams WHERE tenant_id = $1 AND group_id = $2

-- name: delete_channels
-- Delete the channels of a team.
DELETE FROM directory.channels WHERE tenant_id = $1 AND group_id = $2

-- name: delete_settings
-- Delete the guest settings of a group.
DELETE FROM directory.guest_settings WHERE tenant_id = $1 AND group_id = $2 RETURNING true

-- name: delete_group_values
-- Remove all extension values of a group from the index.
DELETE FROM directory.extension_values WHERE tenant_id = $1 AND group_id = $2

-- name: delete_site
-- Delete the site of a security group.
DELETE FROM directory.sites WHERE tenant_id = $1 AND security_group_id = $2

-- name: objects
-- Find which users and groups exist, with those that the group has already as owners and as members.
SELECT i.id, u.id IS NOT NULL AS is_user, g.id IS NOT NULL AS is_group,
    coalesce(m.is_owner, false) AS is_owner, coalesce(m.is_member, false) AS is_member
FROM unnest($3::uuid[]) AS i (id)
LEFT JOIN directory.users u ON u.tenant_id = $1 AND u.id = i.id
LEFT JOIN directory.groups g ON g.tenant_id = $1 AND g.id = i.id
LEFT JOIN directory.memberships m ON m.tenant_id = $1 AND m.group_id = $2 AND m.member_id = i.id

-- name: add_references
-- Add owners or members to a group. Sorted, to avoid deadlocks.
INSERT INTO directory.memberships AS m (tenant_id, group_id, member_id, is_owner, is_member, is_group)
SELECT $1, $2, i.id, $4, NOT $4, i.is_group FROM unnest($3::uuid[], $5::boolean[]) AS i (id, is_group) ORDER BY i.id
ON CONFLICT (tenant_id, group_id, member_id) DO UPDATE
    SET is_owner = m.is_owner OR excluded.is_owner, is_member = m.is_member OR excluded.is_member

-- name: owners_left
-- Count the owners of a group without one of them.
SELECT count(*) FROM directory.memberships WHERE tenant_id = $1 AND group_id = $2 AND is_owner AND member_id IS DISTINCT FROM $3

-- name: demote
-- End one of two relations of a member who has both.
UPDATE directory.memberships SET is_owner = NOT $4, is_member = $4
WHERE tenant_id = $1 AND group_id = $2 AND member_id = $3 AND is_owner AND is_member

-- name: remove_reference
-- Remove an owner who is no member, or a member who is no owner.
DELETE FROM directory.memberships
WHERE tenant_id = $1 AND group_id = $2 AND member_id = $3 AND is_owner = $4 AND is_member = NOT $4

-- name: remove_members
-- Remove members who are no owners.
DELETE FROM directory.memberships
WHERE tenant_id = $1 AND group_id = $2 AND member_id = ANY ($3) AND is_member AND NOT is_owner

-- name: keep_owners
-- End the membership of owners.
UPDATE directory.memberships SET is_member = false
WHERE tenant_id = $1 AND group_id = $2 AND member_id = ANY ($3) AND is_owner AND is_member

-- name: create_team
-- Insert the team of a group.
INSERT INTO directory.teams (tenant_id, group_id, created_at) VALUES ($1, $2, now())
ON CONFLICT DO NOTHING RETURNING true

-- name: has_team
-- Check that a group has a team.
SELECT EXISTS (SELECT FROM directory.teams t WHERE t.tenant_id = $1 AND t.group_id = $2)

-- name: create_channel
-- Insert a channel behind the others.
INSERT INTO directory.channels (tenant_id, group_id, display_name, description, position, created_at)
SELECT $1, $2, $3, $4, coalesce(max(c.position), 0) + 1, now()
FROM directory.channels c WHERE c.tenant_id = $1 AND c.group_id = $2
ON CONFLICT DO NOTHING RETURNING true

-- name: has_channel
-- Check that a team has a channel of this name.
SELECT EXISTS (
    SELECT FROM directory.channels c WHERE c.tenant_id = $1 AND c.group_id = $2 AND lower(c.display_name) = lower($3))

-- name: touch_group
-- Record a change of a part of the group that has no trigger.
UPDATE directory.groups SET changed_in = DEFAULT WHERE tenant_id = $1 AND id = $2

-- name: create_settings
-- Give a group its own guest settings, as a copy of the tenant's.
INSERT INTO directory.guest_settings (
    tenant_id, group_id, allow_to_add_guests, guests_added_by, allowed_guest_domains, blocked_guest_domains)
SELECT $1, $2, coalesce(d.allow_to_add_guests, true), coalesce(d.guests_added_by, 'members'),
    coalesce(d.allowed_guest_domains, '{}'), coalesce(d.blocked_guest_domains, '{}')
FROM (SELECT) AS one LEFT JOIN directory.guest_defaults d ON d.tenant_id = $1
ON CONFLICT DO NOTHING RETURNING true

-- name: update_settings
-- Change the given guest settings of a group.
UPDATE directory.guest_settings SET
    allow_to_add_guests = coalesce($3, allow_to_add_guests), guests_added_by = coalesce($4, guests_added_by),
    allowed_guest_domains = coalesce($5, allowed_guest_domains),
    blocked_guest_domains = coalesce($6, blocked_guest_domains)
WHERE tenant_id = $1 AND group_id = $2 RETURNING true
