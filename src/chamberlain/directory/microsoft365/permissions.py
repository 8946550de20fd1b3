# SPDX-License-Identifier: Apache-2.0
"""The application permissions that each feature needs. Pure.

They follow from the operations of the feature, and are the fewest: a permission that another one includes is left out.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from chamberlain.directory.features import Feature
from chamberlain.directory.microsoft365 import operations as known
from chamberlain.directory.microsoft365.operations import Operation

# Addresses of contacts are optional: without the permission, Graph refuses a taken one when the group is created.
_PEOPLE: Final = (
    known.LIST_USERS, known.LIST_CONTACTS, known.GET_MANAGER, known.CHECK_GROUPS, known.LIST_GROUPS, known.GET_GROUP,
    known.LIST_ALL_USERS, known.LIST_OWNERS, known.LIST_CHANGES,
)  # fmt: skip
_GROUPS: Final = (
    known.GET_NAMED_GROUP, known.GET_GROUP, known.LIST_GROUPS, known.UPSERT_GROUP, known.UPDATE_GROUP,
    known.LIST_OWNERS, known.LIST_MEMBERS, known.ADD_OWNER, known.ADD_MEMBER, known.LIST_USERS,
)  # fmt: skip
_TEAMS: Final = (known.CREATE_TEAM, known.LIST_CHANNELS, known.CREATE_CHANNEL, known.ADD_TEAM_MEMBERS)
_SUBJECTS: Final = (known.GET_GROUP, known.LIST_OWNERS, known.LIST_MEMBER_USERS, known.LIST_SETTINGS)
_REMOVALS: Final = (known.REMOVE_OWNER, known.REMOVE_MEMBER)
_SETTINGS: Final = (known.CREATE_SETTING, known.UPDATE_SETTING, known.DELETE_SETTING)

# The operations of each feature.
FEATURES: Final[Mapping[Feature, tuple[Operation, ...]]] = MappingProxyType(
    {
        Feature.PEOPLE: _PEOPLE,
        Feature.GROUPS: _GROUPS,
        Feature.TEAMS: (*_GROUPS, *_TEAMS),
        Feature.GUEST_RULES: (*_SUBJECTS, known.UPDATE_GROUP, *_SETTINGS, *_REMOVALS),
        Feature.POLICIES: (*_SUBJECTS, known.UPDATE_GROUP),
        Feature.REMOVE_GUESTS: (*_SUBJECTS, *_REMOVALS),
        Feature.DISABLE_GUESTS: (known.GET_USER, known.UPDATE_USER, known.REVOKE),
        Feature.INACTIVITY: (*_SUBJECTS, known.GET_ACTIVITY),
    }
)
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
