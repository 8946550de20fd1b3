# SPDX-License-Identifier: Apache-2.0
"""Paginate requests, newest first, at a constant cost; SQL of approvals.

Pagination uses a keyset cursor, never an offset, and every filter is a prefix of an index. Rare states are read from
`request_by_state`, requests to decide from `request_approver`. Queued and running requests are found by their jobs.
Lists by prefix scan buckets of requests, see sql/request_lists.sql, unless the other filters select few requests. Until
the `post` migrations have built the indexes, they scan from the newest request.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Final
from uuid import UUID

from msgspec import Struct

from chamberlain.core.errors import Unauthenticated
from chamberlain.core.ids import RequestId, TenantId, TraceId, UserId
from chamberlain.core.json import StoredDecoder
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.batching import Batcher
from chamberlain.database.connection import no_database
from chamberlain.database.keyset import BEHIND, NEWEST, merged, newest
from chamberlain.database.transactions import ACQUIRED_WITHIN, Database, Record, Transaction
from chamberlain.queries import load_queries
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.jobs import are_few_due
from chamberlain.requests import records
from chamberlain.requests.approvals import current_level, deadline_of
from chamberlain.requests.models import (
    ApprovalRule,
    ApprovalState,
    RequestFilter,
    RequestKind,
    RequestRecord,
    RequestState,
    job_kind_of,
)
from chamberlain.requests.records import SELECT, record_of
from chamberlain.requests.schema import ApprovalShape, to_approval_rule
from chamberlain.tenants import records as tenant_records

SQL = load_queries(__name__)

_IN_ANY_STATE: Final = "($6::text IS NULL OR r.state = $6)"
_IN_STATE: Final = "r.state = $6"
_EVERYBODYS: Final = "$4::uuid IS NULL"
_OWN: Final = "r.actor_id = $4"
_OF_ANY_KIND: Final = "$5::text[] IS NULL"
# The comparisons of rows begin and end at the least id. Without statistics, the planner takes a range between two times
# for narrow, and scans it instead of the index of the other filter.
_LEAST_ID: Final = "'00000000-0000-0000-0000-000000000000'::uuid"
_WITHIN: Final = f"""($9::timestamptz IS NULL OR (r.created_at, r.request_id) >= ($9, {_LEAST_ID}))
    AND ($10::timestamptz IS NULL OR (r.created_at, r.request_id) < ($10, {_LEAST_ID}))"""
_PREFIX: Final = """(starts_with(lower({0}.display_name), lower($8))
    OR coalesce(starts_with(lower({0}.address), lower($8)), false))"""
_BEGINS: Final = f"($8::text IS NULL OR {_PREFIX.format('r')})"
# A scalar subquery, which is run for each row: the planner makes a hash table of all requests out of an EXISTS.
_BEGINS_ELSEWHERE: Final = f"""($8::text IS NULL OR coalesce((
    SELECT {_PREFIX.format("b")} FROM chamberlain.request b WHERE b.request_id = r.request_id
), false))"""  # noqa: S608 - text of ours alone.


def _page_of(places: str) -> str:
    """Select the requests at these places, in order.

    Bodies and approvals may be large and are left out. So are steps, unless there are shortfalls to count. OFFSET 0
    keeps the planner from reversing the join.
    """
    return f"""
    SELECT r.request_id, r.tenant_id, r.approval_required, r.kind, r.state, r.display_name, r.template_id,
        r.template_name, '{{}}' AS body, r.waiting, r.blocked, r.error, r.warnings, r.result, r.steps,
        r.created_at, r.actor_type, r.actor_id, r.actor_name, r.client_id, r.updated_at, r.finished_at,
        NULL AS approvals, NULL AS made, r.warning_causes, r.template_revision
    FROM ({places}) place CROSS JOIN LATERAL (
        SELECT r.request_id, r.tenant_id, r.approval_required, r.kind, r.state, r.display_name, r.template_id,
            r.template_name, r.waiting, r.blocked, r.error, r.warnings, r.result, r.created_at, r.actor_type,
            r.actor_id, r.actor_name, r.client_id, r.updated_at, r.finished_at, r.warning_causes,
            r.template_revision,
            CASE WHEN r.state = 'succeeded' AND strpos(r.steps::text, '"warning"') > 0 THEN r.steps ELSE '[]' END
                AS steps
        FROM chamberlain.request r WHERE r.request_id = place.request_id OFFSET 0
    ) r
    ORDER BY place.created_at DESC, place.request_id DESC
    """  # noqa: S608 - text of ours alone.


_REQUESTS: Final = "chamberlain.request"
_BY_STATE: Final = "chamberlain.request_by_state"

_HERE: Final = (_WITHIN, _BEGINS)
_ELSEWHERE: Final = (_WITHIN, _BEGINS_ELSEWHERE)

ALL: Final = _page_of(newest(_REQUESTS, _EVERYBODYS, _OF_ANY_KIND, _IN_ANY_STATE, *_HERE))
OF_KIND: Final = _page_of(merged(_REQUESTS, _EVERYBODYS, _IN_ANY_STATE, *_HERE))
OF_OWNER: Final = _page_of(merged(_REQUESTS, _OWN, _IN_ANY_STATE, *_HERE))
BY_STATE: Final = _page_of(newest(_BY_STATE, _EVERYBODYS, _OF_ANY_KIND, _IN_STATE, *_ELSEWHERE))
BY_STATE_OF_KIND: Final = _page_of(merged(_BY_STATE, _EVERYBODYS, _IN_STATE, *_ELSEWHERE))
BY_STATE_OF_OWNER: Final = _page_of(merged(_BY_STATE, _OWN, _IN_STATE, *_ELSEWHERE))
# Requests to decide are in no other state.
TO_DECIDE: Final = _page_of(
    merged(
        "chamberlain.request_approver",
        "r.user_id = $4",
        "($6::text IS NULL OR $6 = 'pendingApproval')",
        *_ELSEWHERE,
    )
)
# Queued and running requests have a due job, waiting ones a later one. The inner query has no order, so the planner
# looks them up by id.
UNDER_WAY: Final = _page_of(f"""
    WITH under_way AS MATERIALIZED (
        SELECT r.created_at, r.request_id, r.state, r.kind, r.actor_id, r.display_name, r.address
        FROM chamberlain.request r
        WHERE r.request_id = ANY (ARRAY(
            SELECT j.subject FROM chamberlain.job j
            WHERE j.tenant_id = $1 AND j.held_reason IS NULL AND j.lane IS NULL AND j.run_at <= now()
            UNION ALL
            SELECT j.subject FROM chamberlain.job j WHERE j.tenant_id = $1 AND j.held_reason IS NOT NULL
        ))
    )
    SELECT r.created_at, r.request_id FROM under_way r
    WHERE {BEHIND} AND {_IN_STATE} AND ({_EVERYBODYS} OR {_OWN}) AND ({_OF_ANY_KIND} OR r.kind = ANY ($5))
        AND {_WITHIN} AND {_BEGINS} {NEWEST}
