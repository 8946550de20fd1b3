-- SPDX-License-Identifier: Apache-2.0
-- Looks up users, labels, addresses and memberships (direct or nested) of several tenants in one call, with one row per
-- tenant.
--
-- Each array contains the keys of all tenants in order, and `..._ends` the end of each tenant's keys. People are JSON,
-- which is cheaper to decode than rows.

CREATE OR REPLACE FUNCTION directory.look_up(
    tenants uuid[],
    users uuid[],
    user_ends integer[],
    labels text[],
    label_ends integer[],
    addresses text[],
    address_ends integer[],
    members uuid[],
    member_groups uuid[],
    member_ends integer[]
) RETURNS TABLE (
    tenant_id uuid, people text, known_labels text[], taken_addresses text[], found_members uuid[], found_groups uuid[]
)
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    user_from integer := 1;
    label_from integer := 1;
    address_from integer := 1;
    member_from integer := 1;
    asked text[];
    lowered text[];
BEGIN
    FOR i IN 1 .. cardinality(tenants) LOOP
        tenant_id := tenants[i];
        PERFORM set_config('chamberlain.tenant_id', tenant_id::text, true);
        people := directory.people_of(tenant_id, users[user_from : user_ends[i]]);
        known_labels := '{}';
        taken_addresses := '{}';
        found_members := '{}';
        found_groups := '{}';
        IF label_from <= label_ends[i] THEN
            known_labels := ARRAY(
                SELECT l.id FROM directory.labels l
                WHERE l.tenant_id = tenants[i]
                    AND lower(l.id) = ANY (directory.lowered(labels[label_from : label_ends[i]])));
        END IF;
        IF address_from <= address_ends[i] THEN
            -- Converted to lower case first: with lower() in the condition, row-level security prevents the index.
            asked := addresses[address_from : address_ends[i]];
            lowered := directory.lowered(asked);
            taken_addresses := ARRAY(
                SELECT a.asked FROM unnest(asked, lowered) AS a (asked, lowered)
                CROSS JOIN LATERAL (
                    -- One probe for each: a join planned for a small table would read all rows.
                    SELECT FROM directory.addresses t WHERE t.tenant_id = tenants[i] AND t.address = a.lowered LIMIT 1
                ) AS taken);
        END IF;
        IF member_from <= member_ends[i] THEN
            SELECT coalesce(array_agg(f.member_id), found_members), coalesce(array_agg(f.group_id), found_groups)
            INTO found_members, found_groups
            FROM directory.members_among(
                tenant_id, members[member_from : member_ends[i]], member_groups[member_from : member_ends[i]]) AS f;
        END IF;
        RETURN NEXT;
        user_from := user_ends[i] + 1;
        label_from := label_ends[i] + 1;
        address_from := address_ends[i] + 1;
        member_from := member_ends[i] + 1;
    END LOOP;
END
$$;
