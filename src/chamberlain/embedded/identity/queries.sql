-- SPDX-License-Identifier: Apache-2.0
-- name: issue_code
-- Issue a code for one use within a minute.
INSERT INTO identity.authorization_codes
    (tenant_id, digest, client_id, account_id, redirect_uri, scope, nonce, code_challenge, auth_time, ends_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)

-- name: remove_ended_codes
-- Remove some expired codes with each new one.
DELETE FROM identity.authorization_codes WHERE tenant_id = $1 AND digest = ANY (ARRAY(
    SELECT digest FROM identity.authorization_codes WHERE tenant_id = $1 AND ends_at <= $2
    ORDER BY ends_at LIMIT 100 FOR UPDATE SKIP LOCKED))

-- name: use_code
-- Compare-and-swap: of concurrent uses of one code, one succeeds.
UPDATE identity.authorization_codes SET used_at = $3, family_id = $4
WHERE tenant_id = $1 AND digest = $2 AND used_at IS NULL AND ends_at > $3
RETURNING client_id, account_id, redirect_uri, scope, nonce, code_challenge, auth_time

-- name: family
-- Find the token family that a used code began.
SELECT family_id FROM identity.authorization_codes WHERE tenant_id = $1 AND digest = $2

-- name: account_by_address
-- Return the account with this address, in either letter case.
SELECT id, address, display_name FROM identity.accounts WHERE tenant_id = $1 AND lower(address) = lower($2)

-- name: account_by_id
-- Return the account with this id.
SELECT id, address, display_name FROM identity.accounts WHERE tenant_id = $1 AND id = $2

-- name: waiting
-- Count the device codes of a tenant that wait for a decision, up to a limit.
SELECT count(*) FROM (
    SELECT 1 FROM identity.device_codes WHERE tenant_id = $1 AND ends_at > $2 AND state = 'pending' LIMIT $3
) AS waiting

-- name: issue_device_code
-- Insert a device code, unless its user code exists.
INSERT INTO identity.device_codes
    (tenant_id, digest, user_code_digest, client_id, scope, interval_seconds, ends_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (user_code_digest) DO NOTHING

-- name: remove_ended_device_codes
-- Remove some expired device codes with each new one.
DELETE FROM identity.device_codes WHERE tenant_id = $1 AND digest = ANY (ARRAY(
    SELECT digest FROM identity.device_codes WHERE tenant_id = $1 AND ends_at <= $2
    ORDER BY ends_at LIMIT 100 FOR UPDATE SKIP LOCKED))

-- name: tenant_of_device_code
-- Find the tenant of an entered user code.
SELECT identity.tenant_of_device_code($1)

-- name: pending
-- Find the client and scope of a device code that waits for a decision.
SELECT client.id, client.name, code.scope
FROM identity.device_codes AS code
JOIN identity.clients AS client ON client.tenant_id = code.tenant_id AND client.id = code.client_id
WHERE code.tenant_id = $1 AND code.user_code_digest = $2 AND code.state = 'pending' AND code.ends_at > $3

-- name: allow
-- Let the device act for the user, who signed in at `auth_time`.
UPDATE identity.device_codes SET state = 'allowed', account_id = $4, auth_time = $5
WHERE tenant_id = $1 AND user_code_digest = $2 AND state = 'pending' AND ends_at > $3

-- name: deny
-- Deny the device.
UPDATE identity.device_codes SET state = 'denied'
WHERE tenant_id = $1 AND user_code_digest = $2 AND state = 'pending' AND ends_at > $3

-- name: use_device_code
-- Compare-and-swap: of concurrent polls, one gets the tokens.
UPDATE identity.device_codes SET state = 'used'
WHERE tenant_id = $1 AND digest = $2 AND client_id = $3 AND state = 'allowed' AND ends_at > $4
RETURNING account_id, scope, auth_time

-- name: read_device_code
-- Read and lock the state of a device code.
SELECT state, interval_seconds, polled_at, ends_at FROM identity.device_codes
WHERE tenant_id = $1 AND digest = $2 AND client_id = $3
FOR UPDATE

-- name: polled
-- Record a poll and the interval until the next one.
UPDATE identity.device_codes SET polled_at = $3, interval_seconds = $4 WHERE tenant_id = $1 AND digest = $2

-- name: account
-- Create or update accounts and clients.
INSERT INTO identity.accounts (tenant_id, id, address, display_name) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, id) DO UPDATE SET address = excluded.address, display_name = excluded.display_name

