# SPDX-License-Identifier: Apache-2.0
"""Paginate mailboxes, newest first, at a constant cost.

See requests/store.py for the method. A list by prefix scans spans of mailboxes, see sql/mailbox_lists.sql. Until the
`post` migrations have built its indexes, it sorts a rare prefix and scans from the newest mailbox for a frequent one.
"""

from enum import Enum, auto
from typing import Final
from uuid import UUID

from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.keyset import BEHIND, NEWEST, merged
from chamberlain.database.transactions import PLANNING, Transaction
from chamberlain.directory.mailboxes import MailboxType
from chamberlain.mailboxes.models import MailboxFilter, MailboxRecord, ProvisioningState, request_states_of
from chamberlain.mailboxes.records import COLUMNS, record_of
from chamberlain.mailboxes.rules import comparison_form
from chamberlain.queries import load_queries
from chamberlain.queue.jobs import are_few_due

SQL = load_queries(__name__)

# This many mailboxes are sorted or looked up in a few milliseconds.
FEW: Final = 1_000

# $1 tenant, $2 and $3 the position (null at the beginning), $4 reader, $5 types, $6 states of their requests, $7 number
# of rows, $8 and $9 how the name or an address begins.
_EVERYBODYS: Final = "$4::uuid IS NULL"
_STATE: Final = "coalesce((SELECT q.state FROM chamberlain.request q WHERE q.request_id = r.request_id), 'succeeded')"
_IN_STATES: Final = f"($6::text[] IS NULL OR {_STATE} = ANY ($6))"
# A scalar subquery, which is run for each row: the planner makes a hash table of all mailboxes out of an EXISTS.
_BEGINS: Final = """($8::text IS NULL OR coalesce((
    SELECT starts_with(b.name_key, $8) OR starts_with(b.address, $9::text) OR coalesce(starts_with(b.alias, $9), false)
    FROM chamberlain.mailbox b WHERE b.request_id = r.request_id
), false))"""
_READABLE: Final = """($4::uuid IS NULL OR coalesce((
    SELECT $4 = ANY (b.readers) FROM chamberlain.mailbox b WHERE b.request_id = r.request_id
), false))"""
_MAILBOXES: Final = "chamberlain.mailbox"
_READERS: Final = "chamberlain.mailbox_reader"
_BY_STATE: Final = "chamberlain.request_by_state"


def _page_of(places: str) -> str:
    """Select the mailboxes at these places, in order.

    OFFSET 0 keeps the planner from reversing the join.
    """
    return f"""
    SELECT m.* FROM ({places}) place CROSS JOIN LATERAL (
        SELECT {COLUMNS} FROM chamberlain.mailbox m LEFT JOIN chamberlain.request q USING (request_id)
        WHERE m.request_id = place.request_id OFFSET 0
    ) m
    ORDER BY place.created_at DESC, place.request_id DESC
    """  # noqa: S608 - text of ours alone.


# Names have 64 characters, and none of another kind is folded to this one.
_BEHIND_ALL: Final = "repeat(chr(1114111), 65)"


def _beginning(name: str, address: str) -> str:
    """Select all mailboxes with the prefix, one index at a time.

    The upper bound has more of the highest code point than a name can have characters.
    """
    parts = [
        f"""SELECT m.request_id FROM chamberlain.mailbox m WHERE m.tenant_id = $1
        AND m.{column} COLLATE "C" >= {value}::text AND m.{column} COLLATE "C" < {value} || {_BEHIND_ALL}"""  # noqa: S608
        for column, value in (("name_key", name), ("address", address), ("alias", address))
    ]
    return " UNION ALL ".join(parts)


