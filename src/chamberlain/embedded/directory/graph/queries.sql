-- SPDX-License-Identifier: Apache-2.0
-- name: settings
-- List the guest settings of the group.
SELECT g.id, g.created_at, s.group_id, s.allow_to_add_guests, s.guests_added_by, s.allowed_guest_domains,
    s.blocked_guest_domains
FROM directory.groups g LEFT JOIN directory.guest_settings s ON s.tenant_id = $1 AND s.group_id = g.id
WHERE g.tenant_id = $1 AND g.id = $2

-- name: team
-- Read a group and the creation time of its team.
SELECT g.display_name, g.description, g.visibility, g.created_at, t.created_at AS team_created_at
FROM directory.groups g LEFT JOIN directory.teams t ON t.tenant_id = $1 AND t.group_id = g.id
WHERE g.tenant_id = $1 AND g.id = $2

-- name: channels
-- List the channels of the team in their order.
SELECT c.group_id, c.display_name, c.description, c.created_at
FROM directory.channels c WHERE c.tenant_id = $1 AND c.group_id = $2 ORDER BY c.position

-- name: group
-- Check that a group exists.
SELECT g.created_at FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = $2

-- name: names
-- Find the objects with these values of extension properties. One index probe for each name and member, independent of
-- the number of values.
WITH RECURSIVE of_groups (name, member) AS (
    (SELECT v.name, v.member FROM directory.extension_values v
     WHERE v.tenant_id = $1 ORDER BY v.name, v.member LIMIT 1)
    UNION ALL
    SELECT n.name, n.member FROM of_groups AS last CROSS JOIN LATERAL (
        SELECT v.name, v.member FROM directory.extension_values v
        WHERE v.tenant_id = $1 AND (v.name, v.member) > (last.name, last.member)
        ORDER BY v.name, v.member LIMIT 1) AS n
), of_users (name, member) AS (
    (SELECT v.name, v.member FROM directory.user_extension_values v
     WHERE v.tenant_id = $1 ORDER BY v.name, v.member LIMIT 1)
    UNION ALL
    SELECT n.name, n.member FROM of_users AS last CROSS JOIN LATERAL (
        SELECT v.name, v.member FROM directory.user_extension_values v
        WHERE v.tenant_id = $1 AND (v.name, v.member) > (last.name, last.member)
        ORDER BY v.name, v.member LIMIT 1) AS n
), named (name, member, target) AS (
    SELECT name, member, 'Group' FROM of_groups UNION ALL SELECT name, member, 'User' FROM of_users
)
SELECT name, array_agg(DISTINCT member ORDER BY member) AS members,
    array_agg(DISTINCT target ORDER BY target) AS targets
FROM named GROUP BY name ORDER BY name

-- name: site
-- Return the site of the group.
SELECT g.id, g.created_at, s.web_url, s.display_name, s.sharing_capability
FROM directory.groups g LEFT JOIN directory.sites s ON s.tenant_id = $1 AND s.security_group_id = g.id
WHERE g.tenant_id = $1 AND g.id = $2

-- name: licenses
-- List the licences of the user, with their service plans.
SELECT l.sku_part_number, ARRAY(
    SELECT p.service_plan_name FROM directory.service_plans p
    WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.sku_part_number = l.sku_part_number ORDER BY p.service_plan_name
) AS plans, ARRAY(
    SELECT p.provisioning_status FROM directory.service_plans p
    WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.sku_part_number = l.sku_part_number ORDER BY p.service_plan_name
) AS statuses
FROM directory.licenses l WHERE l.tenant_id = $1 AND l.user_id = $2 ORDER BY l.sku_part_number

-- name: assigned
-- List the licences of users, with their service plans.
SELECT l.user_id, l.sku_part_number, ARRAY(
    SELECT p.service_plan_name FROM directory.service_plans p
    WHERE p.tenant_id = $1 AND p.user_id = l.user_id AND p.sku_part_number = l.sku_part_number
    ORDER BY p.service_plan_name
) AS plans, ARRAY(
    SELECT p.provisioning_status FROM directory.service_plans p
    WHERE p.tenant_id = $1 AND p.user_id = l.user_id AND p.sku_part_number = l.sku_part_number
    ORDER BY p.service_plan_name
) AS statuses
FROM directory.licenses l WHERE l.tenant_id = $1 AND l.user_id = ANY ($2::uuid[]) ORDER BY l.user_id, l.sku_part_number

