"""What is compared with the directory, page by page: everything that exists by a request of ours, as it is wanted."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.core.ids import GroupId, MailboxId, RequestId, TenantId, UserId
from chamberlain.database.transactions import Record, Transaction
from chamberlain.directory.mailboxes import MailboxType
from chamberlain.directory.models_mail_addresses import MailAddress
from chamberlain.directory.subjects import SubjectType
from chamberlain.drift.models import Extent, Managed, ManagedAssignment, ManagedGroup, ManagedMailbox, Position, Stretch
from chamberlain.groups.models import wanted_group
from chamberlain.groups.schema import read_group_order
from chamberlain.guests.assignments.tasks import assigned_of
from chamberlain.guests.models import FindingKind, FindingSubject, FoundMailbox
from chamberlain.mailboxes.desired_state import wanted_of
from chamberlain.mailboxes.schema import read_mailbox_order
from chamberlain.requests.finish_prefixes import prefix_of_request
from chamberlain.requests.finish_request_tasks import task_of
from chamberlain.requests.models import RequestKind, RequestResult
from chamberlain.templates.cache_revisions import Revisions

# $1 tenant, $2 kind, $3 and $4 the position, $5 number of rows. A mailbox whose request was removed after its time is
# there.
MAILBOXES: Final = f"""
SELECT m.tenant_id, m.mailbox_id, m.request_id, m.kind, m.address, m.content, m.display_name, m.created_at AS at,
    m.request_id AS id, coalesce(q.updated_at, m.updated_at) AS since,
    {prefix_of_request("q", "m.created_at")} AS extension_prefix
FROM chamberlain.mailbox m JOIN chamberlain.tenant t USING (tenant_id)
LEFT JOIN chamberlain.request q ON q.tenant_id = m.tenant_id AND q.request_id = m.request_id
WHERE m.tenant_id = $1 AND m.kind = $2 AND (m.created_at, m.request_id) > ($3, $4::uuid)
AND coalesce(q.state, 'succeeded') = 'succeeded'
ORDER BY m.created_at, m.request_id LIMIT $5
"""  # noqa: S608 - text of ours alone.

# Of a request whose body was emptied with a user's data nobody knows any more what was wanted.
GROUPS: Final = f"""
SELECT r.request_id, r.tenant_id, r.kind, r.display_name, r.mail_nickname, r.address, r.template_id,
    r.template_revision, r.body, r.people_checked, r.steps, r.client_id, r.actor_type, r.actor_id, r.actor_name,
    r.trace_id, r.created_at, {prefix_of_request("r", "r.created_at")} AS extension_prefix, r.result,
    r.updated_at AS since,
    r.created_at AS at, r.request_id AS id
FROM chamberlain.request r JOIN chamberlain.tenant t USING (tenant_id)
WHERE r.tenant_id = $1 AND r.kind = $2 AND (r.created_at, r.request_id) > ($3, $4::uuid) AND r.state = 'succeeded'
AND r.body::text <> '{{}}'
ORDER BY r.created_at, r.request_id LIMIT $5
"""  # noqa: S608 - text of ours alone.

# $1 tenant, $2 the position, $3 number of rows. What is not through is left alone.
ASSIGNMENTS: Final = f"""
SELECT s.tenant_id, s.subject_id, s.type, s.display_name, s.generation, s.template_id, s.policy_id, s.assigned_at,
    s.assigned_at AS at, s.subject_id AS id,
    {prefix_of_request("r", "s.assigned_at")} AS extension_prefix, chamberlain.clean(v.content) AS template
FROM chamberlain.subject s JOIN chamberlain.tenant t USING (tenant_id)
LEFT JOIN chamberlain.request r ON r.tenant_id = s.tenant_id AND r.request_id = s.assignment_request_id
LEFT JOIN chamberlain.template g ON g.tenant_id = s.tenant_id AND g.template_id = s.template_id
LEFT JOIN chamberlain.template_revision v
    ON v.tenant_id = g.tenant_id AND v.template_id = g.template_id AND v.revision = g.revision
