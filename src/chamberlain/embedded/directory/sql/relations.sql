-- SPDX-License-Identifier: Apache-2.0
-- The managers of users, and the direct and nested members of groups, for several tenants in one call, with one row per
-- tenant. Each array contains the keys of all tenants in order, and `..._ends` the end of each tenant's keys. Managers
-- and members are JSON with the id of the user or group; at most `most` members per group, sorted by name.

CREATE OR REPLACE FUNCTION directory.relations(
    tenants uuid[], employees uuid[], employee_ends integer[], groups uuid[], group_ends integer[], most integer
) RETURNS TABLE (tenant_id uuid, managers text, members text)
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    employee_from integer := 1;
    group_from integer := 1;
BEGIN
    FOR i IN 1 .. cardinality(tenants) LOOP
        tenant_id := tenants[i];
        PERFORM set_config('chamberlain.tenant_id', tenant_id::text, true);
        managers := (
            SELECT coalesce(json_agg(json_build_object('of', e.id, 'id', m.id, 'displayName', m.display_name)), '[]')
            FROM directory.users e
            JOIN directory.users m ON m.tenant_id = tenants[i] AND m.id = e.manager_id
            WHERE e.tenant_id = tenants[i] AND e.id = ANY (employees[employee_from : employee_ends[i]]));
        members := (
            WITH RECURSIVE reached (root_id, reached_id) AS (
                SELECT DISTINCT g.id, g.id FROM unnest(groups[group_from : group_ends[i]]) AS g (id)
                UNION
                SELECT r.root_id, m.member_id
                FROM reached r
                JOIN directory.memberships m
                    ON m.tenant_id = tenants[i] AND m.group_id = r.reached_id AND m.is_group AND m.is_member
            ), member AS (
                SELECT DISTINCT r.root_id, u.id, u.display_name
                FROM reached r
                JOIN directory.memberships m
                    ON m.tenant_id = tenants[i] AND m.group_id = r.reached_id AND m.is_member AND NOT m.is_group
                JOIN directory.users u ON u.tenant_id = tenants[i] AND u.id = m.member_id
            ), placed AS (
                SELECT *, row_number() OVER (PARTITION BY root_id ORDER BY display_name, id) AS place FROM member
            )
            SELECT coalesce(
                json_agg(json_build_object('of', root_id, 'id', id, 'displayName', display_name) ORDER BY place), '[]')
            FROM placed WHERE place <= most);
        RETURN NEXT;
        employee_from := employee_ends[i] + 1;
        group_from := group_ends[i] + 1;
    END LOOP;
END
$$;
