# SPDX-License-Identifier: Apache-2.0
"""SQL of adoptions and their items."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.adoptions.models import (
    AdoptedObject,
    AdoptionConflict,
    AdoptionFilter,
    AdoptionItem,
    AdoptionRecord,
    AdoptionRule,
    AdoptionState,
    ItemState,
    RefusedItem,
    object_type_of,
)
from chamberlain.adoptions.records import forget_objects
from chamberlain.auth.models import Actor, Editor
from chamberlain.core.ids import AdoptionId, ClientId, GroupId, RequestId, TemplateId, TenantId, TraceId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.core.waits import Waited
from chamberlain.database.transactions import Record, Transaction
from chamberlain.directory.models import ObjectType
from chamberlain.drift.rules import compared_paths
from chamberlain.guests.subjects import records as subject_records
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.queries import load_queries
from chamberlain.requests.models import RequestKind, TemplateReference
from chamberlain.templates.models import TemplateKind

SQL = load_queries(__name__)
FIND: Final = SQL["find"]

GROUPS: Final = f"""
SELECT {subject_records.COLUMNS} FROM chamberlain.subject s
WHERE s.tenant_id = $1 AND s.type = 'group' AND ($2::uuid IS NULL OR s.subject_id > $2)
ORDER BY s.subject_id LIMIT $3
"""  # noqa: S608 - text of ours alone.

# Ours: a page of rows of about 300 bytes.
GROUP_PAGE_SIZE: Final = 1000


class _WrittenFilter(msgspec.Struct, rename="camel"):
    """JSON of a stored filter."""

    q: str | None
    domain: str | None
    ids: tuple[UUID, ...] | None


_encode = msgspec.json.Encoder().encode
_decode_actor = msgspec.json.Decoder(Actor).decode
_decode_filter = msgspec.json.Decoder(_WrittenFilter).decode


async def find(tx: Transaction, tenant_id: TenantId, adoption_id: AdoptionId) -> AdoptionRecord | None:
    """Find an adoption."""
    row = await tx.fetch_row(FIND, tenant_id, adoption_id)
    return _record(row) if row else None


async def lock(tx: Transaction, tenant_id: TenantId, adoption_id: AdoptionId) -> AdoptionRecord | None:
    """Find and lock an adoption."""
    row = await tx.fetch_row(SQL["lock"], tenant_id, adoption_id)
    return _record(row) if row else None


async def find_page(tx: Transaction, page: PageWanted) -> Page[AdoptionRecord]:
    """Paginate the adoptions of a tenant, newest first."""
    place = (None, None) if page.after is None else (page.after.created_at, page.after.id)
    rows = await tx.fetch(SQL["page"], tx.tenant_id, *place, page.limit + 1)
    records = [_record(row) for row in rows[: page.limit]]
    more = len(rows) > page.limit
    return Page(records, Position(records[-1].created_at, records[-1].id) if more else None)


async def find_groups(tx: Transaction, tenant_id: TenantId, after: GroupId | None) -> Sequence[SubjectEntry]:
    """Paginate known groups by id.

    A short page is the last one.
    """
    rows = await tx.fetch(GROUPS, tenant_id, after, GROUP_PAGE_SIZE)
    return [subject_records.to_record(row).entry for row in rows]


async def save(tx: Transaction, record: AdoptionRecord) -> None:
    """Save a confirmed adoption."""
    editor, rule = record.editor, record.rule
    await tx.execute(
        SQL["insert"],
        record.tenant_id,
        record.id,
        rule.kind,
        rule.template_id,
        record.template_revision,
        record.template.name,
        _encode(_WrittenFilter(rule.filter.prefix, rule.filter.domain, _sorted(rule.filter.ids))).decode(),
        record.state,
        record.total,
        editor.client_id,
        _encode(editor.actor).decode(),
        editor.trace_id,
        record.created_at,
    )


async def count(
    tx: Transaction, record: AdoptionRecord, *, adopted: int = 0, refused: int = 0, released: int = 0, at: datetime
) -> None:
    """Add to the counts of an adoption."""
    await tx.execute(SQL["count"], record.tenant_id, record.id, adopted, refused, released, at)


async def move(
    tx: Transaction, before: AdoptionRecord, state: AdoptionState, *, at: datetime, finished_at: datetime | None = None
) -> AdoptionRecord | None:
    """Change the state of an adoption. Returns None after a concurrent change."""
    row = await tx.fetch_row(SQL["move"], before.tenant_id, before.id, before.state, state, at, finished_at)
    return None if row is None else replace(before, state=state, updated_at=at, finished_at=finished_at)


async def undo(tx: Transaction, before: AdoptionRecord, editor: Editor, *, at: datetime) -> AdoptionRecord | None:
    """Change the state to undoing. Returns None after a concurrent change."""
    after = await move(tx, before, AdoptionState.UNDOING, at=at)
    if after is None:
        return None
    actor = _encode(editor.actor).decode()
    await tx.execute(SQL["undo"], before.tenant_id, before.id, actor, editor.client_id, editor.trace_id)
    return replace(after, undone_by=editor)


def _sorted(ids: Collection[UUID] | None) -> tuple[UUID, ...] | None:
    return None if ids is None else tuple(sorted(ids))


def _record(row: Record) -> AdoptionRecord:
    written = _decode_filter(row["filter"])
    template_id = TemplateId(row["template_id"])
    chosen = AdoptionFilter(written.q, written.domain, None if written.ids is None else frozenset(written.ids))
    return AdoptionRecord(
        id=AdoptionId(row["adoption_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        rule=AdoptionRule(TemplateKind(row["kind"]), template_id, chosen),
        template=TemplateReference(template_id, row["template_name"]),
        template_revision=row["template_revision"],
        state=AdoptionState(row["state"]),
        total=row["total"],
        adopted=row["adopted"],
        refused=row["refused"],
        released=row["released"],
        editor=_editor(row["created_by"], row["client_id"], row["trace_id"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        finished_at=row["finished_at"],
        extension_prefix=row["extension_prefix"],
        undone_by=None
        if row["undone_by"] is None
        else _editor(row["undone_by"], row["undone_client_id"], row["undone_trace_id"]),
    )


def _editor(actor: str, client_id: str | None, trace_id: str) -> Editor:
    # The address is part of the request's audit entry. Later entries of a worker have none.
    return Editor(_decode_actor(actor), None if client_id is None else ClientId(client_id), TraceId(trace_id), None)


GIVE_BACK: Final = SQL["give_back"]
REFUSED: Final = SQL["refused"]

_decode_waited = msgspec.json.Decoder(Waited).decode
_decode_held = msgspec.json.Decoder(frozenset[tuple[str, str]]).decode


async def save_items(tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem]) -> bool:
    """Save the items and reserve their unique values.

    Returns False if a value was reserved meanwhile. Then the transaction must be rolled back.
    """
    got = await tx.fetch(SQL["reserve"], record.tenant_id, *_held(items))
    new = await tx.fetch(
        SQL["insert_items"],
        record.tenant_id,
        record.id,
        [item.id for item in items],
        [item.request_id for item in items],
        [item.display_name for item in items],
        [item.mail for item in items],
        [_encode(sorted(item.held)).decode() for item in items],
    )
    return len(got) == sum(len(item.held) for item in items) and len(new) == len(items)


async def find_items(
    tx: Transaction, record: AdoptionRecord, states: Collection[ItemState], most: int, *, but: Collection[UUID] = ()
) -> Sequence[AdoptionItem]:
    """Find items in these states, except for some ids."""
    rows = await tx.fetch(SQL["find_items"], record.tenant_id, record.id, list(states), most, list(but))
    return [_item(row) for row in rows]


async def find_refused(tx: Transaction, record: AdoptionRecord, limit: int) -> Sequence[RefusedItem]:
    """Find refused items, and released items whose mark stays, with reasons."""
    rows = await tx.fetch(REFUSED, record.tenant_id, record.id, limit)
    return [RefusedItem(_item(row), AdoptionConflict(row["code"], row["detail"])) for row in rows]


async def lock_items(
    tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem], states: Collection[ItemState]
) -> frozenset[UUID]:
    """Lock items, and return those still in one of these states."""
    rows = await tx.fetch(SQL["left_of"], record.tenant_id, record.id, [item.id for item in items], list(states))
    return frozenset([row["object_id"] for row in rows])


async def wait(tx: Transaction, record: AdoptionRecord, waits: Mapping[UUID, Waited], *, at: datetime) -> None:
    """Save the start of retries, and the time by cause."""
    if waits:
        waited = [_encode(each).decode() for each in waits.values()]
        await tx.execute(SQL["wait"], record.tenant_id, record.id, list(waits), at, waited)


async def reset_waits(tx: Transaction, record: AdoptionRecord) -> None:
    """Reset the retries of items.

    The undo calls the directory for something else.
    """
    await tx.execute(SQL["reset_waits"], record.tenant_id, record.id)


async def take(tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem], *, at: datetime) -> None:
    """Mark items as adopted."""
    await _save_outcomes(tx, record, items, ItemState.ADOPTED)
    await count(tx, record, adopted=len(items), at=at)


async def refuse(tx: Transaction, record: AdoptionRecord, refused: Sequence[RefusedItem], *, at: datetime) -> None:
    """Refuse items, with reasons, and release their reserved values."""
    if refused:
        items = [each.item for each in refused]
        await _save_outcomes(tx, record, items, ItemState.REFUSED, [each.conflict for each in refused])
        await _give_back(tx, record, items)
        await count(tx, record, refused=len(refused), at=at)


async def release(tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem], *, at: datetime) -> None:
    """Release items and their reserved values."""
    await _save_outcomes(tx, record, items, ItemState.RELEASED)
    await _give_back(tx, record, items)
    await count(tx, record, released=len(items), at=at)


async def save_remaining_marks(tx: Transaction, record: AdoptionRecord, released: Sequence[RefusedItem]) -> None:
    """Save the reasons of released items whose mark stays."""
    if released:
        items, conflicts = [each.item for each in released], [each.conflict for each in released]
        await _save_outcomes(tx, record, items, ItemState.RELEASED, conflicts)


async def _save_outcomes(
    tx: Transaction,
    record: AdoptionRecord,
    items: Sequence[AdoptionItem],
    state: ItemState,
    conflicts: Sequence[AdoptionConflict] = (),
) -> None:
    """Save the state of items, with optional reasons."""
    said: Sequence[tuple[str | None, str | None]] = [(each.code, each.detail) for each in conflicts]
    columns = zip(*(said or [(None, None)] * len(items)), strict=True)
    ids = [item.id for item in items]
    await tx.execute(SQL["settle"], record.tenant_id, record.id, state, ids, *map(list, columns))


async def _give_back(tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem]) -> None:
    """Delete the reservations of items."""
    await tx.execute(GIVE_BACK, record.tenant_id, *_held(items))


def _held(items: Sequence[AdoptionItem]) -> tuple[list[str], list[str], list[RequestId]]:
    """Return the reserved values as columns: kind, value and request."""
    held = [(kind, value, item.request_id) for item in items for kind, value in item.held]
    return [kind for kind, _, _ in held], [value for _, value, _ in held], [request_id for _, _, request_id in held]


def _item(row: Record) -> AdoptionItem:
    return AdoptionItem(
        id=row["object_id"],
        request_id=RequestId(row["request_id"]),
        display_name=row["display_name"],
        mail=row["mail"],
        held=_decode_held(row["held"]),
        waits_since=row["waits_since"],
        waited=None if row["waited"] is None else _decode_waited(row["waited"]),
    )


async def adopt(tx: Transaction, record: AdoptionRecord, objects: Sequence[AdoptedObject], *, at: datetime) -> None:
    """Write the records of those that carry their marks by now."""
    if not objects:
        return
    rule, editor = record.rule, record.editor
    await tx.execute(
        SQL["insert_requests"],
        record.tenant_id,
        rule.kind,
        rule.template_id,
        record.template_revision,
        record.template.name,
        editor.client_id or "",
        editor.trace_id,
        [each.item.request_id for each in objects],
        [each.display_name for each in objects],
        [each.mail for each in objects],
        [each.body.decode() for each in objects],
        [each.created_by.type for each in objects],
        [each.created_by.id for each in objects],
        [each.created_by.display_name for each in objects],
        [_encode(each.result).decode() for each in objects],
        [_encode(each.timeline(at)).decode() for each in objects],
        # The prefix of the marks, even if the tenant's has changed.
        record.extension_prefix,
    )
    await _insert_mailboxes(tx, record, objects)
    if object_type_of(rule.kind) is ObjectType.GROUP:
        ids = [each.item.id for each in objects]
        await tx.execute(SQL["name_requests"], record.tenant_id, ids, [each.item.request_id for each in objects])
    await take(tx, record, [each.item for each in objects], at=at)


async def release_objects(
    tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem], *, at: datetime
) -> None:
    """Delete the records of objects, and release their names."""
    if not items:
        return
    request_ids = [item.request_id for item in items]
    paths = compared_paths(RequestKind(record.rule.kind))
    await forget_objects(tx, record.tenant_id, request_ids, [item.id for item in items], paths, at=at)
    await release(tx, record, items, at=at)


async def _insert_mailboxes(tx: Transaction, record: AdoptionRecord, objects: Sequence[AdoptedObject]) -> None:
    rows = [(each, each.mailbox) for each in objects if each.mailbox is not None]
    if rows:
        await tx.execute(
            SQL["insert_mailboxes"],
            record.tenant_id,
            record.rule.kind,
            record.rule.template_id,
            [each.item.request_id for each, _ in rows],
            [part.id for _, part in rows],
            [part.name for _, part in rows],
            [part.name_key for _, part in rows],
            [each.display_name for each, _ in rows],
            [each.mail for each, _ in rows],
            [part.alias for _, part in rows],
            [part.content.decode() for _, part in rows],
            [f"{{{','.join(map(str, sorted(part.readers)))}}}" for _, part in rows],
            [each.created_by.type for each, _ in rows],
            [each.created_by.id for each, _ in rows],
            [each.created_by.display_name for each, _ in rows],
        )
