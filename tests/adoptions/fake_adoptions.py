# SPDX-License-Identifier: Apache-2.0
"""Adoptions in memory, for tests of the API."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.adoptions.models import (
    ALREADY_MANAGED,
    GONE,
    AdoptionItem,
    AdoptionRecord,
    AdoptionRule,
    AdoptionState,
    AdoptionView,
    Candidate,
    Preview,
    RefusedItem,
    new_record,
    require_same_preview,
    require_undoable,
)
from chamberlain.adoptions.service import AdoptionService
from chamberlain.auth.models import Actor, Caller, Editor
from chamberlain.core.errors import NotFound
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import AdoptionId, RequestId, TenantId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.directory.steps import Step
from chamberlain.templates.models import TemplateHead

TENANT_ID = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
ADOPTION = AdoptionId(UUID("ad0b7000-0000-4000-8000-000000000001"))
AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
ROOM = Candidate(UUID(int=1), "Room Bern", "bern@rooms.estate.example", differences=(Step.SET_BOOKING,))
MANAGED = Candidate(UUID(int=2), "Room Zürich", "zurich@rooms.estate.example")
GONE_ROOM = RefusedItem(AdoptionItem(UUID(int=3), RequestId(UUID(int=4)), "Room Chur", ""), GONE)


class FakeAdoptions(AdoptionService):
    """A fake service of adoptions in memory.

    Every method raises `refusal` once it is set.
    """

    def __init__(self) -> None:
        self.records: list[AdoptionRecord] = []
        self.rules: list[AdoptionRule] = []
        self.acts: list[Act] = []
        self.refusal: Exception | None = None
        self.replayed = False

    async def preview(self, caller: Caller, rule: AdoptionRule) -> Preview:
        self._refuse(caller)
        self.rules.append(rule)
        return shown(caller.tenant_id, rule)

    async def confirm(
        self, caller: Caller, rule: AdoptionRule, digest: str, act: Act, render: Callable[[AdoptionView], bytes]
    ) -> KeptAnswer:
        self._refuse(caller)
        preview = shown(caller.tenant_id, rule)
        require_same_preview(preview, digest)
        editor = Editor(
            Actor(caller.type, caller.id, "Ada Achterberg"), caller.client_id, act.trace_id, act.client_address
        )
        self.records.insert(0, new_record(preview, ADOPTION, editor, at=AT))
        self.acts.append(act)
        return KeptAnswer(render(AdoptionView(self.records[0], ())), self.replayed)

    async def list(self, caller: Caller, page: PageWanted) -> Page[AdoptionRecord]:
        self._refuse(caller)
        found = self.records[: page.limit]
        more = len(self.records) > page.limit
        return Page(found, Position(found[-1].created_at, found[-1].id) if more else None)

    async def read(self, caller: Caller, adoption_id: AdoptionId) -> AdoptionView:
        self._refuse(caller)
        found = next((each for each in self.records if each.id == adoption_id), None)
        if found is None:
            raise NotFound("There is no such adoption.")
        return AdoptionView(found, (GONE_ROOM,))

    async def undo(
        self, caller: Caller, adoption_id: AdoptionId, act: Act, render: Callable[[AdoptionView], bytes]
    ) -> KeptAnswer:
        view = await self.read(caller, adoption_id)
        require_undoable(view.record.state)
        self.acts.append(act)
        return KeptAnswer(render(replace(view, record=replace(view.record, state=AdoptionState.UNDOING))))

    def _refuse(self, caller: Caller) -> None:
        assert caller.tenant_id == TENANT_ID
        if self.refusal is not None:
            raise self.refusal


def shown(tenant_id: TenantId, rule: AdoptionRule) -> Preview:
    """Preview one candidate, and one that is already managed."""
    head = TemplateHead(tenant_id, rule.template_id, 1, rule.kind, "Room", active=True)
    return Preview(rule, head, (ROOM,), ((MANAGED, ALREADY_MANAGED),))
