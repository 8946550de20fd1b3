-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: acquire
-- Acquire or renew the lease of a resource. Returns nothing while another worker has it.
INSERT INTO chamberlain.booking_lease AS l (tenant_id, resource_id, lease_id, lease_until)
VALUES ($1, $2, $3, now() + $4)
ON CONFLICT (tenant_id, resource_id) DO UPDATE SET lease_id = excluded.lease_id, lease_until = excluded.lease_until
WHERE l.lease_id = excluded.lease_id OR l.lease_until < now()
RETURNING l.lease_id

-- name: hold
-- Lock the lease of a resource until the end of the transaction. Returns nothing if it is lost.
SELECT lease_id FROM chamberlain.booking_lease
WHERE tenant_id = $1 AND resource_id = $2 AND lease_id = $3 AND lease_until > now() FOR UPDATE

-- name: give_back
-- Give the lease of a resource back.
DELETE FROM chamberlain.booking_lease WHERE tenant_id = $1 AND resource_id = $2 AND lease_id = $3

-- name: find
-- Find the answers of a resource about one appointment and its occurrences.
SELECT recurrence, sequence, stamp, method, organizer, state, answer, refusal, calendar, decided_at,
    updated_at
FROM chamberlain.booking_answer WHERE tenant_id = $1 AND resource_id = $2 AND uid = $3

-- name: claim
-- Begin the answers to a mail. A newer mail with the same sequence begins its answer again.
INSERT INTO chamberlain.booking_answer AS a (
    tenant_id, resource_id, uid, recurrence, sequence, stamp, method, organizer, state
)
SELECT $1, $2, $3, each.recurrence, each.sequence, each.stamp, $4, $5, 'claimed'
FROM unnest($6::text[], $7::integer[], $8::timestamptz[]) AS each (recurrence, sequence, stamp)
ON CONFLICT (tenant_id, resource_id, uid, recurrence, sequence) DO UPDATE SET
    stamp = excluded.stamp, method = excluded.method, state = 'claimed', answer = NULL, refusal = NULL,
    decided_at = NULL, updated_at = now()

-- name: decide
-- Save a decision. $6 is the answer, $7 the refusal, $8 the calendar with the booking.
UPDATE chamberlain.booking_answer SET state = 'decided', answer = $6, refusal = $7, calendar = $8, decided_at = $9,
    updated_at = now()
WHERE tenant_id = $1 AND resource_id = $2 AND uid = $3 AND state = 'claimed'
AND (recurrence, sequence) IN (SELECT * FROM unnest($4::text[], $5::integer[]))
RETURNING recurrence

-- name: move
-- Change the state of answers from one of $6 to $7 (compare and swap).
UPDATE chamberlain.booking_answer SET state = $7, updated_at = now()
WHERE tenant_id = $1 AND resource_id = $2 AND uid = $3 AND state = ANY ($6)
AND (recurrence, sequence) IN (SELECT * FROM unnest($4::text[], $5::integer[]))
RETURNING recurrence

-- name: add_mails
-- Add the mails of a resource that are not waiting yet, each with its job, in their order.
WITH added AS (
    INSERT INTO chamberlain.booking_mail (tenant_id, resource_id, uid) SELECT $1, $2, unnest($3::bigint[])
    ON CONFLICT (tenant_id, resource_id, uid) DO NOTHING
    RETURNING mail_id, uid
), queued AS (
    INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
    SELECT $1, 'bookingMail', mail_id, $4 FROM added ORDER BY uid
)
SELECT mail_id, uid FROM added ORDER BY uid

-- name: find_mail
-- Find a waiting mail.
SELECT resource_id, uid FROM chamberlain.booking_mail WHERE tenant_id = $1 AND mail_id = $2

-- name: remove_mail
-- Remove a mail that was handled.
DELETE FROM chamberlain.booking_mail WHERE tenant_id = $1 AND mail_id = $2

-- name: queue_missing_jobs
-- Queue the job of each tenant with an open suite that has none.
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT c.tenant_id, 'bookingAnswer', c.tenant_id, $1 FROM chamberlain.connection c
WHERE c.adapter = 'opensuite' AND c.address IS NOT NULL
ON CONFLICT (tenant_id) WHERE kind = 'bookingAnswer' DO NOTHING

-- name: remove_old
-- Remove answers that were not changed since $1.
WITH old AS MATERIALIZED (
    SELECT tenant_id, resource_id, uid, recurrence, sequence FROM chamberlain.booking_answer
    WHERE updated_at < $1 ORDER BY updated_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM chamberlain.booking_answer a USING old
    WHERE a.tenant_id = old.tenant_id AND a.resource_id = old.resource_id AND a.uid = old.uid
    AND a.recurrence = old.recurrence AND a.sequence = old.sequence
    RETURNING a.uid
)
SELECT count(*) AS removed FROM gone
