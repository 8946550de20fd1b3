-- The groups of a tenant whose extension attribute has this value: the question that is asked most, by everybody who
-- waits for a group, so it is one call. The columns are those of graph/groups.py.

CREATE OR REPLACE FUNCTION directory.groups_by_value(
    this_tenant uuid, name text, member text, value text, after uuid, most integer
) RETURNS TABLE (
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
    lowered text := lower(value);
BEGIN
    PERFORM set_config('chamberlain.tenant_id', this_tenant::text, true);
    RETURN QUERY
    SELECT g.id, g.created_at, g.display_name, g.description, g.mail, g.mail_nickname, g.visibility, g.group_types,
        g.membership_rule, g.mail_enabled, g.security_enabled, g.label_id, l.display_name, g.extensions::text,
        EXISTS (SELECT FROM directory.teams t WHERE t.tenant_id = this_tenant AND t.group_id = g.id)
    FROM directory.extension_values v
    JOIN directory.groups g ON g.tenant_id = this_tenant AND g.id = v.group_id
    LEFT JOIN directory.labels l ON l.tenant_id = this_tenant AND l.id = g.label_id
    WHERE v.tenant_id = this_tenant AND v.name = groups_by_value.name AND v.member = groups_by_value.member
        AND v.value = lowered AND (after IS NULL OR v.group_id > after)
    ORDER BY v.group_id
    LIMIT most;
END
$$;
