# SPDX-License-Identifier: Apache-2.0
"""Rules of groups: names, desired state, steps, validation, drafts and events."""

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from chamberlain.auth.models import Caller
from chamberlain.changes.models import Event, EventType, actor_document, shorten_name
from chamberlain.core.errors import Conflict, Fault, first_faults
from chamberlain.core.idempotency import Submission
from chamberlain.core.ids import EventId, RequestId, TemplateId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.core.values import value
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.groups import GUEST_MARKS, MemberShipType, ObservedGroup, WantedGroup
from chamberlain.directory.models import MailAddress, PeopleAnswer, PeopleQuestion, known_label
from chamberlain.directory.steps import Step
from chamberlain.groups.models import NO_NUMBERS, GroupNames, GroupOrder, Numbers
from chamberlain.requests.approvals import approvers_question
from chamberlain.requests.events import RequestSummary
from chamberlain.requests.models import ApprovalRule, Draft, RequestKind
from chamberlain.templates.drafts import Moment, draft_from
from chamberlain.templates.models import CompiledGroupTemplate, GroupTemplate, TemplateHead, TemplateKind
from chamberlain.templates.rules import (
    DISPLAY_NAME_LENGTH,
    LOCAL_PART_LENGTH,
    audience_groups,
    expand,
    field_faults,
    local_part,
    local_part_by_rule,
    mail_nickname,
    named_users,
    second_nickname,
    substitute_name,
    unknown_user_faults,
)
from chamberlain.tenants.models import Tenant


@value(frozen=True, slots=True)
class Situation:
    """The caller, the order, and the template and tenant for validation.

    With `ask_addresses` the write asks the directory for taken addresses. `capabilities` are those of the directory.
    """

    caller: Caller
    user: UserId
    order: GroupOrder
    request_id: RequestId
    tenant: Tenant
    compiled: CompiledGroupTemplate
    ask_addresses: bool
    capabilities: Capabilities

    @property
    def template(self) -> GroupTemplate:
        """Return the template."""
        return self.compiled.template

    @property
    def head(self) -> TemplateHead:
        """Return the head of the template."""
        return self.compiled.template.head

    @property
    def approval(self) -> ApprovalRule | None:
        """Return the approval rule of the template."""
        return self.compiled.template.approval

    @property
    def noun(self) -> str:
        """Return the noun of the audit action."""
        return self.compiled.template.head.kind


def wanted_in(situation: Situation, names: GroupNames) -> WantedGroup:
    """Return the desired state, with the first of the addresses."""
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
    warnings: tuple[Reason, ...] = (),
) -> Draft:
    """Draft the request.

    `answer` is None if the directory did not answer. Then the worker validates people.
    """
    return draft_from(
        situation,
        submission,
        answer,
        moment=moment,
        display_name=names.display_name,
        addresses=names.addresses,
        steps=plan_order(situation.order, situation.template, situation.user, people_checked=answer is not None),
        warnings=warnings,
    )


def names_of(
    order: GroupOrder,
    template: CompiledGroupTemplate,
    *,
    request_id: RequestId,
    domain: str,
    properties: Mapping[str, str],
    numbers: Numbers = NO_NUMBERS,
) -> GroupNames:
    """Expand the naming rules of the template, with the best address.

    `properties` are those of the caller that the rules need. The digits of an address without usable characters come
    from the `request_id`.
    """
    given, metadata = order.display_name, order.metadata or {}
    display_name = expand(template.display_name, given, metadata, properties, number=numbers.display_name)
    substitute = substitute_name(template.template.head.kind, request_id)
    if template.mail_nickname is None:
        nickname = mail_nickname(display_name, substitute=substitute)
    else:
        nickname = local_part_by_rule(
            template.mail_nickname,
            given,
            metadata,
            properties,
            number=numbers.mail_nickname,
            substitute=substitute,
        )
    return GroupNames(display_name, (MailAddress(nickname, f"{nickname}@{domain}"),))


