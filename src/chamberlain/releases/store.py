# SPDX-License-Identifier: Apache-2.0
"""SQL of releases and their items."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.adoptions.records import close_drift, forget_objects, lock_objects, release_items
from chamberlain.auth.models import Actor, Editor
from chamberlain.changes.records import encode_actor
from chamberlain.core.ids import ClientId, GroupId, ReleaseId, RequestId, TenantId, TraceId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.core.waits import Waited
from chamberlain.database.transactions import Record, Transaction
from chamberlain.directory.subjects import SubjectType
from chamberlain.drift.models import PHASES
from chamberlain.drift.rules import compared_paths
from chamberlain.guests.models import Assignment, FindingKind, FindingSubject, to_assignment
from chamberlain.queries import load_queries
from chamberlain.queue.models import JobKind
from chamberlain.releases.models import (
    MOST_SHOWN,
    ItemOutcome,
    ItemState,
    ReleasedObject,
    ReleaseItem,
    ReleasePreview,
    ReleaseReason,
    ReleaseRecord,
    ReleaseState,
    ReleaseType,
)
from chamberlain.requests.models import RequestKind

SQL = load_queries(__name__)
_decode_waited = msgspec.json.Decoder(Waited).decode
_decode_actor = msgspec.json.Decoder(Actor).decode
_OBJECT_PATHS: Final = [path for kind in PHASES if kind is not RequestKind.ASSIGNMENT for path in compared_paths(kind)]


async def preview(tx: Transaction, tenant_id: TenantId, types: Sequence[ReleaseType]) -> ReleasePreview:
    """List the managed objects of these types, without a change."""
    counts: dict[ReleaseType, int] = dict.fromkeys(types, 0)
    skipped: dict[ReleaseReason, int] = {}
    for row in await tx.fetch(SQL["count_objects"], tenant_id, list(types)):
        if row["code"] is None:
            counts[ReleaseType(row["type"])] = row["number"]
        else:
            reason = ReleaseReason(row["code"])
            skipped[reason] = skipped.get(reason, 0) + row["number"]
    shown = [_object(row) for row in await tx.fetch(SQL["first_objects"], tenant_id, list(types), MOST_SHOWN)]
    return ReleasePreview(
        types=tuple(types),
        counts=counts,
        skipped_counts=skipped,
        objects=tuple([each for each in shown if each.reason is None]),
        skipped=tuple([each for each in shown if each.reason is not None]),
    )


async def start(
    tx: Transaction,
    tenant_id: TenantId,
    release_id: ReleaseId,
    types: Sequence[ReleaseType],
    editor: Editor,
    *,
    at: datetime,
) -> ReleaseRecord | None:
    """Save a release with all managed objects of these types.

    Returns None if another release of the tenant is running. Then the transaction must be rolled back.
    """
    (counts,) = await tx.fetch(SQL["insert_items"], tenant_id, list(types), release_id)
    actor = encode_actor(editor.actor)
    numbers = counts["total"], counts["skipped"]
    values = (tenant_id, release_id, list(types), *numbers, editor.client_id, actor, editor.trace_id, at)
    if await tx.fetch_row(SQL["insert"], *values) is None:
        return None
    return ReleaseRecord(
        id=release_id,
        tenant_id=tenant_id,
        types=tuple(types),
        state=ReleaseState.RUNNING,
        total=counts["total"],
        released=0,
        skipped=counts["skipped"],
        editor=editor,
        created_at=at,
        updated_at=at,
        finished_at=None,
    )


async def find(tx: Transaction, tenant_id: TenantId, release_id: ReleaseId) -> ReleaseRecord | None:
    """Find a release."""
    row = await tx.fetch_row(SQL["find"], tenant_id, release_id)
    return _record(row) if row else None


async def lock(tx: Transaction, tenant_id: TenantId, release_id: ReleaseId) -> ReleaseRecord | None:
    """Find and lock a release."""
    row = await tx.fetch_row(SQL["lock"], tenant_id, release_id)
    return _record(row) if row else None


async def find_page(tx: Transaction, page: PageWanted) -> Page[ReleaseRecord]:
    """Paginate the releases of a tenant, newest first."""
    place = (None, None) if page.after is None else (page.after.created_at, page.after.id)
    rows = await tx.fetch(SQL["page"], tx.tenant_id, *place, page.limit + 1)
    records = [_record(row) for row in rows[: page.limit]]
    more = len(rows) > page.limit
    return Page(records, Position(records[-1].created_at, records[-1].id) if more else None)


async def find_remarks(tx: Transaction, record: ReleaseRecord, limit: int) -> Sequence[ReleasedObject]:
    """Find skipped items, and released items with a remark."""
    return [_object(row) for row in await tx.fetch(SQL["remarks"], record.tenant_id, record.id, limit)]


async def find_items(
    tx: Transaction, record: ReleaseRecord, most: int, *, but: Sequence[UUID]
) -> Sequence[ReleaseItem]:
    """Find pending items, except for some keys."""
    return [_item(row) for row in await tx.fetch(SQL["find_items"], record.tenant_id, record.id, most, but)]


async def settle(tx: Transaction, record: ReleaseRecord, outcomes: Sequence[ItemOutcome], *, at: datetime) -> set[UUID]:
    """End items and count them.

    Returns the keys of those that were pending.
    """
    if not outcomes:
        return set()
    columns = zip(*[(*each.item.place, each.state, each.reason) for each in outcomes], strict=True)
    rows = await tx.fetch(SQL["settle"], record.tenant_id, record.id, *map(list, columns))
    ended = {row["key"] for row in rows}
    released = sum(each.item.key in ended and each.state is ItemState.RELEASED for each in outcomes)
    await tx.execute(SQL["count"], record.tenant_id, record.id, released, len(ended) - released, at)
    return ended


async def wait(
    tx: Transaction, record: ReleaseRecord, waits: Mapping[tuple[ReleaseType, UUID], Waited], *, at: datetime
) -> None:
    """Save the start of retries, and the time by cause."""
    if waits:
        columns = zip(*waits, strict=True)
        waited = [msgspec.json.encode(each).decode() for each in waits.values()]
        await tx.execute(SQL["wait"], record.tenant_id, record.id, *map(list, columns), at, waited)


async def finish(tx: Transaction, record: ReleaseRecord, *, at: datetime) -> None:
    """End a running release."""
    await tx.execute(SQL["finish"], record.tenant_id, record.id, at)


async def forget_keys(tx: Transaction, record: ReleaseRecord) -> None:
    """Delete the idempotency keys of the requests of pending items."""
    await tx.execute(SQL["forget_keys"], record.tenant_id, record.id)


async def forget(tx: Transaction, tenant_id: TenantId, items: Sequence[ReleaseItem], *, at: datetime) -> None:
    """Delete the records of mailboxes and groups.

    Their names and addresses are free.
    """
    request_ids = [item.request_id for item in items if item.request_id is not None]
    if not request_ids:
        return
    await lock_objects(tx, tenant_id, request_ids)
    await tx.execute(SQL["free_names"], tenant_id, request_ids)
    object_ids = [item.object_id for item in items if item.object_id is not None]
    await forget_objects(tx, tenant_id, request_ids, object_ids, _OBJECT_PATHS, at=at)
    await release_items(tx, tenant_id, request_ids, at=at)


async def lock_assignments(
    tx: Transaction, tenant_id: TenantId, ids: Sequence[UUID]
) -> Mapping[UUID, tuple[FindingSubject, Assignment, int, str]]:
    """Lock groups and sites.

    Returns the assignment of each with its generation, and the state of the request that applies it.
    """
    return {
        row["subject_id"]: (
            FindingSubject(
                TenantId(row["tenant_id"]), GroupId(row["subject_id"]), SubjectType(row["type"]), row["display_name"]
            ),
            to_assignment(row["template_id"], row["policy_id"]),
            row["generation"],
            row["state"],
        )
        for row in await tx.fetch(SQL["lock_assignments"], tenant_id, ids)
    }


async def clear_assignments(
    tx: Transaction, record: ReleaseRecord, cleared: Mapping[UUID, Assignment], *, at: datetime
) -> None:
    """Clear the assignments of locked groups and sites, and close their findings."""
    if not cleared:
        return
    ids = list(cleared)
    await tx.execute(
        SQL["clear_assignments"],
        record.tenant_id,
        ids,
        at,
        encode_actor(record.editor.actor),
        [assignment.policy_id is not None for assignment in cleared.values()],
        record.id,
        JobKind.POLICY_EVALUATE,
        record.editor.trace_id,
    )
    await tx.execute(SQL["close_guest_findings"], record.tenant_id, ids, [FindingKind.GUEST_AGAINST_RULE], at)
    await close_drift(tx, record.tenant_id, ids, compared_paths(RequestKind.ASSIGNMENT), at=at)


def _record(row: Record) -> ReleaseRecord:
    client_id = row["client_id"]
    return ReleaseRecord(
        id=ReleaseId(row["release_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        types=tuple([ReleaseType(each) for each in row["types"]]),
        state=ReleaseState(row["state"]),
        total=row["total"],
        released=row["released"],
        skipped=row["skipped"],
        # The address is part of the audit entry of the start. Later entries of a worker have none.
        editor=Editor(
            _decode_actor(row["created_by"]),
            None if client_id is None else ClientId(client_id),
            TraceId(row["trace_id"]),
            None,
        ),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        finished_at=row["finished_at"],
    )


def _object(row: Record) -> ReleasedObject:
    code = row["code"]
    return ReleasedObject(
        ReleaseType(row["type"]),
        row["id"],
        row["display_name"],
        row["mail"],
        None if code is None else ReleaseReason(code),
    )


def _item(row: Record) -> ReleaseItem:
    request_id = row["request_id"]
    return ReleaseItem(
        type=ReleaseType(row["type"]),
        key=row["key"],
        id=row["id"],
        object_id=row["object_id"],
        request_id=None if request_id is None else RequestId(request_id),
        display_name=row["display_name"],
        mail=row["mail"],
        generation=row["generation"],
        waits_since=row["waits_since"],
        waited=None if row["waited"] is None else _decode_waited(row["waited"]),
    )
