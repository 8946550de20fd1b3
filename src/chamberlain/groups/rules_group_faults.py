"""Faults of an order for a group: everything that stands against it, all at once.

The template itself has been found and is of the right kind and active (`templates.template_fault`).
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from chamberlain.core.errors import Fault, Forbidden, first_faults
from chamberlain.core.ids import UserId
from chamberlain.directory.models import PeopleAnswer, Person
from chamberlain.groups.models import GroupOrder, is_dynamic, label_of, owners_of
from chamberlain.groups.names import GroupNames
from chamberlain.templates.models import GroupTemplate, TemplateKind
from chamberlain.templates.naming import DISPLAY_NAME_LENGTH, LOCAL_PART_LENGTH
from chamberlain.templates.rules import field_faults, unknown_user_faults


def team_license_missing(template: GroupTemplate, caller: Person | None) -> Forbidden | None:
    """Why somebody may not have a team made, if so: it takes a license. A caller of None is unknown and has none."""
    if template.head.kind is not TemplateKind.TEAM or (caller is not None and caller.has_team_license):
        return None
    detail = "A team needs a license for team collaboration, and you have none. Ask an administrator for one."
    return Forbidden("teamLicenseRequired", detail)


def faults_of(
    order: GroupOrder, template: GroupTemplate, names: GroupNames, answer: PeopleAnswer, *, caller: UserId
) -> tuple[Fault, ...]:
    """All reasons against an order; none means that it can be carried out."""
    return first_faults(
        faults_without_directory(order, template, names, caller=caller),
        faults_in_directory(order, template, answer, caller=caller),
    )


def faults_without_directory(
    order: GroupOrder, template: GroupTemplate, names: GroupNames, *, caller: UserId
) -> tuple[Fault, ...]:
    """Those that the order and its template alone show: they are known even while the directory does not answer."""
    return first_faults(
        name_faults(names),
        member_ship_faults(order, template),
        owner_faults(order, template, caller),
        field_faults(template.custom_fields, order.metadata),
    )


def faults_in_directory(
    order: GroupOrder, template: GroupTemplate, answer: PeopleAnswer, *, caller: UserId
) -> tuple[Fault, ...]:
    """Those that only the directory can tell: who and what does not exist."""
    return first_faults(
        people_faults(order, template, answer.people.keys(), caller),
        unknown_user_faults(template.custom_fields, order.metadata, answer.people.keys()),
        label_faults(order, template, answer),
    )


def name_faults(names: GroupNames) -> Iterator[Fault]:
    """Names that are too long, or of which nothing is left."""
    length = len(names.display_name)
    if length > DISPLAY_NAME_LENGTH:
        made = f"The template makes a display name of {length} characters; {DISPLAY_NAME_LENGTH} are allowed."
        yield Fault("/displayName", "nameTooLong", f"{made} Choose a shorter one.")
    if not names.addresses:
        detail = "No mail address can be made from this. Use at least one letter from a to z or a digit."
        yield Fault("/displayName", "noAddress", detail)
    for address in names.addresses:
        length = len(address.mail_nickname)
        if length > LOCAL_PART_LENGTH:
            made = f"The template makes a mail nickname of {length} characters; {LOCAL_PART_LENGTH} are allowed."
            yield Fault("/displayName", "nameTooLong", f"{made} Choose a shorter display name.")


def member_ship_faults(order: GroupOrder, template: GroupTemplate) -> Iterator[Fault]:
    """A type that may not be chosen, or a dynamic group that cannot be one."""
    sent = order.member_ship_type
    if sent is not None and sent != template.member_ship_type and not template.member_ship_type_changeable:
        detail = f"The template fixes memberShipType to {template.member_ship_type}. Leave it out."
        yield Fault("/memberShipType", "memberShipTypeFixed", detail)
    if not is_dynamic(order, template):
        return
    if template.membership_rule is None:
        pointer = "/templateId" if sent is None else "/memberShipType"
        detail = (
            "The template has no membership rule, so no group of it can be dynamic. Send 0 or 1 or another template."
        )
        yield Fault(pointer, "dynamicRuleMissing", detail)
    if order.members:
        detail = "The members of a dynamic group follow the template's rule. Leave members out."
        yield Fault("/members", "membersOfDynamicGroup", detail)


def owner_faults(order: GroupOrder, template: GroupTemplate, caller: UserId) -> Iterator[Fault]:
    """Too few owners. The caller is always one, so that a template which asks for one need not be counted for."""
    least = template.minimum_owners
    if least > 1 and (count := len(owners_of(order, template, caller))) < least:
        detail = f"The template asks for {least} owners or more, you included; there would be {count}. Add to owners."
        yield Fault("/owners", "tooFewOwners", detail)


def people_faults(
    order: GroupOrder, template: GroupTemplate, known: AbstractSet[UserId], caller: UserId
) -> Iterator[Fault]:
    """Owners and members whom the directory does not know, one fault for each place where one stands."""
    if caller not in known:
        # The caller stands nowhere in the body, but would be its first owner: the whole of it is at fault.
        yield Fault("", "userUnknown", "You are no user of this tenant's directory, and would be an owner.")
    yield from unknown_users("/owners", order.owners, known)
    yield from unknown_users("/members", order.members, known)
    members = () if is_dynamic(order, template) else template.members
    for user in dict.fromkeys((*template.owners, *members)):
        if user not in known:
            detail = f"The template names {user}, who is no user of this tenant. Ask an administrator to mend it."
            yield Fault("/templateId", "userUnknown", detail)


def unknown_users(pointer: str, users: tuple[UserId, ...], known: AbstractSet[UserId]) -> Iterator[Fault]:
    """A fault for each of these users who does not exist."""
    for index, user in enumerate(users):
        if user not in known:
            yield Fault(f"{pointer}/{index}", "userUnknown", f"{user} is no user of this tenant. Leave this id out.")


def label_faults(order: GroupOrder, template: GroupTemplate, answer: PeopleAnswer) -> Iterator[Fault]:
    """A label that the tenant does not have, whether it was sent or is the template's."""
    label = label_of(order, template)
    if label is None or label in answer.labels:
        return
    if order.label_id is None:
        detail = f"The template sets the label {label}, which does not exist. Ask an administrator to mend it."
        yield Fault("/templateId", "labelUnknown", detail)
    else:
        yield Fault("/labelId", "labelUnknown", "This tenant has no such label. Leave it out, or send a known one.")
