"""Loads the `directory:` section of a configuration file.

Loading is idempotent. Users, labels and defaults are set to the values of the file. Groups and sites are
only created: users change them later, and a start of the service must not undo their changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Connection, Pool, one_transaction
from chamberlain.embedded.directory.dynamic_groups import follow_all
from chamberlain.embedded.directory.errors import BadRule
from chamberlain.embedded.directory.estate import (
    Estate,
    EstateInvalid,
    Group,
    GuestDefault,
    GuestSettings,
    Site,
    User,
    read_estate,
)
from chamberlain.embedded.directory.membership_rules import FURTHER, read_rule


async def load(pool: Pool, section: Mapping[str, object]) -> None:
    """Load the section in one transaction. Raises EstateInvalid."""
    estate = read_estate(section)
    async with one_transaction(pool) as connection:
        # Serializes concurrent starts, without blocking the creation of mailboxes.
        await connection.execute("SELECT pg_advisory_xact_lock(hashtext('directory.load'))")
        await _load_users(connection, estate.users)
        await _load_labels(connection, estate)
        new = await _load_groups(connection, estate.groups)
        await _load_memberships(connection, new)
        await _load_sites(connection, estate.sites)
        await _load_guest_rules(connection, estate.guest_defaults, new)
        await _load_addresses(connection, estate.users, new)
        tenants = {user.tenant for user in estate.users} | {group.tenant for group in estate.groups}
        await follow_all(connection, sorted(tenants))


_USER = """
INSERT INTO directory.users (
    tenant_id, id, display_name, user_principal_name, mail, user_type, account_enabled, manager_id, properties,
    last_seen_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10)
ON CONFLICT (tenant_id, id) DO UPDATE SET
    display_name = excluded.display_name, user_principal_name = excluded.user_principal_name, mail = excluded.mail,
    user_type = excluded.user_type, account_enabled = excluded.account_enabled, manager_id = excluded.manager_id,
    properties = excluded.properties, last_seen_at = excluded.last_seen_at
"""
_LICENSE = "INSERT INTO directory.licenses (tenant_id, user_id, sku_part_number) VALUES ($1, $2, $3)"
_SERVICE_PLAN = """
INSERT INTO directory.service_plans (tenant_id, user_id, sku_part_number, service_plan_name, provisioning_status)
VALUES ($1, $2, $3, $4, $5)
"""


async def _load_users(connection: Connection, users: Sequence[User]) -> None:
    await connection.executemany(_USER, [_user_row(user) for user in users])
    keys = [(user.tenant, user.id) for user in users]
    for table in ("licenses", "service_plans"):
        await connection.executemany(f"DELETE FROM directory.{table} WHERE tenant_id = $1 AND user_id = $2", keys)  # noqa: S608 - fixed names.
    held = [(user.tenant, user.id, one) for user in users for one in user.licenses]
    await connection.executemany(_LICENSE, [(tenant, user, one.sku_part_number) for tenant, user, one in held])
    await connection.executemany(
        _SERVICE_PLAN,
        [
            (tenant, user, one.sku_part_number, plan.service_plan_name, plan.provisioning_status)
            for tenant, user, one in held
            for plan in one.service_plans
        ],
    )


def _user_row(user: User) -> tuple[object, ...]:
    written = msgspec.to_builtins(user)
    properties = {name: written[name] for name in FURTHER if written[name] is not None}
    return (
        user.tenant,
        user.id,
        user.display_name,
        user.user_principal_name,
        user.mail,
        user.user_type,
        user.account_enabled,
        user.manager,
        msgspec.json.encode(properties).decode(),
        user.last_seen_at,
    )


async def _load_labels(connection: Connection, estate: Estate) -> None:
    await connection.executemany(
        "INSERT INTO directory.labels (tenant_id, id, display_name) VALUES ($1, $2, $3) "
        "ON CONFLICT (tenant_id, id) DO UPDATE SET display_name = excluded.display_name",
        [(label.tenant, label.id, label.display_name) for label in estate.labels],
    )


_GROUP = """
INSERT INTO directory.groups (
    tenant_id, id, display_name, mail_nickname, mail, description, visibility, group_types, membership_rule,
    mail_enabled, security_enabled, label_id, extensions, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::jsonb, now())
