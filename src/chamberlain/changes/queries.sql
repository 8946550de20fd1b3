-- SPDX-License-Identifier: Apache-2.0
-- name: append
-- Append events in this order.
INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data)
SELECT event_id, tenant_id, type, request_id, at, data::json
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::timestamptz[], $6::text[])
    AS e (event_id, tenant_id, type, request_id, at, data)

-- name: record_audit
-- Append an audit row. The transaction gets its id before the row gets its sequence, even if this row is its first
-- write: the sealing relies on that (sql/seals.sql). The condition forces the evaluation.
INSERT INTO chamberlain.audit (tenant_id, action, request_id, trace_id, payload)
SELECT $1::uuid, $2::text, $3::uuid, $4::text, $5::json
FROM (SELECT pg_current_xact_id() AS number OFFSET 0) begun WHERE begun.number IS NOT NULL

-- name: record_audits
-- Append audit rows.
INSERT INTO chamberlain.audit (tenant_id, action, request_id, trace_id, payload)
SELECT a.tenant_id, a.action, a.request_id, a.trace_id, a.payload::json
FROM (SELECT pg_current_xact_id() AS number OFFSET 0) begun
CROSS JOIN unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::text[]) WITH ORDINALITY
    AS a (tenant_id, action, request_id, trace_id, payload, place)
WHERE begun.number IS NOT NULL ORDER BY a.place
