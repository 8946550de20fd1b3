-- SPDX-License-Identifier: Apache-2.0
-- name: find_of_user
-- Find the current substitutions of a user, as approver and as substitute.
SELECT user_id, substitute_id, until FROM chamberlain.substitute
WHERE tenant_id = $1 AND (user_id = $2 OR substitute_id = $2) AND until > $3 ORDER BY user_id

-- name: find_of_approvers
-- Find the current substitutes of users.
SELECT user_id, substitute_id, until FROM chamberlain.substitute
WHERE tenant_id = $1 AND user_id = ANY ($2) AND until > $3 ORDER BY user_id

-- name: hold_represented
-- Find the approvers for whom a user is the substitute, and lock their substitutions against changes.
SELECT user_id FROM chamberlain.substitute
WHERE tenant_id = $1 AND substitute_id = $2 AND until > $3 ORDER BY user_id FOR SHARE

-- name: hold_requests
-- Lock the requests that wait for a decision of the approver. Decisions and the approval job lock them first as well.
SELECT request_id FROM chamberlain.request
WHERE tenant_id = $1 AND request_id = ANY (ARRAY(
    SELECT a.request_id FROM chamberlain.request_approver a WHERE a.tenant_id = $1 AND a.user_id = $2
))
ORDER BY request_id FOR UPDATE

-- name: hold
-- Read the substitution of an approver, current or not, and lock it.
SELECT user_id, substitute_id, until FROM chamberlain.substitute WHERE tenant_id = $1 AND user_id = $2 FOR UPDATE

-- name: save
-- Save the only substitution of an approver.
INSERT INTO chamberlain.substitute AS s (tenant_id, user_id, substitute_id, until, created_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id, user_id) DO UPDATE SET
    substitute_id = excluded.substitute_id, until = excluded.until, created_at = excluded.created_at

-- name: delete
-- Delete the substitution of an approver.
DELETE FROM chamberlain.substitute WHERE tenant_id = $1 AND user_id = $2

-- name: remove_ended
-- Remove substitutions that ended before this time.
WITH old AS MATERIALIZED (
    SELECT tenant_id, user_id FROM chamberlain.substitute WHERE until <= $1 ORDER BY until LIMIT $2
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM chamberlain.substitute s USING old
    WHERE s.tenant_id = old.tenant_id AND s.user_id = old.user_id RETURNING s.user_id
)
SELECT count(*) AS removed FROM gone

-- name: hurry
-- Make the approval jobs of requests due. They copy the substitutes to the open levels.
UPDATE chamberlain.job SET run_at = now() WHERE job_id = ANY (ARRAY(
    SELECT job_id FROM chamberlain.job WHERE tenant_id = $1 AND subject = ANY ($2) AND kind = 'approvalAttend'
    ORDER BY job_id FOR UPDATE
))
