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

-- name: place
-- Find the next events of the tenant in commit order.
SELECT chamberlain.place_events($1, $2)
