# SPDX-License-Identifier: Apache-2.0
"""Endpoints of webhooks: rotate a secret, and send a test event."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType, json

from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import format_time
from chamberlain.core.ids import DeliveryId, RequestId, TemplateId
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.request import ACTION, ActionBody, Call, Parameter, act_of, creating_act_of
from chamberlain.http.resource import CACHE, acted
from chamberlain.http.responses import NO_STORE, Answer
from chamberlain.http.wire import Time
from chamberlain.template_admin.models import COLLAB, MAIL, RotatedWebhook, TemplateArea
from chamberlain.webhooks.models import Attempt as RecordedAttempt
from chamberlain.webhooks.models import DeliveryFilter, DeliveryRecord, DeliveryState
from chamberlain.webhooks.service import WebhookService
from chamberlain.webhooks.wire import (
    REDELIVERY,
    Attempt,
    Delivery,
    RedeliveryBody,
    attempt_of,
    delivery_of,
    to_delivery_span,
)


class RotatedSecret(Struct, rename="camel", frozen=True):
    """A new secret. It is shown in this answer only.

    The previous one stays valid until `previousSecretUntil`, which is null if there was none.
    """

    template_id: UUID
    has_secret: bool
    previous_secret_until: Time | None
    secret: str | UnsetType = UNSET


async def rotate_of_mailbox_template(webhooks: WebhookService, call: Call[ActionBody]) -> Answer:
    """Rotate the secret of a mailbox template's webhook."""
    return await _rotate(webhooks, call, MAIL)


async def rotate_of_collab_template(webhooks: WebhookService, call: Call[ActionBody]) -> Answer:
    """Rotate the secret of a group or team template's webhook."""
    return await _rotate(webhooks, call, COLLAB)


async def test_of_mailbox_template(webhooks: WebhookService, call: Call[ActionBody]) -> Answer:
    """Send a test to a mailbox template's webhook."""
    return await _test(webhooks, call, MAIL)


async def test_of_collab_template(webhooks: WebhookService, call: Call[ActionBody]) -> Answer:
    """Send a test to a group or team template's webhook."""
    return await _test(webhooks, call, COLLAB)


async def _rotate(webhooks: WebhookService, call: Call[ActionBody], area: TemplateArea) -> Answer:
    template_id = TemplateId(call.ids["templateId"])
    return acted(await webhooks.rotate_secret(call.caller, template_id, act_of(call), _render, area=area))


async def _test(webhooks: WebhookService, call: Call[ActionBody], area: TemplateArea) -> Answer:
    template_id = TemplateId(call.ids["templateId"])
    return acted(await webhooks.send_test(call.caller, template_id, act_of(call), _render_attempt, area=area))


def _render(rotated: RotatedWebhook) -> bytes:
    record, until = rotated.record, rotated.previous_until
    return json.encode(
        RotatedSecret(
            template_id=record.stored.head.id,
            has_secret=record.secret_number is not None,
            previous_secret_until=None if until is None else format_time(until),
            secret=UNSET if record.made_secret is None else record.made_secret,
        )
    )


def _render_attempt(attempt: RecordedAttempt) -> bytes:
    return json.encode(attempt_of(attempt))


_ROTATING = (
    "For 24 hours calls are signed with the new and the previous secret, so that the receiver can change over. There "
    "are never three secrets: another rotation within that time ends the oldest at once. The secret is in this answer "
    "only, not even in that of a repeated call with the same `Idempotency-Key`. The body may be left out."
)
ABOUT_ROTATE_OF_MAILBOX_TEMPLATE = About(
    id="rotateMailboxTemplateWebhook",
    tag="Webhooks",
    summary="Rotate the webhook secret of a mailbox template",
    description=_ROTATING,
    example={"comment": "Yearly change."},
)
ABOUT_ROTATE_OF_COLLAB_TEMPLATE = About(
    id="rotateCollabTemplateWebhook",
    tag="Webhooks",
    summary="Rotate the webhook secret of a template of groups or teams",
    description=_ROTATING,
    example={"comment": "Yearly change."},
)
_TESTING = (
    "Sends one signed event of the type `webhook.test`, and returns the reply within 15 seconds. It is not a delivery: "
    "it is not retried and changes no state. The webhook may be inactive or disabled. Addresses that may not be called "
    "are refused with the same text for every reason. The body may be left out."
)
ABOUT_TEST_OF_MAILBOX_TEMPLATE = About(
    id="testMailboxTemplateWebhook",
    tag="Webhooks",
    summary="Send a test event to the webhook of a mailbox template",
    description=_TESTING,
)
ABOUT_TEST_OF_COLLAB_TEMPLATE = About(
    id="testCollabTemplateWebhook",
    tag="Webhooks",
    summary="Send a test event to the webhook of a template of groups or teams",
    description=_TESTING,
)
_EXAMPLE: Mapping[str, object] = {
    "templateId": "7e000000-0000-4000-8000-000000000011",
    "hasSecret": True,
    "previousSecretUntil": "2026-11-21T09:30:00.000Z",
    "secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
}
_REPLAYED = "`true` if this is the answer to an earlier call with the same key"
_HEADERS: Mapping[str, str] = {
    **CACHE,
    "Idempotency-Replayed": f"{_REPLAYED}, without the secret.",
}
_TEST_HEADERS: Mapping[str, str] = {**_HEADERS, "Idempotency-Replayed": f"{_REPLAYED}."}
ROTATED = (Success(200, "The new secret.", RotatedSecret, _HEADERS, _EXAMPLE),)
ROTATE_CODES = (
    "notAdministrator", "notFound", "idempotencyKeyReused", "idempotencyKeyInProgress", "databaseUnavailable",
    "overloaded",
)  # fmt: skip
_ATTEMPT: Mapping[str, object] = {
    "number": 1,
    "at": "2026-11-20T09:30:01.000Z",
    "status": 204,
    "durationMs": 35,
    "error": None,
    "answer": "",
}
TESTED = (Success(200, "The reply of the receiver, or the error.", Attempt, _TEST_HEADERS, _ATTEMPT),)
TEST_CODES = (*ROTATE_CODES, "stateDoesNotAllow")


