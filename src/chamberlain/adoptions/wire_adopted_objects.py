"""What is adopted, with the bodies that would have asked for it: each is written, and read as every body is."""

from chamberlain.adoptions.models import Obstacle, not_representable
from chamberlain.adoptions.models_adoption_records import AdoptedObject, AdoptionItem, MailboxPart
from chamberlain.adoptions.rules import AdoptedGroup
from chamberlain.adoptions.rules_adopted_mailboxes import order_of_mailbox
from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.errors import BodyInvalid
from chamberlain.core.ids import MailboxId, UserId
from chamberlain.directory.groups import ObservedGroup
from chamberlain.directory.mailboxes import MailboxOrder, ObservedMailbox
from chamberlain.groups.schema import read_group_order, write_group_order
from chamberlain.mailboxes.models import mailbox_result
from chamberlain.mailboxes.names import alias_of, comparison_form
from chamberlain.mailboxes.rules import readers_of
from chamberlain.mailboxes.schema import read_mailbox_order, write_mailbox_order
from chamberlain.requests.models import RequestResult
from chamberlain.templates.models import TemplateKind
from chamberlain.templates.models_mailbox_templates import MailboxTemplate, completed


def adopted_mailbox_of(
    item: AdoptionItem, observed: ObservedMailbox, template: MailboxTemplate, *, actor: Actor, mailbox_id: MailboxId
) -> AdoptedObject | Obstacle:
    """What is written for a mailbox that `actor` takes; directories have other bounds than bodies have."""
    order = order_of_mailbox(observed, template.head.id)
    if (unwritable := unwritable_part(order)) is not None:
        return not_representable(unwritable)
    whole = completed(order, template)
    creator = UserId(actor.id) if actor.type is ActorType.USER and actor.id is not None else None
    part = MailboxPart(
        id=mailbox_id,
        name=observed.name,
        name_key=comparison_form(observed.name),
        alias=alias_of(order, observed.type, observed.mail.rpartition("@")[2]),
        content=write_mailbox_order(whole),
        readers=readers_of(whole, creator),
    )
    body, result = write_mailbox_order(order), mailbox_result(mailbox_id, observed)
    return AdoptedObject(item, observed.display_name, observed.mail, body, actor, result, part)


def adopted_group_of(
    item: AdoptionItem, observed: ObservedGroup, adopted: AdoptedGroup, *, kind: TemplateKind, owner_name: str
) -> AdoptedObject | Obstacle:
    """What is written for a group or team; its first owner stands for whoever asked for it."""
    body = write_group_order(adopted.order)
    try:
        read_group_order(body)
    except BodyInvalid as error:
        return not_representable(error.faults[0].detail)
    owner = Actor(ActorType.USER, adopted.owner, owner_name)
    result = RequestResult(kind, observed.id, observed.display_name, observed.mail)
    return AdoptedObject(item, observed.display_name, observed.mail, body, owner, result, None)


def unwritable_part(order: MailboxOrder) -> str | None:
    """Why no record can hold this; None when one can."""
    try:
        read_mailbox_order(write_mailbox_order(order))
    except BodyInvalid as error:
        return error.faults[0].detail
    return None
