-- name: domains
-- Find the domains that other tenants have.
SELECT tenant_id, domain FROM chamberlain.tenant CROSS JOIN LATERAL unnest(domains) domain
WHERE domains && $1 AND domain = ANY ($1) AND tenant_id <> ALL ($2)

-- name: assigned
-- List the templates and policies that are assigned.
SELECT t.tenant_id, t.template_id AS id FROM chamberlain.template t WHERE t.tenant_id = ANY ($1)
AND EXISTS (SELECT FROM chamberlain.subject s WHERE s.tenant_id = t.tenant_id AND s.template_id = t.template_id)
UNION ALL
SELECT p.tenant_id, p.policy_id FROM chamberlain.policy p WHERE p.tenant_id = ANY ($1)
AND EXISTS (SELECT FROM chamberlain.subject s WHERE s.tenant_id = p.tenant_id AND s.policy_id = p.policy_id)

-- name: snapshot
-- Read the whole plan in one snapshot.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: wait
-- Limit the wait for the lock of the configuration.
SELECT set_config('lock_timeout', $1, true)

-- name: lock
-- Lock the configuration until the end of the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('chamberlain.configuration', 0))
