# SPDX-License-Identifier: Apache-2.0
"""Parses filters, and evaluates them on resources (RFC 7644, 3.4.2.2).

    filter      := all ("or" all)*
    all         := one ("and" one)*
    one         := "not" one | "(" filter ")" | path "[" filter "]" | path "pr" | path operator value
    operator    := "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le"
    value       := JSON text | number | "true" | "false" | "null"

Operators and attribute names are case-insensitive. A comparison with several values is true if one of them matches.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from chamberlain.core.expressions import MOST_LEVELS, AllOf, AnyOf, Expression, Not, Parser, Token
from chamberlain.embedded.directory.scim.errors import ScimFault
from chamberlain.embedded.directory.scim.paths import Place, find_place, values_at
from chamberlain.embedded.directory.scim.schemas import Attribute, Json, ResourceKind

# As of the filters of the Graph surface.
MOST_CHARACTERS = 2048

Value: TypeAlias = str | bool | float | int | None


@dataclass(frozen=True, slots=True)
class Compare:
    """A value at the place has this relation to `value`."""

    place: Place
    operator: str
    value: Value


@dataclass(frozen=True, slots=True)
class Present:
    """The place has a value."""

    place: Place


@dataclass(frozen=True, slots=True)
class Some:
    """One value of the attribute meets the filter about its parts."""

    place: Place
    filter: "Filter"


Leaf: TypeAlias = Compare | Present | Some
Filter: TypeAlias = Expression[Leaf]


def read_filter(text: str, kind: ResourceKind) -> Filter:
    """Parse a filter about resources. Raises ScimFault with the position."""
    return _read(text, kind, None)


def read_value_filter(text: str, kind: ResourceKind, attribute: Attribute) -> Filter:
    """Parse the text between the brackets of a path."""
    return _read(text, kind, attribute)


def _read(text: str, kind: ResourceKind, attribute: Attribute | None) -> Filter:
    if len(text) > MOST_CHARACTERS:
        raise ScimFault(400, f"A filter has at most {MOST_CHARACTERS} characters.", "invalidFilter")
    return _FilterParser(text, kind, attribute).parse()


@dataclass(slots=True)
class Effort:
    """The comparisons that a search has made, and may make."""

    most: int
    spent: int = 0

    def add(self, comparisons: int) -> None:
        """Count comparisons. Raises ScimFault if they are too many."""
        self.spent += comparisons
        if self.spent > self.most:
            detail = f"The filter compares more than {self.most} values. Narrow it by id, externalId or userName."
            raise ScimFault(400, detail, "tooMany")


def matches(filter_: Filter, document: Json, effort: Effort | None = None) -> bool:
    """Evaluate a filter on a resource or a value.

    Counts the comparisons in `effort`. Raises ScimFault if they are too many.
    """
    match filter_:
        case AllOf(parts):
            return all(matches(part, document, effort) for part in parts)
        case AnyOf(parts):
            return any(matches(part, document, effort) for part in parts)
        case Not(part):
            return not matches(part, document, effort)
        case Present(place):
            if effort is not None:
                effort.add(1)
            return any(value not in ("", [], {}) for value in values_at(document, place))
        case Some(place, inner):
            container = document if place.extension is None else document.get(place.extension)
            name = "" if place.attribute is None else place.attribute.name
            found = container.get(name) if isinstance(container, dict) else None
            values = found if isinstance(found, list) else [found]
            return any(isinstance(value, dict) and matches(inner, value, effort) for value in values)
        case Compare(place, operator, value):
            found_values = values_at(document, place)
            if effort is not None:
                effort.add(1 + len(found_values))
            return _compare(found_values, place, operator, value)


def count_terms(filter_: Filter) -> int:
    """Count the comparisons of a filter."""
    match filter_:
        case AllOf(parts) | AnyOf(parts):
            return sum(map(count_terms, parts))
        case Not(part) | Some(_, part):
            return count_terms(part)
        case Compare() | Present():
            return 1


def equal_values(filter_: Filter) -> Mapping[str, str]:
    """Return texts that each match must have, by lower-case path.

    They narrow the search in the database. The whole filter is still evaluated.
    """
    parts = filter_.parts if isinstance(filter_, AllOf) else (filter_,)
    return {
        _path(part.place): part.value
        for part in parts
        if isinstance(part, Compare) and part.operator == "eq" and isinstance(part.value, str)
    }


def _path(place: Place) -> str:
    names = (one.name for one in (place.attribute, place.part) if one is not None)
    return ".".join((*(() if place.extension is None else (place.extension,)), *names)).lower()


def _compare(values: list[object], place: Place, operator: str, wanted: Value) -> bool:
    if wanted is None:
        return (not values) if operator == "eq" else bool(values)
    if operator == "ne" and not values:
        return True
    target = place.target
    if target is not None and target.type == "complex":
        target = target.part("value")
    fold = target is None or not target.is_case_exact
    is_time = target is not None and target.type == "dateTime"
    return any(_holds(value, operator, wanted, fold=fold, is_time=is_time) for value in values)


def _holds(value: object, operator: str, wanted: Value, *, fold: bool, is_time: bool) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        if is_time:
            one, other = _time(value), _time(wanted)
            return one is not None and other is not None and _ordered(one, other, operator)
        one_text, other_text = (value.casefold(), wanted.casefold()) if fold else (value, wanted)
        return _of_texts(one_text, other_text, operator)
    if isinstance(value, bool) and isinstance(wanted, bool):
        return (value == wanted) if operator == "eq" else value != wanted
    return operator == "ne"


def _of_texts(value: str, wanted: str, operator: str) -> bool:
    match operator:
        case "co":
            return wanted in value
        case "sw":
            return value.startswith(wanted)
        case "ew":
            return value.endswith(wanted)
        case _:
            return _ordered(value, wanted, operator)


def _ordered(value: str | datetime, wanted: str | datetime, operator: str) -> bool:
    if operator in ("eq", "ne"):
        return (value == wanted) if operator == "eq" else value != wanted
    # Both have the same type, by the callers.
    is_less, is_equal = value < wanted, value == wanted  # type: ignore[operator]
    return bool(
        {"gt": not is_less and not is_equal, "ge": not is_less, "lt": is_less, "le": is_less or is_equal}[operator]
    )


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


_OPERATORS = frozenset({"eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"})
_WORDS: Mapping[str, Value] = MappingProxyType({"true": True, "false": False, "null": None})


class _FilterParser(Parser[Leaf]):
    tokens = re.compile(
        r"""\s*(?:
          (?P<text>"(?:[^"\\]|\\.)*")
        | (?P<number>-?[0-9]+(?:\.[0-9]+)?)
        | (?P<word>[A-Za-z$][A-Za-z0-9_$:.\-]*)
        | (?P<sign>[()\[\]])
        | (?P<end>\Z)
        )""",
        re.VERBOSE,
    )
    words = ("or", "and", "not")
    end = "'and', 'or' or the end of the filter"

    def __init__(self, text: str, kind: ResourceKind, attribute: Attribute | None) -> None:
        self._kind = kind
        # The attribute whose parts the names are, inside brackets.
        self._attribute = attribute
        super().__init__(text)

    def _normalized(self, token: Token) -> str:
        return token.text.lower()

    def _comparison(self) -> Filter:
        place = self._place()
        if self._attribute is None and self._took("["):
            return self._some(place)
        if self._took("pr"):
            return Present(place)
        operator = self._token.text.lower()
        if self._token.kind != "word" or operator not in _OPERATORS:
            raise self._expected("One of the operators eq, ne, co, sw, ew, gt, ge, lt, le and pr")
        self._take()
        value = self._value()
        if isinstance(value, bool) and operator not in ("eq", "ne"):
            raise self._invalid(f"The operator {operator} is not for true and false.")
        return Compare(place, operator, value)

    def _some(self, place: Place) -> Filter:
        if place.attribute is None or not place.attribute.parts or place.part is not None:
            raise self._invalid("Brackets follow an attribute with sub-attributes.")
        self._attribute = place.attribute
        inner = self._any_of(1)
        if not self._took("]"):
            raise self._expected("A closing bracket")
        self._attribute = None
        return Some(place, inner)

    def _place(self) -> Place:
        if self._token.kind != "word":
            raise self._expected("An attribute")
        name = self._take().text
        if self._attribute is None:
            place = find_place(self._kind, name)
        else:
            part = self._attribute.part(name)
            place = None if part is None else Place(None, part)
        if place is None or place.attribute is None:
            raise self._invalid(f"'{name}' is no attribute that a filter can use.")
        return place

    def _value(self) -> Value:
        token = self._token
        if token.kind == "word" and token.text.lower() in _WORDS:
            return _WORDS[self._take().text.lower()]
        if token.kind not in ("text", "number"):
            raise self._expected("A text in double quotes, a number, true, false or null")
        try:
            value: Value = msgspec.json.decode(self._take().text, type=str | int | float)
        except msgspec.DecodeError as error:
            raise self._invalid(f"The text at character {token.position} is no JSON text.") from error
        if isinstance(value, str) and "\0" in value:
            # The database cannot compare it.
            raise self._invalid(f"The text at character {token.position} has a NUL.")
        return value

    def _expected(self, what: str) -> ScimFault:
        return self._invalid(f"{what} was expected at character {self._token.position}.")

    def _too_deep(self) -> ScimFault:
        return self._invalid(f"It is nested more than {MOST_LEVELS} levels deep.")

    def _no_token(self, position: int) -> ScimFault:
        return self._invalid(f"There is no attribute, value or bracket at character {position}.")

    def _invalid(self, why: str) -> ScimFault:
        return ScimFault(400, f"The filter is not valid. {why}", "invalidFilter")
