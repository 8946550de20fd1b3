"""Claims from lanes: some of every lane that has something due, so that a lane that is slow holds up itself alone; and
how much waits in all of them."""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from chamberlain.database.transactions import PLANNING, Transaction
from chamberlain.queue.jobs import job_of
from chamberlain.queue.models import Job, JobKind, Lane, LaneDepth
from chamberlain.queue.models_figures import MOST_COUNTED

# Every lane that has a job, by one index probe each, however many jobs one of them has.
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

# Shares are even, and of one lane no more than $4 are leased. Where more lanes wait than jobs are taken, chance says
# whose turn it is. $6 and $7 name lanes; with $8 only these are looked at, else all but these. Jobs of a suspended
# tenant rest.
CLAIM: Final = f"""
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

_DUE: Final = """
FROM awake CROSS JOIN LATERAL (
    SELECT j.run_at FROM chamberlain.job j
    WHERE j.tenant_id = awake.tenant_id AND j.lane = awake.lane AND j.held_reason IS NULL AND j.run_at <= now()
    ORDER BY j.run_at LIMIT {most}
) waiting
"""

# What of a lane waits for its next attempt is not looked at, nor more than $1 of what is due; but the oldest of each.
MEASURE: Final = f"""
WITH RECURSIVE {_LANES}, awake AS (
    SELECT lane.tenant_id, lane.lane FROM lane LEFT JOIN chamberlain.tenant t USING (tenant_id)
    WHERE t.suspended IS NOT TRUE
)
SELECT (SELECT count(*) FROM (SELECT waiting.run_at {_DUE.format(most="$1")} LIMIT $1) counted) AS due,
    coalesce(now() - (SELECT min(waiting.run_at) {_DUE.format(most=1)}), interval '0') AS oldest
"""  # noqa: S608 - text of ours alone.


async def claim(
    tx: Transaction,
    lease_id: UUID,
    *,
    kinds: Iterable[JobKind],
    most: int,
    of_one: int,
    lease: timedelta,
    named: Collection[Lane],
    only_named: bool,
) -> Sequence[tuple[Lane, Job]]:
    """Up to `most` jobs that are due, of the lanes that are named or of all others, leased under `lease_id`. A lane
    never has more than about `of_one` leased."""
    tenants, lanes = [tenant_id for tenant_id, _ in named], [lane for _, lane in named]
    rows = await tx.fetch(CLAIM, lease_id, most, lease, of_one, list(kinds), tenants, lanes, only_named)
    return [((job_of(row).tenant_id, row["lane"]), job_of(row)) for row in rows]


async def measure(tx: Transaction, *, most: int = MOST_COUNTED) -> LaneDepth:
    """How much waits in lanes, but for what rests. No more than `most` are counted."""
    await tx.execute(PLANNING)
    (row,) = await tx.fetch(MEASURE, most)
    return LaneDepth(row["due"], row["oldest"])
