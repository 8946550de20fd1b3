"""Which groups of a tenant there are, page by page, and from then on which have changed.

Whoever asks keeps a cursor between two questions; nothing is kept here for them. The cursor holds snapshots of the
database (see sql/group_changes.sql), so it is worth nothing in another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import Pool, answering
from chamberlain.embedded.directory.errors import CursorUnknown
from chamberlain.embedded.directory.guests import SubjectShown, decode_subject


@dataclass(frozen=True, slots=True)
class ChangesShown:
    """A page: groups as they are now, those that are gone, and the cursor for what follows. It is complete when nothing
    is left at present."""

    subjects: tuple[SubjectShown, ...]
    removed: tuple[UUID, ...]
    cursor: str
    is_complete: bool


class _Cursor(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A place in the groups of a tenant.

    In a scan of all of them `scanned` is the snapshot that it began with, and `after_id` the last group that was told.
    Later `since` is the snapshot up to which everything was told; while pages are read, `until` is that of the first of
    them, and `after_change` with `after_id` the last change that was told.
    """

    database: str
    tenant: UUID
    scanned: str | None = None
    since: str | None = None
    until: str | None = None
    after_change: str | None = None
    after_id: UUID | None = None


_cursors = msgspec.json.Decoder(_Cursor)

# The join answers with one row of nothing where nothing has changed: the snapshot is needed all the same.
_CHANGES = """
SELECT d.system_identifier::text AS database, pg_current_snapshot()::text AS snapshot, c.change, c.id, c.shown
FROM pg_control_system() AS d
LEFT JOIN directory.group_changes(
    $1, $2, $3::text::pg_snapshot, $4::text::pg_snapshot, $5::text::xid8, $6, $7) AS c ON true
"""

_UNKNOWN = "The directory does not know this place in its changes any more. Read all groups again."


class Changes:
    """The groups of all tenants, for those who follow them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read(self, tenant_id: UUID, extension: str, cursor: str | None, *, most: int) -> ChangesShown:
        """The page behind the cursor, with the values of this extension attribute; from None on, all groups, and then
        what changes. Raises CursorUnknown and Unreachable."""
        place = None if cursor is None else _place(cursor, tenant_id)
        rows = await self._rows(tenant_id, extension, place, most + 1)
        now: str = rows[0]["snapshot"]
        if place is None:
            place = _Cursor(rows[0]["database"], tenant_id, scanned=now)
        elif place.database != rows[0]["database"]:
            raise CursorUnknown(_UNKNOWN)
        told = [row for row in rows if row["id"] is not None]
        page = told[:most]
        return ChangesShown(
            subjects=tuple(decode_subject(row["shown"]) for row in page if row["shown"] is not None),
            removed=tuple(row["id"] for row in page if row["shown"] is None),
            cursor=_written(_behind(place, page, now) if len(told) > most else _from(place, now)),
            is_complete=len(told) <= most,
        )

    async def _rows(
        self, tenant_id: UUID, extension: str, place: _Cursor | None, most: int
    ) -> Sequence[asyncpg.Record]:
        since, until, change, after = (
            (None, None, None, None)
            if place is None
            else (place.since, place.until, place.after_change, place.after_id)
        )
        try:
            with answering():
                return await self._pool.fetch(_CHANGES, tenant_id, extension, since, until, change, after, most)
        except asyncpg.DataError as error:
            # Somebody else's cursor, with texts in it that are no snapshots.
            raise CursorUnknown(_UNKNOWN) from error


def _place(cursor: str, tenant_id: UUID) -> _Cursor:
    try:
        place = _cursors.decode(cursor)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise CursorUnknown(_UNKNOWN) from error
    if place.tenant != tenant_id or (place.scanned is None) is (place.since is None):
        raise CursorUnknown(_UNKNOWN)
    return place


def _behind(place: _Cursor, page: Sequence[asyncpg.Record], now: str) -> _Cursor:
    """The place behind a page that is not the last."""
    last = page[-1]
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


def _from(place: _Cursor, now: str) -> _Cursor:
    """The place from which changes are told after the last page: what was changed since the first page was read."""
    return _Cursor(place.database, place.tenant, since=place.scanned or place.until or now)


def _written(place: _Cursor) -> str:
    return msgspec.json.encode(place).decode()
