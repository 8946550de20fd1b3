-- SPDX-License-Identifier: Apache-2.0
-- The owners of groups, for several tenants in one call, with one row per tenant. `groups` contains the ids of all
-- tenants in order, and `group_ends` the end of each tenant's ids. Owners are JSON with the id of the group; at most
-- `most` per group, sorted by name.

CREATE OR REPLACE FUNCTION directory.group_owners(tenants uuid[], groups uuid[], group_ends integer[], most integer)
RETURNS TABLE (tenant_id uuid, owners text)
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    group_from integer := 1;
BEGIN
    FOR i IN 1 .. cardinality(tenants) LOOP
        tenant_id := tenants[i];
        PERFORM set_config('chamberlain.tenant_id', tenant_id::text, true);
        owners := (
            WITH owner AS (
                SELECT m.group_id, u.id, u.display_name,
                    row_number() OVER (PARTITION BY m.group_id ORDER BY u.display_name, u.id) AS place
                FROM directory.memberships m
                JOIN directory.users u ON u.tenant_id = tenants[i] AND u.id = m.member_id
                WHERE m.tenant_id = tenants[i] AND m.group_id = ANY (groups[group_from : group_ends[i]])
                AND m.is_owner AND NOT m.is_group
            )
            SELECT coalesce(
                json_agg(json_build_object('of', group_id, 'id', id, 'displayName', display_name) ORDER BY place), '[]')
            FROM owner WHERE place <= most);
        RETURN NEXT;
        group_from := group_ends[i] + 1;
    END LOOP;
END
$$;
