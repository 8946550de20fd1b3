"""The language of `$filter`, and its parser.

    filter      := all ("or" all)*
    all         := one ("and" one)*
    one         := "not" one | "(" filter ")" | "startswith(" path "," text ")"
                 | "groupTypes/any(" name ":" name "eq" text ")" | path ("eq" | "ne") value | path "in" "(" values ")"
    path        := property | extension "/" member

A text is in single quotes, and a quote in it is doubled.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.expressions import MOST_LEVELS, Expression, Not, Parser, Token

MOST_CHARACTERS = 2048
MOST_VALUES = 100

_NAME = "[A-Za-z_][A-Za-z0-9_]*"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The text properties and text collections that a filter can use."""

    properties: frozenset[str]
    collections: frozenset[str] = frozenset()


GROUP_VOCABULARY = Vocabulary(frozenset({"id", "displayName", "mailNickname", "mail"}), frozenset({"groupTypes"}))


@dataclass(frozen=True, slots=True)
class Path:
    """A property, or a member of an extension attribute.

    `extension` is None for a property.
    """

    extension: str | None
    member: str


@dataclass(frozen=True, slots=True)
class Equals:
    """The value at the path is one of `values`.

    None matches a missing value.
    """

    path: Path
    values: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class StartsWith:
    """The value at the path starts with a text."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class HasType:
    """The group has this type."""

    group_type: str


Comparison: TypeAlias = Equals | StartsWith | HasType
Filter: TypeAlias = Expression[Comparison]

# The filter of nearly all callers who wait for a group. The parser would take ten times as long.
_COMMON = re.compile(rf"({_NAME})/({_NAME}) eq '([^']*)'")


def read_filter(text: str, vocabulary: Vocabulary = GROUP_VOCABULARY) -> Filter:
    """Validate a filter and return its tree. Raises BadQuery with the position."""
    if len(text) > MOST_CHARACTERS:
        message = f"A filter ends at position {MOST_CHARACTERS} at the latest; this one has {len(text)} characters."
        raise BadQuery("Request_UnsupportedQuery", message)
    common = _COMMON.fullmatch(text)
    if common is not None and common[1] not in vocabulary.collections:
        return Equals(Path(common[1], common[2]), (common[3],))
    return _FilterParser(text, vocabulary).parse()


class _FilterParser(Parser[Comparison]):
    tokens = re.compile(
        rf"""\s*(?:
          (?P<text>'(?:[^']|'')*')
        | (?P<word>{_NAME}(?:/{_NAME})?)
        | (?P<sign>[(),:])
        | (?P<end>\Z)
        )""",
        re.VERBOSE,
    )
    words = ("or", "and", "not")
    end = "'and', 'or' or the end of the filter"

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        super().__init__(text)

    def _comparison(self) -> Filter:
        if self._took("startswith"):
            return self._starts_with()
        if "groupTypes" in self._vocabulary.collections and self._took("groupTypes/any"):
            return self._has_type()
        path = self._path()
        if self._took("eq"):
            return Equals(path, (self._value(),))
        if self._took("ne"):
            return Not(Equals(path, (self._value(),)))
        if self._took("in"):
            return Equals(path, self._values())
        raise self._expected("One of the operators eq, ne and in")

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
            raise self._expected("A comparison such as c:c eq 'Unified'")
        group_type = self._string()
        self._must("the text", ")")
        return HasType(group_type)

    def _path(self) -> Path:
        start = self._token
        name = self._word("A property")
        extension, slash, member = name.partition("/")
        if slash:
            return Path(extension, member)
        if name not in self._vocabulary.properties:
            where = self._where(start.position)
            raise BadQuery("Request_UnsupportedQuery", f"'{name}' {where} is no property that a filter can use.")
        return Path(None, name)

    def _values(self) -> tuple[str | None, ...]:
        start = self._token
        self._must("in", "(")
        values = [self._value()]
        while self._took(","):
            values.append(self._value())
        self._must("the values", ")")
        if len(values) > MOST_VALUES:
            raise self._too_complex(f"is a list of more than {MOST_VALUES} values", start)
        return tuple(values)

    def _value(self) -> str | None:
        return None if self._took("null") else self._string()

    def _string(self) -> str:
        if self._token.kind != "text":
            raise self._expected("A text in single quotes")
        return self._take().text[1:-1].replace("''", "'")

    def _word(self, what: str) -> str:
        if self._token.kind != "word":
            raise self._expected(what)
        return self._take().text

    def _must(self, after: str, sign: str) -> None:
        if not self._took(sign):
            raise self._expected(f"'{sign}' after {after}" if sign != ")" else "A closing bracket")

    def _expected(self, what: str) -> BadQuery:
        where = self._where(self._token.position)
        return BadQuery("BadRequest", f"Invalid filter clause: {what} was expected {where}.")

    def _too_deep(self) -> BadQuery:
        return self._too_complex(f"is nested more than {MOST_LEVELS} levels deep", self._token)

    def _too_complex(self, why: str, token: Token) -> BadQuery:
        return BadQuery("Request_UnsupportedQuery", f"The clause at position {token.position} {why}.")

    def _no_token(self, position: int) -> BadQuery:
        return BadQuery("BadRequest", f"Invalid filter clause: no word, text or bracket {self._where(position)}.")

    def _where(self, position: int) -> str:
        return f"at position {position} in '{self._text}'"
