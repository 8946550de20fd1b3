# SPDX-License-Identifier: Apache-2.0
"""Types of mailboxes: their special properties, and the type of a body.

The type matters for a body without a template.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from chamberlain.core.errors import Fault
from chamberlain.core.reasons import Reason
from chamberlain.directory.mailboxes import MailboxOrder, MailboxProperties, MailboxType

# The one key of metadata that the service itself knows.
EQUIPMENT_TYPE = "equipmentType"


@dataclass(frozen=True, slots=True)
class Restricted:
    """A property of a single type, by its name in the API.

    A body with it is of that type.
    """

    name: str
    type: MailboxType
    is_sent: Callable[[MailboxProperties], bool]

    @property
    def pointer(self) -> str:
        """Return the pointer of the property in a body."""
        return "/" + self.name.replace(".", "/")


# All other properties belong to every type. Shared mailboxes keep the names of devices, and no step uses them.
RESTRICTED = (
    Restricted("metadata.equipmentType", MailboxType.EQUIPMENT, lambda sent: EQUIPMENT_TYPE in (sent.metadata or ())),
    Restricted("officeLocation", MailboxType.ROOM, lambda sent: sent.office_location is not None),
    Restricted("isWheelChairAccessible", MailboxType.ROOM, lambda sent: sent.is_wheel_chair_accessible is not None),
    Restricted("autoMapping", MailboxType.SHARED, lambda sent: sent.auto_mapping is not None),
    Restricted("roomMailboxMetadata", MailboxType.ROOM, lambda sent: sent.room_mailbox_metadata is not None),
    Restricted("alias", MailboxType.SHARED, lambda sent: isinstance(sent, MailboxOrder) and sent.alias is not None),
)


def type_of_body(order: MailboxOrder) -> MailboxType | Fault:
    """Return the type of a body without a template, by its properties."""
    marks = _marks(order)
    match tuple(marks):
        case (only,):
            return only
        case ():
            sentence = (
                "Nothing in the body says whether this is a shared mailbox, equipment or a room. Send a templateId, or "
                "a property that one type alone has: {choices}."
            )
            names = tuple(each.name for each in RESTRICTED)
            return Fault.build("/templateId", "typeNotRecognised", sentence, choices=names)
        case _:
            sentence = (
                "The body has properties of the types {types}: {properties}. Send a templateId, and leave out what "
                "does not belong to its type."
            )
            properties = tuple(name for names in marks.values() for name in names)
            return Fault.build(
                "/templateId", "typeAmbiguous", sentence, types=tuple(map(str, marks)), properties=properties
            )


def no_default_template(mailbox_type: MailboxType) -> Fault:
    """Return the error for a type without a default template."""
    sentence = (
        "This tenant has no default template of type {type}. Send a templateId, or ask an administrator to make a "
        "template the default."
    )
    return Fault.build("/templateId", "noDefaultTemplate", sentence, type=str(mailbox_type))


def inapplicable(sent: MailboxProperties, mailbox_type: MailboxType) -> tuple[Restricted, ...]:
    """Return the sent properties that the type does not have."""
    return tuple([each for each in RESTRICTED if each.type is not mailbox_type and each.is_sent(sent)])


def applicability_faults(sent: MailboxProperties, mailbox_type: MailboxType, pointer: str = "") -> Iterator[Fault]:
    """Yield an error for each property that the type lacks.

    `pointer` is the parent's.
    """
    for each in inapplicable(sent, mailbox_type):
        sentence = "A mailbox of type {type} has no {property}. Leave it out, or use a template of type {typeWithIt}."
        yield Fault.build(
            pointer + each.pointer,
            "propertyNotApplicable",
            sentence,
            type=str(mailbox_type),
            property=each.name,
            typeWithIt=str(each.type),
        )


def applicability_warnings(sent: MailboxProperties, mailbox_type: MailboxType) -> Iterator[Reason]:
    """Yield a warning for each property that the type lacks.

    Some tenants choose warnings instead of errors.
    """
    for each in inapplicable(sent, mailbox_type):
        yield Reason.build("propertyHasNoEffect", type=str(mailbox_type), property=each.name)


def spoken(mailbox_type: MailboxType) -> str:
    """Return the name of the type for messages."""
    match mailbox_type:
        case MailboxType.SHARED:
            return "a shared mailbox"
        case MailboxType.EQUIPMENT:
            return "equipment"
        case MailboxType.ROOM:
            return "a room"


def article(mailbox_type: MailboxType) -> str:
    """Return the type with its article."""
    return f"an {mailbox_type}" if mailbox_type is MailboxType.EQUIPMENT else f"a {mailbox_type}"


def _marks(order: MailboxOrder) -> dict[MailboxType, list[str]]:
    marks: dict[MailboxType, list[str]] = {}
    for each in RESTRICTED:
        if each.is_sent(order):
            marks.setdefault(each.type, []).append(each.name)
    return marks


def _has_none(each: Restricted, mailbox_type: MailboxType) -> str:
    holder = spoken(mailbox_type)
    return f"{holder[0].upper()}{holder[1:]} has no {each.name}; only {spoken(each.type)} has."
