-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: select
-- Select templates with the content of their newest revision.
SELECT t.tenant_id, t.template_id, t.revision, t.kind, t.active,
    chamberlain.clean(r.content) ->> 'name' AS name, chamberlain.clean(r.content) AS content,
    t.created_at, t.created_by, greatest(t.updated_at, s.updated_at, w.disabled_at) AS updated_at,
    s.number AS secret_number, w.disabled_reason
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
LEFT JOIN chamberlain.webhook_secret s ON s.tenant_id = t.tenant_id AND s.template_id = t.template_id
LEFT JOIN chamberlain.webhook_state w ON w.tenant_id = t.tenant_id AND w.template_id = t.template_id

-- name: find
-- Read the current revision of a template of the transaction's tenant.
{select} WHERE t.tenant_id = $1 AND t.template_id = $2

-- name: places
-- Select a page of templates of these kinds. $1 tenant, $2 kinds, $3 and $4 the position (null at the beginning), $5
-- number of rows.
{select} WHERE t.tenant_id = $1 AND t.kind = ANY ($2)
    AND ($3::timestamptz IS NULL OR (t.created_at, t.template_id) < ($3, $4::uuid))

-- name: newest
-- Order of a page of templates.
ORDER BY t.created_at DESC, t.template_id DESC LIMIT $5

-- name: page
-- Read a page of the templates of these kinds, including inactive ones.
{places} {newest}

