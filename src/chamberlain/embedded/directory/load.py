# SPDX-License-Identifier: Apache-2.0
"""Loads the `directory:` section of a configuration file.

Loading is idempotent. Users, labels and defaults are set to the values of the file. Groups and sites are
only created: users change them later, and a start of the service must not undo their changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

import msgspec

from chamberlain.core.membership_rules import FURTHER, RuleInvalid, read_rule
from chamberlain.embedded.directory.database import Connection, Pool, one_transaction
from chamberlain.embedded.directory.dynamic_groups import follow_all
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
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


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


async def _load_users(connection: Connection, users: Sequence[User]) -> None:
    await connection.executemany(SQL["user"], [_user_row(user) for user in users])
    keys = [(user.tenant, user.id) for user in users]
    for table in ("licenses", "service_plans"):
        await connection.executemany(f"DELETE FROM directory.{table} WHERE tenant_id = $1 AND user_id = $2", keys)  # noqa: S608 - fixed names.
    held = [(user.tenant, user.id, one) for user in users for one in user.licenses]
    await connection.executemany(SQL["license"], [(tenant, user, one.sku_part_number) for tenant, user, one in held])
    await connection.executemany(
        SQL["service_plan"],
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
    await connection.executemany(SQL["group"], [_group_row(group) for group in new])
    await connection.executemany(SQL["extension_value"], list(_extension_rows(new)))
    teams = [group for group in new if group.channels is not None]
    await connection.executemany(SQL["team"], [(group.tenant, group.id) for group in teams])
    await connection.executemany(
        SQL["channel"],
        [(group.tenant, group.id, name, at) for group in teams for at, name in enumerate(group.channels or (), 1)],
    )
    return new


def _check_rules(groups: Sequence[Group]) -> None:
    for group in groups:
        try:
            if group.membership_rule is not None:
                read_rule(group.membership_rule)
        except RuleInvalid as error:
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


async def _load_memberships(connection: Connection, groups: Sequence[Group]) -> None:
    await connection.executemany(
        SQL["membership"],
        [
            (group.tenant, group.id, one, one in group.owners, one in group.members)
            for group in groups
            for one in dict.fromkeys((*group.owners, *group.members))
        ],
    )
    tenants, ids = [group.tenant for group in groups], [group.id for group in groups]
    unknown = await connection.fetchrow(SQL["unknown_member"], tenants, ids)
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


async def _load_guest_rules(
    connection: Connection, defaults: Sequence[GuestDefault], new_groups: Sequence[Group]
) -> None:
    await connection.executemany(SQL["guest_default"], [_settings_row(one, one.tenant) for one in defaults])
    await connection.executemany(
        SQL["guest_settings"],
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
