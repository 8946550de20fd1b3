# SPDX-License-Identifier: Apache-2.0
"""Read and write templates: their current revisions and those that requests name."""

from collections.abc import Collection, Sequence

import msgspec

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.records import encode_actor
from chamberlain.core.ids import PolicyId, TemplateId, TenantId
from chamberlain.core.json import StoredDecoder
from chamberlain.database.transactions import Record, Transaction
from chamberlain.queries import load_queries
from chamberlain.templates.models import (
    GROUP_KINDS,
    MAILBOX_KINDS,
    CompiledGroupTemplate,
    CompiledMailboxTemplate,
    GuestTemplate,
    StoredTemplate,
    TemplateHead,
    TemplateKind,
)
from chamberlain.templates.rules import compile_group_template, compile_mailbox_template
from chamberlain.templates.schema import (
    GroupTemplateShape,
    GuestTemplateShape,
    MailboxTemplateShape,
    to_group_template,
    to_guest_template,
    to_mailbox_template,
)

SQL = load_queries(__name__)

_decode_group = StoredDecoder(GroupTemplateShape).decode
_decode_guest = StoredDecoder(GuestTemplateShape).decode
_decode_mailbox = StoredDecoder(MailboxTemplateShape).decode
# Not stored: a change of a template keeps its creator.
NOBODY = Actor(ActorType.SYSTEM, None, "")


async def find(tx: Transaction, template_id: TemplateId) -> StoredTemplate | None:
    """Read the current revision of a template of the transaction's tenant."""
    row = await tx.fetch_row(SQL["find"], tx.tenant_id, template_id)
    return _stored(row) if row else None


async def find_guest(tx: Transaction, template_id: TemplateId) -> GuestTemplate | None:
    """Read a guest template of the transaction's tenant."""
    stored = await find(tx, template_id)
    if stored is None or stored.head.kind is not TemplateKind.GUEST:
        return None
    return to_guest_template(_decode_guest(stored.content))


async def find_of(tx: Transaction, tenant_ids: Collection[TenantId]) -> Sequence[StoredTemplate]:
    """Read all templates of these tenants, oldest first, as the worker's role."""
    return [_stored(row) for row in await tx.fetch(SQL["find_of"], list(tenant_ids))]


async def find_default(tx: Transaction, tenant_id: TenantId, kind: TemplateKind) -> StoredTemplate | None:
    """Read the active default template of a mailbox kind, or None."""
    row = await tx.fetch_row(SQL["find_default"], tenant_id, kind)
    return _stored(row) if row else None


async def find_revision(
    tx: Transaction, tenant_id: TenantId, template_id: TemplateId, revision: int
) -> StoredTemplate | None:
    """Read a revision of a template."""
    row = await tx.fetch_row(SQL["find_revision"], tenant_id, template_id, revision)
    return _stored(row) if row else None


async def find_naming(
    tx: Transaction,
    tenant_id: TenantId,
    *,
    guest_template_id: TemplateId | None = None,
    guest_policy_id: PolicyId | None = None,
) -> StoredTemplate | None:
    """Find a template that names this guest template or policy.

    It may be inactive.
    """
    ids = (None if each is None else str(each) for each in (guest_template_id, guest_policy_id))
    row = await tx.fetch_row(SQL["find_naming"], tenant_id, sorted(GROUP_KINDS), *ids)
    return _stored(row) if row else None


async def lock(tx: Transaction, tenant_id: TenantId) -> None:
    """Block other writes of templates and policies of this tenant.

    The lock lasts until the end of the transaction.
    """
    await tx.execute(SQL["lock"], tenant_id)


async def put(tx: Transaction, template: StoredTemplate, *, created_by: Actor) -> bool:
    """Create a template, or a new revision. Returns whether it changed.

    The same content makes no revision. The kind of a template never changes. A new default template replaces the
    previous one, which gets a new revision too.
    """
    head = template.head
    await lock(tx, head.tenant_id)
    if (holder := await losing_default(tx, template)) is not None:
        await put(tx, without_default(holder), created_by=NOBODY)
    row = await tx.fetch_row(
        SQL["put"],
        head.tenant_id,
        head.id,
        head.kind,
        head.active,
        encode_actor(created_by),
        template.content.decode(),
        _is_default(template),
    )
    return row is not None


async def remove(tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
    """Delete a template. Its revisions stay for requests that name them."""
    await tx.execute(SQL["delete"], tenant_id, template_id)


async def losing_default(tx: Transaction, template: StoredTemplate) -> StoredTemplate | None:
    """Find the default template that this one replaces, if there is one."""
    if not _is_default(template):
        return None
    holder = await find_default(tx, template.head.tenant_id, template.head.kind)
    return None if holder is None or holder.head.id == template.head.id else holder


def group_template(stored: StoredTemplate) -> CompiledGroupTemplate | None:
    """Compile a template of a group or team; None for other kinds."""
    if stored.head.kind not in GROUP_KINDS:
        return None
    shape = _decode_group(stored.content)
    return compile_group_template(
        to_group_template(shape, tenant_id=stored.head.tenant_id, revision=stored.head.revision)
    )


def mailbox_template(stored: StoredTemplate) -> CompiledMailboxTemplate | None:
    """Compile a template of a mailbox; None for other kinds."""
    if stored.head.kind not in MAILBOX_KINDS:
        return None
    shape = _decode_mailbox(stored.content)
    return compile_mailbox_template(
        to_mailbox_template(shape, tenant_id=stored.head.tenant_id, revision=stored.head.revision)
    )


def without_default(stored: StoredTemplate) -> StoredTemplate:
    """Return a mailbox template that is no longer the default."""
    shape = msgspec.structs.replace(_decode_mailbox(stored.content), is_default=False)
    return StoredTemplate(stored.head, msgspec.json.encode(shape))


def _is_default(stored: StoredTemplate) -> bool:
    is_mailbox = stored.head.kind in MAILBOX_KINDS
    return is_mailbox and stored.head.active and _decode_mailbox(stored.content).is_default


def _stored(row: Record) -> StoredTemplate:
    head = TemplateHead(
        tenant_id=TenantId(row["tenant_id"]),
        id=TemplateId(row["template_id"]),
        revision=row["revision"],
        kind=TemplateKind(row["kind"]),
        name=row["name"],
        active=row["active"],
    )
    return StoredTemplate(head, row["content"].encode())
