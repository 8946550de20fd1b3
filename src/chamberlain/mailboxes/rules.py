# SPDX-License-Identifier: Apache-2.0
"""Rules of mailboxes: names, validation, drafts and events."""

import unicodedata
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from chamberlain.auth.models import Caller
from chamberlain.changes.models import Event, EventType, actor_document, shorten_name
from chamberlain.core.errors import Conflict, Fault, Forbidden, first_faults
from chamberlain.core.idempotency import Submission
from chamberlain.core.ids import EventId, MailboxId, RequestId, TemplateId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.core.values import value
from chamberlain.directory.mailboxes import (
    MailboxOrder,
    MailboxProperties,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
    TemplateSource,
    plan_mailbox,
)
from chamberlain.directory.models import MailAddress, PeopleAnswer, PeopleQuestion
from chamberlain.mailboxes.models import alias_of, wanted_of
from chamberlain.requests.approvals import approvers_question
from chamberlain.requests.events import RequestSummary
from chamberlain.requests.models import ApprovalRule, Draft, MailboxDraft
from chamberlain.templates.drafts import Moment, draft_from
from chamberlain.templates.mailbox_types import applicability_faults, applicability_warnings
from chamberlain.templates.models import CompiledMailboxTemplate, MailboxTemplate, TemplateHead
from chamberlain.templates.rules import (
    LOCAL_PART_LENGTH,
    audience_groups,
    completed,
    field_faults,
    local_part,
    local_part_by_rule,
    named_users,
    substitute_name,
    template_not_allowed,
    unknown_user_faults,
)
from chamberlain.tenants.models import Applicability, Tenant


