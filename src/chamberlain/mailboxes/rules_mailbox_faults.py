"""Faults of an order for a mailbox: everything that stands against it, all at once.

The template itself has been found and is of the right kind and active (`templates.template_fault`); what can be said
without one is `sent_user_faults`.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from chamberlain.core.errors import Fault, Forbidden, first_faults
from chamberlain.core.ids import UserId
from chamberlain.directory.mailboxes import MailboxOrder
from chamberlain.directory.models import PeopleAnswer
from chamberlain.mailboxes.names import MailboxNames
from chamberlain.mailboxes.rules_mailbox_questions import named_in
from chamberlain.mailboxes.rules_mailbox_situations import MailboxSituation
from chamberlain.templates.mailbox_types import applicability_faults, applicability_warnings
from chamberlain.templates.models import template_not_allowed
from chamberlain.templates.naming import LOCAL_PART_LENGTH
from chamberlain.templates.rules import field_faults, unknown_user_faults
from chamberlain.tenants.models import Applicability


def mailbox_not_allowed(situation: MailboxSituation, answer: PeopleAnswer) -> Forbidden | None:
    """Why the caller may not use the template, if so. Applications are not held to its audience."""
    user = situation.caller.user_id
    return None if user is None else template_not_allowed(situation.template.audience, user, answer.member_of)


def faults_without_directory(situation: MailboxSituation, names: MailboxNames) -> tuple[Fault, ...]:
    """Those that the order and its template alone show: they are known even while the directory does not answer."""
    return first_faults(
        _name_faults(names),
        _domain_faults(situation),
        _type_faults(situation),
        field_faults(situation.template.custom_fields, situation.order.metadata),
    )


def faults_in_directory(situation: MailboxSituation, answer: PeopleAnswer) -> tuple[Fault, ...]:
    """Those that only the directory can tell: who does not exist."""
    known = answer.people.keys()
    fields = situation.template.custom_fields
    return first_faults(
        sent_user_faults(situation.sent, known),
        _template_user_faults(situation, known),
        unknown_user_faults(fields, situation.order.metadata, known),
    )


def warnings_of(situation: MailboxSituation) -> tuple[str, ...]:
    """What the caller is told although the order can be carried out."""
    if situation.tenant.applicability is not Applicability.WARN:
        return ()
    return tuple(applicability_warnings(situation.sent, situation.type))


def sent_user_faults(sent: MailboxOrder, known: AbstractSet[UserId]) -> Iterator[Fault]:
    """A fault for each user who was sent and does not exist, one for each place. A pointer into the permissions has the
    id in lower case, as ids are given back."""
    for user in sent.permissions or ():
        if user not in known:
            yield _unknown(f"/permissions/{user}", user)
    for pointer, owner in (("/primaryOwner", sent.primary_owner), ("/secondaryOwner", sent.secondary_owner)):
        if owner is not None and owner not in known:
            yield _unknown(pointer, owner)


def _name_faults(names: MailboxNames) -> Iterator[Fault]:
    """An address of which nothing is left, or that is too long."""
    if names.local_part is None:
        detail = "No mail address can be made from this. Use at least one letter from a to z or a digit."
        yield Fault("/name", "noAddress", detail)
    elif (length := len(names.local_part)) > LOCAL_PART_LENGTH:
        made = f"The address would have {length} characters before its @; {LOCAL_PART_LENGTH} are allowed."
        yield Fault("/name", "nameTooLong", f"{made} Choose a shorter name.")


def _domain_faults(situation: MailboxSituation) -> Iterator[Fault]:
    """A domain that is not the tenant's, whether it was sent or is the template's."""
    domain, tenant = situation.domain, situation.tenant
    if domain in tenant.domains:
        return
    if situation.sent.domain:
        detail = f"{domain} is no verified domain of this tenant. Choose one of {_some(tenant.domains)}."
        yield Fault("/domain", "domainNotVerified", detail)
    else:
        detail = f"The template's domain {domain} is no verified domain of this tenant. Send another as domain."
        yield Fault("/templateId", "domainNotVerified", detail)


def _type_faults(situation: MailboxSituation) -> Iterator[Fault]:
    """Properties that a mailbox of this type does not have, where the tenant does not have them kept."""
    match situation.tenant.applicability:
        case Applicability.REFUSE:
            yield from applicability_faults(situation.sent, situation.type)
        case Applicability.WARN:
            return


def _template_user_faults(situation: MailboxSituation, known: AbstractSet[UserId]) -> Iterator[Fault]:
    """Users of the template's defaults, as far as nothing was sent in their place."""
    of_template = dict.fromkeys(named_in(situation.order)).keys() - set(named_in(situation.sent)) - known
    for user in sorted(of_template):
        detail = f"The template names {user}, who is no user of this tenant. Ask an administrator to mend it."
        yield Fault("/templateId", "userUnknown", detail)


def _unknown(pointer: str, user: UserId) -> Fault:
    return Fault(pointer, "userUnknown", f"{user} is no user of this tenant. Leave this id out.")


def _some(domains: tuple[str, ...]) -> str:
    """The first of the domains: a tenant may have a thousand."""
    shown = ", ".join(domains[:MOST_SHOWN])
    return shown if len(domains) <= MOST_SHOWN else f"{shown} and {len(domains) - MOST_SHOWN} more"


# As many as a person reads.
MOST_SHOWN = 10
