-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: planned_once
-- Plan the worker's statements once per connection. Planning each time, PostgreSQL's own choice, takes four fifths of
-- their time.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true)

-- name: load_due
-- Load claimed deliveries with the webhook's present address. As the worker takes them up: with the address that the
-- webhook has now, and none where it is not to be called. $3 and $4 are the first and the last of the ids: weeks that
-- have none between these are left out before the statement begins; to begin with all of them takes two thirds of its
-- time.
SELECT d.delivery_id, d.tenant_id, d.event_id, d.template_id, d.payload, d.tries, d.trace_id, (
    SELECT chamberlain.clean(r.content) #>> '{webhook,url}'
    FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
    WHERE t.tenant_id = d.tenant_id AND t.template_id = d.template_id
    AND chamberlain.clean(r.content) #>> '{webhook,active}' = 'true'
    AND NOT EXISTS (
        SELECT FROM chamberlain.webhook_state s
        WHERE s.tenant_id = t.tenant_id AND s.template_id = t.template_id AND s.disabled_at IS NOT NULL
    )
) AS url
FROM unnest($1::uuid[], $2::uuid[]) AS w (tenant_id, delivery_id)
JOIN chamberlain.delivery d ON d.tenant_id = w.tenant_id AND d.delivery_id = w.delivery_id
WHERE d.state = 'pending' AND d.delivery_id BETWEEN $3 AND $4

-- name: save_results
-- Save every attempt, also of a run that lost its lease. Only the holder of the lease changes the state of the
-- delivery. $10 and $11 are the first and the last id, as above.
WITH result AS MATERIALIZED (
    SELECT tenant_id, delivery_id, lease_id, job_id, state, url, attempt, after
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::interval[])
        AS r (tenant_id, delivery_id, lease_id, job_id, state, url, attempt, after)
), ended AS (
    DELETE FROM chamberlain.job j USING result r
    WHERE j.job_id = r.job_id AND j.lease_id = r.lease_id AND r.after IS NULL RETURNING j.job_id
), postponed AS (
    UPDATE chamberlain.job j SET run_at = now() + r.after, lease_id = NULL, lease_until = NULL, attempts = 0
    FROM result r WHERE j.job_id = r.job_id AND j.lease_id = r.lease_id AND r.after IS NOT NULL RETURNING j.job_id
), own AS (
    SELECT job_id FROM ended UNION ALL SELECT job_id FROM postponed
)
UPDATE chamberlain.delivery d SET
    state = CASE WHEN own.job_id IS NULL THEN d.state ELSE r.state END,
    job_id = CASE WHEN own.job_id IS NULL OR r.after IS NOT NULL THEN d.job_id END,
    url = coalesce(r.url, d.url),
    tries = d.tries + (r.attempt IS NOT NULL AND own.job_id IS NOT NULL)::integer,
    attempt_count = d.attempt_count + (r.attempt IS NOT NULL)::integer,
    attempts = CASE WHEN r.attempt IS NULL THEN d.attempts ELSE
        CASE WHEN d.attempt_count < $9 THEN d.attempts ELSE d.attempts - 0 END
        || jsonb_build_array(jsonb_build_object('number', d.attempt_count + 1) || r.attempt::jsonb) END
FROM result r LEFT JOIN own ON own.job_id = r.job_id
WHERE d.tenant_id = r.tenant_id AND d.delivery_id = r.delivery_id AND d.delivery_id BETWEEN $10 AND $11
RETURNING d.delivery_id

-- name: delete_old
-- Delete old deliveries of all tenants that are not pending.
DELETE FROM chamberlain.delivery d USING (
    SELECT oldest.tenant_id, oldest.delivery_id FROM chamberlain.tenant t CROSS JOIN LATERAL (
        SELECT o.tenant_id, o.delivery_id FROM chamberlain.delivery o
        WHERE o.tenant_id = t.tenant_id AND o.created_at < $1 AND o.state <> 'pending'
        AND NOT chamberlain.is_of_clock_fault(o.created_at, $1)
        ORDER BY o.created_at LIMIT $2
    ) oldest LIMIT $2
) old WHERE d.tenant_id = old.tenant_id AND d.delivery_id = old.delivery_id
RETURNING d.delivery_id

-- name: again
-- Queue deliveries again. Pending deliveries are attempted at once, held or not, unless a worker has claimed them. All
-- others get a new job. The retry schedule starts again. A worker that ends a job then writes the delivery, which is
-- locked here. So locked jobs are skipped to avoid a deadlock. $1 tenant, $2 kind of the job.
hurried AS (
    UPDATE chamberlain.job SET run_at = now(), held_reason = NULL, attempts = 0 WHERE job_id = ANY (ARRAY(
        SELECT j.job_id FROM chamberlain.job j JOIN again ON again.job_id = j.job_id
        WHERE j.tenant_id = $1 AND (j.lease_until IS NULL OR j.lease_until < now()) FOR UPDATE OF j SKIP LOCKED
    ))
), queued AS (
    INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, lane)
    SELECT $1, $2, delivery_id, trace_id, template_id FROM again WHERE state <> 'pending' ORDER BY created_at
    RETURNING job_id, subject
)
UPDATE chamberlain.delivery d SET state = 'pending', tries = 0, job_id = coalesce(queued.job_id, d.job_id)
FROM again LEFT JOIN queued ON queued.subject = again.delivery_id
WHERE d.tenant_id = $1 AND d.delivery_id = again.delivery_id
RETURNING d.delivery_id, d.created_at

-- name: rows
-- Select deliveries to attempt again.
SELECT delivery_id, template_id, trace_id, state, job_id, created_at FROM chamberlain.delivery

-- name: redeliver
-- Queue a delivery again, in any state.
WITH again AS MATERIALIZED ({rows} WHERE tenant_id = $1 AND delivery_id = $3 FOR UPDATE), {again}

-- name: redeliver_batch
-- Queue the deliveries of a span again, oldest first. Their webhook can be called. A locked delivery is being
-- attempted, so it is skipped. $3 since, $4 until, $5 template, $6 and $7 the position (null at the start), $8 number
-- of rows.
WITH again AS MATERIALIZED (
    {rows} d WHERE tenant_id = $1 AND created_at >= $3 AND created_at < $4 AND ($5::uuid IS NULL OR template_id = $5)
    AND ($6::timestamptz IS NULL OR (created_at, delivery_id) > ($6, $7::uuid)) AND EXISTS (
        SELECT FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
        WHERE t.tenant_id = d.tenant_id AND t.template_id = d.template_id
        AND chamberlain.clean(r.content) #>> '{webhook,active}' = 'true'
    ) AND NOT EXISTS (
        SELECT FROM chamberlain.webhook_state s
        WHERE s.tenant_id = d.tenant_id AND s.template_id = d.template_id AND s.disabled_at IS NOT NULL
    )
    ORDER BY created_at, delivery_id LIMIT $8 FOR UPDATE SKIP LOCKED
), {again}

-- name: maintain_weeks
-- Create coming weekly partitions and drop old ones. A week with deliveries of a wrong system time stays until these
-- are old, and so do the weeks after it.
SELECT chamberlain.keep_delivery_weeks($1, least($2, (
    SELECT min(f.from_at) FROM chamberlain.clock_fault f WHERE coalesce(f.resumed_at, 'infinity') >= $2
))) AS removed
