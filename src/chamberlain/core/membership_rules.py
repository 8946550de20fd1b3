# SPDX-License-Identifier: Apache-2.0
"""Membership rules of dynamic groups: the parser and the known properties.

    rule        := all ("-or" all)*
    all         := one ("-and" one)*
    one         := "-not" one | "(" rule ")" | comparison
    comparison  := ("user." | "device.") property operator value
    value       := text | "null" | "true" | "false" | "[" text ("," text)* "]"

Words, properties and texts are case-insensitive. A text is in single or double quotes, and a quote in it is doubled.
All comparisons of a rule are about users, or all are about devices. Every adapter of a directory parses rules here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from chamberlain.core.expressions import MOST_LEVELS, AllOf, AnyOf, Expression, Not, Parser, Token

# The limit of Microsoft 365.
MOST_CHARACTERS = 3072


class RuleInvalid(Exception):
    """A membership rule is invalid.

    `position` counts characters from 1. `detail` is a sentence for the caller.
    """

    def __init__(self, what: str, position: int) -> None:
        self.detail = f"The membership rule is not understood at character {position}: {what}"
        self.position = position
        super().__init__(self.detail)


class Kind(StrEnum):
    """The type of object of a property; the prefix of its name."""

    USER = "user"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Property:
    """A property by its directory name."""

    name: str
    is_boolean: bool = False
    kind: Kind = Kind.USER


# Only naming and membership rules use these.
FURTHER = (
    "givenName", "surname", "department", "jobTitle", "companyName", "officeLocation", "employeeId", "mobilePhone",
    "streetAddress", "postalCode", "city", "state", "country", "usageLocation", "preferredLanguage",
)  # fmt: skip

_ALL = (
    Property("objectId"),
    Property("displayName"),
    Property("userPrincipalName"),
    Property("mail"),
    Property("userType"),
    Property("accountEnabled", is_boolean=True),
    *(Property(name) for name in FURTHER),
)

_OF_DEVICES = (
    "deviceCategory", "deviceId", "deviceManagementAppId", "deviceManufacturer", "deviceModel", "deviceOSType",
    "deviceOSVersion", "deviceOwnership", "deviceTrustType", "displayName", "enrollmentProfileName", "managementType",
    "objectId", "profileType",
)  # fmt: skip
_BOOLEANS_OF_DEVICES = ("accountEnabled", "isRooted")

_DEVICES = (
    *(Property(name, kind=Kind.DEVICE) for name in _OF_DEVICES),
    *(Property(name, is_boolean=True, kind=Kind.DEVICE) for name in _BOOLEANS_OF_DEVICES),
)

# All properties by the names that rules use: `user.department`.
KNOWN = {f"{known.kind}.{known.name}": known for known in (*_ALL, *_DEVICES)}

_BY_NAME = {name.lower(): known for name, known in KNOWN.items()}


def find_property(name: str) -> Property | None:
    """Find a property by its case-insensitive name, such as `user.department`."""
    return _BY_NAME.get(name.lower())


class Operator(StrEnum):
    """The operator of a comparison."""

    EQUAL = "-eq"
    STARTS_WITH = "-startswith"
    CONTAINS = "-contains"
    IN = "-in"
    MATCH = "-match"


# The negations of the operators.
OPPOSITES = {
    "-ne": Operator.EQUAL,
    "-notstartswith": Operator.STARTS_WITH,
    "-notcontains": Operator.CONTAINS,
    "-notin": Operator.IN,
    "-notmatch": Operator.MATCH,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A property compared with a value.

    `value` is a tuple of texts for IN, and a validated pattern for MATCH.
    """

    property: Property
    operator: Operator
    value: str | bool | tuple[str, ...] | None


Rule: TypeAlias = Expression[Comparison]


def read_rule(text: str) -> Rule:
    """Validate a rule and return its tree. Raises RuleInvalid with the position."""
    if len(text) > MOST_CHARACTERS:
        raise RuleInvalid(f"it has more than {MOST_CHARACTERS} characters.", MOST_CHARACTERS + 1)
    return _RuleParser(text).parse()


def kind_of(rule: Rule) -> Kind:
    """Return the type of object that the rule is about."""
    match rule:
        case Comparison(known):
            return known.kind
        case Not(part):
            return kind_of(part)
        case AllOf(parts) | AnyOf(parts):
            return kind_of(parts[0])


class _RuleParser(Parser[Comparison]):
    tokens = re.compile(
        r"""\s*(?:
          (?P<property>(?:user|device)\.[a-z]+)
        | (?P<operator>-[a-z]+)
        | (?P<word>null|true|false)\b
        | (?P<text>"(?:[^"]|"")*"|'(?:[^']|'')*')
        | (?P<sign>[()\[\],])
        | (?P<end>\Z)
        )""",
        re.VERBOSE | re.IGNORECASE,
    )
    words = ("-or", "-and", "-not")
    end = "-and, -or or the end of the rule"

    def __init__(self, text: str) -> None:
        self._kind: Kind | None = None
        super().__init__(text)

    def _comparison(self) -> Rule:
        if self._token.kind != "property":
            raise self._expected("A property such as user.department, -not or an opening bracket")
        name = self._take()
        known = find_property(name.text)
        if known is None:
            raise RuleInvalid(f"{name.text} is no property that a rule can use.", name.position)
        if self._kind not in {None, known.kind}:
            raise RuleInvalid("a rule is about users or about devices, not about both.", name.position)
        self._kind = known.kind
        written = self._take()
        opposite = OPPOSITES.get(written.text.lower())
        operator = opposite or _operator(written)
        comparison = Comparison(known, operator, self._value(known, operator))
        return comparison if opposite is None else Not(comparison)

    def _value(self, known: Property, operator: Operator) -> str | bool | tuple[str, ...] | None:
        if operator is Operator.IN:
            return self._list()
        token = self._take()
        word = token.text.lower()
        if token.kind == "word" and word == "null" and operator is Operator.EQUAL:
            return None
        if known.is_boolean:
            if token.kind == "word" and word in {"true", "false"} and operator is Operator.EQUAL:
                return word == "true"
            raise RuleInvalid(
                f"{known.kind}.{known.name} can only be compared by -eq or -ne with true, false or null.",
                token.position,
            )
        if token.kind != "text":
            raise RuleInvalid("A text in quotes was expected.", token.position)
        return read_pattern(_unquoted(token), token.position) if operator is Operator.MATCH else _unquoted(token)

    def _list(self) -> tuple[str, ...]:
        if not self._took("["):
            raise self._expected('A list such as ["Sales", "Finance"]')
        values = [self._text_of_list()]
        while self._took(","):
            values.append(self._text_of_list())
        if not self._took("]"):
            raise self._expected("A comma or a closing square bracket")
        return tuple(values)

    def _text_of_list(self) -> str:
        if self._token.kind != "text":
            raise self._expected("A text in quotes")
        return _unquoted(self._take())

    def _normalized(self, token: Token) -> str:
        return token.text.lower()

    def _expected(self, what: str) -> RuleInvalid:
        return RuleInvalid(f"{what} was expected.", self._token.position)

    def _too_deep(self) -> RuleInvalid:
        return RuleInvalid(f"it is nested more than {MOST_LEVELS} levels deep.", self._token.position)

    def _no_token(self, position: int) -> RuleInvalid:
        return RuleInvalid("this is no word, no text in quotes and no bracket.", position)


def _operator(token: Token) -> Operator:
    try:
        return Operator(token.text.lower())
    except ValueError:
        raise RuleInvalid("An operator such as -eq, -ne, -in or -startsWith was expected.", token.position) from None


def _unquoted(token: Token) -> str:
    quote = token.text[0]
    return token.text[1:-1].replace(quote * 2, quote)


