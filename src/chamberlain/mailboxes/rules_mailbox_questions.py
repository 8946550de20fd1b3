"""Questions: what must be known of a directory before a mailbox can be promised."""

from collections.abc import Iterator
from dataclasses import replace

from chamberlain.core.ids import UserId
from chamberlain.directory.mailboxes import MailboxProperties
from chamberlain.directory.models import PeopleQuestion
from chamberlain.mailboxes.names import MailboxNames
from chamberlain.mailboxes.rules_mailbox_situations import MailboxSituation
from chamberlain.requests.approvals_approver_questions import approvers_question
from chamberlain.templates.rules import named_users
from chamberlain.templates.rules_audience_questions import audience_groups


def caller_question(situation: MailboxSituation) -> PeopleQuestion | None:
    """Who is the caller? To be asked first, and only when the address needs it (`needs_properties`). None for an
    application, of which a directory knows nothing that an address could have."""
    user = situation.caller.user_id
    return None if user is None else PeopleQuestion(situation.tenant.id, users=frozenset((user,)))


def people_question(situation: MailboxSituation, names: MailboxNames) -> PeopleQuestion:
    """Everybody and everything that the order and its template name, in one question; of the approvers those of the
    first level, which opens at once."""
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
    """The users whom an order, or the defaults of a template, name: those who shall have no permission as well."""
    yield from properties.permissions or ()
    for owner in (properties.primary_owner, properties.secondary_owner):
        if owner is not None:
            yield owner
