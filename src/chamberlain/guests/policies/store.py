# SPDX-License-Identifier: Apache-2.0
"""SQL of policy timers and jobs, for many subjects at a time."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

import asyncpg

from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import GroupId, JobId, PolicyId, TenantId, TraceId, UserId
from chamberlain.core.json import StoredDecoder
from chamberlain.database.transactions import Connection, Record, Transaction
from chamberlain.directory.subjects import Guest, SubjectType
from chamberlain.guests.models import FindingSource, FindingState, FindingSubject, Place
from chamberlain.guests.policies.evaluation import AssignedPolicy, Idle, PolicyPlace, PolicyTask
from chamberlain.guests.policies.events import finding_kind
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.schema import PolicyShape, to_policy_rules
from chamberlain.guests.policies.timers import PolicyRule, Timer, TimerKey
from chamberlain.queries import load_queries

SQL = load_queries(__name__)
FIND: Final = SQL["find_subjects"]
# A waiting call holds one of few connections, and a policy run may take seconds.
LOCK_TIMEOUT = timedelta(seconds=1)
_decode_policy = StoredDecoder(PolicyShape).decode
READ_GUEST_TIMERS: Final = SQL["read_guest_timers"]
ACCEPTED: Final = SQL["accepted"]
# The guest id of the rule about owners.
NO_GUEST: Final = UserId(UUID(int=0))
SubjectTimer: TypeAlias = tuple[FindingSubject, Timer]
# A guest of a group or site.
GuestPlace: TypeAlias = tuple[Place, UserId]


async def find_places(connection: Connection, places: Collection[Place]) -> Sequence[PolicyPlace]:
    """Find the references of known groups and sites."""
    rows = await connection.fetch(SQL["places"], *to_columns(places))
    return [
        PolicyPlace(TenantId(row["tenant_id"]), GroupId(row["subject_id"]), f"{row['extension_prefix']}_group")
        for row in rows
    ]


async def find(tx: Transaction, places: Collection[Place]) -> Sequence[PolicyTask]:
    """Find known groups and sites with their policies, without locks."""
    return [_task(row) for row in await tx.fetch(FIND, *to_columns(places))]


async def lock(tx: Transaction, places: Collection[Place]) -> Sequence[PolicyTask]:
    """Find known groups and sites with their policies, and lock them.

    Timers are locked with them.
    """
    await tx.execute(SQL["lock"], *to_columns(places))
    return await find(tx, places)


async def lock_or_fail(tx: Transaction, place: Place, *, wait: timedelta = LOCK_TIMEOUT) -> Sequence[PolicyTask]:
    """Find and lock one for a call.

    Raises Unavailable if it stays locked for longer than `wait`.
    """
    await tx.execute(SQL["set_lock_timeout"], f"{wait // timedelta(milliseconds=1)}ms")
    try:
        await tx.execute(SQL["lock"], *to_columns([place]))
    except asyncpg.LockNotAvailableError as error:
        detail = "This group is locked by another change. Send the request again."
        raise Unavailable("overloaded", detail) from error
    await tx.execute(SQL["reset_lock_timeout"])
    return await find(tx, [place])


async def save_idle(tx: Transaction, runs: Mapping[Place, Idle | None], *, at: datetime) -> None:
    """Save that these have run, and until when they are idle."""
    if runs:
        digests = [None if idle is None else idle.digest for idle in runs.values()]
        until = [None if idle is None else idle.until for idle in runs.values()]
        await tx.execute(SQL["save_idle"], *to_columns(runs), digests, until, at)


async def queue_missing_jobs(tx: Transaction, trace_id: TraceId) -> None:
    """Queue the missing jobs of groups and sites with a policy."""
    await tx.execute(SQL["queue_missing_jobs"], trace_id)


async def delete_duplicate_jobs(tx: Transaction, places: Collection[Place], job_ids: Sequence[JobId]) -> None:
    """Delete all other jobs of these locked groups and sites."""
    if places:
        await tx.execute(SQL["delete_duplicate_jobs"], *to_columns(places), job_ids)


def to_columns(places: Collection[Place]) -> tuple[list[UUID], list[UUID]]:
    """Places as two columns of a statement."""
    return [tenant_id for tenant_id, _ in places], [group_id for _, group_id in places]


async def read_timers(tx: Transaction, tasks: Sequence[PolicyTask]) -> Sequence[PolicyTask]:
    """Add the timers and acceptances to tasks."""
    if not tasks:
        return ()
    columns = to_columns([task.place for task in tasks])
    timers = _by_place(await tx.fetch(SQL["read_timers"], *columns))
    accepted = await _accepted(tx, columns)
    return [
        replace(task, timers=tuple(timers.get(task.place, ())), accepted=accepted.get(task.place, {})) for task in tasks
    ]


async def read_guest_timers(
    tx: Transaction, tasks: Sequence[PolicyTask], guests: Collection[GuestPlace]
) -> Sequence[PolicyTask]:
    """Read the timers of these guests only, without acceptances.

    Duplicates are invalid.
    """
    columns = zip(*[(tenant_id, group_id, guest_id) for (tenant_id, group_id), guest_id in guests], strict=True)
    timers = _by_place(await tx.fetch(READ_GUEST_TIMERS, *map(list, columns), list(PolicyRule))) if guests else {}
    return [replace(task, timers=tuple(timers.get(task.place, ()))) for task in tasks]


async def save_timers(tx: Transaction, timers: Sequence[SubjectTimer]) -> None:
    """Save timers. Duplicates are invalid."""
    if timers:
        await tx.execute(SQL["save_timers"], *map(list, zip(*[to_row(*each) for each in timers], strict=True)))


async def delete_timers(tx: Transaction, timers: Iterable[SubjectTimer]) -> None:
    """Delete ended timers."""
    rows = [_key(*each) for each in timers]
    if rows:
        await tx.execute(SQL["delete_timers"], *map(list, zip(*rows, strict=True)))


async def delete_all_timers(tx: Transaction, tenant_id: TenantId, subject_ids: Sequence[GroupId]) -> None:
    """Delete the timers of deleted groups."""
    await tx.execute(SQL["delete_all_timers"], tenant_id, subject_ids)


def to_row(subject: FindingSubject, timer: Timer) -> tuple[object, ...]:
    """Convert a timer to a row.

    The first four columns are its key.
    """
    guest = timer.guest
    return (
        *_key(subject, timer),
        None if guest is None else guest.mail,
        "" if guest is None else guest.display_name,
        timer.policy_id,
        timer.terms,
        timer.action,
        timer.started_at,
        timer.action_at,
        timer.next_at,
        timer.round,
        timer.reminded,
        timer.is_acting,
        timer.trouble,
        timer.acted_at,
    )


def _task(row: Record) -> PolicyTask:
    tenant_id, group_id = TenantId(row["tenant_id"]), GroupId(row["subject_id"])
    policy = None
    if row["content"] is not None:
        rules = to_policy_rules(_decode_policy(row["content"]))
        idle = None if row["policy_digest"] is None else Idle(row["policy_digest"], row["policy_quiet_until"])
        is_begun = row["policy_begun"]
        policy = AssignedPolicy(PolicyId(row["policy_id"]), rules, row["policy_assigned_at"], is_begun, idle)
    return PolicyTask(
        place=(tenant_id, group_id),
        subject=FindingSubject(tenant_id, group_id, SubjectType(row["type"]), row["display_name"]),
        policy=policy,
    )


def _by_place(rows: Sequence[Record]) -> Mapping[Place, list[Timer]]:
    found: dict[Place, list[Timer]] = {}
    for row in rows:
        found.setdefault((row["tenant_id"], row["subject_id"]), []).append(_timer(row))
    return found


async def _accepted(
    tx: Transaction, columns: tuple[list[UUID], list[UUID]]
) -> Mapping[Place, Mapping[TimerKey, datetime | None]]:
    rules = {finding_kind(rule): rule for rule in PolicyRule}
    found: dict[Place, dict[TimerKey, datetime | None]] = {}
    for row in await tx.fetch(ACCEPTED, *columns, FindingState.ACCEPTED, FindingSource.POLICY):
        guest_id = UserId(UUID(row["about"])) if row["about"] else None
        of_place = found.setdefault((row["tenant_id"], row["subject_id"]), {})
        of_place[rules[row["kind"]], guest_id] = row["accepted_until"]
    return found


def _key(subject: FindingSubject, timer: Timer) -> tuple[object, ...]:
    return subject.tenant_id, subject.id, timer.rule, NO_GUEST if timer.guest is None else timer.guest.id


def _timer(row: Record) -> Timer:
    rule, guest_id = PolicyRule(row["rule"]), row["guest_id"]
    guest = None
    if rule is not PolicyRule.MINIMUM_OWNERS:
        guest = Guest(UserId(guest_id), row["guest_mail"], row["guest_name"])
    return Timer(
        rule=rule,
        guest=guest,
        policy_id=PolicyId(row["policy_id"]),
        terms=row["terms"],
        action=PolicyAction(row["action"]),
        started_at=row["started_at"],
        action_at=row["action_at"],
        next_at=row["next_at"],
        round=row["round"],
        reminded=row["reminded"],
        is_acting=row["is_acting"],
        trouble=row["trouble"],
        acted_at=row["acted_at"],
    )
