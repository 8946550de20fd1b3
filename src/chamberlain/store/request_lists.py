"""Lists of requests, newest first, at the same cost however many there are.

A list begins behind a position, never after a number of rows to skip, and every filter is a prefix of an index. Those
of a state that few requests are in are read from `request_by_state`; those that are queued or running have a job, and
are found by it.
"""

from typing import Final
from uuid import UUID

from chamberlain.rules.pages import Page, PageWanted, Position
from chamberlain.rules.requests import RequestFilter, RequestKind, RequestRecord, RequestState
from chamberlain.store.database import Transaction
from chamberlain.store.requests import record_of

# A list shows neither bodies nor steps nor approvals, which may be large.
_COLUMNS: Final = """
SELECT r.request_id, r.tenant_id, r.approval_required, r.kind, r.state, r.display_name, r.template_id, r.template_name,
'{}' AS body, r.waiting, r.blocked, r.error, r.warnings, r.result, '[]' AS steps, r.created_at, r.actor_type,
r.actor_id, r.actor_name, r.client_id, r.updated_at, r.finished_at,
NULL AS approvals
FROM chamberlain.request r
"""

# $1 tenant, $2 and $3 the position (null at the beginning), $4 owner, $5 kinds, $6 state, $7 number of rows. What is
# null does not count; each call is planned for its own values, so that it costs nothing either.
_BEHIND: Final = "($2::timestamptz IS NULL OR (r.created_at, r.request_id) < ($2, $3::uuid))"
_NEWEST: Final = "ORDER BY r.created_at DESC, r.request_id DESC LIMIT $7"
_IN_STATE: Final = "($6::text IS NULL OR r.state = $6)"

ALL: Final = f"""{_COLUMNS} WHERE r.tenant_id = $1 AND {_BEHIND} AND {_IN_STATE}
AND $4::uuid IS NULL AND $5::text[] IS NULL {_NEWEST}"""


def _merged(table: str, owned: str, in_state: str) -> str:
    """The newest of each kind, and of these the newest: so an index that names the kind serves those who name none."""
    return f"""{_COLUMNS} WHERE r.request_id = ANY (ARRAY(
        SELECT of_kind.request_id FROM unnest($5::text[]) AS wanted (kind) CROSS JOIN LATERAL (
            SELECT r.request_id FROM {table} r
            WHERE r.tenant_id = $1 AND r.kind = wanted.kind AND {owned} AND {in_state} AND {_BEHIND} {_NEWEST}
        ) of_kind
    )) AND r.tenant_id = $1 {_NEWEST}"""  # noqa: S608 - text of ours alone.


_EVERYBODYS: Final = "$4::uuid IS NULL"
_OWN: Final = "r.actor_id = $4"

OF_KIND: Final = _merged("chamberlain.request", _EVERYBODYS, _IN_STATE)
OF_OWNER: Final = _merged("chamberlain.request", _OWN, _IN_STATE)
BY_STATE: Final = f"""{_COLUMNS} WHERE r.request_id = ANY (ARRAY(
    SELECT r.request_id FROM chamberlain.request_by_state r
    WHERE r.tenant_id = $1 AND r.state = $6 AND $4::uuid IS NULL AND $5::text[] IS NULL AND {_BEHIND} {_NEWEST}
)) AND r.tenant_id = $1 {_NEWEST}"""  # noqa: S608 - as above.
BY_STATE_OF_KIND: Final = _merged("chamberlain.request_by_state", _EVERYBODYS, "r.state = $6")
BY_STATE_OF_OWNER: Final = _merged("chamberlain.request_by_state", _OWN, "r.state = $6")

UNDER_WAY: Final = f"""{_COLUMNS}
WHERE r.request_id = ANY (ARRAY(SELECT j.subject FROM chamberlain.job j WHERE j.tenant_id = $1))
AND r.tenant_id = $1 AND {_BEHIND} AND {_IN_STATE} AND ($4::uuid IS NULL OR r.actor_id = $4)
AND ($5::text[] IS NULL OR r.kind = ANY ($5)) {_NEWEST}"""  # noqa: S608 - as above.


async def find_page(
    tx: Transaction, wanted: RequestFilter, *, owner: UUID | None, page: PageWanted
) -> Page[RequestRecord]:
    """A page of what the filter names, of everybody's requests or of one owner's."""
    after = page.after
    await tx.execute("SET LOCAL plan_cache_mode = force_custom_plan")
    rows = await tx.fetch(
        _statement(wanted, owner),
        tx.tenant_id,
        after and after.created_at,
        after and after.id,
        owner,
        _kinds(wanted, owner),
        wanted.state,
        page.limit + 1,
    )
    records = [record_of(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(records, None)
    return Page(records, Position(records[-1].created_at, records[-1].request_id))


def _kinds(wanted: RequestFilter, owner: UUID | None) -> list[RequestKind] | None:
    if wanted.kind is not None:
        return [wanted.kind]
    return None if owner is None else list(RequestKind)


def _statement(wanted: RequestFilter, owner: UUID | None) -> str:
    everybodys, of_kind, of_owner = _statements(wanted.state)
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