""")  # noqa: S608 - as above.
BEGINNING: Final = _page_of(
    "SELECT b.created_at, b.request_id FROM chamberlain.requests_beginning($1, $8, $6, $5, $4, $9, $10, $2, $3, $7) b"
)

# This many requests are looked up in a few milliseconds.
FEW: Final = 1_000


class Route(Enum):
    """The query plan of a page.

    All return the same list; each is quick for other numbers of requests.
    """

    NEWEST = auto()
    """Scan from the newest, of the tenant, a kind or an owner."""
    ELSEWHERE = auto()
    """Read those in a state, or to decide, from another table or from jobs."""
    BEGINNING = auto()
    """Scan buckets with the prefix, newest first."""


async def find_page(
    tx: Transaction, wanted: RequestFilter, *, owner: UUID | None, page: PageWanted
) -> Page[RequestRecord]:
    """Read a page of matching requests, of all or one owner.

    For requests to decide, the owner is the approver. The transaction begins with PLANNING.
    """
    route = await find_route(tx, wanted, owner)
    statement, values = page_statement(tx, wanted, owner, page, route)
    rows = await tx.fetch(statement, *values)
    records = [record_of(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(records, None)
    return Page(records, Position(records[-1].created_at, records[-1].request_id))


async def to_decide(tx: Transaction, user: UserId, records: Sequence[RequestRecord]) -> frozenset[RequestId]:
    """Return the requests that wait for the user's decision."""
    waiting = [each.request_id for each in records if each.state is RequestState.PENDING_APPROVAL]
    rows = await tx.fetch(SQL["turn"], tx.tenant_id, user, waiting) if waiting else ()
    return frozenset(RequestId(row["request_id"]) for row in rows)


