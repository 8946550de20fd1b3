# SPDX-License-Identifier: Apache-2.0
"""Membership rules as LDAP filters, which the overlay dynlist evaluates. Pure.

Text comparisons ignore letter case, as the attributes do. A missing value equals null only: a comparison with a missing
attribute is false in LDAP, and its negation true.
"""

from collections.abc import Callable, Sequence
from typing import Final, assert_never
from urllib.parse import quote

from chamberlain.core.expressions import AllOf, AnyOf, Not
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.core.membership_rules import Comparison, Kind, Operator, Rule, RuleInvalid, kind_of, read_rule
from chamberlain.directory.opensuite.filters import all_of, any_of, any_value, equal, escaped, none_of
from chamberlain.directory.opensuite.layout import Layout

EVERYTHING: Final = "(objectClass=*)"
NOTHING: Final = "(!(objectClass=*))"

_MEMBER, _GUEST = "Member", "Guest"
# Attributes of the syntax IA5 String. slapd answers "undefined" to a comparison with other characters, and so to its
# negation, which has to be true.
_ASCII_ONLY: Final = frozenset({"mail"})
# Characters of a filter that have no meaning in the URL of a search (RFC 4516, RFC 3986).
_PLAIN_IN_URL: Final = "()=&|!*,:;@+$'<>~.-_"


class CannotFollow(Exception):
    """The server cannot follow a valid rule.

    `detail` is a sentence for the caller.
    """

    def __init__(self, problem: str) -> None:
        self.detail = f"The membership rule cannot be followed by this directory: {problem}"
        super().__init__(self.detail)


def fault_of(text: str, layout: Layout) -> str | None:
    """Return why a rule cannot be followed; None if it can."""
    try:
        rule_filter(text, layout)
    except (RuleInvalid, CannotFollow) as error:
        return error.detail
    return None


def member_url(text: str, layout: Layout) -> str:
    """Return the URL of the members of a dynamic group (attribute memberURL).

    Raises RuleInvalid and CannotFollow.
    """
    members = all_of(layout.people.filter, rule_filter(text, layout))
    return f"ldap:///{quote(layout.people.base, safe=_PLAIN_IN_URL)}??sub?{quote(members, safe=_PLAIN_IN_URL)}"


def rule_filter(text: str, layout: Layout) -> str:
    """Translate a rule to a filter of users. Raises RuleInvalid and CannotFollow."""
    rule = read_rule(text)
    if kind_of(rule) is Kind.DEVICE:
        raise CannotFollow("it has no devices. Compare properties of users, such as user.department.")
    return _translate(rule, layout)


def _translate(rule: Rule, layout: Layout) -> str:
    match rule:
        case AllOf(parts):
            return all_of(*[_translate(part, layout) for part in parts])
        case AnyOf(parts):
            return any_of(*[_translate(part, layout) for part in parts])
        case Not(part):
            return none_of(_translate(part, layout))
        case Comparison():
            return _comparison(rule, layout)


def _comparison(comparison: Comparison, layout: Layout) -> str:
    name = comparison.property.name
    if comparison.operator is Operator.MATCH:
        raise CannotFollow("it has no patterns. Use -eq, -in, -startsWith or -contains instead of -match.")
    match name:
        case "accountEnabled":
            return _enabled(comparison.value, layout)
        case "userType":
            return _user_type(comparison, layout)
        case "objectId":
            return _object_id(comparison)
        case _:
            attribute = layout.person.get(name)
            if attribute is None:
                raise CannotFollow(f"it has no user.{name}. Use another property.")
            return _text(attribute, comparison)


def _text(attribute: str, comparison: Comparison) -> str:
    """Compare an attribute with texts. No attribute has an empty value."""
    values = [each for each in _texts(comparison) if comparison.property.name not in _ASCII_ONLY or each.isascii()]
    match comparison.operator:
        case Operator.EQUAL if comparison.value is None:
            return none_of(f"({attribute}=*)")
        case Operator.EQUAL | Operator.IN:
            filled = [each for each in values if each.strip()]
            return any_value(attribute, filled) if filled else NOTHING
        case Operator.STARTS_WITH:
            return _substring(attribute, values, "{}*")
        case Operator.CONTAINS:
            return _substring(attribute, values, "*{}*")
        case Operator.MATCH:
            return NOTHING
        case _ as operator:
            assert_never(operator)


def _substring(attribute: str, values: Sequence[str], pattern: str) -> str:
    """Compare the beginning or a part of values."""
    # Every present value has the empty text.
    if not values:
        return NOTHING
    value = escaped(values[0])
    return f"({attribute}={pattern.format(value)})" if value else f"({attribute}=*)"


def _enabled(value: object, layout: Layout) -> str:
    disabled = f"({layout.disabled[0]}=*)"
    match value:
        case True:
            return none_of(disabled)
        case False:
            return disabled
        case _:
            # Every user has this property.
            return NOTHING


def _user_type(comparison: Comparison, layout: Layout) -> str:
    """Compare the two types of users, which the filter of guests distinguishes."""
    matches = _matcher(comparison)
    match matches(_MEMBER), matches(_GUEST):
        case True, True:
            return EVERYTHING
        case True, False:
            return none_of(layout.guests)
        case False, True:
            return layout.guests
        case _:
            return NOTHING


def _matcher(comparison: Comparison) -> Callable[[str], bool]:
    values = [each.lower() for each in _texts(comparison)]
    match comparison.operator:
        case Operator.STARTS_WITH:
            return lambda each: each.lower().startswith(tuple(values))
        case Operator.CONTAINS:
            return lambda each: any(value in each.lower() for value in values)
        case _:
            return lambda each: each.lower() in values


def _object_id(comparison: Comparison) -> str:
    """Compare the id. Texts that are no ids equal none."""
    if comparison.operator not in {Operator.EQUAL, Operator.IN}:
        raise CannotFollow("it compares ids as a whole only. Use -eq or -in with user.objectId.")
    ids = [each.lower() for each in _texts(comparison) if WRITTEN_ID.fullmatch(each)]
    return any_of(*[equal("entryUUID", each) for each in ids]) if ids else NOTHING


def _texts(comparison: Comparison) -> tuple[str, ...]:
    match comparison.value:
        case tuple() as values:
            return values
        case str() as value:
            return (value,)
        case _:
            return ()
