-- SPDX-License-Identifier: Apache-2.0
-- The state of groups by mark: one row for each existing group, with the number (from 1) of its mark in the arrays. The
-- group is JSON, which is cheaper to decode than rows of many columns.
--
-- Of several groups with one mark it is the one with the id in `ids`, if there is one. An id of a group without the mark
-- is ignored.

CREATE OR REPLACE FUNCTION directory.observed_groups(
    key_member text, tenants uuid[], names text[], keys text[], ids uuid[]
) RETURNS TABLE (item bigint, shown text)
LANGUAGE sql STABLE
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
    SELECT i.item, json_build_object(
        'id', g.id, 'displayName', g.display_name, 'mail', coalesce(g.mail, ''), 'mailNickname', g.mail_nickname,
        'description', g.description, 'visibility', g.visibility,
        'isDynamic', 'DynamicMembership' = ANY (g.group_types), 'labelId', g.label_id, 'values', coalesce(g.extensions -> i.name, '{}'),
        'owners', ARRAY(
            SELECT m.member_id FROM directory.memberships m
            WHERE m.tenant_id = g.tenant_id AND m.group_id = g.id AND m.is_owner),
        'members', ARRAY(
            SELECT m.member_id FROM directory.memberships m
            WHERE m.tenant_id = g.tenant_id AND m.group_id = g.id AND m.is_member AND NOT m.is_group),
        'channels', (
            SELECT ARRAY(
                SELECT c.display_name FROM directory.channels c
                WHERE c.tenant_id = g.tenant_id AND c.group_id = g.id ORDER BY c.position)
            FROM directory.teams t WHERE t.tenant_id = g.tenant_id AND t.group_id = g.id)
    )::text
    FROM unnest(tenants, names, keys, ids) WITH ORDINALITY AS i (tenant_id, name, key, id, item)
    CROSS JOIN LATERAL (
        SELECT v.group_id FROM directory.extension_values v
        WHERE v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = key_member AND v.value = lower(i.key)
        ORDER BY v.group_id IS DISTINCT FROM i.id, v.group_id LIMIT 1
    ) AS marked
    JOIN directory.groups g ON g.tenant_id = i.tenant_id AND g.id = marked.group_id
$$;
