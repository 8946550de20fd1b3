-- name: queue_missing_jobs
-- Queue the discovery job of each tenant without one. A tenant has a row here from the moment on when it has its job.
WITH met AS (
    INSERT INTO chamberlain.discovery (tenant_id)
    SELECT t.tenant_id FROM chamberlain.tenant t
    WHERE NOT EXISTS (SELECT FROM chamberlain.discovery d WHERE d.tenant_id = t.tenant_id)
    ON CONFLICT DO NOTHING RETURNING tenant_id
)
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) SELECT tenant_id, $1, tenant_id, $2 FROM met

-- name: find
-- Read the state of a tenant's discovery.
SELECT position, scan_began_at FROM chamberlain.discovery WHERE tenant_id = $1

-- name: save
-- Save the state of a tenant's discovery.
UPDATE chamberlain.discovery SET position = $2, scan_began_at = $3 WHERE tenant_id = $1

-- name: lock_assigned
-- Lock assigned groups that are gone. Held until they are removed, so that nothing is assigned to them in between.
-- All transactions lock them in this order.
SELECT tenant_id, subject_id, type, display_name, template_id, policy_id FROM chamberlain.subject
WHERE tenant_id = $1 AND subject_id = ANY ($2) ORDER BY tenant_id, subject_id FOR UPDATE

-- name: delete
-- Delete the state of a deleted tenant.
DELETE FROM chamberlain.discovery WHERE tenant_id = $1