def with_second_address(names: GroupNames, template: GroupTemplate, request_id: RequestId) -> GroupNames:
    """Add the address for a taken one.

    A naming rule for the mail nickname gives one address only.
    """
    if template.mail_nickname_rule is not None:
        return names
    (best,) = names.addresses
    nickname = second_nickname(best.mail_nickname, request_id)
    second = MailAddress(nickname, f"{nickname}@{best.mail.rpartition('@')[2]}")
    return GroupNames(names.display_name, (best, second))


def has_substitute(order: GroupOrder, template: GroupTemplate, names: GroupNames) -> bool:
    """Return whether digits of the requestId replace the name in the address."""
    named = names.display_name if template.mail_nickname_rule is None else order.display_name
    return local_part(named) is None


def free_addresses(names: GroupNames, answer: PeopleAnswer) -> tuple[MailAddress, ...]:
    """Return the addresses that are free in the directory, best first."""
    taken = answer.taken_addresses
    return tuple([address for address in names.addresses if address.mail not in taken]) if taken else names.addresses


def address_taken(names: GroupNames, *, is_reserved: bool) -> Conflict:
    """Return the conflict if no address is free.

    The first one is reserved for a request, or an object in the directory has it.
    """
    mail = names.addresses[0].mail
    if is_reserved:
        sentence = "The address {address} is taken. Choose another display name."
    else:
        sentence = (
            "Something in the directory has the address {address}, perhaps what a cancelled request has left there. "
            "Choose another display name, or have that removed there."
        )
    return Conflict.at(Fault.build("/displayName", "addressTaken", sentence, address=mail))


def wanted_group(
    order: GroupOrder,
    template: GroupTemplate,
    *,
    request_id: RequestId,
    caller: UserId,
    display_name: str,
    address: MailAddress,
    prefix: str,
) -> WantedGroup:
    """Return the desired state of an order.

    It is the same at submission, in a dry run, and on each run of the worker.
    """
    owners = owners_of(order, template, caller)
    follows_rule = is_dynamic(order, template)
    return WantedGroup(
        tenant_id=template.head.tenant_id,
        request_id=request_id,
        display_name=display_name,
        mail_nickname=address.mail_nickname,
        mail=address.mail,
        description=order.description,
        member_ship_type=member_ship_type_of(order, template),
        membership_rule=template.membership_rule if follows_rule else None,
        owners=owners,
        members=() if follows_rule else tuple(dict.fromkeys((*owners, *order.members, *template.members))),
        label_id=label_of(order, template),
        channels=template.channels if template.head.kind is TemplateKind.TEAM else None,
        extension=f"{prefix}_group",
        marks=marks_of(order, template, request_id),
    )


def owners_of(order: GroupOrder, template: GroupTemplate, caller: UserId) -> tuple[UserId, ...]:
    """Return the owners by caller, order and template, deduplicated."""
    return tuple(dict.fromkeys((caller, *order.owners, *template.owners)))


def member_ship_type_of(order: GroupOrder, template: GroupTemplate) -> MemberShipType:
    """Return the membership type of the order, else of the template."""
    sent = order.member_ship_type
    return MemberShipType(template.member_ship_type) if sent is None else sent


def is_dynamic(order: GroupOrder, template: GroupTemplate) -> bool:
    """Return whether the members follow a rule."""
    sent = order.member_ship_type
    return (template.member_ship_type if sent is None else sent) == MemberShipType.DYNAMIC


def label_of(order: GroupOrder, template: GroupTemplate) -> str | None:
    """Return the label of the order, else of the template."""
    return template.label_id if order.label_id is None else order.label_id


# Microsoft Graph limits a text of a schema extension to so many characters.
METADATA_MARK_LENGTH = 256