@value(frozen=True, slots=True)
class MailboxNames:
    """The unique values of a mailbox: comparison form, address and alias.

    `local_part` is None if only name and alias matter. `alias` is None unless it is a second address.
    """

    name_key: str
    local_part: str | None
    domain: str
    alias: str | None

    @property
    def mail(self) -> str | None:
        """Return the primary address."""
        return None if self.local_part is None else f"{self.local_part}@{self.domain}"

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return all addresses, the primary one first."""
        return tuple([address for address in (self.mail, self.alias) if address is not None])


def names_of(
    order: MailboxOrder,
    template: CompiledMailboxTemplate,
    *,
    request_id: RequestId,
    domain: str,
    properties: Mapping[str, str],
    number: int | None = None,
) -> MailboxNames:
    """Return the names of a completed order.

    `properties` are those of the caller that the rule needs. `number` is the number that was drawn. The digits of an
    address without usable characters come from the `request_id`.
    """
    local = local_part_by_rule(
        template.address,
        order.name,
        order.metadata or {},
        properties,
        number=number,
        substitute=substitute_name(template.template.type, request_id),
    )
    alias = alias_of(order, template.template.type, domain)
    return MailboxNames(
        name_key=comparison_form(order.name),
        local_part=local,
        domain=domain,
        # An alias that equals the address is no second address.
        alias=None if alias == f"{local}@{domain}" else alias,
    )


def has_substitute(order: MailboxOrder) -> bool:
    """Return whether digits of the requestId replace the name in the address."""
    return local_part(order.name) is None


def domain_of(order: MailboxOrder, template: MailboxTemplate, tenant: Tenant) -> str:
    """Return the domain of the order, the template or the tenant."""
    return (order.domain or template.domain or tenant.default_domain).lower()


def comparison_form(name: str) -> str:
    """Return the form in which names are compared.

    Source: compatibility caseless matching, Unicode 3.13, D146.
    """
    if name.isascii():
        return name.lower()
    folded = unicodedata.normalize("NFD", name).casefold()
    folded = unicodedata.normalize("NFKD", folded).casefold()
    return unicodedata.normalize("NFKC", folded)


def name_taken(order: MailboxOrder) -> Conflict:
    """Return the conflict for a name that another mailbox has."""
    sentence = 'There is a mailbox called "{name}" already. Choose another name.'
    return Conflict.at(Fault.build("/name", "nameTaken", sentence, name=order.name))


def address_taken(names: MailboxNames, taken: AbstractSet[str], *, reserved: AbstractSet[str]) -> Conflict:
    """Return the conflict for a taken address.

    Reserved addresses belong to requests, all others to objects in the directory.
    """
    if names.mail in taken or names.alias is None:
        pointer, address, cure = "/name", names.mail, "Choose another name or domain"
    else:
        pointer, address, cure = "/alias", names.alias, "Choose another alias, or leave it out"
    if address is None or address in reserved:
        sentence = "The address {address} is taken. " + cure + "."
    else:
        holder = (
            "Something in the directory has the address {address}, perhaps what a cancelled request has left there."
        )
        sentence = holder + " " + cure + ", or have that removed there."
    return Conflict.at(Fault.build(pointer, "addressTaken", sentence, address=address or ""))


@value(frozen=True, slots=True)
class MailboxSituation:
    """The caller, the order, and the template and tenant for validation.

    `sent` is the order of the caller; pointers of errors refer to it. `order` has the template's defaults as well. With
    `ask_addresses` the write asks the directory for taken addresses.
    """

    caller: Caller
    sent: MailboxOrder
    order: MailboxOrder
    request_id: RequestId
    tenant: Tenant
    compiled: CompiledMailboxTemplate
    source: TemplateSource
    ask_addresses: bool

    @property
    def template(self) -> MailboxTemplate:
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
        return "mailbox"

    @property
    def type(self) -> MailboxType:
        """Return the type of the mailbox."""
        return self.compiled.template.type

    @property
    def domain(self) -> str:
        """Return the domain of the address."""
        return domain_of(self.order, self.compiled.template, self.tenant)

    @property
    def requester(self) -> UserId:
        """Return the caller as requester.

        The id of an application matches no approver.
        """
        return UserId(self.caller.id)


def situation_of(
    caller: Caller,
    sent: MailboxOrder,
    *,
    request_id: RequestId,
    tenant: Tenant,
    compiled: CompiledMailboxTemplate,
    ask_addresses: bool = False,
) -> MailboxSituation:
    """Build the situation of an order whose template exists."""
    return MailboxSituation(
        caller=caller,
        sent=sent,
        order=completed(sent, compiled.template),
        request_id=request_id,
        tenant=tenant,
        compiled=compiled,
        source=TemplateSource.DEFAULT if sent.template_id is None else TemplateSource.REQUEST,
        ask_addresses=ask_addresses,
    )


def caller_question(situation: MailboxSituation) -> PeopleQuestion | None:
    """Return the lookup of the caller, if the address needs it (`needs_properties`).

    None for an application, which has no properties in the directory.
    """
    user = situation.caller.user_id
    return None if user is None else PeopleQuestion(situation.tenant.id, users=frozenset((user,)))


def people_question(situation: MailboxSituation, names: MailboxNames) -> PeopleQuestion:
    """Return one lookup of all users, groups and addresses.

    They are those of the order and its template. Of the approvers it has those of the first level, which opens at once.
    """
    user = situation.caller.user_id
    order, template = situation.order, situation.template
    people = {*named_in(order), *named_users(template.custom_fields, order.metadata)}
    if user is not None:
        people.add(user)
    groups = audience_groups(template.audience, user)
    question = PeopleQuestion(
        tenant_id=situation.tenant.id,
        users=frozenset(people),
        addresses=frozenset() if situation.ask_addresses else frozenset(names.addresses),
        member=user if groups else None,
        groups=groups,
    )
    if template.approval is None:
        return question
    approvers = approvers_question(
        template.approval.levels[:1], tenant_id=question.tenant_id, requester=situation.requester
    )
    return replace(
        question,
        users=question.users | approvers.users,
        manager_of=approvers.manager_of,
        members_of=approvers.members_of,
    )


def named_in(properties: MailboxProperties) -> Iterator[UserId]:
    """Yield the users in an order or in a template's defaults.

    Users with level None are included.
    """
    yield from properties.permissions or ()
    for owner in (properties.primary_owner, properties.secondary_owner):
        if owner is not None:
            yield owner


def mailbox_not_allowed(situation: MailboxSituation, answer: PeopleAnswer) -> Forbidden | None:
    """Return the error if the caller may not use the template.

    Audiences do not restrict applications.
    """
    user = situation.caller.user_id
    return None if user is None else template_not_allowed(situation.template.audience, user, answer.member_of)


def faults_without_directory(situation: MailboxSituation, names: MailboxNames) -> tuple[Fault, ...]:
    """Validate the order by its template alone, without the directory."""
    return first_faults(
        _name_faults(names),
        _domain_faults(situation),
        _type_faults(situation),
        field_faults(situation.template.custom_fields, situation.order.metadata),
    )


def faults_in_directory(situation: MailboxSituation, answer: PeopleAnswer) -> tuple[Fault, ...]:
    """Validate by the answer of the directory that all users exist."""
    known = answer.people.keys()
    fields = situation.template.custom_fields
    return first_faults(
        sent_user_faults(situation.sent, known),
        _template_user_faults(situation, known),
        unknown_user_faults(fields, situation.order.metadata, known),
    )


def warnings_of(situation: MailboxSituation) -> tuple[Reason, ...]:
    """Return the warnings of a valid order."""
    if situation.tenant.applicability is not Applicability.WARN:
        return ()
    return tuple(applicability_warnings(situation.sent, situation.type))


def sent_user_faults(sent: MailboxOrder, known: AbstractSet[UserId]) -> Iterator[Fault]:
    """Yield an error for each place with an unknown user.

    Pointers have ids in lower case.
    """
    for user in sent.permissions or ():
        if user not in known:
            yield _unknown(f"/permissions/{user}", user)
    for pointer, owner in (("/primaryOwner", sent.primary_owner), ("/secondaryOwner", sent.secondary_owner)):
        if owner is not None and owner not in known:
            yield _unknown(pointer, owner)


def _name_faults(names: MailboxNames) -> Iterator[Fault]:
    """Validate that the address is not too long."""
    if (length := len(names.local_part or "")) > LOCAL_PART_LENGTH:
        sentence = "The address would have {actual} characters before its @; {max} are allowed. Choose a shorter name."
        yield Fault.build("/name", "nameTooLong", sentence, actual=length, max=LOCAL_PART_LENGTH)


def _domain_faults(situation: MailboxSituation) -> Iterator[Fault]:
    """Validate that the domain is one of the tenant's."""
    domain, tenant = situation.domain, situation.tenant
    if domain in tenant.domains:
        return
    if situation.sent.domain:
        yield _domain_not_verified(domain, tenant.domains)
    else:
        sentence = "The template's domain {domain} is no verified domain of this tenant. Send another as domain."
        yield Fault.build("/templateId", "domainNotVerified", sentence, domain=domain)


