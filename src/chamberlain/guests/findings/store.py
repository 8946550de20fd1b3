# SPDX-License-Identifier: Apache-2.0
"""Lists of findings, newest first."""

from typing import Final

from chamberlain.core.ids import TenantId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import PLANNING, Transaction
from chamberlain.guests.finding_records import SELECT, to_finding
from chamberlain.guests.models import FindingFilter, FindingKind, FindingRecord, FindingState, FindingSubject
from chamberlain.guests.policies.store import to_row
from chamberlain.guests.policies.timers import Timer
from chamberlain.queries import load_queries

SQL = load_queries(__name__)
# An ignored finding is stored as accepted.
STORED_STATES: Final = tuple([each for each in FindingState if each is not FindingState.IGNORED])
_STORED: Final = {FindingState.IGNORED: FindingState.ACCEPTED}
_IS_IGNORED: Final = {FindingState.IGNORED: True, FindingState.ACCEPTED: False}


# $1 tenant, $2 and $3 the position (null at the beginning), $4 states, $5 kinds, $6 subject, $7 number of rows, $8
# whether accepted ones are ignored (null for both). The newest of each state and kind, and of these the newest.
def _page_where(condition: str) -> str:
    return f"""{SELECT} FROM unnest($4::text[]) AS s (state) CROSS JOIN unnest($5::text[]) AS k (kind)
    CROSS JOIN LATERAL (
        {SELECT} FROM chamberlain.finding r
        WHERE r.tenant_id = $1 AND r.state = s.state AND r.kind = k.kind AND {condition}
        AND ($8::boolean IS NULL OR (r.ignored_observed IS NOT NULL) = $8)
        AND ($2::timestamptz IS NULL OR (r.first_seen_at, r.finding_id) < ($2, $3::uuid))
        ORDER BY r.first_seen_at DESC, r.finding_id DESC LIMIT $7
    ) r ORDER BY r.first_seen_at DESC, r.finding_id DESC LIMIT $7"""


PAGE: Final = _page_where("$6::uuid IS NULL")
PAGE_OF_SUBJECT: Final = _page_where("r.subject_id = $6")


async def find_page(
    tx: Transaction, tenant_id: TenantId, wanted: FindingFilter, page: PageWanted
) -> Page[FindingRecord]:
    """Paginate findings that match a filter, newest first."""
    await tx.execute(PLANNING)
    statement, values = page_statement(tenant_id, wanted, page)
    rows = await tx.fetch(statement, *values)
    records = [to_finding(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(records, None)
    return Page(records, Position(records[-1].first_seen_at, records[-1].id))


def page_statement(tenant_id: TenantId, wanted: FindingFilter, page: PageWanted) -> tuple[str, tuple[object, ...]]:
    """Return the statement of a page, with its values.

    It reads one more row.
    """
    after = page.after
    place = (None, None) if after is None else (after.created_at, after.id)
    states = list(STORED_STATES) if wanted.state is None else [_STORED.get(wanted.state, wanted.state)]
    kinds = list(FindingKind) if wanted.kind is None else [wanted.kind]
    statement = PAGE if wanted.subject_id is None else PAGE_OF_SUBJECT
    is_ignored = None if wanted.state is None else _IS_IGNORED.get(wanted.state)
    return statement, (tenant_id, *place, states, kinds, wanted.subject_id, page.limit + 1, is_ignored)


async def save_timer(tx: Transaction, subject: FindingSubject, timer: Timer) -> None:
    """Save the timer of a confirmed guest."""
    await tx.execute(SQL["save_timer"], *to_row(subject, timer))
