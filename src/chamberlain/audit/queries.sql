-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: lock
-- Block the sealing. A seal must not restore the columns of lists (sql/seals.sql).
SELECT pg_advisory_xact_lock(hashtextextended('audit of ' || $1::uuid::text, 0))

-- name: forget_clocks
-- Remove the name of a user from the timers of guests. Members of a group are imported again.
WITH forgotten AS (
    UPDATE chamberlain.policy_clock SET
        guest_mail = NULL, guest_name = '', trouble = CASE WHEN trouble IS NOT NULL THEN '' END
    WHERE tenant_id = $1 AND guest_id = $2::uuid AND guest_name <> ''
    RETURNING guest_id
)
SELECT count(*) AS number FROM forgotten

-- name: remove_keys
-- Erase a user from the records of one tenant.
WITH removed AS (
    DELETE FROM chamberlain.idempotency_key WHERE tenant_id = $1 AND caller_id = $2::uuid RETURNING key
)
SELECT count(*) AS number FROM removed

-- name: queue
-- Queue the sealing job of each tenant without one. A tenant gets its job at the next look; a held one counts.
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT t.tenant_id, $1, t.tenant_id, $2 FROM chamberlain.tenant t
WHERE NOT EXISTS (SELECT FROM chamberlain.job j WHERE j.tenant_id = t.tenant_id AND j.kind = $1)

-- name: has_unsealed
-- A head behind its trail: rows that its last look did not show, or a trail that was moved to another server. `low` is
-- below every such row (sql/seals.sql).
(pg_snapshot_xmax(h.snapshot) > pg_snapshot_xmax(pg_current_snapshot()) OR EXISTS (
    SELECT FROM chamberlain.audit a
    WHERE a.tenant_id = h.tenant_id AND a.sequence > h.low AND NOT pg_visible_in_snapshot(a.written_in, h.snapshot)
))

-- name: wake
-- Make the sealing jobs of tenants with unsealed rows due, unless they run. The kind is part of the text, so that every
-- plan uses its index.
UPDATE chamberlain.job SET run_at = now()
WHERE kind = 'auditSeal' AND held_reason IS NULL AND lease_until IS NULL AND run_at > now() AND tenant_id = ANY (ARRAY(
    SELECT h.tenant_id FROM chamberlain.audit_head h WHERE {has_unsealed}
))

-- name: note_looks
-- Record a look at the trails of tenants without unsealed rows. Transactions that began an hour before it are over, so a
-- later row with such a time was not written by the service. `horizon` and `snapshot` stay those of the last seal.
UPDATE chamberlain.audit_head h SET looked_at = now()
WHERE h.looked_at > '-infinity' AND h.looked_at < now() - $1::interval AND h.target IS NULL AND NOT {has_unsealed}

-- name: may_sleep
-- Find a head that is logged, once no process of a version without the sweep is left.
SELECT FROM chamberlain.audit_head h WHERE h.tenant_id = $1 AND h.position <= h.logged_position
AND EXISTS (SELECT FROM migration.applied WHERE file_name = '0067_scheduled_jobs.post.sql')

-- name: is_there
-- Return whether the tenant exists.
SELECT FROM chamberlain.tenant WHERE tenant_id = $1

-- name: seal
-- Seal the next rows of a tenant.
SELECT chamberlain.seal_audit($1, $2) AS number

-- name: note_logged
-- Record that the head was logged, at most once in a period.
UPDATE chamberlain.audit_head SET logged_position = position, logged_at = $2
WHERE tenant_id = $1 AND position > logged_position AND logged_at <= $3
RETURNING position, digest

-- name: find_head
-- Find the stored head.
SELECT position, digest FROM chamberlain.audit_head WHERE tenant_id = $1

-- name: find_digest
-- Find the digest at a position of the chain.
SELECT digest FROM chamberlain.audit_seal WHERE tenant_id = $1 AND position = $2

-- name: erasure
-- The trace of the erasure that emptied a row. The payload contains exactly that; the record of an erasure is never
-- emptied.
CASE
        WHEN a.action <> 'user.erase'
            AND a.payload::text = json_build_object('erased', chamberlain.readable(a.payload) ->> 'erased')::text
        THEN chamberlain.readable(a.payload) ->> 'erased'
    END AS erasure

