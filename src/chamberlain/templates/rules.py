"""Validate metadata by custom fields, and list the template areas."""

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
    """Validate the metadata of a request. Keys without a field are free."""
    values = metadata or {}
    for field in fields:
        value = values.get(field.key)
        if field.required and is_missing(value):
            yield fault_at(field, "customFieldRequired", f'"{field.label}" is required.')
        elif value is not None and (wrong := what_is_wrong(field, value)):
            yield fault_at(field, "customFieldInvalid", f'"{field.label}" {wrong}')


def default_faults(fields: Sequence[CustomField], metadata: Metadata | None, pointer: str) -> Iterator[Fault]:
    """Validate the default values of a template.

    Required fields may be empty for the requester to fill. `pointer` is the parent of the metadata.
    """
    values = metadata or {}
    for field in fields:
        value = values.get(field.key)
        if value is None or (field.required and is_missing(value)):
            continue
        # A field of type choice without choices has its own error.
        has_values = field.type is not FieldType.CHOICE or field.choices
        if has_values and (wrong := what_is_wrong(field, value)):
            yield fault_at(field, "customFieldInvalid", f'"{field.label}" {wrong}', pointer)


def unknown_user_faults(
    fields: Sequence[CustomField], metadata: Metadata | None, known: AbstractSet[UserId]
) -> Iterator[Fault]:
    """Validate that the users in fields are in the directory."""
    for field, user in users_in(fields, metadata):
        if user not in known:
            yield fault_at(field, "customFieldInvalid", f'"{field.label}" names {user}, who is no user of this tenant.')


def named_users(fields: Sequence[CustomField], metadata: Metadata | None) -> Iterator[UserId]:
    """Return the users in fields."""
    return (user for _, user in users_in(fields, metadata))


def users_in(fields: Sequence[CustomField], metadata: Metadata | None) -> Iterator[tuple[CustomField, UserId]]:
    """Yield each field with a well-formed user id, and the id."""
    if metadata:
        for field in fields:
            value = metadata.get(field.key)
            if field.type is FieldType.USER and isinstance(value, str) and WRITTEN_ID.fullmatch(value):
                yield field, UserId(UUID(value))


def is_missing(value: Value | None) -> bool:
    """Return whether a value is absent or only white space."""
    return value is None or (isinstance(value, str) and not value.strip())


def what_is_wrong(field: CustomField, value: Value) -> str | None:
    """Return the second half of the error message for a value.

    None means that the value is valid.
    """
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
    """Return a fault that points to the field.

    Tilde and slash are escaped (RFC 6901, 3). `pointer` is that of the metadata's parent.
    """
    return Fault(f"{pointer}/metadata/{field.key.replace('~', '~0').replace('/', '~1')}", code, detail)


NO_GROUPS: frozenset[GroupId] = frozenset()


def audience_groups(audience: Audience | None, user: UserId | None) -> frozenset[GroupId]:
    """Return the groups of the audience that decide about the user.

    There are none if the user is named or is an application (None).
    """
    return NO_GROUPS if audience is None or user is None or user in audience.users else audience.groups


@dataclass(frozen=True, slots=True)
class TemplateArea:
    """The kinds of an area, the offered kinds, and their permissions."""

    kinds: frozenset[TemplateKind]
    administer: Operation
    offered_kinds: frozenset[TemplateKind]
    read: Operation


MAIL = TemplateArea(MAILBOX_KINDS, Operation.ADMINISTER_MAIL, MAILBOX_KINDS, Operation.READ_MAILBOX_TEMPLATES)
# Guest templates are assigned by administrators and are not offered.
COLLAB = TemplateArea(
    GROUP_KINDS | {TemplateKind.GUEST},
    Operation.ADMINISTER_COLLAB,
    GROUP_KINDS,
    Operation.READ_COLLAB_TEMPLATES,
)
