-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another fragment of this file.

-- name: has_something_to_do
-- A user of tenant `t` has to decide, or a question is open.
(
    EXISTS (SELECT FROM chamberlain.request_approver a WHERE a.tenant_id = t.tenant_id)
    OR EXISTS (SELECT FROM chamberlain.question q WHERE q.tenant_id = t.tenant_id AND q.state = 'asked')
)

-- name: has_work
-- Return a row if a tenant has something to do.
SELECT FROM (VALUES ($1::uuid)) AS t (tenant_id) WHERE {has_something_to_do}

-- name: find_pending
-- Find users who have to decide on a request that has changed since it was read for them, at most $2. It may have
-- another level, which the job knows.
SELECT a.request_id, a.user_id, array(
    SELECT q.level FROM chamberlain.question q
    WHERE q.tenant_id = a.tenant_id AND q.request_id = a.request_id AND q.user_id = a.user_id
) AS levels
FROM chamberlain.request_approver a
JOIN chamberlain.request r ON r.tenant_id = a.tenant_id AND r.request_id = a.request_id
WHERE a.tenant_id = $1 AND NOT EXISTS (
    SELECT FROM chamberlain.question q
    WHERE q.tenant_id = a.tenant_id AND q.request_id = a.request_id AND q.user_id = a.user_id
    AND q.seen = r.updated_at
)
ORDER BY a.created_at LIMIT $2

-- name: see
-- Note the last change of a request that was read.
UPDATE chamberlain.question SET seen = $4 WHERE tenant_id = $1 AND request_id = $2 AND user_id = $3

-- name: find_open
-- Find the open questions of a tenant.
SELECT request_id, level, user_id, address, room, event, asked_at FROM chamberlain.question
WHERE tenant_id = $1 AND state = 'asked' ORDER BY asked_at

-- name: add
-- Add a question, unless it exists.
INSERT INTO chamberlain.question (tenant_id, request_id, level, user_id, state, address, room, event, asked_at, seen)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT DO NOTHING

-- name: close
-- Close a question.
UPDATE chamberlain.question SET state = 'closed'
WHERE tenant_id = $1 AND request_id = $2 AND level = $3 AND user_id = $4

-- name: close_settled
-- Close the open questions of users who have not to decide any more, and return them.
UPDATE chamberlain.question q SET state = 'closed'
WHERE q.tenant_id = $1 AND q.state = 'asked' AND NOT EXISTS (
    SELECT FROM chamberlain.request_approver a
    WHERE a.tenant_id = q.tenant_id AND a.request_id = q.request_id AND a.user_id = q.user_id
)
RETURNING q.request_id, q.level, q.user_id, q.address, q.room, q.event, q.asked_at

-- name: find_position
-- Read the position in the chat.
SELECT position FROM chamberlain.conversation_position WHERE tenant_id = $1

-- name: save_position
-- Save the position in the chat.
INSERT INTO chamberlain.conversation_position AS p (tenant_id, position) VALUES ($1, $2)
ON CONFLICT (tenant_id) DO UPDATE SET position = excluded.position

-- name: queue_missing_jobs
-- Queue the job of each tenant with an open suite that has something to do and no job.
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT t.tenant_id, 'conversationRun', t.tenant_id, $1 FROM chamberlain.connection t
WHERE t.adapter = 'opensuite' AND t.address IS NOT NULL AND {has_something_to_do}
ON CONFLICT (tenant_id) WHERE kind = 'conversationRun' DO NOTHING

-- name: remove_old
-- Remove questions that were asked before $1.
WITH old AS MATERIALIZED (
    SELECT tenant_id, request_id, user_id, level FROM chamberlain.question
    WHERE asked_at < $1 ORDER BY asked_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM chamberlain.question q USING old
    WHERE q.tenant_id = old.tenant_id AND q.request_id = old.request_id AND q.user_id = old.user_id
    AND q.level = old.level
    RETURNING q.level
)
SELECT count(*) AS removed FROM gone