# The function sets the tenant.
COUNT_TO_DECIDE: Final = "SELECT chamberlain.count_to_decide($1, $2, $3) AS number"
# Where the list by deadline begins, and the deadline of requests without one (sql/approvals.sql).
_BEGINNING_OF_TIME: Final = datetime(1, 1, 1, tzinfo=UTC)
_NO_DEADLINE: Final = datetime(9999, 12, 31, tzinfo=UTC)
_LEAST: Final = UUID(int=0)


async def count_at_once(database: Database, tenant_id: TenantId, user: UserId, *, most: int) -> int:
    """Count the requests that wait for the user, by one statement."""
    async with database.statement() as connection:
        row = await connection.fetchrow(COUNT_TO_DECIDE, tenant_id, user, most)
    return 0 if row is None else int(row["number"])


async def find_to_decide(tx: Transaction, user: UserId, page: PageWanted) -> Page[RequestRecord]:
    """Read whole requests that wait for the user's decision, soonest deadline first.

    The time of a position is a deadline.
    """
    after = page.after
    place = (_BEGINNING_OF_TIME, _LEAST) if after is None else (after.created_at, after.id)
    rows = await tx.fetch(SQL["find_to_decide"], tx.tenant_id, user, *place, page.limit + 1)
    found = [record_of(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(found, None)
    last = found[-1]
    return Page(found, Position(deadline_of(last.approvals) or _NO_DEADLINE, last.request_id))


async def find_route(tx: Transaction, wanted: RequestFilter, owner: UUID | None) -> Route:
    """Choose the query plan by the number of scanned requests.

    With many due jobs, queued and running requests are the newest, as workers claim the oldest first. A scan from the
    newest finds them at once.
    """
    if wanted.to_decide:
        return Route.ELSEWHERE
    if is_under_way(wanted.state) and await are_few_due(tx):
        return Route.ELSEWHERE
    route = Route.ELSEWHERE if _has_table(wanted.state) else Route.NEWEST
    if wanted.prefix is None or await _are_few(tx, wanted, owner):
        return route
    (row,) = await tx.fetch(SQL["buckets_ready"])
    return Route.BEGINNING if row["ready"] else route


def page_statement(
    tx: Transaction, wanted: RequestFilter, owner: UUID | None, page: PageWanted, route: Route
) -> tuple[str, tuple[object, ...]]:
    """Return the statement that reads a page plus one row."""
    after = page.after
    place = (None, None) if after is None else (after.created_at, after.id)
    filters = (owner, _kinds(wanted, owner), wanted.state)
    span = (wanted.since, wanted.until)
    values = (tx.tenant_id, *place, *filters, page.limit + 1, wanted.prefix, *span)
    return _statement(wanted, owner, route), values


def is_under_way(state: RequestState | None) -> bool:
    """Return whether requests in this state are found by their jobs."""
    return state in (RequestState.QUEUED, RequestState.RUNNING)


def _has_table(state: RequestState | None) -> bool:
    """Return whether `request_by_state` has the requests in this state."""
    return state not in (None, RequestState.SUCCEEDED, RequestState.QUEUED, RequestState.RUNNING)


async def _are_few(tx: Transaction, wanted: RequestFilter, owner: UUID | None) -> bool:
    """Return whether the filters other than the prefix select few requests."""
    kinds = None if wanted.kind is None else [wanted.kind]
    values = (tx.tenant_id, owner, kinds, FEW + 1)
    if _has_table(wanted.state):
        (row,) = await tx.fetch(SQL["count_few_in_state"], *values, wanted.state)
    elif owner is not None or kinds is not None:
        (row,) = await tx.fetch(SQL["count_few"], *values)
    else:
        return False
    return int(row["number"]) <= FEW


def _kinds(wanted: RequestFilter, owner: UUID | None) -> list[RequestKind] | None:
    if wanted.kind is not None:
        return [wanted.kind]
    return None if owner is None else list(RequestKind)


def _statement(wanted: RequestFilter, owner: UUID | None, route: Route) -> str:
    match route:
        case Route.BEGINNING:
            return BEGINNING
        case Route.NEWEST if owner is not None:
            return OF_OWNER
        case Route.NEWEST:
            return ALL if wanted.kind is None else OF_KIND
        case Route.ELSEWHERE if wanted.to_decide:
            return TO_DECIDE
        case Route.ELSEWHERE if is_under_way(wanted.state):
            return UNDER_WAY
        case Route.ELSEWHERE if owner is not None:
            return BY_STATE_OF_OWNER
        case Route.ELSEWHERE:
            return BY_STATE if wanted.kind is None else BY_STATE_OF_KIND


# The function sets the tenant of each.
FIND = f"{SELECT} FROM chamberlain.look_at_requests($1, $2)"

# A body has at most half a megabyte.
_MOST = 32

_Place = tuple[TenantId, RequestId]


class RequestLooks:
    """Read current requests in batches. `patience` is the timeout of one read."""

    def __init__(self, database: Database, *, patience: timedelta = ACQUIRED_WITHIN) -> None:
        self._database = database
        self._patience = patience.total_seconds()
        self._batcher = Batcher[_Place, Record | None](
            self._find,
            owner=lambda place: place[0],
            most=_MOST,
            # A batch with large bodies does not delay one with small ones.
            at_once=2,
        )

    async def find(self, tenant_id: TenantId, request_id: RequestId) -> RequestRecord | None:
        """Read a request, None if it does not exist. Raises Unavailable."""
        try:
            # If the database hangs, the timeout includes the time in the queue.
            async with asyncio.timeout(self._patience):
                row = await self._batcher.submit((tenant_id, request_id))
        except TimeoutError as error:
            raise no_database(error) from error
        # A row of a newer version that cannot be decoded fails only its own caller.
        return None if row is None else record_of(row)

    async def _find(self, places: Sequence[_Place]) -> Sequence[Record | None]:
        tenants = [tenant_id for tenant_id, _ in places]
        request_ids = [request_id for _, request_id in places]
        async with self._database.statement() as connection:
            rows = await connection.fetch(FIND, tenants, request_ids)
        found = {(row["tenant_id"], row["request_id"]): row for row in rows}
        return [found.get(place) for place in places]


@dataclass(frozen=True, slots=True)
class Origin:
    """The approval rule of a request at submission, and its trace."""

    rule: ApprovalRule
    trace_id: TraceId


async def find_origin(tx: Transaction, request_id: RequestId) -> Origin | None:
    """Read the approval rule of a request, None if there is none."""
    row = await tx.fetch_row(SQL["find_origin"], tx.tenant_id, request_id)
    if row is None or row["template_id"] is None:
        return None
    if row["content"] is None:
        raise LookupError(f"Request {request_id} names a template revision that does not exist.")
    approval = _decode(row["content"].encode()).approval
    return None if approval is None else Origin(to_approval_rule(approval), TraceId(row["trace_id"]))


class _Approved(Struct):
    """The approval of a stored template of any kind."""

    approval: ApprovalShape | None = None


_decode = StoredDecoder(_Approved).decode


async def require_served(tx: Transaction) -> None:
    """Raise Unauthenticated if the tenant is suspended or removed.

    That may have happened since the token was verified.
    """
    tenant = None if tx.tenant_id is None else await tenant_records.find(tx, tx.tenant_id)
    if tenant is None or tenant.suspended:
        raise Unauthenticated("tokenInvalid", "The organisation of this token is not served here any more.")


async def move(tx: Transaction, before: RequestRecord, after: RequestRecord, trace_id: TraceId) -> None:
    """Write the transition of a locked request, and its effects.

    The request waits for approval. Its provisioning job is queued, or its names are released, or its next level opens
    soon.
    """
    if not await records.move(tx, before, after):
        raise RuntimeError(f"Request {before.request_id} has moved though it was held.")
    if after.state is RequestState.PENDING_APPROVAL:
        await records.shorten(tx, [after.request_id])
        current = current_level(after.approvals)
        if current is None or current.state is ApprovalState.NOT_REACHED:
            await tx.execute(SQL["hurry"], tx.tenant_id, after.request_id, trace_id)
        return
    await withdraw(tx, after.request_id)
    if after.state is RequestState.QUEUED:
        await queue_jobs.queue(tx, job_kind_of(after.kind), after.request_id, trace_id)
    else:
        await records.give_back(tx, after.request_id)


async def queue_notice(
    tx: Transaction,
    notice_id: UUID,
    kind: str,
    request: RequestRecord,
    *,
    level: int,
    now: datetime,
    notified: Collection[UserId] = (),
) -> None:
    """Queue a notice about a level, if notices are sent at all.

    `notified` are users who need no mail.
    """
    values = (tx.tenant_id, notice_id, kind, request.request_id, level, now)
    await tx.execute(SQL["queue_notice"], *values)
    if notified:
        await tx.execute(SQL["save_notified"], tx.tenant_id, notice_id, list(notified))


async def withdraw(tx: Transaction, request_id: RequestId) -> None:
    """Delete the approval job of a request."""
    await tx.execute(SQL["withdraw"], tx.tenant_id, request_id)
