"""Templates of every kind, read by their kind."""

from collections.abc import Iterator, Mapping

from chamberlain.rules.errors import BodyInvalid, Fault
from chamberlain.shapes.group_templates import GroupTemplateShape, group_template_faults
from chamberlain.shapes.guest_templates import GuestTemplateShape
from chamberlain.shapes.mailbox_templates import MailboxTemplateShape, mailbox_template_faults
from chamberlain.shapes.reading import child, read_shape

TemplateShape = GroupTemplateShape | MailboxTemplateShape | GuestTemplateShape

_SHAPES: dict[str, type[GroupTemplateShape] | type[MailboxTemplateShape] | type[GuestTemplateShape]] = {
    "shared": MailboxTemplateShape,
    "equipment": MailboxTemplateShape,
    "room": MailboxTemplateShape,
    "group": GroupTemplateShape,
    "team": GroupTemplateShape,
    "guest": GuestTemplateShape,
}
# What the service adds. It may be sent, so that what was read can be changed and put back, and is ignored.
ADDED_BY_THE_SERVICE = frozenset({"tenantId", "createdAt", "createdBy", "updatedAt"})
_ADDED_TO_A_WEBHOOK = frozenset({"hasSecret", "disabledReason"})


def read_template(value: object, *, pointer: str = "") -> TemplateShape:
    """The value as a template of its kind. Raises BodyInvalid with all faults."""
    if not isinstance(value, Mapping):
        raise BodyInvalid((Fault(pointer, "wrongType", "A template is an object."),))
    kind = value.get("kind")
    shape = _SHAPES.get(kind) if isinstance(kind, str) else None
    if shape is None:
        code = "missingProperty" if kind is None else "unknownValue"
        detail = f'"kind" says what a template makes: expected {" or ".join(_SHAPES)}.'
        raise BodyInvalid((Fault(child(pointer, "kind"), code, detail),))
    return read_shape(_without_additions(value), shape, pointer=pointer)


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
