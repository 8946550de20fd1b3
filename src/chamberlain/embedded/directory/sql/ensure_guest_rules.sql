-- SPDX-License-Identifier: Apache-2.0
-- Sets the requested guest rules of a batch of groups, each entirely or not at all. An item that is not possible has a
-- fault in the result; it changes nothing and does not affect the others. Equal values are not written again. A guest
-- who could not be removed is no fault: the caller reads the guests afterwards.
--
-- The first arrays have one entry for each item. `value_items` and `removal_items` are the numbers (from 1) of the items
-- that the entries next to them belong to. A null value is cleared. `accesses`, `domains` and `sharings` select the
-- settings to change. `settings` is false to restore the tenant's default. Groups must be unique.

CREATE OR REPLACE FUNCTION directory.ensure_guest_rules(
    tenants uuid[],
    ids uuid[],
    names text[],
    accesses boolean[],
    domains boolean[],
    sharings boolean[],
    settings boolean[],
    allowed boolean[],
    added_by text[],
    allowed_domains text[],
    blocked_domains text[],
    capabilities text[],
    value_items integer[],
    value_members text[],
    value_values text[],
    removal_items integer[],
    removal_users uuid[],
    OUT faults text[]
)
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    bad record;
BEGIN
    faults := array_fill(NULL::text, ARRAY[cardinality(ids)]);

    PERFORM FROM directory.groups g
    JOIN unnest(tenants, ids) AS i (tenant_id, id) ON g.tenant_id = i.tenant_id AND g.id = i.id
    ORDER BY g.tenant_id, g.id
    FOR UPDATE OF g;

    FOR bad IN
        SELECT i.item FROM unnest(tenants, ids) WITH ORDINALITY AS i (tenant_id, id, item)
        WHERE NOT EXISTS (SELECT FROM directory.groups g WHERE g.tenant_id = i.tenant_id AND g.id = i.id)
    LOOP
        faults[bad.item] := 'groupUnknown';
    END LOOP;

    -- First the index of values, then the values themselves, because the values identify the index rows.
    DELETE FROM directory.extension_values e
    USING unnest(value_items, value_members, value_values) AS v (item, member, value)
    JOIN directory.groups g ON g.tenant_id = tenants[v.item] AND g.id = ids[v.item]
    WHERE faults[v.item] IS NULL AND e.tenant_id = g.tenant_id AND e.name = names[v.item] AND e.member = v.member
        AND e.value = lower(g.extensions -> names[v.item] ->> v.member) AND e.group_id = g.id
        AND e.value IS DISTINCT FROM lower(v.value);

    INSERT INTO directory.extension_values (tenant_id, name, member, value, group_id)
    SELECT tenants[v.item], names[v.item], v.member, lower(v.value), ids[v.item]
    FROM unnest(value_items, value_members, value_values) AS v (item, member, value)
    WHERE faults[v.item] IS NULL AND v.value IS NOT NULL
    ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT DO NOTHING;

    WITH wanted AS (
        SELECT v.item, coalesce(jsonb_object_agg(v.member, v.value) FILTER (WHERE v.value IS NOT NULL), '{}') AS given,
            coalesce(array_agg(v.member) FILTER (WHERE v.value IS NULL), '{}') AS cleared
        FROM unnest(value_items, value_members, value_values) AS v (item, member, value)
        WHERE faults[v.item] IS NULL
        GROUP BY v.item
    ), shown AS (
        SELECT g.tenant_id, g.id, names[w.item] AS name,
            (coalesce(g.extensions -> names[w.item], '{}') || w.given) - w.cleared AS members
        FROM wanted w JOIN directory.groups g ON g.tenant_id = tenants[w.item] AND g.id = ids[w.item]
    )
    UPDATE directory.groups g
    SET extensions = CASE s.members WHEN '{}' THEN g.extensions - s.name
        ELSE g.extensions || jsonb_build_object(s.name, s.members) END
    FROM shown s
    WHERE g.tenant_id = s.tenant_id AND g.id = s.id AND coalesce(g.extensions -> s.name, '{}') <> s.members;

    INSERT INTO directory.guest_settings AS s (
        tenant_id, group_id, allow_to_add_guests, guests_added_by, allowed_guest_domains, blocked_guest_domains)
    SELECT i.tenant_id, i.id,
        CASE WHEN i.access THEN i.allowed ELSE coalesce(d.allow_to_add_guests, true) END,
        CASE WHEN i.access THEN i.added_by ELSE coalesce(d.guests_added_by, 'members') END,
        CASE WHEN i.domain THEN i.allowed_domains::text[] ELSE coalesce(d.allowed_guest_domains, '{}') END,
        CASE WHEN i.domain THEN i.blocked_domains::text[] ELSE coalesce(d.blocked_guest_domains, '{}') END
    FROM unnest(tenants, ids, accesses, domains, settings, allowed, added_by, allowed_domains, blocked_domains, faults)
        AS i (tenant_id, id, access, domain, setting, allowed, added_by, allowed_domains, blocked_domains, fault)
    LEFT JOIN directory.guest_defaults d ON d.tenant_id = i.tenant_id
    WHERE i.fault IS NULL AND i.setting AND (i.access OR i.domain)
        AND NOT EXISTS (
            SELECT FROM directory.guest_settings s WHERE s.tenant_id = i.tenant_id AND s.group_id = i.id)
    ORDER BY 1, 2;

    WITH wanted AS (
        SELECT s.tenant_id, s.group_id,
            CASE WHEN i.access THEN i.allowed ELSE s.allow_to_add_guests END AS allow_to_add_guests,
            CASE WHEN i.access THEN i.added_by ELSE s.guests_added_by END AS guests_added_by,
            CASE WHEN i.domain THEN i.allowed_domains::text[] ELSE s.allowed_guest_domains END AS allowed_guest_domains,
            CASE WHEN i.domain THEN i.blocked_domains::text[] ELSE s.blocked_guest_domains END AS blocked_guest_domains
        FROM unnest(
            tenants, ids, accesses, domains, settings, allowed, added_by, allowed_domains, blocked_domains, faults
        ) AS i (tenant_id, id, access, domain, setting, allowed, added_by, allowed_domains, blocked_domains, fault)
        JOIN directory.guest_settings s ON s.tenant_id = i.tenant_id AND s.group_id = i.id
        WHERE i.fault IS NULL AND i.setting AND (i.access OR i.domain)
    )
    UPDATE directory.guest_settings s
    SET allow_to_add_guests = w.allow_to_add_guests, guests_added_by = w.guests_added_by,
        allowed_guest_domains = w.allowed_guest_domains, blocked_guest_domains = w.blocked_guest_domains
    FROM wanted w
    WHERE s.tenant_id = w.tenant_id AND s.group_id = w.group_id AND (
        s.allow_to_add_guests, s.guests_added_by, s.allowed_guest_domains, s.blocked_guest_domains
    ) IS DISTINCT FROM (
        w.allow_to_add_guests, w.guests_added_by, w.allowed_guest_domains, w.blocked_guest_domains);

    DELETE FROM directory.guest_settings s
    USING unnest(tenants, ids, accesses, domains, settings, faults) AS i (tenant_id, id, access, domain, setting, fault)
    WHERE i.fault IS NULL AND NOT i.setting AND (i.access OR i.domain)
        AND s.tenant_id = i.tenant_id AND s.group_id = i.id;

    UPDATE directory.sites s SET sharing_capability = coalesce(i.capability, s.default_sharing_capability)
    FROM unnest(tenants, ids, sharings, capabilities, faults) AS i (tenant_id, id, sharing, capability, fault)
    WHERE i.fault IS NULL AND i.sharing AND s.tenant_id = i.tenant_id AND s.security_group_id = i.id
        AND s.sharing_capability <> coalesce(i.capability, s.default_sharing_capability);

    -- Not removed are users who are no longer guests, members whom the group's rule would add again, and the first owner
    -- of a group that would have no owner left.
    WITH going AS (
        SELECT DISTINCT m.tenant_id, m.group_id, m.member_id, m.is_owner
        FROM unnest(removal_items, removal_users) AS r (item, user_id)
        JOIN directory.groups g ON g.tenant_id = tenants[r.item] AND g.id = ids[r.item]
        JOIN directory.users u ON u.tenant_id = g.tenant_id AND u.id = r.user_id AND u.user_type = 'Guest'
        JOIN directory.memberships m ON m.tenant_id = g.tenant_id AND m.group_id = g.id AND m.member_id = r.user_id
        WHERE faults[r.item] IS NULL AND NOT m.is_group AND NOT (g.membership_rule IS NOT NULL AND m.is_member)
    ), staying AS (
        SELECT DISTINCT ON (o.tenant_id, o.group_id) o.tenant_id, o.group_id, o.member_id
        FROM going o
        WHERE o.is_owner AND NOT EXISTS (
            SELECT FROM directory.memberships m
            WHERE m.tenant_id = o.tenant_id AND m.group_id = o.group_id AND m.is_owner AND NOT EXISTS (
                SELECT FROM going x
                WHERE x.tenant_id = m.tenant_id AND x.group_id = m.group_id AND x.member_id = m.member_id))
        ORDER BY o.tenant_id, o.group_id, o.member_id
    )
    DELETE FROM directory.memberships m
    USING going x
    WHERE m.tenant_id = x.tenant_id AND m.group_id = x.group_id AND m.member_id = x.member_id
        AND NOT EXISTS (
            SELECT FROM staying s
            WHERE s.tenant_id = x.tenant_id AND s.group_id = x.group_id AND s.member_id = x.member_id);
END
$$;
