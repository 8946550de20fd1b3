"""Adoptions: rules that were confirmed, with those whom they take, by name, and how far each has come."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.rules.adoption_records import AdoptionItem, AdoptionRecord, RefusedItem
from chamberlain.rules.adoptions import (
    AdoptionFilter,
    AdoptionRule,
    AdoptionState,
    ItemState,
    Obstacle,
)
from chamberlain.rules.callers import Actor
from chamberlain.rules.edits import Editor
from chamberlain.rules.ids import AdoptionId, ClientId, GroupId, RequestId, TemplateId, TenantId, TraceId
from chamberlain.rules.pages import Page, PageWanted, Position
from chamberlain.rules.requests import TemplateReference
from chamberlain.rules.subject_records import SubjectEntry
from chamberlain.rules.templates import TemplateKind
from chamberlain.store import subjects
from chamberlain.store.database import Record, Transaction

_COLUMNS: Final = """
adoption_id, tenant_id, kind, template_id, template_revision, template_name, filter, state, total, adopted, refused,
released, client_id, created_by, trace_id, created_at, updated_at, finished_at, extension_prefix, undone_by,
undone_client_id, undone_trace_id
"""
FIND: Final = f"SELECT {_COLUMNS} FROM chamberlain.adoption WHERE tenant_id = $1 AND adoption_id = $2"  # noqa: S608 - text of ours alone.
# For whoever is about to change it: until the end of the transaction nobody else does.
HOLD: Final = f"{FIND} FOR UPDATE"
PAGE: Final = f"""
SELECT {_COLUMNS} FROM chamberlain.adoption
WHERE tenant_id = $1 AND ($2::timestamptz IS NULL OR (created_at, adoption_id) < ($2, $3::uuid))
ORDER BY created_at DESC, adoption_id DESC LIMIT $4
"""  # noqa: S608 - text of ours alone.

INSERT: Final = f"""
INSERT INTO chamberlain.adoption ({_COLUMNS})
SELECT $2, $1, $3, $4, $5, $6, $7::text::json, $8, $9, 0, 0, 0, $10, $11::text::json, $12, $13, $13, NULL,
    t.extension_prefix, NULL, NULL, NULL
FROM chamberlain.tenant t WHERE t.tenant_id = $1
"""  # noqa: S608 - text of ours alone.

# Rows that others may wait for come in the order of their keys.
INSERT_ITEMS: Final = """
INSERT INTO chamberlain.adoption_item (tenant_id, adoption_id, object_id, request_id, display_name, mail, state)
SELECT $1, $2, i.object_id, i.request_id, i.display_name, i.mail, 'pending'
FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[]) AS i (object_id, request_id, display_name, mail)
ORDER BY i.object_id ON CONFLICT DO NOTHING RETURNING object_id
"""
RESERVE: Final = """
INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
SELECT $1, r.kind, r.value, r.request_id
FROM unnest($2::text[], $3::text[], $4::uuid[]) AS r (kind, value, request_id)
ORDER BY r.kind, r.value ON CONFLICT DO NOTHING RETURNING value
"""
GIVE_BACK: Final = "DELETE FROM chamberlain.reservation WHERE tenant_id = $1 AND request_id = ANY ($2)"

# Who was not tried yet comes first, and then who has waited longest.
ITEMS: Final = """
SELECT object_id, request_id, display_name, mail, state, code, detail, waits_since FROM chamberlain.adoption_item
WHERE tenant_id = $1 AND adoption_id = $2 AND state = ANY ($3) AND object_id <> ALL ($5)
ORDER BY state, waits_since NULLS FIRST, object_id LIMIT $4
"""
WAIT: Final = """
UPDATE chamberlain.adoption_item SET waits_since = coalesce(waits_since, $4)
WHERE tenant_id = $1 AND adoption_id = $2 AND object_id = ANY ($3)
"""
HELD: Final = """
SELECT v.kind, v.value, v.request_id FROM chamberlain.reservation v
JOIN unnest($2::text[], $3::text[]) AS i (kind, value) USING (kind, value)
WHERE v.tenant_id = $1
"""
LEFT_OF: Final = """
SELECT object_id FROM chamberlain.adoption_item
WHERE tenant_id = $1 AND adoption_id = $2 AND object_id = ANY ($3) AND state = ANY ($4)
"""
SETTLE_ITEMS: Final = """
UPDATE chamberlain.adoption_item t SET state = $3, code = i.code, detail = i.detail
FROM unnest($4::uuid[], $5::text[], $6::text[]) AS i (object_id, code, detail)
WHERE t.tenant_id = $1 AND t.adoption_id = $2 AND t.object_id = i.object_id
"""
UNDO: Final = """
UPDATE chamberlain.adoption SET undone_by = $3::text::json, undone_client_id = $4, undone_trace_id = $5
WHERE tenant_id = $1 AND adoption_id = $2
"""
COUNT: Final = """
UPDATE chamberlain.adoption SET
    adopted = adopted + $3, refused = refused + $4, released = released + $5, updated_at = $6
