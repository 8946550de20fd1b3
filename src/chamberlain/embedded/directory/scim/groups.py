# SPDX-License-Identifier: Apache-2.0
"""Groups as SCIM resources.

A group that a SCIM client creates is a security group.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.graph.calls import Row
from chamberlain.embedded.directory.scim.errors import invalid_value
from chamberlain.embedded.directory.scim.resources import Resource, Selection, weak_etag
from chamberlain.embedded.directory.scim.schemas import GROUPS, Json
from chamberlain.embedded.directory.writes import groups as writes
from chamberlain.embedded.directory.writes.groups import GroupChange, NewGroup, Relation
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# Characters of a nickname; Graph allows 64.
_LONGEST_NICKNAME = 64


class GroupCollection:
    """The groups of all tenants. Writing needs the worker's role."""

    kind = GROUPS
    further = "members"

    async def count(self, connection: Connection, tenant_id: UUID) -> int:
        """Count the groups of a tenant."""
        counted: int = await connection.fetchval(SQL["count_groups"], tenant_id)
        return counted

    async def read(
        self, connection: Connection, tenant_id: UUID, selection: Selection, root: str
    ) -> Sequence[Resource]:
        """Read groups in the order of their ids, without their members."""
        del root
        rows = await connection.fetch(
            SQL["groups"],
            tenant_id,
            selection.id,
            selection.external_id,
            selection.name,
            selection.after,
            selection.offset,
            selection.most,
            selection.member_id,
        )
        return [_read_row(row) for row in rows]

    async def complete(
        self, connection: Connection, tenant_id: UUID, resources: Sequence[Resource], root: str
    ) -> Sequence[Resource]:
        """Add the members of the groups."""
        rows = await connection.fetch(SQL["members_of"], tenant_id, [one.id for one in resources])
        members: dict[UUID, list[Json]] = {}
        for row in rows:
            endpoint, type_ = ("Groups", "Group") if row["is_group"] else ("Users", "User")
            id_ = row["member_id"]
            members.setdefault(row["group_id"], []).append(
                {"value": str(id_), "$ref": f"{root}/{endpoint}/{id_}", "type": type_}
            )
        return [
            replace(one, document=one.document | {"members": members[one.id]}) if one.id in members else one
            for one in resources
        ]

    async def lock(self, connection: Connection, tenant_id: UUID, id_: UUID) -> None:
        """Lock a group until the end of the transaction."""
        await connection.execute(SQL["lock_group"], tenant_id, id_)

    async def create(self, connection: Connection, tenant_id: UUID, id_: UUID, document: Json) -> None:
        """Create a security group with its members."""
        name = str(document["displayName"])
        await writes.create_group(
            connection, tenant_id, NewGroup(id=id_, display_name=name, mail_nickname=_nickname(name, id_))
        )
        await _add(connection, tenant_id, id_, sorted(_members(document)))
        await self._store(connection, tenant_id, id_, document)

    async def replace(self, connection: Connection, tenant_id: UUID, before: Resource, document: Json) -> None:
        """Write the changed name and members of a group."""
        if document["displayName"] != before.document["displayName"]:
            change = GroupChange(display_name=str(document["displayName"]))
            await writes.update_group(connection, tenant_id, before.id, change)
        old, new = _members(before.document), _members(document)
        await writes.remove_members(connection, tenant_id, before.id, sorted(old - new))
        await _add(connection, tenant_id, before.id, sorted(new - old))
        if before.document.get("externalId") != document.get("externalId"):
            await self._store(connection, tenant_id, before.id, document)

    async def delete(self, connection: Connection, tenant_id: UUID, id_: UUID) -> None:
        """Delete a group."""
        await writes.delete_group(connection, tenant_id, id_)
        await connection.execute(SQL["forget"], tenant_id, id_)

    async def _store(self, connection: Connection, tenant_id: UUID, id_: UUID, document: Json) -> None:
        # The directory has all other attributes.
        external_id = document.get("externalId")
        await connection.execute(SQL["store"], tenant_id, id_, external_id, "{}")


async def _add(connection: Connection, tenant_id: UUID, id_: UUID, members: Sequence[UUID]) -> None:
    if not members:
        return
    unknown = await connection.fetchval(SQL["unknown_member"], tenant_id, members)
    if unknown is not None:
        raise invalid_value(f"There is no user or group {unknown} that could be a member.")
    await writes.add_references(connection, tenant_id, id_, Relation.MEMBERS, members)


def _members(document: Json) -> set[UUID]:
    values = document.get("members")
    found = set()
    for one in values if isinstance(values, list) else []:
        text = str(one.get("value")) if isinstance(one, dict) else ""
        try:
            found.add(UUID(text))
        except ValueError:
            raise invalid_value(f"{text} is no id of a member.") from None
    return found


def _nickname(name: str, id_: UUID) -> str:
    """Make a nickname of a name.

    Names may repeat, so it ends with the last digits of the id.
    """
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    suffix = f"-{id_.hex[-8:]}"
    return f"{words[: _LONGEST_NICKNAME - len(suffix)]}{suffix}".lstrip("-")


def _read_row(row: Row) -> Resource:
    document: Json = {"schemas": [GROUPS.schema], "displayName": row["display_name"]}
    if row["external_id"] is not None:
        document["externalId"] = row["external_id"]
    # A change of the members is a change of the group (sql/changes.sql), so the tag needs no members.
    etag = weak_etag([row["changed_in"], document])
    return Resource(row["id"], document, etag, row["created_at"], row["changed_at"], {})
