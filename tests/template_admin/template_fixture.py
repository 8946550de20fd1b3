# SPDX-License-Identifier: Apache-2.0
"""The template service over an estate, and bodies for it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from chamberlain.app.clock_and_ids import new_webhook_secret, now
from chamberlain.auth.models import Caller, Edit
from chamberlain.core.idempotency import Act, IdempotencyKey
from chamberlain.core.ids import TemplateId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.secrets.keyring import Keyring
from chamberlain.template_admin.documents import COLLAB_TEMPLATE, MAILBOX_TEMPLATE, TemplateBody
from chamberlain.template_admin.models import MAIL, TemplateArea, TemplateRecord
from chamberlain.template_admin.service import TemplateService
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from tests.estates import TRACE, Estate

ANY = Edit(None, TRACE)
FIRST_PAGE = PageWanted(200, None)
NOTHING: Mapping[str, object] = {}
KEYRING = Keyring("k1", {"k1": bytes(32)})


@dataclass
class TemplateFixture:
    """A caller of the templates of an area."""

    estate: Estate
    caller: Caller
    area: TemplateArea = MAIL

    @property
    def templates(self) -> TemplateService:
        database, people = self.estate.databases.application, self.estate.people
        secrets = WebhookSecrets(KEYRING, new_webhook_secret, now)
        return TemplateService(
            database,
            self.estate.authorization(),
            people,
            self.estate.directory,
            secrets,
            uuid4,
            lambda: self.estate.moment,
        )

    def body(self, members: Mapping[str, object]) -> TemplateBody:
        """A room, or a group, with what is said otherwise."""
        if self.area is MAIL:
            return MAILBOX_TEMPLATE.read(json.dumps({"kind": "room", "name": "Quiet room", **members}).encode())
        return COLLAB_TEMPLATE.read(json.dumps({"kind": "group", "name": "Quiet group", **members}).encode())

    async def create(self, members: Mapping[str, object] = NOTHING, *, key: str | None = None) -> TemplateId:
        return TemplateId(UUID((await self.answered(members, key=key))["id"]))

    async def answered(self, members: Mapping[str, object], *, key: str | None = None) -> dict[str, Any]:
        """The answer to the creator of a template."""
        act = Act(None, None if key is None else IdempotencyKey(key, b"digest"), TRACE)
        answer = await self.templates.create(self.caller, self.body(members), act, rendered, area=self.area)
        found: dict[str, Any] = json.loads(answer.body)
        return found

    async def replace(self, template_id: TemplateId, members: Mapping[str, object], edit: Edit = ANY) -> TemplateRecord:
        return await self.templates.replace(self.caller, template_id, self.body(members), edit, area=self.area)

    async def delete(self, template_id: TemplateId, edit: Edit = ANY) -> None:
        await self.templates.delete(self.caller, template_id, edit, area=self.area)

    async def read(self, template_id: TemplateId) -> TemplateRecord:
        return await self.templates.read(self.caller, template_id, area=self.area)

    async def page(self, page: PageWanted = FIRST_PAGE) -> Page[TemplateRecord]:
        return await self.templates.list(self.caller, page, area=self.area)

    async def offered(self) -> set[str]:
        return {
            record.stored.head.name
            for record in (await self.templates.offer(self.caller, FIRST_PAGE, area=self.area)).items
        }


def rendered(record: TemplateRecord) -> bytes:
    """The template, with its secret where one is shown."""
    return json.dumps(content(record) | {"secret": record.made_secret}).encode()


def content(record: TemplateRecord) -> dict[str, Any]:
    """The content of a template as JSON, whose types are its own."""
    found: dict[str, Any] = json.loads(record.stored.content)
    return found