WHERE tenant_id = $1 AND adoption_id = $2
"""
MOVE: Final = """
UPDATE chamberlain.adoption SET state = $4, updated_at = $5, finished_at = $6
WHERE tenant_id = $1 AND adoption_id = $2 AND state = $3 RETURNING adoption_id
"""

GROUPS: Final = f"""
SELECT {subjects.COLUMNS} FROM chamberlain.subject s
WHERE s.tenant_id = $1 AND s.type = 'group' AND ($2::uuid IS NULL OR s.subject_id > $2)
ORDER BY s.subject_id LIMIT $3
"""  # noqa: S608 - text of ours alone.

# Ours: a page of rows of about 300 bytes.
GROUPS_TOGETHER: Final = 1000


class _WrittenFilter(msgspec.Struct, rename="camel"):
    """How a filter is kept."""

    q: str | None
    domain: str | None
    ids: tuple[UUID, ...] | None


_encode = msgspec.json.Encoder().encode
_decode_actor = msgspec.json.Decoder(Actor).decode
_decode_filter = msgspec.json.Decoder(_WrittenFilter).decode


async def find(tx: Transaction, tenant_id: TenantId, adoption_id: AdoptionId) -> AdoptionRecord | None:
    """The adoption whole."""
    row = await tx.fetch_row(FIND, tenant_id, adoption_id)
    return _record(row) if row else None


async def hold(tx: Transaction, tenant_id: TenantId, adoption_id: AdoptionId) -> AdoptionRecord | None:
    """The adoption whole, which nobody else changes until this transaction ends."""
    row = await tx.fetch_row(HOLD, tenant_id, adoption_id)
    return _record(row) if row else None


async def find_page(tx: Transaction, page: PageWanted) -> Page[AdoptionRecord]:
    """A page of the tenant's, newest first."""
    place = (None, None) if page.after is None else (page.after.created_at, page.after.id)
    rows = await tx.fetch(PAGE, tx.tenant_id, *place, page.limit + 1)
    records = [_record(row) for row in rows[: page.limit]]
    more = len(rows) > page.limit
    return Page(records, Position(records[-1].created_at, records[-1].id) if more else None)


async def find_items(
    tx: Transaction, record: AdoptionRecord, states: Collection[ItemState], most: int, *, but: Collection[UUID] = ()
) -> Sequence[AdoptionItem]:
    """Some of those in these states, but not of these."""
    rows = await tx.fetch(ITEMS, record.tenant_id, record.id, list(states), most, list(but))
    return [_item(row) for row in rows]


async def left_of(
    tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem], states: Collection[ItemState]
) -> frozenset[UUID]:
    """Those of these that are in one of these states still."""
    rows = await tx.fetch(LEFT_OF, record.tenant_id, record.id, [item.id for item in items], list(states))
    return frozenset([row["object_id"] for row in rows])


async def find_refused(tx: Transaction, record: AdoptionRecord, most: int) -> Sequence[RefusedItem]:
    """Some of those that could not be taken, and why."""
    rows = await tx.fetch(ITEMS, record.tenant_id, record.id, [ItemState.REFUSED], most, [])
    return [RefusedItem(_item(row), Obstacle(row["code"], row["detail"])) for row in rows]


async def wait(tx: Transaction, record: AdoptionRecord, ids: Collection[UUID], *, at: datetime) -> None:
    """Remember since when the directory keeps these waiting."""
    if ids:
        await tx.execute(WAIT, record.tenant_id, record.id, list(ids), at)


async def held(
    tx: Transaction, tenant_id: TenantId, pairs: Collection[tuple[str, str]]
) -> frozenset[tuple[str, str, RequestId]]:
    """Which of these names and addresses are reserved, and for whom."""
    kinds, values = [kind for kind, _ in pairs], [value for _, value in pairs]
    rows = await tx.fetch(HELD, tenant_id, kinds, values) if pairs else ()
    return frozenset([(row["kind"], row["value"], RequestId(row["request_id"])) for row in rows])


