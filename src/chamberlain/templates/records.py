"""Templates: the current revision of each, and every revision that a request may name."""

from collections.abc import Collection, Sequence

import msgspec

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.records import encode_actor
from chamberlain.core.ids import PolicyId, TemplateId, TenantId
from chamberlain.core.json import StoredDecoder
from chamberlain.database.transactions import Record, Transaction
from chamberlain.templates.models import (
    GROUP_KINDS,
    MAILBOX_KINDS,
    CompiledGroupTemplate,
    CompiledMailboxTemplate,
    StoredTemplate,
    TemplateHead,
    TemplateKind,
    compile_group_template,
    compile_mailbox_template,
)
from chamberlain.templates.schema import (
    GroupTemplateShape,
    MailboxTemplateShape,
    to_group_template,
    to_mailbox_template,
)

FIND = """
SELECT t.tenant_id, t.template_id, t.revision, t.kind, t.active,
    chamberlain.clean(r.content) ->> 'name' AS name, chamberlain.clean(r.content) AS content
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE t.tenant_id = $1 AND t.template_id = $2
"""

FIND_OF = """
SELECT t.tenant_id, t.template_id, t.revision, t.kind, t.active,
    chamberlain.clean(r.content) ->> 'name' AS name, chamberlain.clean(r.content) AS content
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE t.tenant_id = ANY ($1) ORDER BY t.tenant_id, t.created_at, t.template_id
"""

FIND_DEFAULT = """
SELECT t.tenant_id, t.template_id, t.revision, t.kind, t.active,
    chamberlain.clean(r.content) ->> 'name' AS name, chamberlain.clean(r.content) AS content
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE t.tenant_id = $1 AND t.kind = $2 AND t.is_default
"""

# A revision as a request names it: the template itself may be gone, and whether it was active no longer matters.
FIND_REVISION = """
SELECT r.tenant_id, r.template_id, r.revision, chamberlain.clean(r.content) ->> 'kind' AS kind, true AS active,
    chamberlain.clean(r.content) ->> 'name' AS name, chamberlain.clean(r.content) AS content
FROM chamberlain.template_revision r
WHERE r.tenant_id = $1 AND r.template_id = $2 AND r.revision = $3
"""

# One of the templates that give this guest template ($3) or guest policy ($4) to what they make.
FIND_NAMING = """
SELECT t.tenant_id, t.template_id, t.revision, t.kind, t.active,
    chamberlain.clean(r.content) ->> 'name' AS name, chamberlain.clean(r.content) AS content
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE t.tenant_id = $1 AND t.kind = ANY ($2)
    AND (chamberlain.clean(r.content) ->> 'guestTemplateId' = $3
        OR chamberlain.clean(r.content) ->> 'guestPolicyId' = $4)
ORDER BY t.created_at, t.template_id LIMIT 1
"""

# Those who write templates of one tenant come one after the other: what is read here stays so until the commit.
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('chamberlain.template ' || $1::uuid::text, 0))"

# One that was removed leaves its revisions behind: one of the same id goes on counting where it stopped.
PUT = """
WITH current AS (
    INSERT INTO chamberlain.template AS t (tenant_id, template_id, revision, kind, active, is_default, created_by)
    SELECT $1, $2, 1 + coalesce(max(r.revision), 0), $3, $4, $7, $5
    FROM chamberlain.template_revision r WHERE r.tenant_id = $1 AND r.template_id = $2
    ON CONFLICT (tenant_id, template_id) DO UPDATE SET
        revision = t.revision + 1, active = excluded.active, is_default = excluded.is_default, updated_at = now()
    WHERE t.kind = excluded.kind AND NOT EXISTS (
        SELECT FROM chamberlain.template_revision r
        WHERE r.tenant_id = t.tenant_id AND r.template_id = t.template_id AND r.revision = t.revision
        AND r.content::text = $6::text
    )
    RETURNING revision
)
INSERT INTO chamberlain.template_revision (tenant_id, template_id, revision, content)
SELECT $1, $2, revision, $6::text::json FROM current
RETURNING revision
"""

DELETE = "DELETE FROM chamberlain.template WHERE tenant_id = $1 AND template_id = $2"