def marks_of(order: GroupOrder, template: GroupTemplate, request_id: RequestId) -> Mapping[str, str]:
    """Return the marks of the group.

    They are its request, metadata, guest template and guest policy. Metadata that is too long has no mark.
    """
    marks = {"requestId": str(request_id)}
    if order.metadata:
        metadata = json.dumps(order.metadata, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        if len(metadata) <= METADATA_MARK_LENGTH:
            marks["metadata"] = metadata
    if template.guest_template_id is not None:
        marks["templateId"] = str(template.guest_template_id)
    if template.guest_policy_id is not None:
        marks["policyId"] = str(template.guest_policy_id)
    return marks


def plan_group(wanted: WantedGroup, *, people_checked: bool) -> tuple[Step, ...]:
    """Return the steps to provision a group or team, in order.

    A dry run and the worker use them. `people_checked` is False if the directory did not answer at submission.
    """
    has_guest_rules = any(mark in wanted.marks for mark in GUEST_MARKS)
    steps = _steps(wanted.owners, wanted.members, wanted.label_id, wanted.channels, has_guest_rules=has_guest_rules)
    return steps if people_checked else (Step.CHECK_PEOPLE, *steps)


def plan_order(order: GroupOrder, template: GroupTemplate, caller: UserId, *, people_checked: bool) -> tuple[Step, ...]:
    """Return the same steps at submission.

    The order is enough; its desired state is costly to compute.
    """
    steps = _steps(
        owners_of(order, template, caller),
        () if is_dynamic(order, template) else (*order.members, *template.members),
        label_of(order, template),
        template.channels if template.head.kind is TemplateKind.TEAM else None,
        has_guest_rules=template.guest_template_id is not None or template.guest_policy_id is not None,
    )
    return steps if people_checked else (Step.CHECK_PEOPLE, *steps)


def _steps(
    owners: Sequence[UserId],
    members: Sequence[UserId],
    label: str | None,
    channels: Sequence[str] | None,
    *,
    has_guest_rules: bool,
) -> tuple[Step, ...]:
    """Return the steps in the directory.

    A group is created with its first owner, the caller.
    """
    steps = [Step.CREATE_GROUP]
    if len(owners) > 1:
        steps.append(Step.ADD_OWNERS)
    if not set(members).issubset(owners):
        steps.append(Step.ADD_MEMBERS)
    if label is not None:
        steps.append(Step.SET_LABEL)
    if channels is not None:
        steps.append(Step.CREATE_TEAM)
    if channels:
        steps.append(Step.CREATE_CHANNELS)
    if has_guest_rules:
        steps.append(Step.ASSIGN_GUEST_RULES)
    return tuple(steps)


def faults_of(
    order: GroupOrder, template: GroupTemplate, names: GroupNames, answer: PeopleAnswer, *, caller: UserId
) -> tuple[Fault, ...]:
    """Validate an order, and return all errors."""
    return first_faults(
        faults_without_directory(order, template, names, caller=caller),
        faults_in_directory(order, template, answer, caller=caller),
    )


def faults_without_directory(
    order: GroupOrder, template: GroupTemplate, names: GroupNames, *, caller: UserId
) -> tuple[Fault, ...]:
    """Validate the order by its template alone, without the directory."""
    return first_faults(
        name_faults(names),
        member_ship_faults(order, template),
        owner_faults(order, template, caller),
        field_faults(template.custom_fields, order.metadata),
    )


def faults_in_directory(
    order: GroupOrder, template: GroupTemplate, answer: PeopleAnswer, *, caller: UserId
) -> tuple[Fault, ...]:
    """Validate by the answer of the directory that users and label exist."""
    return first_faults(
        people_faults(order, template, answer.people.keys(), caller),
        unknown_user_faults(template.custom_fields, order.metadata, answer.people.keys()),
        label_faults(order, template, answer),
    )


def name_faults(names: GroupNames) -> Iterator[Fault]:
    """Validate that the names are not too long."""
    length = len(names.display_name)
    if length > DISPLAY_NAME_LENGTH:
        sentence = "The template makes a display name of {actual} characters; {max} are allowed. Choose a shorter one."
        yield Fault.build("/displayName", "nameTooLong", sentence, actual=length, max=DISPLAY_NAME_LENGTH)
    for address in names.addresses:
        length = len(address.mail_nickname)
        if length > LOCAL_PART_LENGTH:
            sentence = (
                "The template makes a mail nickname of {actual} characters; {max} are allowed. "
                "Choose a shorter display name."
            )
            yield Fault.build("/displayName", "nameTooLong", sentence, actual=length, max=LOCAL_PART_LENGTH)


def member_ship_faults(order: GroupOrder, template: GroupTemplate) -> Iterator[Fault]:
    """Validate the membership type, and the members of a dynamic group."""
    sent = order.member_ship_type
    if sent is not None and sent != template.member_ship_type and not template.member_ship_type_changeable:
        sentence = "The template fixes memberShipType to {memberShipType}. Leave it out."
        fixed = int(template.member_ship_type)
        yield Fault.build("/memberShipType", "memberShipTypeFixed", sentence, memberShipType=fixed)
    if not is_dynamic(order, template):
        return
    if template.membership_rule is None:
        pointer = "/templateId" if sent is None else "/memberShipType"
        sentence = (
            "The template has no membership rule, so no group of it can be dynamic. Send 0 or 1 or another template."
        )
        yield Fault.build(pointer, "dynamicRuleMissing", sentence)
    if order.members:
        sentence = "The members of a dynamic group follow the template's rule. Leave members out."
        yield Fault.build("/members", "membersOfDynamicGroup", sentence)


def owner_faults(order: GroupOrder, template: GroupTemplate, caller: UserId) -> Iterator[Fault]:
    """Validate the number of owners. The caller always counts as one."""
    least = template.minimum_owners
    if least > 1 and (count := len(owners_of(order, template, caller))) < least:
        sentence = "The template asks for {min} owners or more, you included; there would be {actual}. Add to owners."
        yield Fault.build("/owners", "tooFewOwners", sentence, min=least, actual=count)


def people_faults(
    order: GroupOrder, template: GroupTemplate, known: AbstractSet[UserId], caller: UserId
) -> Iterator[Fault]:
    """Yield an error for each place with an unknown owner or member."""
    if caller not in known:
        # The caller would be the first owner but is not in the body, so the pointer is the whole body.
        yield Fault.build("", "userUnknown", "You are no user of this tenant's directory, and would be an owner.")
    yield from unknown_users("/owners", order.owners, known)
    yield from unknown_users("/members", order.members, known)
    members = () if is_dynamic(order, template) else template.members
    for user in dict.fromkeys((*template.owners, *members)):
        if user not in known:
            sentence = "The template names {user}, who is no user of this tenant. Ask an administrator to fix it."
            yield Fault.build("/templateId", "userUnknown", sentence, user=str(user))


def unknown_users(pointer: str, users: tuple[UserId, ...], known: AbstractSet[UserId]) -> Iterator[Fault]:
    """Yield an error for each unknown user."""
    for index, user in enumerate(users):
        if user not in known:
            sentence = "{user} is no user of this tenant. Leave this id out."
            yield Fault.build(f"{pointer}/{index}", "userUnknown", sentence, user=str(user))


def with_known_label(order: GroupOrder, answer: PeopleAnswer | None) -> GroupOrder:
    """Return the order with the directory's id of its label.

    `answer` is None if the directory did not answer.
    """
    if order.label_id is None or answer is None or order.label_id in answer.labels:
        return order
    return replace(order, label_id=known_label(order.label_id, answer.labels))


def label_faults(order: GroupOrder, template: GroupTemplate, answer: PeopleAnswer) -> Iterator[Fault]:
    """Validate that the label of the order or the template exists."""
    label = label_of(order, template)
    if label is None or known_label(label, answer.labels) is not None:
        return
    if order.label_id is None:
        sentence = "The template sets the label {label}, which does not exist. Ask an administrator to fix it."
        yield Fault.build("/templateId", "labelUnknown", sentence, label=str(label))
    else:
        sentence = "This tenant has no such label. Leave it out, or send a known one."
        yield Fault.build("/labelId", "labelUnknown", sentence)


def caller_question(template: CompiledGroupTemplate, caller: UserId) -> PeopleQuestion:
    """Return the lookup of the caller, if the names need it (`needs_properties`)."""
    return PeopleQuestion(template.template.head.tenant_id, users=frozenset((caller,)))


def people_question(order: GroupOrder, template: GroupTemplate, names: GroupNames, *, caller: UserId) -> PeopleQuestion:
    """Return one lookup of all users, groups, labels and addresses.

    They are those of the order and its template. Of the approvers it has those of the first level, which opens at once.
    """
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
