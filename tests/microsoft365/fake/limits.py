# SPDX-License-Identifier: Apache-2.0
"""The published limits of Graph, enforced to the unit.

Each limit is a sum of costs in a sliding window. Microsoft describes a token bucket, whose capacity is not published; a
window is never more generous. Refused requests count (throttling.md: usage is logged while a client is throttled).
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

SECOND: Final = timedelta(seconds=1)
TEN_SECONDS: Final = timedelta(seconds=10)

# Base costs in resource units (throttling-limits.md 01351749, "Identity and access service limits"). Others cost 1.
# Costs of `me/` apply to `users/{id}/`.
_COSTS: Final[Mapping[str, int]] = {
    "GET /applications": 2,
    "POST /directoryObjects/getByIds": 3,
    "GET /groups/{group-id}/members": 3,
    "GET /groups/{group-id}/members/microsoft.graph.user": 3,
    "GET /groups/{group-id}/transitiveMembers/microsoft.graph.user": 5,
    "POST /users/{user-id}/checkMemberGroups": 4,
    "GET /users/{user-id}/licenseDetails": 2,
    "GET /oauth2PermissionGrants": 2,
    "GET /servicePrincipals/{servicePrincipal-id}/appRoleAssignments": 2,
    "GET /users": 2,
}
# Operations whose POST only reads: their write cost is 0 in the same table.
_READING_POSTS: Final = frozenset({"POST /directoryObjects/getByIds", "POST /users/{user-id}/checkMemberGroups"})

# Requests per second of an app in a tenant, and over all tenants (includes/throttling-teams.md 017e406a).
_TEAMS: Final[Mapping[str, tuple[int, int]]] = {
    "GET /groups/{group-id}/team": (30, 600),
    "GET /teams/{team-id}": (30, 300),
    "PUT /groups/{group-id}/team": (6, 150),
    "POST /teams": (10, 100),
    "GET /groups/{group-id}/team/channels": (60, 1200),
    "GET /teams/{team-id}/channels": (60, 1200),
    "POST /teams/{team-id}/channels": (30, 300),
    "GET /teams/{team-id}/members": (60, 1200),
    "POST /teams/{team-id}/members": (30, 300),
    "POST /teams/{team-id}/members/add": (30, 300),
    "GET /teams/{team-id}/operations/{teamsAsyncOperation-id}": (30, 1500),
}
# "POST /teams/{team-id}/members: 4rpm" per resource (throttling-teams.md).
_TEAM_MEMBERS: Final = frozenset({"POST /teams/{team-id}/members", "POST /teams/{team-id}/members/add"})
_OTHER_SERVICES: Final = re.compile(r"^/(sites|groups/[^/]+/sites|security|places)(/|$)")


@dataclass(frozen=True, slots=True)
class Cost:
    """A part of a limit that a request takes. `key` names the limit and its scope."""

    key: tuple[str, ...]
    amount: int
    most: int
    window: timedelta


@dataclass(frozen=True, slots=True)
class Counted:
    """A request as the limits see it."""

    operation: str
    path: str
    query: Mapping[str, str]
    app: str
    tenant: str
    users: int
    has_extension: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request is within all limits.

    `refused_by` is the first exceeded limit. `share` is the used part of the fullest one. `units` are those of the
    identity service, or None for another service.
    """

    refused_by: Cost | None
    wait: timedelta
    share: float
    units: int | None


def resource_units(call: Counted) -> int:
    """Return the resource units of an identity request (throttling-limits.md, "Other factors")."""
    cost = _COSTS.get(call.operation, 1)
    cost -= 1 if "$select" in call.query else 0
    cost += 1 if "$expand" in call.query else 0
    top = call.query.get("$top", "")
    cost -= 1 if top.isdigit() and int(top) < 20 else 0
    return max(1, cost)


def costs(call: Counted) -> list[Cost]:
    """List the limits of a request."""
    if call.operation in _TEAMS:
        return list(_teams_costs(call))
    if _OTHER_SERVICES.match(call.path):
        return []
    found = list(_identity_costs(call))
    if call.has_extension or call.path.startswith("/schemaExtensions"):
        # "Open and schema extensions service limits": any request, 455 in 10 seconds.
        found.append(Cost(("extensions", call.app, call.tenant), 1, 455, TEN_SECONDS))
    return found


