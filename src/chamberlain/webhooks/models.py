"""Deliveries: which events a webhook is told of, when a call is made again, and when a webhook is called no more.

The schedule is that of Standard Webhooks 1.0 ("Deliverability and reliability"), which also says that 410 means "no
more" and that 429 and 503 may say when.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from chamberlain.auth.models import SERVICE
from chamberlain.changes.models import Change, Subject
from chamberlain.changes.models_events import Event, EventType
from chamberlain.core.ids import DeliveryId, EventId, JobId, RequestId, TemplateId, TenantId, TraceId
from chamberlain.templates.webhook_webhooks import WebhookKey

# How long after each attempt without success the next one is made; after the last there is none.
SCHEDULE = (
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
# A wait is longer by up to this part of itself, so that what failed together does not come back together.
JITTER = 0.1
# A receiver may ask for a longer wait, but not for more than the schedule's longest.
LONGEST_WAIT = SCHEDULE[-1]
# Without one success in so long a webhook is called no more.
PATIENCE = timedelta(days=5)

# What is kept of an answer, in bytes.
KEPT_ANSWER = 1_024
# What is kept of the attempts of a delivery that is sent again and again: the newest.
KEPT_ATTEMPTS = 50

# Why a webhook was disabled, as administrators read it.
GONE = "The receiver answered 410 (Gone)."
SILENT = "No call has succeeded for five days."


class DeliveryState(StrEnum):
    """What has become of a delivery; one that is pending has a next attempt, or is being attempted."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """One call of a webhook: the payload is sent as it is, signed with each of the secrets. `traceparent` is the header
    of that name, where the call has a span of its own."""

    url: str
    event_id: EventId
    payload: bytes
    secrets: tuple[str, ...] = field(repr=False)
    trace_id: TraceId
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back of a call: a status with the beginning of its answer, or an error (a sentence) instead.
    `retry_after` is what the receiver asked for."""

    at: datetime
    duration: timedelta
    status: int | None = None
    answer: str | None = None
    error: str | None = None
    retry_after: timedelta | None = None
    was_sent: bool = True

    @classmethod
    def unsent(cls, at: datetime, error: str) -> "Reply":
        """No call was made, through no fault of the receiver."""
        return cls(at, timedelta(), error=error, was_sent=False)

    @property
    def succeeded(self) -> bool:
        """Whether the receiver has taken it."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_farewell(self) -> bool:
        """Whether the receiver wants no more calls, of any event."""
        return self.status == 410


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, as it is kept. `number` counts from 1 over the life of the delivery."""

    number: int
    at: datetime
    status: int | None
    duration_ms: int
    error: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """A delivery whole. `next_attempt_at` is None when there is none, `attempts` has the newest 50."""

    id: DeliveryId
    tenant_id: TenantId
    event_id: EventId
    type: str
    request_id: RequestId | None
    template_id: TemplateId
    url: str
    state: DeliveryState
    next_attempt_at: datetime | None
    attempts: tuple[Attempt, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Which deliveries somebody wants to see; None is any."""

    state: DeliveryState | None = None
    template_id: TemplateId | None = None
    request_id: RequestId | None = None


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A delivery as the worker takes it up. `url` is the webhook's as it is now; None when it is not to be called any
    more."""

    id: DeliveryId
    tenant_id: TenantId
    event_id: EventId
    template_id: TemplateId
    url: str | None
    payload: bytes
    tries: int
    trace_id: TraceId

    @property
    def webhook(self) -> WebhookKey:
        """Whose call it is."""
        return self.tenant_id, self.template_id


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """What came of one run of a delivery, for whoever holds its job under this lease. Without a reply it was not
    called, since its webhook is not to be called any more. `after` is there when it is to be called again."""

    delivery: DueDelivery
    lease_id: UUID
    job_id: JobId
    state: DeliveryState
    reply: Reply | None
    after: timedelta | None

    @property
    def was_called(self) -> bool:
        """Whether it says anything of the receiver."""
        return self.reply is not None and self.reply.was_sent


def next_try(reply: Reply, *, tries: int, jitter: float) -> tuple[DeliveryState, timedelta | None]:
    """What becomes of a delivery after `tries` attempts, this one among them, and how long to wait for the next, if
    there is one. `jitter` is a number from 0 to 1."""
    if reply.succeeded:
        return DeliveryState.SUCCEEDED, None
    if reply.is_farewell or tries > len(SCHEDULE):
        return DeliveryState.FAILED, None
    wait = SCHEDULE[tries - 1] * (1 + JITTER * jitter)
    asked = min(reply.retry_after or timedelta(), LONGEST_WAIT)
    return DeliveryState.PENDING, max(wait, asked)


def reason_to_disable(reply: Reply, failing_since: datetime | None, now: datetime) -> str | None:
    """Why a webhook is called no more after this reply, if so; `failing_since` is when its calls began to fail."""
    if reply.succeeded:
        return None
    if reply.is_farewell:
        return GONE
    return SILENT if failing_since is not None and now - failing_since >= PATIENCE else None


def kept_answer(body: bytes) -> str:
    """The beginning of an answer as text; what is none is shown as such, and so is what a database cannot keep."""
    return body[:KEPT_ANSWER].decode("utf-8", errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


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


def disabled_by(due: DueDelivery, event: Event, *, template_name: str, reason: str) -> Change:
    """The record that the service disabled a webhook over this delivery, and the event that tells of it."""
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
