-- SPDX-License-Identifier: Apache-2.0
-- name: claim
-- Claim an idempotency key for a call. A second call waits here until the row of the first is committed or rolled
-- back.
INSERT INTO chamberlain.idempotency_key (tenant_id, client_id, caller_id, key, digest) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING RETURNING key

-- name: find
-- Return the stored response of a key.
SELECT digest, answer FROM chamberlain.idempotency_key
WHERE tenant_id = $1 AND client_id = $2 AND caller_id = $3 AND key = $4

-- name: keep
-- Store the response under the key.
UPDATE chamberlain.idempotency_key SET answer = $5
WHERE tenant_id = $1 AND client_id = $2 AND caller_id = $3 AND key = $4

-- name: sweep
-- Remove the oldest keys of all tenants, with the worker's role, and return their number.
DELETE FROM chamberlain.idempotency_key WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM chamberlain.idempotency_key
    WHERE created_at < $1 AND NOT chamberlain.is_of_clock_fault(created_at, $1)
    ORDER BY created_at LIMIT $2
)) RETURNING key