def _domain_not_verified(domain: str, domains: tuple[str, ...]) -> Fault:
    """List the first domains; a tenant may have a thousand."""
    shown, more = domains[:MOST_SHOWN], len(domains) - MOST_SHOWN
    if more <= 0:
        sentence = "{domain} is no verified domain of this tenant. Choose one of {choices}."
        return Fault.build("/domain", "domainNotVerified", sentence, domain=domain, choices=shown)
    sentence = "{domain} is no verified domain of this tenant. Choose one of {choices} and {more} more."
    return Fault.build("/domain", "domainNotVerified", sentence, domain=domain, choices=shown, more=more)


def _type_faults(situation: MailboxSituation) -> Iterator[Fault]:
    """Validate that the type has all properties, unless the tenant only warns."""
    match situation.tenant.applicability:
        case Applicability.REFUSE:
            yield from applicability_faults(situation.sent, situation.type)
        case Applicability.WARN:
            return


def _template_user_faults(situation: MailboxSituation, known: AbstractSet[UserId]) -> Iterator[Fault]:
    """Validate the users of template defaults that the order keeps."""
    of_template = dict.fromkeys(named_in(situation.order)).keys() - set(named_in(situation.sent)) - known
    for user in sorted(of_template):
        sentence = "The template names {user}, who is no user of this tenant. Ask an administrator to fix it."
        yield Fault.build("/templateId", "userUnknown", sentence, user=str(user))


def _unknown(pointer: str, user: UserId) -> Fault:
    sentence = "{user} is no user of this tenant. Leave this id out."
    return Fault.build(pointer, "userUnknown", sentence, user=str(user))


# Keeps the message readable.
MOST_SHOWN = 10


def mailbox_draft_of(
    situation: MailboxSituation,
    submission: Submission,
    names: MailboxNames,
    answer: PeopleAnswer | None,
    *,
    mailbox_id: MailboxId,
    content: bytes,
    moment: Moment | None,
) -> Draft:
    """Draft the request with its mailbox.

    `answer` is None if the directory did not answer. Then the worker validates people.
    """
    order = situation.order
    mail = names.mail or ""
    wanted = wanted_of(
        order,
        situation.type,
        tenant_id=situation.tenant.id,
        request_id=situation.request_id,
        mail=mail,
        prefix=situation.tenant.extension_prefix,
    )
    mailbox = MailboxDraft(
        id=mailbox_id,
        order=order,
        content=content,
        name_key=names.name_key,
        alias=names.alias,
        template_source=situation.source,
        readers=readers_of(order, situation.caller.user_id),
    )
    return draft_from(
        situation,
        submission,
        answer,
        moment=moment,
        display_name=order.display_name,
        addresses=(MailAddress(names.local_part or "", mail),),
        steps=plan_mailbox(wanted, people_checked=answer is not None),
        warnings=warnings_of(situation),
        mailbox=mailbox,
    )


def readers_of(order: MailboxOrder, creator: UserId | None) -> frozenset[UserId]:
    """Return the readers besides administrators: requester, owners and users with a permission."""
    permitted = [user for user, level in (order.permissions or {}).items() if level is not PermissionLevel.NONE]
    named = (creator, order.primary_owner, order.secondary_owner, *permitted)
    return frozenset([user for user in named if user is not None])


def mailbox_created(
    event_id: EventId,
    request: RequestSummary,
    mailbox: ObservedMailbox,
    *,
    mailbox_id: MailboxId,
    template_id: TemplateId,
    metadata: Mapping[str, str | bool] | None,
    now: datetime,
) -> Event:
    """The mailbox of a request was created.

    The event has the id by which the API reads it, not the id of the directory.
    """
    return Event(
        id=event_id,
        type=EventType.MAILBOX_CREATED,
        timestamp=now,
        tenant_id=request.tenant_id,
        request_id=request.request_id,
        data={
            "mailbox": {
                "id": str(mailbox_id),
                "type": str(mailbox.type),
                "name": mailbox.name,
                "displayName": shorten_name(mailbox.display_name),
                "primarySmtpAddress": mailbox.mail,
            },
            "templateId": str(template_id),
            "metadata": dict(metadata or {}),
            "createdBy": actor_document(request.created_by),
        },
    )
