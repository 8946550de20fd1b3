"""The use cases of mailbox templates, built over an estate, and what goes into them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from chamberlain.api.services import Templates
from chamberlain.bootstrap.templates import template_services
from chamberlain.rules.actions import Act
from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Edit
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.requests import IdempotencyKey
from chamberlain.rules.template_areas import MAIL
from chamberlain.rules.template_records import TemplateRecord
from chamberlain.shapes.mailbox_templates import MailboxTemplateBody
from chamberlain.shapes.templates import MAILBOX_TEMPLATE
from chamberlain.store.callers import Callers
from tests.estates import TRACE, Estate
from tests.usecases.acts import PREFIXES

ANY = Edit(None, TRACE)
FIRST_PAGE = PageWanted(200, None)
NOTHING: Mapping[str, object] = {}


@dataclass
class Keeper:
    """Somebody who looks after mailbox templates, or asks which ones there are."""

    estate: Estate
    caller: Caller

    @property
    def templates(self) -> Templates:
        database, people = self.estate.databases.application, self.estate.people
        return template_services(MAIL, database, Callers(database, people, self.estate.now), people, PREFIXES)

    async def create(self, members: Mapping[str, object] = NOTHING, *, key: str | None = None) -> TemplateId:
        act = Act(None, None if key is None else IdempotencyKey(key, b"digest"), TRACE)
        kept = await self.templates.create(self.caller, body(members), act, lambda record: record.stored.content)
        return TemplateId(UUID(json.loads(kept.body)["id"]))

    async def replace(self, template_id: TemplateId, members: Mapping[str, object], edit: Edit = ANY) -> TemplateRecord:
        return await self.templates.replace(self.caller, template_id, body(members), edit)

    async def delete(self, template_id: TemplateId, edit: Edit = ANY) -> None:
        await self.templates.delete(self.caller, template_id, edit)

    async def read(self, template_id: TemplateId) -> TemplateRecord:
        return await self.templates.read(self.caller, template_id)

    async def page(self, page: PageWanted = FIRST_PAGE) -> Page[TemplateRecord]:
        return await self.templates.list(self.caller, page)

    async def offered(self) -> set[str]:
        return {record.stored.head.name for record in (await self.templates.offer(self.caller, FIRST_PAGE)).items}


def body(members: Mapping[str, object]) -> MailboxTemplateBody:
    """A room template, with what is said otherwise."""
    return MAILBOX_TEMPLATE.read(json.dumps({"kind": "room", "name": "Quiet room", **members}).encode())


def content(record: TemplateRecord) -> dict[str, Any]:
    """What a template says, as JSON, whose types are its own."""
    found: dict[str, Any] = json.loads(record.stored.content)
    return found
