"""Membership rules: the text is read into a tree that says who belongs to a dynamic group.

    rule        := all ("-or" all)*
    all         := one ("-and" one)*
    one         := "-not" one | "(" rule ")" | comparison
    comparison  := ("user." | "device.") property operator value
    value       := text | "null" | "true" | "false" | "[" text ("," text)* "]"

Words, properties and texts are compared without regard to case. A text stands in single or double quotes; a quote in it
is written twice. A rule is about users or about devices.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import TypeAlias

from chamberlain.embedded.directory.errors import BadRule


class ValueType(Enum):
    """What a property holds."""

    TEXT = auto()
    BOOLEAN = auto()


class Kind(StrEnum):
    """Whom a property belongs to, by the word that stands before its name."""

    USER = "user"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Property:
    """A property by its directory name; `expression` reads it from a row `u` of directory.users.

    There are no devices here, so those of devices are read nowhere.
    """

    name: str
    expression: str
    type: ValueType = ValueType.TEXT
    kind: Kind = Kind.USER


# Those that lie together in one column, because nothing but naming and membership rules asks for them.
FURTHER = (
    "givenName",
    "surname",
    "department",
    "jobTitle",
    "companyName",
    "officeLocation",
    "employeeId",
    "mobilePhone",
    "streetAddress",
    "postalCode",
    "city",
    "state",
    "country",
    "usageLocation",
    "preferredLanguage",
)

_ALL = (
    Property("objectId", "u.id::text"),
    Property("displayName", "u.display_name"),
    Property("userPrincipalName", "u.user_principal_name"),
    Property("mail", "u.mail"),
    Property("userType", "u.user_type"),
    Property("accountEnabled", "u.account_enabled", ValueType.BOOLEAN),
    *(Property(name, f"u.properties ->> '{name}'") for name in FURTHER),
)

_OF_DEVICES = (
    "deviceCategory",
    "deviceId",
    "deviceManagementAppId",
    "deviceManufacturer",
    "deviceModel",
    "deviceOSType",
    "deviceOSVersion",
    "deviceOwnership",
    "deviceTrustType",
    "displayName",
    "enrollmentProfileName",
    "managementType",
    "objectId",
    "profileType",
)
_BOOLEANS_OF_DEVICES = ("accountEnabled", "isRooted")

_DEVICES = (
    *(Property(name, "NULL", kind=Kind.DEVICE) for name in _OF_DEVICES),
    *(Property(name, "NULL", ValueType.BOOLEAN, Kind.DEVICE) for name in _BOOLEANS_OF_DEVICES),
)

# All of them, by the names that rules use: `user.department`.
KNOWN = {f"{known.kind}.{known.name}": known for known in (*_ALL, *_DEVICES)}

_BY_NAME = {name.lower(): known for name, known in KNOWN.items()}


def find_property(name: str) -> Property | None:
    """The property of this name, such as `user.department`, in any letter case."""
    return _BY_NAME.get(name.lower())


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
    """The pattern as the database takes it. Raises BadRule, with the position of the text that holds the pattern."""
    if len(pattern) > MOST_PATTERN_CHARACTERS:
        raise BadRule(f"a pattern has at most {MOST_PATTERN_CHARACTERS} characters.", position)
    pieces: list[str] = []
    # For each group that is open, and for the whole, whether there is an anchor in it.
    anchored = [False]
    may_repeat = False
    for at, found in _pieces(pattern, position):
        kind = found.lastgroup
        if not _may_stand(found, may_repeat=may_repeat, is_open=len(anchored) > 1):
            raise _not_here(at, position)
        may_repeat = kind in {"escape", "class", "character"}
        if kind == "open":
            anchored.append(False)
        elif kind == "close":
            has_anchor = anchored.pop()
            anchored[-1] |= has_anchor
            may_repeat = not has_anchor
        elif kind == "anchor":
            anchored[-1] = True
        # Nobody asks which part matched; without captures nothing has to be remembered.
        pieces.append("(?:" if kind == "open" else found[0])
    if sum(piece in {"^", "$"} for piece in pieces) > MOST_ANCHORS:
        raise BadRule(f"a pattern has at most {MOST_ANCHORS} of ^ and $.", position)
    if len(anchored) > 1:
        raise BadRule("a bracket of the pattern is not closed.", position)
    return "".join(pieces)


def _pieces(pattern: str, position: int) -> Iterator[tuple[int, re.Match[str]]]:
    at = 0
    while at < len(pattern):
        found = _PIECE.match(pattern, at)
        if found is None:
            raise _not_here(at, position)
        yield at, found
        at = found.end()


def _not_here(at: int, position: int) -> BadRule:
    return BadRule(f"character {at + 1} of the pattern is not one that -match can use here.", position)


def _may_stand(found: re.Match[str], *, may_repeat: bool, is_open: bool) -> bool:
    match found.lastgroup:
        case "quantifier":
            return may_repeat
        case "close":
            return is_open
        case "class":
            return _runs_forward(found[0].removeprefix("[").removeprefix("^").removesuffix("]"))
        case _:
            return True


_RANGE = re.compile(r"(\\.|[^\\])-(\\.|[^\\])|\\.|[^\\]", re.DOTALL)


def _runs_forward(characters: str) -> bool:
    """Whether every range in a class goes from an ordinary character to the same or a later one, and every other dash
    stands first or last."""
    return all(_is_range(one[1], one[2]) if one[1] else _is_single(one) for one in _RANGE.finditer(characters))


def _is_range(first: str, last: str) -> bool:
    return len(first) == len(last) == 1 and "-" not in {first, last} and first <= last


def _is_single(one: re.Match[str]) -> bool:
    return one[0] != "-" or one.start() == 0 or one.end() == len(one.string)


# The length that the suite allows for a rule; the depth keeps the reader from running out of stack.
MOST_CHARACTERS = 3072
MOST_LEVELS = 32


class Operator(StrEnum):
    """How a property is compared."""

    EQUAL = "-eq"
    STARTS_WITH = "-startswith"
    CONTAINS = "-contains"
    IN = "-in"
    MATCH = "-match"


# Each of these says the opposite of another one.
OPPOSITES = {
    "-ne": Operator.EQUAL,
    "-notstartswith": Operator.STARTS_WITH,
    "-notcontains": Operator.CONTAINS,
    "-notin": Operator.IN,
    "-notmatch": Operator.MATCH,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One property against one value; `value` is a tuple of texts for IN, and a checked pattern for MATCH."""

    property: Property
    operator: Operator
    value: str | bool | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    part: "Rule"


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of the parts."""

    parts: tuple["Rule", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the parts."""

    parts: tuple["Rule", ...]


Rule: TypeAlias = Comparison | Not | AllOf | AnyOf


def read_rule(text: str) -> Rule:
    """The rule as a tree. Raises BadRule with the position of what is not understood."""
    if len(text) > MOST_CHARACTERS:
        raise BadRule(f"it has more than {MOST_CHARACTERS} characters.", MOST_CHARACTERS + 1)
    reader = _Reader(text)
    rule = reader.any_of(0)
    if reader.token.kind != "end":
        raise reader.unexpected("-and, -or or the end of the rule")
    return rule


def kind_of(rule: Rule) -> Kind:
    """Whom a rule is about: all of its comparisons are about the same."""
    match rule:
        case Comparison(known):
            return known.kind
        case Not(part):
            return kind_of(part)
        case AllOf(parts) | AnyOf(parts):
            return kind_of(parts[0])


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int


_TOKEN = re.compile(
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


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._kind: Kind | None = None
        self.token = self._next()

    def any_of(self, level: int) -> Rule:
        parts = [self._all_of(level)]
        while self._took("operator", "-or"):
            parts.append(self._all_of(level))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def unexpected(self, wanted: str) -> BadRule:
        return BadRule(f"{wanted} was expected.", self.token.position)

    def _all_of(self, level: int) -> Rule:
        parts = [self._one(level)]
        while self._took("operator", "-and"):
            parts.append(self._one(level))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _one(self, level: int) -> Rule:
        if level > MOST_LEVELS:
            raise BadRule(f"it is nested more than {MOST_LEVELS} levels deep.", self.token.position)
        if self._took("operator", "-not"):
            return Not(self._one(level + 1))
        if self._took("sign", "("):
            rule = self.any_of(level + 1)
            if not self._took("sign", ")"):
                raise self.unexpected("A closing bracket")
            return rule
        return self._comparison()

    def _comparison(self) -> Rule:
        if self.token.kind != "property":
            raise self.unexpected("A property such as user.department, -not or an opening bracket")
        name = self._take()
        known = find_property(name.text)
        if known is None:
            raise BadRule(f"{name.text} is no property that a rule can use.", name.position)
        if self._kind not in {None, known.kind}:
            raise BadRule("a rule is about users or about devices, not about both.", name.position)
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
        if known.type is ValueType.BOOLEAN:
            if token.kind == "word" and word in {"true", "false"} and operator is Operator.EQUAL:
                return word == "true"
            raise BadRule(
                f"{known.kind}.{known.name} can only be compared by -eq or -ne with true, false or null.",
                token.position,
            )
        if token.kind != "text":
            raise BadRule("A text in quotes was expected.", token.position)
        return read_pattern(_unquoted(token), token.position) if operator is Operator.MATCH else _unquoted(token)

    def _list(self) -> tuple[str, ...]:
        if not self._took("sign", "["):
            raise self.unexpected('A list such as ["Sales", "Finance"]')
        values = [self._text_of_list()]
        while self._took("sign", ","):
            values.append(self._text_of_list())
        if not self._took("sign", "]"):
            raise self.unexpected("A comma or a closing square bracket")
        return tuple(values)

    def _text_of_list(self) -> str:
        if self.token.kind != "text":
            raise self.unexpected("A text in quotes")
        return _unquoted(self._take())

    def _took(self, kind: str, text: str) -> bool:
        if self.token.kind != kind or self.token.text.lower() != text:
            return False
        self._take()
        return True

    def _take(self) -> _Token:
        token = self.token
        if token.kind != "end":
            self.token = self._next()
        return token

    def _next(self) -> _Token:
        found = _TOKEN.match(self._text, self._at)
        if found is None or found.lastgroup is None:
            blank = len(self._text) - len(self._text[self._at :].lstrip())
            raise BadRule("this is no word, no text in quotes and no bracket.", blank + 1)
        self._at = found.end()
        return _Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup) + 1)


def _operator(token: _Token) -> Operator:
    try:
        return Operator(token.text.lower())
    except ValueError:
        raise BadRule("An operator such as -eq, -ne, -in or -startsWith was expected.", token.position) from None


def _unquoted(token: _Token) -> str:
    quote = token.text[0]
    return token.text[1:-1].replace(quote * 2, quote)
