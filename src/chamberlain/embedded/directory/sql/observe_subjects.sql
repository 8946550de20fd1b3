-- SPDX-License-Identifier: Apache-2.0
-- The state of groups by id, with guests and guest settings: one row for each existing group, with the number (from 1) of
-- its id in the arrays. The group is JSON.

CREATE OR REPLACE FUNCTION directory.observe_subjects(tenants uuid[], ids uuid[], names text[])
RETURNS TABLE (item bigint, shown text)
LANGUAGE sql STABLE
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
    SELECT i.item, json_build_object(
        'tenantId', g.tenant_id, 'id', g.id, 'displayName', g.display_name, 'mail', g.mail,
        'visibility', g.visibility, 'isDynamic', g.membership_rule IS NOT NULL,
        'isTeam', EXISTS (SELECT FROM directory.teams t WHERE t.tenant_id = g.tenant_id AND t.group_id = g.id),
        'values', coalesce(g.extensions -> i.name, '{}'),
        'settings', (
            SELECT json_build_object(
                'allowToAddGuests', s.allow_to_add_guests, 'guestsAddedBy', s.guests_added_by,
                'allowedGuestDomains', s.allowed_guest_domains, 'blockedGuestDomains', s.blocked_guest_domains)
            FROM directory.guest_settings s WHERE s.tenant_id = g.tenant_id AND s.group_id = g.id),
        'site', (
            SELECT json_build_object(
                'webUrl', s.web_url, 'displayName', s.display_name, 'sharingCapability', s.sharing_capability,
                'defaultSharingCapability', s.default_sharing_capability)
            FROM directory.sites s WHERE s.tenant_id = g.tenant_id AND s.security_group_id = g.id),
        'guests', (
            SELECT coalesce(
                json_agg(json_build_object(
                    'id', u.id, 'mail', u.mail, 'displayName', u.display_name, 'isOwner', m.is_owner,
                    'lastSeenAt', u.last_seen_at) ORDER BY u.id),
                '[]')
            FROM directory.memberships m
            -- One probe per member; a join would read all users of the tenant for each member.
            CROSS JOIN LATERAL (
                SELECT u.id, u.mail, u.display_name, u.last_seen_at FROM directory.users u
                WHERE u.tenant_id = g.tenant_id AND u.id = m.member_id AND u.user_type = 'Guest' OFFSET 0
            ) u
            WHERE m.tenant_id = g.tenant_id AND m.group_id = g.id AND NOT m.is_group),
        'owners', (
            SELECT count(*) FROM directory.memberships m
            WHERE m.tenant_id = g.tenant_id AND m.group_id = g.id AND m.is_owner AND NOT m.is_group)
    )::text
    FROM unnest(tenants, ids, names) WITH ORDINALITY AS i (tenant_id, id, name, item)
    JOIN directory.groups g ON g.tenant_id = i.tenant_id AND g.id = i.id
$$;
