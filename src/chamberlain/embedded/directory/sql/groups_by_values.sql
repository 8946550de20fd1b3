-- Groups whose extension attribute has a value: the question that is asked most, by everybody who waits for a group. So
-- it is one call for all that are asked at the same time, and one statement for those of one tenant. `item` is the place
-- of the question in the arrays, and each is answered in the order of ids. The other columns are those of
-- graph/groups.py.

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
    -- In lower case beforehand: lower() beside the index would keep row-level security from using the index.
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
            -- With EXISTS all teams are read where the plan was made while there were few.
            LEFT JOIN directory.teams t ON t.tenant_id = this_tenant AND t.group_id = g.id
            WHERE v.tenant_id = this_tenant AND v.name = w.name AND v.member = w.member AND v.value = w.value
                -- Alone, so that the index begins there: behind row-level security a condition with OR would pass by all before it.
                AND v.group_id > w.after
            ORDER BY v.group_id
            LIMIT w.most
        ) AS f
        WHERE w.tenant_id = this_tenant
        ORDER BY w.item, f.id;
    END LOOP;
END
$$;
