-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: ready
-- A job that a claim may find. One that is scheduled for later is not ready, nor one that is held or in a lane.
j.held_reason IS NULL AND j.lane IS NULL AND NOT j.is_scheduled

-- name: promoted
-- Make scheduled jobs ready that are due. The statement itself does not see them yet.
promoted AS (
    UPDATE chamberlain.job SET is_scheduled = false WHERE job_id = ANY (ARRAY(
        SELECT j.job_id FROM chamberlain.job j
        WHERE j.is_scheduled AND j.held_reason IS NULL AND j.lane IS NULL AND j.run_at <= now()
        ORDER BY j.run_at LIMIT 1000 FOR UPDATE SKIP LOCKED
    ))
    RETURNING 1
)

-- name: ready_tenants
-- Every tenant with a ready job, by two index probes each, for any number of jobs and of other tenants.
walked AS (
    (SELECT j.tenant_id FROM chamberlain.job j WHERE {ready} ORDER BY j.tenant_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT j.tenant_id FROM chamberlain.job j WHERE {ready} AND j.tenant_id > walked.tenant_id
        ORDER BY j.tenant_id LIMIT 1
    )
    FROM walked WHERE walked.tenant_id IS NOT NULL
), tenant AS (
    SELECT walked.tenant_id, t.running_jobs, coalesce(t.suspended, false) AS is_suspended,
        coalesce(t.directory_lanes, false) AS has_lane, coalesce(t.directory_parked, false) AS is_parked
    FROM walked LEFT JOIN LATERAL (
        SELECT t.running_jobs, t.suspended, t.directory_lanes, t.directory_parked FROM chamberlain.tenant t
        WHERE t.tenant_id = walked.tenant_id LIMIT 1
    ) t ON true
    WHERE walked.tenant_id IS NOT NULL
)

-- name: picked
-- The due jobs of the tenants of `due`, the oldest first, in even shares. A tenant with as many leases as its limit gets
-- nothing.
share AS (
    SELECT due.tenant_id, due.kinds, least(
        ceil($2::numeric / count(*) OVER ()),
        due.most_running - (
            SELECT count(*) FROM (
                SELECT j.lease_until FROM chamberlain.job j
                WHERE j.tenant_id = due.tenant_id AND {ready} AND j.run_at <= now()
                ORDER BY j.run_at LIMIT due.most_running
            ) front WHERE front.lease_until >= now()
        )
    )::integer AS most
    FROM due
), picked AS (
    SELECT next.job_id FROM share CROSS JOIN LATERAL (
        SELECT j.job_id FROM chamberlain.job j
        WHERE j.tenant_id = share.tenant_id AND {ready} AND j.run_at <= now()
        AND (j.lease_until IS NULL OR j.lease_until < now()) AND j.kind = ANY (share.kinds)
        ORDER BY j.run_at LIMIT greatest(share.most, 0)
        FOR UPDATE SKIP LOCKED
    ) next
    LIMIT $2
)

-- name: due
-- The tenants of a claim with a due job, out of `able` with the kinds of each. With more tenants than jobs to claim the
-- choice is random, so that none starves. The jobs of the installation come first: they are few, and sweep all tenants.
due AS (
    SELECT able.tenant_id, able.kinds, least($4, able.running_jobs) AS most_running
    FROM able CROSS JOIN LATERAL (
        SELECT FROM chamberlain.job j
        WHERE j.tenant_id = able.tenant_id AND {ready} AND j.run_at <= now()
        AND (j.lease_until IS NULL OR j.lease_until < now()) AND j.kind = ANY (able.kinds)
        ORDER BY j.run_at LIMIT 1
    ) oldest
    ORDER BY able.tenant_id <> '00000000-0000-0000-0000-000000000000', random() LIMIT $2
)

