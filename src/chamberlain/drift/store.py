# SPDX-License-Identifier: Apache-2.0
"""SQL of drift checks: positions, jobs, managed objects and records of repairs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.changes.records import actor_of
from chamberlain.core.ids import GroupId, MailboxId, NoticeId, RequestId, TenantId, TraceId, UserId
from chamberlain.core.values import Json
from chamberlain.database.transactions import Record, Transaction
from chamberlain.directory.mailboxes import MailboxType
from chamberlain.directory.models import MailAddress
from chamberlain.directory.subjects import SubjectType
from chamberlain.drift.models import (
    Batch,
    ChangedObject,
    DriftCheck,
    Managed,
    ManagedAssignment,
    ManagedGroup,
    ManagedMailbox,
    Position,
    RepairDraft,
    RepairTask,
)
from chamberlain.drift.rules import Place, PropertyState, RepairRecord
from chamberlain.groups.rules import wanted_group
from chamberlain.groups.wire import read_group_order
from chamberlain.guests.assignments.records import to_assigned
from chamberlain.guests.models import FindingKind, FindingMailbox, FindingRecord, FindingSource, FindingSubject
from chamberlain.mailboxes.models import wanted_of
from chamberlain.mailboxes.wire import read_mailbox_order
from chamberlain.notifications.models import DRIFT_KINDS, DRIFT_REPORT
from chamberlain.queries import load_queries
from chamberlain.queue.models import JobKind
from chamberlain.requests.finish import TAKE_UP, prefix_of_request, taken_steps, task_of
from chamberlain.requests.models import RequestKind, RequestResult
from chamberlain.templates.cache import Revisions

SQL = load_queries(__name__)
QUEUE: Final = SQL["queue"]
ACCEPTED: Final = SQL["accepted"]
# $1 tenant, $2 source, $3 properties of assignments, $4 now, $5 kinds. Assignments that were cleared, failed or
# cancelled, and groups without a stored request, are no longer compared. Queued ones will be compared again. Findings
# of old versions do not name their request, so all requests are searched for these.
CLOSE_UNMANAGED: Final = """
WITH standing AS MATERIALIZED (
    SELECT f.finding_id, f.subject_id, f.about, f.request_id FROM chamberlain.finding f
    WHERE f.tenant_id = $1 AND f.source = $2 AND f.state IN ('open', 'accepted') AND f.kind = ANY ($5)
    AND f.subject_type <> 'mailbox'
), wanted AS MATERIALIZED (
    SELECT DISTINCT subject_id FROM standing WHERE about <> ALL ($3) AND request_id IS NULL
), kept AS MATERIALIZED (
    SELECT DISTINCT wanted.subject_id FROM chamberlain.request r
    JOIN wanted ON wanted.subject_id::text = r.result ->> 'id'
    WHERE r.tenant_id = $1 AND r.kind IN ('group', 'team') AND r.state = 'succeeded' AND r.body::text <> '{}'
), named AS MATERIALIZED (
    SELECT r.request_id FROM chamberlain.request r
    WHERE r.request_id = ANY (ARRAY(SELECT DISTINCT request_id FROM standing WHERE request_id IS NOT NULL))
    AND r.tenant_id = $1 AND r.kind IN ('group', 'team') AND r.state = 'succeeded' AND r.body::text <> '{}'
), gone AS (
    UPDATE chamberlain.finding f SET state = 'gone', last_seen_at = $4 FROM standing
    WHERE f.tenant_id = $1 AND f.finding_id = standing.finding_id AND f.state IN ('open', 'accepted')
    AND CASE WHEN standing.request_id IS NOT NULL THEN standing.request_id NOT IN (SELECT named.request_id FROM named)
    WHEN standing.about = ANY ($3) THEN NOT EXISTS (
        SELECT FROM chamberlain.subject s
        LEFT JOIN chamberlain.request r ON r.tenant_id = s.tenant_id AND r.request_id = s.assignment_request_id
        WHERE s.tenant_id = $1 AND s.subject_id = standing.subject_id AND s.is_assigned
        AND coalesce(r.state, '') NOT IN ('failed', 'cancelled')
    ) ELSE standing.subject_id NOT IN (SELECT kept.subject_id FROM kept) END
    RETURNING f.subject_id, f.about
)
DELETE FROM chamberlain.drift_repair d USING gone g
WHERE d.tenant_id = $1 AND d.subject_id = g.subject_id AND d.about = g.about
"""
# A mailbox whose request was removed after its time is there.
_MAILBOX: Final = f"""
SELECT m.tenant_id, m.mailbox_id, m.request_id, m.kind, m.address, m.content, m.display_name, m.created_at AS at,
    m.request_id AS id, coalesce(q.updated_at, m.updated_at) AS since,
    {prefix_of_request("q", "m.created_at")} AS extension_prefix
