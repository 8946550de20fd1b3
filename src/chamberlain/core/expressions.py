# SPDX-License-Identifier: Apache-2.0
"""Parses boolean expressions.

Imports nothing of Chamberlain, so that the service and the embedded directory parse them alike.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

# Keeps the parser from overflowing the stack.
MOST_LEVELS = 32

Leaf = TypeVar("Leaf")


@dataclass(frozen=True, slots=True)
class Not(Generic[Leaf]):
    """The negation of an expression."""

    part: "Expression[Leaf]"


@dataclass(frozen=True, slots=True)
class AllOf(Generic[Leaf]):
    """The conjunction of several expressions."""

    parts: tuple["Expression[Leaf]", ...]


@dataclass(frozen=True, slots=True)
class AnyOf(Generic[Leaf]):
    """The disjunction of several expressions."""

    parts: tuple["Expression[Leaf]", ...]


Expression: TypeAlias = Leaf | Not[Leaf] | AllOf[Leaf] | AnyOf[Leaf]


class Token(NamedTuple):
    """A token; its position counts characters from 1."""

    kind: str
    text: str
    position: int


class Parser(ABC, Generic[Leaf]):
    """A recursive-descent parser. Subclasses define the tokens and parse the comparisons."""

    tokens: ClassVar[re.Pattern[str]]
    words: ClassVar[tuple[str, str, str]]
    """The operators for "or", "and" and "not"."""
    end: ClassVar[str]
    """A description of the tokens that can follow a whole expression."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._token = self._next()

    def parse(self) -> Expression[Leaf]:
        """Parse the whole text."""
        parsed = self._any_of(0)
        if self._token.kind != "end":
            raise self._expected(self.end)
        return parsed

    @abstractmethod
    def _comparison(self) -> Expression[Leaf]: ...

    @abstractmethod
    def _expected(self, what: str) -> Exception: ...

    @abstractmethod
    def _too_deep(self) -> Exception: ...

    @abstractmethod
    def _no_token(self, position: int) -> Exception: ...

    def _any_of(self, level: int) -> Expression[Leaf]:
        parts = [self._all_of(level)]
        while self._took(self.words[0]):
            parts.append(self._all_of(level))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all_of(self, level: int) -> Expression[Leaf]:
        parts = [self._one(level)]
        while self._took(self.words[1]):
            parts.append(self._one(level))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _one(self, level: int) -> Expression[Leaf]:
        if level > MOST_LEVELS:
            raise self._too_deep()
        if self._took(self.words[2]):
            return Not(self._one(level + 1))
        if self._took("("):
            parsed = self._any_of(level + 1)
            if not self._took(")"):
                raise self._expected("A closing bracket")
            return parsed
        return self._comparison()

    def _took(self, text: str) -> bool:
        """Consume the next token if it is this word or sign."""
        if self._token.kind == "text" or self._normalized(self._token) != text:
            return False
        self._take()
        return True

    def _normalized(self, token: Token) -> str:
        return token.text

    def _take(self) -> Token:
        token = self._token
        if token.kind != "end":
            self._token = self._next()
        return token

    def _next(self) -> Token:
        found = self.tokens.match(self._text, self._at)
        if found is None or found.lastgroup is None:
            blank = len(self._text) - len(self._text[self._at :].lstrip())
            raise self._no_token(blank + 1)
        self._at = found.end()
        return Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup) + 1)
