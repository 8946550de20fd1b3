# SPDX-License-Identifier: Apache-2.0
"""Create, change and delete users, with their managers and licences."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from chamberlain.core.membership_rules import FURTHER
from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.dynamic_groups import follow_changed
from chamberlain.embedded.directory.errors import WriteRefused
from chamberlain.embedded.directory.estate import Address
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# Lengths in characters, from the published reference of Graph's user resource.
Name = Annotated[str, Meta(min_length=1, max_length=256)]
Short = Annotated[str, Meta(max_length=64)] | None | UnsetType
Middle = Annotated[str, Meta(max_length=128)] | None | UnsetType
Long = Annotated[str, Meta(max_length=1024)] | None | UnsetType


class UserFields(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The properties of a user.

    One that is UNSET does not change, and None clears it.
    A new user needs `display_name` and `user_principal_name`. It is a member with an enabled account unless it says
    otherwise.
    """

    display_name: Name | UnsetType = UNSET
    user_principal_name: Address | UnsetType = UNSET
    mail: Address | UnsetType | None = UNSET
    user_type: Literal["Member", "Guest"] | UnsetType = UNSET
    account_enabled: bool | UnsetType = UNSET
    given_name: Short = UNSET
    surname: Short = UNSET
    department: Short = UNSET
    job_title: Middle = UNSET
    company_name: Short = UNSET
    office_location: Middle = UNSET
    employee_id: Annotated[str, Meta(max_length=16)] | UnsetType | None = UNSET
    mobile_phone: Short = UNSET
    street_address: Long = UNSET
    postal_code: Annotated[str, Meta(max_length=40)] | UnsetType | None = UNSET
    city: Middle = UNSET
    state: Middle = UNSET
    country: Middle = UNSET
    usage_location: Annotated[str, Meta(pattern="^[A-Za-z]{2}$")] | UnsetType | None = UNSET
    preferred_language: Short = UNSET


_REQUIRED = {"display_name": "displayName", "user_principal_name": "userPrincipalName"}

# A sorted list of (tenant, user) as follow_changed takes it.
_Changed: TypeAlias = Sequence[tuple[UUID, UUID]]


async def create_user(connection: Connection, tenant_id: UUID, user_id: UUID, fields: UserFields) -> None:
    """Create a user with this id.

    The user joins the dynamic groups that select it.
    Raises WriteRefused: `valueMissing`, `valueTaken`, and `alreadyExists` for the id.
    """
    for name, target in _REQUIRED.items():
        if getattr(fields, name) is UNSET:
            message = f"A value is required for property '{target}' of resource 'User'."
            raise WriteRefused("valueMissing", message, target)
    new = _values(fields, {"user_type": "Member", "account_enabled": True, "mail": None, "properties": {}})
    if not await connection.fetchval(SQL["create_user"], tenant_id, user_id, *_columns(new)):
        raise WriteRefused("alreadyExists", f"Another object with the id {user_id} already exists.", "id")
    await _reserve(connection, tenant_id, user_id, (), _addresses(new))
    await follow_changed(connection, _one(tenant_id, user_id))


async def update_user(connection: Connection, tenant_id: UUID, user_id: UUID, fields: UserFields) -> None:
    """Change the given properties of a user, and update the dynamic groups.

    Raises WriteRefused: `objectUnknown`, `valueTaken`.
    """
    old = await _lock(connection, tenant_id, user_id)
    new = _values(fields, old)
    await connection.execute(SQL["update_user"], tenant_id, user_id, *_columns(new))
    await _reserve(connection, tenant_id, user_id, _addresses(old), _addresses(new))
    await follow_changed(connection, _one(tenant_id, user_id))


async def delete_user(connection: Connection, tenant_id: UUID, user_id: UUID) -> None:
    """Delete a user with the user's memberships, licences, addresses, mailbox and permissions.

    Subordinates have no manager afterwards. The last owner of a group goes too, as in Graph. Raises WriteRefused:
    `objectUnknown`.
    """
    await _lock(connection, tenant_id, user_id)
    # The user goes first: the trigger of a guest's removal finds the groups by the memberships.
    for statement in (
        SQL["delete_user"],
        SQL["delete_memberships"],
        SQL["delete_licenses"],
        SQL["delete_service_plans"],
        SQL["delete_addresses"],
        SQL["delete_scim_resource"],
        SQL["delete_extension_values"],
        SQL["delete_mailbox_permissions"],
        SQL["delete_mailbox"],
        SQL["delete_manager"],
    ):
        await connection.execute(statement, tenant_id, user_id)