async def find_groups(tx: Transaction, tenant_id: TenantId, behind: GroupId | None) -> Sequence[SubjectEntry]:
    """Some of the groups that are known, in the order of their ids; fewer than GROUPS_TOGETHER are the last."""
    rows = await tx.fetch(GROUPS, tenant_id, behind, GROUPS_TOGETHER)
    return [subjects.record_of(row).entry for row in rows]


async def put_new(
    tx: Transaction, record: AdoptionRecord, items: Sequence[tuple[AdoptionItem, Sequence[tuple[str, str]]]]
) -> bool:
    """Write down what was confirmed, and reserve what must be each one's own. False when somebody else has got some of
    it meanwhile; then the transaction must not be committed."""
    editor, rule = record.editor, record.rule
    await tx.execute(
        INSERT,
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
    held = [(kind, value, item.request_id) for item, pairs in items for kind, value in pairs]
    got = await tx.fetch(RESERVE, record.tenant_id, *map(list, zip(*held, strict=True)))
    new = await tx.fetch(
        INSERT_ITEMS,
        record.tenant_id,
        record.id,
        [item.id for item, _ in items],
        [item.request_id for item, _ in items],
        [item.display_name for item, _ in items],
        [item.mail for item, _ in items],
    )
    return len(got) == len(held) and len(new) == len(items)


async def refuse(tx: Transaction, record: AdoptionRecord, refused: Sequence[RefusedItem], *, at: datetime) -> None:
    """Let others have the names of those that cannot be taken, and keep why."""
    if refused:
        obstacles = [each.obstacle for each in refused]
        await settle_items(tx, record, [each.item for each in refused], ItemState.REFUSED, obstacles)
        await give_back(tx, record.tenant_id, [each.item.request_id for each in refused])
        await count(tx, record, refused=len(refused), at=at)


async def settle_items(
    tx: Transaction,
    record: AdoptionRecord,
    items: Sequence[AdoptionItem],
    state: ItemState,
    obstacles: Sequence[Obstacle] = (),
) -> None:
    """Let these be in another state, with why, where that is to be said."""
    said: Sequence[tuple[str | None, str | None]] = [(each.code, each.detail) for each in obstacles]
    columns = zip(*(said or [(None, None)] * len(items)), strict=True)
    ids = [item.id for item in items]
    await tx.execute(SETTLE_ITEMS, record.tenant_id, record.id, state, ids, *map(list, columns))


async def count(
    tx: Transaction, record: AdoptionRecord, *, adopted: int = 0, refused: int = 0, released: int = 0, at: datetime
) -> None:
    """Count those that have become so."""
    await tx.execute(COUNT, record.tenant_id, record.id, adopted, refused, released, at)


async def give_back(tx: Transaction, tenant_id: TenantId, request_ids: Sequence[RequestId]) -> None:
    """Let others have the names and addresses that are reserved for these."""
    await tx.execute(GIVE_BACK, tenant_id, request_ids)


async def move(
    tx: Transaction, before: AdoptionRecord, state: AdoptionState, *, at: datetime, finished_at: datetime | None = None
) -> AdoptionRecord | None:
    """The adoption in another state; None when it has moved meanwhile."""
    row = await tx.fetch_row(MOVE, before.tenant_id, before.id, before.state, state, at, finished_at)
    return None if row is None else replace(before, state=state, updated_at=at, finished_at=finished_at)


async def undo(tx: Transaction, before: AdoptionRecord, editor: Editor, *, at: datetime) -> AdoptionRecord | None:
    """The adoption as it is about to be undone; None when it has moved meanwhile."""
    after = await move(tx, before, AdoptionState.UNDOING, at=at)
    if after is None:
        return None
    actor = _encode(editor.actor).decode()
    await tx.execute(UNDO, before.tenant_id, before.id, actor, editor.client_id, editor.trace_id)
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
    return Editor(_decode_actor(actor), None if client_id is None else ClientId(client_id), TraceId(trace_id))


def _item(row: Record) -> AdoptionItem:
    return AdoptionItem(
        row["object_id"], RequestId(row["request_id"]), row["display_name"], row["mail"], row["waits_since"]
    )
