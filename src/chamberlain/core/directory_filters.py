# SPDX-License-Identifier: Apache-2.0
"""Filters of groups and users, as a tree of comparisons.

Imports nothing of the service: the embedded directory parses and translates them, and so does each adapter. Texts are
case-insensitive, and a missing value equals only null.
"""

from dataclasses import dataclass
from typing import TypeAlias

from chamberlain.core.expressions import Expression


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


@dataclass(frozen=True, slots=True)
class HasAddress:
    """The object has this proxy address, such as `smtp:ada@house.example`."""

    address: str


Comparison: TypeAlias = Equals | StartsWith | HasType | HasAddress
Filter: TypeAlias = Expression[Comparison]