def _identity_costs(call: Counted) -> Iterable[Cost]:
    units = resource_units(call)
    # "S: under 50 users, M: between 50 and 500 users, L: above 500 users".
    most = 3_500 if call.users < 50 else 5_000 if call.users <= 500 else 8_000
    yield Cost(("units", call.app, call.tenant), units, most, TEN_SECONDS)
    yield Cost(("units of the app", call.app), units, 150_000, 20 * SECOND)
    if not call.operation.startswith("GET ") and call.operation not in _READING_POSTS:
        yield Cost(("writes", call.app, call.tenant), 1, 3_000, 150 * SECOND)
        yield Cost(("writes of the app", call.app), 1, 70_000, 300 * SECOND)
        yield Cost(("writes of the tenant", call.tenant), 1, 18_000, 300 * SECOND)


def _teams_costs(call: Counted) -> Iterable[Cost]:
    in_tenant, over_all = _TEAMS[call.operation]
    yield Cost(("teams", call.operation, call.app, call.tenant), 1, in_tenant, SECOND)
    yield Cost(("teams of the app", call.operation, call.app), 1, over_all, SECOND)
    team = call.path.split("/")[2] if call.path.count("/") > 1 else ""
    if team and call.operation != "PUT /groups/{group-id}/team":
        # "A maximum of four requests per second per app can be issued on a given team."
        yield Cost(("team", call.app, call.tenant, team), 1, 4, SECOND)
    if call.operation in _TEAM_MEMBERS:
        yield Cost(("members of a team", call.app, call.tenant, team), 1, 4, 60 * SECOND)


class _Window:
    """The costs of the last requests."""

    def __init__(self) -> None:
        self.taken: deque[tuple[datetime, int]] = deque()
        self.sum = 0

    def forget(self, until: datetime) -> None:
        while self.taken and self.taken[0][0] <= until:
            self.sum -= self.taken.popleft()[1]

    def take(self, at: datetime, amount: int) -> None:
        self.taken.append((at, amount))
        self.sum += amount

    def free_at(self, amount: int, most: int, window: timedelta, now: datetime) -> datetime:
        """Return the time at which an amount fits, if no other request comes. The refused one counts."""
        left = self.sum
        for at, cost in self.taken:
            left -= cost
            if left + amount <= most:
                return at + window
        return now + window


class Limits:
    """The used limits of all apps and tenants, with figures for tests of budgets.

    `calls` counts all requests, and `refused` those that a limit refused, by its name. `used` sums costs by the name of
    a limit, and `used_by` by its whole key, such as ("teams", operation, app, tenant). `rates` are the costs a second
    that each limit permits in the long run.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._windows: defaultdict[tuple[str, ...], _Window] = defaultdict(_Window)
        self.calls = 0
        self.used_by: defaultdict[tuple[str, ...], int] = defaultdict(int)
        self.rates: dict[tuple[str, ...], float] = {}
        self.used: defaultdict[str, int] = defaultdict(int)
        self.refused: defaultdict[str, int] = defaultdict(int)

    def take(self, call: Counted) -> Verdict:
        """Count a request, and check it."""
        self.calls += 1
        now, refused, wait, share = self._now(), None, timedelta(0), 0.0
        for cost in costs(call):
            window = self._windows[cost.key]
            window.forget(now - cost.window)
            is_exceeded = window.sum + cost.amount > cost.most
            window.take(now, cost.amount)
            if is_exceeded:
                free_at = window.free_at(cost.amount, cost.most, cost.window, now)
                refused = refused or cost
                wait = max(wait, free_at - now)
            share = max(share, window.sum / cost.most)
            self.used[cost.key[0]] += cost.amount
            self.used_by[cost.key] += cost.amount
            self.rates[cost.key] = cost.most / cost.window.total_seconds()
        if refused is not None:
            self.refused[refused.key[0]] += 1
        is_identity = call.operation not in _TEAMS and not _OTHER_SERVICES.match(call.path)
        return Verdict(refused, wait, share, resource_units(call) if is_identity else None)
