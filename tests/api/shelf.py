"""A shelf of mailbox templates, for a house that keeps everything in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.api.services import Templates
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Actor, ActorType, Caller
from chamberlain.rules.edits import Edit, require_match
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.pages import Page, PageWanted, Position
from chamberlain.rules.template_areas import MAIL
from chamberlain.rules.template_records import TemplateRecord, in_area
from chamberlain.shapes.templates import TemplateBody, identified, stored_template

ROOM = TemplateId(UUID("7e000000-0000-4000-8000-000000000003"))
MADE_AT = datetime(2026, 11, 20, 9, tzinfo=UTC)


@dataclass
class Shelf:
    """Templates by their ids. `refusal` is raised by every use case once it is set."""

    records: dict[TemplateId, TemplateRecord] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    refusal: Exception | None = None
    replayed: bool = False

    def services(self) -> Templates:
        return Templates(
            list=self.page,
            create=self.create,
            read=self.read,
            replace=self.replace,
            delete=self.delete,
            offer=self.page,
        )

    async def page(self, _caller: Caller, page: PageWanted) -> Page[TemplateRecord]:
        self._refuse()
        found = list(self.records.values())[: page.limit]
        more = len(self.records) > page.limit
        return Page(found, Position(found[-1].created_at, found[-1].stored.head.id) if more else None)

    async def create(
        self, caller: Caller, body: TemplateBody, act: Act, render: Callable[[TemplateRecord], bytes]
    ) -> KeptAnswer:
        self._refuse()
        self.acts.append(act)
        self.put(caller, ROOM, body)
        return KeptAnswer(render(self.records[ROOM]), self.replayed)

    async def read(self, _caller: Caller, template_id: TemplateId) -> TemplateRecord:
        self._refuse()
        return in_area(self.records.get(template_id), MAIL)

    async def replace(self, caller: Caller, template_id: TemplateId, body: TemplateBody, edit: Edit) -> TemplateRecord:
        require_match((await self.read(caller, template_id)).etag, edit, "template")
        self.edits.append(edit)
        self.put(caller, template_id, body)
        return self.records[template_id]

    async def delete(self, caller: Caller, template_id: TemplateId, edit: Edit) -> None:
        require_match((await self.read(caller, template_id)).etag, edit, "template")
        self.edits.append(edit)
        del self.records[template_id]

    def put(self, caller: Caller, template_id: TemplateId, body: TemplateBody) -> None:
        before = self.records.get(template_id)
        stored = stored_template(identified(body, template_id), caller.tenant_id)
        if before is not None:
            stored = replace(stored, head=replace(stored.head, revision=before.stored.head.revision + 1))
        by = Actor(ActorType.USER, caller.id, "Ada Achterberg")
        self.records[template_id] = TemplateRecord(stored, MADE_AT, by, MADE_AT)

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal
