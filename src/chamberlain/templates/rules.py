"""Custom fields: what a template demands of a request's metadata, for groups, teams and mailboxes alike."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from uuid import UUID

from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import Fault
from chamberlain.core.ids import WRITTEN_ID, GroupId, UserId
from chamberlain.templates.models import GROUP_KINDS, MAILBOX_KINDS, Audience, CustomField, FieldType, TemplateKind

Value = str | bool
Metadata = Mapping[str, Value]

TEXT_LENGTH = 1024


def field_faults(fields: Sequence[CustomField], metadata: Metadata | None) -> Iterator[Fault]:
    """What is missing or ill-formed. Keys that no field names are as free as they are."""
    values = metadata or {}
    for field in fields:
        value = values.get(field.key)
        if field.required and is_missing(value):
            yield fault_at(field, "customFieldRequired", f'"{field.label}" is required.')
        elif value is not None and (wrong := what_is_wrong(field, value)):
            yield fault_at(field, "customFieldInvalid", f'"{field.label}" {wrong}')


def default_faults(fields: Sequence[CustomField], metadata: Metadata | None, pointer: str) -> Iterator[Fault]:
    """The values that a template itself gives and that its fields cannot have; `pointer` is where its metadata's parent
    stands. What is required and left empty there is for whoever asks to send."""
    values = metadata or {}
    for field in fields:
        value = values.get(field.key)
        if value is None or (field.required and is_missing(value)):
            continue
        # A choice without choices is a fault of its own.
        has_values = field.type is not FieldType.CHOICE or field.choices
        if has_values and (wrong := what_is_wrong(field, value)):
            yield fault_at(field, "customFieldInvalid", f'"{field.label}" {wrong}', pointer)


def unknown_user_faults(
    fields: Sequence[CustomField], metadata: Metadata | None, known: AbstractSet[UserId]
) -> Iterator[Fault]:
    """The fields that name a user whom the directory does not know."""
    for field, user in users_in(fields, metadata):
        if user not in known:
            yield fault_at(field, "customFieldInvalid", f'"{field.label}" names {user}, who is no user of this tenant.')


def named_users(fields: Sequence[CustomField], metadata: Metadata | None) -> Iterator[UserId]:
    """The users that the fields name."""
    return (user for _, user in users_in(fields, metadata))


def users_in(fields: Sequence[CustomField], metadata: Metadata | None) -> Iterator[tuple[CustomField, UserId]]:
    """Each field that holds a well-formed user id, with it."""
    if metadata:
        for field in fields:
            value = metadata.get(field.key)
            if field.type is FieldType.USER and isinstance(value, str) and WRITTEN_ID.fullmatch(value):
                yield field, UserId(UUID(value))


def is_missing(value: Value | None) -> bool:
    """A text of nothing but white space says as much as none."""
    return value is None or (isinstance(value, str) and not value.strip())


def what_is_wrong(field: CustomField, value: Value) -> str | None:
    """The second half of a sentence about a value that does not fit, or None when it does."""
    match field.type:
        case FieldType.BOOLEAN:
            return None if isinstance(value, bool) else "is true or false, without quotation marks."
        case FieldType.TEXT:
            fits = isinstance(value, str) and len(value) <= TEXT_LENGTH
            return None if fits else f"is a text of at most {TEXT_LENGTH} characters."
        case FieldType.CHOICE:
            return None if value in field.choices else f"is one of: {', '.join(field.choices)}."
        case FieldType.USER:
            return None if isinstance(value, str) and WRITTEN_ID.fullmatch(value) else "is the id of a user."


def fault_at(field: CustomField, code: str, detail: str, pointer: str = "") -> Fault:
    """A fault that points to the field (RFC 6901, 3: tilde and slash are escaped); `pointer` is where the metadata's
    parent stands."""
    return Fault(f"{pointer}/metadata/{field.key.replace('~', '~0').replace('/', '~1')}", code, detail)


NO_GROUPS: frozenset[GroupId] = frozenset()


def audience_groups(audience: Audience | None, user: UserId | None) -> frozenset[GroupId]:
    """The groups whose members may use the template; none when that does not matter for this caller. None as the user
    is an application, which is not held to any audience."""
    return NO_GROUPS if audience is None or user is None or user in audience.users else audience.groups


@dataclass(frozen=True, slots=True)
class TemplateArea:
    """Templates of these kinds, what it takes to administer them, those of them that somebody can ask for something
    with, and what it takes to be offered those."""

    kinds: frozenset[TemplateKind]
    administer: Operation
    offered_kinds: frozenset[TemplateKind]
    read: Operation


MAIL = TemplateArea(MAILBOX_KINDS, Operation.ADMINISTER_MAIL, MAILBOX_KINDS, Operation.READ_MAILBOX_TEMPLATES)
# Guest templates are assigned by administrators; nobody asks for anything with one.
COLLAB = TemplateArea(
    GROUP_KINDS | {TemplateKind.GUEST},
    Operation.ADMINISTER_COLLAB,
    GROUP_KINDS,
    Operation.READ_COLLAB_TEMPLATES,
)
