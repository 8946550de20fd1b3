"""A shelf of templates of one area, for a house that keeps everything in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.api.administration import Templates
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Actor, ActorType, Caller
from chamberlain.rules.edits import Edit, require_match
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.pages import Page, PageWanted, Position
from chamberlain.rules.template_areas import MAIL, TemplateArea
from chamberlain.rules.template_records import TemplateRecord, in_area
from chamberlain.shapes.templates import TemplateBody, identified, stored_template, webhook_of

ROOM = TemplateId(UUID("7e000000-0000-4000-8000-000000000003"))
TEAM = TemplateId(UUID("7e000000-0000-4000-8000-000000000013"))
SECRET = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
MADE_AT = datetime(2026, 11, 20, 9, tzinfo=UTC)


@dataclass
class Shelf:
    """Templates by their ids. `refusal` is raised by every use case once it is set. A webhook that is new gets a
    secret."""

    area: TemplateArea = MAIL
    new_id: TemplateId = ROOM
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
        return KeptAnswer(render(self.put(caller, self.new_id, body)), self.replayed)

    async def read(self, _caller: Caller, template_id: TemplateId) -> TemplateRecord:
        self._refuse()
        return in_area(self.records.get(template_id), self.area)

    async def replace(self, caller: Caller, template_id: TemplateId, body: TemplateBody, edit: Edit) -> TemplateRecord:
        require_match((await self.read(caller, template_id)).etag, edit, "template")
        self.edits.append(edit)
        return self.put(caller, template_id, body)

    async def delete(self, caller: Caller, template_id: TemplateId, edit: Edit) -> None:
        require_match((await self.read(caller, template_id)).etag, edit, "template")
        self.edits.append(edit)
        del self.records[template_id]

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

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal
