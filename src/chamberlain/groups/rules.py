"""Drafts of group requests: all that is written, or that a dry run shows, of an order that was found right."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from chamberlain.auth.models import Caller
from chamberlain.changes.models import Event, EventType, actor_document, shorten_name
from chamberlain.core.errors import Fault, Forbidden, first_faults
from chamberlain.core.idempotency import Submission
from chamberlain.core.ids import EventId, RequestId, TemplateId, UserId
from chamberlain.core.values import value
from chamberlain.directory.groups import ObservedGroup, WantedGroup
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion, Person
from chamberlain.groups.models import GroupOrder, is_dynamic, label_of, owners_of, plan_order, wanted_group
from chamberlain.groups.names import GroupNames
from chamberlain.requests.approvals import approvers_question
from chamberlain.requests.events import RequestSummary
from chamberlain.requests.models import ApprovalRule, Draft, RequestKind
from chamberlain.templates.drafts import Moment, draft_from
from chamberlain.templates.models import CompiledGroupTemplate, GroupTemplate, TemplateHead, TemplateKind
from chamberlain.templates.naming import DISPLAY_NAME_LENGTH, LOCAL_PART_LENGTH
from chamberlain.templates.rules import audience_groups, field_faults, named_users, unknown_user_faults
from chamberlain.tenants.models import Tenant


@value(frozen=True, slots=True)
class Situation:
    """What one order is checked against: who asks for what, and the template and tenant as they are known. With
    `ask_addresses` it is the write that asks the directory for addresses."""

    caller: Caller
    user: UserId
    order: GroupOrder
    request_id: RequestId
    tenant: Tenant
    compiled: CompiledGroupTemplate
    ask_addresses: bool

    @property
    def template(self) -> GroupTemplate:
        """The template itself."""
        return self.compiled.template

    @property
    def head(self) -> TemplateHead:
        """What every template has."""
        return self.compiled.template.head

    @property
    def approval(self) -> ApprovalRule | None:
        """Who has to agree."""
        return self.compiled.template.approval

    @property
    def noun(self) -> str:
        """What the audit trail calls it."""
        return self.compiled.template.head.kind


def wanted_in(situation: Situation, names: GroupNames) -> WantedGroup:
    """The group that comes of it, at the first of its addresses."""
    return wanted_group(
        situation.order,
        situation.template,
        request_id=situation.request_id,
        caller=situation.user,
        display_name=names.display_name,
        address=names.addresses[0],
        prefix=situation.tenant.extension_prefix,
    )


def draft_of(
    situation: Situation,
    submission: Submission,
    names: GroupNames,
    answer: PeopleAnswer | None,
    *,
    moment: Moment | None,
) -> Draft:
    """The request as it is to be written. `answer` is None when the directory gave none: then people are checked
    later."""
    return draft_from(
        situation,
        submission,
        answer,
        moment=moment,
        display_name=names.display_name,
        addresses=names.addresses,
        steps=plan_order(situation.order, situation.template, situation.user, people_checked=answer is not None),
    )


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


def group_created(
    event_id: EventId,
    request: RequestSummary,
    group: ObservedGroup,
    *,
    template_id: TemplateId,
    metadata: Mapping[str, str | bool] | None,
    now: datetime,
) -> Event:
    """The group or team of a request was created."""
    is_team = request.kind is RequestKind.TEAM
    return Event(
        id=event_id,
        type=EventType.TEAM_CREATED if is_team else EventType.GROUP_CREATED,
        timestamp=now,
        tenant_id=request.tenant_id,
        request_id=request.request_id,
        data={
            "group": {
                "id": str(group.id),
                "displayName": shorten_name(group.display_name),
                "mail": group.mail,
                "mailNickname": group.mail_nickname,
            },
            "templateId": str(template_id),
            "metadata": dict(metadata or {}),
            "createdBy": actor_document(request.created_by),
        },
    )
