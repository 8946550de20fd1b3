"""The language of `$filter`, read into a tree.

    filter      := all ("or" all)*
    all         := one ("and" one)*
    one         := "not" one | "(" filter ")" | "startswith(" path "," text ")"
                 | "groupTypes/any(" name ":" name "eq" text ")" | path ("eq" | "ne") value | path "in" "(" values ")"
    path        := property | extension "/" member

A text stands in single quotes; a quote in it is written twice.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from chamberlain.embedded.directory.errors import BadQuery

MOST_CHARACTERS = 2048
MOST_LEVELS = 32
MOST_VALUES = 100

_NAME = "[A-Za-z_][A-Za-z0-9_]*"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a filter may name: properties that hold one text, and collections of texts."""

    properties: frozenset[str]
    collections: frozenset[str] = frozenset()


GROUP_VOCABULARY = Vocabulary(frozenset({"id", "displayName", "mailNickname", "mail"}), frozenset({"groupTypes"}))


@dataclass(frozen=True, slots=True)
class Path:
    """A property, or a member of an extension attribute (`extension` is None for a property)."""

    extension: str | None
    member: str


@dataclass(frozen=True, slots=True)
class Equals:
    """The value at the path is one of these; None is "has none"."""

    path: Path
    values: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class StartsWith:
    """The value at the path begins so."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class HasType:
    """A group is of this type."""

    group_type: str


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    part: "Filter"


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of the parts."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the parts."""

    parts: tuple["Filter", ...]


Filter: TypeAlias = Equals | StartsWith | HasType | Not | AllOf | AnyOf


def read_filter(text: str, vocabulary: Vocabulary = GROUP_VOCABULARY) -> Filter:
    """The filter as a tree. Raises BadQuery with the position of what is not understood."""
    if len(text) > MOST_CHARACTERS:
        message = f"A filter ends at position {MOST_CHARACTERS} at the latest; this one has {len(text)} characters."
        raise BadQuery("Request_UnsupportedQuery", message)
    usual = _USUAL.fullmatch(text)
    if usual is not None and usual[1] not in vocabulary.collections:
        return Equals(Path(usual[1], usual[2]), (usual[3],))
    reader = _Reader(text, vocabulary)
    found = reader.any_of(0)
    if reader.token.kind != "end":
        raise reader.expected("'and', 'or' or the end of the filter")
    return found


# What nearly everybody asks who waits for a group, and what the reader would make of it as well, in ten times the time.
_USUAL = re.compile(rf"({_NAME})/({_NAME}) eq '([^']*)'")


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


_TOKEN = re.compile(
    rf"""\s*(?:
      (?P<text>'(?:[^']|'')*')
    | (?P<word>{_NAME}(?:/{_NAME})?)
    | (?P<sign>[(),:])
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)


class _Reader:
    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self._at = 0
        self.token = self._next()

    def any_of(self, level: int) -> Filter:
        parts = [self._all_of(level)]
        while self._took("or"):
            parts.append(self._all_of(level))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def expected(self, what: str) -> BadQuery:
        where = f"at position {self.token.position} in '{self._text}'"
        return BadQuery("BadRequest", f"Invalid filter clause: {what} was expected {where}.")

    def _too_much(self, what: str, token: _Token) -> BadQuery:
        return BadQuery("Request_UnsupportedQuery", f"What stands at position {token.position} {what}.")

    def _all_of(self, level: int) -> Filter:
        parts = [self._one(level)]
        while self._took("and"):
            parts.append(self._one(level))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _one(self, level: int) -> Filter:
        if level > MOST_LEVELS:
            raise self._too_much(f"is nested more than {MOST_LEVELS} levels deep", self.token)
        if self._took("not"):
            return Not(self._one(level + 1))
        if self._took("("):
            found = self.any_of(level + 1)
            self._must("(", ")")
            return found
        if self._took("startswith"):
            return self._starts_with()
        if "groupTypes" in self._vocabulary.collections and self._took("groupTypes/any"):
            return self._has_type()
        return self._comparison()

    def _starts_with(self) -> Filter:
        self._must("startswith", "(")
        path = self._path()
        self._must("the property", ",")
        text = self._string()
        self._must("the text", ")")
        return StartsWith(path, text)

    def _has_type(self) -> Filter:
        self._must("any", "(")
        name = self._word("A name such as c")
        self._must("the name", ":")
        if not self._took(name) or not self._took("eq"):
            raise self.expected("A comparison such as c:c eq 'Unified'")
        group_type = self._string()
        self._must("the text", ")")
        return HasType(group_type)

    def _comparison(self) -> Filter:
        path = self._path()
        if self._took("eq"):
            return Equals(path, (self._value(),))
        if self._took("ne"):
            return Not(Equals(path, (self._value(),)))
        if self._took("in"):
            return Equals(path, self._values())
        raise self.expected("One of the operators eq, ne and in")

    def _path(self) -> Path:
        start = self.token
        name = self._word("A property")
        extension, slash, member = name.partition("/")
        if slash:
            return Path(extension, member)
        if name not in self._vocabulary.properties:
            where = f"at position {start.position} in '{self._text}'"
            raise BadQuery("Request_UnsupportedQuery", f"'{name}' {where} is no property that a filter can use.")
        return Path(None, name)

    def _values(self) -> tuple[str | None, ...]:
        start = self.token
        self._must("in", "(")
        values = [self._value()]
        while self._took(","):
            values.append(self._value())
        self._must("the values", ")")
        if len(values) > MOST_VALUES:
            raise self._too_much(f"is a list of more than {MOST_VALUES} values", start)
        return tuple(values)

    def _value(self) -> str | None:
        return None if self._took("null") else self._string()

    def _string(self) -> str:
        if self.token.kind != "text":
            raise self.expected("A text in single quotes")
        return self._take().text[1:-1].replace("''", "'")

    def _word(self, what: str) -> str:
        if self.token.kind != "word":
            raise self.expected(what)
        return self._take().text

    def _must(self, after: str, sign: str) -> None:
        if not self._took(sign):
            raise self.expected(f"'{sign}' after {after}" if sign != ")" else "A closing bracket")

    def _took(self, text: str) -> bool:
        if self.token.kind == "text" or self.token.text != text:
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
            position = len(self._text) - len(self._text[self._at :].lstrip()) + 1
            where = f"at position {position} in '{self._text}'"
            raise BadQuery("BadRequest", f"Invalid filter clause: no word, text or bracket {where}.")
        self._at = found.end()
        return _Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup) + 1)
