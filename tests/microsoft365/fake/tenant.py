# SPDX-License-Identifier: Apache-2.0
"""A fake tenant: its state, its lags, and what tests do in it by hand."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final
from uuid import UUID

from tests.microsoft365.fake.faults import Faults
from tests.microsoft365.fake.writes import Json, Lags, Log, View

USERS: Final = ("users",)
GROUPS: Final = ("groups",)
DELETED: Final = ("deleted groups",)
TEAMS: Final = ("teams",)
SCHEMAS: Final = ("schema extensions",)
SITES: Final = ("sites",)
LABELS: Final = ("labels",)
CONTACTS: Final = ("contacts",)
DOMAINS: Final = ("domains",)

# The value of a member or owner.
BOUND: Final = True
# The service plan TEAMS1, "Microsoft Teams" (Microsoft's list of product names and service plan identifiers).
TEAMS_PLAN: Final = "57ff2da0-773e-42df-b2af-ffb7a2317929"
# A deleted channel reserves its name, and a deleted group is restorable, for 30 days (README.md; group-delete.md).
KEPT: Final = timedelta(days=30)


def members(group_id: str) -> tuple[str, str]:
    return ("members", group_id)


def owners(group_id: str) -> tuple[str, str]:
    return ("owners", group_id)


def channels(group_id: str) -> tuple[str, str]:
    return ("channels", group_id)


def settings(group_id: str) -> tuple[str, str]:
    return ("settings", group_id)


@dataclass(frozen=True, slots=True)
class Created:
    """An object that a request created. `key` is its unique name, its name or its address."""

    kind: str
    tenant: str
    id: str
    key: str | None
    at: datetime


@dataclass
class Tenant:
    """The directory of a tenant.

    `granted` are the application permissions of each app. `ledger` has each created object, the count for "exactly
    once". `is_premium` allows `signInActivity`. `most_groups` is a quota of objects. `size` is the number of users for
    limits, by default those that are there. The others are open questions that each seed answers in its own way:
    `refuses_bound_again` for an upsert whose members exist (V1), `tracks_extensions` in delta queries (V4),
    `has_decimal_delays` in batches.
    """

    id: str
    now: Callable[[], datetime]
    random: Random
    lags: Lags
    faults: Faults
    domain: str
    log: Log = field(init=False)
    ledger: list[Created] = field(default_factory=list)
    granted: dict[str, frozenset[str]] = field(default_factory=dict)
    is_premium: bool = True
    most_groups: int | None = None
    refuses_bound_again: bool = False
    tracks_extensions: bool = False
    largest_delta_page: int = 100
    has_decimal_delays: bool = False
    size: int | None = None

    def __post_init__(self) -> None:
        self.log = Log(self.now)
        initial = {"id": self.domain, "isDefault": True, "isInitial": True, "isVerified": True}
        self.log.put(DOMAINS, self.domain, initial, at=self.old)

    @property
    def old(self) -> datetime:
        """A time that all replicas have seen."""
        return self.now() - timedelta(days=30)

    def read(self) -> View:
        """Return the state of one of the replicas."""
        return self.log.view(self.random.choice(self.lags.replicas))

    def index(self) -> View:
        """Return the state that filters see: the index is a separate store (aad-advanced-queries.md)."""
        return self.log.view(self.lags.index)

    def teams(self) -> View:
        """Return the state that Teams sees."""
        return self.log.view(self.lags.teams)

    def latest(self) -> View:
        return self.log.latest()

    def new_id(self) -> str:
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def record(self, kind: str, object_id: str, key: str | None) -> None:
        """Add a created object to the ledger."""
        self.ledger.append(Created(kind, self.id, object_id, key, self.now()))

    def created(self, kind: str) -> list[Created]:
        """List the created objects of a kind."""
        return [each for each in self.ledger if each.kind == kind]

    def timestamp(self, at: datetime | None = None) -> str:
        return (self.now() if at is None else at).strftime("%Y-%m-%dT%H:%M:%SZ")

    # Acts of tests by hand. Objects are old, unless `at` says otherwise.

    def add_user(
        self, user_id: str, *, at: datetime | None = None, has_teams: bool = False, **properties: Json
    ) -> None:
        """Add a user with properties of Graph."""
        plan = {
            "assignedDateTime": self.timestamp(self.old),
            "capabilityStatus": "Enabled",
            "service": "TeamspaceAPI",
            "servicePlanId": TEAMS_PLAN,
        }
        mail = properties.get("mail")
        user = {
            "id": user_id,
            "accountEnabled": True,
            "userType": "Member",
            "createdDateTime": self.timestamp(self.old),
            # Required of each user (user-post-users.md).
            "mailNickname": str(properties.get("userPrincipalName", "")).partition("@")[0],
            "assignedPlans": [plan] if has_teams else [],
            "proxyAddresses": [f"SMTP:{mail}"] if mail else [],
            **properties,
        }
        self.log.put(USERS, user_id, user, at=at or self.old)

    def add_group(
        self,
        group_id: str,
        *,
        owner_ids: Iterable[str] = (),
        member_ids: Iterable[str] = (),
        at: datetime | None = None,
        **properties: Json,
    ) -> None:
        """Add a group with properties of Graph."""
        written = at or self.old
        self.log.put(GROUPS, group_id, {**new_group(self, written), "id": group_id, **properties}, at=written)
        for each in owner_ids:
            self.log.put(owners(group_id), each, BOUND, at=written)
        for each in member_ids:
            self.log.put(members(group_id), each, BOUND, at=written)

    def add_team(self, group_id: str, channel_names: Sequence[str] = ("General",)) -> None:
        """Make a group a team with channels."""
        old = self.old
        self.log.put(TEAMS, group_id, {"id": group_id}, at=old)
        group = {**self.latest().get(GROUPS, group_id), "resourceProvisioningOptions": ["Team"]}
        self.log.put(GROUPS, group_id, group, at=old)
        for name in channel_names:
            self.log.put(channels(group_id), name.lower(), new_channel(self, name, old), at=old)

    def add_extension(self, name: str, properties: Sequence[str], owner: str) -> None:
        """Register a schema extension of groups."""
        extension = {
            "id": name,
            "description": name,
            "owner": owner,
            "status": "InDevelopment",
            "targetTypes": ["Group"],
            "properties": [{"name": each, "type": "String"} for each in properties],
        }
        self.log.put(SCHEMAS, name, extension, at=self.old)

    def add_label(self, label_id: str, name: str) -> None:
        """Add a sensitivity label."""
        self.log.put(LABELS, label_id, {"id": label_id, "name": name, "displayName": name}, at=self.old)

    def add_site(self, site_id: str, *, group_id: str | None = None, **properties: Json) -> None:
        """Add a site, or the site of a group."""
        self.log.put(SITES, group_id or site_id, {"id": site_id, **properties}, at=self.old)

    def provision_site(self, group: Mapping[str, Json]) -> None:
        """Create the site of a Microsoft 365 group."""
        host = f"{self.domain.partition('.')[0]}.sharepoint.com"
        site = {
            "id": f"{host},{self.new_id()},{self.new_id()}",
            "createdDateTime": self.timestamp(),
            "lastModifiedDateTime": self.timestamp(),
            "name": group["mailNickname"],
            "displayName": group["displayName"],
            "webUrl": f"https://{host}/sites/{group['mailNickname']}",
        }
        self.log.put(SITES, str(group["id"]), site)

    def change(self, table: tuple[str, ...], key: str, **properties: Json) -> None:
        """Change properties of an object now."""
        self.log.put(table, key, {**self.latest().get(table, key), **properties})

    def delete_group(self, group_id: str) -> None:
        """Delete a group. A Microsoft 365 group goes to the recycle bin (group-delete.md)."""
        group = self.latest().get(GROUPS, group_id)
        self.log.remove(GROUPS, group_id)
        if "Unified" in group["groupTypes"]:
            self.log.put(DELETED, group_id, {**group, "deletedDateTime": self.timestamp()})

    def delete_channel(self, group_id: str, name: str) -> None:
        """Delete a channel. Its name stays reserved."""
        self.log.put(channels(group_id), name.lower(), {"deletedAt": self.now()})

    # Questions about the present state, for the assertions of tests.

    def group(self, group_id: str) -> Mapping[str, Json]:
        found: Mapping[str, Json] = self.latest().get(GROUPS, group_id)
        return found

    def member_ids(self, group_id: str) -> set[str]:
        return {*self.latest().keys(members(group_id))}

    def owner_ids(self, group_id: str) -> set[str]:
        return {*self.latest().keys(owners(group_id))}

    def channel_names(self, group_id: str) -> list[str]:
        return [each["displayName"] for _, each in self.latest().items(channels(group_id)) if "displayName" in each]


def new_group(tenant: Tenant, at: datetime) -> dict[str, Any]:
    """Return the properties of a group that its creator did not set."""
    written = tenant.timestamp(at)
    parts = "-".join(str(tenant.random.getrandbits(30)) for _ in range(4))
    return {
        "deletedDateTime": None,
        "createdDateTime": written,
        "renewedDateTime": written,
        "groupTypes": [],
        "mail": None,
        "mailEnabled": False,
        "securityEnabled": True,
        "securityIdentifier": f"S-1-12-1-{parts}",
        "proxyAddresses": [],
        "resourceProvisioningOptions": [],
        "visibility": None,
    }


def new_channel(tenant: Tenant, name: str, at: datetime) -> dict[str, Json]:
    """Return a standard channel (channel-post.md, example 1)."""
    return {
        "id": f"19:{uuid.UUID(int=tenant.random.getrandbits(128)).hex}@thread.tacv2",
        "createdDateTime": tenant.timestamp(at),
        "displayName": name,
        "description": None,
        "membershipType": "standard",
    }