COUNT_OF_READER: Final = f"""
SELECT count(*) AS number FROM (
    SELECT FROM chamberlain.mailbox_reader r WHERE r.tenant_id = $1 AND r.user_id = $2 LIMIT {FEW + 1}
) found
"""  # noqa: S608 - text of ours alone.
COUNT_IN_STATE: Final = f"""
SELECT count(*) AS number FROM (
    SELECT FROM chamberlain.request_by_state r WHERE r.tenant_id = $1 AND r.state = ANY ($2) AND r.kind = ANY ($3)
    LIMIT {FEW + 1}
) found
"""  # noqa: S608 - text of ours alone.
COUNT_FEW: Final = f"SELECT count(*) AS number FROM ({_beginning('$2', '$3')} LIMIT {FEW + 1}) found"  # noqa: S608

ALL: Final = _page_of(merged(_MAILBOXES, _EVERYBODYS, _IN_STATES, _BEGINS))
OF_READER: Final = _page_of(merged(_READERS, "r.user_id = $4", _IN_STATES, _BEGINS))
BY_STATE: Final = _page_of(merged(_BY_STATE, _READABLE, "r.state = ($6::text[])[1]", _BEGINS))
# Queued and running requests have a due job. A waiting one may have a job that is due again.
UNDER_WAY: Final = _page_of(f"""
    WITH under_way AS MATERIALIZED (
        SELECT r.created_at, r.request_id FROM (
            SELECT j.subject FROM chamberlain.job j
            WHERE j.tenant_id = $1 AND j.held_reason IS NULL AND j.lane IS NULL AND j.run_at <= now()
            UNION ALL
            SELECT j.subject FROM chamberlain.job j WHERE j.tenant_id = $1 AND j.held_reason IS NOT NULL
        ) job CROSS JOIN LATERAL (
            SELECT q.created_at, q.request_id, q.kind, q.state FROM chamberlain.request q
            WHERE q.request_id = job.subject OFFSET 0
        ) r
        WHERE r.kind = ANY ($5::text[]) AND r.state = ANY ($6::text[]) AND r.state <> 'waiting'
    )
    SELECT r.created_at, r.request_id FROM (
        SELECT created_at, request_id FROM under_way
        UNION ALL
        ({merged(_BY_STATE, "'waiting' = ANY ($6)", "r.state = 'waiting'", _BEGINS)})
    ) r
    WHERE {BEHIND} AND {_READABLE} AND {_BEGINS} {NEWEST}
""")  # noqa: S608 - text of ours alone.
FEW_BEGINNING: Final = _page_of(f"""
    SELECT r.created_at, r.request_id FROM (SELECT DISTINCT request_id FROM ({_beginning("$8", "$9")}) b) found
    CROSS JOIN LATERAL (
        SELECT m.created_at, m.request_id, m.kind, m.readers FROM chamberlain.mailbox m
        WHERE m.request_id = found.request_id OFFSET 0
    ) r
    WHERE r.kind = ANY ($5::text[]) AND ({_EVERYBODYS} OR $4 = ANY (r.readers)) AND {_IN_STATES} AND {BEHIND} {NEWEST}
""")  # noqa: S608 - text of ours alone.

BEGINNING: Final = f"""
SELECT m.* FROM chamberlain.mailboxes_beginning($1, $8, $9, $5::text[], $6::text[], $4::uuid, $2, $3, $7)
    WITH ORDINALITY AS place (created_at, request_id, number)
CROSS JOIN LATERAL (
    SELECT {COLUMNS} FROM chamberlain.mailbox m LEFT JOIN chamberlain.request q USING (request_id)
    WHERE m.request_id = place.request_id OFFSET 0
) m
ORDER BY place.number
"""  # noqa: S608 - text of ours alone.


class Route(Enum):
    """The query plan of a page.

    All return the same list; each is quick for other numbers of mailboxes.
    """

    WALK = auto()
    """Scan from the newest, of the tenant or of a reader."""
    ELSEWHERE = auto()
    """Read the few in a state from a table or from jobs."""
    OF_READER = auto()
    """Scan the mailboxes of a reader with few."""
    FEW_BEGINNING = auto()
    """Sort the few with the prefix."""
    SPANS = auto()
    """Scan spans, newest first."""