-- name: mailbox
-- Return the settings of a user's mailbox.
SELECT m.recipient_type, m.automatic_reply FROM directory.mailboxes m WHERE m.tenant_id = $1 AND m.user_id = $2

-- name: mailboxes
-- Read the mailboxes of users.
SELECT m.user_id, m.recipient_type, m.name, m.place::text AS place, m.resource_capacity, m.automate_processing,
    m.additional_response, m.quota_megabytes, m.is_hidden, m.owners
FROM directory.mailboxes m WHERE m.tenant_id = $1 AND m.user_id = ANY ($2::uuid[])

-- name: permissions
-- Read the permissions on mailboxes.
SELECT p.mailbox_id, p.user_id, p.access_right, p.auto_mapping FROM directory.mailbox_permissions p
WHERE p.tenant_id = $1 AND p.mailbox_id = ANY ($2::uuid[]) ORDER BY p.mailbox_id, p.user_id

-- name: guest_settings
-- Read the guest settings of groups that Graph does not have.
SELECT s.group_id, s.guests_added_by, s.allowed_guest_domains, s.blocked_guest_domains
FROM directory.guest_settings s WHERE s.tenant_id = $1 AND s.group_id = ANY ($2::uuid[])

-- name: sharing
-- Read the sharing capabilities of the sites of groups.
SELECT s.security_group_id, s.sharing_capability FROM directory.sites s
WHERE s.tenant_id = $1 AND s.security_group_id = ANY ($2::uuid[])

-- name: team_members
-- List the users of a team.
SELECT m.group_id, m.member_id, m.is_owner, u.display_name, u.mail
FROM directory.memberships m JOIN directory.users u ON u.tenant_id = $1 AND u.id = m.member_id
WHERE m.tenant_id = $1 AND m.group_id = $2 AND NOT m.is_group ORDER BY m.member_id

-- name: memberships_of
-- List the owners and members of groups.
SELECT m.group_id, m.member_id, m.is_owner, m.is_member, m.is_group FROM directory.memberships m
WHERE m.tenant_id = $1 AND m.group_id = ANY ($2::uuid[]) ORDER BY m.group_id, m.member_id

-- name: groups_of_user
-- Find those of some groups that a user is a direct or transitive member of. It walks down from the groups, because
-- nested groups are few and memberships have no index by member.
WITH RECURSIVE nested (root, id) AS (
    SELECT g.id, g.id FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = ANY ($3::uuid[])
    UNION
    SELECT n.root, m.member_id FROM nested n JOIN directory.memberships m
        ON m.tenant_id = $1 AND m.group_id = n.id AND m.is_group AND m.is_member
)
SELECT DISTINCT n.root AS id FROM nested n JOIN directory.memberships m
    ON m.tenant_id = $1 AND m.group_id = n.id AND m.member_id = $2 AND m.is_member
ORDER BY n.root

-- name: objects
-- Read users and groups by their ids.
SELECT u.id, false AS is_group, u.display_name, u.mail, u.user_principal_name, u.properties::text AS properties,
    NULL AS mail_nickname
FROM directory.users u WHERE u.tenant_id = $1 AND u.id = ANY ($2::uuid[])
UNION ALL
SELECT g.id, true, g.display_name, g.mail, NULL, NULL, g.mail_nickname
FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = ANY ($2::uuid[])
ORDER BY id

-- name: domains
-- List the domains of a tenant's own users, by the number of their users. It reads all users: callers ask rarely.
SELECT split_part(lower(u.user_principal_name), '@', 2) AS domain FROM directory.users u
WHERE u.tenant_id = $1 AND u.user_type = 'Member' GROUP BY 1 ORDER BY count(*) DESC, 1

-- name: guest_default
-- Read the guest rules of a tenant.
SELECT d.allow_to_add_guests FROM directory.guest_defaults d WHERE d.tenant_id = $1

-- name: labels
-- List the labels of a tenant.
SELECT l.id, l.display_name FROM directory.labels l WHERE l.tenant_id = $1 ORDER BY l.id
