-- SPDX-License-Identifier: Apache-2.0
-- The existing ones of these groups, for several tenants in one call, with one row per tenant. `groups` contains the ids
-- of all tenants in order, and `group_ends` the end of each tenant's ids.

CREATE OR REPLACE FUNCTION directory.known_groups(tenants uuid[], groups uuid[], group_ends integer[])
RETURNS TABLE (tenant_id uuid, known uuid[])
LANGUAGE plpgsql
SET enable_seqscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    group_from integer := 1;
BEGIN
    FOR i IN 1 .. cardinality(tenants) LOOP
        tenant_id := tenants[i];
        PERFORM set_config('chamberlain.tenant_id', tenant_id::text, true);
        known := ARRAY(
            SELECT g.id FROM directory.groups g
            WHERE g.tenant_id = tenants[i] AND g.id = ANY (groups[group_from : group_ends[i]]));
        RETURN NEXT;
        group_from := group_ends[i] + 1;
    END LOOP;
END
$$;