-- name: client
-- Insert or replace a client.
INSERT INTO identity.clients AS stored (tenant_id, id, name, kind, secret_hash, redirect_uris)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, id) DO UPDATE
SET name = excluded.name, kind = excluded.kind, secret_hash = coalesce(excluded.secret_hash, stored.secret_hash),
    redirect_uris = excluded.redirect_uris

-- name: remove_permissions
-- Remove the permissions of a client.
DELETE FROM identity.permissions WHERE tenant_id = $1 AND client_id = $2

-- name: permission
-- Insert a permission of a client.
INSERT INTO identity.permissions (tenant_id, client_id, kind, resource, name) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING

-- name: hash
-- Read the hash of the secret of a client.
SELECT secret_hash FROM identity.clients WHERE tenant_id = $1 AND id = $2

-- name: set_hash
-- Store the hash of the secret of a client.
UPDATE identity.clients SET secret_hash = $3 WHERE tenant_id = $1 AND id = $2

-- name: set
-- Set the passwords of accounts, by address.
UPDATE identity.accounts SET password_hash = $3 WHERE tenant_id = $1 AND id = $2

-- name: lacks
-- Return the stored accounts without a password, which cannot sign in.
SELECT password_hash IS NULL FROM identity.accounts WHERE tenant_id = $1 AND id = $2

-- name: begin
-- Insert the first refresh token of a family.
INSERT INTO identity.refresh_tokens
    (tenant_id, family_id, client_id, account_id, scope, auth_time, digests, created_at, ends_at)
VALUES ($1, $2, $3, $4, $5, $6, ARRAY[$7::bytea], $8, $9)

-- name: rotate
-- Compare-and-swap: of concurrent uses of one token, one succeeds.
UPDATE identity.refresh_tokens
SET digests = ARRAY[$5::bytea], used_digest = $4, used_at = $6, ends_at = least($7, created_at + $8::interval)
WHERE tenant_id = $1 AND family_id = $2 AND client_id = $3 AND $4 = ANY (digests) AND ends_at > $6
RETURNING account_id, scope, auth_time

-- name: repeat
-- Store the digest of the next token of a family.
UPDATE identity.refresh_tokens SET digests = digests || $5::bytea
WHERE tenant_id = $1 AND family_id = $2 AND client_id = $3 AND used_digest = $4 AND ends_at > $6
    AND used_at > $7 AND cardinality(digests) < $8
RETURNING account_id, scope, auth_time

-- name: revoke_of_client
-- Delete the token family of a client.
DELETE FROM identity.refresh_tokens WHERE tenant_id = $1 AND family_id = $2 AND client_id = $3

-- name: revoke
-- Revoke all tokens of a family, if there is one.
DELETE FROM identity.refresh_tokens WHERE tenant_id = $1 AND family_id = $2

-- name: remove_ended_refresh_tokens
-- Remove some expired token families at each sign-in.
DELETE FROM identity.refresh_tokens WHERE tenant_id = $1 AND family_id = ANY (ARRAY(
    SELECT family_id FROM identity.refresh_tokens WHERE tenant_id = $1 AND ends_at <= $2
    ORDER BY ends_at LIMIT 100 FOR UPDATE SKIP LOCKED))

-- name: insert_session
-- Replace the session by a new one.
INSERT INTO identity.sessions (digest, tenant_id, account_id, created_at, used_at, ends_at)
VALUES ($1, $2, $3, $4, $4, $5)

