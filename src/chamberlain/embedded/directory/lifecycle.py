# SPDX-License-Identifier: Apache-2.0
"""Removes, restores and renames groups and mailboxes, and changes their addresses.

A removal moves the rows of an object into one row of directory.removed_objects, where a restoration finds them. The
addresses of a removed object are free, as those of a removed mailbox of Exchange: another object may take them, and the
restoration is then refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Connection, Queryable, one_transaction
from chamberlain.embedded.directory.dynamic_groups import follow_changed
from chamberlain.embedded.directory.entries import Mark
from chamberlain.embedded.directory.errors import Refused

# The retention of Microsoft 365.
RETENTION: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class ObjectType:
    """The tables of one type of object.

    Each has the column that names it. The first has the object itself, `values` its marks, in the column `holder`.
    """

    name: str
    tables: Sequence[tuple[str, str]]
    values: str
    holder: str


GROUP: Final = ObjectType(
    "group",
    (
        ("groups", "id"),
        ("extension_values", "group_id"),
        ("memberships", "group_id"),
        ("memberships", "member_id"),
        ("teams", "group_id"),
        ("channels", "group_id"),
        ("guest_settings", "group_id"),
        ("sites", "security_group_id"),
        ("addresses", "holder_id"),
    ),
    "extension_values",
    "group_id",
)
MAILBOX: Final = ObjectType(
    "mailbox",
    (
        ("users", "id"),
        ("mailboxes", "user_id"),
        ("user_extension_values", "user_id"),
        ("mailbox_permissions", "mailbox_id"),
        ("memberships", "member_id"),
        ("addresses", "holder_id"),
    ),
    "user_extension_values",
    "user_id",
)

_SENTENCES: Final = {
    "gone": "The directory does not have this object any more.",
    "addressTaken": "The address {} belongs to another user, group or mailbox.",
}

_REMOVED: Final = """
SELECT id, content::text FROM directory.removed_objects
WHERE tenant_id = $1 AND name = $2 AND key = lower($3) AND type = $4 AND removed_at > now() - $5::interval
ORDER BY id IS DISTINCT FROM $6, removed_at DESC LIMIT 1 FOR UPDATE
"""
_REMOVE: Final = """
INSERT INTO directory.removed_objects AS r (tenant_id, id, type, name, key, removed_at, content)
VALUES ($1, $2, $3, $4, lower($5), now(), $6::jsonb)
ON CONFLICT (tenant_id, id) DO UPDATE SET removed_at = excluded.removed_at, content = excluded.content
"""
# Columns that a restoration writes; the database fills in the others.
_COLUMNS: Final = """
SELECT attname FROM pg_attribute
WHERE attrelid = ('directory.' || $1::text)::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    AND attname <> 'changed_in'
"""

# Users and groups that were deleted meanwhile.
_FORGET_MISSING: Final = (
    """
    DELETE FROM directory.memberships m WHERE m.tenant_id = $1 AND (m.group_id = $2 OR m.member_id = $2) AND (
        NOT EXISTS (SELECT FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = m.group_id)
        OR NOT EXISTS (
            SELECT FROM directory.users u WHERE u.tenant_id = $1 AND u.id = m.member_id
            UNION ALL SELECT FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = m.member_id))
    """,
    """
    DELETE FROM directory.mailbox_permissions p WHERE p.tenant_id = $1 AND p.mailbox_id = $2
    AND NOT EXISTS (SELECT FROM directory.users u WHERE u.tenant_id = $1 AND u.id = p.user_id)
    """,
)

# Rows by table and column.
_Content = Mapping[str, list[dict[str, object]]]
_contents = msgspec.json.Decoder(dict[str, list[dict[str, object]]])


class Lifecycle:
    """Changes of existing objects of all tenants. Needs the worker's role.

    Objects are those with a mark. Of several ones, it is the one with the `known` id. Each change is one transaction.
    """

    def __init__(self, database: Queryable, *, key_member: str) -> None:
        self._database = database
        self._key_member = key_member

    async def remove(self, type_: ObjectType, mark: Mark, known: UUID | None) -> None:
        """Remove an object; nothing happens if there is none with the mark.

        Objects that were removed before the retention are deleted for ever.
        """
        async with one_transaction(self._database) as connection:
            found = await self._lock(connection, type_, mark, known)
            if found is None:
                return
            content: dict[str, object] = {}
            for table, column in reversed(type_.tables):
                rows = await connection.fetch(
                    f"DELETE FROM directory.{table} t WHERE tenant_id = $1 AND {column} = $2 "  # noqa: S608 - fixed names.
                    "RETURNING to_jsonb(t)::text AS row",
                    mark.tenant_id,
                    found,
                )
                content[f"{table}.{column}"] = [msgspec.Raw(row["row"].encode()) for row in rows]
            written = msgspec.json.encode(content).decode()
            await connection.execute(_REMOVE, mark.tenant_id, found, type_.name, mark.extension, mark.key, written)
            await connection.execute(
                "DELETE FROM directory.removed_objects WHERE tenant_id = $1 AND removed_at <= now() - $2::interval",
                mark.tenant_id,
                RETENTION,
            )

    async def restore(self, type_: ObjectType, mark: Mark, known: UUID | None) -> None:
        """Restore an object; nothing happens if it exists.

        Raises Refused if it was never removed, or before the retention, or if another object has one of its addresses.
        """
        async with one_transaction(self._database) as connection:
            if await self._lock(connection, type_, mark, known) is not None:
                return
            row = await connection.fetchrow(
                _REMOVED, mark.tenant_id, mark.extension, mark.key, type_.name, RETENTION, known
            )
            if row is None:
                raise _refused("gone")
            content = _contents.decode(row["content"])
            await _require_free(connection, mark.tenant_id, content)
            for table, column in type_.tables:
                await _insert(connection, table, content.get(f"{table}.{column}", []))
            for statement in _FORGET_MISSING:
                await connection.execute(statement, mark.tenant_id, row["id"])
            await connection.execute(
                "DELETE FROM directory.removed_objects WHERE tenant_id = $1 AND id = $2", mark.tenant_id, row["id"]
            )
            if type_ is MAILBOX:
                await follow_changed(connection, [(mark.tenant_id, row["id"])])

    async def rename(
        self, type_: ObjectType, mark: Mark, known: UUID | None, *, display_name: str, name: str | None
    ) -> None:
        """Set the display name.

        The name of a mailbox is set unless it is None. Raises Refused if the object does not exist.
        """
        async with one_transaction(self._database) as connection:
            found = await self._require(connection, type_, mark, known)
            table = type_.tables[0][0]
            await connection.execute(
                f"UPDATE directory.{table} SET display_name = $3 "  # noqa: S608 - fixed names.
                "WHERE tenant_id = $1 AND id = $2 AND display_name <> $3",
                mark.tenant_id,
                found,
                display_name,
            )
            if type_ is MAILBOX:
                await connection.execute(
                    "UPDATE directory.mailboxes SET name = $3 WHERE tenant_id = $1 AND user_id = $2 AND name <> $3",
                    mark.tenant_id,
                    found,
                    name,
                )
                await follow_changed(connection, [(mark.tenant_id, found)])

    async def change_address(self, type_: ObjectType, mark: Mark, known: UUID | None, *, mail: str) -> None:
        """Set the primary address.

        The object keeps the old one as an alias. Raises Refused if the object does not exist, or if another
        one has the address.
        """
        async with one_transaction(self._database) as connection:
            found = await self._require(connection, type_, mark, known)
            holder = await connection.fetchval(
                "INSERT INTO directory.addresses AS a (tenant_id, address, holder_id) VALUES ($1, lower($2), $3) "
                "ON CONFLICT (tenant_id, address) DO UPDATE SET holder_id = a.holder_id RETURNING holder_id",
                mark.tenant_id,
                mail,
                found,
            )
            if holder != found:
                raise _refused("addressTaken", mail)
            table = type_.tables[0][0]
            before = await connection.fetchval(
                f"SELECT mail FROM directory.{table} WHERE tenant_id = $1 AND id = $2",  # noqa: S608 - fixed names.
                mark.tenant_id,
                found,
            )
            if before == mail:
                return
            await connection.execute(
                f"UPDATE directory.{table} SET mail = $3 WHERE tenant_id = $1 AND id = $2",  # noqa: S608 - fixed names.
                mark.tenant_id,
                found,
                mail,
            )
            if type_ is MAILBOX:
                # A group shows no aliases; its old addresses are held all the same.
                await connection.execute(
                    "UPDATE directory.mailboxes SET aliases = ARRAY("
                    "SELECT a FROM unnest(aliases || $4::text) AS a WHERE lower(a) <> lower($3)) "
                    "WHERE tenant_id = $1 AND user_id = $2",
                    mark.tenant_id,
                    found,
                    mail,
                    before,
                )
                await follow_changed(connection, [(mark.tenant_id, found)])

    async def _lock(self, connection: Connection, type_: ObjectType, mark: Mark, known: UUID | None) -> UUID | None:
        """Lock the object with the mark and return its id.

        None if there is none.
        """
        table, key = type_.tables[0]
        found: UUID | None = await connection.fetchval(
            f"SELECT o.{key} FROM directory.{type_.values} v "  # noqa: S608 - fixed names.
            f"JOIN directory.{table} o ON o.tenant_id = v.tenant_id AND o.{key} = v.{type_.holder} "
            "WHERE v.tenant_id = $1 AND v.name = $2 AND v.member = $3 AND v.value = lower($4) "
            f"ORDER BY o.{key} IS DISTINCT FROM $5, o.{key} LIMIT 1 FOR UPDATE OF o",
            mark.tenant_id,
            mark.extension,
            self._key_member,
            mark.key,
            known,
        )
        return found

    async def _require(self, connection: Connection, type_: ObjectType, mark: Mark, known: UUID | None) -> UUID:
        found = await self._lock(connection, type_, mark, known)
        if found is None:
            raise _refused("gone")
        return found


async def _insert(connection: Connection, table: str, rows: Sequence[dict[str, object]]) -> None:
    if not rows:
        return
    # The address of a restored object is reserved first.
    conflict = "ON CONFLICT DO NOTHING" if table == "addresses" else ""
    known = [row["attname"] for row in await connection.fetch(_COLUMNS, table)]
    columns = ", ".join(column for column in known if column in rows[0])
    await connection.execute(
        f"INSERT INTO directory.{table} ({columns}) "  # noqa: S608 - names of our own tables.
        f"SELECT {columns} FROM jsonb_populate_recordset(NULL::directory.{table}, $1::jsonb) {conflict}",
        msgspec.json.encode(rows).decode(),
    )


async def _require_free(connection: Connection, tenant_id: UUID, content: _Content) -> None:
    """Reserve the addresses of a removed object.

    Raises Refused if another object has one of them.
    """
    rows = content.get("addresses.holder_id", [])
    await _insert(connection, "addresses", rows)
    holders = {row["address"]: row["holder_id"] for row in rows}
    found = await connection.fetch(
        "SELECT address, holder_id::text FROM directory.addresses WHERE tenant_id = $1 AND address = ANY ($2)",
        tenant_id,
        list(holders),
    )
    for row in found:
        if row["holder_id"] != holders[row["address"]]:
            raise _refused("addressTaken", row["address"])


def _refused(code: str, culprit: str = "") -> Refused:
    return Refused(code, _SENTENCES[code].format(culprit))