async def set_manager(connection: Connection, tenant_id: UUID, user_id: UUID, manager_id: UUID | None) -> None:
    """Set the manager of a user; None removes it.

    Raises WriteRefused: `objectUnknown` for either, `notReferenced` for a user without a manager to remove.
    """
    await _lock(connection, tenant_id, user_id)
    if manager_id is None:
        if not await connection.fetchval(SQL["clear_manager"], tenant_id, user_id):
            raise _unknown("manager", code="notReferenced")
    elif not await connection.fetchval(SQL["set_manager"], tenant_id, user_id, manager_id):
        raise _unknown(manager_id)


@dataclass(frozen=True, slots=True)
class License:
    """A product, such as `ESTATE_BUSINESS`, with the service plans that stay disabled."""

    sku_part_number: str
    disabled_plans: Collection[str] = ()


async def products(connection: Connection, tenant_id: UUID) -> Mapping[str, Sequence[str]]:
    """Return the products that users of the tenant have, with their plans."""
    return {row["name"]: row["plans"] for row in await connection.fetch(SQL["products"], tenant_id)}


async def change_licenses(
    connection: Connection, tenant_id: UUID, user_id: UUID, *, added: Sequence[License], removed: Sequence[str]
) -> None:
    """Add licences, and remove those of the named products.

    Only products that the tenant has can be added.
    A licence that the user has already gets the new list of disabled plans. Raises WriteRefused: `objectUnknown` for
    the user, `valueInvalid` for a product that the tenant does not have or that the user does not have to lose.
    """
    await _lock(connection, tenant_id, user_id)
    known = await products(connection, tenant_id)
    for name in removed:
        if not await connection.fetchval(SQL["remove_license"], tenant_id, user_id, name):
            raise WriteRefused("valueInvalid", f"User does not have a corresponding license {name}.", "removeLicenses")
        await connection.execute(SQL["remove_service_plans"], tenant_id, user_id, name)
    for each in added:
        if each.sku_part_number not in known:
            message = f"License {each.sku_part_number} does not correspond to a valid company License."
            raise WriteRefused("valueInvalid", message, "addLicenses")
        plans = known[each.sku_part_number]
        states = ["Disabled" if plan in each.disabled_plans else "Success" for plan in plans]
        await connection.execute(SQL["add_license"], tenant_id, user_id, each.sku_part_number)
        await connection.execute(SQL["remove_service_plans"], tenant_id, user_id, each.sku_part_number)
        await connection.execute(SQL["add_service_plans"], tenant_id, user_id, each.sku_part_number, plans, states)


async def _lock(connection: Connection, tenant_id: UUID, user_id: UUID) -> Mapping[str, object]:
    """Lock the user and read the current values. Raises WriteRefused (`objectUnknown`)."""
    row = await connection.fetchrow(SQL["lock_user"], tenant_id, user_id)
    if row is None:
        raise _unknown(user_id)
    return {**row, "properties": msgspec.json.decode(row["properties"])}


def _unknown(named: object, *, code: str = "objectUnknown") -> WriteRefused:
    message = f"Resource '{named}' does not exist or one of its queried reference-property objects are not present."
    return WriteRefused(code, message)


def _values(fields: UserFields, old: Mapping[str, object]) -> Mapping[str, object]:
    """Return the values after the change.

    Texts that rules can use are in `properties`.
    """
    given = msgspec.to_builtins(fields)
    properties = dict(msgspec.convert(old["properties"], dict[str, str]))
    for name in FURTHER:
        if name in given:
            properties.pop(name, None)
            if given[name] is not None:
                properties[name] = given[name]
    changed = {name: getattr(fields, name) for name in _COLUMNS if getattr(fields, name) is not UNSET}
    return {**old, **changed, "properties": properties}


_COLUMNS: Final = ("display_name", "user_principal_name", "mail", "user_type", "account_enabled")


def _columns(values: Mapping[str, object]) -> tuple[object, ...]:
    return (*(values[name] for name in _COLUMNS), msgspec.json.encode(values["properties"]).decode())


def _addresses(values: Mapping[str, object]) -> Sequence[str]:
    return [str(values[name]) for name in ("user_principal_name", "mail") if values[name] is not None]


async def _reserve(
    connection: Connection, tenant_id: UUID, user_id: UUID, old: Sequence[str], new: Sequence[str]
) -> None:
    """Replace the addresses of a user.

    Raises WriteRefused (`valueTaken`) if another object has one of them.
    """
    await connection.execute(SQL["release_addresses"], tenant_id, user_id, old, new)
    await connection.execute(SQL["reserve_addresses"], tenant_id, user_id, new)
    taken = await connection.fetchval(SQL["taken_address"], tenant_id, user_id, new)
    if taken is not None:
        target = "userPrincipalName" if taken.lower() == new[0].lower() else "mail"
        message = f"Another object with the same value for property {target} already exists."
        raise WriteRefused("valueTaken", message, target)


def _one(tenant_id: UUID, user_id: UUID) -> _Changed:
    return [(tenant_id, user_id)]
