# SPDX-License-Identifier: Apache-2.0
"""Templates with their creators: one, all, or those for a user.

Pages have the newest first.
"""

from collections.abc import Collection, Sequence

import msgspec

from chamberlain.auth.models import Actor
from chamberlain.core.ids import GroupId, TemplateId, TenantId, UserId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import Record, Transaction
from chamberlain.queries import load_queries
from chamberlain.template_admin.models import TemplateRecord
from chamberlain.templates.models import StoredTemplate, TemplateHead, TemplateKind

SQL = load_queries(__name__)
PAGE = SQL["page"]

_decode_actor = msgspec.json.Decoder(Actor).decode


async def find(tx: Transaction, template_id: TemplateId) -> TemplateRecord | None:
    """Read the current revision of a template of the transaction's tenant."""
    row = await tx.fetch_row(SQL["find"], tx.tenant_id, template_id)
    return _record(row) if row else None


async def find_page(tx: Transaction, kinds: Collection[TemplateKind], page: PageWanted) -> Page[TemplateRecord]:
    """Read a page of the templates of these kinds, including inactive ones."""
    return _page(await tx.fetch(PAGE, *_values(tx, kinds, page)), page)


async def find_offered(
    tx: Transaction,
    kinds: Collection[TemplateKind],
    page: PageWanted,
    *,
    user: UserId | None,
    member_of: Collection[GroupId],
) -> Page[TemplateRecord]:
    """Read a page of the active templates for a user.

    An application (None) may use all.
    """
    groups = [str(group) for group in member_of]
    values = (*_values(tx, kinds, page), None if user is None else str(user), groups)
    return _page(await tx.fetch(SQL["offered"], *values), page)


async def find_active(tx: Transaction, kinds: Collection[TemplateKind], most: int) -> Sequence[TemplateRecord]:
    """Read up to `most` of the newest active templates of these kinds."""
    rows = await tx.fetch(SQL["active"], *_values(tx, kinds, PageWanted(most, None)))
    return [_record(row) for row in rows[:most]]


async def audience_groups(tx: Transaction, kinds: Collection[TemplateKind]) -> frozenset[GroupId]:
    """Read the audience groups of all active templates of these kinds."""
    rows = await tx.fetch(SQL["audiences"], tx.tenant_id, sorted(kinds))
    return frozenset(GroupId(row["id"]) for row in rows)


def _values(tx: Transaction, kinds: Collection[TemplateKind], page: PageWanted) -> tuple[object, ...]:
    after = page.after
    place = (None, None) if after is None else (after.created_at, after.id)
    return (tx.tenant_id, sorted(kinds), *place, page.limit + 1)


def _page(rows: Sequence[Record], page: PageWanted) -> Page[TemplateRecord]:
    records = [_record(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(records, None)
    return Page(records, Position(records[-1].created_at, records[-1].stored.head.id))


def _record(row: Record) -> TemplateRecord:
    head = TemplateHead(
        tenant_id=TenantId(row["tenant_id"]),
        id=TemplateId(row["template_id"]),
        revision=row["revision"],
        kind=TemplateKind(row["kind"]),
        name=row["name"],
        active=row["active"],
    )
    return TemplateRecord(
        stored=StoredTemplate(head, row["content"].encode()),
        created_at=row["created_at"],
        created_by=_decode_actor(row["created_by"]),
        updated_at=row["updated_at"],
        secret_number=row["secret_number"],
        disabled_reason=row["disabled_reason"],
    )