-- name: links
-- Read the next rows with their seals. Compares the columns of lists here; the caller validates the rest. OFFSET 0
-- fixes the join order.
SELECT s.position, s.sequence, s.previous, s.digest, s.payload_digest, s.is_suspect, a.sequence IS NOT NULL AS is_there,
    a.at, a.action, a.request_id, a.trace_id, sha256(convert_to(a.payload::text, 'UTF8')) AS payload_digest_now,
    {erasure}, chamberlain.readable(a.payload) IS NOT NULL AS is_readable,
    (s.at, s.action, s.actor_id, s.subject_id) IS NOT DISTINCT FROM (
        a.at, a.action, chamberlain.readable(a.payload) -> 'actor' ->> 'id',
        chamberlain.readable(a.payload) -> 'subject' ->> 'id'
    ) AS agrees
FROM (
    SELECT position, sequence, previous, digest, payload_digest, is_suspect, at, action, actor_id, subject_id
    FROM chamberlain.audit_seal WHERE tenant_id = $1 AND position > $2 ORDER BY position LIMIT $3
) s LEFT JOIN LATERAL (
    SELECT a.sequence, a.at, a.action, a.request_id, a.trace_id, a.payload FROM chamberlain.audit a
    WHERE a.tenant_id = $1 AND a.sequence = s.sequence OFFSET 0
) a ON true
ORDER BY s.position

-- name: window
-- Find the end of the next rows after a sequence.
SELECT max(sequence) AS last FROM (
    SELECT sequence FROM chamberlain.audit WHERE tenant_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3
) next

-- name: unsealed
-- List rows without a seal. One that existed at the last look should have one.
SELECT a.sequence, a.at, coalesce(
    pg_visible_in_snapshot(a.written_in, h.snapshot)
    OR chamberlain.is_suspect(a.written_in, a.written_by, a.sequence, a.at, h.horizon, h.newest, h.looked_at), false
) AS is_suspect, {erasure}
FROM chamberlain.audit a LEFT JOIN chamberlain.audit_head h USING (tenant_id)
WHERE a.tenant_id = $1 AND a.sequence > $2 AND a.sequence <= $3 AND (
    SELECT s.position FROM chamberlain.audit_seal s WHERE s.tenant_id = $1 AND s.sequence = a.sequence
) IS NULL
ORDER BY a.sequence

-- name: erasures
-- List the erasures on record, valid or not.
SELECT sequence, trace_id, chamberlain.readable(payload) -> 'after' ->> 'auditSequences' AS sequences
FROM chamberlain.audit WHERE tenant_id = $1 AND action = 'user.erase'

-- name: find_held
-- Return why the tenant's job of this kind is held, or None.
SELECT held_reason FROM chamberlain.job WHERE tenant_id = $1 AND kind = $2 AND held_reason IS NOT NULL

-- name: frozen
-- Read all of the trail in one snapshot.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: find_look
-- Read the snapshot of the last sealing. Rows of a tenant that was never sealed count as unsealed.
SELECT coalesce(max(low), 0) AS low, coalesce(max(snapshot::text), '3:3:') AS snapshot
FROM chamberlain.audit_head WHERE tenant_id = $1

-- name: find_window
-- Find the sequences of a page. $1 tenant, $2 the sequence to start after, $3 the last one, $4 number of rows.
SELECT max(sequence) AS last, count(*) AS number FROM (
    SELECT sequence FROM chamberlain.audit WHERE tenant_id = $1 AND sequence > $2 AND sequence <= $3
    ORDER BY sequence LIMIT $4
) next

-- name: find_last
-- Find the highest sequence.
SELECT max(sequence) AS last FROM chamberlain.audit WHERE tenant_id = $1

-- name: remove_substitutes
-- Remove the substitutions of a user, as approver and as substitute.
WITH gone AS (
    DELETE FROM chamberlain.substitute
    WHERE tenant_id = $1 AND (user_id = $2::text::uuid OR substitute_id = $2::text::uuid)
    RETURNING user_id
)
SELECT count(*) AS number FROM gone

-- name: remove_questions
-- Remove the questions to a user in a chat, with the id there.
WITH gone AS (
    DELETE FROM chamberlain.question WHERE tenant_id = $1 AND user_id = $2::text::uuid RETURNING user_id
)
SELECT count(*) AS number FROM gone

-- name: remove_uses
-- Remove the counts of permissions that a user used.
WITH gone AS (
    DELETE FROM chamberlain.permission_use WHERE tenant_id = $1 AND caller_type = 'user' AND caller_id = $2::text::uuid
    RETURNING day
)
SELECT count(*) AS number FROM gone
