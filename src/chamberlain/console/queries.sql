-- SPDX-License-Identifier: Apache-2.0
-- name: find
-- Find the session of a secret that has not ended, before its tenant is known.
SELECT tenant_id, user_id, sealed, used_at FROM chamberlain.find_console_session($1, $2, $3)

-- name: use
-- Find the session, and record its use.
SELECT tenant_id, user_id, sealed FROM chamberlain.use_console_session($1, $2, $3, $4)

-- name: tenants_of_domain
-- Find the tenants with a mail domain.
SELECT tenant_id FROM chamberlain.tenants_of_domain($1) AS tenant_id

-- name: announce
-- Lock the table for writes of tokens. The lock of the INSERT, taken before encryption. It serializes with the removal
-- of a key, so the key in use stays.
LOCK TABLE chamberlain.console_session IN ROW EXCLUSIVE MODE

-- name: insert
-- Add a session.
INSERT INTO chamberlain.console_session (digest, tenant_id, user_id, browser, sealed, created_at, used_at, ends_at)
VALUES ($1, $2, $3, $4, $5, $6, $6, $7)

-- name: lock
-- Find and lock the tokens of a session. A second refresh waits here, and finds the new tokens.
SELECT sealed FROM chamberlain.console_session WHERE tenant_id = $1 AND digest = $2 FOR UPDATE

-- name: put_tokens
-- Replace the tokens of a session.
UPDATE chamberlain.console_session SET sealed = $3 WHERE tenant_id = $1 AND digest = $2

-- name: delete
-- Delete a session of a user.
DELETE FROM chamberlain.console_session WHERE tenant_id = $1 AND user_id = $2 AND digest = $3

-- name: delete_all
-- Delete all sessions of a user.
DELETE FROM chamberlain.console_session WHERE tenant_id = $1 AND user_id = $2

-- name: list
-- List the sessions of a user that have not ended, the last used first.
SELECT digest, browser, created_at, used_at FROM chamberlain.console_session
WHERE tenant_id = $1 AND user_id = $2 AND ends_at > $3 AND used_at > $4 ORDER BY used_at DESC, digest LIMIT 100

-- name: remove_ended
-- Remove sessions that were not used since this time. A session that ends by its age ends by disuse an hour later.
WITH old AS MATERIALIZED (
    SELECT digest FROM chamberlain.console_session WHERE used_at < $1 ORDER BY used_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM chamberlain.console_session s USING old WHERE s.digest = old.digest RETURNING s.digest
)
SELECT count(*) AS removed FROM gone

-- name: hold
-- Lock the table against writes of tokens. It waits for running writes until the end of the transaction.
LOCK TABLE chamberlain.console_session IN SHARE MODE

-- name: count
-- Count the sessions of each key. An encrypted value starts with the length of the key id and the key id (keyring.py).
SELECT convert_from(substring(sealed FROM 2 FOR get_byte(sealed, 0)), 'UTF8') AS key_id, count(*) AS number
FROM chamberlain.console_session WHERE length(sealed) > 1 GROUP BY 1

-- name: take
-- Locks in key order to avoid deadlocks with a concurrent run. The locks keep new tokens from being overwritten.
SELECT digest, sealed FROM chamberlain.console_session
WHERE digest > $1 AND substring(sealed FOR length($2::bytea)) <> $2 ORDER BY digest LIMIT $3 FOR UPDATE

-- name: put_resealed
-- Store tokens that were encrypted again.
UPDATE chamberlain.console_session s SET sealed = n.sealed
FROM unnest($1::bytea[], $2::bytea[]) AS n (digest, sealed) WHERE s.digest = n.digest
