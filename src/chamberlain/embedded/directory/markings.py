# SPDX-License-Identifier: Apache-2.0
"""Adds marks to existing mailboxes and groups, and removes them.

Nothing else changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from chamberlain.embedded.directory.database import Connection, Queryable, one_transaction
from chamberlain.embedded.directory.entries import Columns, Mark, in_order, mark_columns
from chamberlain.embedded.directory.errors import Refused


@dataclass(frozen=True, slots=True)
class MarkedObject:
    """A mailbox or group, and the mark to add or remove.

    A mailbox has the id of its user.
    """

    id: UUID
    mark: Mark


@dataclass(frozen=True, slots=True)
class _Statements:
    """The statements of one table.

    Their parameters are the tenants, the ids, the names and keys of the marks, and the key member. `clear` and `forget`
    take all members to remove instead.
    """

    lock: str
    set: str
    index: str
    clear: str
    forget: str


_ITEMS: Final = """unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) WITH ORDINALITY
    AS i (tenant_id, id, name, key, item)"""


def _statements(table: str, key: str, values: str, holder: str) -> _Statements:
    same = f"h.tenant_id = i.tenant_id AND h.{key} = i.id"
    return _Statements(
        # Every transaction locks them in this order, to avoid deadlocks.
        lock=f"""
        SELECT i.item, h.created_at, h.extensions -> i.name ->> $5 AS carried
        FROM {_ITEMS} JOIN directory.{table} h ON {same}
        ORDER BY h.tenant_id, h.{key} FOR UPDATE OF h
        """,  # noqa: S608 - fixed names.
        set=f"""
        UPDATE directory.{table} h SET extensions = h.extensions || jsonb_build_object(
            i.name, coalesce(h.extensions -> i.name, '{{}}') || jsonb_build_object($5::text, i.key))
        FROM {_ITEMS} WHERE {same}
        """,  # noqa: S608 - as above.
        index=f"""
        INSERT INTO directory.{values} (tenant_id, name, member, value, {holder})
        SELECT i.tenant_id, i.name, $5, lower(i.key), i.id FROM {_ITEMS} ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT DO NOTHING
        """,  # noqa: S608 - as above.
        # An empty attribute is removed too.
        clear=f"""
        UPDATE directory.{table} h SET extensions = CASE
            WHEN (h.extensions -> i.name) - $5::text[] = '{{}}' THEN h.extensions - i.name
            ELSE h.extensions || jsonb_build_object(i.name, (h.extensions -> i.name) - $5::text[]) END
        FROM {_ITEMS} WHERE {same}
        """,  # noqa: S608 - as above.
        # The values are read from the object, because the index starts with them.
        forget=f"""
        DELETE FROM directory.{values} v USING {_ITEMS} JOIN directory.{table} h ON {same}
        CROSS JOIN unnest($5::text[]) AS m (member)
        WHERE v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = m.member
        AND v.value = lower(h.extensions -> i.name ->> m.member) AND v.{holder} = i.id
        """,  # noqa: S608 - as above.
    )


MAILBOXES: Final = _statements("mailboxes", "user_id", "user_extension_values", "user_id")
GROUPS: Final = _statements("groups", "id", "extension_values", "group_id")

_SENTENCES = {
    "gone": "The directory does not have {} any more.",
    "alreadyManaged": "{} carries the mark of another request.",
}


class Markings:
    """The marks of the mailboxes or groups of all tenants.

    They are in the member `key_member`. The `further_members` are removed with them. Needs the worker's role.
    """

    def __init__(
        self, database: Queryable, statements: _Statements, *, key_member: str, further_members: Sequence[str] = ()
    ) -> None:
        self._database = database
        self._statements = statements
        self._key_member = key_member
        self._members = [key_member, *further_members]

    async def made_at(self, objects: Sequence[MarkedObject]) -> Sequence[datetime | None]:
        """Read the creation time of each.

        None for an object that does not exist.
        """
        async with one_transaction(self._database) as connection:
            found = await self._lock(connection, objects)
        return [None if one is None else one[0] for one in found]

    async def mark(self, objects: Sequence[MarkedObject]) -> Sequence[Refused | None]:
        """Add the mark to each object, in one transaction. Returns the refusals."""
        async with one_transaction(self._database) as connection:
            found = await self._lock(connection, objects)
            unmarked = [each for each, one in zip(objects, found, strict=True) if one is not None and one[1] is None]
            await _execute(connection, unmarked, self._key_member, self._statements.set, self._statements.index)
        return [_refusal(each, one) for each, one in zip(objects, found, strict=True)]

    async def unmark(self, objects: Sequence[MarkedObject]) -> None:
        """Remove the mark from each object that has it.

        The further members go with it. Other objects stay unchanged.
        """
        async with one_transaction(self._database) as connection:
            found = await self._lock(connection, objects)
            marked = [
                each
                for each, one in zip(objects, found, strict=True)
                if one is not None and _is_same(one[1], each.mark.key)
            ]
            await _execute(connection, marked, self._members, self._statements.forget, self._statements.clear)

    async def _lock(
        self, connection: Connection, objects: Sequence[MarkedObject]
    ) -> Sequence[tuple[datetime, str | None] | None]:
        """Lock the objects and read the creation time and mark of each.

        None for an object that does not exist.
        """
        rows = await connection.fetch(self._statements.lock, *_columns(objects), self._key_member)
        return in_order({row["item"]: (row["created_at"], row["carried"]) for row in rows}, len(objects))


async def _execute(
    connection: Connection, objects: Sequence[MarkedObject], members: str | Sequence[str], *statements: str
) -> None:
    if objects:
        for statement in statements:
            await connection.execute(statement, *_columns(objects), members)


def _refusal(wanted: MarkedObject, found: tuple[datetime, str | None] | None) -> Refused | None:
    if found is not None and (found[1] is None or _is_same(found[1], wanted.mark.key)):
        return None
    code = "gone" if found is None else "alreadyManaged"
    return Refused(code, _SENTENCES[code].format(wanted.id))


def _is_same(carried: str | None, key: str) -> bool:
    """Compare marks case-insensitively, as lookups do."""
    return carried is not None and carried.lower() == key.lower()


def _columns(objects: Sequence[MarkedObject]) -> Columns:
    tenants, names, keys = mark_columns([one.mark for one in objects])
    return tenants, [one.id for one in objects], names, keys
