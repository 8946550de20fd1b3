"""A belfry: what is done with the webhooks of a shelf of templates, for a house that keeps everything in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from chamberlain.api.administration import Webhooks
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Caller
from chamberlain.rules.deliveries import Attempt
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import RotatedWebhook
from chamberlain.rules.webhooks import no_webhook
from chamberlain.shapes.webhooks import kept_webhook
from tests.api.fake_templates import SECRET, FakeTemplates

UNTIL = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
ATTEMPT = Attempt(1, datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC), 204, 35, None, "")


@dataclass
class Belfry:
    """The webhooks of the templates of one shelf."""

    templates: FakeTemplates
    area: TemplateArea
    acts: list[Act] = field(default_factory=list)
    replayed: bool = False
    attempt: Attempt = ATTEMPT

    def services(self) -> Webhooks:
        return Webhooks(rotate=self.rotate, test=self.test)

    async def rotate(
        self, caller: Caller, template_id: TemplateId, act: Act, render: Callable[[RotatedWebhook], bytes]
    ) -> KeptAnswer:
        record = await self.templates.read(caller, template_id, area=self.area)
        if kept_webhook(record.stored.content) is None:
            raise no_webhook()
        self.acts.append(act)
        made = None if self.replayed else SECRET
        return KeptAnswer(render(RotatedWebhook(replace(record, made_secret=made), UNTIL)), self.replayed)

    async def test(
        self, caller: Caller, template_id: TemplateId, act: Act, render: Callable[[Attempt], bytes]
    ) -> KeptAnswer:
        record = await self.templates.read(caller, template_id, area=self.area)
        if kept_webhook(record.stored.content) is None:
            raise no_webhook()
        self.acts.append(act)
        return KeptAnswer(render(self.attempt), self.replayed)
