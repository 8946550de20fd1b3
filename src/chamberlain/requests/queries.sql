-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: hold_up
-- Let a request wait whose job is held. The job of a request is held: the request waits for an administrator at its
-- first unfinished step, and can be cancelled. A queued request gets a running entry as well. The steps are not
-- decoded, so that a request that cannot run can be held in any case.
WITH held AS (
    SELECT q.request_id, chamberlain.kept_wait((
        SELECT json_build_object(
            'step', s.step ->> 'step', 'reason', $3::text, 'attempt', coalesce((s.step ->> 'attempts')::integer, 0) + 1,
            'next_attempt_at', NULL, 'ends_at', NULL, 'cause', $4::text::jsonb
        )
        FROM json_array_elements(q.steps) WITH ORDINALITY AS s (step, place)
        WHERE s.step ->> 'state' NOT IN ('succeeded', 'warning') ORDER BY s.place LIMIT 1
    )) AS waiting
    FROM chamberlain.request q WHERE q.tenant_id = $1 AND q.request_id = $2
)
UPDATE chamberlain.request r SET
    state = 'waiting', updated_at = now(), waiting = held.waiting,
    timeline = timeline || CASE WHEN r.state = 'queued' THEN jsonb_build_array(
        jsonb_build_object('kind', 'state', 'state', jsonb_build_object('state', 'running', 'at', now()))
    ) ELSE '[]' END || jsonb_build_array(jsonb_build_object(
        'kind', 'state', 'state', jsonb_build_object('state', 'waiting', 'at', now(), 'waiting', held.waiting)
    ))
FROM held
WHERE r.tenant_id = $1 AND r.request_id = held.request_id AND r.state IN ('queued', 'running', 'waiting')

-- name: put_down
-- Write the progress of running requests.
UPDATE chamberlain.request r SET
    state = p.state, steps = chamberlain.kept_steps(p.steps::json), waiting = chamberlain.kept_wait(p.waiting::json), error = p.error::json, result = p.result::json,
    people_checked = p.people_checked, updated_at = p.at, finished_at = p.finished_at,
    timeline = r.timeline || chamberlain.kept_entries(p.timeline::jsonb), made = coalesce(p.made::json, r.made),
    warnings = CASE WHEN p.warnings IS NULL THEN r.warnings ELSE chamberlain.kept_warnings(
        (coalesce(r.warnings::jsonb, '[]') || p.warnings::jsonb)::json, p.warning_causes::json
    ) END,
    warning_causes = CASE WHEN p.warning_causes IS NULL THEN r.warning_causes
        ELSE (coalesce(r.warning_causes::jsonb, '[]') || p.warning_causes::jsonb)::json END
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[],
    $8::timestamptz[], $9::timestamptz[], $10::text[], $11::text[], $12::text[], $13::text[])
    AS p (request_id, state, steps, waiting, error, result, people_checked, at, finished_at, timeline, made, warnings,
        warning_causes)
WHERE r.request_id = p.request_id AND r.state = 'running'

-- name: name_callers
-- Store the names of callers. A request that was accepted while the directory was unavailable has a caller without a
-- name.
WITH named AS (
    UPDATE chamberlain.request r SET actor_name = n.name FROM unnest($1::uuid[], $2::text[]) AS n (request_id, name)
    WHERE r.request_id = n.request_id RETURNING r.request_id, r.actor_name
)
UPDATE chamberlain.mailbox m SET actor_name = named.actor_name FROM named WHERE m.request_id = named.request_id

-- name: find_templates
-- Read template revisions as they are stored.
SELECT template_id, revision, content FROM chamberlain.template_revision
WHERE tenant_id = $1 AND (template_id, revision) IN (SELECT * FROM unnest($2::uuid[], $3::integer[]))

-- name: select
-- Select the columns that `record_of` reads. A FROM clause follows.
SELECT request_id, tenant_id, approval_required, kind, state, display_name, template_id, template_name, body, waiting,
blocked, error, warnings, result, steps, created_at, actor_type, actor_id, actor_name, client_id, updated_at,
finished_at, approvals, made, warning_causes, template_revision

-- name: find
-- Read a request.
{select} FROM chamberlain.request WHERE tenant_id = $1 AND request_id = $2

-- name: hold
-- Locks the request until the end of the transaction.
{find} FOR UPDATE

-- name: find_holder
-- Find the request that has reserved an address.
SELECT request_id FROM chamberlain.reservation WHERE tenant_id = $1 AND kind = 'address' AND value = lower($2)

-- name: find_by_key
-- Find the request of an idempotency key.
SELECT k.digest, r.request_id, r.approval_required
FROM chamberlain.idempotency_key k JOIN chamberlain.request r USING (tenant_id, request_id)
WHERE k.tenant_id = $1 AND k.client_id = $2 AND k.caller_id = $3 AND k.key = $4

-- name: shorten
-- Cut a long timeline to half of the limit. The numbers of its entries do not change.
UPDATE chamberlain.request r SET
    timeline_start = r.timeline_start + jsonb_array_length(r.timeline) - $2 / 2,
    timeline = jsonb_path_query_array(r.timeline, format('$[last - %s to last]', $2 / 2 - 1)::jsonpath)
WHERE r.request_id = ANY ($1) AND jsonb_array_length(r.timeline) > $2

