# SPDX-License-Identifier: Apache-2.0
"""Writes below `/users`."""

from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from chamberlain.embedded.directory.errors import Forbidden, WriteRefused
from chamberlain.embedded.directory.graph.calls import Answer, Call, Written
from chamberlain.embedded.directory.graph.products import plan_id, product_id
from chamberlain.embedded.directory.graph.users import fetch_user, get_user
from chamberlain.embedded.directory.graph.writes.bodies import convert, read_body, read_reference, require
from chamberlain.embedded.directory.graph.writes.calls import created, resource_at, transaction
from chamberlain.embedded.directory.writes import users as writes

# The only permission that allows nothing but disabling and enabling accounts.
ENABLE_ACCOUNTS = "User.EnableDisableAccount.All"


class _PasswordProfile(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A password, which the directory checks and does not keep.

    Sign-in is another product.
    """

    password: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    force_change_password_next_sign_in: bool | None = None
    force_change_password_next_sign_in_with_mfa: bool | None = None


class _UserBody(writes.UserFields, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The properties that a body can have.

    The nickname is that of the `userPrincipalName`.
    """

    mail_nickname: Annotated[str, Meta(min_length=1, max_length=64)] | UnsetType = UNSET
    password_profile: _PasswordProfile | UnsetType | None = UNSET


_REQUIRED = ("accountEnabled", "displayName", "mailNickname", "passwordProfile", "userPrincipalName")


async def create_user(call: Call) -> Answer:
    """Create a user."""
    body = read_body(call)
    require(body.properties, _REQUIRED, "User")
    fields = convert(body.properties, _UserBody, "User")
    user_id = call.writing.new_id()
    async with transaction(call) as connection:
        await writes.create_user(connection, call.tenant_id, user_id, fields)
    return created(call, f"users/{user_id}", await get_user(resource_at(call, user_id)))


async def update_user(call: Call) -> Answer:
    """Change properties of a user."""
    body = read_body(call)
    fields = convert(body.properties, _UserBody, "User")
    if call.writing.permissions <= {ENABLE_ACCOUNTS} and set(body.properties) - {"accountEnabled"}:
        raise Forbidden("Insufficient privileges to complete the operation.")
    user_id = await _user_id(call)
    async with transaction(call) as connection:
        await writes.update_user(connection, call.tenant_id, user_id, fields)
    return Written(204)


async def delete_user(call: Call) -> Answer:
    """Delete a user."""
    user_id = await _user_id(call)
    async with transaction(call) as connection:
        await writes.delete_user(connection, call.tenant_id, user_id)
    return Written(204)


async def set_manager(call: Call) -> Answer:
    """Set the manager of a user."""
    manager_id = read_reference(call)
    user_id = await _user_id(call)
    async with transaction(call) as connection:
        await writes.set_manager(connection, call.tenant_id, user_id, manager_id)
    return Written(204)


async def remove_manager(call: Call) -> Answer:
    """Remove the manager of a user."""
    user_id = await _user_id(call)
    async with transaction(call) as connection:
        await writes.set_manager(connection, call.tenant_id, user_id, None)
    return Written(204)


class _License(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    sku_id: UUID
    disabled_plans: list[UUID] = []


class _Licenses(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    add_licenses: list[_License]
    remove_licenses: list[UUID]


async def assign_license(call: Call) -> Answer:
    """Add and remove licences of a user."""
    body = convert(read_body(call).properties, _Licenses, "User")
    user_id = await _user_id(call)
    async with transaction(call) as connection:
        products = await writes.products(connection, call.tenant_id)
        names = {product_id(name): name for name in products}
        added = []
        for each in body.add_licenses:
            name = _product(names, each.sku_id, "addLicenses")
            plans = {plan_id(plan): plan for plan in products[name]}
            unknown = [str(one) for one in each.disabled_plans if one not in plans]
            if unknown:
                message = f"License {each.sku_id} does not have the service plan {unknown[0]}."
                raise WriteRefused("valueInvalid", message, "addLicenses")
            added.append(writes.License(name, [plans[one] for one in each.disabled_plans]))
        removed = [_product(names, each, "removeLicenses") for each in body.remove_licenses]
        await writes.change_licenses(connection, call.tenant_id, user_id, added=added, removed=removed)
    return await get_user(resource_at(call, user_id))


def _product(names: dict[UUID, str], wanted: UUID, target: str) -> str:
    if wanted not in names:
        message = f"License {wanted} does not correspond to a valid company License."
        raise WriteRefused("valueInvalid", message, target)
    return names[wanted]


async def revoke_sessions(call: Call) -> Answer:
    """Answer that the sessions of a user ended. The directory has none."""
    await _user_id(call)
    return {"@odata.context": f"{call.root}/$metadata#Edm.Boolean", "value": True}


async def _user_id(call: Call) -> UUID:
    """Return the id of the user in the path. Raises NotThere."""
    async with call.connected() as connection:
        found: UUID = (await fetch_user(call, connection))["id"]
    return found
