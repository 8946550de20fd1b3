"""Questions: what must be known of a directory before a group can be promised."""

from chamberlain.rules.custom_fields import named_users
from chamberlain.rules.group_names import GroupNames
from chamberlain.rules.groups import GroupOrder, label_of
from chamberlain.rules.ids import GroupId, UserId
from chamberlain.rules.people import PeopleQuestion
from chamberlain.rules.templates import CompiledGroupTemplate, GroupTemplate

NO_GROUPS: frozenset[GroupId] = frozenset()


def caller_question(template: CompiledGroupTemplate, caller: UserId) -> PeopleQuestion:
    """Who is the caller? To be asked first, and only when the template's names need it (`needs_properties`)."""
    return PeopleQuestion(template.template.head.tenant_id, users=frozenset((caller,)))


def people_question(order: GroupOrder, template: GroupTemplate, names: GroupNames, *, caller: UserId) -> PeopleQuestion:
    """Everybody and everything that the order and its template name, in one question."""
    people = (caller, *order.owners, *order.members, *template.owners, *template.members)
    if template.custom_fields:
        people = (*people, *named_users(template.custom_fields, order.metadata))
    label = label_of(order, template)
    groups = audience_groups(template, caller)
    return PeopleQuestion(
        tenant_id=template.head.tenant_id,
        users=frozenset(people),
        labels=frozenset() if label is None else frozenset((label,)),
        addresses=frozenset([address.mail for address in names.addresses]),
        member=caller if groups else None,
        groups=groups,
    )


def audience_groups(template: GroupTemplate, caller: UserId) -> frozenset[GroupId]:
    """The groups whose members may use the template; none when that does not matter for this caller."""
    audience = template.audience
    return NO_GROUPS if audience is None or caller in audience.users else audience.groups
