"""What is true of groups and sites for which something is to be assigned, read by one statement for many of them: what
they have, and what of that which is wanted there is (sql/assignments.sql)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId
from chamberlain.database.transactions import Record
from chamberlain.guests.assignments.models import Assign, AssignmentOrder, Wish
from chamberlain.guests.assignments.rules import Situation
from chamberlain.guests.policies.models import PolicyHead
from chamberlain.guests.subjects.records import record_of
from chamberlain.templates.models import TemplateHead, TemplateKind

FIND: Final = """
SELECT ordinal, tenant_id, subject_id, type, display_name, mail, is_team, member_ship_type, request_id, site_url,
    sharing, observed_at, template_id, policy_id, generation, assignment_request_id, assigned_at, assigned_by,
    assigned_type, effects, open_findings, template_name, template_kind, template_active, template_revision,
    policy_name, policy_active, policy_revision, wanted_template_name, wanted_template_kind, wanted_template_active,
    wanted_template_revision, wanted_policy_name, wanted_policy_active, wanted_policy_revision
FROM chamberlain.find_assignments($1, $2, $3, $4)
"""


@dataclass(frozen=True, slots=True)
class Question:
    """Of which group or site something is asked."""

    tenant_id: TenantId
    subject_id: GroupId
    order: AssignmentOrder


def asked_of(questions: Sequence[Question]) -> Sequence[Sequence[object]]:
    """The parameters of FIND."""
    return (
        [each.tenant_id for each in questions],
        [each.subject_id for each in questions],
        [_wanted(each.order.template) for each in questions],
        [_wanted(each.order.policy) for each in questions],
    )


def situations_of(rows: Sequence[Record], questions: Sequence[Question]) -> Sequence[Situation | None]:
    """What FIND has found of each, in their order; None of a group that is not known here."""
    found = {row["ordinal"]: row for row in rows}
    return [
        _situation(found[ordinal], question) if ordinal in found else None
        for ordinal, question in enumerate(questions, start=1)
    ]


def _wanted(wish: Wish) -> UUID | None:
    return wish.id if isinstance(wish, Assign) else None


def _situation(row: Record, question: Question) -> Situation:
    tenant_id, order = question.tenant_id, question.order
    return Situation(
        record=record_of(row),
        template=_template(row, "", tenant_id, row["template_id"]),
        policy=_policy(row, "", tenant_id, row["policy_id"]),
        wanted_template=_template(row, "wanted_", tenant_id, _wanted(order.template)),
        wanted_policy=_policy(row, "wanted_", tenant_id, _wanted(order.policy)),
    )


def _template(row: Record, prefix: str, tenant_id: TenantId, template_id: UUID | None) -> TemplateHead | None:
    if template_id is None or row[f"{prefix}template_kind"] is None:
        return None
    return TemplateHead(
        tenant_id=tenant_id,
        id=TemplateId(template_id),
        revision=row[f"{prefix}template_revision"],
        kind=TemplateKind(row[f"{prefix}template_kind"]),
        name=row[f"{prefix}template_name"],
        active=row[f"{prefix}template_active"],
    )


def _policy(row: Record, prefix: str, tenant_id: TenantId, policy_id: UUID | None) -> PolicyHead | None:
    if policy_id is None or row[f"{prefix}policy_revision"] is None:
        return None
    return PolicyHead(
        tenant_id=tenant_id,
        id=PolicyId(policy_id),
        revision=row[f"{prefix}policy_revision"],
        name=row[f"{prefix}policy_name"],
        active=row[f"{prefix}policy_active"],
    )
