"""Rules of templates: naming rules, custom fields, audiences and defaults.

A naming rule is parsed once, when a template is loaded, and expanded for each request. Values of placeholders are plain
text and are never parsed as rules.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, replace
from typing import Any
from uuid import UUID

from chamberlain.core.errors import ChamberlainError, Fault, Forbidden
from chamberlain.core.ids import WRITTEN_ID, GroupId, RequestId, UserId
from chamberlain.directory.mailboxes import MailboxOrder, MailboxProperties
from chamberlain.templates.models import (
    Audience,
    CallerProperty,
    CompiledGroupTemplate,
    CompiledMailboxTemplate,
    Counter,
    CustomField,
    FieldType,
    GroupTemplate,
    Input,
    MailboxTemplate,
    MetadataValue,
    NamingRule,
    Part,
    TemplateHead,
    TemplateKind,
)

# RFC 5321, 4.5.3.1.1.
LOCAL_PART_LENGTH = 64
# The limit of a display name in the directory and in the API.
DISPLAY_NAME_LENGTH = 256
# The number comes from a sequence of the database, with at most 19 digits.
COUNTER_DIGITS = 18

PLACEHOLDER = re.compile(r"\{([^{}]*)\}|[{}]")
PROPERTY = re.compile(r"[A-Za-z][A-Za-z0-9]*")
WHITE_SPACE = re.compile(r"\s")
NOT_OF_A_LOCAL_PART = re.compile(r"[^a-z0-9._-]")
DOTS = re.compile(r"\.\.+")
# Letters without a Unicode decomposition, in lower case.
LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "ł": "l"})


class NamingRuleInvalid(ChamberlainError, ValueError):
    """A text is no naming rule; `position` counts its characters from 0."""

    def __init__(self, position: int, detail: str) -> None:
        super().__init__(detail)
        self.position = position
        self.detail = detail


def parse_naming_rule(text: str) -> NamingRule:
    """Parse a naming rule. Raises NamingRuleInvalid."""
    parts = tuple(parts_of(text))
    if Input() not in parts:
        raise NamingRuleInvalid(0, "The rule does not say where the given name goes. Put {input} into it.")
    return NamingRule(
        parts=parts,
        needs_counter=any(isinstance(part, Counter) for part in parts),
        needs_properties=any(isinstance(part, CallerProperty) for part in parts),
    )


def parts_of(text: str) -> Iterator[Part]:
    """Yield literals and placeholders in order."""
    end = 0
    has_input = False
    for found in PLACEHOLDER.finditer(text):
        if found.start() > end:
            yield text[end : found.start()]
        end = found.end()
        part = placeholder_of(found)
        if has_input and part == Input():
            raise NamingRuleInvalid(found.start(), "{input} is there twice. Leave one out.")
        has_input = has_input or part == Input()
        yield part
    if end < len(text):
        yield text[end:]


def placeholder_of(found: re.Match[str]) -> Part:
    """Parse a placeholder."""
    name = found[1]
    if name is None:
        raise NamingRuleInvalid(found.start(), "A brace has no partner. Braces belong to placeholders only.")
    if name == "input":
        return Input()
    word, _, key = name.partition(".")
    if word == "metadata" and key:
        return MetadataValue(key)
    if word == "user" and PROPERTY.fullmatch(key):
        return CallerProperty(key)
    word, _, digits = name.partition(":")
    if word == "counter" and digits.isascii() and digits.isdecimal() and 1 <= int(digits[:3]) <= COUNTER_DIGITS:
        return Counter(int(digits))
    raise NamingRuleInvalid(
        found.start(),
        f"{found[0]} is no placeholder. Known are {{input}}, {{metadata.<key>}}, {{user.<property>}} and "
        f"{{counter:N}} with N from 1 to {COUNTER_DIGITS}.",
    )


def compile_group_template(template: GroupTemplate) -> CompiledGroupTemplate:
    """Parse the rules of a template. Raises NamingRuleInvalid."""
    display_name, nickname_rule = parse_naming_rule(template.display_name_rule), template.mail_nickname_rule
    mail_nickname = None if nickname_rule is None else parse_naming_rule(nickname_rule)
    rules = [rule for rule in (display_name, mail_nickname) if rule is not None]
    return CompiledGroupTemplate(
        template=template,
        display_name=display_name,
        mail_nickname=mail_nickname,
        needs_numbers=any(rule.needs_counter for rule in rules),
        needs_properties=any(rule.needs_properties for rule in rules),
    )


def compile_mailbox_template(template: MailboxTemplate) -> CompiledMailboxTemplate:
    """Parse the rule of a template. Raises NamingRuleInvalid."""
    return CompiledMailboxTemplate(template, parse_naming_rule(template.address_rule))


def expand(
    rule: NamingRule,
    given: str,
    metadata: Mapping[str, str | bool],
    properties: Mapping[str, str],
    *,
    number: int | None,
) -> str:
    """Expand a rule. Absent values are empty.

    Without a number, zeros replace it: enough to validate a request or for a dry run.
    """
    return "".join([text_of(part, given, metadata, properties, number=number) for part in rule.parts])


def text_of(
    part: Part, given: str, metadata: Mapping[str, str | bool], properties: Mapping[str, str], *, number: int | None
) -> str:
    """Expand one part."""
    match part:
        case str():
            return part
        case Input():
            return given
        case MetadataValue(key=key):
            value = metadata.get(key, "")
            return str(value).lower() if isinstance(value, bool) else value
        case CallerProperty(name=name):
            return properties.get(name, "")
        case Counter(digits=digits):
            return f"{number or 0:0{digits}d}"


def local_part(text: str) -> str | None:
    """Return the local part of an address for a text.

    None means that no character is usable. The result may be longer than an address allows. The caller rejects or
    truncates it.
    """
    # Combining marks of the decomposition are removed with all other invalid characters.
    small = text.lower() if text.isascii() else unicodedata.normalize("NFKD", text).lower().translate(LETTERS)
    kept = NOT_OF_A_LOCAL_PART.sub("", WHITE_SPACE.sub("-", small))
    return DOTS.sub(".", kept).strip(".-") or None


def nickname_candidates(display_name: str, *, by_rule: str | None, request_id: RequestId | None) -> tuple[str, ...]:
    """Return the possible mail nicknames of a group, best first.

    There is none if no character of the name is usable. A naming rule gives exactly one: `by_rule`, its expansion. The
    display name gives two, the second with the first eight digits of the requestId. These are truncated to the limit of
    an address, because a display name may be four times as long. The expansion of a rule is not truncated, because the
    author of the template chose it. Without a requestId only the best one is returned.
    """
    if by_rule is not None:
        nickname = local_part(by_rule)
        return () if nickname is None else (nickname,)
    nickname = local_part(display_name)
    if nickname is None:
        return ()
    if request_id is None:
        return (cut(nickname, LOCAL_PART_LENGTH),)
    suffix = f"-{request_id.hex[:8]}"
    return cut(nickname, LOCAL_PART_LENGTH), cut(nickname, LOCAL_PART_LENGTH - len(suffix)) + suffix


def cut(nickname: str, length: int) -> str:
    """Truncate a local part, without a dot or dash at the end."""
    return nickname if len(nickname) <= length else nickname[:length].rstrip(".-")


# Differs from the zeros of an unknown number in every digit.
NINES = 10**COUNTER_DIGITS - 1


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


def template_fault(
    head: TemplateHead | None, kinds: AbstractSet[TemplateKind], pointer: str = "/templateId"
) -> Fault | None:
    """Validate that a template exists, fits the kinds and is active.

    A head of None means that there is no such template.
    """
    if head is None:
        detail = "There is no such template. Run `chamberlain template list` to see all."
        return Fault(pointer, "templateUnknown", detail)
    if head.kind not in kinds:
        wanted = " or ".join(sorted(kinds))
        detail = f"This template is of kind {head.kind}; one of kind {wanted} is needed here."
        return Fault(pointer, "templateOfOtherKind", detail)
    if not head.active:
        detail = "This template is not in use at present. Choose another, or ask an administrator to activate it."
        return Fault(pointer, "templateInactive", detail)
    return None


def template_not_allowed(audience: Audience | None, user: UserId, member_of: AbstractSet[GroupId]) -> Forbidden | None:
    """Return the error if the audience excludes the user."""
    if audience is None or user in audience.users or not audience.groups.isdisjoint(member_of):
        return None
    detail = "You may not use this template. Choose another, or ask an administrator to add you to its audience."
    return Forbidden("templateNotAllowed", detail)


NO_GROUPS: frozenset[GroupId] = frozenset()


def audience_groups(audience: Audience | None, user: UserId | None) -> frozenset[GroupId]:
    """Return the groups of the audience that decide about the user.

    There are none if the user is named or is an application (None).
    """
    return NO_GROUPS if audience is None or user is None or user in audience.users else audience.groups


def completed(order: MailboxOrder, template: MailboxTemplate) -> MailboxOrder:
    """Fill the missing properties of an order with the template's defaults.

    Permissions and metadata of the order replace the defaults as a whole, so that a caller can send fewer of them.
    """
    if template.defaults == NO_DEFAULTS:
        return order
    return replace(order, **_missing(order, template.defaults))


NO_DEFAULTS = MailboxProperties()
_PROPERTIES = tuple(field.name for field in fields(MailboxProperties))


# Any: the properties are of many types, and each goes from a field to the field of the same name.
def _missing(order: MailboxOrder, defaults: MailboxProperties) -> Mapping[str, Any]:
    return {name: getattr(defaults, name) for name in _PROPERTIES if getattr(order, name) is None}
