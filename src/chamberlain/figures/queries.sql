-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: hold
-- Lock the position of the count, so that two workers never count the same events.
SELECT FROM chamberlain.figures_counted FOR UPDATE

-- name: move
-- Move the position by at most $2 sequences. Those that were drawn before the last look are countable $1 after it,
-- because their transactions have ended. A clock that went back does not delay it. A sequence that was never drawn has
-- 1 as its last value.
WITH before AS MATERIALIZED (
    SELECT c.counted, now() NOT BETWEEN c.seen_at AND c.seen_at + $1::interval AS has_settled,
        next.last_value - (NOT next.is_called)::integer AS last_value
    FROM chamberlain.figures_counted c CROSS JOIN chamberlain.event_sequence_seq next
)
UPDATE chamberlain.figures_counted c SET
    counted = least(CASE WHEN before.has_settled THEN c.seen ELSE c.countable END, c.counted + $2::bigint),
    countable = CASE WHEN before.has_settled THEN c.seen ELSE c.countable END,
    seen = CASE WHEN before.has_settled THEN before.last_value ELSE c.seen END,
    seen_at = CASE WHEN before.has_settled THEN now() ELSE c.seen_at END
FROM before
RETURNING before.counted AS after, c.counted AS until

-- name: ended
-- Choose the end of a request by its event `e`, with its state. An assignment has no event of its end: it counts from
-- its acceptance, unless it failed. Its event may also belong to the request of a new group.
SELECT e.tenant_id, r.request_id, r.kind, e.at, r.template_id, r.created_at, r.approval_required, r.approvals,
    CASE e.type WHEN 'request.failed' THEN 'failed' WHEN 'request.rejected' THEN 'rejected'
    WHEN 'request.cancelled' THEN 'cancelled' WHEN 'request.expired' THEN 'expired' ELSE 'succeeded' END AS state

-- name: is_end
-- Return whether the event `e` of the request `r` is the end of it. A request that repairs ends with that of its finding.
(
    e.type IN (
        'mailbox.created', 'group.created', 'team.created', 'request.failed', 'request.rejected', 'request.cancelled',
        'request.expired'
    )
    OR e.type IN ('group.assignmentChanged', 'site.assignmentChanged') AND r.kind = 'assignment'
    AND r.state NOT IN ('failed', 'rejected', 'cancelled', 'expired')
    OR e.type = 'finding.repaired' AND r.kind = 'repair'
)

-- name: time
-- Compute the times to ready of an ended request, and their buckets. $1 is the growth of buckets.
CROSS JOIN LATERAL (
    SELECT 'acceptance' AS since, ended.created_at AS at
    UNION ALL
    SELECT 'approval', coalesce((
        SELECT max((decision ->> 'decided_at')::timestamptz)
        FROM json_array_elements(chamberlain.clean(ended.approvals)) level
        CROSS JOIN json_array_elements(level -> 'decisions') decision
        WHERE ended.approval_required AND decision ->> 'outcome' = 'approved'
    ), ended.created_at)
) begun
CROSS JOIN LATERAL (
    SELECT floor(
        ln(greatest(extract(epoch FROM ended.at - begun.at)::float8 * 1000, 1)) / ln($1::float8)
    )::smallint AS bucket
) timed
WHERE ended.state = 'succeeded' AND ended.kind NOT IN ('assignment', 'repair') AND ended.template_id IS NOT NULL

-- name: count
-- Count the ends of requests by the events of all tenants behind sequence $2, up to $3.
WITH ended AS MATERIALIZED (
    {ended}
    FROM chamberlain.tenant t
    JOIN chamberlain.event e ON e.tenant_id = t.tenant_id AND e.sequence > $2 AND e.sequence <= $3
    JOIN chamberlain.request r ON r.request_id = e.request_id AND r.tenant_id = e.tenant_id
    WHERE {is_end}
), counted AS (
    INSERT INTO chamberlain.ended_hour AS h (tenant_id, hour, kind, state, number)
    SELECT tenant_id, date_trunc('hour', at, 'UTC'), kind, state, count(*) FROM ended GROUP BY 1, 2, 3, 4
    ON CONFLICT (tenant_id, hour, kind, state) DO UPDATE SET number = h.number + excluded.number
), buckets AS (
    SELECT ended.tenant_id, date_trunc('hour', ended.at, 'UTC') AS hour, ended.template_id, begun.since, timed.bucket,
        count(*)::integer AS number
    FROM ended {time} GROUP BY 1, 2, 3, 4, 5
), added AS (
    INSERT INTO chamberlain.ready_hour AS h (tenant_id, hour, template_id, since, buckets, numbers)
    SELECT tenant_id, hour, template_id, since, array_agg(bucket ORDER BY bucket), array_agg(number ORDER BY bucket)
    FROM buckets GROUP BY tenant_id, hour, template_id, since
    ON CONFLICT (tenant_id, hour, template_id, since) DO UPDATE SET (buckets, numbers) = (
        SELECT array_agg(merged.bucket ORDER BY merged.bucket), array_agg(merged.number ORDER BY merged.bucket) FROM (
            SELECT one.bucket, sum(one.number)::integer AS number FROM (
                SELECT * FROM unnest(h.buckets, h.numbers) AS old (bucket, number)
                UNION ALL
                SELECT * FROM unnest(excluded.buckets, excluded.numbers) AS new (bucket, number)
            ) one GROUP BY one.bucket
        ) merged
    )
)
SELECT count(*) AS number FROM ended

-- name: lately
-- Find the ends of a tenant's requests that are not counted yet, by its newest events, at most 20,000.
{ended}
FROM (
    SELECT n.* FROM chamberlain.event n
    WHERE n.tenant_id = $2 AND n.sequence > (SELECT counted FROM chamberlain.figures_counted)
    ORDER BY n.sequence DESC LIMIT 20000
) e JOIN chamberlain.request r ON r.request_id = e.request_id AND r.tenant_id = $2
WHERE {is_end}

-- name: days
-- Count the requests of a tenant by day, kind and state, from day $3 to day $4. Ended ones belong to the day on which
-- they ended. $1 are the states of those that wait, which belong to the day of their acceptance.
SELECT day, kind, state, sum(number)::bigint AS number FROM (
    SELECT (hour AT TIME ZONE 'UTC')::date AS day, kind, state, number FROM chamberlain.ended_hour
    WHERE tenant_id = $2 AND hour >= $3::date::timestamp AT TIME ZONE 'UTC'
    AND hour < ($4::date + 1)::timestamp AT TIME ZONE 'UTC'
    UNION ALL
    SELECT (ended.at AT TIME ZONE 'UTC')::date, ended.kind, ended.state, 1 FROM ({lately}) ended
    UNION ALL
    SELECT (s.created_at AT TIME ZONE 'UTC')::date, s.kind, s.state, 1 FROM unnest($1::text[]) AS waits (state)
    JOIN chamberlain.request_by_state s ON s.tenant_id = $2 AND s.state = waits.state
        AND s.created_at >= $3::date::timestamp AT TIME ZONE 'UTC'
        AND s.created_at < ($4::date + 1)::timestamp AT TIME ZONE 'UTC'
) every WHERE day BETWEEN $3 AND $4
GROUP BY day, kind, state ORDER BY day, kind, state

-- name: ready
-- Add up the histograms of a tenant by template and day, from day $3 to day $4. The newest $5 of them are found.
WITH every AS MATERIALIZED (
    SELECT h.template_id, (h.hour AT TIME ZONE 'UTC')::date AS day, h.since, u.bucket, u.number
    FROM chamberlain.ready_hour h CROSS JOIN unnest(h.buckets, h.numbers) AS u (bucket, number)
    WHERE h.tenant_id = $2 AND h.hour >= $3::date::timestamp AT TIME ZONE 'UTC'
    AND h.hour < ($4::date + 1)::timestamp AT TIME ZONE 'UTC'
    UNION ALL
    SELECT ended.template_id, (ended.at AT TIME ZONE 'UTC')::date, begun.since, timed.bucket, 1
    FROM ({lately}) ended {time}
), newest AS (
    SELECT day, template_id FROM every WHERE day BETWEEN $3 AND $4
    GROUP BY day, template_id ORDER BY day DESC, template_id LIMIT $5
)
SELECT day, template_id, since, bucket, sum(number)::bigint AS number FROM newest JOIN every USING (day, template_id)
GROUP BY day, template_id, since, bucket

-- name: names
-- Read the names of templates of a tenant.
SELECT t.template_id, chamberlain.clean(r.content) ->> 'name' AS name
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE t.tenant_id = $1 AND t.template_id = ANY ($2)

-- name: backlog
-- Count what waits in a tenant, each up to $2.
SELECT (
    SELECT count(*) FROM (
        SELECT FROM chamberlain.job j
        WHERE j.tenant_id = $1 AND j.held_reason IS NULL AND j.lane IS NULL AND j.run_at <= now() LIMIT $2
    ) due
) AS jobs_due, coalesce((
    SELECT extract(epoch FROM now() - min(j.run_at)) FROM chamberlain.job j
    WHERE j.tenant_id = $1 AND j.held_reason IS NULL AND j.lane IS NULL AND j.run_at <= now()
), 0)::bigint AS oldest_seconds, (
    SELECT count(*) FROM (
        SELECT FROM chamberlain.job j WHERE j.tenant_id = $1 AND j.held_reason IS NOT NULL LIMIT $2
    ) held
) AS jobs_held, (
    SELECT count(*) FROM (
        SELECT FROM chamberlain.finding f WHERE f.tenant_id = $1 AND f.state = 'open' LIMIT $2
    ) open
) AS findings_open, (
    SELECT count(*) FROM (
        SELECT FROM chamberlain.delivery d
        WHERE d.tenant_id = $1 AND (d.state = 'failed' OR d.state = 'pending' AND d.tries > 0) LIMIT $2
    ) failing
) AS deliveries_failing

-- name: recent
-- Add up the histograms of the last day, for the $1 templates of all tenants with the most requests.
WITH hours AS MATERIALIZED (
    SELECT tenant_id, template_id, since, buckets, numbers FROM chamberlain.ready_hour
    WHERE hour > now() - interval '25 hours'
), busiest AS (
    SELECT tenant_id, template_id FROM hours CROSS JOIN unnest(numbers) AS u (number)
    WHERE since = 'acceptance' GROUP BY tenant_id, template_id ORDER BY sum(number) DESC, tenant_id, template_id LIMIT $1
)
SELECT tenant_id, template_id, since, u.bucket, sum(u.number)::bigint AS number
FROM busiest JOIN hours USING (tenant_id, template_id) CROSS JOIN unnest(buckets, numbers) AS u (bucket, number)
GROUP BY tenant_id, template_id, since, u.bucket

-- name: remove
-- Remove the oldest hours of both tables, at most $2 of each.
WITH old_ended AS MATERIALIZED (
    SELECT tenant_id, hour, kind, state FROM chamberlain.ended_hour
    WHERE hour < $1 AND NOT chamberlain.is_of_clock_fault(hour, $1) ORDER BY hour LIMIT $2 FOR UPDATE SKIP LOCKED
), old_ready AS MATERIALIZED (
    SELECT tenant_id, hour, template_id, since FROM chamberlain.ready_hour
    WHERE hour < $1 AND NOT chamberlain.is_of_clock_fault(hour, $1) ORDER BY hour LIMIT $2 FOR UPDATE SKIP LOCKED
), ended AS (
    DELETE FROM chamberlain.ended_hour h USING old_ended old
    WHERE h.tenant_id = old.tenant_id AND h.hour = old.hour AND h.kind = old.kind AND h.state = old.state
    RETURNING h.hour
), ready AS (
    DELETE FROM chamberlain.ready_hour h USING old_ready old
    WHERE h.tenant_id = old.tenant_id AND h.hour = old.hour AND h.template_id = old.template_id AND h.since = old.since
    RETURNING h.hour
)
SELECT greatest((SELECT count(*) FROM ended), (SELECT count(*) FROM ready)) AS removed
