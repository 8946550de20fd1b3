"""Naming rules with placeholders, and local parts of addresses.

A rule is parsed once, when a template is loaded, and expanded for each request. Values of placeholders are plain text
and are never parsed as rules.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chamberlain.core.errors import ChamberlainError
from chamberlain.core.ids import RequestId

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


@dataclass(frozen=True, slots=True)
class Input:
    """`{input}`: the name as it was sent."""


@dataclass(frozen=True, slots=True)
class MetadataValue:
    """`{metadata.<key>}`: the value of this key in the request."""

    key: str


@dataclass(frozen=True, slots=True)
class CallerProperty:
    """`{user.<property>}`: a property of the caller in the directory."""

    name: str


@dataclass(frozen=True, slots=True)
class Counter:
    """`{counter:N}`: a number with at least so many digits."""

    digits: int


Part = str | Input | MetadataValue | CallerProperty | Counter


@dataclass(frozen=True, slots=True)
class NamingRule:
    """A parsed rule, and the values that its expansion needs."""

    parts: tuple[Part, ...]
    needs_counter: bool
    needs_properties: bool


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
