-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: columns
-- Columns of a connection, without its secret.
tenant_id, connection_id, adapter, address, sealed IS NOT NULL AS has_secret, credential_file, state, reason_code,
reason_detail, abilities, limits::text AS limits, checked_at, revision, created_at, updated_at

-- name: find
-- Find the connection of a tenant.
SELECT {columns} FROM chamberlain.connection WHERE tenant_id = $1

-- name: find_of
-- Find the connections of tenants.
SELECT {columns} FROM chamberlain.connection WHERE tenant_id = ANY ($1)

-- name: lock
-- Find and lock the connection of a tenant.
SELECT {columns} FROM chamberlain.connection WHERE tenant_id = $1 FOR UPDATE

-- name: find_target
-- Find the connection of a tenant with its encrypted secret.
SELECT {columns}, sealed FROM chamberlain.connection WHERE tenant_id = $1

-- name: find_targets
-- Find all connections with their encrypted secrets, by tenant; in the worker's role.
SELECT {columns}, sealed FROM chamberlain.connection ORDER BY tenant_id

-- name: find_state
-- Find the state of the connection of a tenant.
SELECT state, reason_code, reason_detail FROM chamberlain.connection WHERE tenant_id = $1

-- name: insert
-- Add a connection. Returns nothing if the tenant has one.
INSERT INTO chamberlain.connection (tenant_id, connection_id, adapter, address, sealed, credential_file)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id) DO NOTHING RETURNING connection_id

-- name: change
-- Change a connection. A broken one stays broken until a check passes; any other one is new.
UPDATE chamberlain.connection SET adapter = $3, address = $4, sealed = $5, credential_file = $6,
    state = CASE WHEN state = 'broken' THEN state ELSE 'new' END,
    check_at = CASE WHEN state = 'broken' THEN now() END, checks = 0, revision = revision + 1, updated_at = now()
WHERE tenant_id = $1 AND connection_id = $2

-- name: delete
-- Delete a connection.
DELETE FROM chamberlain.connection WHERE tenant_id = $1 AND connection_id = $2

-- name: break
-- Set a connection of this revision broken, unless it is broken already.
UPDATE chamberlain.connection SET state = 'broken', reason_code = $4, reason_detail = $5, checks = 0,
    check_at = now() + $6::interval, checked_at = now(), updated_at = now()
WHERE tenant_id = $1 AND connection_id = $2 AND revision = $3 AND state <> 'broken'
RETURNING connection_id

-- name: still_broken
-- Record a failed check of a broken connection of this revision. The pause before the next check doubles, up to $7.
UPDATE chamberlain.connection SET reason_code = $4, reason_detail = $5, checked_at = now(), checks = least(checks + 1, 20),
    check_at = now() + least($6::interval * power(2, least(checks + 1, 20)), $7::interval)
WHERE tenant_id = $1 AND connection_id = $2 AND revision = $3 AND state = 'broken'
RETURNING connection_id

-- name: postpone
-- Postpone the next check of a broken connection whose directory did not answer. The pause doubles, up to $5.
UPDATE chamberlain.connection SET checks = least(checks + 1, 20),
    check_at = now() + least($4::interval * power(2, least(checks + 1, 20)), $5::interval)
WHERE tenant_id = $1 AND connection_id = $2 AND revision = $3 AND state = 'broken'

-- name: ready
-- Set a connection of this revision ready. Returns its state before.
WITH before AS (
    SELECT tenant_id, state FROM chamberlain.connection
    WHERE tenant_id = $1 AND connection_id = $2 AND revision = $3 FOR UPDATE
)
UPDATE chamberlain.connection c SET state = 'ready', reason_code = NULL, reason_detail = NULL, abilities = $4,
    limits = $5::text::jsonb, checked_at = now(), check_at = NULL, checks = 0,
    updated_at = CASE WHEN c.state = 'ready' THEN c.updated_at ELSE now() END
FROM before WHERE c.tenant_id = before.tenant_id
RETURNING before.state

-- name: due
-- Find broken connections whose next check is due, the oldest first; in the worker's role.
SELECT {columns}, sealed FROM chamberlain.connection
WHERE state = 'broken' AND check_at <= now() ORDER BY check_at LIMIT $1

-- name: is_upgraded
-- Find a migration that runs once no older process is left.
SELECT FROM migration.applied WHERE file_name = $1

-- name: manages
-- Return whether a tenant has a managed object, or a request that makes one.
SELECT EXISTS (
    SELECT FROM chamberlain.mailbox m
    LEFT JOIN chamberlain.request r ON r.tenant_id = m.tenant_id AND r.request_id = m.request_id
    WHERE m.tenant_id = $1 AND coalesce(r.state, 'succeeded') NOT IN ('rejected', 'cancelled', 'expired')
) OR EXISTS (
    SELECT FROM chamberlain.request r
    WHERE r.tenant_id = $1 AND r.state NOT IN ('rejected', 'cancelled', 'expired', 'failed')
    AND (r.kind IN ('group', 'team') OR r.state <> 'succeeded')
) OR EXISTS (
    SELECT FROM chamberlain.subject s WHERE s.tenant_id = $1 AND (s.request_id IS NOT NULL OR s.is_assigned)
) AS manages

-- name: notify
-- Notify all processes of a changed connection. Configuration files are applied without a notifier.
SELECT pg_notify($1, '')

-- name: figures
-- Count connections by adapter and state, with the age of the oldest last check; in the worker's role.
SELECT adapter, state, count(*) AS number, extract(epoch FROM now() - min(checked_at))::float8 AS oldest_check
FROM chamberlain.connection GROUP BY adapter, state ORDER BY adapter, state

-- name: announce
-- Lock the table for writes of secrets. The lock of the INSERT, taken before encryption. It serializes with the
-- removal of a key, so the key in use stays.
LOCK TABLE chamberlain.connection IN ROW EXCLUSIVE MODE

-- name: hold
-- Lock the table against writes of secrets. It waits for running writes until the end of the transaction.
LOCK TABLE chamberlain.connection IN SHARE MODE

-- name: count
-- Count the stored secrets of each key. An encrypted value starts with the length of the key id and the key id
-- (keyring.py).
SELECT convert_from(substring(sealed FROM 2 FOR get_byte(sealed, 0)), 'UTF8') AS key_id, count(*) AS number
FROM chamberlain.connection WHERE length(sealed) > 1 GROUP BY 1

-- name: take
-- Locks in key order to avoid deadlocks with a concurrent run. The locks keep new secrets from being overwritten.
SELECT tenant_id, connection_id, sealed FROM chamberlain.connection
WHERE tenant_id > $1 AND sealed IS NOT NULL AND substring(sealed FOR length($2::bytea)) <> $2
ORDER BY tenant_id LIMIT $3 FOR UPDATE

-- name: put_resealed
-- Store secrets that were encrypted again.
UPDATE chamberlain.connection c SET sealed = n.sealed
FROM unnest($1::uuid[], $2::bytea[]) AS n (tenant_id, sealed) WHERE c.tenant_id = n.tenant_id
