"""Names by rule: texts with placeholders, and the local part of an address made from any name.

A rule is parsed once, when a template is loaded, and expanded once for each request: what a placeholder brings in is
text and is never read as a rule again.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chamberlain.core.errors import ChamberlainError
from chamberlain.core.ids import RequestId

# RFC 5321, 4.5.3.1.1.
LOCAL_PART_LENGTH = 64
# The bound of a display name in the directory; what a caller may send has the same one.
DISPLAY_NAME_LENGTH = 256
# The number comes from a sequence of the database, whose largest value has 19 digits.
COUNTER_DIGITS = 18

PLACEHOLDER = re.compile(r"\{([^{}]*)\}|[{}]")
PROPERTY = re.compile(r"[A-Za-z][A-Za-z0-9]*")
WHITE_SPACE = re.compile(r"\s")
NOT_OF_A_LOCAL_PART = re.compile(r"[^a-z0-9._-]")
DOTS = re.compile(r"\.\.+")
# Letters that have no decomposition of their own. Lower case only: capitals are made small before.
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
    """`{metadata.<key>}`: what was sent under this key."""

    key: str


@dataclass(frozen=True, slots=True)
class CallerProperty:
    """`{user.<property>}`: what the directory knows of the caller."""

    name: str


@dataclass(frozen=True, slots=True)
class Counter:
    """`{counter:N}`: a number with at least so many digits."""

    digits: int


Part = str | Input | MetadataValue | CallerProperty | Counter


@dataclass(frozen=True, slots=True)
class NamingRule:
    """A parsed rule. The two facts say what must be asked for before it can be expanded."""

    parts: tuple[Part, ...]
    needs_counter: bool
    needs_properties: bool


def parse_naming_rule(text: str) -> NamingRule:
    """The rule that a text stands for. Raises NamingRuleInvalid."""
    parts = tuple(parts_of(text))
    if Input() not in parts:
        raise NamingRuleInvalid(0, "The rule does not say where the given name goes. Put {input} into it.")
    return NamingRule(
        parts=parts,
        needs_counter=any(isinstance(part, Counter) for part in parts),
        needs_properties=any(isinstance(part, CallerProperty) for part in parts),
    )


def parts_of(text: str) -> Iterator[Part]:
    """Literals and placeholders in their order."""
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
    """What stands between two braces."""
    name = found[1]
    if name is None:
        raise NamingRuleInvalid(found.start(), "A brace stands alone. Braces belong to placeholders only.")
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
    """The name that a rule makes. What is absent is empty.

    As long as no number is drawn (None), zeros stand for it: enough to check a request, or to show it in a dry run.
    """
    return "".join([text_of(part, given, metadata, properties, number=number) for part in rule.parts])


def text_of(
    part: Part, given: str, metadata: Mapping[str, str | bool], properties: Mapping[str, str], *, number: int | None
) -> str:
    """What one part becomes."""
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
    """What stands before the @ of an address made from this text; None when nothing is left of it.

    It may be longer than an address allows: whether that is a fault or is cut depends on where the text comes from.
    """
    # Marks that the decomposition has split off go with everything else that no local part holds.
    small = text.lower() if text.isascii() else unicodedata.normalize("NFKD", text).lower().translate(LETTERS)
    kept = NOT_OF_A_LOCAL_PART.sub("", WHITE_SPACE.sub("-", small))
    return DOTS.sub(".", kept).strip(".-") or None


def nickname_candidates(display_name: str, *, by_rule: str | None, request_id: RequestId | None) -> tuple[str, ...]:
    """The mail nicknames that a group may get, best first; none when nothing is left of its name.

    A template's rule gives exactly one (`by_rule` is what it expanded to). The display name gives two, the second with
    the first eight digits of the requestId. Both of these are cut to what an address allows: a display name may be four
    times as long, and nobody asked for an address that spells all of it. What a rule makes is not cut, since the
    template's author chose it. Without a requestId only the best is made.
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
    """The beginning of a local part, which again ends with neither a dot nor a dash."""
    return nickname if len(nickname) <= length else nickname[:length].rstrip(".-")


# Wherever one digit of a number is left, it is none of the zeros that stand for it.
NINES = 10**COUNTER_DIGITS - 1