FROM chamberlain.mailbox m JOIN chamberlain.tenant t USING (tenant_id)
LEFT JOIN chamberlain.request q ON q.tenant_id = m.tenant_id AND q.request_id = m.request_id
WHERE m.tenant_id = $1 AND coalesce(q.state, 'succeeded') = 'succeeded'
"""  # noqa: S608 - text of ours alone.
# $1 tenant, $2 kind, $3 and $4 the position, $5 number of rows.
MAILBOXES: Final = f"""{_MAILBOX} AND m.kind = $2 AND (m.created_at, m.request_id) > ($3, $4::uuid)
ORDER BY m.created_at, m.request_id LIMIT $5
"""
# $1 tenant, $2 requests.
MAILBOXES_OF: Final = f"{_MAILBOX} AND m.request_id = ANY ($2) ORDER BY m.created_at, m.request_id"
# The desired state is unknown if the body was erased with a user's data.
_GROUP: Final = f"""
SELECT r.request_id, r.tenant_id, r.kind, r.display_name, r.mail_nickname, r.address, r.template_id,
    r.template_revision, r.body, r.people_checked, r.steps, r.client_id, r.actor_type, r.actor_id, r.actor_name,
    r.trace_id, r.created_at, {prefix_of_request("r", "r.created_at")} AS extension_prefix, r.result,
    r.updated_at AS since,
    r.created_at AS at, r.request_id AS id
FROM chamberlain.request r JOIN chamberlain.tenant t USING (tenant_id)
WHERE r.tenant_id = $1 AND r.state = 'succeeded' AND r.body::text <> '{{}}'
"""  # noqa: S608 - text of ours alone.
# $1 tenant, $2 kind, $3 and $4 the position, $5 number of rows.
GROUPS: Final = f"""{_GROUP} AND r.kind = $2 AND (r.created_at, r.request_id) > ($3, $4::uuid)
ORDER BY r.created_at, r.request_id LIMIT $5
"""
# $1 tenant, $2 requests.
GROUPS_OF: Final = f"""{_GROUP} AND r.request_id = ANY ($2) AND r.kind IN ('group', 'team')
ORDER BY r.created_at, r.request_id
"""
# Unfinished assignments are left out.
_ASSIGNMENT: Final = f"""
SELECT s.tenant_id, s.subject_id, s.type, s.display_name, s.generation, s.template_id, s.policy_id, s.assigned_at,
    s.assigned_at AS at, s.subject_id AS id,
    {prefix_of_request("r", "s.assigned_at")} AS extension_prefix, chamberlain.clean(v.content) AS template
FROM chamberlain.subject s JOIN chamberlain.tenant t USING (tenant_id)
LEFT JOIN chamberlain.request r ON r.tenant_id = s.tenant_id AND r.request_id = s.assignment_request_id
LEFT JOIN chamberlain.template g ON g.tenant_id = s.tenant_id AND g.template_id = s.template_id
LEFT JOIN chamberlain.template_revision v
    ON v.tenant_id = g.tenant_id AND v.template_id = g.template_id AND v.revision = g.revision