async def find_page(
    tx: Transaction, wanted: MailboxFilter, *, reader: UUID | None, page: PageWanted
) -> Page[MailboxRecord]:
    """Read a page of matching mailboxes, of all or one reader."""
    await tx.execute(PLANNING)
    route = await find_route(tx, wanted, reader)
    statement, values = page_statement(tx, wanted, reader, page, route)
    rows = await tx.fetch(statement, *values)
    records = [record_of(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(records, None)
    # The request id breaks ties, because other tables have it too.
    return Page(records, Position(records[-1].created_at, records[-1].request_id))


async def find_route(tx: Transaction, wanted: MailboxFilter, reader: UUID | None) -> Route:
    """Choose the query plan by the number of scanned mailboxes."""
    if reader is not None and await _reads_few(tx, reader):
        return Route.OF_READER
    if wanted.provisioning_state is not None and await _is_quick_by_state(tx, wanted, wanted.provisioning_state):
        return Route.ELSEWHERE
    if wanted.prefix is None:
        return Route.WALK
    (row,) = await tx.fetch(SQL["spans_ready"])
    if row["ready"]:
        return Route.SPANS
    return Route.FEW_BEGINNING if await _few_begin(tx, wanted.prefix) else Route.WALK


def page_statement(
    tx: Transaction, wanted: MailboxFilter, reader: UUID | None, page: PageWanted, route: Route
) -> tuple[str, tuple[object, ...]]:
    """Return the statement that reads a page plus one row."""
    after = page.after
    place = (None, None) if after is None else (after.created_at, after.id)
    kinds = _kinds(wanted)
    states = None if wanted.provisioning_state is None else sorted(request_states_of(wanted.provisioning_state))
    prefixes = (None, None) if wanted.prefix is None else _prefixes(wanted.prefix)
    values = (tx.tenant_id, *place, reader, kinds, states, page.limit + 1, *prefixes)
    match route:
        case Route.SPANS:
            return BEGINNING, values
        case Route.FEW_BEGINNING:
            return FEW_BEGINNING, values
        case Route.OF_READER:
            return OF_READER, values
        case Route.ELSEWHERE:
            return UNDER_WAY if _is_under_way(wanted.provisioning_state) else BY_STATE, values
        case Route.WALK:
            return ALL if reader is None else OF_READER, values


async def _is_quick_by_state(tx: Transaction, wanted: MailboxFilter, state: ProvisioningState) -> bool:
    """Return whether a list by state scans few rows."""
    if state is ProvisioningState.ACTIVE:
        return False
    if _is_under_way(state):
        return await are_few_due(tx)
    if wanted.prefix is None:
        return True
    (row,) = await tx.fetch(COUNT_IN_STATE, tx.tenant_id, sorted(request_states_of(state)), _kinds(wanted))
    return int(row["number"]) <= FEW


async def _reads_few(tx: Transaction, reader: UUID) -> bool:
    (row,) = await tx.fetch(COUNT_OF_READER, tx.tenant_id, reader)
    return int(row["number"]) <= FEW


async def _few_begin(tx: Transaction, prefix: str) -> bool:
    (row,) = await tx.fetch(COUNT_FEW, tx.tenant_id, *_prefixes(prefix))
    return int(row["number"]) <= FEW


def _prefixes(prefix: str) -> tuple[str, str]:
    """Return the prefix in comparison form, and as for addresses."""
    return comparison_form(prefix), prefix.lower()


def _kinds(wanted: MailboxFilter) -> list[MailboxType]:
    return list(MailboxType) if wanted.type is None else [wanted.type]


def _is_under_way(state: ProvisioningState | None) -> bool:
    """Return whether mailboxes in this state are found by their jobs."""
    return state in (ProvisioningState.QUEUED, ProvisioningState.PROVISIONING)
