"""Groups and sites with their policies, for those who run these: found, held so that nobody else writes their clocks,
and noted as run; and the jobs that run them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg

from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import GroupId, JobId, PolicyId, TenantId, TraceId
from chamberlain.core.json_stored import StoredDecoder
from chamberlain.database.transactions import Connection, Record, Transaction
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.models import FindingSubject
from chamberlain.guests.models_assignment_tasks import Place
from chamberlain.guests.policies.evaluation_policy_tasks import AssignedPolicy, PolicyPlace, PolicyTask, Quiet
from chamberlain.guests.policies.schema import PolicyShape, to_policy_rules

PLACES: Final = """
SELECT s.tenant_id, s.subject_id, t.extension_prefix FROM chamberlain.subject s
JOIN chamberlain.tenant t USING (tenant_id)
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)
"""
FIND: Final = """
SELECT s.tenant_id, s.subject_id, s.type, s.display_name, s.policy_id, s.policy_assigned_at, s.policy_begun,
    s.policy_digest, s.policy_quiet_until, chamberlain.clean(p.content) AS content
FROM chamberlain.subject s
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)
LEFT JOIN chamberlain.policy p ON p.tenant_id = s.tenant_id AND p.policy_id = s.policy_id
ORDER BY s.tenant_id, s.subject_id
"""
# Everybody locks them in this order. Until the transaction ends nobody else writes a clock of theirs. It is a statement
# of its own, before the one that reads: of another policy that was assigned while this waited, only the row of the
# subject would be read again, and the policy be missing.
HOLD: Final = """
SELECT FROM chamberlain.subject s
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)
ORDER BY s.tenant_id, s.subject_id FOR NO KEY UPDATE OF s
"""
WAIT: Final = "SELECT set_config('lock_timeout', $1, true)"
WAIT_ON: Final = "SET LOCAL lock_timeout = DEFAULT"
# Whoever waits for a group has one of the few connections that serve everybody. The run of a policy may take seconds.
PATIENCE = timedelta(seconds=1)
NOTE: Final = """
UPDATE chamberlain.subject s SET
    policy_begun = s.policy_id IS NOT NULL, policy_assigned_at = coalesce(s.policy_assigned_at, $5),
    policy_digest = i.digest, policy_quiet_until = i.quiet_until
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[]) AS i (tenant_id, subject_id, digest, quiet_until)
WHERE s.tenant_id = i.tenant_id AND s.subject_id = i.subject_id
"""

# The kind of the job stands in the text, so that the index of these jobs is used whatever the plan (migration 0024).
# What is assigned has its job from then on (sql/assignments.sql); what was assigned before that was so gets it here.
SPREAD: Final = """
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT s.tenant_id, 'policyEvaluate', s.subject_id, $1 FROM chamberlain.subject s
WHERE s.policy_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM chamberlain.job j
    WHERE j.tenant_id = s.tenant_id AND j.kind = 'policyEvaluate' AND j.subject = s.subject_id
)
"""
# A change of what is assigned brings a job of its own. Whoever holds the subjects has read what was assigned by all of
# them that are there, so one is enough; one that somebody is at is left to them.
GATHER: Final = """
DELETE FROM chamberlain.job WHERE job_id = ANY (ARRAY(
    SELECT j.job_id FROM chamberlain.job j
    JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id)
        ON j.tenant_id = i.tenant_id AND j.subject = i.subject_id
    WHERE j.kind = 'policyEvaluate' AND j.job_id <> ALL ($3) AND (j.lease_until IS NULL OR j.lease_until < now())
    FOR UPDATE OF j SKIP LOCKED
))
"""

_decode_policy = StoredDecoder(PolicyShape).decode


async def find_places(connection: Connection, places: Collection[Place]) -> Sequence[PolicyPlace]:
    """Those of these groups and sites that are known, with how the directory finds them."""
    rows = await connection.fetch(PLACES, *columns_of(places))
    return [
        PolicyPlace(TenantId(row["tenant_id"]), GroupId(row["subject_id"]), f"{row['extension_prefix']}_group")
        for row in rows
    ]


async def find(tx: Transaction, places: Collection[Place]) -> Sequence[PolicyTask]:
    """Those of these groups and sites that are known, with their policies, for whoever changes nothing."""
    return [_task(row) for row in await tx.fetch(FIND, *columns_of(places))]


async def hold(tx: Transaction, places: Collection[Place]) -> Sequence[PolicyTask]:
    """Those of these groups and sites that are known, with their policies. Until the transaction ends these stay as
    they are, and so do the clocks, which are still to be read."""
    await tx.execute(HOLD, *columns_of(places))
    return await find(tx, places)


async def hold_soon(tx: Transaction, place: Place, *, patience: timedelta = PATIENCE) -> Sequence[PolicyTask]:
    """The same of one, for a call. Raises Unavailable when somebody else holds it for longer than `patience`."""
    await tx.execute(WAIT, f"{patience // timedelta(milliseconds=1)}ms")
    try:
        await tx.execute(HOLD, *columns_of([place]))
    except asyncpg.LockNotAvailableError as error:
        detail = "Something else is being done to this group. Send the request again."
        raise Unavailable("overloaded", detail) from error
    await tx.execute(WAIT_ON)
    return await find(tx, [place])


async def note(tx: Transaction, runs: Mapping[Place, Quiet | None], *, at: datetime) -> None:
    """That these were run: their clocks are started, and for how long nothing happens."""
    if runs:
        digests = [None if quiet is None else quiet.digest for quiet in runs.values()]
        until = [None if quiet is None else quiet.until for quiet in runs.values()]
        await tx.execute(NOTE, *columns_of(runs), digests, until, at)


async def spread(tx: Transaction, trace_id: TraceId) -> None:
    """See to it that every group and site with a policy has its job."""
    await tx.execute(SPREAD, trace_id)


async def gather(tx: Transaction, places: Collection[Place], job_ids: Sequence[JobId]) -> None:
    """Leave each of these groups and sites, which are held, no job but these."""
    if places:
        await tx.execute(GATHER, *columns_of(places), job_ids)


def columns_of(places: Collection[Place]) -> tuple[list[UUID], list[UUID]]:
    """Places as two columns of a statement."""
    return [tenant_id for tenant_id, _ in places], [group_id for _, group_id in places]


def _task(row: Record) -> PolicyTask:
    tenant_id, group_id = TenantId(row["tenant_id"]), GroupId(row["subject_id"])
    policy = None
    if row["content"] is not None:
        rules = to_policy_rules(_decode_policy(row["content"]))
        quiet = None if row["policy_digest"] is None else Quiet(row["policy_digest"], row["policy_quiet_until"])
        begun = row["policy_begun"]
        policy = AssignedPolicy(PolicyId(row["policy_id"]), rules, row["policy_assigned_at"], begun, quiet)
    return PolicyTask(
        place=(tenant_id, group_id),
        subject=FindingSubject(tenant_id, group_id, SubjectType(row["type"]), row["display_name"]),
        policy=policy,
    )
