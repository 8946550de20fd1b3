# SPDX-License-Identifier: Apache-2.0
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
from chamberlain.core.romanization import FOREIGN, romanize, romanize_symbols
from chamberlain.core.sentences import Word, phrase
from chamberlain.core.text import is_blank
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
SEPARATORS = re.compile(r"[.-]{2,}")
# Letters without a Unicode decomposition, in lower case.
LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "ł": "l"})


class NamingRuleInvalid(ChamberlainError, ValueError):
    """A text is no naming rule; `position` counts its characters from 0."""

    def __init__(self, position: int, template: str, **values: Word) -> None:
        super().__init__(phrase(template, values))
        self.position = position
        self.template = template
        self.values = values


def parse_naming_rule(text: str) -> NamingRule:
    """Parse a naming rule. Raises NamingRuleInvalid."""
    parts = tuple(parts_of(text))
    if Input() not in parts:
        raise NamingRuleInvalid(0, "The rule does not say where the given name goes. Put {{input}} into it.")
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
            raise NamingRuleInvalid(found.start(), "{{input}} is there twice. Leave one out.")
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
        "{placeholder} is no placeholder. Known are {{input}}, {{metadata.<key>}}, {{user.<property>}} and "
        "{{counter:N}} with N from 1 to {max}.",
        placeholder=found[0],
        max=COUNTER_DIGITS,
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

    None means that no character is usable, not even romanized. The result may be longer than an address allows. The
    caller rejects or truncates it.
    """
    return latin_local_part(text) or _usable(romanize(text)) or _usable(romanize_symbols(text))


def latin_local_part(text: str) -> str | None:
    """Return the local part of a text that needs no romanization.

    None means that it has such letters, or no usable character.
    """
    if text.isascii():
        return _usable(text.lower())
    # Combining marks of the decomposition are removed with all other invalid characters.
    small = unicodedata.normalize("NFKD", text).lower().translate(LETTERS)
    return None if FOREIGN.search(small) else _usable(small)


def is_romanized(text: str) -> bool:
    """Return whether the local part of a text is romanized."""
    return not text.isascii() and latin_local_part(text) is None


def _usable(small: str) -> str | None:
    kept = NOT_OF_A_LOCAL_PART.sub("", WHITE_SPACE.sub("-", small))
    return SEPARATORS.sub(_join_separators, kept).strip(".-") or None


def _join_separators(run: re.Match[str]) -> str:
    """Join dots to one dot, and dots with dashes to one dash.

    A run of dashes stays: several spaces are several dashes.
    """
    if "." not in run[0]:
        return run[0]
    return "-" if "-" in run[0] else "."


def substitute_name(kind: str, request_id: RequestId) -> str:
    """Return the substitute for a name without usable characters.

    It is the kind with the last eight digits of the requestId.
    """
    return f"{kind}-{request_id.hex[-8:]}"


def local_part_by_rule(
    rule: NamingRule,
    given: str,
    metadata: Mapping[str, str | bool],
    properties: Mapping[str, str],
    *,
    number: int | None,
    substitute: str,
) -> str:
    """Return the local part that a naming rule gives.

    `substitute` replaces a name without usable characters: the rest of a rule would be the same address for all of
    them. The result may be too long, because the author of the template chose the rule. A romanized name is truncated
    to fit, because its author cannot count its letters.
    """
    made = expand(rule, given, metadata, properties, number=number)
    local = local_part(made)
    own = local if made == given else local_part(given)
    if own is None or local is None:
        return local_part(expand(rule, substitute, metadata, properties, number=number)) or substitute
    if len(local) <= LOCAL_PART_LENGTH or not is_romanized(given):
        return local
    local = local_part(expand(rule, own, metadata, properties, number=number)) or own
    room = len(own) + LOCAL_PART_LENGTH - len(local)
    if room <= 0:
        return local
    return local_part(expand(rule, cut_at_word(own, room), metadata, properties, number=number)) or local


def mail_nickname(display_name: str, *, substitute: str) -> str:
    """Return the best mail nickname for a display name.

    It is truncated to the limit of an address, because a display name may be four times as long.
    """
    if (latin := latin_local_part(display_name)) is not None:
        return cut(latin, LOCAL_PART_LENGTH)
    return cut_at_word(local_part(display_name) or substitute, LOCAL_PART_LENGTH)


def second_nickname(nickname: str, request_id: RequestId) -> str:
    """Add the first eight digits of the requestId to a taken nickname."""
    suffix = f"-{request_id.hex[:8]}"
    return cut(nickname, LOCAL_PART_LENGTH - len(suffix)) + suffix


def cut(nickname: str, length: int) -> str:
    """Truncate a local part, without a dot or dash at the end."""
    return nickname if len(nickname) <= length else nickname[:length].rstrip(".-")


def cut_at_word(nickname: str, length: int) -> str:
    """Truncate a local part after a word or syllable.

    It is truncated inside of one if half of it would be removed otherwise.
    """
    if len(nickname) <= length:
        return nickname
    end = max(nickname.rfind("-", 0, length + 1), nickname.rfind(".", 0, length + 1))
    return cut(nickname, end if end > length // 2 else length)


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
            sentence = '"{label}" is required.'
            yield Fault.build(metadata_pointer(field), "customFieldRequired", sentence, label=field.label)
        elif value is not None and (fault := value_fault(field, value)):
            yield fault


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
        if has_values and (fault := value_fault(field, value, pointer)):
            yield fault


def unknown_user_faults(
    fields: Sequence[CustomField], metadata: Metadata | None, known: AbstractSet[UserId]
) -> Iterator[Fault]:
    """Validate that the users in fields are in the directory."""
    for field, user in users_in(fields, metadata):
        if user not in known:
            sentence = '"{label}" names {user}, who is no user of this tenant.'
            pointer = metadata_pointer(field)
            yield Fault.build(pointer, "customFieldInvalid", sentence, label=field.label, user=str(user))


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
    """Return whether a value is absent or shows nothing."""
    return value is None or (isinstance(value, str) and is_blank(value))


def value_fault(field: CustomField, value: Value, pointer: str = "") -> Fault | None:
    """Validate the value of a field.

    `pointer` is that of the metadata's parent.
    """
    place, code, label = metadata_pointer(field, pointer), "customFieldInvalid", field.label
    match field.type:
        case FieldType.BOOLEAN if not isinstance(value, bool):
            return Fault.build(place, code, '"{label}" is true or false, without quotation marks.', label=label)
        case FieldType.TEXT if not isinstance(value, str) or len(value) > TEXT_LENGTH:
            sentence = '"{label}" is a text of at most {max} characters.'
            return Fault.build(place, code, sentence, label=label, max=TEXT_LENGTH)
        case FieldType.CHOICE if value not in field.choices:
            return Fault.build(place, code, '"{label}" is one of: {choices}.', label=label, choices=field.choices)
        case FieldType.USER if not isinstance(value, str) or not WRITTEN_ID.fullmatch(value):
            return Fault.build(place, code, '"{label}" is the id of a user.', label=label)
        case _:
            return None


def metadata_pointer(field: CustomField, pointer: str = "") -> str:
    """Return the pointer to the value of a field.

    Tilde and slash are escaped (RFC 6901, 3). `pointer` is that of the metadata's parent.
    """
    return f"{pointer}/metadata/{field.key.replace('~', '~0').replace('/', '~1')}"


def template_fault(
    head: TemplateHead | None, kinds: AbstractSet[TemplateKind], pointer: str = "/templateId"
) -> Fault | None:
    """Validate that a template exists, fits the kinds and is active.

    A head of None means that there is no such template.
    """
    if head is None:
        sentence = "There is no such template. Run `chamberlain template list` to see all."
        return Fault.build(pointer, "templateUnknown", sentence)
    if head.kind not in kinds:
        sentence = "This template is of kind {kind}; one of these kinds is needed here: {choices}."
        wanted = tuple(sorted(kinds))
        return Fault.build(pointer, "templateOfOtherKind", sentence, kind=str(head.kind), choices=wanted)
    if not head.active:
        sentence = "This template is not in use at present. Choose another, or ask an administrator to activate it."
        return Fault.build(pointer, "templateInactive", sentence)
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
