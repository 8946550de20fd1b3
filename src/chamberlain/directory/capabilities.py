# SPDX-License-Identifier: Apache-2.0
"""Capabilities of a tenant's directory: abilities, limits, properties."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol

from chamberlain.core.ids import TenantId
from chamberlain.directory.properties import DriftProperty


class Ability(StrEnum):
    """Something that not every directory can do."""

    MAILBOXES = "mailboxes"
    LABELS = "labels"
    SITES = "sites"
    TEAMS = "teams"
    # It enforces the domains that guests may come from.
    GUEST_DOMAINS = "guestDomains"
    # It reports whether a user has a license for teams.
    LICENSE_CHECK = "licenseCheck"
    # It validates the syntax of membership rules.
    MEMBERSHIP_RULES = "membershipRules"
    # A removed object can be restored for some time.
    SOFT_DELETE = "softDelete"
    RESTORE = "restore"
    RENAME = "rename"
    CHANGE_ADDRESS = "changeAddress"


ALL_ABILITIES: Final = frozenset(Ability)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a directory, within those of the API.

    None is no limit of its own. Lengths are in characters. `refused_characters` may not be in the name of a mailbox.
    `observe_batch` is the number of objects that drift detection observes with one call.
    """

    display_name: int | None = None
    mailbox_name: int | None = None
    refused_characters: str = ""
    observe_batch: int = 25


# Time until reads of an eventually consistent directory surely show a write: 20 minutes, and a day for places and for
# the members of teams. Microsoft publishes no limit for replicas, and up to 24 hours for these two.
SETTLES_LATE: Final[Mapping[DriftProperty, timedelta]] = MappingProxyType(
    {
        **dict.fromkeys(DriftProperty, timedelta(minutes=20)),
        **dict.fromkeys(
            (
                DriftProperty.GROUP_MEMBERS,
                DriftProperty.GROUP_ADDITIONAL_MEMBERS,
                DriftProperty.MAILBOX_CAPACITY,
                DriftProperty.MAILBOX_AUDIO_DEVICE,
                DriftProperty.MAILBOX_DISPLAY_DEVICE,
                DriftProperty.MAILBOX_VIDEO_DEVICE,
                DriftProperty.MAILBOX_WHEEL_CHAIR,
                DriftProperty.MAILBOX_TAGS,
                DriftProperty.MAILBOX_CONFERENCE_PHONE,
                DriftProperty.MAILBOX_WHITEBOARD,
                DriftProperty.MAILBOX_VIDEO_CONFERENCING,
            ),
            timedelta(hours=24),
        ),
    }
)


# Age from which an object that an eventually consistent directory does not return is missing: our choice.
_MISSING_LATE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Differences between directories.

    `visible_after` is the time until a client should look for a created object. With `shares_database` all its writes
    are in the service's database, and never durable before earlier writes of the service. With `trusts_writes` an
    acknowledged write completes its step, and is not read back. With `in_lanes` each job of the tenant runs alone, so
    that a slow directory delays no other tenant. `unheld` are properties that it cannot store, `unreadable` those that
    it does not return: neither is ever drift. `settles_after` is the time until a read surely shows a write of a
    property; a difference before that time is no drift. Writes of other properties are shown at once.
    """

    visible_after: timedelta
    shares_database: bool = False
    trusts_writes: bool = False
    in_lanes: bool = False
    abilities: frozenset[Ability] = ALL_ABILITIES
    unheld: frozenset[DriftProperty] = frozenset()
    unreadable: frozenset[DriftProperty] = frozenset()
    limits: Limits = Limits()
    settles_after: Mapping[DriftProperty, timedelta] = field(default_factory=dict)
    # Computed once, since each request asks.
    restricts_requests: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute whether some valid requests are impossible."""
        names = self.limits.display_name, self.limits.mailbox_name, self.limits.refused_characters or None
        restricts = self.abilities != ALL_ABILITIES or bool(self.unheld) or names != (None, None, None)
        object.__setattr__(self, "restricts_requests", restricts)

    def can(self, ability: Ability) -> bool:
        """Return whether the directory has an ability."""
        return ability in self.abilities

    @property
    def missing_after(self) -> timedelta:
        """Return the age from which an unseen object is missing."""
        return _MISSING_LATE if self.settles_after else self.visible_after

    @property
    def hidden(self) -> frozenset[DriftProperty]:
        """Return the properties that cannot be compared."""
        return self.unheld | self.unreadable


class Capable(Protocol):
    """A directory with capabilities, which may differ between tenants."""

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:
        """Return the capabilities of a tenant's directory. Never asks the directory itself."""
        ...
