# SPDX-License-Identifier: Apache-2.0
"""Read the audit trail: pages, newest first, and exports.

A page costs the same for any number of rows. It is found by the columns of the chain that seals the trail (rules.py).
The few rows since the last seal are scanned.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.audit.models import AuditClient, AuditFilter, AuditRecord, AuditSeal
from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Subject
from chamberlain.core.ids import ClientId, RequestId, TenantId, TraceId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import PLANNING, Record, Transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# $1 tenant, $2 and $3 the position (null at the beginning), $4 actor, $5 subject, $6 action, $7 and $8 the times, $9
# number of rows. Null matches everything; each call is planned for its own values.
_BEHIND: Final = "($2::timestamptz IS NULL OR (r.at, r.sequence) < ($2, $3::bigint))"
_WITHIN: Final = "($7::timestamptz IS NULL OR r.at >= $7) AND ($8::timestamptz IS NULL OR r.at < $8)"
_NEWEST: Final = "ORDER BY r.at DESC, r.sequence DESC LIMIT $9"
_OF_ACTOR: Final = "r.actor_id = $4::text"
_OF_SUBJECT: Final = "r.subject_id = $5::text"
_OF_ANY_ACTOR: Final = "($4::text IS NULL OR r.actor_id = $4)"
_OF_ANY_ACTION: Final = '($6::text IS NULL OR r.action COLLATE "C" = $6)'

# The actions in use, with one index probe each.
_ACTIONS: Final = """
SELECT $6::text AS action WHERE $6 IS NOT NULL UNION ALL SELECT known.action FROM (
    WITH RECURSIVE known AS (
        (SELECT s.action FROM chamberlain.audit_seal s WHERE s.tenant_id = $1 ORDER BY s.action COLLATE "C" LIMIT 1)
        UNION ALL
        SELECT (
            SELECT s.action FROM chamberlain.audit_seal s
            WHERE s.tenant_id = $1 AND s.action COLLATE "C" > known.action COLLATE "C"
            ORDER BY s.action COLLATE "C" LIMIT 1
        ) FROM known WHERE known.action IS NOT NULL
    )
    SELECT known.action FROM known WHERE known.action IS NOT NULL
) known WHERE $6 IS NULL
"""


def _newest(*conditions: str) -> str:
    return f"""SELECT r.at, r.sequence FROM chamberlain.audit_seal r
    WHERE r.tenant_id = $1 AND {_BEHIND} AND {_WITHIN} AND {" AND ".join(conditions)} {_NEWEST}"""  # noqa: S608 - ours


def _merged(*conditions: str) -> str:
    """Select the newest of each action, then the newest of these."""
    of_action = _newest('r.action COLLATE "C" = wanted.action COLLATE "C"', *conditions)
    return f"SELECT r.at, r.sequence FROM ({_ACTIONS}) wanted CROSS JOIN LATERAL ({of_action}) r {_NEWEST}"  # noqa: S608 - ours


# Rows without a seal: above $10, and not in the snapshot $11 of the last look. Searching the text for an id first
# takes a fraction of the time. Each row's seal is looked up, whatever the planner believes.
_WAITING: Final = f"""
SELECT r.at, r.sequence FROM chamberlain.audit r
WHERE r.tenant_id = $1 AND r.sequence > $10 AND NOT pg_visible_in_snapshot(r.written_in, $11::text::pg_snapshot)
AND {_BEHIND} AND {_WITHIN} AND {_OF_ANY_ACTION}
AND ($4::text IS NULL OR strpos(r.payload::text, $4) > 0 AND chamberlain.readable(r.payload) -> 'actor' ->> 'id' = $4)
AND ($5::text IS NULL OR strpos(r.payload::text, $5) > 0 AND chamberlain.readable(r.payload) -> 'subject' ->> 'id' = $5)
AND (SELECT s.position FROM chamberlain.audit_seal s WHERE s.tenant_id = $1 AND s.sequence = r.sequence) IS NULL
{_NEWEST}
"""  # noqa: S608 - text of ours alone.


_COLUMNS: Final = """
a.sequence, a.tenant_id, a.at, a.action, a.request_id, a.trace_id, a.payload, s.previous, s.digest
"""


def _page_of(sealed: str) -> str:
    """Select the rows at these positions and the unsealed ones, in order.

    A removed row leaves its position.
    """
    return f"""
    SELECT place.at AS place_at, place.sequence AS place_sequence, found.* FROM (
        SELECT r.at, r.sequence FROM (({sealed}) UNION ALL ({_WAITING})) r {_NEWEST}
    ) place LEFT JOIN LATERAL (
        SELECT {_COLUMNS} FROM chamberlain.audit a
        LEFT JOIN chamberlain.audit_seal s ON s.tenant_id = $1 AND s.sequence = a.sequence
        WHERE a.tenant_id = $1 AND a.sequence = place.sequence OFFSET 0
    ) found ON true
    ORDER BY place.at DESC, place.sequence DESC
    """  # noqa: S608 - text of ours alone.


BY_ACTION: Final = _page_of(_merged("true"))
BY_ACTOR: Final = _page_of(_merged(_OF_ACTOR))
BY_SUBJECT: Final = _page_of(_newest(_OF_SUBJECT, _OF_ANY_ACTOR, _OF_ANY_ACTION))


# The matching rows of a window. $2 and $3 are its ends; the other parameters are those above.
FIND_ROWS: Final = f"""
SELECT {_COLUMNS} FROM chamberlain.audit a LEFT JOIN LATERAL (
    SELECT s.previous, s.digest FROM chamberlain.audit_seal s
    WHERE s.tenant_id = $1 AND s.sequence = a.sequence OFFSET 0
) s ON true
WHERE a.tenant_id = $1 AND a.sequence > $2 AND a.sequence <= $3
AND ($4::text IS NULL OR chamberlain.readable(a.payload) -> 'actor' ->> 'id' = $4)
AND ($5::text IS NULL OR chamberlain.readable(a.payload) -> 'subject' ->> 'id' = $5)
AND ($6::text IS NULL OR a.action = $6)
AND ($7::timestamptz IS NULL OR a.at >= $7) AND ($8::timestamptz IS NULL OR a.at < $8)
ORDER BY a.sequence
"""  # noqa: S608 - text of ours alone.

# A fraction of a second, and about a megabyte.
WINDOW: Final = 1_000


async def find_page(tx: Transaction, wanted: AuditFilter, page: PageWanted) -> Page[AuditRecord]:
    """Find a page of matching rows, newest first."""
    await tx.execute(PLANNING)
    statement, values = await page_statement(tx, wanted, page)
    rows = await tx.fetch(statement, *values)
    records = [record_of(row) for row in rows[: page.limit] if row["sequence"] is not None]
    if len(rows) <= page.limit:
        return Page(records, None)
    last = rows[page.limit - 1]
    return Page(records, Position(last["place_at"], UUID(int=last["place_sequence"])))


async def page_statement(tx: Transaction, wanted: AuditFilter, page: PageWanted) -> tuple[str, tuple[object, ...]]:
    """Return the statement and values for a page plus one row."""
    (look,) = await tx.fetch(SQL["find_look"], tx.tenant_id)
    after = page.after
    # A cursor contains an id: the sequence as a number of 128 bits.
    place = (None, None) if after is None else (after.created_at, after.id.int)
    values = (tx.tenant_id, *place, *_conditions(wanted), page.limit + 1, look["low"], look["snapshot"])
    return _statement(wanted), values


async def find_last(tx: Transaction) -> int | None:
    """Find the highest sequence."""
    (row,) = await tx.fetch(SQL["find_last"], tx.tenant_id)
    return None if row["last"] is None else int(row["last"])


async def find_window(
    tx: Transaction, wanted: AuditFilter, after: int, last: int
) -> tuple[Sequence[AuditRecord], int | None]:
    """Find the matching rows of the next window, and the window's end.

    The end is None for the last window.
    """
    await tx.execute(PLANNING)
    (window,) = await tx.fetch(SQL["find_window"], tx.tenant_id, after, last, WINDOW)
    if not window["number"]:
        return (), None
    rows = await tx.fetch(FIND_ROWS, tx.tenant_id, after, window["last"], *_conditions(wanted))
    return [record_of(row) for row in rows], window["last"] if window["number"] == WINDOW else None


def _conditions(wanted: AuditFilter) -> tuple[object, ...]:
    actor = None if wanted.actor_id is None else str(wanted.actor_id)
    subject = None if wanted.subject_id is None else str(wanted.subject_id)
    return actor, subject, wanted.action, wanted.since, wanted.until


def _statement(wanted: AuditFilter) -> str:
    """Choose the index: one subject has few rows, one actor many."""
    if wanted.subject_id is not None:
        return BY_SUBJECT
    return BY_ACTION if wanted.actor_id is None else BY_ACTOR


class _Person(msgspec.Struct):
    type: ActorType
    id: UUID | None
    display_name: str = msgspec.field(name="displayName")


class _Program(msgspec.Struct):
    id: str


class _Thing(msgspec.Struct):
    type: str
    id: UUID | None
    display_name: str = msgspec.field(name="displayName")


class _Payload(msgspec.Struct):
    """The part that may name users.

    An erased payload has the trace of the erasure only.
    """

    actor: _Person | None = None
    client: _Program | None = None
    subject: _Thing | None = None
    before: msgspec.Raw = msgspec.Raw(b"null")
    after: msgspec.Raw = msgspec.Raw(b"null")
    client_address: str | None = msgspec.field(name="clientAddress", default=None)
    erased: str | None = None


_decode = msgspec.json.Decoder(_Payload).decode


def record_of(row: Record) -> AuditRecord:
    """Decode one row."""
    payload = _payload(row["payload"])
    is_erased = payload.erased is not None
    if is_erased:
        # Other content of an erased payload is forged.
        payload = _Payload()
    actor, client, subject = payload.actor, payload.client, payload.subject
    return AuditRecord(
        sequence=row["sequence"],
        at=row["at"],
        tenant_id=TenantId(row["tenant_id"]),
        action=row["action"],
        actor=None if actor is None else Actor(actor.type, actor.id, actor.display_name),
        client=None if client is None else AuditClient(ClientId(client.id), ""),
        subject=None if subject is None else Subject(subject.type, subject.id, subject.display_name),
        before=_unless_null(payload.before),
        after=_unless_null(payload.after),
        request_id=None if row["request_id"] is None else RequestId(row["request_id"]),
        trace_id=TraceId(row["trace_id"]),
        client_address=payload.client_address,
        seal=None if row["digest"] is None else AuditSeal(bytes(row["previous"]), bytes(row["digest"])),
        is_erased=is_erased,
    )


def _payload(text: str) -> _Payload:
    """Decode a payload.

    An invalid one is empty here; `verify` reports it.
    """
    try:
        return _decode(text)
    except msgspec.MsgspecError:
        return _Payload()


def _unless_null(value: msgspec.Raw) -> bytes | None:
    return None if bytes(value) == b"null" else bytes(value)
