# SPDX-License-Identifier: Apache-2.0
"""Create teams and channels, and set the guest settings of groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.errors import WriteRefused
from chamberlain.embedded.directory.writes.groups import lock_group
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# The channel that each team has.
GENERAL = "General"


async def create_team(connection: Connection, tenant_id: UUID, group_id: UUID) -> None:
    """Give a group a team with its first channel.

    The group needs a mailbox and an owner. Raises WriteRefused: `objectUnknown`, `alreadyExists`, `valueInvalid`.
    """
    group = await lock_group(connection, tenant_id, group_id)
    if "Unified" not in group["group_types"]:
        raise WriteRefused("valueInvalid", "Only a group of the type Unified can have a team.")
    if not await connection.fetchval(SQL["owners_left"], tenant_id, group_id, None):
        raise WriteRefused("valueInvalid", "The group must have an owner before it can have a team.")
    if not await connection.fetchval(SQL["create_team"], tenant_id, group_id):
        raise WriteRefused("alreadyExists", f"The group {group_id} is already provisioned with a team.")
    await connection.execute(SQL["create_channel"], tenant_id, group_id, GENERAL, None)


async def create_channel(
    connection: Connection, tenant_id: UUID, group_id: UUID, name: str, description: str | None
) -> None:
    """Add a standard channel to a team, behind the others.

    Raises WriteRefused: `objectUnknown` for the group, `teamUnknown`, `valueTaken`.
    """
    await require_team(connection, tenant_id, group_id)
    if await connection.fetchval(SQL["has_channel"], tenant_id, group_id, name):
        message = "Channel name already existed, please use other name."
        raise WriteRefused("valueTaken", message, "displayName")
    await connection.execute(SQL["create_channel"], tenant_id, group_id, name, description)
    await connection.execute(SQL["touch_group"], tenant_id, group_id)


async def require_team(connection: Connection, tenant_id: UUID, group_id: UUID) -> None:
    """Lock the group of a team. Raises WriteRefused: `objectUnknown`, `teamUnknown`."""
    await lock_group(connection, tenant_id, group_id)
    if not await connection.fetchval(SQL["has_team"], tenant_id, group_id):
        raise WriteRefused("teamUnknown", f"No team found with Group Id '{group_id}'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestSettingsChange:
    """The guest settings to change; None keeps the value."""

    allow_to_add_guests: bool | None = None
    guests_added_by: str | None = None
    allowed_guest_domains: Sequence[str] | None = None
    blocked_guest_domains: Sequence[str] | None = None


async def create_settings(connection: Connection, tenant_id: UUID, group_id: UUID, change: GuestSettingsChange) -> None:
    """Give a group its own guest settings.

    Values that are not given are those of the tenant.
    Raises WriteRefused: `objectUnknown`, and `valueTaken` for a group with settings.
    """
    await lock_group(connection, tenant_id, group_id)
    if not await connection.fetchval(SQL["create_settings"], tenant_id, group_id):
        message = "A conflicting object with one or more of the specified property values is present in the directory."
        raise WriteRefused("valueTaken", message, "templateId")
    await update_settings(connection, tenant_id, group_id, change)


async def update_settings(connection: Connection, tenant_id: UUID, group_id: UUID, change: GuestSettingsChange) -> None:
    """Change the guest settings of a group.

    Raises WriteRefused: `objectUnknown` for the group or its settings.
    """
    await lock_group(connection, tenant_id, group_id)
    changed = await connection.fetchval(
        SQL["update_settings"], tenant_id, group_id, change.allow_to_add_guests, change.guests_added_by,
        change.allowed_guest_domains, change.blocked_guest_domains,
    )  # fmt: skip
    if not changed:
        raise _no_settings()


async def delete_settings(connection: Connection, tenant_id: UUID, group_id: UUID) -> None:
    """Remove the guest settings of a group.

    Those of the tenant apply then. Raises WriteRefused: `objectUnknown` for the group or its settings.
    """
    await lock_group(connection, tenant_id, group_id)
    if not await connection.fetchval(SQL["delete_settings"], tenant_id, group_id):
        raise _no_settings()


def _no_settings() -> WriteRefused:
    return WriteRefused("objectUnknown", "The group has no settings of its own.")
