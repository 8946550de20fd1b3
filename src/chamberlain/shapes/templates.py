"""Templates of every kind, read by their kind."""

from collections.abc import Iterator, Mapping

from chamberlain.rules.errors import BodyInvalid, Fault
from chamberlain.shapes.group_templates import GroupTemplateShape, group_template_faults
from chamberlain.shapes.guest_templates import GuestTemplateShape
from chamberlain.shapes.mailbox_templates import MailboxTemplateShape, mailbox_template_faults
from chamberlain.shapes.pointers import child
from chamberlain.shapes.reading import Reader

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


def _without_additions(value: Mapping[str, object]) -> dict[str, object]:
    kept = {name: each for name, each in value.items() if name not in ADDED_BY_THE_SERVICE}
    webhook = kept.get("webhook")
    if isinstance(webhook, Mapping):
        kept["webhook"] = {name: each for name, each in webhook.items() if name not in _ADDED_TO_A_WEBHOOK}
    return kept