_decode_group = StoredDecoder(GroupTemplateShape).decode
_decode_mailbox = StoredDecoder(MailboxTemplateShape).decode
# Whoever changes a template that is there does not become the one who made it.
NOBODY = Actor(ActorType.SYSTEM, None, "")


async def find(tx: Transaction, template_id: TemplateId) -> StoredTemplate | None:
    """The template as it is now, in the tenant of the transaction."""
    row = await tx.fetch_row(FIND, tx.tenant_id, template_id)
    return _stored(row) if row else None


async def find_of(tx: Transaction, tenant_ids: Collection[TenantId]) -> Sequence[StoredTemplate]:
    """All templates of these tenants, the oldest of each first; as the worker's role."""
    return [_stored(row) for row in await tx.fetch(FIND_OF, list(tenant_ids))]


async def find_default(tx: Transaction, tenant_id: TenantId, kind: TemplateKind) -> StoredTemplate | None:
    """The active default template of a mailbox kind, if the tenant has one."""
    row = await tx.fetch_row(FIND_DEFAULT, tenant_id, kind)
    return _stored(row) if row else None


async def find_revision(
    tx: Transaction, tenant_id: TenantId, template_id: TemplateId, revision: int
) -> StoredTemplate | None:
    """The template as it was when a request was submitted."""
    row = await tx.fetch_row(FIND_REVISION, tenant_id, template_id, revision)
    return _stored(row) if row else None


async def find_naming(
    tx: Transaction,
    tenant_id: TenantId,
    *,
    guest_template_id: TemplateId | None = None,
    guest_policy_id: PolicyId | None = None,
) -> StoredTemplate | None:
    """A template, active or not, that names this guest template or guest policy, if there is one."""
    ids = (None if each is None else str(each) for each in (guest_template_id, guest_policy_id))
    row = await tx.fetch_row(FIND_NAMING, tenant_id, sorted(GROUP_KINDS), *ids)
    return _stored(row) if row else None


async def lock(tx: Transaction, tenant_id: TenantId) -> None:
    """Be the only one who writes templates and policies of this tenant, until the transaction ends."""
    await tx.execute(LOCK, tenant_id)


async def put(tx: Transaction, template: StoredTemplate, *, created_by: Actor) -> bool:
    """Make a template, or give it a new revision when its content is new; says whether anything changed.

    The kind of a template stays what it was, and its revision is counted here. One that is the active default takes
    that from the one that was it, which gets a new revision too.
    """
    head = template.head
    await lock(tx, head.tenant_id)
    if (holder := await losing_default(tx, template)) is not None:
        await put(tx, without_default(holder), created_by=NOBODY)
    row = await tx.fetch_row(
        PUT,
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
    """Remove a template; its revisions stay for the requests that name them."""
    await tx.execute(DELETE, tenant_id, template_id)


async def losing_default(tx: Transaction, template: StoredTemplate) -> StoredTemplate | None:
    """The template that is the default of its kind no longer once this one is written, if there is one."""
    if not _is_default(template):
        return None
    holder = await find_default(tx, template.head.tenant_id, template.head.kind)
    return None if holder is None or holder.head.id == template.head.id else holder


def group_template(stored: StoredTemplate) -> CompiledGroupTemplate | None:
    """A template made ready for use; None for one that makes neither group nor team."""
    if stored.head.kind not in GROUP_KINDS:
        return None
    shape = _decode_group(stored.content)
    return compile_group_template(
        to_group_template(shape, tenant_id=stored.head.tenant_id, revision=stored.head.revision)
    )


def mailbox_template(stored: StoredTemplate) -> CompiledMailboxTemplate | None:
    """A template made ready for use; None for one that makes no mailbox."""
    if stored.head.kind not in MAILBOX_KINDS:
        return None
    shape = _decode_mailbox(stored.content)
    return compile_mailbox_template(
        to_mailbox_template(shape, tenant_id=stored.head.tenant_id, revision=stored.head.revision)
    )


def without_default(stored: StoredTemplate) -> StoredTemplate:
    """The same mailbox template as one among others of its kind."""
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
