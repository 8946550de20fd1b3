-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: select
-- Select policies with their newest content.
SELECT p.tenant_id, p.policy_id, p.revision, p.active,
    chamberlain.clean(p.content) ->> 'name' AS name, chamberlain.clean(p.content) AS content,
    p.created_at, p.created_by, p.updated_at
FROM chamberlain.policy p

-- name: find
-- Find a policy.
{select} WHERE p.tenant_id = $1 AND p.policy_id = $2

-- name: find_all
-- Find all policies of these tenants, oldest first.
{select} WHERE p.tenant_id = ANY ($1) ORDER BY p.tenant_id, p.created_at, p.policy_id

-- name: page
-- Read a page of policies. $1 tenant, $2 and $3 the position (null at the beginning), $4 number of rows.
{select} WHERE p.tenant_id = $1
    AND ($2::timestamptz IS NULL OR (p.created_at, p.policy_id) < ($2, $3::uuid))
ORDER BY p.created_at DESC, p.policy_id DESC LIMIT $4

-- name: save
-- Create or change a policy.
INSERT INTO chamberlain.policy AS p (tenant_id, policy_id, revision, active, content, created_by)
VALUES ($1, $2, 1, $3, $4::text::json, $5)
ON CONFLICT (tenant_id, policy_id) DO UPDATE SET
    revision = p.revision + 1, active = excluded.active, content = excluded.content, updated_at = now()
WHERE p.content::text IS DISTINCT FROM excluded.content::text
RETURNING revision

-- name: delete
-- Remove a policy.
DELETE FROM chamberlain.policy WHERE tenant_id = $1 AND policy_id = $2

-- name: create
-- Create reports with their jobs. The lane of notices is that of their tenant.
WITH made AS (
    SELECT tenant_id, notice_id, subject_id, trace_id, wait
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::interval[])
        AS o (tenant_id, notice_id, subject_id, trace_id, wait)
), queued AS (
    INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, lane, run_at)
    SELECT tenant_id, 'noticeSend', notice_id, trace_id, tenant_id, now() + wait FROM made
    RETURNING job_id, subject
)
INSERT INTO chamberlain.notice (tenant_id, notice_id, kind, subject_id, job_id, at)
SELECT made.tenant_id, made.notice_id, $6, made.subject_id, queued.job_id, $7
FROM made JOIN queued ON queued.subject = made.notice_id

-- name: add_lines
-- Add lines to reports. A line that exists stays.
INSERT INTO chamberlain.report_line (tenant_id, notice_id, what, rule, guest_id)
SELECT tenant_id, notice_id, what, rule, guest_id
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[])
    AS o (tenant_id, notice_id, what, rule, guest_id)
ON CONFLICT DO NOTHING

-- name: release
-- Save the reports of runs.
UPDATE chamberlain.job SET run_at = now() WHERE job_id = ANY ($1) AND run_at > now()

-- name: lines
-- Read the lines of a report.
SELECT what, rule, guest_id FROM chamberlain.report_line WHERE tenant_id = $1 AND notice_id = $2

-- name: found
-- Read the open findings that a report lists.
SELECT finding_id, kind, about, wanted, observed FROM chamberlain.finding
WHERE tenant_id = $1 AND subject_id = $2 AND state = $3 AND source = $4

-- name: places
-- Find the references of known groups and sites.
SELECT s.tenant_id, s.subject_id, t.extension_prefix FROM chamberlain.subject s
JOIN chamberlain.tenant t USING (tenant_id)
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)

-- name: find_subjects
-- Find known groups and sites with their policies, without locks.
SELECT s.tenant_id, s.subject_id, s.type, s.display_name, s.policy_id, s.policy_assigned_at, s.policy_begun,
    s.policy_digest, s.policy_quiet_until, chamberlain.clean(p.content) AS content
FROM chamberlain.subject s
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)
LEFT JOIN chamberlain.policy p ON p.tenant_id = s.tenant_id AND p.policy_id = s.policy_id
ORDER BY s.tenant_id, s.subject_id

-- name: lock
-- Lock in a fixed order to avoid deadlocks. Only the holder writes timers. This is a statement of its own, before the
-- one that reads. Otherwise a policy that was assigned during the wait would be missing.
SELECT FROM chamberlain.subject s
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)
ORDER BY s.tenant_id, s.subject_id FOR NO KEY UPDATE OF s

-- name: set_lock_timeout
-- Limit the wait for the lock of a subject.
SELECT set_config('lock_timeout', $1, true)

-- name: reset_lock_timeout
-- Restore the lock timeout.
SET LOCAL lock_timeout = DEFAULT

