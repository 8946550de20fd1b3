# SPDX-License-Identifier: Apache-2.0
"""Rules of webhooks: retry schedule, disabling, test calls and audit entries.

The schedule is that of Standard Webhooks 1.0 ("Deliverability and reliability"). By this standard a receiver
unsubscribes with status 410, and requests a wait with 429 or 503.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from chamberlain.auth.models import SERVICE, Editor
from chamberlain.changes.models import Change, Document, Event, EventType, Subject, change_by, format_time
from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.health import HealthCheck, fault, healthy, warning
from chamberlain.core.ids import EventId, TemplateId, TenantId
from chamberlain.templates.models import TemplateHead
from chamberlain.webhooks.models import (
    Attempt,
    DeliveryRecord,
    DeliverySpan,
    DeliveryState,
    DueDelivery,
    Reachability,
    Reply,
    WebhookTarget,
)

# Waits after failed attempts. After the last one the delivery has failed.
RETRY_SCHEDULE = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
# Random share that is added to each wait, so that failed calls are not retried together.
JITTER = 0.1
# Receivers may request longer waits, up to the longest of the schedule.
MAX_RETRY_AFTER = RETRY_SCHEDULE[-1]
# A webhook without a success for so long is disabled.
DISABLE_AFTER = timedelta(days=5)
# Reasons of a disabled webhook.
GONE = "The receiver answered 410 (Gone)."
FAILING = "No call has succeeded for five days."
# No event has this type, so receivers ignore it.
TEST_TYPE = "webhook.test"


def next_attempt(reply: Reply, *, tries: int, jitter: float) -> tuple[DeliveryState, timedelta | None]:
    """Return the state of a delivery and the wait before the retry.

    `tries` includes this attempt. `jitter` is a number from 0 to 1.
    """
    if reply.succeeded:
        return DeliveryState.SUCCEEDED, None
    if reply.is_gone or tries > len(RETRY_SCHEDULE):
        return DeliveryState.FAILED, None
    wait = RETRY_SCHEDULE[tries - 1] * (1 + JITTER * jitter)
    requested = min(reply.retry_after or timedelta(), MAX_RETRY_AFTER)
    return DeliveryState.PENDING, max(wait, requested)


def reason_to_disable(reply: Reply, failing_since: datetime | None, now: datetime) -> str | None:
    """Return the reason to disable a webhook after this reply, or None.

    `failing_since` is the first of its failures in a row.
    """
    if reply.succeeded:
        return None
    if reply.is_gone:
        return GONE
    return FAILING if failing_since is not None and now - failing_since >= DISABLE_AFTER else None


def webhook_disabled(
    event_id: EventId, tenant_id: TenantId, template_id: TemplateId, *, url: str, reason: str, now: datetime
) -> Event:
    """The webhook of a template is called no more."""
    return Event(
        id=event_id,
        type=EventType.WEBHOOK_DISABLED,
        timestamp=now,
        tenant_id=tenant_id,
        request_id=None,
        data={"templateId": str(template_id), "url": url, "reason": reason},
    )


def disable_change(due: DueDelivery, event: Event, *, template_name: str, reason: str) -> Change:
    """Build the audit entry and the event of a disabled webhook."""
    return Change(
        tenant_id=due.tenant_id,
        action="webhook.disable",
        actor=SERVICE,
        client_id=None,
        subject=Subject("template", due.template_id, template_name),
        before={"active": True},
        after={"active": False, "disabledReason": reason},
        request_id=None,
        trace_id=due.trace_id,
        event=event,
    )


def present_delivery(record: DeliveryRecord | None) -> DeliveryRecord:
    """The delivery, or NotFound."""
    if record is None:
        raise NotFound("The delivery does not exist. Deliveries are kept for 30 days.")
    return record


def require_callable(url: str | None) -> None:
    """Validate that the webhook has an address. Raises Conflict."""
    if url is None:
        detail = "The template has no active webhook. Add one by a PUT of the template first."
        raise Conflict("stateDoesNotAllow", detail)


def redelivery_change(before: DeliveryRecord, editor: Editor, details: Mapping[str, str]) -> Change:
    """Build the audit entry of a repeated delivery."""
    return change_by(
        editor,
        before.tenant_id,
        "delivery.redeliver",
        Subject("delivery", before.id, before.type),
        before={"state": before.state},
        after={"state": "pending", **details},
        request_id=before.request_id,
    )


def span_redelivery_change(tenant_id: TenantId, span: DeliverySpan, editor: Editor) -> Change:
    """Build the audit entry of a repeated span.

    It precedes the first queued delivery.
    """
    after = {
        "from": span.since.isoformat(),
        "to": span.until.isoformat(),
        "templateId": None if span.template_id is None else str(span.template_id),
    }
    return change_by(
        editor,
        tenant_id,
        "delivery.redeliver",
        Subject("delivery", None, "Deliveries of a span of time"),
        before=None,
        after=after,
    )


def check_targets(targets: Sequence[WebhookTarget], reaches: Mapping[str, Reachability]) -> Sequence[HealthCheck]:
    """Report each webhook with a problem, and the number of others.

    `reaches` is by address.
    """
    active = [target for target in targets if target.active]
    if not active:
        return [healthy("webhooks", "There is no active webhook.")]
    found = [checkup for target in active if (checkup := _check_target(target, reaches[target.url])) is not None]
    if found and len(found) == len(active):
        return found
    return [*found, healthy("webhooks", f"{len(active) - len(found)} of {len(active)} active webhooks can be called.")]


def build_test_payload(head: TemplateHead, now: datetime) -> Document:
    """Build the payload of a test call, about the template only."""
    return {
        "type": TEST_TYPE,
        "timestamp": format_time(now),
        "requestId": None,
        "tenantId": str(head.tenant_id),
        "data": {"templateId": str(head.id)},
    }


def build_test_attempt(reply: Reply) -> Attempt:
    """Return the reply as the only attempt."""
    milliseconds = round(reply.duration.total_seconds() * 1000)
    return Attempt(1, reply.at, reply.status, milliseconds, reply.error, reply.answer)


def no_secret() -> Conflict:
    """Build the error for a webhook without a signing secret."""
    detail = "The webhook has no secret to sign calls with. Create one: POST .../webhook/rotate/."
    return Conflict("stateDoesNotAllow", detail)


def build_test_change(head: TemplateHead, url: str, attempt: Attempt, editor: Editor) -> Change:
    """The record of a test call."""
    after = {"url": url, "status": attempt.status, "error": attempt.error}
    return change_by(
        editor, head.tenant_id, "webhook.test", Subject("template", head.id, head.name), before=None, after=after
    )


def _check_target(target: WebhookTarget, reach: Reachability) -> HealthCheck | None:
    if target.disabled_reason is not None:
        cure = 'Fix the receiver, then PUT the template with "active": true for its webhook.'
        return warning("webhooks", f"{target.label} was disabled: {target.disabled_reason}", cure)
    match reach:
        case Reachability.NOT_HTTPS:
            cure = "Give it an address with https, or set CHAMBERLAIN_WEBHOOK_ALLOW_HTTP=true."
            return fault("webhooks", f"{target.label} has an address without https.", cure)
        case Reachability.NO_NAME:
            cure = "Check the name and the name servers of this machine."
            return fault("webhooks", f"{target.label} has a name that does not resolve on this machine.", cure)
        case Reachability.REFUSED:
            cure = "Give it a public address, or name its network in CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS."
            return fault("webhooks", f"{target.label} is in a network that may not be called.", cure)
        case Reachability.YES:
            if target.failing_since is None:
                return None
            cure = "GET /admin/v1/deliveries/ shows its answers. After five days the webhook is disabled."
            detail = f"{target.label} has failed since {target.failing_since:%Y-%m-%dT%H:%M:%SZ}."
            return warning("webhooks", detail, cure)