# Patterns of `-match`. The database matches them with an automaton, in time linear to the text. Back-references and
# look-around need backtracking, and counts can expand a short pattern into a huge one, so they are refused. Anchors are
# few and never in a repeated group: with `(^|$)*`, or thirty times `(^|$|a*)`, the database does not finish.
MOST_PATTERN_CHARACTERS = 256
MOST_ANCHORS = 12

_PIECE = re.compile(
    r"""
      (?P<escape>\\[dDwWsS.\\^$|?*+()\[\]{}/@_-])
    | (?P<class>\[(?!\^\])\^?(?:\\[dwsDWS.\\^$|?*+()\[\]{}/@_-]|[^\[\]\\])+\])
    | (?P<open>\((?:\?:)?(?![?*+]))
    | (?P<close>\))
    | (?P<alternative>\|)
    | (?P<anchor>[\^$])
    | (?P<quantifier>[*+?])
    | (?P<character>[^\\\[\](){}^$|*+?])
    """,
    re.VERBOSE | re.DOTALL,
)


def read_pattern(pattern: str, position: int) -> str:
    """Validate a pattern and return it in the syntax of the database.

    Raises RuleInvalid with the position of the text that contains the pattern.
    """
    if len(pattern) > MOST_PATTERN_CHARACTERS:
        raise RuleInvalid(f"a pattern has at most {MOST_PATTERN_CHARACTERS} characters.", position)
    pieces: list[str] = []
    # Whether each open group, and the whole pattern, contains an anchor.
    anchored = [False]
    may_repeat = False
    for at, found in _pieces(pattern, position):
        kind = found.lastgroup
        if not _is_allowed(found, may_repeat=may_repeat, is_open=len(anchored) > 1):
            raise _not_allowed(at, position)
        may_repeat = kind in {"escape", "class", "character"}
        if kind == "open":
            anchored.append(False)
        elif kind == "close":
            has_anchor = anchored.pop()
            anchored[-1] |= has_anchor
            may_repeat = not has_anchor
        elif kind == "anchor":
            anchored[-1] = True
        # Non-capturing groups are faster.
        pieces.append("(?:" if kind == "open" else found[0])
    if sum(piece in {"^", "$"} for piece in pieces) > MOST_ANCHORS:
        raise RuleInvalid(f"a pattern has at most {MOST_ANCHORS} of ^ and $.", position)
    if len(anchored) > 1:
        raise RuleInvalid("a bracket of the pattern is not closed.", position)
    return "".join(pieces)


def _pieces(pattern: str, position: int) -> Iterator[tuple[int, re.Match[str]]]:
    at = 0
    while at < len(pattern):
        found = _PIECE.match(pattern, at)
        if found is None:
            raise _not_allowed(at, position)
        yield at, found
        at = found.end()


def _not_allowed(at: int, position: int) -> RuleInvalid:
    return RuleInvalid(f"character {at + 1} of the pattern is not one that -match can use here.", position)


def _is_allowed(found: re.Match[str], *, may_repeat: bool, is_open: bool) -> bool:
    match found.lastgroup:
        case "quantifier":
            return may_repeat
        case "close":
            return is_open
        case "class":
            return _has_valid_ranges(found[0].removeprefix("[").removeprefix("^").removesuffix("]"))
        case _:
            return True


_RANGE = re.compile(r"(\\.|[^\\])-(\\.|[^\\])|\\.|[^\\]", re.DOTALL)


def _has_valid_ranges(characters: str) -> bool:
    """Check that the ranges of a class are ascending.

    Each other dash must be first or last.
    """
    return all(_is_range(one[1], one[2]) if one[1] else _is_single(one) for one in _RANGE.finditer(characters))


def _is_range(first: str, last: str) -> bool:
    return len(first) == len(last) == 1 and "-" not in {first, last} and first <= last


def _is_single(one: re.Match[str]) -> bool:
    return one[0] != "-" or one.start() == 0 or one.end() == len(one.string)
