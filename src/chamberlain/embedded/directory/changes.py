# SPDX-License-Identifier: Apache-2.0
"""Lists the groups of a tenant, changed groups and changed mailboxes.

The client keeps the cursor. It contains snapshots of the database (see sql/changed_groups.sql), so it is valid only in
this database.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import Connection, Pool, database_errors
from chamberlain.embedded.directory.errors import CursorUnknown
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


class SubjectSummaryShown(msgspec.Struct, frozen=True, rename="camel"):
    """A group without its guests, settings and site.

    `values` are those of the extension attribute in the query.
    """

    tenant_id: UUID
    id: UUID
    display_name: str
    mail: str | None
    visibility: str
    is_dynamic: bool
    is_team: bool
    is_site: bool
    values: dict[str, str]


_decode_summary = msgspec.json.Decoder(SubjectSummaryShown).decode


@dataclass(frozen=True, slots=True)
class ChangesShown:
    """A page of current and removed groups, with the next cursor.

    The last page is complete.
    """

    subjects: tuple[SubjectSummaryShown, ...]
    removed: tuple[UUID, ...]
    cursor: str
    is_complete: bool


@dataclass(frozen=True, slots=True)
class MailboxChangesShown:
    """The marks of changed and deleted mailboxes, with the next cursor.

    The last page is complete.
    """

    marks: tuple[str, ...]
    cursor: str
    is_complete: bool


@dataclass(frozen=True, slots=True)
class ChangedIds:
    """A page of the ids of current and removed objects.

    It has the next cursor. The last page is complete. `since` is the snapshot of the cursor of the page; None during a
    scan of all objects.
    """

    current: tuple[UUID, ...]
    removed: frozenset[UUID]
    cursor: str
    is_complete: bool
    since: str | None


@dataclass(frozen=True, slots=True)
class EndedMembership:
    """A user or group that has left a group.

    It is no longer a member, no longer an owner, or neither.
    """

    group_id: UUID
    member_id: UUID
    is_group: bool
    has_left: bool
    was_disowned: bool


class _Cursor(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A position in the groups of a tenant.

    During a scan of all groups, `scanned` is the snapshot of its start and `after_id` the last group returned. Later,
    `since` is the snapshot up to which all changes were returned. Between the pages of changes, `until` is the snapshot
    of the first page, and `after_change` with `after_id` the last change returned.
    """

    database: str
    tenant: UUID
    scanned: str | None = None
    since: str | None = None
    until: str | None = None
    after_change: str | None = None
    after_id: UUID | None = None


_cursors = msgspec.json.Decoder(_Cursor)


_UNKNOWN = "The directory does not know this cursor. Read all groups again."


class Changes:
    """The groups of all tenants and their changes, and changed mailboxes.

    Databases of one server share its identifier and its transactions. So a cursor of a database that `is_elsewhere` has
    the name of the database too: a tenant that gets another directory is scanned.
    """

    def __init__(self, pool: Pool, *, is_elsewhere: bool = False) -> None:
        self._pool = pool
        self._is_elsewhere = is_elsewhere

    async def read(self, tenant_id: UUID, extension: str, cursor: str | None, *, most: int) -> ChangesShown:
        """Read the page of the cursor.

        The groups have the values of this extension attribute. None starts a scan of all groups. Raises CursorUnknown
        and Unreachable.
        """
        place = None if cursor is None else _decode_cursor(cursor, tenant_id)
        rows = await self._fetch(SQL["changes"], place, tenant_id, extension, self._is_elsewhere, most=most)
        first = _Cursor(rows[0]["database"], tenant_id, scanned=rows[0]["snapshot"])
        page, following, is_complete = _page(rows, place or first, most)
        return ChangesShown(
            subjects=tuple(_decode_summary(row["shown"]) for row in page if row["shown"] is not None),
            removed=tuple(row["id"] for row in page if row["shown"] is None),
            cursor=following,
            is_complete=is_complete,
        )

    async def read_mailboxes(
        self, tenant_id: UUID, extensions: Sequence[str], cursor: str | None, *, key_member: str, most: int
    ) -> MailboxChangesShown:
        """Read the marks of mailboxes that changed since the cursor.

        Deleted mailboxes are included. The marks are the values of `key_member` in these extension attributes, before
        and after the change. None starts at later changes. Raises CursorUnknown and Unreachable.
        """
        place = None if cursor is None else _decode_cursor(cursor, tenant_id)
        values = extensions, key_member, self._is_elsewhere
        rows = await self._fetch(SQL["mailbox_changes"], place, tenant_id, *values, most=most)
        first = _Cursor(rows[0]["database"], tenant_id, since=rows[0]["snapshot"])
        page, following, is_complete = _page(rows, place or first, most)
        return MailboxChangesShown(tuple([mark for row in page for mark in row["marks"]]), following, is_complete)

    async def changed_tenants(self, cursors: Mapping[UUID, tuple[str, str]]) -> frozenset[UUID]:
        """Return the tenants with changes after both cursors.

        They are those of groups and of mailboxes. A tenant with a cursor that this database cannot compare is included.
        Raises Unreachable.
        """
        with database_errors():
            database = await self._pool.fetchval(SQL["database"])
        places = {tenant_id: _since(tenant_id, pair, database) for tenant_id, pair in cursors.items()}
        known = {tenant_id: since for tenant_id, since in places.items() if since is not None}
        snapshots, mailbox_snapshots = [each for each, _ in known.values()], [each for _, each in known.values()]
        with database_errors():
            rows = await self._pool.fetch(SQL["changed_tenants"], list(known), snapshots, mailbox_snapshots)
        return frozenset([*(cursors.keys() - known.keys()), *[row["tenant_id"] for row in rows]])

    async def _fetch(
        self, statement: str, place: _Cursor | None, tenant_id: UUID, *values: object, most: int
    ) -> Sequence[asyncpg.Record]:
        """Read one row more than a page, and at least one."""
        start = (None,) * 4 if place is None else (place.since, place.until, place.after_change, place.after_id)
        try:
            with database_errors():
                return await self._pool.fetch(statement, tenant_id, *start, most + 1, *values)
        except asyncpg.DataError as error:
            # A forged cursor, with texts that are no snapshots.
            raise CursorUnknown(_UNKNOWN) from error


