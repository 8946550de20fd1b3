"""What is adopted gets the records that a request of its own would have left, and loses them when that is undone."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from chamberlain.adoptions import store_adoption_items
from chamberlain.adoptions.models import object_type_of
from chamberlain.adoptions.models_adoption_records import AdoptedObject, AdoptionItem, AdoptionRecord
from chamberlain.database.transactions import Transaction
from chamberlain.directory.models_object_types import ObjectType
from chamberlain.drift.pages import paths_of
from chamberlain.requests.models import RequestKind

# As a request of its own would have written it, when it had succeeded. It has no steps: none were taken.
INSERT_REQUESTS: Final = """
INSERT INTO chamberlain.request (
    request_id, tenant_id, kind, state, display_name, mail_nickname, address, template_id, template_revision,
    template_name, body, approval_required, people_checked, client_id, actor_type, actor_id, actor_name, trace_id,
    steps, result, finished_at, timeline, extension_prefix
)
SELECT o.request_id, $1, $2, 'succeeded', o.display_name, split_part(o.address, '@', 1), o.address, $3, $4, $5,
    o.body::json, false, true, $6, o.actor_type, o.actor_id, o.actor_name, $7, '[]', o.result::json, now(),
    o.timeline::jsonb, $17
FROM unnest($8::uuid[], $9::text[], $10::text[], $11::text[], $12::text[], $13::uuid[], $14::text[], $15::text[],
    $16::text[])
    AS o (request_id, display_name, address, body, actor_type, actor_id, actor_name, result, timeline)
ORDER BY o.request_id ON CONFLICT DO NOTHING
"""
INSERT_MAILBOXES: Final = """
WITH described AS (
    INSERT INTO chamberlain.mailbox (
        request_id, mailbox_id, tenant_id, kind, name, name_key, display_name, address, alias, template_id,
        template_source, content, readers, approval_required, actor_type, actor_id, actor_name
    )
    SELECT m.request_id, m.mailbox_id, $1, $2, m.name, m.name_key, m.display_name, m.address, m.alias, $3, 'request',
        m.content::json, m.readers::uuid[], false, m.actor_type, m.actor_id, m.actor_name
    FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
        $12::text[], $13::text[], $14::uuid[], $15::text[])
        AS m (request_id, mailbox_id, name, name_key, display_name, address, alias, content, readers, actor_type,
            actor_id, actor_name)
    ORDER BY m.request_id ON CONFLICT DO NOTHING
    RETURNING kind, request_id, readers
)
INSERT INTO chamberlain.mailbox_reader (tenant_id, user_id, kind, request_id)
SELECT $1, reader, described.kind, described.request_id FROM described CROSS JOIN unnest(described.readers) reader
"""
# Groups are shown with their requests before the next look into the directory, too.
NAME_REQUESTS: Final = """
UPDATE chamberlain.subject s SET request_id = i.request_id
FROM unnest($2::uuid[], $3::uuid[]) AS i (subject_id, request_id)
WHERE s.tenant_id = $1 AND s.subject_id = i.subject_id
"""
FORGET_REQUESTS: Final = (
    "UPDATE chamberlain.subject SET request_id = NULL WHERE tenant_id = $1 AND request_id = ANY ($2)",
    "DELETE FROM chamberlain.request WHERE tenant_id = $1 AND request_id = ANY ($2)",
)
# In the order in which a check for drift locks them.
HOLD: Final = (
    "SELECT FROM chamberlain.mailbox WHERE tenant_id = $1 AND request_id = ANY ($2) ORDER BY request_id FOR UPDATE",
    "SELECT FROM chamberlain.request WHERE tenant_id = $1 AND request_id = ANY ($2) ORDER BY request_id FOR UPDATE",
)
FORGET_MAILBOXES: Final = """
WITH gone AS (
    DELETE FROM chamberlain.mailbox WHERE tenant_id = $1 AND request_id = ANY ($2)
    RETURNING mailbox_id, readers, kind, created_at, request_id
), unread AS (
    DELETE FROM chamberlain.mailbox_reader d USING gone m, unnest(m.readers) reader
    WHERE d.tenant_id = $1 AND d.user_id = reader AND d.kind = m.kind AND d.created_at = m.created_at
    AND d.request_id = m.request_id
)
SELECT mailbox_id FROM gone
"""
# Of groups, what guest rules have found stays: they are assigned to any group, managed or not. So does what differs of
# these: $5 are the properties of mailboxes and groups.
LEAVE: Final = """
UPDATE chamberlain.finding SET state = 'gone', last_seen_at = $4
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND kind = ANY ($3) AND about = ANY ($5)
AND state IN ('open', 'accepted')
"""
# Nobody asks for them under this id any more.
FORGET_REPAIRS: Final = """
DELETE FROM chamberlain.drift_repair WHERE tenant_id = $1 AND subject_id = ANY ($2) AND about = ANY ($3)
"""
_OF_DRIFT: Final = ("drift", "repairDoesNotHold")

_encode = msgspec.json.Encoder().encode


async def adopt(tx: Transaction, record: AdoptionRecord, objects: Sequence[AdoptedObject], *, at: datetime) -> None:
    """Write the records of those that carry their marks by now."""
    if not objects:
        return
    rule, editor = record.rule, record.editor
    await tx.execute(
        INSERT_REQUESTS,
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
        # The marks were set under it, whatever the prefix of the tenant is by now.
        record.extension_prefix,
    )
    await _insert_mailboxes(tx, record, objects)
    if object_type_of(rule.kind) is ObjectType.GROUP:
        ids = [each.item.id for each in objects]
        await tx.execute(NAME_REQUESTS, record.tenant_id, ids, [each.item.request_id for each in objects])
    await store_adoption_items.take(tx, record, [each.item for each in objects], at=at)


async def release(tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem], *, at: datetime) -> None:
    """Take the records of these away again, and let others have their names."""
    if not items:
        return
    request_ids = [item.request_id for item in items]
    for statement in HOLD:
        await tx.execute(statement, record.tenant_id, request_ids)
    mailboxes = await tx.fetch(FORGET_MAILBOXES, record.tenant_id, request_ids)
    for statement in FORGET_REQUESTS:
        await tx.execute(statement, record.tenant_id, request_ids)
    mailbox_ids = [row["mailbox_id"] for row in mailboxes]
    subject_ids = [*mailbox_ids, *[item.id for item in items]]
    paths = list(paths_of(RequestKind(record.rule.kind)))
    await tx.execute(LEAVE, record.tenant_id, subject_ids, list(_OF_DRIFT), at, paths)
    await tx.execute(FORGET_REPAIRS, record.tenant_id, subject_ids, paths)
    await store_adoption_items.release(tx, record, items, at=at)


async def _insert_mailboxes(tx: Transaction, record: AdoptionRecord, objects: Sequence[AdoptedObject]) -> None:
    rows = [(each, each.mailbox) for each in objects if each.mailbox is not None]
    if rows:
        await tx.execute(
            INSERT_MAILBOXES,
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
