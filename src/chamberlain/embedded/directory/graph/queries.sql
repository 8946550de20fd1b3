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
SELECT c.group_id, c.display_name, c.created_at
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

-- name: mailbox
-- Return the settings of a user's mailbox.
SELECT m.recipient_type, m.name, m.place::text AS place, m.resource_capacity, m.automate_processing,
    m.additional_response, m.automatic_reply, m.quota_megabytes, m.is_hidden, m.owners
FROM directory.mailboxes m WHERE m.tenant_id = $1 AND m.user_id = $2

-- name: permissions
-- Read the permissions on a user's mailbox.
SELECT p.user_id, p.access_right, p.auto_mapping FROM directory.mailbox_permissions p
WHERE p.tenant_id = $1 AND p.mailbox_id = $2 ORDER BY p.user_id
