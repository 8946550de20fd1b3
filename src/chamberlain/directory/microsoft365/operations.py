# SPDX-License-Identifier: Apache-2.0
"""The operations of Graph that the adapter uses. Pure.

Each has a path, a permission and a cost. The permission is the least of those that an administrator grants for the
features in use. The published table sometimes has a smaller one for the same path, which does not return every
property that the adapter reads.
`doctor --permissions` and the tests use this table.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlencode

READ_USERS: Final = "User.Read.All"
READ_MEMBERS: Final = "GroupMember.Read.All"
READ_CONTACTS: Final = "OrgContact.Read.All"
READ_ACTIVITY: Final = "AuditLog.Read.All"
WRITE_GROUPS: Final = "Group.ReadWrite.All"
WRITE_TEAM_MEMBERS: Final = "TeamMember.ReadWrite.All"
CREATE_CHANNELS: Final = "Channel.Create"
WRITE_SETTINGS: Final = "GroupSettings.ReadWrite.All"
DISABLE_USERS: Final = "User.EnableDisableAccount.All"
REVOKE_SESSIONS: Final = "User.RevokeSessions.All"

# throttling.md: "low" and "high".
PRIORITY: Final = "x-ms-throttle-priority"

_VARIABLE: Final = re.compile(r"\{[^}]*\}")
# The characters that OData uses in queries; a quote in a text is doubled before.
_SAFE: Final = "$,'()/:"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: method, path template, least permission, and resource units.

    `units` is the published cost of an identity operation, and 0 for one of another service. `per_second` is the
    published limit of an operation of Teams for an application in one tenant.
    """

    method: str
    template: str
    permission: str
    units: int = 1
    per_second: int | None = None

    @property
    def name(self) -> str:
        """Return method and path, as the published list has them."""
        return f"{self.method} {self.template}"

    @property
    def is_read(self) -> bool:
        """Return whether it changes nothing."""
        return self.method == "GET" or self.template.endswith("/checkMemberGroups")

    def request(
        self,
        *values: object,
        query: Mapping[str, str] = MappingProxyType({}),
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> "Request":
        """Build a request.

        `values` are the variable parts of the path in their order.
        """
        parts = iter(values)
        # A quote in an alternate key is doubled, as in every text of OData.
        path = _VARIABLE.sub(lambda _: quote(str(next(parts)).replace("'", "''"), safe=""), self.template)
        written = f"?{urlencode(query, quote_via=quote, safe=_SAFE)}" if query else ""
        return Request(self, path + written, body, headers, has_select="$select" in query)


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `path` is below the version and includes the query."""

    operation: Operation
    path: str
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    has_select: bool = False

    @property
    def units(self) -> int:
        """Return its resource units.

        A selection costs one less, and nothing costs less than one.
        """
        return max(1, self.operation.units - self.has_select) if self.operation.units else 0

    @property
    def is_background(self) -> bool:
        """Return whether Graph may serve other requests first."""
        return self.headers.get(PRIORITY) == "low"

    @property
    def has_extension(self) -> bool:
        """Return whether it writes values of a schema extension."""
        return self.body is not None and any("_" in name and "@" not in name for name in self.body)


def text(value: object) -> str:
    """Write a text of OData."""
    return "'" + str(value).replace("'", "''") + "'"


LIST_USERS: Final = Operation("GET", "/users", READ_USERS, units=2)
GET_USER: Final = Operation("GET", "/users/{user-id}", READ_USERS)
# The sign-in activity of a user has a permission of its own, beside that of its operation.
GET_ACTIVITY: Final = Operation("GET", "/users/{user-id}", READ_ACTIVITY)
UPDATE_USER: Final = Operation("PATCH", "/users/{user-id}", DISABLE_USERS)
REVOKE: Final = Operation("POST", "/users/{user-id}/revokeSignInSessions", REVOKE_SESSIONS)
GET_MANAGER: Final = Operation("GET", "/users/{user-id}/manager", READ_USERS)
CHECK_GROUPS: Final = Operation("POST", "/users/{user-id}/checkMemberGroups", READ_MEMBERS, units=4)
LIST_CONTACTS: Final = Operation("GET", "/contacts", READ_CONTACTS)

LIST_GROUPS: Final = Operation("GET", "/groups", READ_MEMBERS)
GET_GROUP: Final = Operation("GET", "/groups/{group-id}", READ_MEMBERS)
GET_NAMED_GROUP: Final = Operation("GET", "/groups(uniqueName='{uniqueName}')", READ_MEMBERS)
CREATE_GROUP: Final = Operation("POST", "/groups", WRITE_GROUPS)
UPSERT_GROUP: Final = Operation("PATCH", "/groups(uniqueName='{uniqueName}')", WRITE_GROUPS)
UPDATE_GROUP: Final = Operation("PATCH", "/groups/{group-id}", WRITE_GROUPS)
LIST_CHANGES: Final = Operation("GET", "/groups/delta", READ_MEMBERS)
LIST_MEMBERS: Final = Operation("GET", "/groups/{group-id}/members", READ_MEMBERS, units=3)
LIST_MEMBER_USERS: Final = Operation("GET", "/groups/{group-id}/members/microsoft.graph.user", READ_MEMBERS, units=3)
LIST_ALL_USERS: Final = Operation(
    "GET", "/groups/{group-id}/transitiveMembers/microsoft.graph.user", READ_MEMBERS, units=5
)
LIST_OWNERS: Final = Operation("GET", "/groups/{group-id}/owners/microsoft.graph.user", READ_MEMBERS)
ADD_MEMBER: Final = Operation("POST", "/groups/{group-id}/members/$ref", WRITE_GROUPS)
ADD_OWNER: Final = Operation("POST", "/groups/{group-id}/owners/$ref", WRITE_GROUPS)
REMOVE_MEMBER: Final = Operation("DELETE", "/groups/{group-id}/members/{directoryObject-id}/$ref", WRITE_GROUPS)
REMOVE_OWNER: Final = Operation("DELETE", "/groups/{group-id}/owners/{directoryObject-id}/$ref", WRITE_GROUPS)

# Every feature that reads settings marks groups, which includes this.
LIST_SETTINGS: Final = Operation("GET", "/groups/{group-id}/settings", WRITE_GROUPS)
CREATE_SETTING: Final = Operation("POST", "/groups/{group-id}/settings", WRITE_SETTINGS)
UPDATE_SETTING: Final = Operation("PATCH", "/groups/{group-id}/settings/{groupSetting-id}", WRITE_SETTINGS)
DELETE_SETTING: Final = Operation("DELETE", "/groups/{group-id}/settings/{groupSetting-id}", WRITE_SETTINGS)

# Limits of Teams: includes/throttling-teams.md (017e406a). `PUT` of a team has the smallest one of all.
CREATE_TEAM: Final = Operation("PUT", "/groups/{group-id}/team", WRITE_GROUPS, units=0, per_second=6)
LIST_CHANNELS: Final = Operation("GET", "/teams/{team-id}/channels", WRITE_GROUPS, units=0, per_second=60)
CREATE_CHANNEL: Final = Operation("POST", "/teams/{team-id}/channels", CREATE_CHANNELS, units=0, per_second=30)
ADD_TEAM_MEMBERS: Final = Operation("POST", "/teams/{team-id}/members/add", WRITE_TEAM_MEMBERS, units=0, per_second=30)

OPERATIONS: Final = tuple(each for each in list(globals().values()) if isinstance(each, Operation))
