"""Endpoints of webhooks: rotate a secret, and send a test event."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType, json

from chamberlain.auth.permissions import Operation
from chamberlain.core.ids import TemplateId
from chamberlain.http.calls import Answer
from chamberlain.http.context_calls import Call
from chamberlain.http.idempotency import act_of, acted
from chamberlain.http.idempotency_actions import ACTION, ActionBody
from chamberlain.http.resource import CACHE
from chamberlain.http.router import About, Endpoint, EndpointTable, Success
from chamberlain.http.wire import Time, time_of
from chamberlain.template_admin.models import RotatedWebhook
from chamberlain.templates.rules_template_areas import COLLAB, MAIL, TemplateArea
from chamberlain.webhooks.models import Attempt as RecordedAttempt
from chamberlain.webhooks.service import WebhookService
from chamberlain.webhooks.wire import Attempt, attempt_of


class RotatedSecret(Struct, rename="camel", frozen=True):
    """A new secret, which is shown here and never again. The one before it signs as well until
    `previousSecretUntil`, which is null where there was none."""

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
            previous_secret_until=None if until is None else time_of(until),
            secret=UNSET if record.made_secret is None else record.made_secret,
        )
    )


def _render_attempt(attempt: RecordedAttempt) -> bytes:
    return json.encode(attempt_of(attempt))


_ROTATING = (
    "Calls are signed with the new secret and the one before it for 24 hours, so that whoever receives them can take "
    "up the new one meanwhile. To rotate again within that time ends the oldest at once: there are never three. The "
    "secret is in this answer and never shown again, not to a repeated call with the same `Idempotency-Key` either. "
    "The body may be left out."
)
ABOUT_ROTATE_OF_MAILBOX_TEMPLATE = About(
    id="rotateMailboxTemplateWebhook",
    tag="Webhooks",
    summary="Make a new secret for the webhook of a mailbox template",
    description=_ROTATING,
    example={"comment": "Yearly change."},
)
ABOUT_ROTATE_OF_COLLAB_TEMPLATE = About(
    id="rotateCollabTemplateWebhook",
    tag="Webhooks",
    summary="Make a new secret for the webhook of a template of groups or teams",
    description=_ROTATING,
    example={"comment": "Yearly change."},
)
_TESTING = (
    "One call with an event of the type `webhook.test`, signed as every other, and answered with what came back within "
    "15 seconds. It is no delivery: it is not made again, and changes nothing, also where the webhook is not active or "
    "was disabled. An address that may not be called is refused in the same words whatever the reason. The body may be "
    "left out."
)
ABOUT_TEST_OF_MAILBOX_TEMPLATE = About(
    id="testMailboxTemplateWebhook",
    tag="Webhooks",
    summary="Call the webhook of a mailbox template with a test event",
    description=_TESTING,
)
ABOUT_TEST_OF_COLLAB_TEMPLATE = About(
    id="testCollabTemplateWebhook",
    tag="Webhooks",
    summary="Call the webhook of a template of groups or teams with a test event",
    description=_TESTING,
)
_EXAMPLE: Mapping[str, object] = {
    "templateId": "7e000000-0000-4000-8000-000000000011",
    "hasSecret": True,
    "previousSecretUntil": "2026-11-21T09:30:00.000Z",
    "secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
}
_REPLAYED = "`true` when an earlier call with this key did it; this is its answer"
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
TESTED = (Success(200, "What came back, whatever it was.", Attempt, _TEST_HEADERS, _ATTEMPT),)
TEST_CODES = (*ROTATE_CODES, "stateDoesNotAllow")

# fmt: off
ENDPOINTS = EndpointTable(WebhookService, (
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