WHERE s.tenant_id = $1 AND s.subject_id > $2 AND s.is_assigned AND coalesce(r.state, 'succeeded') = 'succeeded'
ORDER BY s.subject_id LIMIT $3
"""  # noqa: S608 - text of ours alone.

# Guests who were removed by a policy or template, or are about to be.
REMOVED: Final = """
SELECT subject_id, about FROM chamberlain.finding
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND state IN ('open', 'repaired') AND kind = ANY ($3)
AND action = 'remove'
"""

_GUEST_KINDS = (
    FindingKind.GUEST_AGAINST_RULE,
    FindingKind.GUEST_EXPIRED,
    FindingKind.GUEST_INACTIVE,
    FindingKind.REVIEW_DUE,
)

# In the order in which everybody locks them. Until the transaction ends nobody takes these off the record.
HOLD_MAILBOXES: Final = """
SELECT request_id FROM chamberlain.mailbox WHERE tenant_id = $1 AND request_id = ANY ($2)
ORDER BY request_id FOR KEY SHARE
"""
HOLD_REQUESTS: Final = """
SELECT request_id FROM chamberlain.request WHERE tenant_id = $1 AND request_id = ANY ($2)
ORDER BY request_id FOR KEY SHARE
"""

_GROUP_KINDS = frozenset({RequestKind.GROUP, RequestKind.TEAM})

_decode_result = msgspec.json.Decoder(RequestResult).decode


async def read(tx: Transaction, revisions: Revisions, extent: Extent) -> Stretch:
    """What is looked at next."""
    phase, found = extent.position.phase, dict[UUID, tuple[Managed, Position]]()
    rows = await _rows(tx, extent)
    for row in rows:
        managed = await _managed(tx, revisions, phase, row)
        # A group that has lost its mark and was adopted anew has two requests: what was asked for last holds, in its
        # own place.
        found.pop(managed.subject.id, None)
        found[managed.subject.id] = managed, _position(phase, row)
    stretch = Stretch(list(found.values()), _position(phase, rows[-1]) if len(rows) == extent.most else None)
    return await _without_removed(tx, extent.tenant_id, stretch) if phase in _GROUP_KINDS else stretch


async def released(tx: Transaction, tenant_id: TenantId, managed: Sequence[Managed]) -> frozenset[UUID]:
    """Those of these mailboxes and groups that are not managed any more; the others stay so until the transaction
    ends."""
    mailboxes = [each for each in managed if isinstance(each, ManagedMailbox)]
    groups = [each for each in managed if isinstance(each, ManagedGroup)]
    held = await _held(tx, HOLD_MAILBOXES, tenant_id, mailboxes) | await _held(tx, HOLD_REQUESTS, tenant_id, groups)
    gone = [each.subject.id for each in mailboxes if each.wanted.request_id not in held]
    return frozenset([*gone, *[each.subject.id for each in groups if each.wanted.request_id not in held]])


async def _held(
    tx: Transaction, statement: str, tenant_id: TenantId, managed: Sequence[ManagedMailbox | ManagedGroup]
) -> frozenset[UUID]:
    ids = [each.wanted.request_id for each in managed]
    rows = await tx.fetch(statement, tenant_id, ids) if ids else ()
    return frozenset([row["request_id"] for row in rows])


async def _rows(tx: Transaction, extent: Extent) -> Sequence[Record]:
    tenant_id, position, most = extent.tenant_id, extent.position, extent.most
    if position.phase is RequestKind.ASSIGNMENT:
        return await tx.fetch(ASSIGNMENTS, tenant_id, position.id, most)
    statement = GROUPS if position.phase in _GROUP_KINDS else MAILBOXES
    return await tx.fetch(statement, tenant_id, position.phase, position.at, position.id, most)


def _position(phase: RequestKind, row: Record) -> Position:
    return Position(phase, row["at"], row["id"])


async def _without_removed(tx: Transaction, tenant_id: TenantId, stretch: Stretch) -> Stretch:
    """The groups, each with the guests whom nobody shall give back."""
    removed: dict[UUID, set[UserId]] = {}
    for row in await tx.fetch(REMOVED, tenant_id, [each.subject.id for each in stretch.things], _GUEST_KINDS):
        removed.setdefault(row["subject_id"], set()).add(UserId(UUID(row["about"])))
    return replace(
        stretch,
        managed=[
            (replace(each, removed=frozenset(removed.get(each.subject.id, ()))), at)
            if isinstance(each, ManagedGroup)
            else (each, at)
            for each, at in stretch.managed
        ],
    )


async def _managed(tx: Transaction, revisions: Revisions, phase: RequestKind, row: Record) -> Managed:
    match phase:
        case RequestKind.SHARED | RequestKind.EQUIPMENT | RequestKind.ROOM:
            return _mailbox(row)
        case RequestKind.GROUP | RequestKind.TEAM:
            return await _group(tx, revisions, row)
        case RequestKind.ASSIGNMENT:
            return _assignment(row)


def _mailbox(row: Record) -> ManagedMailbox:
    order, tenant_id = read_mailbox_order(row["content"].encode()), TenantId(row["tenant_id"])
    return ManagedMailbox(
        subject=FoundMailbox(tenant_id, MailboxId(row["mailbox_id"]), row["display_name"]),
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
    task = task_of(row, is_new=False)
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
    assigned = assigned_of(row)
    return ManagedAssignment(assigned.finding_subject, row["assigned_at"], assigned)