-- name: offered
-- Select the templates that a user may use. $6 the user (null for an application, which no audience restricts), $7 the
-- audience groups that the user is in. The content has ids in lower case.
{places} AND t.active AND (
    $6::text IS NULL
    OR chamberlain.clean(r.content) #> '{audience,users}' IS NULL
    OR (chamberlain.clean(r.content) #> '{audience,users}')::jsonb ? $6
    OR (chamberlain.clean(r.content) #> '{audience,groups}')::jsonb ?| $7::text[]
) {newest}

-- name: active
-- Select the active templates of these kinds, newest first. $5 is their number at most.
{places} AND t.active {newest}

-- name: audiences
-- Read the audience groups of all active templates of these kinds.
SELECT DISTINCT named.id::uuid AS id
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
CROSS JOIN LATERAL json_array_elements_text(chamberlain.clean(r.content) #> '{audience,groups}') AS named (id)
WHERE t.tenant_id = $1 AND t.kind = ANY ($2) AND t.active

-- name: find_webhook_secret
-- Keep, replace, create or delete the secret after its webhook was written.
SELECT sealed FROM chamberlain.webhook_secret WHERE tenant_id = $1 AND template_id = $2

-- name: put
-- Store a new secret, and keep the previous one for a while. `number` grows with every secret and is part of the
-- template's ETag. The previous secret also signs until $4; older ones are deleted.
INSERT INTO chamberlain.webhook_secret AS s (tenant_id, template_id, sealed) VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, template_id) DO UPDATE SET
    sealed = excluded.sealed, previous_secret = s.sealed, previous_until = $4, number = s.number + 1, updated_at = now()
RETURNING previous_until

-- name: make_first
-- Locks the template against deletion.
INSERT INTO chamberlain.webhook_secret (tenant_id, template_id, sealed)
SELECT t.tenant_id, t.template_id, $3 FROM chamberlain.template t WHERE t.tenant_id = $1 AND t.template_id = $2
FOR KEY SHARE
ON CONFLICT (tenant_id, template_id) DO NOTHING

-- name: signing
-- Read the secrets that sign the calls of each webhook now.
SELECT s.tenant_id, s.template_id, s.sealed,
    CASE WHEN s.previous_until > $3 THEN s.previous_secret END AS previous_secret
FROM unnest($1::uuid[], $2::uuid[]) AS w (tenant_id, template_id)
JOIN chamberlain.webhook_secret s USING (tenant_id, template_id)

-- name: sweep
-- Deletes secrets of all tenants that no longer sign. Skips locked rows to avoid deadlocks; the next run deletes them.
UPDATE chamberlain.webhook_secret SET previous_secret = NULL, previous_until = NULL
WHERE (tenant_id, template_id) = ANY (ARRAY(
    SELECT (tenant_id, template_id) FROM chamberlain.webhook_secret WHERE previous_until <= $1
    ORDER BY tenant_id, template_id LIMIT $2 FOR UPDATE SKIP LOCKED
)) RETURNING template_id

-- name: announce
-- Lock the table for writes of secrets. The lock of the INSERT, taken before encryption. It serializes with the
-- removal of a key, so the key in use stays.
LOCK TABLE chamberlain.webhook_secret IN ROW EXCLUSIVE MODE

-- name: delete
-- Delete the secret of a template without webhook.
DELETE FROM chamberlain.webhook_secret WHERE tenant_id = $1 AND template_id = $2

-- name: count
-- Count the stored secrets of each key. An encrypted value starts with the length of the key id and the key id
-- (keyring.py).
SELECT convert_from(substring(sealed FROM 2 FOR get_byte(sealed, 0)), 'UTF8') AS key_id, count(*) AS number FROM (
    SELECT s.sealed FROM chamberlain.webhook_secret s
    UNION ALL SELECT s.previous_secret FROM chamberlain.webhook_secret s WHERE s.previous_secret IS NOT NULL
) secrets (sealed) WHERE length(sealed) > 1 GROUP BY 1

-- name: take
-- Locks in key order to avoid deadlocks with a concurrent run. The locks keep new secrets from being overwritten.
SELECT tenant_id, template_id, sealed, previous_secret FROM chamberlain.webhook_secret
WHERE (tenant_id, template_id) > ($1, $2)
AND NOT (
    substring(sealed FOR length($3::bytea)) = $3
    AND (previous_secret IS NULL OR substring(previous_secret FOR length($3::bytea)) = $3)
)
ORDER BY tenant_id, template_id LIMIT $4 FOR UPDATE

-- name: put_resealed
-- Re-encrypt up to `most` rows after a cursor with the first key.
UPDATE chamberlain.webhook_secret s SET sealed = n.sealed, previous_secret = n.previous_secret
FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[]) AS n (tenant_id, template_id, sealed, previous_secret)
WHERE s.tenant_id = n.tenant_id AND s.template_id = n.template_id

-- name: hold
-- Lock the table against writes of secrets. It waits for running writes until the end of the transaction.
LOCK TABLE chamberlain.webhook_secret IN SHARE MODE

-- name: still_at
-- Lock the webhooks that are active and still have this URL. The lock serializes with changes of the template.
SELECT t.tenant_id, t.template_id FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS w (tenant_id, template_id, url)
JOIN chamberlain.template t ON t.tenant_id = w.tenant_id AND t.template_id = w.template_id
JOIN chamberlain.template_revision r
    ON r.tenant_id = t.tenant_id AND r.template_id = t.template_id AND r.revision = t.revision
WHERE chamberlain.clean(r.content) #>> '{webhook,url}' = w.url
    AND chamberlain.clean(r.content) #>> '{webhook,active}' = 'true'
ORDER BY t.tenant_id, t.template_id FOR SHARE OF t

-- name: fail
-- Keeps the time of the first failure. Locks the template against deletion.
INSERT INTO chamberlain.webhook_state AS s (tenant_id, template_id, failing_since)
SELECT t.tenant_id, t.template_id, $3 FROM chamberlain.template t
JOIN (SELECT DISTINCT tenant_id, template_id FROM unnest($1::uuid[], $2::uuid[]) AS w (tenant_id, template_id)) w
    USING (tenant_id, template_id)
ORDER BY t.tenant_id, t.template_id FOR KEY SHARE OF t
ON CONFLICT (tenant_id, template_id) DO UPDATE SET failing_since = coalesce(s.failing_since, excluded.failing_since)
RETURNING s.tenant_id, s.template_id, s.failing_since

-- name: recover
-- Record successful calls.
DELETE FROM chamberlain.webhook_state WHERE ctid = ANY (ARRAY(
    SELECT s.ctid FROM unnest($1::uuid[], $2::uuid[]) AS w (tenant_id, template_id)
    JOIN chamberlain.webhook_state s ON s.tenant_id = w.tenant_id AND s.template_id = w.template_id
    WHERE s.disabled_at IS NULL ORDER BY s.tenant_id, s.template_id FOR UPDATE OF s
))

-- name: disable
-- Disable a failing webhook.
WITH disabled AS (
    UPDATE chamberlain.webhook_state SET disabled_at = $3, disabled_reason = $4
    WHERE tenant_id = $1 AND template_id = $2 AND disabled_at IS NULL
    RETURNING tenant_id, template_id
)
SELECT chamberlain.clean(r.content) ->> 'name' AS name
FROM disabled JOIN chamberlain.template t USING (tenant_id, template_id)
JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)

-- name: enable
-- Enable a webhook and reset its failure state.
DELETE FROM chamberlain.webhook_state WHERE tenant_id = $1 AND template_id = $2
