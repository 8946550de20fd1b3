"""Questions: what must be known of a directory before a group can be promised."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from uuid import UUID

from chamberlain.rules.approvals import ApprovalLevel, Approver, ApproverType
from chamberlain.rules.custom_fields import named_users
from chamberlain.rules.group_names import GroupNames
from chamberlain.rules.groups import GroupOrder, label_of
from chamberlain.rules.ids import GroupId, TenantId, UserId
from chamberlain.rules.people import PeopleQuestion
from chamberlain.rules.templates import CompiledGroupTemplate, GroupTemplate

NO_GROUPS: frozenset[GroupId] = frozenset()


def caller_question(template: CompiledGroupTemplate, caller: UserId) -> PeopleQuestion:
    """Who is the caller? To be asked first, and only when the template's names need it (`needs_properties`)."""
    return PeopleQuestion(template.template.head.tenant_id, users=frozenset((caller,)))


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


def people_question(order: GroupOrder, template: GroupTemplate, names: GroupNames, *, caller: UserId) -> PeopleQuestion:
    """Everybody and everything that the order and its template name, in one question; of the approvers those of the
    first level, which opens at once."""
    people = (caller, *order.owners, *order.members, *template.owners, *template.members)
    if template.custom_fields:
        people = (*people, *named_users(template.custom_fields, order.metadata))
    label = label_of(order, template)
    groups = audience_groups(template, caller)
    question = PeopleQuestion(
        tenant_id=template.head.tenant_id,
        users=frozenset(people),
        labels=frozenset() if label is None else frozenset((label,)),
        addresses=frozenset([address.mail for address in names.addresses]),
        member=caller if groups else None,
        groups=groups,
    )
    if template.approval is None:
        return question
    approvers = approvers_question(template.approval.levels[:1], tenant_id=question.tenant_id, requester=caller)
    return replace(
        question,
        users=question.users | approvers.users,
        manager_of=approvers.manager_of,
        members_of=approvers.members_of,
    )


def audience_groups(template: GroupTemplate, caller: UserId) -> frozenset[GroupId]:
    """The groups whose members may use the template; none when that does not matter for this caller."""
    audience = template.audience
    return NO_GROUPS if audience is None or caller in audience.users else audience.groups


def _ids(approvers: Iterable[Approver], approver_type: ApproverType) -> Iterator[UUID]:
    return (each.id for each in approvers if each.type is approver_type and each.id is not None)