-- name: save_idle
-- Save that these have run, and until when they are idle.
UPDATE chamberlain.subject s SET
    policy_begun = s.policy_id IS NOT NULL, policy_assigned_at = coalesce(s.policy_assigned_at, $5),
    policy_digest = i.digest, policy_quiet_until = i.quiet_until
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[]) AS i (tenant_id, subject_id, digest, quiet_until)
WHERE s.tenant_id = i.tenant_id AND s.subject_id = i.subject_id

-- name: queue_missing_jobs
-- Queue the job of each group with a policy and without a job. The kind is part of the text, so that every plan uses
-- the partial index (migration 0024). New assignments get their job in sql/assignments.sql, older ones here.
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT s.tenant_id, 'policyEvaluate', s.subject_id, $1 FROM chamberlain.subject s
WHERE s.policy_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM chamberlain.job j
    WHERE j.tenant_id = s.tenant_id AND j.kind = 'policyEvaluate' AND j.subject = s.subject_id
)

-- name: delete_duplicate_jobs
-- Delete further evaluation jobs of these groups. Each change of an assignment queues a job. The holder of the lock
-- has read the newest assignment, so one job is enough. Claimed jobs are skipped.
DELETE FROM chamberlain.job WHERE job_id = ANY (ARRAY(
    SELECT j.job_id FROM chamberlain.job j
    JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id)
        ON j.tenant_id = i.tenant_id AND j.subject = i.subject_id
    WHERE j.kind = 'policyEvaluate' AND j.job_id <> ALL ($3) AND (j.lease_until IS NULL OR j.lease_until < now())
    FOR UPDATE OF j SKIP LOCKED
))

-- name: read_timers
-- Add the timers and acceptances to tasks.
SELECT tenant_id, subject_id, rule, guest_id, guest_mail, guest_name, policy_id, terms, action, started_at, action_at,
    next_at, round, reminded, is_acting, trouble, acted_at
FROM chamberlain.policy_clock
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)

-- name: read_guest_timers
-- Reads by guest for all rules, along the primary key.
SELECT tenant_id, subject_id, rule, guest_id, guest_mail, guest_name, policy_id, terms, action, started_at, action_at,
    next_at, round, reminded, is_acting, trouble, acted_at
FROM chamberlain.policy_clock
JOIN unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS i (tenant_id, subject_id, guest_id)
    USING (tenant_id, subject_id, guest_id)
WHERE rule = ANY ($4)

-- name: accepted
-- Read accepted findings of groups and sites.
SELECT tenant_id, subject_id, kind, about, accepted_until FROM chamberlain.finding
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)
WHERE state = $3 AND source = $4

-- name: save_timers
-- Save timers.
INSERT INTO chamberlain.policy_clock AS c (
    tenant_id, subject_id, rule, guest_id, guest_mail, guest_name, policy_id, terms, action, started_at, action_at,
    next_at, round, reminded, is_acting, trouble, acted_at
)
SELECT tenant_id, subject_id, rule, guest_id, guest_mail, guest_name, policy_id, terms, action, started_at, action_at,
    next_at, round, reminded, is_acting, trouble, acted_at
FROM unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::text[],
    $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::integer[], $14::integer[], $15::boolean[],
    $16::text[], $17::timestamptz[]
) AS o (
    tenant_id, subject_id, rule, guest_id, guest_mail, guest_name, policy_id, terms, action, started_at, action_at,
    next_at, round, reminded, is_acting, trouble, acted_at
)
ON CONFLICT (tenant_id, subject_id, rule, guest_id) DO UPDATE SET
    guest_mail = excluded.guest_mail, guest_name = excluded.guest_name, policy_id = excluded.policy_id,
    terms = excluded.terms, action = excluded.action, started_at = excluded.started_at,
    action_at = excluded.action_at, next_at = excluded.next_at, round = excluded.round, reminded = excluded.reminded,
    is_acting = excluded.is_acting, trouble = excluded.trouble, acted_at = excluded.acted_at

-- name: delete_timers
-- Delete ended timers.
DELETE FROM chamberlain.policy_clock c
USING unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[]) AS o (tenant_id, subject_id, rule, guest_id)
WHERE c.tenant_id = o.tenant_id AND c.subject_id = o.subject_id AND c.rule = o.rule AND c.guest_id = o.guest_id

-- name: delete_all_timers
-- Delete the timers of deleted groups.
DELETE FROM chamberlain.policy_clock WHERE tenant_id = $1 AND subject_id = ANY ($2)
