-- name: claim
-- Claim due jobs of every tenant, the oldest first. The walk over tenants costs one index probe each, for any number
-- of jobs. Shares are even. A tenant with as many leases as its limit, or that of all tenants, gets nothing. With more
-- tenants than jobs to claim the choice is random, so that none starves. An expired lease means that a run was cut
-- short, and counts as an attempt. Kinds that only newer workers know are left to them, and jobs with a lane to
-- lanes.py. Jobs of a suspended tenant are idle, except the one that seals its audit trail, which has its own index.
WITH RECURSIVE tenant AS (
    (SELECT tenant_id FROM chamberlain.job WHERE held_reason IS NULL AND lane IS NULL ORDER BY tenant_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT j.tenant_id FROM chamberlain.job j
        WHERE j.held_reason IS NULL AND j.lane IS NULL AND j.tenant_id > tenant.tenant_id
        ORDER BY j.tenant_id LIMIT 1
    )
    FROM tenant WHERE tenant.tenant_id IS NOT NULL
), due AS (
    SELECT tenant.tenant_id, least($4, t.running_jobs) AS most_running
    FROM tenant LEFT JOIN chamberlain.tenant t USING (tenant_id) CROSS JOIN LATERAL (
        SELECT FROM chamberlain.job j
        WHERE j.tenant_id = tenant.tenant_id AND j.held_reason IS NULL AND j.lane IS NULL AND j.run_at <= now()
        AND (j.lease_until IS NULL OR j.lease_until < now()) AND j.kind = ANY ($5)
        ORDER BY j.run_at LIMIT 1
    ) oldest
    WHERE t.suspended IS NOT TRUE
    ORDER BY random() LIMIT $2
), share AS (
    SELECT due.tenant_id, least(
        ceil($2::numeric / count(*) OVER ()),
        due.most_running - (
            SELECT count(*) FROM (
                SELECT j.lease_until FROM chamberlain.job j
                WHERE j.tenant_id = due.tenant_id AND j.held_reason IS NULL AND j.lane IS NULL AND j.run_at <= now()
                ORDER BY j.run_at LIMIT due.most_running
            ) front WHERE front.lease_until >= now()
        )
    )::integer AS most
    FROM due
), picked AS (
    SELECT next.job_id FROM share CROSS JOIN LATERAL (
        SELECT j.job_id FROM chamberlain.job j
        WHERE j.tenant_id = share.tenant_id AND j.held_reason IS NULL AND j.lane IS NULL AND j.run_at <= now()
        AND (j.lease_until IS NULL OR j.lease_until < now()) AND j.kind = ANY ($5)
        ORDER BY j.run_at LIMIT greatest(share.most, 0)
        FOR UPDATE SKIP LOCKED
    ) next
    LIMIT $2
), sealing AS (
    SELECT seal.job_id FROM tenant JOIN chamberlain.tenant t USING (tenant_id) CROSS JOIN LATERAL (
        SELECT j.job_id FROM chamberlain.job j
        WHERE j.tenant_id = tenant.tenant_id AND j.kind = 'auditSeal' AND j.held_reason IS NULL AND j.run_at <= now()
        AND (j.lease_until IS NULL OR j.lease_until < now()) AND j.kind = ANY ($5)
        FOR UPDATE SKIP LOCKED
    ) seal
    WHERE t.suspended
    LIMIT $2
)
UPDATE chamberlain.job SET
    lease_id = $1, lease_until = now() + $3, attempts = attempts + (lease_until IS NOT NULL)::integer
WHERE job_id = ANY (ARRAY(
    SELECT sealing.job_id FROM sealing UNION ALL SELECT picked.job_id FROM picked LIMIT $2
))
RETURNING job_id, tenant_id, kind, subject, trace_id, attempts, queued_at

-- name: queue
-- Queue a job of the tenant, to run after the commit.
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) VALUES ($1, $2, $3, $4)

-- name: queue_at
-- Queue a job of the tenant for a later time.
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, run_at) VALUES ($1, $2, $3, $4, $5)

-- name: queue_the_one
-- Queue the only job of its kind, unless it exists.
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) SELECT $1, $2, $1, $3
WHERE NOT EXISTS (SELECT FROM chamberlain.job WHERE tenant_id = $1 AND kind = $2)

-- name: renew
-- Locked rows are being finished. Waiting for them could deadlock.
UPDATE chamberlain.job SET lease_until = now() + $3
WHERE job_id = ANY (ARRAY(
    SELECT job_id FROM chamberlain.job WHERE job_id = ANY ($2) AND lease_id = ANY ($1) FOR UPDATE SKIP LOCKED
))

-- name: complete
-- Remove finished jobs.
DELETE FROM chamberlain.job WHERE lease_id = $1 AND job_id = ANY ($2) RETURNING job_id

-- name: postpone
-- Postpone jobs.
UPDATE chamberlain.job SET run_at = now() + later.after, lease_id = NULL, lease_until = NULL, attempts = 0
FROM unnest($2::bigint[], $3::interval[]) AS later (job_id, after)
WHERE job.job_id = later.job_id AND job.lease_id = $1
RETURNING job.job_id

-- name: give_back
-- Give leases back, and return the number of jobs.
UPDATE chamberlain.job SET lease_id = NULL, lease_until = NULL WHERE job_id = ANY ($2) AND lease_id = ANY ($1)
RETURNING job_id

-- name: hold
-- Hold a job for an administrator.
UPDATE chamberlain.job SET held_reason = $3, lease_id = NULL, lease_until = NULL
WHERE lease_id = $1 AND job_id = $2 RETURNING job_id

-- name: held
-- Find a page of the tenant's held jobs, newest first.
SELECT job_id, tenant_id, kind, subject, held_reason, attempts, trace_id, queued_at FROM chamberlain.job
WHERE tenant_id = $1 AND held_reason IS NOT NULL
AND ($2::timestamptz IS NULL OR (queued_at, job_id) < ($2, $3::bigint))
ORDER BY queued_at DESC, job_id DESC LIMIT $4

-- name: held_of_all
-- Find the held jobs of all tenants, oldest first.
SELECT job_id, tenant_id, kind, subject, held_reason, attempts, trace_id, queued_at FROM chamberlain.job
WHERE held_reason IS NOT NULL ORDER BY queued_at, job_id

-- name: release
-- Release a held job. $2 is null for a job of any tenant.
WITH held AS (
    SELECT job_id, held_reason, attempts FROM chamberlain.job
    WHERE job_id = $1 AND ($2::uuid IS NULL OR tenant_id = $2) AND held_reason IS NOT NULL FOR UPDATE
)
UPDATE chamberlain.job j SET held_reason = NULL, attempts = 0, run_at = now() FROM held WHERE j.job_id = held.job_id
RETURNING j.job_id, j.tenant_id, j.kind, j.subject, held.held_reason, held.attempts, j.trace_id, j.queued_at

-- name: release_of
-- Release the tenant's job with this subject, if it is held.
UPDATE chamberlain.job SET held_reason = NULL, attempts = 0, run_at = now()
WHERE tenant_id = $1 AND kind = $2 AND subject = $3 AND held_reason IS NOT NULL
