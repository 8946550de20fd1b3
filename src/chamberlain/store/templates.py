"""Templates: the current revision of each, and every revision that a request may name."""

import msgspec

from chamberlain.rules.callers import Actor
from chamberlain.rules.ids import TemplateId, TenantId
from chamberlain.rules.templates import (
    CompiledGroupTemplate,
    StoredTemplate,
    TemplateHead,
    TemplateKind,
    compile_group_template,
)
from chamberlain.shapes.group_templates import GroupTemplateShape, to_group_template
from chamberlain.store.actors import encode_actor
from chamberlain.store.database import Record, Transaction

FIND = """
SELECT t.tenant_id, t.template_id, t.revision, t.kind, t.active, r.content ->> 'name' AS name, r.content
FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE t.tenant_id = $1 AND t.template_id = $2
"""

# A revision as a request names it. Its kind never changes, and whether it was active no longer matters.
FIND_REVISION = """
SELECT r.tenant_id, r.template_id, r.revision, t.kind, true AS active, r.content ->> 'name' AS name,
    r.content
FROM chamberlain.template_revision r JOIN chamberlain.template t USING (tenant_id, template_id)
WHERE r.tenant_id = $1 AND r.template_id = $2 AND r.revision = $3
"""

PUT = """
WITH current AS (
    INSERT INTO chamberlain.template AS t (tenant_id, template_id, revision, kind, active, created_by)
    VALUES ($1, $2, 1, $3, $4, $5)
    ON CONFLICT (tenant_id, template_id) DO UPDATE SET
        revision = t.revision + 1, active = excluded.active, updated_at = now()
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


GROUP_KINDS = frozenset({TemplateKind.GROUP, TemplateKind.TEAM})

_decode_group = msgspec.json.Decoder(GroupTemplateShape).decode


async def find(tx: Transaction, template_id: TemplateId) -> StoredTemplate | None:
    """The template as it is now, in the tenant of the transaction."""
    row = await tx.fetch_row(FIND, tx.tenant_id, template_id)
    return _stored(row) if row else None


async def find_revision(
    tx: Transaction, tenant_id: TenantId, template_id: TemplateId, revision: int
) -> StoredTemplate | None:
    """The template as it was when a request was submitted."""
    row = await tx.fetch_row(FIND_REVISION, tenant_id, template_id, revision)
    return _stored(row) if row else None


async def put(tx: Transaction, template: StoredTemplate, *, created_by: Actor) -> bool:
    """Make a template, or give it a new revision when its content is new; says whether anything changed. The kind of a
    template stays what it was, and its revision is counted here."""
    head = template.head
    row = await tx.fetch_row(
        PUT, head.tenant_id, head.id, head.kind, head.active, encode_actor(created_by), template.content.decode()
    )
    return row is not None


def group_template(stored: StoredTemplate) -> CompiledGroupTemplate | None:
    """A template made ready for use; None for one that makes neither group nor team."""
    if stored.head.kind not in GROUP_KINDS:
        return None
    shape = _decode_group(stored.content)
    return compile_group_template(
        to_group_template(shape, tenant_id=stored.head.tenant_id, revision=stored.head.revision)
    )


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
