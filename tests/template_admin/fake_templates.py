# SPDX-License-Identifier: Apache-2.0
"""Templates of both areas in memory, for tests of the API."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.auth.models import Actor, ActorType, Caller, Edit, require_match
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.directory.models import Label
from chamberlain.template_admin.documents import TemplateBody, identified, stored_template, webhook_of
from chamberlain.template_admin.models import (
    COLLAB,
    MAIL,
    OfferedTemplate,
    TemplateArea,
    TemplateRecord,
    in_area,
    in_use,
)
from chamberlain.template_admin.service import TemplateService

TENANT_ID = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
ROOM = TemplateId(UUID("7e000000-0000-4000-8000-000000000003"))
TEAM = TemplateId(UUID("7e000000-0000-4000-8000-000000000013"))
SECRET = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
MADE_AT = datetime(2026, 11, 20, 9, tzinfo=UTC)


class FakeTemplates(TemplateService):
    """Keeps templates in memory. Every method raises `refusal` once it is set.

    A new webhook gets a secret.
    """

    def __init__(self) -> None:
        self.new_ids = {MAIL: ROOM, COLLAB: TEAM}
        self.records: dict[TemplateId, TemplateRecord] = {}
        self.acts: list[Act] = []
        self.edits: list[Edit] = []
        self.refusal: Exception | None = None
        self.replayed = False
        self.labels: tuple[Label, ...] | None = (Label("1abe1000", "Internal"), Label("1abe2000", "Secret", "Locked."))

    async def list(self, caller: Caller, page: PageWanted, *, area: TemplateArea) -> Page[TemplateRecord]:
        self._refuse(caller)
        records = [each for each in self.records.values() if each.stored.head.kind in area.kinds]
        found = records[: page.limit]
        more = len(records) > page.limit
        return Page(found, Position(found[-1].created_at, found[-1].stored.head.id) if more else None)

    async def create(
        self,
        caller: Caller,
        body: TemplateBody,
        act: Act,
        render: Callable[[TemplateRecord], bytes],
        *,
        area: TemplateArea,
    ) -> KeptAnswer:
        self._refuse(caller)
        self.acts.append(act)
        return KeptAnswer(render(self.put(caller, self.new_ids[area], body)), self.replayed)

    async def read(self, caller: Caller, template_id: TemplateId, *, area: TemplateArea) -> TemplateRecord:
        self._refuse(caller)
        return in_area(self.records.get(template_id), area)

    async def replace(
        self, caller: Caller, template_id: TemplateId, body: TemplateBody, edit: Edit, *, area: TemplateArea
    ) -> TemplateRecord:
        require_match((await self.read(caller, template_id, area=area)).etag, edit, "template")
        self.edits.append(edit)
        return self.put(caller, template_id, body)

    async def delete(self, caller: Caller, template_id: TemplateId, edit: Edit, *, area: TemplateArea) -> None:
        require_match((await self.read(caller, template_id, area=area)).etag, edit, "template")
        self.edits.append(edit)
        del self.records[template_id]

    async def offer(self, caller: Caller, page: PageWanted, *, area: TemplateArea) -> Page[TemplateRecord]:
        return await self.list(caller, page, area=area)

    async def read_offered(self, caller: Caller, template_id: TemplateId, *, area: TemplateArea) -> OfferedTemplate:
        self._refuse(caller)
        stored = in_use(self.records.get(template_id), area).stored
        return OfferedTemplate(stored, ("estate.example", "rooms.estate.example"), self.labels)

    def put(self, caller: Caller, template_id: TemplateId, body: TemplateBody) -> TemplateRecord:
        before = self.records.get(template_id)
        stored = stored_template(identified(body, template_id), caller.tenant_id)
        if before is not None:
            stored = replace(stored, head=replace(stored.head, revision=before.stored.head.revision + 1))
        by = Actor(ActorType.USER, caller.id, "Ada Achterberg")
        number = None if webhook_of(body) is None else 1
        is_new = number is not None and (before is None or before.secret_number is None)
        record = TemplateRecord(stored, MADE_AT, by, MADE_AT, number)
        self.records[template_id] = record
        return replace(record, made_secret=SECRET) if is_new else record

    def _refuse(self, caller: Caller) -> None:
        assert caller.tenant_id == TENANT_ID
        if self.refusal is not None:
            raise self.refusal
