# SPDX-License-Identifier: Apache-2.0
"""Entries of LDAP as values, and their distinguished names. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

# Attributes with names of entries, in lower case. Their values are compared in the normalized form.
_OF_NAMES: Final = frozenset(
    {"owner", "member", "manager", "chamberlainfullaccess", "chamberlainsendas", "chamberlainautomapped"}
)

# Wanted values of attributes. No values remove the attribute.
Values = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry with its entryUUID.

    `version` is its entryCSN: each write changes it.
    """

    dn: str
    id: UUID
    version: str
    values: Mapping[str, tuple[str, ...]] = field(repr=False)

    def all(self, name: str) -> tuple[str, ...]:
        """Return all values of an attribute."""
        return self.values.get(name.lower(), ())

    def one(self, name: str) -> str | None:
        """Return the first value of an attribute, or None."""
        found = self.all(name)
        return found[0] if found else None

    def number(self, name: str) -> int | None:
        """Return the number of an attribute, or None.

        An attribute of the operator may have words.
        """
        found = self.one(name)
        return int(found) if found is not None and found.isdecimal() else None

    def flag(self, name: str) -> bool | None:
        """Return the value of an attribute with the syntax BOOLEAN, or None."""
        found = self.one(name)
        return None if found is None else found.upper() == "TRUE"

    def is_of(self, object_class: str) -> bool:
        """Return whether the entry has an object class."""
        return object_class.lower() in {each.lower() for each in self.all("objectClass")}


def differences(entry: Entry, wanted: Values) -> Values:
    """Return the attributes whose values differ, without regard to their order.

    Names of entries (DNs) are compared in their normalized form.
    """
    return {name: values for name, values in wanted.items() if _set(name, entry.all(name)) != _set(name, values)}


def boolean(value: bool) -> str:  # noqa: FBT001 - the value itself.
    """Return a value of the syntax BOOLEAN."""
    return "TRUE" if value else "FALSE"


def escaped_name(value: str) -> str:
    """Escape a value for a distinguished name (RFC 4514)."""
    body = "".join([f"\\{each}" if each in ',+"\\<>;=' else each for each in value]).replace("\0", "\\00")
    if body.startswith(("#", " ")):
        body = f"\\{body}"
    return f"{body[:-1]}\\ " if body.endswith(" ") and len(value) > 1 else body


def normalized_dn(dn: str) -> str:
    """Normalize a distinguished name for comparison: letter case, and spaces around separators.

    Escaped characters stay as they are. slapd returns names in one form, so that this is enough.
    """
    return ",".join([_normalized_part(part) for part in split_dn(dn)])


def split_dn(dn: str) -> list[str]:
    """Split a distinguished name at its unescaped commas."""
    if "\\" not in dn:
        return dn.split(",")
    parts, start, at = [], 0, 0
    while at < len(dn):
        if dn[at] == "\\":
            at += 1
        elif dn[at] == ",":
            parts.append(dn[start:at])
            start = at + 1
        at += 1
    return [*parts, dn[start:]]


def is_below(dn: str, base: str) -> bool:
    """Return whether an entry is in a branch, or is its top."""
    name, top = normalized_dn(dn), normalized_dn(base)
    return not top or name == top or name.endswith(f",{top}")


def _set(attribute: str, values: Iterable[str]) -> set[str]:
    return {comparable(attribute, each) for each in values}


def comparable(attribute: str, value: str) -> str:
    """Normalize a value of an attribute for comparison."""
    return normalized_dn(value) if attribute.lower() in _OF_NAMES else value


def _normalized_part(part: str) -> str:
    name, equals, value = part.partition("=")
    # An escaped space at the end is part of the value.
    trimmed = value.lstrip() if value.endswith("\\ ") else value.strip()
    return f"{name.strip()}{equals}{trimmed}".lower()