def _since(tenant_id: UUID, cursors: tuple[str, str], database: str) -> tuple[str, str] | None:
    """Return the snapshots of both cursors.

    None if one is between two pages, or of another database.
    """
    try:
        groups, mailboxes = (_decode_cursor(cursor, tenant_id) for cursor in cursors)
    except CursorUnknown:
        return None
    if {groups.database, mailboxes.database} != {database} or groups.until is not None or mailboxes.until is not None:
        return None
    return None if groups.since is None or mailboxes.since is None else (groups.since, mailboxes.since)


async def read_changed_groups(connection: Connection, tenant_id: UUID, cursor: str | None, *, most: int) -> ChangedIds:
    """Read the page of the cursor, with the ids of groups.

    None starts a scan of all groups. Raises CursorUnknown.
    """
    return await _read_ids(connection, SQL["changed_group_ids"], tenant_id, cursor, most)


async def read_changed_users(connection: Connection, tenant_id: UUID, cursor: str | None, *, most: int) -> ChangedIds:
    """Read the page of the cursor, with the ids of users.

    None starts a scan of all users. Raises CursorUnknown.
    """
    return await _read_ids(connection, SQL["changed_user_ids"], tenant_id, cursor, most)


async def _read_ids(
    connection: Connection, statement: str, tenant_id: UUID, cursor: str | None, most: int
) -> ChangedIds:
    place = None if cursor is None else _decode_cursor(cursor, tenant_id)
    start = (None,) * 4 if place is None else (place.since, place.until, place.after_change, place.after_id)
    try:
        rows = await connection.fetch(statement, tenant_id, *start, most + 1)
    except asyncpg.DataError as error:
        raise CursorUnknown(_UNKNOWN) from error
    first = _Cursor(rows[0]["database"], tenant_id, scanned=rows[0]["snapshot"])
    page, following, is_complete = _page(rows, place or first, most)
    return ChangedIds(
        # A user can be there twice.
        current=tuple(dict.fromkeys(row["id"] for row in page if not row["is_removed"])),
        removed=frozenset(row["id"] for row in page if row["is_removed"]),
        cursor=following,
        is_complete=is_complete,
        since=None if place is None else place.since,
    )


async def read_latest(connection: Connection, tenant_id: UUID) -> str:
    """Return a cursor that starts at later changes."""
    [row] = await connection.fetch(SQL["latest"])
    return msgspec.json.encode(_Cursor(row["database"], tenant_id, since=row["snapshot"])).decode()


async def read_ended_memberships(
    connection: Connection, tenant_id: UUID, group_ids: Sequence[UUID], since: str
) -> Sequence[EndedMembership]:
    """Read the memberships of these groups that ended after a snapshot."""
    rows = await connection.fetch(SQL["ended_memberships"], tenant_id, group_ids, since)
    return [EndedMembership(**row) for row in rows if row["has_left"] or row["was_disowned"]]


def _decode_cursor(cursor: str, tenant_id: UUID) -> _Cursor:
    try:
        place = _cursors.decode(cursor)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise CursorUnknown(_UNKNOWN) from error
    if place.tenant != tenant_id or (place.scanned is None) is (place.since is None):
        raise CursorUnknown(_UNKNOWN)
    return place


def _page(rows: Sequence[asyncpg.Record], place: _Cursor, most: int) -> tuple[Sequence[asyncpg.Record], str, bool]:
    """Return the rows of a page, and the next cursor.

    The last value says whether the page is the last one.
    """
    if place.database != rows[0]["database"]:
        raise CursorUnknown(_UNKNOWN)
    now: str = rows[0]["snapshot"]
    found = [row for row in rows if row["id"] is not None]
    page, is_complete = found[:most], len(found) <= most
    if is_complete:
        following = _Cursor(place.database, place.tenant, since=place.scanned or place.until or now)
    else:
        following = _after_page(place, page[-1], now)
    return page, msgspec.json.encode(following).decode(), is_complete


def _after_page(place: _Cursor, last: asyncpg.Record, now: str) -> _Cursor:
    if place.scanned is not None:
        return _Cursor(place.database, place.tenant, scanned=place.scanned, after_id=last["id"])
    return _Cursor(
        place.database,
        place.tenant,
        since=place.since,
        until=place.until or now,
        after_change=last["change"],
        after_id=last["id"],
    )
