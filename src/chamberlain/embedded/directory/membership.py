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
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from chamberlain.embedded.directory.errors import BadRule
from chamberlain.embedded.directory.patterns import read_pattern
from chamberlain.embedded.directory.properties import Kind, Property, ValueType, find_property

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
