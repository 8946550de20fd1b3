-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: save
-- Save findings. An existing open or accepted finding keeps its state and gets the new values. An ignored one is open
-- again if its observed value has changed.
INSERT INTO chamberlain.finding AS f (
    finding_id, tenant_id, kind, state, source, subject_type, subject_id, subject_name, about, property, wanted,
    observed, detail, action, action_at, policy_id, request_id, first_seen_at, last_seen_at
)
SELECT finding_id, tenant_id, kind, 'open', source, subject_type, subject_id, subject_name, about, property,
    wanted::json, observed::json, detail, action, action_at, policy_id, request_id, $17, $17
FROM unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::text[], $14::timestamptz[], $15::uuid[], $16::uuid[]
) AS o (
    finding_id, tenant_id, kind, source, subject_type, subject_id, subject_name, about, property, wanted, observed,
    detail, action, action_at, policy_id, request_id
)
ORDER BY tenant_id, subject_id, kind, about
ON CONFLICT (tenant_id, subject_id, kind, about) WHERE state IN ('open', 'accepted') DO UPDATE SET
    subject_name = excluded.subject_name, property = excluded.property, wanted = excluded.wanted,
    observed = excluded.observed, detail = excluded.detail, action = excluded.action,
    action_at = excluded.action_at, policy_id = excluded.policy_id, request_id = excluded.request_id,
    last_seen_at = excluded.last_seen_at,
    state = CASE WHEN f.ignored_observed <> excluded.observed::text THEN 'open' ELSE f.state END,
    accepted_at = CASE WHEN f.ignored_observed <> excluded.observed::text THEN NULL ELSE f.accepted_at END,
    accepted_by = CASE WHEN f.ignored_observed <> excluded.observed::text THEN NULL ELSE f.accepted_by END,
    accepted_reason = CASE WHEN f.ignored_observed <> excluded.observed::text THEN NULL ELSE f.accepted_reason END,
    ignored_observed = CASE WHEN f.ignored_observed <> excluded.observed::text THEN NULL ELSE f.ignored_observed END

-- name: close_missing
-- Findings of one source about these subjects that are no longer true. They are repaired if an action was announced.
-- $11 and $12 limit that to these subjects and properties.
UPDATE chamberlain.finding f SET last_seen_at = $10, state = CASE
    WHEN f.action IS NOT NULL AND ($11::uuid[] IS NULL OR EXISTS (
        SELECT FROM unnest($11::uuid[], $12::text[]) AS m (subject_id, about)
        WHERE m.subject_id = f.subject_id AND m.about = f.about
    )) THEN 'repaired' ELSE 'gone' END
FROM unnest($1::uuid[], $2::uuid[]) AS s (tenant_id, subject_id)
WHERE f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id AND f.source = $3 AND f.kind = ANY ($4)
AND ($5::text[] IS NULL OR f.about = ANY ($5)) AND f.state IN ('open', 'accepted') AND NOT EXISTS (
    SELECT FROM unnest($6::uuid[], $7::uuid[], $8::text[], $9::text[]) AS o (tenant_id, subject_id, kind, about)
    WHERE o.tenant_id = f.tenant_id AND o.subject_id = f.subject_id AND o.kind = f.kind AND o.about = f.about
)
RETURNING f.tenant_id, f.subject_id, f.subject_type, f.subject_name, f.about, f.state, f.wanted, f.observed

-- name: close
-- Findings that their source reports as closed.
UPDATE chamberlain.finding f SET state = e.state, last_seen_at = $6
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) AS e (tenant_id, subject_id, kind, about, state)
WHERE f.tenant_id = e.tenant_id AND f.subject_id = e.subject_id AND f.kind = e.kind AND f.about = e.about
AND f.state IN ('open', 'accepted')

-- name: cancel_actions
-- Cancel announced actions.
UPDATE chamberlain.finding f SET action = NULL
FROM unnest($1::uuid[], $2::uuid[], $5::text[]) AS s (tenant_id, subject_id, about)
WHERE f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id AND f.kind = ANY ($3) AND f.source = $4
AND f.state IN ('open', 'accepted') AND f.action IS NOT NULL AND (s.about IS NULL OR f.about = s.about)

-- name: close_all
-- Close all findings about deleted groups.
UPDATE chamberlain.finding SET state = 'gone', last_seen_at = $3
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND state IN ('open', 'accepted')

-- name: select
-- Columns of a finding.
SELECT r.finding_id, r.tenant_id, r.kind, r.state, r.subject_type, r.subject_id, r.subject_name, r.property, r.wanted,
    r.observed, r.detail, r.policy_id, r.action, r.action_at, r.first_seen_at, r.last_seen_at, r.about, r.accepted_at,
    r.accepted_by, r.accepted_reason, r.accepted_until, r.ignored_observed, r.repair_request_id, r.request_id

-- name: find
-- Find a finding.
{select} FROM chamberlain.finding r WHERE r.tenant_id = $1 AND r.finding_id = $2

-- name: lock
-- Find and lock a finding.
{find} FOR NO KEY UPDATE

-- name: count_open
-- Count the open findings of each kind in all tenants, at most $2 of each.
SELECT wanted.kind, (
    SELECT count(*) FROM (
        SELECT f.finding_id FROM chamberlain.finding f WHERE f.kind = wanted.kind AND f.state = 'open' LIMIT $2
    ) counted
) AS number
FROM unnest($1::text[]) AS wanted (kind)

-- name: save_acceptance
-- Save the state and acceptance of a locked finding.
UPDATE chamberlain.finding SET
    state = $3, accepted_at = $4, accepted_by = $5, accepted_reason = $6, accepted_until = $7, ignored_observed = $8
WHERE tenant_id = $1 AND finding_id = $2

-- name: name_editor
-- Name the user who changes findings in this transaction, for their events.
SELECT set_config('chamberlain.changed_by', $1, true)

-- name: lock_accepted
-- Lock accepted findings. Concurrent acceptance waits until the transaction ends.
SELECT f.tenant_id, f.subject_id, f.about, f.state FROM chamberlain.finding f
JOIN unnest($1::uuid[], $2::uuid[]) AS s (tenant_id, subject_id)
    ON f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id
WHERE f.kind = ANY ($3) AND f.source = $4 AND f.state IN ('open', 'accepted')
ORDER BY f.tenant_id, f.subject_id, f.kind, f.about FOR NO KEY UPDATE OF f

-- name: current
-- Read the open and accepted findings about a group or site.
SELECT kind, about, state FROM chamberlain.finding
WHERE tenant_id = $1 AND subject_id = $2 AND state IN ('open', 'accepted')

-- name: is_applied
-- Find a running request that applies the assignment. A worker applies the assignment, or is about to. The retry of an
-- earlier request applies the newest assignment too.
SELECT FROM chamberlain.subject s
JOIN chamberlain.request r ON r.tenant_id = s.tenant_id AND r.request_id = s.assignment_request_id
WHERE s.tenant_id = $1 AND s.subject_id = $2 AND r.state IN ('queued', 'running')

-- name: opened_since
-- Read the open findings of these kinds that were opened after a time, oldest first. A null time reads all.
SELECT found.*, count(*) OVER () AS number FROM ({select} FROM chamberlain.finding r
    WHERE r.tenant_id = $1 AND r.state = 'open' AND r.kind = ANY ($2) AND r.opened_at > coalesce($3::timestamptz, '-infinity')
) found ORDER BY found.subject_name, found.about, found.finding_id LIMIT $4
