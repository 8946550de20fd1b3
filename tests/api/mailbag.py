"""A mailbag of deliveries, for a house that keeps everything in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.api.administration import Deliveries
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Caller
from chamberlain.rules.deliveries import Attempt, DeliveryFilter, DeliveryRecord, DeliveryState
from chamberlain.rules.ids import DeliveryId, EventId, RequestId, TemplateId, TenantId
from chamberlain.rules.pages import Page, PageWanted, Position
from chamberlain.rules.redeliveries import DeliverySpan, present_delivery

DELIVERY = DeliveryId(UUID("de110000-0000-4000-8000-000000000001"))
AT = datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC)


def delivery_record(number: int = 1) -> DeliveryRecord:
    """One that has failed once."""
    return DeliveryRecord(
        id=DeliveryId(UUID(int=DELIVERY.int + number - 1)),
        tenant_id=TenantId(UUID("e57a7e00-0000-4000-8000-000000000001")),
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


@dataclass
class Mailbag:
    """Deliveries, newest first. `refusal` is raised by every use case once it is set."""

    records: list[DeliveryRecord] = field(default_factory=lambda: [delivery_record()])
    filters: list[DeliveryFilter] = field(default_factory=list)
    spans: list[DeliverySpan] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    refusal: Exception | None = None
    replayed: bool = False

    def services(self) -> Deliveries:
        return Deliveries(list=self.page, redeliver=self.redeliver, redeliver_span=self.redeliver_span)

    async def page(self, _caller: Caller, wanted: DeliveryFilter, page: PageWanted) -> Page[DeliveryRecord]:
        self._refuse()
        self.filters.append(wanted)
        shown = self.records[: page.limit]
        more = len(self.records) > page.limit
        return Page(shown, Position(shown[-1].created_at, shown[-1].id) if more else None)

    async def redeliver(
        self, _caller: Caller, delivery_id: DeliveryId, act: Act, render: Callable[[DeliveryRecord], bytes]
    ) -> KeptAnswer:
        self._refuse()
        found = present_delivery(next((each for each in self.records if each.id == delivery_id), None))
        self.acts.append(act)
        return KeptAnswer(render(replace(found, state=DeliveryState.PENDING, next_attempt_at=AT)), self.replayed)

    async def redeliver_span(
        self, _caller: Caller, span: DeliverySpan, act: Act, render: Callable[[int], bytes]
    ) -> KeptAnswer:
        self._refuse()
        self.spans.append(span)
        self.acts.append(act)
        return KeptAnswer(render(len(self.records)), self.replayed)

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal
