-- SPDX-License-Identifier: Apache-2.0
-- name: find
-- Find a notice.
SELECT tenant_id, notice_id, kind, request_id, level, subject_id, at, attempts, told, since FROM chamberlain.notice
WHERE tenant_id = $1 AND notice_id = $2

-- name: save_notified
-- Save recipients who got the notice or never can.
UPDATE chamberlain.notice SET told = told || $3::uuid[] WHERE tenant_id = $1 AND notice_id = $2

-- name: count_attempt
-- Count an incomplete attempt.
UPDATE chamberlain.notice SET attempts = attempts + 1 WHERE tenant_id = $1 AND notice_id = $2

-- name: delete
-- Delete a notice that was sent or given up.
DELETE FROM chamberlain.notice WHERE tenant_id = $1 AND notice_id = $2
