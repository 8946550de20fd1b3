-- SPDX-License-Identifier: Apache-2.0
-- name: save_timer
-- Save a timer that exists. A call may change timers, but not create them. All columns are written together, because
-- they depend on the same version of the policy.
UPDATE chamberlain.policy_clock SET
    guest_mail = $5, guest_name = $6, policy_id = $7, terms = $8, action = $9, started_at = $10, action_at = $11,
    next_at = $12, round = $13, reminded = $14, is_acting = $15, trouble = $16, acted_at = $17
WHERE tenant_id = $1 AND subject_id = $2 AND rule = $3 AND guest_id = $4
