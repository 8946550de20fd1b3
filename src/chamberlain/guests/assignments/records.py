# SPDX-License-Identifier: Apache-2.0
"""SQL of assignments for other nouns: claim requests, and detect changes."""

from collections.abc import Collection, Sequence
from uuid import UUID

from chamberlain.changes.records import actor_of
from chamberlain.core.ids import GroupId, RequestId, TenantId
from chamberlain.core.json import StoredDecoder
from chamberlain.database.transactions import Record, Transaction
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.models import Assigned, AssignmentTask, Place, to_assignment
from chamberlain.queries import load_queries
from chamberlain.requests.finish import TAKE_UP, taken_steps
from chamberlain.templates.models import GuestTemplate
from chamberlain.templates.schema import GuestTemplateShape, to_guest_template

SQL = load_queries(__name__)

_decode_template = StoredDecoder(GuestTemplateShape).decode


async def claim_tasks(tx: Transaction, request_ids: Sequence[UUID]) -> Sequence[AssignmentTask]:
    """Mark claimed requests as running. Cancelled ones are left out."""
    rows = await tx.fetch(TAKE_UP, request_ids)
    loaded = await tx.fetch(SQL["load"], [row["request_id"] for row in rows]) if rows else ()
    assigned = {RequestId(row["request_id"]): to_assigned(row) for row in loaded}
    return [_task(row, assigned.get(RequestId(row["request_id"]))) for row in rows]


async def unchanged(tx: Transaction, taken: Collection[Assigned]) -> frozenset[Place]:
    """Return subjects whose assignment has not changed since the claim.

    They are locked until the transaction ends.
    """
    generations = {each.place: each.generation for each in taken}
    tenants, ids = [place[0] for place in generations], [place[1] for place in generations]
    rows = await tx.fetch(SQL["hold"], tenants, ids) if generations else ()
    held = {(TenantId(row["tenant_id"]), GroupId(row["subject_id"])): row["generation"] for row in rows}
    return frozenset(place for place, generation in generations.items() if held.get(place) == generation)


def to_assigned(row: Record) -> Assigned:
    """Read the assignment of a group or site from a row."""
    return Assigned(
        tenant_id=TenantId(row["tenant_id"]),
        id=GroupId(row["subject_id"]),
        type=SubjectType(row["type"]),
        display_name=row["display_name"],
        extension=f"{row['extension_prefix']}_group",
        generation=row["generation"],
        assignment=to_assignment(row["template_id"], row["policy_id"]),
        template=_template(row["template"]),
    )


def _task(row: Record, assigned: Assigned | None) -> AssignmentTask:
    return AssignmentTask(
        request_id=RequestId(row["request_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        display_name=row["display_name"],
        steps=taken_steps(row),
        created_by=actor_of(row),
        assigned=assigned,
    )


def _template(content: str | bytes | None) -> GuestTemplate | None:
    return None if content is None else to_guest_template(_decode_template(content))
