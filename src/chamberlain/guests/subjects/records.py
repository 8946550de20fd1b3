# SPDX-License-Identifier: Apache-2.0
"""SQL of groups and sites for other nouns."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.auth.models import Actor
from chamberlain.core.ids import GroupId, PolicyId, RequestId, TemplateId, TenantId
from chamberlain.database.transactions import Record, Transaction
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.subjects import Sharing, SubjectType
from chamberlain.guests.models import to_assignment
from chamberlain.guests.subjects.models import SubjectEntry, SubjectRecord
from chamberlain.mailboxes.rules import comparison_form
from chamberlain.queries import load_queries
from chamberlain.requests.steps import Effects

SQL = load_queries(__name__)

# Columns of a group or site with its assignment. `s` is its row.
COLUMNS: Final = """
s.tenant_id, s.subject_id, s.type, s.display_name, s.mail, s.is_team, s.member_ship_type, s.request_id, s.site_url,
s.sharing, s.observed_at, s.template_id, s.policy_id, s.generation, s.assignment_request_id, s.assigned_at,
s.assigned_by, s.assigned_type,
(
    SELECT json_build_object('steps', r.steps, 'state', r.state, 'waiting', r.waiting, 'updated_at', r.updated_at)
    FROM chamberlain.request r
    WHERE r.request_id = s.assignment_request_id AND r.tenant_id = s.tenant_id
) AS effects,
(
    SELECT count(*) FROM chamberlain.finding f
    WHERE f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id AND f.state = 'open'
) AS open_findings,
(
    SELECT chamberlain.clean(v.content) ->> 'name' FROM chamberlain.template t
    JOIN chamberlain.template_revision v USING (tenant_id, template_id, revision)
    WHERE t.tenant_id = s.tenant_id AND t.template_id = s.template_id
) AS template_name,
(
    SELECT chamberlain.clean(p.content) ->> 'name' FROM chamberlain.policy p
    WHERE p.tenant_id = s.tenant_id AND p.policy_id = s.policy_id
) AS policy_name,
(
    SELECT json_object_agg(
        m.name, CASE WHEN m.is_boolean THEN to_json(m.value = 'true') ELSE to_json(m.value) END ORDER BY m.name
    )
    FROM chamberlain.group_metadata m WHERE m.tenant_id = s.tenant_id AND m.subject_id = s.subject_id
) AS metadata
"""
FIND: Final = f"""
SELECT {COLUMNS} FROM chamberlain.subject s WHERE s.tenant_id = $1 AND s.subject_id = $2
"""  # noqa: S608 - text of ours alone.
_decode_effects = msgspec.json.Decoder(Effects).decode
_decode_metadata = msgspec.json.Decoder(dict[str, str | bool]).decode
_decode_actor = msgspec.json.Decoder(Actor).decode


async def find(tx: Transaction, tenant_id: TenantId, subject_id: GroupId) -> SubjectRecord | None:
    """Find a group or site."""
    row = await tx.fetch_row(FIND, tenant_id, subject_id)
    return to_record(row) if row else None


async def observe(tx: Transaction, entries: Sequence[SubjectEntry]) -> None:
    """Save observations. Duplicates are invalid."""
    if entries:
        await tx.execute(SQL["observe"], *map(list, zip(*map(_row, entries), strict=True)))


async def lock(tx: Transaction, tenant_id: TenantId, subject_ids: Sequence[GroupId]) -> None:
    """Lock known groups and sites in a fixed order to avoid deadlocks."""
    if subject_ids:
        await tx.execute(SQL["lock"], tenant_id, subject_ids)


async def delete(tx: Transaction, tenant_id: TenantId, subject_ids: Sequence[GroupId]) -> None:
    """Delete groups that are gone, with their assignments and metadata."""
    await tx.execute(SQL["delete"], tenant_id, subject_ids)


async def find_unseen(tx: Transaction, tenant_id: TenantId, since: datetime, limit: int) -> Sequence[GroupId]:
    """Find groups and sites that were not observed since a time."""
    rows = await tx.fetch(SQL["unseen"], tenant_id, since, limit)
    return [GroupId(row["subject_id"]) for row in rows]


async def member_ship_types(
    tx: Transaction, tenant_id: TenantId, ids: Sequence[GroupId]
) -> Mapping[UUID, MemberShipType]:
    """Read the membership types of known groups."""
    rows = await tx.fetch(SQL["member_ship_types"], tenant_id, ids)
    return {row["subject_id"]: MemberShipType(row["member_ship_type"]) for row in rows}


async def ids_after(tx: Transaction, tenant_id: TenantId, after: GroupId | None, limit: int) -> Sequence[GroupId]:
    """Paginate ids in order, optionally after an id."""
    return [GroupId(row["subject_id"]) for row in await tx.fetch(SQL["ids_after"], tenant_id, after, limit)]


async def is_assigned(
    tx: Transaction, tenant_id: TenantId, *, template_id: TemplateId | None = None, policy_id: PolicyId | None = None
) -> bool:
    """Return whether a template or policy is assigned.

    It stays locked until the transaction ends, so that an unused one can be deleted.
    """
    # Lock by separate statements, so that the check sees changes that were committed during the wait.
    if template_id is not None:
        await tx.execute(SQL["lock_template"], tenant_id, template_id)
    if policy_id is not None:
        await tx.execute(SQL["lock_policy"], tenant_id, policy_id)
    row = await tx.fetch_row(SQL["is_assigned"], tenant_id, template_id, policy_id)
    return row is not None and bool(row["is_assigned"])


def to_name_key(display_name: str) -> str:
    """Normalize a name for sorting and prefix search."""
    return comparison_form(display_name)


def to_record(row: Record) -> SubjectRecord:
    """Read a group or site from a row."""
    effects = None if row["effects"] is None else _decode_effects(row["effects"])
    return SubjectRecord(
        entry=_entry(row),
        assignment=to_assignment(row["template_id"], row["policy_id"]),
        template_name=row["template_name"],
        policy_name=row["policy_name"],
        generation=row["generation"],
        effects=() if effects is None else effects.shown,
        open_findings=row["open_findings"],
        assignment_request_id=_request(row["assignment_request_id"]),
        assigned_at=row["assigned_at"],
        assigned_by=None if row["assigned_by"] is None else _decode_actor(row["assigned_by"]),
        is_incomplete=effects is not None and effects.is_left_undone,
        assigned_type=None if row["assigned_type"] is None else SubjectType(row["assigned_type"]),
        metadata={} if row["metadata"] is None else _decode_metadata(row["metadata"]),
    )


def _row(entry: SubjectEntry) -> tuple[object, ...]:
    return (
        entry.tenant_id,
        entry.id,
        entry.type,
        entry.display_name,
        to_name_key(entry.display_name),
        entry.mail,
        entry.is_team,
        entry.member_ship_type,
        entry.request_id,
        entry.site_url,
        entry.sharing,
        entry.observed_at,
    )


def _entry(row: Record) -> SubjectEntry:
    return SubjectEntry(
        tenant_id=TenantId(row["tenant_id"]),
        id=GroupId(row["subject_id"]),
        type=SubjectType(row["type"]),
        display_name=row["display_name"],
        mail=row["mail"],
        is_team=row["is_team"],
        member_ship_type=MemberShipType(row["member_ship_type"]),
        request_id=_request(row["request_id"]),
        site_url=row["site_url"],
        sharing=None if row["sharing"] is None else Sharing(row["sharing"]),
        observed_at=row["observed_at"],
    )


def _request(value: UUID | None) -> RequestId | None:
    return None if value is None else RequestId(value)
