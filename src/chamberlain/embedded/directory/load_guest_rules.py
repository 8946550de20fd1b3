"""Puts what a configuration file says about guests into the directory, as load.py does all else."""

from collections.abc import Sequence
from uuid import UUID

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.estate import Group, GuestDefault, GuestSettings

_DEFAULT = """
INSERT INTO directory.guest_defaults AS d (
    tenant_id, allow_to_add_guests, guests_added_by, allowed_guest_domains, blocked_guest_domains)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id) DO UPDATE SET
    allow_to_add_guests = excluded.allow_to_add_guests, guests_added_by = excluded.guests_added_by,
    allowed_guest_domains = excluded.allowed_guest_domains, blocked_guest_domains = excluded.blocked_guest_domains
"""
_SETTINGS = """
INSERT INTO directory.guest_settings (
    tenant_id, group_id, allow_to_add_guests, guests_added_by, allowed_guest_domains, blocked_guest_domains)
VALUES ($1, $2, $3, $4, $5, $6)
"""


async def load_guest_rules(
    connection: Connection, defaults: Sequence[GuestDefault], new_groups: Sequence[Group]
) -> None:
    """Set the defaults of tenants, and the settings of groups that were just made."""
    await connection.executemany(_DEFAULT, [_row(one, one.tenant) for one in defaults])
    await connection.executemany(
        _SETTINGS,
        [_row(group.guest_settings, group.tenant, group.id) for group in new_groups if group.guest_settings],
    )


def _row(settings: GuestSettings, *key: UUID) -> tuple[object, ...]:
    return (
        *key,
        settings.allow_to_add_guests,
        settings.guests_added_by,
        list(settings.allowed_guest_domains),
        list(settings.blocked_guest_domains),
    )
