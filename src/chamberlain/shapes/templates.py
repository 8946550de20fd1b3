"""Templates of every kind, read by their kind."""

from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

from msgspec import json

from chamberlain.rules.errors import BodyInvalid, Fault
from chamberlain.rules.ids import TemplateId, TenantId
from chamberlain.rules.templates import StoredTemplate, TemplateHead, TemplateKind
from chamberlain.shapes.bodies import parse_object
from chamberlain.shapes.group_templates import GroupTemplateShape, group_template_faults
from chamberlain.shapes.guest_templates import GuestTemplateShape
from chamberlain.shapes.mailbox_templates import (
    MailboxTemplateBody,
    MailboxTemplateShape,
    identified_mailbox_template,
    mailbox_domain_faults,
    mailbox_template_faults,
)
from chamberlain.shapes.pointers import child
from chamberlain.shapes.reading import Reader

# What is sent, which has no id of its own yet.
TemplateBody = MailboxTemplateBody
TemplateShape = GroupTemplateShape | MailboxTemplateShape | GuestTemplateShape

_MAILBOX = Reader(MailboxTemplateShape)
_GROUP = Reader(GroupTemplateShape)
_READERS: Mapping[str, Reader[MailboxTemplateShape] | Reader[GroupTemplateShape] | Reader[GuestTemplateShape]] = {
    "shared": _MAILBOX,
    "equipment": _MAILBOX,
    "room": _MAILBOX,
    "group": _GROUP,
    "team": _GROUP,
    "guest": Reader(GuestTemplateShape),
}
# What the service adds. It may be sent, so that what was read can be changed and put back, and is ignored.
ADDED_BY_THE_SERVICE = frozenset({"tenantId", "createdAt", "createdBy", "updatedAt"})
_ADDED_TO_A_WEBHOOK = frozenset({"hasSecret", "disabledReason"})


Value = TypeVar("Value")


class TemplateReader(Reader[Value]):
    """Reads a template that is sent: what the service adds may come along, and is left out."""

    def read(self, raw: bytes) -> Value:
        """The body, or BodyInvalid with all faults, or Malformed when it is no JSON object."""
        sent = {name: each for name, each in parse_object(raw).items() if name != "id"}
        return self.read_value(_without_additions(sent))


MAILBOX_TEMPLATE = TemplateReader(MailboxTemplateBody)


def read_template(value: object, *, pointer: str = "") -> TemplateShape:
    """The value as a template of its kind. Raises BodyInvalid with all faults."""
    if not isinstance(value, Mapping):
        raise BodyInvalid((Fault(pointer, "wrongType", "A template must be an object."),))
    kind = value.get("kind")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        code = "missingProperty" if kind is None else "unknownValue"
        detail = f"kind says what a template makes: one of {', '.join(_READERS)}."
        raise BodyInvalid((Fault(child(pointer, "kind"), code, detail),))
    return reader.read_value(_without_additions(value), pointer)


def template_faults(shape: TemplateShape, pointer: str = "") -> Iterator[Fault]:
    """Why a well-formed template cannot be used."""
    match shape:
        case GroupTemplateShape():
            yield from group_template_faults(shape, pointer)
        case MailboxTemplateShape():
            yield from mailbox_template_faults(shape, pointer)
        case GuestTemplateShape():
            return


def domain_faults(shape: TemplateShape, domains: Collection[str]) -> Iterator[Fault]:
    """Which of its domains are none of the tenant's; those of guests are others' by their nature."""
    match shape:
        case MailboxTemplateShape():
            yield from mailbox_domain_faults(shape, domains)
        case GroupTemplateShape() | GuestTemplateShape():
            return


def identified(body: TemplateBody, template_id: TemplateId) -> TemplateShape:
    """The template that a body describes."""
    return identified_mailbox_template(body, template_id)


def stored_template(shape: TemplateShape, tenant_id: TenantId) -> StoredTemplate:
    """A template as it is kept. Which revision it becomes is counted when it is written."""
    head = TemplateHead(
        tenant_id=tenant_id,
        id=TemplateId(shape.id),
        revision=1,
        kind=TemplateKind(shape.kind),
        name=shape.name,
        active=shape.active,
    )
    return StoredTemplate(head, json.encode(shape))


def _without_additions(value: Mapping[str, object]) -> dict[str, object]:
    kept = {name: each for name, each in value.items() if name not in ADDED_BY_THE_SERVICE}
    webhook = kept.get("webhook")
    if isinstance(webhook, Mapping):
        kept["webhook"] = {name: each for name, each in webhook.items() if name not in _ADDED_TO_A_WEBHOOK}
    return kept
