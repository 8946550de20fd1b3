"""Lists of requests, newest first, at the same cost however many there are.

A list begins behind a position, never after a number of rows to skip. Those of a state that few requests are in are
read from `request_by_state`; those that are queued or running have a job, and are found by it.
"""

from typing import Final
from uuid import UUID

from chamberlain.rules.pages import Page, PageWanted, Position
from chamberlain.rules.requests import RequestFilter, RequestRecord, RequestState
from chamberlain.store.database import Transaction
from chamberlain.store.requests import record_of

# A list shows neither bodies nor steps, which may be large.
_COLUMNS: Final = """
r.request_id, r.tenant_id, r.approval_required, r.kind, r.state, r.display_name, r.template_id, r.template_name,
'{}' AS body, r.waiting, r.blocked, r.error, r.warnings, r.result, '[]' AS steps, r.created_at, r.actor_type,
r.actor_id, r.actor_name, r.client_id, r.updated_at, r.finished_at
"""

# $1 tenant, $2 and $3 the position (null at the beginning), $4 owner, $5 kind, $6 state, $7 number of rows. What is
# null does not count; each call is planned for its own values, so that it costs nothing either.
_OF_OWNER_AND_KIND: Final = "($4::uuid IS NULL OR r.actor_id = $4) AND ($5::text IS NULL OR r.kind = $5)"

_NEWEST: Final = f"""
r.tenant_id = $1 AND ($2::timestamptz IS NULL OR (r.created_at, r.request_id) < ($2, $3::uuid))
AND {_OF_OWNER_AND_KIND} AND ($6::text IS NULL OR r.state = $6)
ORDER BY r.created_at DESC, r.request_id DESC LIMIT $7
"""

ALL: Final = f"SELECT {_COLUMNS} FROM chamberlain.request r WHERE {_NEWEST}"  # noqa: S608 - text of ours alone.

UNDER_WAY: Final = f"""
SELECT {_COLUMNS} FROM chamberlain.request r
WHERE r.request_id = ANY (ARRAY(SELECT j.subject FROM chamberlain.job j WHERE j.tenant_id = $1)) AND {_NEWEST}
"""  # noqa: S608 - as above.

BY_STATE: Final = f"""
SELECT {_COLUMNS} FROM chamberlain.request_by_state s JOIN chamberlain.request r USING (request_id)
WHERE s.tenant_id = $1 AND s.state = $6
AND ($2::timestamptz IS NULL OR (s.created_at, s.request_id) < ($2, $3::uuid))
AND r.tenant_id = $1 AND {_OF_OWNER_AND_KIND}
ORDER BY s.created_at DESC, s.request_id DESC LIMIT $7
"""  # noqa: S608 - as above.


async def find_page(
    tx: Transaction, wanted: RequestFilter, *, owner: UUID | None, page: PageWanted
) -> Page[RequestRecord]:
    """A page of what the filter names, of everybody's requests or of one owner's."""
    after = page.after
    await tx.execute("SET LOCAL plan_cache_mode = force_custom_plan")
    rows = await tx.fetch(
        _statement(wanted.state),
        tx.tenant_id,
        after and after.created_at,
        after and after.id,
        owner,
        wanted.kind,
        wanted.state,
        page.limit + 1,
    )
    records = [record_of(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(records, None)
    return Page(records, Position(records[-1].created_at, records[-1].request_id))


def _statement(state: RequestState | None) -> str:
    match state:
        case None | RequestState.SUCCEEDED:
            return ALL
        case RequestState.QUEUED | RequestState.RUNNING:
            return UNDER_WAY
        case (
            RequestState.PENDING_APPROVAL
            | RequestState.WAITING
            | RequestState.FAILED
            | RequestState.REJECTED
            | RequestState.CANCELLED
            | RequestState.EXPIRED
        ):
            return BY_STATE
