# SPDX-License-Identifier: Apache-2.0
"""Filters of LDAP searches (RFC 4515). Pure."""

from collections.abc import Iterable


def escaped(value: str) -> str:
    """Escape a value for a filter (RFC 4515)."""
    return "".join([f"\\{ord(each):02x}" if each in "*()\\\0" else each for each in value])


def equal(attribute: str, value: str) -> str:
    """Return the filter of an attribute with a value."""
    return f"({attribute}={escaped(value)})"


def any_value(attribute: str, values: Iterable[str]) -> str:
    """Return the filter of an attribute with one of these values."""
    return any_of(*[equal(attribute, value) for value in values])


def any_of(*filters: str) -> str:
    """Join filters by OR. None of them matches nothing (RFC 4526)."""
    return filters[0] if len(filters) == 1 else f"(|{''.join(filters)})"


def all_of(*filters: str) -> str:
    """Join filters by AND. None of them matches all entries (RFC 4526)."""
    return filters[0] if len(filters) == 1 else f"(&{''.join(filters)})"


def none_of(*filters: str) -> str:
    """Return the filter of entries that match none of these."""
    return f"(!{any_of(*filters)})"
