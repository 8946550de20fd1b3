"""Lists of requests, newest first, at the same cost however many there are.

A list begins behind a position, never after a number of rows to skip, and every filter is a prefix of an index. Those
of a state that few requests are in are read from `request_by_state`, those that somebody has to decide on from
`request_approver`; those that are queued or running have a job, and are found by it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct

from chamberlain.core.errors import Unauthenticated
from chamberlain.core.ids import RequestId, TenantId, TraceId, UserId
from chamberlain.core.json import StoredDecoder
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.batching import Batcher
from chamberlain.database.errors import no_database
from chamberlain.database.keyset import BEHIND, NEWEST, merged, newest
from chamberlain.database.transactions import ACQUIRED_WITHIN, PLANNING, Database, Record, Transaction
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.jobs import are_few_due
from chamberlain.requests import records
from chamberlain.requests.approvals import current_level
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

_IN_ANY_STATE: Final = "($6::text IS NULL OR r.state = $6)"
_IN_STATE: Final = "r.state = $6"
_EVERYBODYS: Final = "$4::uuid IS NULL"
_OWN: Final = "r.actor_id = $4"
_OF_ANY_KIND: Final = "$5::text[] IS NULL"


def _page_of(places: str) -> str:
    """The requests at these places, in their order. A list shows neither bodies nor steps nor approvals, which may be
    large. OFFSET 0 keeps the planner from beginning at the other end."""
    return f"""
    SELECT r.request_id, r.tenant_id, r.approval_required, r.kind, r.state, r.display_name, r.template_id,
        r.template_name, '{{}}' AS body, r.waiting, r.blocked, r.error, r.warnings, r.result, '[]' AS steps,
        r.created_at, r.actor_type, r.actor_id, r.actor_name, r.client_id, r.updated_at, r.finished_at,
        NULL AS approvals, NULL AS made
    FROM ({places}) place CROSS JOIN LATERAL (
        SELECT r.request_id, r.tenant_id, r.approval_required, r.kind, r.state, r.display_name, r.template_id,
            r.template_name, r.waiting, r.blocked, r.error, r.warnings, r.result, r.created_at, r.actor_type,
            r.actor_id, r.actor_name, r.client_id, r.updated_at, r.finished_at
        FROM chamberlain.request r WHERE r.request_id = place.request_id OFFSET 0
    ) r
    ORDER BY place.created_at DESC, place.request_id DESC
    """  # noqa: S608 - text of ours alone.


_REQUESTS: Final = "chamberlain.request"
_BY_STATE: Final = "chamberlain.request_by_state"

ALL: Final = _page_of(newest(_REQUESTS, _EVERYBODYS, _OF_ANY_KIND, _IN_ANY_STATE))
OF_KIND: Final = _page_of(merged(_REQUESTS, _EVERYBODYS, _IN_ANY_STATE))
OF_OWNER: Final = _page_of(merged(_REQUESTS, _OWN, _IN_ANY_STATE))
BY_STATE: Final = _page_of(newest(_BY_STATE, _EVERYBODYS, _OF_ANY_KIND, _IN_STATE))
BY_STATE_OF_KIND: Final = _page_of(merged(_BY_STATE, _EVERYBODYS, _IN_STATE))
BY_STATE_OF_OWNER: Final = _page_of(merged(_BY_STATE, _OWN, _IN_STATE))
# What waits for a decision is in no other state.
TO_DECIDE: Final = _page_of(
    merged("chamberlain.request_approver", "r.user_id = $4", "($6::text IS NULL OR $6 = 'pendingApproval')")
)
# What is queued or running has a job that was due already; what waits has one for later. They are looked up by their
# ids, however few the planner believes there are: hence no order within.
UNDER_WAY: Final = _page_of(f"""
    WITH under_way AS MATERIALIZED (
        SELECT r.created_at, r.request_id, r.state, r.kind, r.actor_id FROM chamberlain.request r
        WHERE r.request_id = ANY (ARRAY(
            SELECT j.subject FROM chamberlain.job j
            WHERE j.tenant_id = $1 AND j.held_reason IS NULL AND j.lane IS NULL AND j.run_at <= now()
            UNION ALL
            SELECT j.subject FROM chamberlain.job j WHERE j.tenant_id = $1 AND j.held_reason IS NOT NULL
        ))
    )
    SELECT r.created_at, r.request_id FROM under_way r
    WHERE {BEHIND} AND {_IN_STATE} AND ({_EVERYBODYS} OR {_OWN}) AND ({_OF_ANY_KIND} OR r.kind = ANY ($5)) {NEWEST}
""")  # noqa: S608 - as above.


TURN: Final = """
SELECT a.request_id FROM chamberlain.request_approver a
WHERE a.tenant_id = $1 AND a.user_id = $2 AND a.request_id = ANY ($3)
"""


async def find_page(
    tx: Transaction, wanted: RequestFilter, *, owner: UUID | None, page: PageWanted
) -> Page[RequestRecord]:
    """A page of what the filter names, of everybody's requests or of one owner's; for what is to be decided, the owner
    is who has to."""
    await tx.execute(PLANNING)
    few_due = not is_under_way(wanted.state) or await are_few_due(tx)
    statement, values = page_statement(tx, wanted, owner, page, few_due=few_due)
    rows = await tx.fetch(statement, *values)
    records = [record_of(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(records, None)
    return Page(records, Position(records[-1].created_at, records[-1].request_id))


async def to_decide(tx: Transaction, user: UserId, records: Sequence[RequestRecord]) -> frozenset[RequestId]:
    """Those of these requests that it is this user's turn to decide on."""
    waiting = [each.request_id for each in records if each.state is RequestState.PENDING_APPROVAL]
    rows = await tx.fetch(TURN, tx.tenant_id, user, waiting) if waiting else ()
    return frozenset(RequestId(row["request_id"]) for row in rows)


def page_statement(
    tx: Transaction, wanted: RequestFilter, owner: UUID | None, page: PageWanted, *, few_due: bool
) -> tuple[str, tuple[object, ...]]:
    """The statement that reads a page and one row more, with its values.

    With many due jobs, the requests that are queued or running are the newest: workers take the oldest first. So a walk
    from the newest on meets them at once.
    """
    after = page.after
    place = (None, None) if after is None else (after.created_at, after.id)
    values = (tx.tenant_id, *place, owner, _kinds(wanted, owner), wanted.state, page.limit + 1)
    return _statement(wanted, owner, few_due=few_due), values


def is_under_way(state: RequestState | None) -> bool:
    """Whether requests in this state are found by their jobs."""
    return state in (RequestState.QUEUED, RequestState.RUNNING)


def _kinds(wanted: RequestFilter, owner: UUID | None) -> list[RequestKind] | None:
    if wanted.kind is not None:
        return [wanted.kind]
    return None if owner is None else list(RequestKind)


def _statement(wanted: RequestFilter, owner: UUID | None, *, few_due: bool) -> str:
    if wanted.to_decide:
        return TO_DECIDE
    in_any_state = is_under_way(wanted.state) and not few_due
    everybodys, of_kind, of_owner = _statements(None if in_any_state else wanted.state)
    if owner is not None:
        return of_owner
    return everybodys if wanted.kind is None else of_kind


def _statements(state: RequestState | None) -> tuple[str, str, str]:
    """For everybody's requests, for those of one kind, and for those of one owner."""
    match state:
        case None | RequestState.SUCCEEDED:
            return ALL, OF_KIND, OF_OWNER
        case RequestState.QUEUED | RequestState.RUNNING:
            return UNDER_WAY, UNDER_WAY, UNDER_WAY
        case (
            RequestState.PENDING_APPROVAL
            | RequestState.WAITING
            | RequestState.FAILED
            | RequestState.REJECTED
            | RequestState.CANCELLED
            | RequestState.EXPIRED
        ):
            return BY_STATE, BY_STATE_OF_KIND, BY_STATE_OF_OWNER


# The function sets the tenant of each.
FIND = f"{SELECT} FROM chamberlain.look_at_requests($1, $2)"

# A body is half a megabyte at the most.
_MOST = 32

_Place = tuple[TenantId, RequestId]


