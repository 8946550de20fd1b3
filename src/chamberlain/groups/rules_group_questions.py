"""Questions: what must be known of a directory before a group can be promised."""

from dataclasses import replace

from chamberlain.core.ids import UserId
from chamberlain.directory.models import PeopleQuestion
from chamberlain.groups.models import GroupOrder, label_of
from chamberlain.groups.names import GroupNames
from chamberlain.requests.approvals_approver_questions import approvers_question
from chamberlain.templates.models import CompiledGroupTemplate, GroupTemplate
from chamberlain.templates.rules import named_users
from chamberlain.templates.rules_audience_questions import audience_groups


def caller_question(template: CompiledGroupTemplate, caller: UserId) -> PeopleQuestion:
    """Who is the caller? To be asked first, and only when the template's names need it (`needs_properties`)."""
    return PeopleQuestion(template.template.head.tenant_id, users=frozenset((caller,)))


def people_question(order: GroupOrder, template: GroupTemplate, names: GroupNames, *, caller: UserId) -> PeopleQuestion:
    """Everybody and everything that the order and its template name, in one question; of the approvers those of the
    first level, which opens at once."""
    people = (caller, *order.owners, *order.members, *template.owners, *template.members)
    if template.custom_fields:
        people = (*people, *named_users(template.custom_fields, order.metadata))
    label = label_of(order, template)
    groups = audience_groups(template.audience, caller)
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
