-- SPDX-License-Identifier: Apache-2.0
-- name: find
-- Read the current revision of a template of the transaction's tenant.
SELECT t.tenant_id, t.template_id, t.revision, t.kind, t.active,
    chamberlain.clean(r.content) ->> 'name' AS name, chamberlain.clean(r.content) AS content
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE t.tenant_id = $1 AND t.template_id = $2

-- name: find_of
-- Read all templates of these tenants, oldest first, as the worker's role.
SELECT t.tenant_id, t.template_id, t.revision, t.kind, t.active,
    chamberlain.clean(r.content) ->> 'name' AS name, chamberlain.clean(r.content) AS content
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE t.tenant_id = ANY ($1) ORDER BY t.tenant_id, t.created_at, t.template_id

-- name: find_default
-- Read the active default template of a mailbox kind, if there is one.
SELECT t.tenant_id, t.template_id, t.revision, t.kind, t.active,
    chamberlain.clean(r.content) ->> 'name' AS name, chamberlain.clean(r.content) AS content
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE t.tenant_id = $1 AND t.kind = $2 AND t.is_default

-- name: find_revision
-- Find the revision of a template that a request has. The template may be deleted or inactive now.
SELECT r.tenant_id, r.template_id, r.revision, chamberlain.clean(r.content) ->> 'kind' AS kind, true AS active,
    chamberlain.clean(r.content) ->> 'name' AS name, chamberlain.clean(r.content) AS content
FROM chamberlain.template_revision r
WHERE r.tenant_id = $1 AND r.template_id = $2 AND r.revision = $3

-- name: find_naming
-- Find a template that names this guest template ($3) or guest policy ($4).
SELECT t.tenant_id, t.template_id, t.revision, t.kind, t.active,
    chamberlain.clean(r.content) ->> 'name' AS name, chamberlain.clean(r.content) AS content
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE t.tenant_id = $1 AND t.kind = ANY ($2)
    AND (chamberlain.clean(r.content) ->> 'guestTemplateId' = $3
        OR chamberlain.clean(r.content) ->> 'guestPolicyId' = $4)
ORDER BY t.created_at, t.template_id LIMIT 1

-- name: lock
-- Serialize the writes of templates of a tenant. Templates that were read do not change until the commit.
SELECT pg_advisory_xact_lock(hashtextextended('chamberlain.template ' || $1::uuid::text, 0))

-- name: put
-- Create a template, or a new revision of it. A deleted template leaves its revisions. A new one with the same id
-- continues their numbers.
WITH current AS (
    INSERT INTO chamberlain.template AS t (tenant_id, template_id, revision, kind, active, is_default, created_by)
    SELECT $1, $2, 1 + coalesce(max(r.revision), 0), $3, $4, $7, $5
    FROM chamberlain.template_revision r WHERE r.tenant_id = $1 AND r.template_id = $2
    ON CONFLICT (tenant_id, template_id) DO UPDATE SET
        revision = t.revision + 1, active = excluded.active, is_default = excluded.is_default, updated_at = now()
    WHERE t.kind = excluded.kind AND NOT EXISTS (
        SELECT FROM chamberlain.template_revision r
        WHERE r.tenant_id = t.tenant_id AND r.template_id = t.template_id AND r.revision = t.revision
        AND r.content::text = $6::text
    )
    RETURNING revision
)
INSERT INTO chamberlain.template_revision (tenant_id, template_id, revision, content)
SELECT $1, $2, revision, $6::text::json FROM current
RETURNING revision

-- name: delete
-- Delete a template.
DELETE FROM chamberlain.template WHERE tenant_id = $1 AND template_id = $2
