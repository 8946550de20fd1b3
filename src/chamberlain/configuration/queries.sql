-- SPDX-License-Identifier: Apache-2.0
-- name: domains
-- Find the domains that other tenants have.
SELECT tenant_id, domain FROM chamberlain.tenant CROSS JOIN LATERAL unnest(domains) domain
WHERE domains && $1 AND domain = ANY ($1) AND tenant_id <> ALL ($2)

-- name: assigned
-- Count the groups and sites of each assigned template and policy.
SELECT tenant_id, template_id AS id, count(*) AS subjects FROM chamberlain.subject
WHERE tenant_id = ANY ($1) AND template_id IS NOT NULL GROUP BY tenant_id, template_id
UNION ALL
SELECT tenant_id, policy_id, count(*) FROM chamberlain.subject
WHERE tenant_id = ANY ($1) AND policy_id IS NOT NULL GROUP BY tenant_id, policy_id

-- name: subjects
-- Find groups and sites by ids, names or addresses. Only addresses need a scan of the tenant.
SELECT tenant_id, subject_id, type, display_name, lower(mail) AS mail, lower(rtrim(site_url, '/')) AS site_url,
    template_id, policy_id
FROM chamberlain.subject
WHERE tenant_id = $1 AND subject_id IN (
    SELECT unnest($2::uuid[])
    UNION
    SELECT s.subject_id FROM chamberlain.subject s
    WHERE s.tenant_id = $1 AND s.type IN ('group', 'site') AND s.is_assigned IN (true, false) AND s.name_key = ANY ($3)
    UNION
    SELECT s.subject_id FROM chamberlain.subject s
    WHERE cardinality($4::text[]) > 0 AND s.tenant_id = $1
        AND (lower(s.mail) = ANY ($4) OR lower(rtrim(s.site_url, '/')) = ANY ($4))
)
ORDER BY subject_id

-- name: assigned_subjects
-- List the groups and sites with an assignment, by name.
SELECT tenant_id, subject_id, type, display_name, lower(mail) AS mail, lower(rtrim(site_url, '/')) AS site_url,
    template_id, policy_id
FROM chamberlain.subject WHERE tenant_id = ANY ($1) AND is_assigned ORDER BY tenant_id, type, name_key, subject_id

-- name: snapshot
-- Read the whole plan in one snapshot.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: wait
-- Limit the wait for the lock of the configuration.
SELECT set_config('lock_timeout', $1, true)

-- name: lock
-- Lock the configuration until the end of the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('chamberlain.configuration', 0))