-- name: move
-- Change the state of a request by compare-and-swap.
UPDATE chamberlain.request SET
    state = $3, steps = chamberlain.kept_steps($4::text::json), approvals = $5::text::json, error = $6::text::json,
    warnings = chamberlain.kept_warnings($7::text::json, $13::text::json), warning_causes = $13::text::json,
    waiting = NULL, blocked = $12, updated_at = $8, finished_at = $9,
    timeline = timeline || chamberlain.kept_entries($10::text::jsonb)
WHERE tenant_id = $1 AND request_id = $2 AND state = $11
RETURNING request_id

-- name: give_back
-- Release the name and the addresses of a request.
WITH held AS (
    SELECT 'address' AS kind, lower(address) AS value FROM chamberlain.request WHERE tenant_id = $1 AND request_id = $2
    UNION ALL
    SELECT 'address', alias FROM chamberlain.mailbox WHERE tenant_id = $1 AND request_id = $2
    UNION ALL
    SELECT 'name', name_key FROM chamberlain.mailbox WHERE tenant_id = $1 AND request_id = $2
)
DELETE FROM chamberlain.reservation v USING held
WHERE v.tenant_id = $1 AND v.kind = held.kind AND v.value = held.value AND v.request_id = $2

-- name: turn
-- Return the requests that wait for the user's decision.
SELECT a.request_id FROM chamberlain.request_approver a
WHERE a.tenant_id = $1 AND a.user_id = $2 AND a.request_id = ANY ($3)

-- name: find_origin
-- Find the revision of the template and the trace of a submission.
SELECT r.template_id, r.trace_id, v.content
FROM chamberlain.request r LEFT JOIN chamberlain.template_revision v
    ON v.tenant_id = r.tenant_id AND v.template_id = r.template_id AND v.revision = r.template_revision
WHERE r.tenant_id = $1 AND r.request_id = $2

-- name: hurry
-- Make the approval job of a request due. A request that an older version accepted may have no such job yet.
WITH hurried AS (
    UPDATE chamberlain.job SET run_at = now()
    WHERE tenant_id = $1 AND subject = $2 AND kind = 'approvalAttend'
    RETURNING job_id
)
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT $1, 'approvalAttend', $2, $3 WHERE NOT EXISTS (SELECT FROM hurried)

-- name: queue_notice
-- Queue a notice without an event (database/sql/notices.sql).
SELECT chamberlain.queue_notice($1, $2, $3, $4, $5, $6) WHERE current_setting('chamberlain.notices', true) = 'on'

-- name: save_notified
-- Save users who need no mail of a notice.
UPDATE chamberlain.notice SET told = $3 WHERE tenant_id = $1 AND notice_id = $2

-- name: withdraw
-- Delete the job of a request. A claimed job ends by itself.
DELETE FROM chamberlain.job WHERE job_id = ANY (ARRAY(
    SELECT job_id FROM chamberlain.job
    WHERE tenant_id = $1 AND subject = $2 AND kind = 'approvalAttend' AND (lease_until IS NULL OR lease_until < now())
    FOR UPDATE SKIP LOCKED
))

-- name: find_steps
-- Read state and timeline of requests. One statement reads state and timeline, so a finished request has its last
-- entry.
SELECT request_id, state, approval_required, created_at, timeline, timeline_start, warnings, warning_causes
FROM chamberlain.request
WHERE tenant_id = $1 AND request_id = ANY ($2)

-- name: count_to_decide
-- Count the requests that wait for the user's decision, up to a limit.
SELECT count(*) AS number FROM (
    SELECT FROM chamberlain.request_approver a WHERE a.tenant_id = $1 AND a.user_id = $2 LIMIT $3
) waiting

-- name: find_to_decide
-- Read the requests that wait for the user's decision, soonest deadline first. The positions of a page come first, so that
-- bodies and levels are read for its requests only.
{select} FROM (
    SELECT a.deadline, a.request_id AS place_id FROM chamberlain.request_approver a
    WHERE a.tenant_id = $1 AND a.user_id = $2 AND (a.deadline, a.request_id) > ($3::timestamptz, $4::uuid)
    ORDER BY a.deadline, a.request_id LIMIT $5
) place JOIN chamberlain.request ON tenant_id = $1 AND request_id = place.place_id
ORDER BY place.deadline, place.place_id

-- name: count_few
-- Count the requests of an owner or a kind, up to a limit.
SELECT count(*) AS number FROM (
    SELECT FROM chamberlain.request r
    WHERE r.tenant_id = $1 AND ($2::uuid IS NULL OR r.actor_id = $2) AND ($3::text[] IS NULL OR r.kind = ANY ($3))
    LIMIT $4
) found

-- name: count_few_in_state
-- Count the requests in a state that request_by_state has, up to a limit.
SELECT count(*) AS number FROM (
    SELECT FROM chamberlain.request_by_state r
    WHERE r.tenant_id = $1 AND ($2::uuid IS NULL OR r.actor_id = $2) AND ($3::text[] IS NULL OR r.kind = ANY ($3))
        AND r.state = $5
    LIMIT $4
) found

-- name: buckets_ready
-- Return whether the indexes of lists by prefix are built.
SELECT count(*) = 2 AS ready FROM pg_index i WHERE i.indisvalid AND i.indexrelid IN (
    to_regclass('chamberlain.request_bucket_name'), to_regclass('chamberlain.request_bucket_address')
)
