# SPDX-License-Identifier: Apache-2.0
"""Queue jobs, and claim them in turn for each tenant.

A job for a later time is scheduled, and no claim looks at it. Claims make the due ones ready.
Leases end by the clock of the database. Claims run in the worker's role, which sees every tenant.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from chamberlain.core.ids import JobId, TenantId, TraceId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import PLANNING, Record, Transaction
from chamberlain.queries import load_queries
from chamberlain.queue import models

SQL = load_queries(__name__)
CLAIM = SQL["claim"]
QUEUE = SQL["queue"]
RENEW = SQL["renew"]
COMPLETE = SQL["complete"]

# A cancelled request needs no job. A running one ends by itself, so it is not waited for. The kind is part of the
# text, so that every plan uses the index of that kind (migration 0033).
WITHDRAW = {
    kind: f"""
DELETE FROM chamberlain.job WHERE job_id = ANY (ARRAY(
    SELECT job_id FROM chamberlain.job
    WHERE tenant_id = $1 AND kind = '{kind}' AND subject = $2 AND (lease_until IS NULL OR lease_until < now())
    FOR UPDATE SKIP LOCKED
))
"""  # noqa: S608 - kinds are ours.
    for kind in models.JobKind
}


NEWER = {
    kind: f"""
SELECT FROM chamberlain.job WHERE tenant_id = $1 AND kind = '{kind}' AND subject = $2 AND job_id > $3 LIMIT 1
"""
    for kind in models.JobKind
}

GIVE_BACK = SQL["give_back"]

_DUE: Final = f"""
FROM tenant CROSS JOIN LATERAL (
    SELECT front.run_at, tenant.is_parked AND front.kind = ANY ($2) AS is_parked FROM (
        SELECT j.run_at, j.kind FROM chamberlain.job j
        WHERE NOT tenant.is_suspended AND j.tenant_id = tenant.tenant_id AND {SQL["ready"]} AND j.run_at <= now()
        ORDER BY j.run_at LIMIT CASE WHEN tenant.is_parked THEN $1 ELSE {{most}} END
    ) front
    UNION ALL
    SELECT j.run_at, false FROM chamberlain.job j
    WHERE tenant.is_suspended AND j.tenant_id = tenant.tenant_id AND j.kind = 'auditSeal'
    AND j.held_reason IS NULL AND j.run_at <= now()
) waiting
"""  # noqa: S608 - text of ours alone.
_ALL_DUE: Final = _DUE.format(most="$1")

# Jobs in a lane wait for a receiver, and say nothing about workers. Only due jobs are counted, tenant by tenant, at
# most $1. $2 are the kinds that use a directory: those of a parked one wait for their connection. The oldest of each
# tenant is compared. Jobs that are due but not ready yet, `late`, are few while a worker runs.
MEASURE: Final = f"""
WITH RECURSIVE {SQL["ready_tenants"]}, late AS MATERIALIZED (
    SELECT front.run_at, coalesce(t.directory_parked AND front.kind = ANY ($2), false) AS is_parked FROM (
        SELECT j.tenant_id, j.run_at, j.kind FROM chamberlain.job j
        WHERE j.is_scheduled AND j.held_reason IS NULL AND j.lane IS NULL AND j.run_at <= now()
        ORDER BY j.run_at LIMIT $1
    ) front LEFT JOIN LATERAL (
        SELECT t.suspended, t.directory_parked FROM chamberlain.tenant t WHERE t.tenant_id = front.tenant_id LIMIT 1
    ) t ON true
    WHERE t.suspended IS NOT TRUE OR front.kind = 'auditSeal'
)
SELECT (
    SELECT count(*) FROM (
        SELECT waiting.run_at {_ALL_DUE} WHERE NOT waiting.is_parked
        UNION ALL
        SELECT late.run_at FROM late WHERE NOT late.is_parked
        LIMIT $1
    ) counted
) AS due, (
    SELECT count(*) FROM (
        SELECT waiting.run_at {_ALL_DUE} WHERE tenant.is_parked AND waiting.is_parked
        UNION ALL
        SELECT late.run_at FROM late WHERE late.is_parked
        LIMIT $1
    ) counted
) AS parked, (
    SELECT count(*) FROM (
        SELECT j.job_id FROM chamberlain.job j
        WHERE j.held_reason IS NOT NULL AND (
            j.kind = 'auditSeal'
            OR NOT EXISTS (SELECT FROM chamberlain.tenant t WHERE t.tenant_id = j.tenant_id AND t.suspended)
        )
        LIMIT $1
    ) counted
) AS held, coalesce(now() - least(
    (SELECT min(waiting.run_at) {_DUE.format(most=1)} WHERE NOT waiting.is_parked),
    (SELECT min(late.run_at) FROM late WHERE NOT late.is_parked)
), interval '0') AS oldest
"""  # noqa: S608 - as above.


async def queue(tx: Transaction, kind: models.JobKind, subject: UUID, trace_id: TraceId) -> None:
    """Queue a job of the tenant, to run after the commit."""
    await tx.execute(QUEUE, tx.tenant_id, kind, subject, trace_id)


async def queue_at(tx: Transaction, kind: models.JobKind, subject: UUID, trace_id: TraceId, *, at: datetime) -> None:
    """Queue a job of the tenant for a later time."""
    await tx.execute(SQL["queue_at"], tx.tenant_id, kind, subject, trace_id, at)


async def queue_the_one(tx: Transaction, kind: models.JobKind, trace_id: TraceId) -> None:
    """Queue the only job of its kind, unless it exists.

    It belongs to no tenant.
    """
    # Serialize processes that start together, so that each sees the job of the other.
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended('job ' || $1, 0))", kind)
    await tx.execute(SQL["queue_the_one"], models.NOBODY, kind, trace_id)


async def may_sleep(tx: Transaction) -> bool:
    """Return whether jobs may sleep until a sweep wakes them."""
    return await tx.fetch_row(SQL["may_sleep"]) is not None


async def claim(
    tx: Transaction, lease_id: UUID, *, kinds: Iterable[models.JobKind], most: int, lease: timedelta, tenant_limit: int
) -> Sequence[models.Job]:
    """Claim up to `most` due jobs of these kinds under `lease_id`.

    A tenant never has more than about `tenant_limit` leased.
    """
    wanted = list(kinds)
    apart = [kind for kind in wanted if kind not in models.USING_DIRECTORY]
    return await _claim(tx, CLAIM, lease_id, most, lease, tenant_limit, wanted, apart)


async def claim_from_directory_lanes(
    tx: Transaction,
    lease_id: UUID,
    *,
    kinds: Iterable[models.JobKind],
    most: int,
    of_one: int,
    lease: timedelta,
    named: Collection[models.Lane],
    only_named: bool,
) -> Sequence[tuple[models.Lane, models.Job]]:
    """Claim up to `most` due jobs of tenants with a directory lane.

    The lane is named by its tenant. Otherwise as `claim_from_lanes`.
    """
    tenants = [tenant_id for tenant_id, _ in named]
    statement = SQL["claim_from_directory_lanes"]
    found = await _claim(tx, statement, lease_id, most, lease, of_one, list(kinds), tenants, only_named)
    return [((job.tenant_id, job.tenant_id), job) for job in found]


async def has_directory_lanes(tx: Transaction) -> bool:
    """Return whether a tenant has a directory with a lane."""
    (row,) = await tx.fetch(SQL["has_directory_lanes"])
    return bool(row["has_lanes"])


async def _claim(tx: Transaction, statement: str, lease_id: UUID, most: int, *values: object) -> list[models.Job]:
    """Claim, and claim again if scheduled jobs became ready."""
    found: list[models.Job] = []
    for _ in range(2):
        rows = await tx.fetch(statement, lease_id, most - len(found), *values)
        found += [job_of(row) for row in rows if row["job_id"] is not None]
        if len(found) >= most or all(row["job_id"] is not None for row in rows):
            break
    return found


async def renew(tx: Transaction, claims: Sequence[models.Claim], lease: timedelta) -> None:
    """Renew leases."""
    await tx.execute(RENEW, *_claimed(claims), lease)


async def complete(tx: Transaction, lease_id: UUID, job_ids: Sequence[JobId]) -> frozenset[JobId]:
    """Remove finished jobs.

    Returns those whose lease was still held. Other workers have claimed the rest.
    """
    rows = await tx.fetch(COMPLETE, lease_id, job_ids) if job_ids else ()
    return frozenset(JobId(row["job_id"]) for row in rows)


async def withdraw(tx: Transaction, kind: models.JobKind, subject: UUID) -> None:
    """Remove a job of the tenant, unless it is running."""
    await tx.execute(WITHDRAW[kind], tx.tenant_id, subject)


async def postpone(tx: Transaction, lease_id: UUID, postponed: Sequence[models.Postponed]) -> frozenset[JobId]:
    """Postpone jobs.

    Returns those whose lease was still held.
    """
    if not postponed:
        return frozenset()
    rows = await tx.fetch(SQL["postpone"], lease_id, [p.job_id for p in postponed], [p.after for p in postponed])
    return frozenset(JobId(row["job_id"]) for row in rows)


async def has_newer(tx: Transaction, job: models.Job) -> bool:
    """Return whether a later job has the same subject."""
    return await tx.fetch_row(NEWER[job.kind], job.tenant_id, job.subject, job.id) is not None


async def give_back(tx: Transaction, claims: Sequence[models.Claim]) -> int:
    """Give leases back, and return the number of jobs."""
    return len(await tx.fetch(GIVE_BACK, *_claimed(claims)))


async def measure(tx: Transaction, *, most: int = models.MOST_COUNTED) -> models.QueueDepth:
    """Measure the backlog without idle jobs.

    At most `most` jobs are counted.
    """
    await tx.execute(PLANNING)
    (row,) = await tx.fetch(MEASURE, most, list(models.USING_DIRECTORY))
    return models.QueueDepth(row["due"], row["held"], row["oldest"], row["parked"])


def _claimed(claims: Sequence[models.Claim]) -> tuple[list[UUID], list[JobId]]:
    return [claim.lease_id for claim in claims], [job.id for claim in claims for job in claim.jobs]


def job_of(row: Record) -> models.Job:
    """Decode a job."""
    return models.Job(
        id=JobId(row["job_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        kind=models.JobKind(row["kind"]),
        subject=row["subject"],
        trace_id=TraceId(row["trace_id"]),
        attempts=row["attempts"],
        queued_at=row["queued_at"],
    )


# UNDER_WAY looks up the requests of so many due jobs in a few milliseconds.
FEW_DUE: Final = 1_000


COUNT_DUE: Final = f"""
SELECT count(*) AS number FROM (
    SELECT FROM chamberlain.job j
    WHERE j.tenant_id = $1 AND j.held_reason IS NULL AND j.lane IS NULL AND j.run_at <= now() LIMIT {FEW_DUE + 1}
) due
"""  # noqa: S608 - as above.


async def are_few_due(tx: Transaction) -> bool:
    """Return whether each due job of the tenant may be looked up."""
    (row,) = await tx.fetch(COUNT_DUE, tx.tenant_id)
    return int(row["number"]) <= FEW_DUE


HELD: Final = SQL["held"]


async def hold(tx: Transaction, lease_id: UUID, job_id: JobId, reason: str) -> bool:
    """Hold a job for an administrator.

    Returns False if another worker has claimed it.
    """
    return await tx.fetch_row(SQL["hold"], lease_id, job_id, reason) is not None


async def find_page(tx: Transaction, page: PageWanted) -> Page[models.HeldJob]:
    """Find a page of the tenant's held jobs, newest first."""
    after = page.after
    number = after and models.job_id_of(after.id)
    rows = await tx.fetch(HELD, tx.tenant_id, after and after.created_at, number, page.limit + 1)
    found = [_held(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(found, None)
    return Page(found, Position(found[-1].queued_at, found[-1].public_id))


async def find_all(tx: Transaction) -> Sequence[models.HeldJob]:
    """Find the held jobs of all tenants, oldest first."""
    return [_held(row) for row in await tx.fetch(SQL["held_of_all"])]


async def release(tx: Transaction, job_id: JobId) -> models.HeldJob | None:
    """Release a held job of the tenant.

    Returns it as it was held, or None if there is no such job.
    """
    row = await tx.fetch_row(SQL["release"], job_id, tx.tenant_id)
    return _held(row) if row else None


async def release_of_any(tx: Transaction, job_id: JobId) -> models.HeldJob | None:
    """Release a held job of any tenant, for the command line."""
    row = await tx.fetch_row(SQL["release"], job_id, None)
    return _held(row) if row else None


async def release_of(tx: Transaction, kind: models.JobKind, subject: UUID) -> None:
    """Release the tenant's job with this subject, if it is held."""
    await tx.execute(SQL["release_of"], tx.tenant_id, kind, subject)


def _held(row: Record) -> models.HeldJob:
    return models.HeldJob(
        id=JobId(row["job_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        kind=row["kind"],
        subject=row["subject"],
        held_reason=row["held_reason"],
        attempts=row["attempts"],
        trace_id=TraceId(row["trace_id"]),
        queued_at=row["queued_at"],
    )


# Every lane with a job, by one index probe each, for any number of jobs.
_LANES: Final = """lane AS (
    (
        SELECT tenant_id, lane FROM chamberlain.job
        WHERE held_reason IS NULL AND lane IS NOT NULL ORDER BY tenant_id, lane LIMIT 1
    )
    UNION ALL
    SELECT next.tenant_id, next.lane FROM lane CROSS JOIN LATERAL (
        SELECT j.tenant_id, j.lane FROM chamberlain.job j
        WHERE j.held_reason IS NULL AND j.lane IS NOT NULL AND (j.tenant_id, j.lane) > (lane.tenant_id, lane.lane)
        ORDER BY j.tenant_id, j.lane LIMIT 1
    ) next
)"""

# Shares are even, with at most $4 leases for each lane. With more lanes than jobs to claim the choice is random. $6
# and $7 name lanes; $8 selects only these, or all others. Jobs of a suspended tenant are idle.
CLAIM_FROM_LANES: Final = f"""
WITH RECURSIVE {_LANES}, due AS (
    SELECT lane.tenant_id, lane.lane FROM lane LEFT JOIN chamberlain.tenant t USING (tenant_id)
    CROSS JOIN LATERAL (
        SELECT FROM chamberlain.job j
        WHERE j.tenant_id = lane.tenant_id AND j.lane = lane.lane AND j.held_reason IS NULL AND j.run_at <= now()
        AND (j.lease_until IS NULL OR j.lease_until < now()) AND j.kind = ANY ($5)
        ORDER BY j.run_at LIMIT 1
    ) oldest
    WHERE t.suspended IS NOT TRUE AND $8 = EXISTS (
        SELECT FROM unnest($6::uuid[], $7::uuid[]) AS named (tenant_id, lane)
        WHERE named.tenant_id = lane.tenant_id AND named.lane = lane.lane
    )
    ORDER BY random() LIMIT $2
), share AS (
    SELECT due.tenant_id, due.lane, least(
        ceil($2::numeric / count(*) OVER ()),
        $4 - (
            SELECT count(*) FROM (
                SELECT j.lease_until FROM chamberlain.job j
                WHERE j.tenant_id = due.tenant_id AND j.lane = due.lane AND j.held_reason IS NULL AND j.run_at <= now()
                ORDER BY j.run_at LIMIT $4
            ) front WHERE front.lease_until >= now()
        )
    )::integer AS most
    FROM due
), picked AS (
    SELECT next.job_id FROM share CROSS JOIN LATERAL (
        SELECT j.job_id FROM chamberlain.job j
        WHERE j.tenant_id = share.tenant_id AND j.lane = share.lane AND j.held_reason IS NULL AND j.run_at <= now()
        AND (j.lease_until IS NULL OR j.lease_until < now()) AND j.kind = ANY ($5)
        ORDER BY j.run_at LIMIT greatest(share.most, 0)
        FOR UPDATE SKIP LOCKED
    ) next
    LIMIT $2
)
UPDATE chamberlain.job SET
    lease_id = $1, lease_until = now() + $3, attempts = attempts + (lease_until IS NOT NULL)::integer
WHERE job_id = ANY (ARRAY(SELECT picked.job_id FROM picked))
RETURNING job_id, tenant_id, kind, subject, trace_id, attempts, queued_at, lane
"""  # noqa: S608 - text of ours alone.

_DUE_IN_LANES: Final = """
FROM awake CROSS JOIN LATERAL (
    SELECT j.run_at FROM chamberlain.job j
    WHERE j.tenant_id = awake.tenant_id AND j.lane = awake.lane AND j.held_reason IS NULL AND j.run_at <= now()
    ORDER BY j.run_at LIMIT {most}
) waiting
"""

# Jobs that wait for a retry are not counted, nor more than $1 due ones. The oldest of each lane is compared.
MEASURE_LANES: Final = f"""
WITH RECURSIVE {_LANES}, awake AS (
    SELECT lane.tenant_id, lane.lane FROM lane LEFT JOIN chamberlain.tenant t USING (tenant_id)
    WHERE t.suspended IS NOT TRUE
)
SELECT (SELECT count(*) FROM (SELECT waiting.run_at {_DUE_IN_LANES.format(most="$1")} LIMIT $1) counted) AS due,
    coalesce(now() - (SELECT min(waiting.run_at) {_DUE_IN_LANES.format(most=1)}), interval '0') AS oldest
"""  # noqa: S608 - text of ours alone.


async def claim_from_lanes(
    tx: Transaction,
    lease_id: UUID,
    *,
    kinds: Iterable[models.JobKind],
    most: int,
    of_one: int,
    lease: timedelta,
    named: Collection[models.Lane],
    only_named: bool,
) -> Sequence[tuple[models.Lane, models.Job]]:
    """Claim up to `most` due jobs of lanes under `lease_id`.

    Only the named lanes are claimed, or all others. A lane never has more than about `of_one` leased.
    """
    tenants, lanes = [tenant_id for tenant_id, _ in named], [lane for _, lane in named]
    rows = await tx.fetch(CLAIM_FROM_LANES, lease_id, most, lease, of_one, list(kinds), tenants, lanes, only_named)
    return [((job_of(row).tenant_id, row["lane"]), job_of(row)) for row in rows]


async def measure_lanes(tx: Transaction, *, most: int = models.MOST_COUNTED) -> models.LaneDepth:
    """Measure the backlog of lanes without idle jobs.

    At most `most` jobs are counted.
    """
    await tx.execute(PLANNING)
    (row,) = await tx.fetch(MEASURE_LANES, most)
    return models.LaneDepth(row["due"], row["oldest"])
