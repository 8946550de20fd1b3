# SPDX-License-Identifier: Apache-2.0
"""Fields of the forms of each kind: order, labels, hints and sections.

Every property of a body is a field of a form, or is in OMITTED with the reason. Labels are by JSON pointer, so that
pages that show a request use the same ones.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from chamberlain.console.forms import Kind
from chamberlain.console.words import N_


class Widget(StrEnum):
    """The control of a field."""

    TEXT = "text"
    LINES = "lines"
    NUMBER = "number"
    CHECK = "check"
    CHOICE = "choice"
    SELECT = "select"
    WORDS = "words"
    PERSON = "person"
    PEOPLE = "people"
    LEVELS = "levels"


@dataclass(frozen=True, slots=True)
class Option:
    """A value of a choice.

    Texts of a template are verbatim: no catalogue translates them.
    """

    value: str
    label: str
    hint: str = ""
    is_verbatim: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form, by its JSON pointer.

    Label and hint are messages, except the verbatim label of a custom field. `hint_values` are the places of the
    hint. `is_answered` means that an empty check box sends false, `is_settled` that a list has no empty choice.
    """

    pointer: str
    label: str
    widget: Widget = Widget.TEXT
    hint: str = ""
    hint_values: Mapping[str, object] = field(default_factory=dict)
    required: bool = False
    options: tuple[Option, ...] = ()
    size: str = ""
    is_verbatim: bool = False
    is_answered: bool = False
    is_settled: bool = False

    @property
    def name(self) -> str:
        """Return the name of the control in the form."""
        return f"{self.pointer}/-" if self.widget in (Widget.PEOPLE, Widget.WORDS) else self.pointer

    @property
    def id(self) -> str:
        """Return the id of the control in the page."""
        return "field" + re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):x}", self.pointer)

    @property
    def kind(self) -> Kind:
        """Return the JSON type of the value."""
        match self.widget:
            case Widget.LINES:
                return Kind.LINES
            case Widget.NUMBER:
                return Kind.NUMBER
            case Widget.CHECK:
                return Kind.TRUTH
            case Widget.WORDS:
                return Kind.WORDS
            case Widget.CHOICE | Widget.SELECT if self.pointer == "/memberShipType":
                return Kind.NUMBER
            case Widget.CHOICE if self.options == YES_OR_NO:
                return Kind.TRUTH
            case Widget.TEXT | Widget.CHOICE | Widget.SELECT | Widget.PERSON | Widget.PEOPLE | Widget.LEVELS:
                return Kind.TEXT

    @property
    def holds_people(self) -> bool:
        """Return whether the values are ids of users."""
        return self.widget in (Widget.PERSON, Widget.PEOPLE, Widget.LEVELS)


@dataclass(frozen=True, slots=True)
class Section:
    """Fields under one heading. A folded section opens on demand."""

    title: str
    fields: tuple[Field, ...]
    is_folded: bool = False


# Labels of all properties, by pointer. Those of one kind are in LABELS_OF_KINDS.
LABELS: Final[Mapping[str, str]] = {
    "/displayName": N_("Name"),
    "/name": N_("Short name"),
    "/templateId": N_("Template"),
    "/alias": N_("Alias"),
    "/domain": N_("Domain"),
    "/reason": N_("Reason"),
    "/capacity": N_("Capacity"),
    "/roomMailboxMetadata/hasVideoConferencing": N_("Video conferencing"),
    "/roomMailboxMetadata/hasWhiteboard": N_("Whiteboard"),
    "/roomMailboxMetadata/hasConferencePhone": N_("Conference phone"),
    "/isWheelChairAccessible": N_("Wheelchair accessible"),
    "/officeLocation": N_("Building and floor"),
    "/streetAddress": N_("Street"),
    "/postalCode": N_("Postal code"),
    "/city": N_("City"),
    "/state": N_("State or region"),
    "/country": N_("Country"),
    "/companyName": N_("Company"),
    "/department": N_("Department"),
    "/phone": N_("Phone"),
    "/businessPhones": N_("Business phones"),
    "/primaryOwner": N_("Owner"),
    "/secondaryOwner": N_("Second owner"),
    "/videoDeviceName": N_("Video device"),
    "/audioDeviceName": N_("Audio device"),
    "/displayDeviceName": N_("Display device"),
    "/automaticReply": N_("Automatic reply"),
    "/isAllowAutomaticReplyOverride": N_("Users may change the automatic reply"),
    "/tags": N_("Tags"),
    "/notes": N_("Notes"),
    "/hideFromGAL": N_("Hidden from the address book"),
    "/autoMapping": N_("Appears in e-mail programs automatically"),
    "/permissions": N_("Access"),
    "/metadata": N_("Other values"),
    "/metadata/equipmentType": N_("Type of equipment"),
    "/description": N_("Description"),
    "/memberShipType": N_("Visibility"),
    "/owners": N_("Owners"),
    "/members": N_("Members"),
    "/labelId": N_("Sensitivity label"),
}
LABELS_OF_KINDS: Final[Mapping[tuple[str, str], str]] = {
    ("room", "/capacity"): N_("Seats"),
    ("equipment", "/capacity"): N_("Quantity"),
    ("shared", "/capacity"): N_("Storage in MB"),
}