WHERE s.tenant_id = $1 AND s.is_assigned AND coalesce(r.state, 'succeeded') = 'succeeded'
"""  # noqa: S608 - text of ours alone.
# $1 tenant, $2 the position, $3 number of rows.
ASSIGNMENTS: Final = f"{_ASSIGNMENT} AND s.subject_id > $2 ORDER BY s.subject_id LIMIT $3"
# $1 tenant, $2 groups and sites.
ASSIGNMENTS_OF: Final = f"{_ASSIGNMENT} AND s.subject_id = ANY ($2) ORDER BY s.subject_id"
_GUEST_KINDS = (
    FindingKind.GUEST_AGAINST_RULE,
    FindingKind.GUEST_EXPIRED,
    FindingKind.GUEST_INACTIVE,
    FindingKind.REVIEW_DUE,
)
_GROUP_KINDS = frozenset({RequestKind.GROUP, RequestKind.TEAM})
_encode = msgspec.json.Encoder().encode
_decode_value = msgspec.json.Decoder().decode
_decode_result = msgspec.json.Decoder(RequestResult).decode


async def list_unscheduled(tx: Transaction) -> Sequence[TenantId]:
    """The tenants that have no job yet."""
    return [TenantId(row["tenant_id"]) for row in await tx.fetch(SQL["list_unscheduled"])]


async def schedule_check(tx: Transaction, tenant_id: TenantId, at: datetime, trace_id: TraceId) -> None:
    """Give a tenant its job, for the first time at this moment."""
    await tx.execute(SQL["schedule"], tenant_id, JobKind.DRIFT_CHECK, trace_id, at)


async def lock_check(tx: Transaction, tenant_id: TenantId) -> DriftCheck:
    """Read and lock the state of the tenant's check.

    New requests wait for the transaction.
    """
    row = await tx.fetch_row(SQL["lock_check"], tenant_id)
    return DriftCheck() if row is None else _check(row)


async def save_check(tx: Transaction, tenant_id: TenantId, check: DriftCheck) -> None:
    """Keep how far they have come."""
    at = check.position
    place = (None, None, None) if at is None else (at.phase, at.at, at.id)
    await tx.execute(SQL["save_check"], tenant_id, *place, check.began_at, check.finished_at)


async def delete_check(tx: Transaction, tenant_id: TenantId) -> None:
    """The tenant is gone, and so is its job."""
    await tx.execute(SQL["delete_check"], tenant_id)


async def request_check(tx: Transaction, trace_id: TraceId, *, at: datetime) -> DriftCheck:
    """Request a check.

    It runs at once, or after the one that is running.
    """
    (row,) = await tx.fetch(SQL["request_check"], tx.tenant_id, at)
    if row["is_first"]:
        await tx.execute(QUEUE, tx.tenant_id, JobKind.DRIFT_CHECK, trace_id)
    else:
        await tx.execute(SQL["run_now"], tx.tenant_id, JobKind.DRIFT_CHECK)
    return _check(row)


async def queue_report(tx: Transaction, tenant_id: TenantId, notice_id: NoticeId, trace_id: TraceId) -> None:
    """Queue the report of newly opened findings.

    There is at most one a day, and none without findings.
    """
    kinds = list(DRIFT_KINDS)
    values = (tenant_id, JobKind.DRIFT_REPORT, notice_id, trace_id, DRIFT_REPORT, kinds)
    await tx.execute(SQL["queue_report"], *values)


async def read_changed(tx: Transaction, tenant_id: TenantId, *, limit: int) -> Sequence[ChangedObject]:
    """Read the objects that changed in the directory, oldest first."""
    rows = await tx.fetch(SQL["read_changed"], tenant_id, limit)
    return [ChangedObject(row["kind"], row["object_id"], row["changed_at"]) for row in rows]


async def delete_changed(tx: Transaction, tenant_id: TenantId, changed: Sequence[ChangedObject]) -> None:
    """Delete compared objects. Objects that changed meanwhile stay."""
    if changed:
        kinds, ids = [each.kind for each in changed], [each.id for each in changed]
        await tx.execute(SQL["delete_changed"], tenant_id, kinds, ids, [each.changed_at for each in changed])


async def delete_all_changed(tx: Transaction, tenant_id: TenantId) -> None:
    """Delete the changed objects of a deleted tenant."""
    await tx.execute(SQL["delete_all_changed"], tenant_id)


async def accepts_repairs(tx: Transaction) -> bool:
    """Return whether all processes can read requests that repair."""
    return await tx.fetch_row(SQL["accepts_repairs"]) is not None


async def running_repair(tx: Transaction, finding: FindingRecord) -> RequestId | None:
    """Return the unfinished request that repairs a finding."""
    row = await tx.fetch_row(SQL["running_repair"], tx.tenant_id, finding.repair_request_id)
    return None if row is None else RequestId(row["request_id"])


async def request_repair(tx: Transaction, finding: FindingRecord, draft: RepairDraft) -> None:
    """Write a request that repairs a locked finding, and queue its job."""
    editor = draft.editor
    await tx.execute(
        SQL["request_repair"],
        draft.request_id,
        tx.tenant_id,
        finding.subject.display_name,
        _encode(draft.body).decode(),
        _encode(draft.steps).decode(),
        editor.client_id,
        editor.actor.type,
        editor.actor.id,
        editor.actor.display_name,
        editor.trace_id,
        draft.at,
        RequestKind.REPAIR,
        finding.id,
        JobKind.FINDING_REPAIR,
    )


async def claim_repairs(tx: Transaction, request_ids: Sequence[UUID]) -> Sequence[RepairTask]:
    """Mark claimed requests as running, and announce their repairs.

    Cancelled ones are left out.
    """
    rows = await tx.fetch(TAKE_UP, request_ids)
    taken = [row["request_id"] for row in rows]
    found = {row["repair_request_id"]: row["finding_id"] for row in await tx.fetch(SQL["announce_repairs"], taken)}
    return [_repair_task(row, found.get(row["request_id"])) for row in rows]


async def withdraw_repairs(tx: Transaction, tasks: Sequence[RepairTask]) -> None:
    """Withdraw the announcements of repairs that failed."""
    if tasks:
        tenant_ids, finding_ids = [each.tenant_id for each in tasks], [each.finding_id for each in tasks]
        await tx.execute(SQL["withdraw_repairs"], tenant_ids, finding_ids)


async def lock_states(
    tx: Transaction, tenant_id: TenantId, subject_ids: Sequence[UUID], abouts: Collection[str]
) -> Mapping[Place, PropertyState]:
    """Read the states of properties and lock their findings against acceptance."""
    await tx.fetch(SQL["lock_findings"], tenant_id, subject_ids, FindingSource.DRIFT, list(abouts))
    return await read_states(tx, tenant_id, subject_ids, abouts)


async def read_states(
    tx: Transaction, tenant_id: TenantId, subject_ids: Sequence[UUID], abouts: Collection[str]
) -> Mapping[Place, PropertyState]:
    """Read the states of these properties of these objects."""
    records = {
        (row["subject_id"], row["about"]): _record(row)
        for row in await tx.fetch(SQL["read_repairs"], tenant_id, subject_ids, list(abouts))
    }
    accepted, ignored, released = set[Place](), dict[Place, Json](), set[Place]()
    for row in await tx.fetch(ACCEPTED, tenant_id, subject_ids, FindingSource.DRIFT, list(abouts)):
        place = row["subject_id"], row["about"]
        if row["ignored_observed"] is None:
            (accepted if row["kind"] == FindingKind.DRIFT else released).add(place)
        elif row["kind"] == FindingKind.DRIFT:
            ignored[place] = _decode_value(row["ignored_observed"])
    return {
        place: PropertyState(
            record=records.get(place),
            is_accepted=place in accepted,
            is_released=place in released,
            is_ignored=place in ignored,
            ignored_value=ignored.get(place),
        )
        for place in records.keys() | accepted | ignored.keys() | released
    }


async def save_records(tx: Transaction, tenant_id: TenantId, records: Mapping[Place, RepairRecord | None]) -> None:
    """Save the records of repairs. Records of None are deleted."""
    kept = [(*place, record) for place, record in records.items() if record is not None]
    if kept:
        await tx.execute(
            SQL["save_repairs"],
            tenant_id,
            [subject_id for subject_id, _, _ in kept],
            [about for _, about, _ in kept],
            [record.repairs for _, _, record in kept],
            [record.digest for _, _, record in kept],
            [record.found_at for _, _, record in kept],
            [record.has_given_up for _, _, record in kept],
            [record.is_in_progress for _, _, record in kept],
        )
    gone = [place for place, record in records.items() if record is None]
    if gone:
        await tx.execute(SQL["delete_repairs"], tenant_id, [place[0] for place in gone], [place[1] for place in gone])


async def close_unmanaged(tx: Transaction, tenant_id: TenantId, abouts: Collection[str], *, at: datetime) -> None:
    """Close the findings of groups and assignments that are no longer compared.

    `abouts` are the properties of assignments.
    """
    kinds = [FindingKind.DRIFT, FindingKind.REPAIR_DOES_NOT_HOLD]
    await tx.execute(CLOSE_UNMANAGED, tenant_id, FindingSource.DRIFT, list(abouts), at, kinds)


async def read_batch(
    tx: Transaction, revisions: Revisions, tenant_id: TenantId, position: Position, *, limit: int
) -> Batch:
    """Paginate the objects of a phase."""
    phase = position.phase
    if phase is RequestKind.ASSIGNMENT:
        rows = await tx.fetch(ASSIGNMENTS, tenant_id, position.id, limit)
    else:
        statement = GROUPS if phase in _GROUP_KINDS else MAILBOXES
        rows = await tx.fetch(statement, tenant_id, phase, position.at, position.id, limit)
    return await _batch(tx, revisions, tenant_id, phase, rows, limit=limit)


async def read_objects(
    tx: Transaction, revisions: Revisions, tenant_id: TenantId, phase: RequestKind, ids: Collection[UUID]
) -> Sequence[Managed]:
    """Read the objects of these requests.

    In the phase of assignments, the ids are those of groups and sites. Objects that are not managed are left out.
    """
    if not ids:
        return ()
    statement = ASSIGNMENTS_OF if phase is RequestKind.ASSIGNMENT else MAILBOXES_OF
    rows = await tx.fetch(GROUPS_OF if phase in _GROUP_KINDS else statement, tenant_id, list(ids))
    batch = await _batch(tx, revisions, tenant_id, phase, rows, limit=len(rows) + 1)
    return batch.objects


async def _batch(
    tx: Transaction,
    revisions: Revisions,
    tenant_id: TenantId,
    phase: RequestKind,
    rows: Sequence[Record],
    *,
    limit: int,
) -> Batch:
    found = dict[UUID, tuple[Managed, Position]]()
    for row in rows:
        managed = await _managed(tx, revisions, phase, row)
        # A group that was adopted again has two requests. The last one counts, in its own position.
        found.pop(managed.subject.id, None)
        found[managed.subject.id] = managed, _position(phase, row)
    batch = Batch(list(found.values()), _position(phase, rows[-1]) if len(rows) == limit else None)
    return await _with_removed_guests(tx, tenant_id, batch) if phase in _GROUP_KINDS else batch


async def find_unmanaged(tx: Transaction, tenant_id: TenantId, managed: Sequence[Managed]) -> frozenset[UUID]:
    """Return the mailboxes and groups that are no longer managed.

    The others are locked until the transaction ends.
    """
    mailboxes = [each for each in managed if isinstance(each, ManagedMailbox)]
    groups = [each for each in managed if isinstance(each, ManagedGroup)]
    held = await _lock(tx, SQL["lock_mailboxes"], tenant_id, mailboxes) | await _lock(
        tx, SQL["lock_requests"], tenant_id, groups
    )
    gone = [each.subject.id for each in mailboxes if each.wanted.request_id not in held]
    return frozenset([*gone, *[each.subject.id for each in groups if each.wanted.request_id not in held]])


def _check(row: Record) -> DriftCheck:
    phase = row["phase"]
    at = None if phase is None else Position(RequestKind(phase), row["position_at"], row["position_id"])
    return DriftCheck(at, row["asked_at"], row["began_at"], row["finished_at"])


def _record(row: Record) -> RepairRecord:
    return RepairRecord(row["repairs"], row["digest"], row["found_at"], row["has_given_up"], row["is_under_way"])


async def _managed(tx: Transaction, revisions: Revisions, phase: RequestKind, row: Record) -> Managed:
    match phase:
        case RequestKind.SHARED | RequestKind.EQUIPMENT | RequestKind.ROOM:
            return _mailbox(row)
        case RequestKind.GROUP | RequestKind.TEAM:
            return await _group(tx, revisions, row)
        case RequestKind.ASSIGNMENT:
            return _assignment(row)
        case RequestKind.REPAIR:
            raise ValueError("A request that repairs has no object of its own.")


def _repair_task(row: Record, finding_id: UUID | None) -> RepairTask:
    return RepairTask(
        request_id=RequestId(row["request_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        finding_id=finding_id,
        display_name=row["display_name"],
        steps=taken_steps(row),
        created_by=actor_of(row),
        trace_id=TraceId(row["trace_id"]),
    )


def _position(phase: RequestKind, row: Record) -> Position:
    return Position(phase, row["at"], row["id"])


async def _with_removed_guests(tx: Transaction, tenant_id: TenantId, batch: Batch) -> Batch:
    """Add to each group the guests whom a policy or template removed."""
    removed: dict[UUID, set[UserId]] = {}
    for row in await tx.fetch(SQL["removed"], tenant_id, [each.subject.id for each in batch.objects], _GUEST_KINDS):
        removed.setdefault(row["subject_id"], set()).add(UserId(UUID(row["about"])))
    return replace(
        batch,
        managed=[
            (replace(each, removed=frozenset(removed.get(each.subject.id, ()))), at)
            if isinstance(each, ManagedGroup)
            else (each, at)
            for each, at in batch.managed
        ],
    )


async def _lock(
    tx: Transaction, statement: str, tenant_id: TenantId, managed: Sequence[ManagedMailbox | ManagedGroup]
) -> frozenset[UUID]:
    ids = [each.wanted.request_id for each in managed]
    rows = await tx.fetch(statement, tenant_id, ids) if ids else ()
    return frozenset([row["request_id"] for row in rows])


def _mailbox(row: Record) -> ManagedMailbox:
    order, tenant_id = read_mailbox_order(row["content"].encode()), TenantId(row["tenant_id"])
    return ManagedMailbox(
        subject=FindingMailbox(tenant_id, MailboxId(row["mailbox_id"]), row["display_name"]),
        since=row["since"],
        wanted=wanted_of(
            order,
            MailboxType(row["kind"]),
            tenant_id=tenant_id,
            request_id=RequestId(row["request_id"]),
            mail=row["address"],
            prefix=row["extension_prefix"],
        ),
        replies_freely=order.is_allow_automatic_reply_override is True,
    )


async def _group(tx: Transaction, revisions: Revisions, row: Record) -> ManagedGroup:
    task = task_of(row, steps=(), is_new=False)
    template = await revisions.group_template(tx, task)
    group_id = GroupId(_decode_result(row["result"]).id)
    return ManagedGroup(
        subject=FindingSubject(task.tenant_id, group_id, SubjectType.GROUP, task.display_name),
        since=row["since"],
        wanted=wanted_group(
            read_group_order(task.body),
            template.template,
            request_id=task.request_id,
            caller=task.caller,
            display_name=task.display_name,
            address=MailAddress(task.mail_nickname, task.mail),
            prefix=task.extension_prefix,
        ),
    )


def _assignment(row: Record) -> ManagedAssignment:
    assigned = to_assigned(row)
    return ManagedAssignment(assigned.finding_subject, row["assigned_at"], assigned)
