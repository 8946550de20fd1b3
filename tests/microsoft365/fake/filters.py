# SPDX-License-Identifier: Apache-2.0
"""The `$filter` of directory objects, with Microsoft's rules for advanced queries.

Operators of each property: includes/filter-directory-objects.md (0a8bce95) and the properties of resources/group.md. A
property that is in neither does not support `$filter` at all.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tests.microsoft365.fake.answers import GraphError, bad_request, unsupported_query

Json: TypeAlias = Any
Predicate = Callable[[Mapping[str, Json]], bool]
Reader = Callable[[Json], Json]

# Operators that work without the advanced parameters.
_EQUAL: Final = frozenset({"eq"})
_TEXT: Final = frozenset({"eq", "startswith", "ge", "le"})
_DEFAULT: Final[Mapping[str, frozenset[str]]] = {
    "accountEnabled": _EQUAL,
    "assignedPlans": _EQUAL,
    "createdDateTime": frozenset({"eq", "ge", "le"}),
    "department": _TEXT,
    "description": _TEXT,
    "displayName": frozenset({"eq", "startswith"}),
    "givenName": _TEXT,
    "groupTypes": _EQUAL,
    "id": _EQUAL,
    "jobTitle": _TEXT,
    "mail": _TEXT,
    "mailEnabled": _EQUAL,
    "mailNickname": _TEXT,
    "proxyAddresses": _TEXT,
    "resourceProvisioningOptions": _EQUAL,
    "securityEnabled": _EQUAL,
    "surname": _TEXT,
    "userPrincipalName": frozenset({"eq", "le", "startswith"}),
    "userType": _EQUAL,
}
# Properties that are filtered in the separate index store only.
_ADVANCED: Final = frozenset({"companyName", "mobilePhone", "officeLocation", "preferredLanguage", "postalCode"})
# "The endsWith operator is supported only with advanced query parameters by ..."
_ENDS_WITH: Final = frozenset({"mail", "otherMails", "userPrincipalName", "proxyAddresses"})
_EXTENSION: Final = re.compile(r"[a-z][A-Za-z0-9]*_[A-Za-z0-9_]+/[A-Za-z]\w*")
_MOST_CLAUSES: Final = 15

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<word>[A-Za-z_$@][\w.@/$-]*)|(?P<number>-?\d[\w:.+-]*)|(?P<sign>[(),:]))"
)


@dataclass
class Filter:
    """A parsed filter. `properties` are those that it compares."""

    matches: Predicate
    properties: frozenset[str]
    needs_advanced: bool


@dataclass
class _Parser:
    """A recursive descent over the tokens of a filter."""

    resource: str
    tokens: list[str]
    at: int = 0
    clauses: int = 0
    has_or: bool = False
    needs_advanced: bool = False
    properties: set[str] = field(default_factory=set)

    def parse(self) -> Filter:
        found = self.disjunction()
        if self.at < len(self.tokens):
            raise _syntax()
        if self.has_or and self.clauses > _MOST_CLAUSES:
            raise unsupported_query(
                "Too many child clauses specified in search filter expression containing 'OR' operators: "
                f"{self.clauses}. Max allowed: {_MOST_CLAUSES}."
            )
        return Filter(found, frozenset(self.properties), self.needs_advanced)

    def disjunction(self) -> Predicate:
        left = self.conjunction()
        while self.peek().lower() == "or":
            self.next()
            self.has_or = True
            left = _either(left, self.conjunction())
        return left

    def conjunction(self) -> Predicate:
        left = self.negation()
        while self.peek().lower() == "and":
            self.next()
            left = _both(left, self.negation())
        return left

    def negation(self) -> Predicate:
        if self.peek().lower() == "not":
            self.next()
            # "The not and ne negation operators are supported only with advanced query parameters."
            self.needs_advanced = True
            inner = self.negation()
            return lambda each: not inner(each)
        if self.peek() == "(":
            self.next()
            inner = self.disjunction()
            self.expect(")")
            return inner
        return self.comparison()

    def comparison(self) -> Predicate:
        self.clauses += 1
        word = self.next()
        if word.lower() in {"startswith", "endswith"} and self.peek() == "(":
            return self.function(word.lower(), lambda name: _value(name, self.properties))
        if word.endswith("/any"):
            return self.any(word.removesuffix("/any"))
        if word.endswith("/$count"):
            self.needs_advanced = True
            return self.count(word.removesuffix("/$count"))
        return self.operator(word)

    def operator(self, name: str) -> Predicate:
        operator = self.next().lower()
        if operator == "in":
            return self.among(name)
        if operator not in {"eq", "ne", "ge", "le"}:
            raise _syntax()
        wanted = _literal(self.next())
        self.check(name, operator, wanted)
        read = _value(name, self.properties)
        return lambda each: _compare(read(each), operator, wanted)

    def among(self, name: str) -> Predicate:
        # "The in operator is supported by default whenever eq operator is supported by default."
        self.check(name, "eq", "")
        self.expect("(")
        wanted = [_literal(self.next())]
        while self.peek() == ",":
            self.next()
            wanted.append(_literal(self.next()))
        self.expect(")")
        self.clauses += len(wanted) - 1
        self.has_or = self.has_or or len(wanted) > 1
        read = _value(name, self.properties)
        return lambda each: any(_compare(read(each), "eq", one) for one in wanted)

    def function(self, function: str, reader: Callable[[str], Reader]) -> Predicate:
        self.expect("(")
        name = self.next()
        self.expect(",")
        wanted = str(_literal(self.next())).lower()
        self.expect(")")
        read = reader(name)
        if name in _DEFAULT or name in _ADVANCED:
            self.check(name, function, wanted)
        test = str.startswith if function == "startswith" else str.endswith
        return lambda each: test(str(read(each) or "").lower(), wanted)

    def any(self, name: str) -> Predicate:
        self.expect("(")
        variable = self.next()
        self.expect(":")
        word = self.next()
        if word.lower() in {"startswith", "endswith"}:
            self.check(name, word.lower(), "")
            inner = self.function(word.lower(), lambda _: lambda each: each)
        else:
            if word != variable:
                raise _syntax()
            operator, wanted = self.next().lower(), _literal(self.next())
            self.check(name, operator, wanted)
            inner = lambda each: _compare(each, operator, wanted)  # noqa: E731  It is one of two predicates.
        self.expect(")")
        self.properties.add(name)
        return lambda each: any(inner(one) for one in each.get(name) or ())

    def count(self, name: str) -> Predicate:
        operator, wanted = self.next().lower(), _literal(self.next())
        self.properties.add(name)
        return lambda each: _compare(len(each.get(name) or ()), operator, wanted)

    def check(self, name: str, operator: str, wanted: Json) -> None:
        """Check that a property supports an operator, and whether it needs the advanced parameters."""
        if _EXTENSION.fullmatch(name):
            # Schema extensions are filterable by eq (extensibility-overview.md, "Comparison of extension types").
            self.needs_advanced = self.needs_advanced or operator != "eq"
            return
        if name not in _DEFAULT and name not in _ADVANCED:
            raise unsupported_query(
                f"Unsupported or invalid query filter clause specified for property '{name}' of resource "
                f"'{self.resource}'."
            )
        if operator == "endswith" and name not in _ENDS_WITH:
            raise unsupported_query(f"Unsupported query: endsWith of property '{name}'.")
        if name in _ADVANCED or operator not in _DEFAULT[name] or wanted is None:
            self.needs_advanced = True

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        if self.at >= len(self.tokens):
            raise _syntax()
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, token: str) -> None:
        if self.next() != token:
            raise _syntax()


def parse_filter(text: str, resource: str) -> Filter:
    """Parse a filter. Raises GraphError as Graph does."""
    tokens, at = [], 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise _syntax()
        tokens.append(found[0].strip())
        at = found.end()
    return _Parser(resource, tokens).parse()


def _syntax() -> GraphError:
    return bad_request("Invalid filter clause", "BadRequest")


def _literal(token: str) -> Json:
    if token.startswith("'"):
        return token[1:-1].replace("''", "'")
    words: Mapping[str, Json] = {"true": True, "false": False, "null": None}
    if token in words:
        return words[token]
    return int(token) if token.lstrip("-").isdigit() else token


def _value(name: str, properties: set[str]) -> Reader:
    properties.add(name)
    first, _, rest = name.partition("/")

    def read(each: Mapping[str, Json]) -> Json:
        value = each.get(first)
        return (value or {}).get(rest) if rest else value

    return read


def _compare(value: Json, operator: str, wanted: Json) -> bool:
    """Compare values. The directory ignores the case of letters."""
    value, wanted = (each.lower() if isinstance(each, str) else each for each in (value, wanted))
    match operator:
        case "eq":
            return bool(value == wanted)
        case "ne":
            return bool(value != wanted)
        case "ge":
            return value is not None and bool(value >= wanted)
        case _:
            return value is not None and bool(value <= wanted)


def _either(left: Predicate, right: Predicate) -> Predicate:
    return lambda each: left(each) or right(each)


def _both(left: Predicate, right: Predicate) -> Predicate:
    return lambda each: left(each) and right(each)