MEMBER_SHIP_TYPES: Final = (
    Option("0", N_("Private"), N_("Only owners add members.")),
    Option("1", N_("Public"), N_("Everyone in the organisation can join.")),
    Option("2", N_("Members by rule"), N_("The template decides who is a member.")),
)
PERMISSION_LEVELS: Final = (
    Option("FullAccess", N_("Full access")),
    Option("SendAs", N_("Send as")),
    Option("None", N_("No access")),
)
YES_OR_NO: Final = (Option("true", N_("Yes")), Option("false", N_("No")))

# Properties of each kind that no form has, with the reason.
_PATH: Final = "The address of the form names the template."
_NO_STEP: Final = "No step of this kind uses it."
_OTHER_KIND: Final = "Only another kind has it."
_ROOM_ONLY: Final = {
    "/isWheelChairAccessible": _OTHER_KIND,
    "/officeLocation": _OTHER_KIND,
    "/roomMailboxMetadata/hasConferencePhone": _OTHER_KIND,
    "/roomMailboxMetadata/hasWhiteboard": _OTHER_KIND,
    "/roomMailboxMetadata/hasVideoConferencing": _OTHER_KIND,
    "/audioDeviceName": _NO_STEP,
    "/displayDeviceName": _NO_STEP,
    "/videoDeviceName": _NO_STEP,
}
_METADATA: Final = {"/metadata": "The custom fields of the template are its members."}
OMITTED: Final[Mapping[str, Mapping[str, str]]] = {
    "room": {"/templateId": _PATH, "/alias": _OTHER_KIND, "/autoMapping": _OTHER_KIND, **_METADATA},
    "equipment": {
        "/templateId": _PATH,
        "/alias": _OTHER_KIND,
        "/autoMapping": _OTHER_KIND,
        **_METADATA,
        **_ROOM_ONLY,
    },
    "shared": {"/templateId": _PATH, **_METADATA, **_ROOM_ONLY},
    "group": {"/templateId": _PATH, **_METADATA},
    "team": {"/templateId": _PATH, **_METADATA},
}


def label_of(pointer: str, kind: str) -> str:
    """Return the label of a property, or an unknown pointer."""
    return LABELS_OF_KINDS.get((kind, pointer)) or LABELS.get(pointer, pointer)


def mailbox_sections(kind: str, *, address_follows_rule: bool, domains: Sequence[str]) -> Sequence[Section]:
    """Return the sections of a mailbox.

    A rule that makes the address takes the display name, so there is no field for the short name then.
    """
    names = [_field(kind, "/displayName", required=True, hint=_NAME_HINTS[kind])]
    if not address_follows_rule:
        names.append(_field(kind, "/name", hint=N_("The address is made from this. Leave it empty to use the name.")))
    domain = () if len(domains) < 2 else (_domain(kind, domains),)
    match kind:
        case "room":
            return (
                Section(_BASICS, (*names, _field(kind, "/capacity", Widget.NUMBER, size="small"), _reason(kind))),
                Section(N_("Equipment of the room"), _checks(kind, *_ROOM_EQUIPMENT)),
                Section(_LOCATION, _texts(kind, "/officeLocation", *_ADDRESS), is_folded=True),
                Section(_PEOPLE, (*_owners(kind), _levels(kind)), is_folded=True),
                Section(N_("Devices"), _texts(kind, *_DEVICES), is_folded=True),
                Section(_MORE, (*domain, *_more(kind)), is_folded=True),
            )
        case "equipment":
            details = (
                _field(kind, "/metadata/equipmentType", hint=N_("For example projector, vehicle or camera.")),
                _field(kind, "/capacity", Widget.NUMBER, size="small"),
            )
            return (
                Section(_BASICS, (*names, *details, _reason(kind))),
                Section(_LOCATION, _texts(kind, *_ADDRESS), is_folded=True),
                Section(_PEOPLE, (*_owners(kind), _levels(kind)), is_folded=True),
                Section(_MORE, (*domain, *_more(kind)), is_folded=True),
            )
        case _:
            alias = _field(kind, "/alias", hint=N_("The part of another address before the @."))
            storage = _field(kind, "/capacity", Widget.NUMBER, size="small")
            return (
                Section(_BASICS, (*names, _reason(kind))),
                Section(N_("Users"), (_levels(kind), *_checks(kind, "/autoMapping"))),
                Section(N_("Contacts"), _owners(kind), is_folded=True),
                Section(_LOCATION, _texts(kind, *_ADDRESS), is_folded=True),
                Section(_MORE, (alias, *domain, storage, *_more(kind)), is_folded=True),
            )


