-- SPDX-License-Identifier: Apache-2.0
-- Groups by the value of an extension attribute: the most frequent query, from clients that wait for a group. So one
-- call answers all concurrent queries, with one statement per tenant. `item` is the number of the query in the arrays;
-- groups are sorted by id. The other columns are the same as in graph/groups.py.

CREATE OR REPLACE FUNCTION directory.groups_by_values(
    tenants uuid[], names text[], members text[], sought text[], afters uuid[], most integer[]
) RETURNS TABLE (
    item bigint,
    id uuid, created_at timestamptz, display_name text, description text, mail text, mail_nickname text,
    visibility text, group_types text[], membership_rule text, mail_enabled boolean, security_enabled boolean,
    label_id text, label_name text, extensions text, is_team boolean
)
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    this_tenant uuid;
    answered uuid[] := '{}';
    -- Converted to lower case first: with lower() in the condition, row-level security prevents the index.
    lowered text[] := directory.lowered(sought);
BEGIN
    FOREACH this_tenant IN ARRAY tenants LOOP
        CONTINUE WHEN this_tenant = ANY (answered);
        answered := answered || this_tenant;
        PERFORM set_config('chamberlain.tenant_id', this_tenant::text, true);
        RETURN QUERY
        SELECT w.item, f.*
        FROM unnest(tenants, names, members, lowered, afters, most)
            WITH ORDINALITY AS w (tenant_id, name, member, value, after, most, item)
        CROSS JOIN LATERAL (
            SELECT g.id, g.created_at, g.display_name, g.description, g.mail, g.mail_nickname, g.visibility,
                g.group_types, g.membership_rule, g.mail_enabled, g.security_enabled, g.label_id,
                l.display_name AS label_name, g.extensions::text,
                t.group_id IS NOT NULL AS is_team
            FROM directory.extension_values v
            JOIN directory.groups g ON g.tenant_id = this_tenant AND g.id = v.group_id
            LEFT JOIN directory.labels l ON l.tenant_id = this_tenant AND l.id = g.label_id
            -- Not EXISTS: a plan from the time with few teams would read all teams.
            LEFT JOIN directory.teams t ON t.tenant_id = this_tenant AND t.group_id = g.id
            WHERE v.tenant_id = this_tenant AND v.name = w.name AND v.member = w.member AND v.value = w.value
                -- A single condition, so that the index starts there: with row-level security, OR would scan all rows before it.
                AND v.group_id > w.after
            ORDER BY v.group_id
            LIMIT w.most
        ) AS f
        WHERE w.tenant_id = this_tenant
        ORDER BY w.item, f.id;
    END LOOP;
END
$$;