-- name: tenant_of_session
-- Find the tenant of a session.
SELECT identity.tenant_of_session($1)

-- name: find
-- Find the unexpired session of a cookie, and record its use.
SELECT account.id, account.address, account.display_name, session.created_at, session.used_at
FROM identity.sessions AS session
JOIN identity.accounts AS account ON account.tenant_id = session.tenant_id AND account.id = session.account_id
WHERE session.tenant_id = $1 AND session.digest = $2 AND session.ends_at > $3 AND session.used_at > $4

-- name: use_session
-- Record the use of a session.
UPDATE identity.sessions SET used_at = $3 WHERE tenant_id = $1 AND digest = $2 AND used_at < $3

-- name: delete_session
-- Delete the session of the cookie, if there is one.
DELETE FROM identity.sessions WHERE tenant_id = $1 AND digest = $2

-- name: remove_ended_sessions
-- Remove some expired sessions with each new one.
DELETE FROM identity.sessions WHERE tenant_id = $1 AND digest IN (
    SELECT digest FROM identity.sessions WHERE tenant_id = $1 AND ends_at < $2 ORDER BY ends_at LIMIT 100
    FOR UPDATE SKIP LOCKED
)

-- name: by_address
-- Return the account with this address and password.
SELECT id, address, display_name, password_hash FROM identity.accounts
WHERE tenant_id = $1 AND lower(address) = $2

-- name: read_signing_keys
-- Read all signing keys, oldest first.
SELECT id, sealed, signs_from FROM identity.signing_keys ORDER BY signs_from, id

-- name: insert_signing_key
-- Insert a signing key.
INSERT INTO identity.signing_keys (id, sealed, signs_from) VALUES ($1, $2, $3)

-- name: delete_signing_key
-- Delete expired signing keys.
DELETE FROM identity.signing_keys WHERE id = ANY($1::text[])

-- name: count_by_sealing_key
-- Sealed data starts with the length of the encryption key's id, followed by the id.
SELECT convert_from(substring(sealed FROM 2 FOR get_byte(sealed, 0)), 'UTF8') AS key_id, count(*) AS number
FROM identity.signing_keys WHERE length(sealed) > 1 GROUP BY 1 ORDER BY 1

-- name: lock_all
-- Lock and read all signing keys.
SELECT id, sealed FROM identity.signing_keys ORDER BY id FOR UPDATE

-- name: reseal
-- Store a signing key that is encrypted with the current key.
UPDATE identity.signing_keys SET sealed = $2 WHERE id = $1

-- name: lock
-- Lock the counter of an address or subject, and create it if necessary.
INSERT INTO identity.sign_in_attempts AS known (kind, subject, failures, first_at, ends_at) VALUES ($1, $2, 0, $3, $3)
ON CONFLICT (kind, subject) DO UPDATE SET failures = known.failures
RETURNING failures, first_at, blocked_until

-- name: update
-- Store the failures of an address or a subject.
UPDATE identity.sign_in_attempts SET failures = $3, first_at = $4, blocked_until = $5, ends_at = $6
WHERE kind = $1 AND subject = $2

-- name: delete_attempts
-- Reset the account's counter after a success.
DELETE FROM identity.sign_in_attempts WHERE kind = $1 AND subject = $2

-- name: remove_expired
-- Remove some expired counters of failed sign-ins. Each attempt removes some expired rows. It is last in its
-- transaction and skips locked rows, so it cannot deadlock.
DELETE FROM identity.sign_in_attempts WHERE (kind, subject) IN (
    SELECT kind, subject FROM identity.sign_in_attempts WHERE ends_at < $1 ORDER BY ends_at LIMIT 100
    FOR UPDATE SKIP LOCKED
)

-- name: is_stored
-- Return whether any tenant has a client.
SELECT EXISTS (SELECT FROM identity.clients WHERE id = $1)

-- name: has_clients
-- Return whether a tenant has clients.
SELECT EXISTS (SELECT FROM identity.clients WHERE tenant_id = $1)
