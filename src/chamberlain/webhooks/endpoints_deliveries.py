"""Endpoints of deliveries of webhooks: list them, and send them again."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.core.ids import DeliveryId, RequestId, TemplateId
from chamberlain.http.calls import NO_STORE, Answer
from chamberlain.http.context_calls import Call
from chamberlain.http.idempotency import act_of, acted, creating_act_of
from chamberlain.http.idempotency_actions import ACTION, ActionBody
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.resource import CACHE
from chamberlain.http.router import About, Endpoint, EndpointTable, Parameter, Success
from chamberlain.webhooks.models import DeliveryFilter, DeliveryRecord, DeliveryState
from chamberlain.webhooks.service import WebhookService
from chamberlain.webhooks.wire import Delivery, delivery_of
from chamberlain.webhooks.wire_redeliveries import REDELIVERY, RedeliveryBody, to_delivery_span


class DeliveryPage(Struct, rename="camel", frozen=True):
    """Some deliveries, newest first; `nextCursor` is null on the last page."""

    items: tuple[Delivery, ...]
    next_cursor: str | None


class Redelivered(Struct, frozen=True):
    """How many deliveries are queued again."""

    count: int


async def list_(webhooks: WebhookService, call: Call[None]) -> Answer:
    """List deliveries."""
    query = call.query
    wanted = DeliveryFilter(
        state=DeliveryState(query["state"]) if "state" in query else None,
        template_id=TemplateId(UUID(query["templateId"])) if "templateId" in query else None,
        request_id=RequestId(UUID(query["requestId"])) if "requestId" in query else None,
    )
    page = await webhooks.list_deliveries(call.caller, wanted, page_wanted(call))
    body = DeliveryPage(tuple(map(delivery_of, page.items)), next_cursor(call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


async def redeliver(webhooks: WebhookService, call: Call[ActionBody]) -> Answer:
    """Send a delivery again."""
    delivery_id = DeliveryId(call.ids["deliveryId"])
    return acted(await webhooks.redeliver(call.caller, delivery_id, act_of(call), _render))


async def redeliver_span(webhooks: WebhookService, call: Call[RedeliveryBody]) -> Answer:
    """Send all deliveries of a span again."""
    span = to_delivery_span(call.body)
    answer = await webhooks.redeliver_span(call.caller, span, creating_act_of(call), _render_count)
    return Answer(202, answer.body, acted(answer).headers)


def _render(record: DeliveryRecord) -> bytes:
    return json.encode(delivery_of(record))


def _render_count(count: int) -> bytes:
    return json.encode(Redelivered(count))


_TAG = "Webhooks"
_HOW = (
    "The same `webhook-id` and the same payload are sent, to the address that the webhook has now and signed with the "
    "secrets that it has now, so that a receiver that keeps the ids of what it has seen can tell. The schedule begins "
    "anew."
)
ABOUT_LIST = About(
    id="listDeliveries",
    tag=_TAG,
    summary="List deliveries of webhooks, newest first",
    description="Every attempt is on record. Deliveries are kept for 30 days at least.",
)
ABOUT_REDELIVER = About(
    id="redeliverDelivery",
    tag=_TAG,
    summary="Send a delivery again",
    description=f"Whatever has become of it; one that waits for its next attempt is attempted at once. {_HOW} The body "
    "may be left out.",
    example={"comment": "The receiver is back."},
)
ABOUT_REDELIVER_SPAN = About(
    id="redeliverSpan",
    tag=_TAG,
    summary="Send again all deliveries of a span of time",
    description="Those that were made from `from` on and before `to`, whatever has become of them; of one template, or "
    f"of any. Those whose webhook is gone, not active or disabled are left out. {_HOW} A call that was cut short may "
    "be made again.",
    example={"from": "2026-11-20T00:00:00Z", "to": "2026-11-21T00:00:00Z"},
)
FILTERS = (
    Parameter("state", {"type": "string", "enum": list(DeliveryState)}, "Only deliveries in this state."),
    Parameter("templateId", {"type": "string", "format": "uuid"}, "Only deliveries to the webhook of this template."),
    Parameter("requestId", {"type": "string", "format": "uuid"}, "Only deliveries about this request."),
    *PARAMETERS,
)
_EXAMPLE: Mapping[str, object] = {
    "id": "de110000-0000-4000-8000-000000000001",
    "eventId": "e7e00000-0000-4000-8000-000000000001",
    "type": "group.created",
    "requestId": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
    "templateId": "7e000000-0000-4000-8000-000000000011",
    "url": "https://hooks.estate.example/chamberlain",
    "state": "pending",
    "nextAttemptAt": "2026-11-20T09:30:06.000Z",
    "attempts": [
        {
            "number": 1,
            "at": "2026-11-20T09:30:01.000Z",
            "status": 500,
            "durationMs": 210,
            "error": None,
            "answer": "oops",
        }
    ],
    "createdAt": "2026-11-20T09:30:01.000Z",
}
_KEPT: Mapping[str, str] = {
    **CACHE,
    "Idempotency-Replayed": "`true` when an earlier call with this key did it; this is its answer.",
}
LISTED = (Success(200, "A page of deliveries.", DeliveryPage, CACHE, {"items": [_EXAMPLE], "nextCursor": None}),)
REDELIVERED = (Success(200, "The delivery, which is pending again.", Delivery, _KEPT, _EXAMPLE),)
SPAN_REDELIVERED = (Success(202, "They are queued.", Redelivered, _KEPT, {"count": 42}),)
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
REDELIVER_CODES = (
    "notAdministrator", "notFound", "stateDoesNotAllow", "idempotencyKeyReused", "idempotencyKeyInProgress",
    "databaseUnavailable", "overloaded",
)  # fmt: skip
SPAN_CODES = (
    "notAdministrator", "notPossible", "stateDoesNotAllow", "idempotencyKeyReused", "idempotencyKeyInProgress",
    "databaseUnavailable", "overloaded",
)  # fmt: skip

# fmt: off
ENDPOINTS = EndpointTable(WebhookService, (
    Endpoint("GET", "/admin/v1/deliveries/", list_, Operation.ADMINISTER_SERVICE, ABOUT_LIST,
             LISTED, parameters=FILTERS, codes=LIST_CODES),
    Endpoint("POST", "/admin/v1/deliveries/redeliver/", redeliver_span, Operation.ADMINISTER_SERVICE,
             ABOUT_REDELIVER_SPAN, SPAN_REDELIVERED, shape=REDELIVERY, codes=SPAN_CODES),
    Endpoint("POST", "/admin/v1/deliveries/{deliveryId}/redeliver/", redeliver,
             Operation.ADMINISTER_SERVICE, ABOUT_REDELIVER, REDELIVERED, shape=ACTION,
             codes=REDELIVER_CODES, body_is_optional=True),
))
# fmt: on