class DeliveryPage(Struct, rename="camel", frozen=True):
    """A page of deliveries, newest first.

    `nextCursor` is null on the last one.
    """

    items: tuple[Delivery, ...]
    next_cursor: str | None


class Redelivered(Struct, frozen=True):
    """The number of deliveries that are queued again."""

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
    return acted(await webhooks.redeliver(call.caller, delivery_id, act_of(call), _render_delivery))


async def redeliver_span(webhooks: WebhookService, call: Call[RedeliveryBody]) -> Answer:
    """Send all deliveries of a span again."""
    span = to_delivery_span(call.body)
    answer = await webhooks.redeliver_span(call.caller, span, creating_act_of(call), _render_count)
    return Answer(202, answer.body, acted(answer).headers)


def _render_delivery(record: DeliveryRecord) -> bytes:
    return json.encode(delivery_of(record))


def _render_count(count: int) -> bytes:
    return json.encode(Redelivered(count))


_TAG = "Webhooks"
_HOW = (
    "The `webhook-id` and the payload stay the same, so that receivers can deduplicate. The current address and the "
    "current secrets are used. The retry schedule starts again."
)
ABOUT_LIST = About(
    id="listDeliveries",
    tag=_TAG,
    summary="List deliveries of webhooks, newest first",
    description="With every attempt. Deliveries are kept for at least 30 days.",
)
ABOUT_REDELIVER = About(
    id="redeliverDelivery",
    tag=_TAG,
    summary="Send a delivery again",
    description=f"In any state. A pending delivery is attempted at once. {_HOW} The body may be left out.",
    example={"comment": "The receiver is back."},
)
ABOUT_REDELIVER_SPAN = About(
    id="redeliverSpan",
    tag=_TAG,
    summary="Send all deliveries of a span of time again",
    description="Deliveries created from `from` until `to`, in any state, of one template or any. Those whose webhook "
    f"is missing, inactive or disabled are left out. {_HOW} An interrupted call may be retried.",
    example={"from": "2026-11-20T00:00:00Z", "to": "2026-11-21T00:00:00Z"},
)
FILTERS = (
    Parameter("state", {"type": "string", "enum": list(DeliveryState)}, "Only deliveries in this state."),
    Parameter("templateId", {"type": "string", "format": "uuid"}, "Only deliveries to the webhook of this template."),
    Parameter("requestId", {"type": "string", "format": "uuid"}, "Only deliveries about this request."),
    *PARAMETERS,
)
_DELIVERY_EXAMPLE: Mapping[str, object] = {
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
    "Idempotency-Replayed": "`true` if this is the answer to an earlier call with the same key.",
}
LISTED = (
    Success(200, "A page of deliveries.", DeliveryPage, CACHE, {"items": [_DELIVERY_EXAMPLE], "nextCursor": None}),
)
REDELIVERED = (Success(200, "The delivery, now pending.", Delivery, _KEPT, _DELIVERY_EXAMPLE),)
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
    Endpoint("POST", "/admin/mail/v1/templates/{templateId}/webhook/test/", test_of_mailbox_template,
             Operation.ADMINISTER_MAIL, ABOUT_TEST_OF_MAILBOX_TEMPLATE, TESTED, shape=ACTION,
             codes=TEST_CODES, body_is_optional=True),
    Endpoint("POST", "/admin/mail/v1/templates/{templateId}/webhook/rotate/", rotate_of_mailbox_template,
             Operation.ADMINISTER_MAIL, ABOUT_ROTATE_OF_MAILBOX_TEMPLATE, ROTATED, shape=ACTION,
             codes=ROTATE_CODES, body_is_optional=True),
    Endpoint("POST", "/admin/collab/v1/templates/{templateId}/webhook/test/", test_of_collab_template,
             Operation.ADMINISTER_COLLAB, ABOUT_TEST_OF_COLLAB_TEMPLATE, TESTED, shape=ACTION,
             codes=TEST_CODES, body_is_optional=True),
    Endpoint("POST", "/admin/collab/v1/templates/{templateId}/webhook/rotate/", rotate_of_collab_template,
             Operation.ADMINISTER_COLLAB, ABOUT_ROTATE_OF_COLLAB_TEMPLATE, ROTATED, shape=ACTION,
             codes=ROTATE_CODES, body_is_optional=True),
))
# fmt: on
