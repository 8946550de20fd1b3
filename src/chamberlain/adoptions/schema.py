# SPDX-License-Identifier: Apache-2.0
"""JSON of adoptions, shared by the API and stored rows."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from chamberlain.adoptions.models import (
    AdoptedObject,
    AdoptionConflict,
    AdoptionFilter,
    AdoptionItem,
    AdoptionRule,
    MailboxPart,
    not_representable,
)
from chamberlain.adoptions.rules import AdoptedGroup, mailbox_order
from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.fields import Domain, Id, ManyIds, Shape, name, shaped
from chamberlain.core.ids import MailboxId, TemplateId, UserId
from chamberlain.core.validation import Reader
from chamberlain.directory.groups import ObservedGroup
from chamberlain.directory.mailboxes import MailboxOrder, ObservedMailbox
from chamberlain.groups.wire import read_group_order, write_group_order
from chamberlain.mailboxes.models import alias_of, mailbox_result
from chamberlain.mailboxes.rules import comparison_form, readers_of
from chamberlain.mailboxes.wire import read_mailbox_order, write_mailbox_order
from chamberlain.requests.models import RequestResult
from chamberlain.templates.models import MailboxTemplate, TemplateKind
from chamberlain.templates.rules import completed

Digest = Annotated[str, shaped("sha256:[0-9a-f]{64}", "must be the digest of a preview", 71)]


class AdoptedKind(StrEnum):
    """The kind of an adoption: that of its template."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"
    GROUP = "group"
    TEAM = "team"


class AdoptionFilterBody(Shape, frozen=True, kw_only=True):
    """Filter of objects, which must match all fields.

    `q` is the start of the name, the display name or the address.
    """

    q: Annotated[str, name(256)] | None = None
    domain: Domain | None = None
    ids: ManyIds | None = None


class AdoptionBody(Shape, frozen=True, kw_only=True):
    """An adoption.

    `digest` is that of the preview. Only a dry run has none.
    """

    kind: AdoptedKind
    template_id: Id
    filter: AdoptionFilterBody | None = None
    digest: Digest | None = None


ADOPTION = Reader(AdoptionBody)


def to_adoption_rule(body: AdoptionBody) -> AdoptionRule:
    """Convert a body to a rule."""
    sent = body.filter or AdoptionFilterBody()
    chosen = AdoptionFilter(sent.q, sent.domain, None if sent.ids is None else frozenset(sent.ids))
    return AdoptionRule(TemplateKind(body.kind), TemplateId(UUID(body.template_id)), chosen)


def require_digest(body: AdoptionBody) -> str:
    """Return the digest of the preview. Raises BodyInvalid if it is missing."""
    if body.digest is None:
        sentence = (
            "{property} is missing. Send the rule with ?dryRun=true first, check the preview, and send its digest."
        )
        raise BodyInvalid((Fault.build("/digest", "missingProperty", sentence, property="digest"),))
    return body.digest


def to_adopted_mailbox(
    item: AdoptionItem, observed: ObservedMailbox, template: MailboxTemplate, *, actor: Actor, mailbox_id: MailboxId
) -> AdoptedObject | AdoptionConflict:
    """Build the record of a mailbox that `actor` adopts.

    Its values may exceed the limits of bodies.
    """
    order = mailbox_order(observed, template.head.id)
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


def to_adopted_group(
    item: AdoptionItem, observed: ObservedGroup, adopted: AdoptedGroup, *, kind: TemplateKind, owner_name: str
) -> AdoptedObject | AdoptionConflict:
    """Build the record of a group or team.

    Its first owner is its requester.
    """
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