"""
_TEAM = "INSERT INTO directory.teams (tenant_id, group_id, created_at) VALUES ($1, $2, now())"
_CHANNEL = """
INSERT INTO directory.channels (tenant_id, group_id, display_name, position, created_at) VALUES ($1, $2, $3, $4, now())
"""
_EXTENSION_VALUE = """
INSERT INTO directory.extension_values (tenant_id, name, member, value, group_id) VALUES ($1, $2, $3, lower($4), $5)
"""


async def _load_groups(connection: Connection, groups: Sequence[Group]) -> Sequence[Group]:
    """Create the missing groups and return them."""
    rows = await connection.fetch(
        "SELECT g.tenant_id, g.id FROM directory.groups g "
        "JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, id) ON g.tenant_id = i.tenant_id AND g.id = i.id",
        [group.tenant for group in groups],
        [group.id for group in groups],
    )
    existing = {(tenant, group) for tenant, group in rows}
    new = [group for group in groups if (group.tenant, group.id) not in existing]
    _check_rules(new)
    await connection.executemany(_GROUP, [_group_row(group) for group in new])
    await connection.executemany(_EXTENSION_VALUE, list(_extension_rows(new)))
    teams = [group for group in new if group.channels is not None]
    await connection.executemany(_TEAM, [(group.tenant, group.id) for group in teams])
    await connection.executemany(
        _CHANNEL,
        [(group.tenant, group.id, name, at) for group in teams for at, name in enumerate(group.channels or (), 1)],
    )
    return new


def _check_rules(groups: Sequence[Group]) -> None:
    for group in groups:
        try:
            if group.membership_rule is not None:
                read_rule(group.membership_rule)
        except BadRule as error:
            raise EstateInvalid(f"The group {group.id} cannot be loaded. {error}") from error


def _group_row(group: Group) -> tuple[object, ...]:
    return (
        group.tenant,
        group.id,
        group.display_name,
        group.mail_nickname,
        group.mail,
        group.description,
        group.visibility,
        list(group.group_types),
        group.membership_rule,
        group.mail_enabled,
        group.security_enabled,
        group.label,
        msgspec.json.encode(group.extensions).decode(),
    )


def _extension_rows(groups: Sequence[Group]) -> Iterator[tuple[object, ...]]:
    for group in groups:
        for name, values in group.extensions.items():
            for member, value in values.items():
                yield (group.tenant, name, member, value, group.id)


_MEMBERSHIP = """
INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group)
VALUES ($1, $2, $3, $4, $5, EXISTS (SELECT FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = $3))
"""
_UNKNOWN_MEMBER = """
SELECT m.member_id, m.group_id FROM directory.memberships m
WHERE m.tenant_id = ANY ($1) AND m.group_id = ANY ($2) AND NOT m.is_group
    AND NOT EXISTS (SELECT FROM directory.users u WHERE u.tenant_id = m.tenant_id AND u.id = m.member_id)
LIMIT 1
"""


async def _load_memberships(connection: Connection, groups: Sequence[Group]) -> None:
    await connection.executemany(
        _MEMBERSHIP,
        [
            (group.tenant, group.id, one, one in group.owners, one in group.members)
            for group in groups
            for one in dict.fromkeys((*group.owners, *group.members))
        ],
    )
    tenants, ids = [group.tenant for group in groups], [group.id for group in groups]
    unknown = await connection.fetchrow(_UNKNOWN_MEMBER, tenants, ids)
    if unknown is not None:
        raise EstateInvalid(f"{unknown[0]} belongs to the group {unknown[1]}, but is no user or group of that tenant.")


async def _load_sites(connection: Connection, sites: Sequence[Site]) -> None:
    await connection.executemany(
        "INSERT INTO directory.sites (tenant_id, security_group_id, display_name, web_url, sharing_capability) "
        "VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
        [
            (site.tenant, site.security_group_id, site.display_name, site.web_url, site.sharing_capability)
            for site in sites
        ],
    )


_GUEST_DEFAULT = """
INSERT INTO directory.guest_defaults AS d (
    tenant_id, allow_to_add_guests, guests_added_by, allowed_guest_domains, blocked_guest_domains)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id) DO UPDATE SET
    allow_to_add_guests = excluded.allow_to_add_guests, guests_added_by = excluded.guests_added_by,
    allowed_guest_domains = excluded.allowed_guest_domains, blocked_guest_domains = excluded.blocked_guest_domains
"""
_GUEST_SETTINGS = """
INSERT INTO directory.guest_settings (
    tenant_id, group_id, allow_to_add_guests, guests_added_by, allowed_guest_domains, blocked_guest_domains)
VALUES ($1, $2, $3, $4, $5, $6)
"""


async def _load_guest_rules(
    connection: Connection, defaults: Sequence[GuestDefault], new_groups: Sequence[Group]
) -> None:
    await connection.executemany(_GUEST_DEFAULT, [_settings_row(one, one.tenant) for one in defaults])
    await connection.executemany(
        _GUEST_SETTINGS,
        [_settings_row(group.guest_settings, group.tenant, group.id) for group in new_groups if group.guest_settings],
    )


def _settings_row(settings: GuestSettings, *key: UUID) -> tuple[object, ...]:
    return (
        *key,
        settings.allow_to_add_guests,
        settings.guests_added_by,
        list(settings.allowed_guest_domains),
        list(settings.blocked_guest_domains),
    )


async def _load_addresses(connection: Connection, users: Sequence[User], groups: Sequence[Group]) -> None:
    wanted = {
        (user.tenant, text.lower(), user.id) for user in users for text in (user.mail, user.user_principal_name) if text
    }
    wanted |= {(group.tenant, group.mail.lower(), group.id) for group in groups if group.mail}
    rows = sorted(wanted)
    await connection.executemany(
        "DELETE FROM directory.addresses WHERE tenant_id = $1 AND holder_id = $2",
        [(user.tenant, user.id) for user in users],
    )
    await connection.executemany(
        "INSERT INTO directory.addresses (tenant_id, address, holder_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        rows,
    )
    taken = await connection.fetchval(
        "SELECT a.address FROM directory.addresses a "
        "JOIN unnest($1::uuid[], $2::text[], $3::uuid[]) AS i (tenant_id, address, holder_id) "
        "ON a.tenant_id = i.tenant_id AND a.address = i.address WHERE a.holder_id <> i.holder_id LIMIT 1",
        *([row[column] for row in rows] for column in range(3)),
    )
    if taken is not None:
        raise EstateInvalid(f"The address {taken} belongs to two users or groups of one tenant. Change one of them.")
