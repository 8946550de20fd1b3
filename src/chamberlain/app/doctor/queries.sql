-- SPDX-License-Identifier: Apache-2.0
-- name: server
-- Read the state of the server: version, time, connections and settings. Others' sessions show no more than the
-- database that they are in; the server's own processes are in none.
SELECT current_setting('server_version_num')::integer AS version, clock_timestamp() AS now,
    (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL)::integer AS used,
    current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
    - coalesce(current_setting('reserved_connections', true), '0')::integer AS most

-- name: role
-- Read the rights of the current role.
SELECT r.rolname AS name, r.rolsuper AS is_superuser, r.rolbypassrls AS passes_row_security,
    ARRAY(
        SELECT o.rolname FROM pg_roles o
        WHERE o.rolname = ANY ($1) AND pg_has_role(r.oid, o.oid, 'USAGE') ORDER BY o.rolname
    )::text[] AS acts_as,
    EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('chamberlain', 'directory', 'identity') AND pg_has_role(r.oid, c.relowner, 'USAGE')
    ) AS owns_tables,
    EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'chamberlain' AND c.relname = 'audit'
        AND (has_table_privilege(r.oid, c.oid, 'DELETE') OR has_any_column_privilege(r.oid, c.oid, 'UPDATE'))
    ) AS changes_audit
FROM pg_roles r WHERE r.rolname = current_user

-- name: open_tables
-- Deleted tenants have no tenant any more, and only workers may read their table.
SELECT n.nspname || '.' || c.relname AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
WHERE n.nspname IN ('chamberlain', 'directory', 'identity') AND c.relkind IN ('r', 'p') AND NOT c.relrowsecurity
AND has_table_privilege($1, c.oid, 'SELECT')
ORDER BY 1

-- name: sealing_keys
-- List the ids of the keys that encrypt stored secrets. An encrypted secret starts with the length of the key id and
-- the key id (keyring.py).
SELECT DISTINCT convert_from(substring(sealed FROM 2 FOR get_byte(sealed, 0)), 'UTF8') AS key_id FROM (
    SELECT s.sealed FROM chamberlain.webhook_secret s
    UNION ALL SELECT s.previous_secret FROM chamberlain.webhook_secret s WHERE s.previous_secret IS NOT NULL
    UNION ALL SELECT c.sealed FROM chamberlain.connection c WHERE c.sealed IS NOT NULL
    UNION ALL SELECT s.sealed FROM chamberlain.console_session s
) secrets (sealed) WHERE length(sealed) > 1 ORDER BY 1

-- name: overlaps
-- Return the ends of all periods in which webhooks have two secrets.
SELECT previous_until FROM chamberlain.webhook_secret WHERE previous_until IS NOT NULL ORDER BY 1

-- name: webhooks
-- List all webhooks of all tenants.
SELECT t.tenant_id, t.template_id, chamberlain.clean(r.content) ->> 'name' AS name,
    chamberlain.clean(r.content) #>> '{webhook,url}' AS url,
    chamberlain.clean(r.content) #>> '{webhook,active}' = 'true' AS active,
    s.failing_since, s.disabled_at, s.disabled_reason
FROM chamberlain.template t
JOIN chamberlain.template_revision r
    ON r.tenant_id = t.tenant_id AND r.template_id = t.template_id AND r.revision = t.revision
LEFT JOIN chamberlain.webhook_state s ON s.tenant_id = t.tenant_id AND s.template_id = t.template_id
WHERE chamberlain.clean(r.content) #>> '{webhook,url}' IS NOT NULL ORDER BY t.tenant_id, name, t.template_id

-- name: bad_texts
-- Find stored texts with control characters. The service writes an escape for control characters only, and those
-- beyond ASCII as they are.
SELECT 'template' AS noun, t.tenant_id, t.template_id AS id FROM chamberlain.template t
JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE strpos(r.content::text, '\u') > 0 OR r.content::text ~ '[\x7f-\x9f]'
UNION ALL
SELECT 'policy', p.tenant_id, p.policy_id FROM chamberlain.policy p
WHERE strpos(p.content::text, '\u') > 0 OR p.content::text ~ '[\x7f-\x9f]'
ORDER BY 2, 1, 3
