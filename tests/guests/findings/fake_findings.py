# SPDX-License-Identifier: Apache-2.0
"""A service of findings that keeps them in memory."""

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.auth.models import Actor, Caller, Editor
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.findings.rules import (
    AcceptanceRequest,
    accepted,
    confirmed_finding,
    ignored,
    present_finding,
    require_open_review,
)
from chamberlain.guests.findings.service import FindingService
from chamberlain.guests.models import FindingFilter, FindingKind, FindingRecord, FindingState, FindingSubject
from tests.guests.assignments.fake_assignments import ALL_STAFF, ESTATE

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def finding_record() -> FindingRecord:
    return FindingRecord(
        id=UUID("f1d00000-0000-4000-8000-000000000001"),
        kind=FindingKind.GUEST_AGAINST_RULE,
        state=FindingState.OPEN,
        subject=FindingSubject(ESTATE, ALL_STAFF, SubjectType.GROUP, "All staff"),
        property="guests",
        wanted=None,
        observed={"id": "9e570000-0000-4000-8000-000000000001", "displayName": "Gil Hartmann", "mail": None},
        detail="Gil Hartmann is a guest, and guests are not allowed here.",
        policy_id=None,
        action=None,
        action_at=None,
        first_seen_at=NOW,
        last_seen_at=NOW,
    )


class FakeFindings(FindingService):
    """Keeps findings in memory."""

    def __init__(self) -> None:
        self.records = [finding_record()]
        self.filters: list[FindingFilter] = []
        self.confirmed: list[Act] = []

    async def list(self, caller: Caller, wanted: FindingFilter, page: PageWanted) -> Page[FindingRecord]:
        assert caller.tenant_id == ESTATE
        self.filters.append(wanted)
        shown = self.records[: page.limit]
        more = len(self.records) > page.limit
        return Page(shown, Position(shown[-1].first_seen_at, shown[-1].id) if more else None)

    async def accept(
        self,
        caller: Caller,
        finding_id: UUID,
        wanted: AcceptanceRequest,
        act: Act,
        *,
        render: Callable[[FindingRecord], bytes],
    ) -> KeptAnswer:
        before = self._find(caller, finding_id)
        editor = Editor(
            Actor(caller.type, caller.id, "Ada Achterberg"), caller.client_id, act.trace_id, act.client_address
        )
        return KeptAnswer(render(accepted(before, wanted, editor, now=NOW)))

    async def ignore(
        self, caller: Caller, finding_id: UUID, act: Act, render: Callable[[FindingRecord], bytes]
    ) -> KeptAnswer:
        before = self._find(caller, finding_id)
        editor = Editor(Actor(caller.type, caller.id, "Ada Achterberg"), caller.client_id, act.trace_id, None)
        return KeptAnswer(render(ignored(before, act, editor, now=NOW)))

    async def confirm(
        self, caller: Caller, finding_id: UUID, act: Act, render: Callable[[FindingRecord], bytes]
    ) -> KeptAnswer:
        self.confirmed.append(act)
        before = self._find(caller, finding_id)
        require_open_review(before)
        return KeptAnswer(render(confirmed_finding(before, now=NOW)))

    def _find(self, caller: Caller, finding_id: UUID) -> FindingRecord:
        assert caller.tenant_id == ESTATE
        return present_finding(next((each for each in self.records if each.id == finding_id), None))