-- name: claim
-- Claim due jobs of every tenant, the oldest first. An expired lease means that a run was cut short, and counts as an
-- attempt. Kinds that only newer workers know are left to them, and jobs with a lane to lanes.py. So are the kinds that
-- use the directory of a tenant with a lane, and those of a parked directory wait: $6 are the other kinds. Jobs of a
-- suspended tenant are idle, except the one that seals its audit trail, which has its own index. A row without values
-- says that jobs became ready, which only the next statement finds.
WITH RECURSIVE {promoted}, {ready_tenants}, able AS (
    SELECT tenant.tenant_id, tenant.running_jobs,
        CASE WHEN tenant.has_lane OR tenant.is_parked THEN $6::text[] ELSE $5::text[] END AS kinds
    FROM tenant WHERE NOT tenant.is_suspended AND NOT ((tenant.has_lane OR tenant.is_parked) AND $6::text[] = '{}')
), {due}, {picked}, sealing AS (
    SELECT seal.job_id FROM tenant CROSS JOIN LATERAL (
        SELECT j.job_id FROM chamberlain.job j
        WHERE j.tenant_id = tenant.tenant_id AND j.kind = 'auditSeal' AND j.held_reason IS NULL AND j.run_at <= now()
        AND (j.lease_until IS NULL OR j.lease_until < now()) AND j.kind = ANY ($5)
        FOR UPDATE SKIP LOCKED
    ) seal
    WHERE tenant.is_suspended
    LIMIT $2
), claimed AS (
    UPDATE chamberlain.job SET
        lease_id = $1, lease_until = now() + $3, attempts = attempts + (lease_until IS NOT NULL)::integer
    WHERE job_id = ANY (ARRAY(
        SELECT sealing.job_id FROM sealing UNION ALL SELECT picked.job_id FROM picked LIMIT $2
    ))
    RETURNING job_id, tenant_id, kind, subject, trace_id, attempts, queued_at
)
SELECT job_id, tenant_id, kind, subject, trace_id, attempts, queued_at FROM claimed
UNION ALL
(SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM promoted LIMIT 1)

-- name: claim_from_directory_lanes
-- Claim due jobs of tenants whose directory has a lane, at most $4 of each. $6 names tenants; $7 selects only these, or
-- all others. The directory of a parked tenant is not asked. A row without values means the same as above.
WITH RECURSIVE {promoted}, {ready_tenants}, able AS (
    SELECT tenant.tenant_id, tenant.running_jobs, $5::text[] AS kinds
    FROM tenant
    WHERE tenant.has_lane AND NOT tenant.is_parked AND NOT tenant.is_suspended
    AND $7 = (tenant.tenant_id = ANY ($6::uuid[]))
), {due}, {picked}, claimed AS (
    UPDATE chamberlain.job SET
        lease_id = $1, lease_until = now() + $3, attempts = attempts + (lease_until IS NOT NULL)::integer
    WHERE job_id = ANY (ARRAY(SELECT picked.job_id FROM picked))
    RETURNING job_id, tenant_id, kind, subject, trace_id, attempts, queued_at
)
SELECT job_id, tenant_id, kind, subject, trace_id, attempts, queued_at FROM claimed
UNION ALL
(SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM promoted LIMIT 1)

-- name: has_directory_lanes
-- Return whether a tenant has a directory with a lane.
SELECT EXISTS (SELECT FROM chamberlain.tenant t WHERE t.directory_lanes) AS has_lanes

-- name: queue
-- Queue a job of the tenant, to run after the commit.
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) VALUES ($1, $2, $3, $4)

-- name: queue_at
-- Queue a job of the tenant for a later time.
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, run_at, is_scheduled)
VALUES ($1, $2, $3, $4, $5, $5 > now())

-- name: queue_the_one
-- Queue the only job of its kind, unless it exists.
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) SELECT $1, $2, $1, $3
WHERE NOT EXISTS (SELECT FROM chamberlain.job WHERE tenant_id = $1 AND kind = $2)

-- name: may_sleep
-- Find the migration that runs once no older process is left. An older process does not wake jobs that sleep.
SELECT FROM migration.applied WHERE file_name = '0067_scheduled_jobs.post.sql'

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
UPDATE chamberlain.job SET
    run_at = now() + later.after, is_scheduled = later.after > interval '0', lease_id = NULL, lease_until = NULL,
    attempts = 0
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
