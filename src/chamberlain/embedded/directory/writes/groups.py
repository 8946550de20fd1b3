# SPDX-License-Identifier: Apache-2.0
"""Create, change and delete groups, with their owners and members."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, TypeAlias
from uuid import UUID

import asyncpg
import msgspec
from msgspec import UNSET, UnsetType

from chamberlain.core.membership_rules import RuleInvalid
from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.dynamic_groups import follow_all, users_by_rule
from chamberlain.embedded.directory.errors import WriteRefused
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# Extension attributes by name; None clears a member, or the whole attribute.
Extensions: TypeAlias = Mapping[str, Mapping[str, str | None] | None]

# Owners and members in one request, from the published reference of Graph.
MOST_REFERENCES: Final = 20

_UNIFIED, _DYNAMIC = "Unified", "DynamicMembership"


class Relation(Enum):
    """Owners or members, in the spelling of Graph."""

    OWNERS = "owners"
    MEMBERS = "members"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGroup:
    """A group to create.

    `group_types` has `Unified` for a group with a mailbox, and `DynamicMembership` for one with a membership rule. A
    group of neither type is a security group. The address of a group with a mailbox is its nickname at the domain of
    most users.
    """

    id: UUID
    display_name: str
    mail_nickname: str
    description: str | None = None
    visibility: str | None = None
    group_types: Collection[str] = ()
    membership_rule: str | None = None
    mail_enabled: bool = False
    security_enabled: bool = True
    label_id: str | None = None
    unique_name: str | None = None
    extensions: Extensions = field(default_factory=dict)
    owners: Sequence[UUID] = ()
    members: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """The properties of a group to change.

    One that is UNSET does not change.
    `owners` and `members` are added. A `membership_rule` makes the group dynamic, and None ends that, as `group_types`
    without `DynamicMembership` do. Other types, `mail_enabled` and `security_enabled` do not change after the creation,
    so that only their present values are accepted.
    """

    display_name: str | UnsetType = UNSET
    mail_nickname: str | UnsetType = UNSET
    description: str | UnsetType | None = UNSET
    visibility: str | UnsetType = UNSET
    group_types: Collection[str] | UnsetType = UNSET
    membership_rule: str | UnsetType | None = UNSET
    mail_enabled: bool | UnsetType = UNSET
    security_enabled: bool | UnsetType = UNSET
    label_id: str | UnsetType | None = UNSET
    unique_name: str | UnsetType = UNSET
    extensions: Extensions = field(default_factory=dict)
    owners: Sequence[UUID] = ()
    members: Sequence[UUID] = ()


async def create_group(connection: Connection, tenant_id: UUID, new: NewGroup) -> None:
    """Create a group with its owners and members.

    Raises WriteRefused: `valueInvalid`, `valueMissing`, `valueTaken`, `objectUnknown`, `notSupported`, `isDynamic`.
    """
    is_unified, is_dynamic = _UNIFIED in new.group_types, _DYNAMIC in new.group_types
    if new.mail_enabled is not is_unified:
        message = (
            "The service does not currently support writes of mail-enabled groups. Please ensure that the "
            "mail-enablement property is unset and the security-enablement property is set."
        )
        raise WriteRefused("notSupported", message, "mailEnabled")
    if not is_unified and not new.security_enabled:
        raise WriteRefused("valueInvalid", "A group is mail-enabled or security-enabled.", "securityEnabled")
    if is_dynamic is not (new.membership_rule is not None):
        message = "A group of the type DynamicMembership has a membershipRule, and no other group has one."
        raise WriteRefused("valueInvalid", message, "membershipRule")
    await _check_label(connection, tenant_id, new.label_id)
    selected = () if new.membership_rule is None else await _selected(connection, tenant_id, new.membership_rule)
    mail = f"{new.mail_nickname}@{await _default_domain(connection, tenant_id)}" if is_unified else None
    if mail is not None:
        await _reserve(connection, tenant_id, new.id, mail)
    visibility = new.visibility or ("Public" if is_unified else "Private")
    types = [one for one in (_UNIFIED, _DYNAMIC) if one in new.group_types]
    made = await connection.fetchval(
        SQL["create_group"], tenant_id, new.id, new.display_name, new.mail_nickname, mail, new.description, visibility,
        types, new.membership_rule, new.mail_enabled, new.security_enabled, new.label_id, new.unique_name,
    )  # fmt: skip
    if not made:
        raise _taken("uniqueName")
    await _set_extensions(connection, tenant_id, new.id, {}, new.extensions)
    await add_references(connection, tenant_id, new.id, Relation.OWNERS, new.owners)
    await add_references(connection, tenant_id, new.id, Relation.MEMBERS, new.members)
    if selected:
        nested = [False] * len(selected)
        await connection.execute(SQL["add_references"], tenant_id, new.id, selected, False, nested)  # noqa: FBT003 - a column.


async def update_group(connection: Connection, tenant_id: UUID, group_id: UUID, change: GroupChange) -> None:
    """Change the given properties of a group.

    A unique name is set once. Raises WriteRefused: those of `create_group`, `objectUnknown` for the group,
    `notChangeable`, and `alreadyReferenced` for owners or members that the group has already.
    """
    old = await lock_group(connection, tenant_id, group_id)
    if change.unique_name is not UNSET and old["unique_name"] not in {None, change.unique_name}:
        message = "The property 'uniqueName' is immutable once it is set."
        raise WriteRefused("notChangeable", message, "uniqueName")
    new = {name: getattr(change, name) for name in _CHANGEABLE if getattr(change, name) is not UNSET}
    new |= _rule_change(old, change)
    values = {**old, **new}
    if "label_id" in new:
        await _check_label(connection, tenant_id, values["label_id"])
    if new.get("membership_rule") is not None:
        await _selected(connection, tenant_id, values["membership_rule"])
    if values["mail_nickname"] != old["mail_nickname"] and old["mail"] is not None:
        await _check_nickname(
            connection, tenant_id, group_id, f"{values['mail_nickname']}@{old['mail'].partition('@')[2]}"
        )
    kept = [one for one in old["group_types"] if one != _DYNAMIC]
    types = kept if values["membership_rule"] is None else [*kept, _DYNAMIC]
    try:
        await connection.execute(
            SQL["update_group"], tenant_id, group_id, values["display_name"], values["mail_nickname"],
            values["description"], values["visibility"], types, values["membership_rule"], values["label_id"],
            values["unique_name"],
        )  # fmt: skip
    except asyncpg.UniqueViolationError as error:
        raise _taken("uniqueName") from error
    if change.extensions:
        before = msgspec.json.decode(old["extensions"], type=dict[str, dict[str, str]])
        await _set_extensions(connection, tenant_id, group_id, before, change.extensions)
    await add_references(connection, tenant_id, group_id, Relation.OWNERS, change.owners)
    await add_references(connection, tenant_id, group_id, Relation.MEMBERS, change.members)
    if new.get("membership_rule") is not None:
        await follow_all(connection, [tenant_id])


def _rule_change(old: Mapping[str, Any], change: GroupChange) -> Mapping[str, None]:
    """Compare the fixed properties.

    The membership rule ends if the new types have none.
    """
    for name, target in (("mail_enabled", "mailEnabled"), ("security_enabled", "securityEnabled")):
        if getattr(change, name) not in {UNSET, old[name]}:
            raise WriteRefused("notChangeable", f"The property '{target}' of this group cannot be changed.", target)
    if change.group_types is UNSET:
        return {}
    if (_UNIFIED in change.group_types) is not (_UNIFIED in old["group_types"]):
        raise WriteRefused("notChangeable", "A group cannot become or cease to be Unified.", "groupTypes")
    rule = old["membership_rule"] if change.membership_rule is UNSET else change.membership_rule
    if _DYNAMIC in change.group_types and rule is None:
        message = "A group of the type DynamicMembership has a membershipRule."
        raise WriteRefused("valueInvalid", message, "membershipRule")
    return {} if _DYNAMIC in change.group_types else {"membership_rule": None}


async def find_by_unique_name(connection: Connection, tenant_id: UUID, unique_name: str) -> UUID | None:
    """Find a group by its unique name.

    Other transactions that ask for the same name wait.
    """
    await connection.execute(SQL["lock_unique_name"], str(tenant_id), unique_name)
    found: UUID | None = await connection.fetchval(SQL["group_by_unique_name"], tenant_id, unique_name)
    return found


async def upsert_group(connection: Connection, tenant_id: UUID, new: NewGroup, change: GroupChange) -> bool:
    """Create the group with this unique name, or change the existing one.

    Returns whether it was created.
    Owners and members that an existing group has already are skipped, so that a repeated call succeeds. Raises
    WriteRefused as `create_group` and `update_group` do.
    """
    found = await find_by_unique_name(connection, tenant_id, new.unique_name or "")
    if found is None:
        await create_group(connection, tenant_id, new)
        return True
    owners = await missing_references(connection, tenant_id, found, Relation.OWNERS, change.owners)
    members = await missing_references(connection, tenant_id, found, Relation.MEMBERS, change.members)
    await update_group(connection, tenant_id, found, replace(change, owners=owners, members=members))
    return False


async def delete_group(connection: Connection, tenant_id: UUID, group_id: UUID) -> None:
    """Delete a group with its memberships, team, settings, site and address.

    Raises WriteRefused: `objectUnknown`.
    """
    await lock_group(connection, tenant_id, group_id)
    # The group goes first: changes of a group that is gone are not recorded.
    for statement in (
        SQL["delete_group"],
        SQL["delete_members"],
        SQL["delete_memberships"],
        SQL["delete_team"],
        SQL["delete_channels"],
        SQL["delete_settings"],
        SQL["delete_site"],
        SQL["delete_group_values"],
        SQL["delete_addresses"],
        SQL["delete_scim_resource"],
    ):
        await connection.execute(statement, tenant_id, group_id)


async def lock_group(connection: Connection, tenant_id: UUID, group_id: UUID) -> Mapping[str, Any]:
    """Lock a group and read its values. Raises WriteRefused (`objectUnknown`)."""
    row = await connection.fetchrow(SQL["lock_group"], tenant_id, group_id)
    if row is None:
        raise _unknown(group_id)
    return dict(row)


async def add_references(
    connection: Connection, tenant_id: UUID, group_id: UUID, relation: Relation, ids: Sequence[UUID]
) -> None:
    """Add owners or members to a group: all or none.

    Owners are users, and so are the members of a group with a mailbox. Raises WriteRefused: `objectUnknown`,
    `alreadyReferenced`, `valueInvalid`, and `isDynamic` for members of a group with a membership rule.
    """
    if not ids:
        return
    group = await lock_group(connection, tenant_id, group_id)
    _check_assigned(group, relation)
    takes_groups = relation is Relation.MEMBERS and _UNIFIED not in group["group_types"]
    found = {row["id"]: row for row in await _objects(connection, tenant_id, group_id, ids)}
    for one, row in found.items():
        if not (row["is_user"] or row["is_group"]):
            raise _unknown(one)
        if (row["is_group"] and not takes_groups) or one == group_id:
            message = f"The object {one} cannot be one of the {relation.value} of this group."
            raise WriteRefused("valueInvalid", message, relation.value)
        if row[_HELD[relation]]:
            message = (
                "One or more added object references already exist for the following modified properties: "
                f"'{relation.value}'."
            )
            raise WriteRefused("alreadyReferenced", message, relation.value)
    nested = [row["is_group"] for row in found.values()]
    is_owners = relation is Relation.OWNERS
    await connection.execute(SQL["add_references"], tenant_id, group_id, list(found), is_owners, nested)


async def remove_reference(
    connection: Connection, tenant_id: UUID, group_id: UUID, relation: Relation, one: UUID
) -> None:
    """Remove an owner or a member from a group.

    Raises WriteRefused: `objectUnknown` for the group, `notReferenced`, `lastOwner`, and `isDynamic` for members of a
    group with a membership rule.
    """
    group = await lock_group(connection, tenant_id, group_id)
    _check_assigned(group, relation)
    [row] = await _objects(connection, tenant_id, group_id, [one])
    if not row[_HELD[relation]]:
        raise _unknown(one, code="notReferenced")
    is_owner = relation is Relation.OWNERS
    if is_owner and not await connection.fetchval(SQL["owners_left"], tenant_id, group_id, one):
        message = "The group must have at least one owner, hence this owner cannot be removed."
        raise WriteRefused("lastOwner", message, relation.value)
    await connection.execute(SQL["remove_reference"], tenant_id, group_id, one, is_owner)
    await connection.execute(SQL["demote"], tenant_id, group_id, one, is_owner)


async def remove_members(connection: Connection, tenant_id: UUID, group_id: UUID, ids: Sequence[UUID]) -> None:
    """Remove members from a group: all or none.

    Raises WriteRefused: `objectUnknown` for the group, `notReferenced`, and `isDynamic` for a group with a membership
    rule.
    """
    if not ids:
        return
    _check_assigned(await lock_group(connection, tenant_id, group_id), Relation.MEMBERS)
    for row in await _objects(connection, tenant_id, group_id, ids):
        if not row["is_member"]:
            raise _unknown(row["id"], code="notReferenced")
    await connection.execute(SQL["remove_members"], tenant_id, group_id, ids)
    await connection.execute(SQL["keep_owners"], tenant_id, group_id, ids)


_CHANGEABLE: Final = (
    "display_name", "mail_nickname", "description", "visibility", "membership_rule", "label_id", "unique_name",
)  # fmt: skip
_HELD: Final = {Relation.OWNERS: "is_owner", Relation.MEMBERS: "is_member"}


def _check_assigned(group: Mapping[str, Any], relation: Relation) -> None:
    if relation is Relation.MEMBERS and group["membership_rule"] is not None:
        message = "The members of a group with a membership rule follow from the rule and cannot be changed."
        raise WriteRefused("isDynamic", message, relation.value)


async def _objects(
    connection: Connection, tenant_id: UUID, group_id: UUID, ids: Sequence[UUID]
) -> Sequence[asyncpg.Record]:
    return await connection.fetch(SQL["objects"], tenant_id, group_id, sorted(set(ids)))


async def missing_references(
    connection: Connection, tenant_id: UUID, group_id: UUID, relation: Relation, ids: Sequence[UUID]
) -> Sequence[UUID]:
    """Return the ids that the group does not have yet."""
    rows = await _objects(connection, tenant_id, group_id, ids)
    return [row["id"] for row in rows if not row[_HELD[relation]]]


def _unknown(named: object, *, code: str = "objectUnknown") -> WriteRefused:
    message = f"Resource '{named}' does not exist or one of its queried reference-property objects are not present."
    return WriteRefused(code, message)


def _taken(target: str) -> WriteRefused:
    return WriteRefused(
        "valueTaken", f"Another object with the same value for property {target} already exists.", target
    )


async def _check_label(connection: Connection, tenant_id: UUID, label_id: str | None) -> None:
    if label_id is not None and not await connection.fetchval(SQL["has_label"], tenant_id, label_id):
        raise WriteRefused("valueInvalid", f"The tenant has no sensitivity label {label_id}.", "assignedLabels")


async def _selected(connection: Connection, tenant_id: UUID, rule: str) -> Sequence[UUID]:
    try:
        return await users_by_rule(connection, tenant_id, rule)
    except RuleInvalid as error:
        raise WriteRefused("valueInvalid", str(error), "membershipRule") from error


async def _default_domain(connection: Connection, tenant_id: UUID) -> str:
    """Return the domain of most members.

    A tenant without users gets one of its id.
    """
    domain: str | None = await connection.fetchval(SQL["default_domain"], tenant_id)
    return domain or f"{tenant_id}.example"


async def _reserve(connection: Connection, tenant_id: UUID, group_id: UUID, mail: str) -> None:
    await connection.execute(SQL["reserve_addresses"], tenant_id, group_id, [mail])
    await _check_nickname(connection, tenant_id, group_id, mail)


async def _check_nickname(connection: Connection, tenant_id: UUID, group_id: UUID, mail: str) -> None:
    if await connection.fetchval(SQL["taken_address"], tenant_id, group_id, [mail]) is not None:
        raise _taken("mailNickname")


async def _set_extensions(
    connection: Connection, tenant_id: UUID, group_id: UUID, old: Mapping[str, Mapping[str, str]], change: Extensions
) -> None:
    """Merge the change into the extension attributes and their index."""
    if not change:
        return
    new = {name: dict(members) for name, members in old.items()}
    for name, members in change.items():
        merged = {**new.pop(name, {}), **members} if members is not None else {}
        left = {member: value for member, value in merged.items() if value is not None}
        new |= {name: left} if left else {}
    before, after = set(_values(old)), set(_values(new))
    await connection.execute(SQL["set_extensions"], tenant_id, group_id, msgspec.json.encode(new).decode())
    await connection.execute(SQL["forget_extension_values"], tenant_id, group_id, *_value_columns(before - after))
    await connection.execute(SQL["index_extension_values"], tenant_id, group_id, *_value_columns(after - before))


_Value: TypeAlias = tuple[str, str, str]


def _values(extensions: Mapping[str, Mapping[str, str]]) -> Iterator[_Value]:
    for name, members in extensions.items():
        for member, value in members.items():
            yield name, member, value


def _value_columns(values: Collection[_Value]) -> tuple[list[str], ...]:
    return tuple([value[column] for value in values] for column in range(3))
