-- SPDX-License-Identifier: Apache-2.0
-- name: find
-- Find a tenant.
SELECT tenant_id, revision, name, domains, administrator_users, administrator_groups, extension_prefix, suspended,
    open_requests, running_jobs, requests_per_minute, applicability, repair_drift, repair_properties, former_prefixes
FROM chamberlain.tenant WHERE tenant_id = $1

-- name: find_all
-- Find tenants, the oldest first; in the worker's role.
SELECT tenant_id, revision, name, domains, administrator_users, administrator_groups, extension_prefix, suspended,
    open_requests, running_jobs, requests_per_minute, applicability, repair_drift, repair_properties, former_prefixes
FROM chamberlain.tenant WHERE $1::uuid[] IS NULL OR tenant_id = ANY ($1) ORDER BY created_at, tenant_id

-- name: full_limit
-- Return the exhausted limit of a tenant, or null. Tenants without limits take no lock.
SELECT CASE WHEN t.open_requests IS NOT NULL OR t.requests_per_minute IS NOT NULL
    THEN (SELECT r.full_limit FROM chamberlain.room_of(t.tenant_id) r) END AS full_limit
FROM chamberlain.tenant t WHERE t.tenant_id = $1

-- name: put
-- Create or update a tenant. The revision grows only if a value changes.
INSERT INTO chamberlain.tenant AS t (tenant_id, name, domains, administrator_users, administrator_groups,
extension_prefix, open_requests, running_jobs, requests_per_minute, applicability, repair_drift,
repair_properties)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (tenant_id) DO UPDATE SET
    revision = t.revision + 1, updated_at = now(), name = excluded.name, domains = excluded.domains,
    administrator_users = excluded.administrator_users, administrator_groups = excluded.administrator_groups,
    extension_prefix = excluded.extension_prefix, open_requests = excluded.open_requests,
    running_jobs = excluded.running_jobs, requests_per_minute = excluded.requests_per_minute,
    applicability = excluded.applicability, repair_drift = excluded.repair_drift,
    repair_properties = excluded.repair_properties
WHERE (t.name, t.domains, t.administrator_users, t.administrator_groups, t.extension_prefix, t.open_requests,
    t.running_jobs, t.requests_per_minute, t.applicability, t.repair_drift, t.repair_properties) IS DISTINCT FROM
    (excluded.name, excluded.domains, excluded.administrator_users, excluded.administrator_groups,
    excluded.extension_prefix, excluded.open_requests, excluded.running_jobs, excluded.requests_per_minute,
    excluded.applicability, excluded.repair_drift, excluded.repair_properties)
RETURNING revision

-- name: suspend
-- Suspend or resume a tenant. Processes with a cached tenant notice it at the next commit.
UPDATE chamberlain.tenant SET suspended = $2, revision = revision + 1, updated_at = now()
WHERE tenant_id = $1 AND suspended <> $2
RETURNING tenant_id

-- name: set_directory
-- Park the jobs of a tenant that use its directory, or let them run; with `lanes` they run in a lane of the tenant.
UPDATE chamberlain.tenant SET directory_parked = $2, directory_lanes = $3
WHERE tenant_id = $1 AND (directory_parked, directory_lanes) IS DISTINCT FROM ($2, $3)

-- name: put_issuer
-- Register an issuer, unless another tenant has it.
INSERT INTO chamberlain.issuer (tenant_id, issuer, tid, audiences) VALUES ($1, $2, $3, $4)
ON CONFLICT (issuer, tid) DO UPDATE SET audiences = excluded.audiences WHERE issuer.tenant_id = excluded.tenant_id

-- name: remove_issuer
-- Remove an issuer.
DELETE FROM chamberlain.issuer WHERE tenant_id = $1 AND issuer = $2 AND tid IS NOT DISTINCT FROM $3

-- name: issuers
-- Find the issuers of tenants.
SELECT tenant_id, issuer, tid, audiences FROM chamberlain.issuer
WHERE tenant_id = ANY ($1) ORDER BY tenant_id, issuer, tid NULLS FIRST

-- name: holders
-- Find the owners of issuers, each given with its tid; in the worker's role.
SELECT i.tenant_id, i.issuer, i.tid, i.audiences FROM chamberlain.issuer i
JOIN unnest($1::text[], $2::text[]) AS w (issuer, tid) ON i.issuer = w.issuer AND i.tid IS NOT DISTINCT FROM w.tid

-- name: times
-- Find a tenant with its issuers.
SELECT created_at, updated_at FROM chamberlain.tenant WHERE tenant_id = $1

-- name: lock
-- Locks only the row of the tenant; inserts of its other rows continue.
SELECT FROM chamberlain.tenant WHERE tenant_id = $1 FOR NO KEY UPDATE
