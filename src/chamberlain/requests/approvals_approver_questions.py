"""Questions: who may decide on a request, of whatever kind it is."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.models import PeopleQuestion
from chamberlain.requests.approvals import current_level
from chamberlain.requests.models_approvals import ApprovalLevel, ApprovalRecord, ApprovalRule, Approver, ApproverType


def approvers_question(levels: Iterable[ApprovalLevel], *, tenant_id: TenantId, requester: UserId) -> PeopleQuestion:
    """Who may decide at these levels?"""
    approvers = [approver for level in levels for approver in level.approvers]
    is_for_manager = any(approver.type is ApproverType.MANAGER for approver in approvers)
    return PeopleQuestion(
        tenant_id=tenant_id,
        users=frozenset(map(UserId, _ids(approvers, ApproverType.USER))),
        manager_of=requester if is_for_manager else None,
        members_of=frozenset(map(GroupId, _ids(approvers, ApproverType.GROUP))),
    )


def attention_question(
    rule: ApprovalRule, approvals: Sequence[ApprovalRecord], *, tenant_id: TenantId, requester: UserId
) -> PeopleQuestion:
    """Who may decide at the current level, and who of its approvers is still there?"""
    current = current_level(approvals)
    if current is None:
        return PeopleQuestion(tenant_id)
    question = approvers_question([rule.levels[current.level - 1]], tenant_id=tenant_id, requester=requester)
    return replace(question, users=question.users.union(person.id for person in current.approvers))


def _ids(approvers: Iterable[Approver], approver_type: ApproverType) -> Iterator[UUID]:
    return (each.id for each in approvers if each.type is approver_type and each.id is not None)
