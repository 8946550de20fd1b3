"""Lists the groups of a tenant, and later the changed ones.

The client keeps the cursor. It contains snapshots of the database (see sql/group_changes.sql), so it is valid only in
this database.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import Pool, database_errors
from chamberlain.embedded.directory.errors import CursorUnknown
from chamberlain.embedded.directory.guests import SubjectShown, decode_subject
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


@dataclass(frozen=True, slots=True)
class ChangesShown:
    """A page of current and removed groups, with the next cursor.

    The last page is complete.
    """

    subjects: tuple[SubjectShown, ...]
    removed: tuple[UUID, ...]
    cursor: str
    is_complete: bool


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
    """The groups of all tenants and their changes."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read(self, tenant_id: UUID, extension: str, cursor: str | None, *, most: int) -> ChangesShown:
        """Read the page of the cursor.

        The groups have the values of this extension attribute. None starts a scan of all groups. Raises CursorUnknown
        and Unreachable.
        """
        place = None if cursor is None else _decode_cursor(cursor, tenant_id)
        rows = await self._fetch(tenant_id, extension, place, most + 1)
        now: str = rows[0]["snapshot"]
        if place is None:
            place = _Cursor(rows[0]["database"], tenant_id, scanned=now)
        elif place.database != rows[0]["database"]:
            raise CursorUnknown(_UNKNOWN)
        found = [row for row in rows if row["id"] is not None]
        page, is_complete = found[:most], len(found) <= most
        if is_complete:
            following = _Cursor(place.database, place.tenant, since=place.scanned or place.until or now)
        else:
            following = _after_page(place, page[-1], now)
        return ChangesShown(
            subjects=tuple(decode_subject(row["shown"]) for row in page if row["shown"] is not None),
            removed=tuple(row["id"] for row in page if row["shown"] is None),
            cursor=msgspec.json.encode(following).decode(),
            is_complete=is_complete,
        )

    async def _fetch(
        self, tenant_id: UUID, extension: str, place: _Cursor | None, most: int
    ) -> Sequence[asyncpg.Record]:
        start = (None,) * 4 if place is None else (place.since, place.until, place.after_change, place.after_id)
        try:
            with database_errors():
                return await self._pool.fetch(SQL["changes"], tenant_id, extension, *start, most)
        except asyncpg.DataError as error:
            # A forged cursor, with texts that are no snapshots.
            raise CursorUnknown(_UNKNOWN) from error


def _decode_cursor(cursor: str, tenant_id: UUID) -> _Cursor:
    try:
        place = _cursors.decode(cursor)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise CursorUnknown(_UNKNOWN) from error
    if place.tenant != tenant_id or (place.scanned is None) is (place.since is None):
        raise CursorUnknown(_UNKNOWN)
    return place


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
