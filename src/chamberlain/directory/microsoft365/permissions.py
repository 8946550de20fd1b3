# SPDX-License-Identifier: Apache-2.0
"""The application permissions that each feature needs. Pure.

They follow from the operations of the feature, and are the fewest: a permission that another one includes is left out.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from chamberlain.directory.microsoft365 import operations as known
from chamberlain.directory.microsoft365.operations import Operation


class Feature(StrEnum):
    """A part of the service that calls Graph."""

    PEOPLE = "people"
    GROUPS = "groups"
    TEAMS = "teams"
    GUEST_RULES = "guestRules"
    REMOVE_GUESTS = "removeGuests"
    DISABLE_GUESTS = "disableGuests"
    INACTIVITY = "inactivity"


# Addresses of contacts are optional: without the permission, Graph refuses a taken one when the group is created.
_PEOPLE: Final = (
    known.LIST_USERS,
    known.LIST_CONTACTS,
    known.GET_MANAGER,
    known.CHECK_GROUPS,
    known.LIST_GROUPS,
    known.LIST_ALL_USERS,
    known.LIST_OWNERS,
)
_GROUPS: Final = (
    known.GET_NAMED_GROUP, known.GET_GROUP, known.LIST_GROUPS, known.UPSERT_GROUP, known.UPDATE_GROUP,
    known.LIST_OWNERS, known.LIST_MEMBERS, known.ADD_OWNER, known.ADD_MEMBER, known.LIST_USERS,
)  # fmt: skip
_SUBJECTS: Final = (known.GET_GROUP, known.LIST_OWNERS, known.LIST_MEMBER_USERS, known.LIST_CHANGES)

# The operations of each feature. People are looked up for every request.
FEATURES: Final[Mapping[Feature, tuple[Operation, ...]]] = MappingProxyType(
    {
        Feature.PEOPLE: _PEOPLE,
        Feature.GROUPS: _GROUPS,
        Feature.TEAMS: (
            *_GROUPS, known.CREATE_TEAM, known.LIST_CHANNELS, known.CREATE_CHANNEL, known.ADD_TEAM_MEMBERS,
        ),
        Feature.GUEST_RULES: (
            *_SUBJECTS, known.UPDATE_GROUP, known.LIST_SETTINGS, known.CREATE_SETTING, known.UPDATE_SETTING,
            known.DELETE_SETTING,
        ),
        Feature.REMOVE_GUESTS: (*_SUBJECTS, known.REMOVE_OWNER, known.REMOVE_MEMBER),
        Feature.DISABLE_GUESTS: (known.GET_USER, known.UPDATE_USER, known.REVOKE),
        Feature.INACTIVITY: (*_SUBJECTS, known.GET_ACTIVITY),
    }
)  # fmt: skip
# Permissions that another one includes (the permission table of each operation).
_INCLUDED: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {known.WRITE_GROUPS: frozenset({known.READ_MEMBERS, known.CREATE_CHANNELS})}
)


def required(features: Iterable[Feature]) -> tuple[str, ...]:
    """Return the fewest permissions of features, sorted.

    People are one of them always.
    """
    wanted = {Feature.PEOPLE, *features}
    permissions = {operation.permission for feature in wanted for operation in FEATURES[feature]}
    included = {each for permission in permissions for each in _INCLUDED.get(permission, ())}
    return tuple(sorted(permissions - included))