class RequestLooks:
    """Gives requests as they are when they are asked for, or later. `patience` is how long one is waited for."""

    def __init__(self, database: Database, *, patience: timedelta = ACQUIRED_WITHIN) -> None:
        self._database = database
        self._patience = patience.total_seconds()
        self._batcher = Batcher[_Place, Record | None](
            self._find,
            owner=lambda place: place[0],
            most=_MOST,
            # Large bodies hold up nobody who reads small ones.
            at_once=2,
        )

    async def find(self, tenant_id: TenantId, request_id: RequestId) -> RequestRecord | None:
        """The request whole; None where the tenant has none. Raises Unavailable."""
        try:
            # Where the database hangs, those who have not been asked for yet are told no later than others.
            async with asyncio.timeout(self._patience):
                row = await self._batcher.submit((tenant_id, request_id))
        except TimeoutError as error:
            raise no_database(error) from error
        # Each for itself: one that cannot be read, since a newer version has written it, fails nobody else.
        return None if row is None else record_of(row)

    async def _find(self, places: Sequence[_Place]) -> Sequence[Record | None]:
        tenants = [tenant_id for tenant_id, _ in places]
        request_ids = [request_id for _, request_id in places]
        async with self._database.statement() as connection:
            rows = await connection.fetch(FIND, tenants, request_ids)
        found = {(row["tenant_id"], row["request_id"]): row for row in rows}
        return [found.get(place) for place in places]


# The revision of the template at submission, and the trace of the submission.
FIND_ORIGIN = """
SELECT r.template_id, r.trace_id, v.content
FROM chamberlain.request r LEFT JOIN chamberlain.template_revision v
    ON v.tenant_id = r.tenant_id AND v.template_id = r.template_id AND v.revision = r.template_revision
WHERE r.tenant_id = $1 AND r.request_id = $2
"""

# One that waited before there were such jobs, or that an older process has accepted, has none yet.
HURRY = """
WITH hurried AS (
    UPDATE chamberlain.job SET run_at = now()
    WHERE tenant_id = $1 AND subject = $2 AND kind = 'approvalAttend'
    RETURNING job_id
)
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT $1, 'approvalAttend', $2, $3 WHERE NOT EXISTS (SELECT FROM hurried)
"""

# One that a worker is just at ends by itself.
WITHDRAW = """
DELETE FROM chamberlain.job WHERE job_id = ANY (ARRAY(
    SELECT job_id FROM chamberlain.job
    WHERE tenant_id = $1 AND subject = $2 AND kind = 'approvalAttend' AND (lease_until IS NULL OR lease_until < now())
    FOR UPDATE SKIP LOCKED
))
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a request that waits for approval came with: the rule as it was at submission, and its trace."""

    rule: ApprovalRule
    trace_id: TraceId


async def find_origin(tx: Transaction, request_id: RequestId) -> Origin | None:
    """Who has to agree to a request; None where nobody has to, or there is no such request."""
    row = await tx.fetch_row(FIND_ORIGIN, tx.tenant_id, request_id)
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
    """Raises Unauthenticated where the tenant was suspended or removed since the token was looked at."""
    tenant = None if tx.tenant_id is None else await tenant_records.find(tx, tx.tenant_id)
    if tenant is None or tenant.suspended:
        raise Unauthenticated("tokenInvalid", "The organisation of this token is not served here any more.")


async def move(tx: Transaction, before: RequestRecord, after: RequestRecord, trace_id: TraceId) -> None:
    """Let a request that waits for approval become what it is after it, with all that follows: it is queued with the
    job that brings it about, or gives its names back, or its next level is opened soon. Nobody else changes
    it until the transaction ends (`requests.hold`)."""
    if not await records.move(tx, before, after):
        raise RuntimeError(f"Request {before.request_id} has moved though it was held.")
    if after.state is RequestState.PENDING_APPROVAL:
        await records.shorten(tx, [after.request_id])
        current = current_level(after.approvals)
        if current is None or current.state is ApprovalState.NOT_REACHED:
            await tx.execute(HURRY, tx.tenant_id, after.request_id, trace_id)
        return
    await withdraw(tx, after.request_id)
    if after.state is RequestState.QUEUED:
        await queue_jobs.queue(tx, job_kind_of(after.kind), after.request_id, trace_id)
    else:
        await records.give_back(tx, after.request_id)


async def withdraw(tx: Transaction, request_id: RequestId) -> None:
    """Nobody has to attend to a request any more."""
    await tx.execute(WITHDRAW, tx.tenant_id, request_id)
