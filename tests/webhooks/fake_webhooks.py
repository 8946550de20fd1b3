# SPDX-License-Identifier: Apache-2.0
"""Deliveries and webhooks in memory, for tests of the API."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.auth.models import Caller
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import DeliveryId, EventId, RequestId, TemplateId, TenantId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.template_admin.models import RotatedWebhook, TemplateArea, TemplateRecord, no_webhook
from chamberlain.templates.webhook import kept_webhook
from chamberlain.webhooks.models import Attempt, DeliveryFilter, DeliveryRecord, DeliverySpan, DeliveryState
from chamberlain.webhooks.rules import present_delivery
from chamberlain.webhooks.service import WebhookService
from tests.template_admin.fake_templates import SECRET, FakeTemplates

TENANT_ID = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
DELIVERY = DeliveryId(UUID("de110000-0000-4000-8000-000000000001"))
AT = datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC)
UNTIL = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
ATTEMPT = Attempt(1, AT, 204, 35, None, "")


def delivery_record(number: int = 1) -> DeliveryRecord:
    """Build a delivery that has failed once."""
    return DeliveryRecord(
        id=DeliveryId(UUID(int=DELIVERY.int + number - 1)),
        tenant_id=TENANT_ID,
        event_id=EventId(UUID("e7e00000-0000-4000-8000-000000000001")),
        type="group.created",
        request_id=RequestId(UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10")),
        template_id=TemplateId(UUID("7e000000-0000-4000-8000-000000000011")),
        url="https://hooks.estate.example/chamberlain",
        state=DeliveryState.FAILED,
        next_attempt_at=None,
        attempts=(Attempt(1, AT, 500, 210, None, "oops"),),
        created_at=AT,
    )


class FakeWebhooks(WebhookService):
    """Keeps deliveries in memory, newest first. Webhooks are those of `templates`.

    Methods about deliveries raise `refusal` once it is set.
    """

    def __init__(self, templates: FakeTemplates) -> None:
        self.templates = templates
        self.records = [delivery_record()]
        self.filters: list[DeliveryFilter] = []
        self.spans: list[DeliverySpan] = []
        self.acts: list[Act] = []
        self.attempt = ATTEMPT
        self.refusal: Exception | None = None
        self.replayed = False

    async def list_deliveries(self, caller: Caller, wanted: DeliveryFilter, page: PageWanted) -> Page[DeliveryRecord]:
        self._refuse(caller)
        self.filters.append(wanted)
        shown = self.records[: page.limit]
        more = len(self.records) > page.limit
        return Page(shown, Position(shown[-1].created_at, shown[-1].id) if more else None)

    async def redeliver(
        self, caller: Caller, delivery_id: DeliveryId, act: Act, render: Callable[[DeliveryRecord], bytes]
    ) -> KeptAnswer:
        self._refuse(caller)
        found = present_delivery(next((each for each in self.records if each.id == delivery_id), None))
        self.acts.append(act)
        return KeptAnswer(render(replace(found, state=DeliveryState.PENDING, next_attempt_at=AT)), self.replayed)

    async def redeliver_span(
        self, caller: Caller, span: DeliverySpan, act: Act, render: Callable[[int], bytes]
    ) -> KeptAnswer:
        self._refuse(caller)
        self.spans.append(span)
        self.acts.append(act)
        return KeptAnswer(render(len(self.records)), self.replayed)

    async def rotate_secret(
        self,
        caller: Caller,
        template_id: TemplateId,
        act: Act,
        render: Callable[[RotatedWebhook], bytes],
        *,
        area: TemplateArea,
    ) -> KeptAnswer:
        record = await self._hooked(caller, template_id, area)
        self.acts.append(act)
        made = None if self.replayed else SECRET
        return KeptAnswer(render(RotatedWebhook(replace(record, made_secret=made), UNTIL)), self.replayed)

    async def send_test(
        self,
        caller: Caller,
        template_id: TemplateId,
        act: Act,
        render: Callable[[Attempt], bytes],
        *,
        area: TemplateArea,
    ) -> KeptAnswer:
        await self._hooked(caller, template_id, area)
        self.acts.append(act)
        return KeptAnswer(render(self.attempt), self.replayed)

    async def _hooked(self, caller: Caller, template_id: TemplateId, area: TemplateArea) -> TemplateRecord:
        record = await self.templates.read(caller, template_id, area=area)
        if kept_webhook(record.stored.content) is None:
            raise no_webhook()
        return record

    def _refuse(self, caller: Caller) -> None:
        assert caller.tenant_id == TENANT_ID
        if self.refusal is not None:
            raise self.refusal
