-- SPDX-License-Identifier: Apache-2.0
-- name: hooks
-- List the active webhooks of these templates.
SELECT t.tenant_id, t.template_id, chamberlain.clean(r.content) #>> '{webhook,url}' AS url
FROM unnest($1::uuid[], $2::uuid[]) AS asked (tenant_id, template_id)
JOIN chamberlain.template t USING (tenant_id, template_id)
JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE chamberlain.clean(r.content) #>> '{webhook,active}' = 'true' AND NOT EXISTS (
    SELECT FROM chamberlain.webhook_state s
    WHERE s.tenant_id = t.tenant_id AND s.template_id = t.template_id AND s.disabled_at IS NOT NULL
)

-- name: accept
-- Queue the deliveries of these events, in their transaction.
WITH told AS MATERIALIZED (
    SELECT chamberlain.new_delivery_id(now()) AS delivery_id, e.tenant_id, e.event_id, e.type, e.request_id,
        e.template_id, e.url, e.payload, e.trace_id, e.place
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[])
        WITH ORDINALITY AS e (tenant_id, event_id, type, request_id, template_id, url, payload, trace_id, place)
), queued AS (
    INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, lane)
    SELECT tenant_id, $9, delivery_id, trace_id, template_id FROM told ORDER BY place
    RETURNING job_id, subject
)
INSERT INTO chamberlain.delivery (
    tenant_id, delivery_id, event_id, type, request_id, template_id, url, job_id, payload, trace_id
)
SELECT told.tenant_id, told.delivery_id, told.event_id, told.type, told.request_id, told.template_id, told.url,
    queued.job_id, told.payload, told.trace_id
FROM told JOIN queued ON queued.subject = told.delivery_id

-- name: cancel
-- Running deliveries are skipped and notice it themselves. Deliveries are locked before their jobs, as in a
-- redelivery.
WITH pending AS MATERIALIZED (
    SELECT delivery_id, job_id FROM chamberlain.delivery
    WHERE tenant_id = $1 AND template_id = $2 AND state = 'pending' AND state <> 'succeeded' FOR UPDATE SKIP LOCKED
), withdrawn AS (
    DELETE FROM chamberlain.job WHERE job_id = ANY (ARRAY(
        SELECT j.job_id FROM chamberlain.job j
        WHERE j.tenant_id = $1 AND j.job_id IN (SELECT job_id FROM pending)
        AND (j.lease_until IS NULL OR j.lease_until < now()) FOR UPDATE SKIP LOCKED
    )) RETURNING subject
)
UPDATE chamberlain.delivery d SET state = 'cancelled', job_id = NULL FROM withdrawn w
WHERE d.tenant_id = $1 AND d.delivery_id = w.subject

-- name: page
-- Read a page of events. $1 tenant, $2 the position to start after, $3 number of events.
SELECT e.event_id, e.type, e.at, e.request_id, e.tenant_id, e.data, e.position FROM chamberlain.event e
WHERE e.tenant_id = $1 AND e.position > $2 ORDER BY e.position, e.sequence LIMIT $3

-- name: page_of_type
-- Read a page of the events of a type. $4 type, else as above.
SELECT e.event_id, e.type, e.at, e.request_id, e.tenant_id, e.data, e.position FROM chamberlain.event e
WHERE e.tenant_id = $1 AND e.type = $4 AND e.position > $2 ORDER BY e.position, e.sequence LIMIT $3

-- name: page_of_request
-- Read a page of the events of a request, all or those of a type. $4 request, $5 type, else as above. A request has few
-- events: all are read (OFFSET 0) and sorted.
SELECT e.event_id, e.type, e.at, e.request_id, e.tenant_id, e.data, e.position FROM (
    SELECT event_id, type, at, request_id, tenant_id, data, position, sequence FROM chamberlain.event
    WHERE tenant_id = $1 AND request_id = $4 OFFSET 0
) e
WHERE e.position > $2 AND ($5::text IS NULL OR e.type = $5) ORDER BY e.position, e.sequence LIMIT $3

-- name: tip
-- Find the last position of a tenant, and whether it has events without a position.
SELECT (SELECT max(e.position) FROM chamberlain.event e WHERE e.tenant_id = $1) AS newest,
    EXISTS (SELECT FROM chamberlain.event e WHERE e.tenant_id = $1 AND e.position IS NULL) AS is_unplaced

-- name: count_after
-- Count the events of a tenant after position $2, at most $3.
SELECT count(*) AS number FROM (
    SELECT FROM chamberlain.event e WHERE e.tenant_id = $1 AND e.position > $2 ORDER BY e.position LIMIT $3
) next

-- name: note_reader
-- Store the read of a tenant's events, once a day. A tenant that is being changed is skipped.
UPDATE chamberlain.tenant SET events_read_at = now() WHERE tenant_id = (
    SELECT t.tenant_id FROM chamberlain.tenant t
    WHERE t.tenant_id = $1 AND coalesce(t.events_read_at < now() - interval '1 day', true)
    FOR NO KEY UPDATE SKIP LOCKED
)

-- name: place
-- Find the next events of the tenant in commit order.
SELECT chamberlain.place_events($1, $2)
