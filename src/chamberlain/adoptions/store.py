"""Adoptions: rules that were confirmed, and how far each has come. Whom they take stands in adoption_items."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.adoptions.models import AdoptionFilter, AdoptionRule, AdoptionState
from chamberlain.adoptions.models_adoption_records import AdoptionRecord
from chamberlain.auth.models import Actor
from chamberlain.auth.models_edits import Editor
from chamberlain.core.ids import AdoptionId, ClientId, GroupId, TemplateId, TenantId, TraceId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import Record, Transaction
from chamberlain.guests.subjects import records as subject_records
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.requests.models import TemplateReference
from chamberlain.templates.models import TemplateKind

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
SELECT {subject_records.COLUMNS} FROM chamberlain.subject s
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


async def find_groups(tx: Transaction, tenant_id: TenantId, behind: GroupId | None) -> Sequence[SubjectEntry]:
    """Some of the groups that are known, in the order of their ids; fewer than GROUPS_TOGETHER are the last."""
    rows = await tx.fetch(GROUPS, tenant_id, behind, GROUPS_TOGETHER)
    return [subject_records.record_of(row).entry for row in rows]


async def put(tx: Transaction, record: AdoptionRecord) -> None:
    """Write down what was confirmed."""
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


async def count(
    tx: Transaction, record: AdoptionRecord, *, adopted: int = 0, refused: int = 0, released: int = 0, at: datetime
) -> None:
    """Count those that have become so."""
    await tx.execute(COUNT, record.tenant_id, record.id, adopted, refused, released, at)


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
    # The address is on the trail with the call that confirmed or undid it; what a worker does afterwards has none.
    return Editor(_decode_actor(actor), None if client_id is None else ClientId(client_id), TraceId(trace_id), None)