def group_sections(
    kind: str,
    *,
    member_ship_type: int,
    is_changeable: bool,
    minimum_owners: int,
    labels: Sequence[Option],
) -> Sequence[Section]:
    """Return the sections of a group or team.

    A rule that fixes the members leaves no field for them. Without labels there is no field for one.
    """
    basics = [
        _field(kind, "/displayName", required=True, hint=_NAME_HINTS[kind]),
        _field(kind, "/description", Widget.LINES, hint=N_("Approvers and members can read this.")),
    ]
    if is_changeable:
        # Only a template of this type has a rule for members.
        offered = MEMBER_SHIP_TYPES if member_ship_type == _BY_RULE else MEMBER_SHIP_TYPES[:_BY_RULE]
        basics.append(_field(kind, "/memberShipType", Widget.CHOICE, options=offered))
    people = [_group_owners(kind, minimum_owners)]
    if is_changeable or member_ship_type != _BY_RULE:
        people.append(_field(kind, "/members", Widget.PEOPLE))
    sections = [Section(_BASICS, tuple(basics)), Section(_PEOPLE, tuple(people))]
    if labels:
        label = _field(kind, "/labelId", Widget.SELECT, options=tuple(labels))
        sections.append(Section(_MORE, (label,), is_folded=True))
    return sections


# People of a field that a form shows one by one. It keeps further ones, and shows their number. A form of 1 MiB has
# more than 10,000, and the process does nothing else while it renders them.
MOST_PEOPLE: Final = 200
_BY_RULE: Final = 2
_BASICS: Final = N_("Basics")
_LOCATION: Final = N_("Location")
_PEOPLE: Final = N_("People")
_MORE: Final = N_("More options")
_LEVELS_HINT: Final = N_("With full access, people can open the mailbox. With “Send as”, they can write in its name.")
_NAME_HINTS: Final[Mapping[str, str]] = {
    "room": N_("People see this name when they book the room."),
    "equipment": N_("People see this name when they book the equipment."),
    "shared": N_("People see this name when they write to the mailbox."),
    "group": N_("People see this name in the address book."),
    "team": N_("People see this name in the list of teams."),
}
_ADDRESS: Final = ("/streetAddress", "/postalCode", "/city", "/state", "/country", "/companyName", "/department")
_DEVICES: Final = ("/videoDeviceName", "/audioDeviceName", "/displayDeviceName")
_ROOM_EQUIPMENT: Final = (
    "/roomMailboxMetadata/hasVideoConferencing",
    "/roomMailboxMetadata/hasWhiteboard",
    "/roomMailboxMetadata/hasConferencePhone",
    "/isWheelChairAccessible",
)
_COMMAS: Final = N_("Separate several with commas.")


def _field(
    kind: str,
    pointer: str,
    widget: Widget = Widget.TEXT,
    *,
    hint: str = "",
    required: bool = False,
    options: tuple[Option, ...] = (),
    size: str = "",
) -> Field:
    return Field(
        pointer,
        label_of(pointer, kind),
        widget,
        hint=hint,
        required=required,
        options=options,
        size=size,
    )


def _texts(kind: str, *pointers: str) -> tuple[Field, ...]:
    return tuple(_field(kind, each) for each in pointers)


def _checks(kind: str, *pointers: str) -> tuple[Field, ...]:
    return tuple(_field(kind, each, Widget.CHECK) for each in pointers)


def _reason(kind: str) -> Field:
    return _field(kind, "/reason", hint=N_("Approvers and administrators can read this."))


def _domain(kind: str, domains: Sequence[str]) -> Field:
    options = tuple(Option(each, each, is_verbatim=True) for each in domains)
    return _field(kind, "/domain", Widget.SELECT, options=options)


def _owners(kind: str) -> tuple[Field, ...]:
    return (
        _field(kind, "/primaryOwner", Widget.PERSON),
        _field(kind, "/secondaryOwner", Widget.PERSON),
        *_texts(kind, "/phone"),
        _field(kind, "/businessPhones", Widget.WORDS, hint=_COMMAS),
    )


def _levels(kind: str) -> Field:
    return _field(kind, "/permissions", Widget.LEVELS, options=PERMISSION_LEVELS, hint=_LEVELS_HINT)


def _group_owners(kind: str, least: int) -> Field:
    owners = _field(kind, "/owners", Widget.PEOPLE, hint=N_("You become an owner automatically."))
    if least < 2:
        return owners
    hint = N_("At least %(least)d owners are needed. You become one automatically.")
    return replace(owners, hint=hint, hint_values={"least": least})


def _more(kind: str) -> tuple[Field, ...]:
    return (
        _field(kind, "/automaticReply", Widget.LINES, hint=N_("Sent to everyone who writes to this address.")),
        _field(kind, "/isAllowAutomaticReplyOverride", Widget.CHECK),
        _field(kind, "/tags", Widget.WORDS, hint=_COMMAS),
        _field(kind, "/notes", Widget.LINES),
        _field(kind, "/hideFromGAL", Widget.CHECK),
    )
