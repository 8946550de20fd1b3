"""Deliveries: which events a webhook is told of, when a call is made again, and when a webhook is called no more.

The schedule is that of Standard Webhooks 1.0 ("Deliverability and reliability"), which also says that 410 means "no
more" and that 429 and 503 may say when.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

from chamberlain.auth.models import SERVICE, Editor
from chamberlain.changes.models import Change, Event, EventType, Subject
from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.ids import DeliveryId, EventId, JobId, RequestId, TemplateId, TenantId, TraceId
from chamberlain.core.paging import Position
from chamberlain.templates.models import WebhookKey

if TYPE_CHECKING:
    from chamberlain.core.values import Json
from enum import Enum, auto

from chamberlain.changes.models import Document, format_time
from chamberlain.core.checkups import Checkup, doubtful, faulty, well
from chamberlain.templates.models import TemplateHead

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


# How many are queued in one transaction: it takes some hundredths of a second, and nobody waits for it.
BATCH = 500


@dataclass(frozen=True, slots=True)
class DeliverySpan:
    """Deliveries that were made from `since` on and before `until`, of one template or of any (None)."""

    since: datetime
    until: datetime
    template_id: TemplateId | None = None


@dataclass(frozen=True, slots=True)
class RedeliveredBatch:
    """Some of a span that are queued again, and the place behind which the others are, None when there are none."""

    ids: Sequence[DeliveryId]
    next: Position | None


def present_delivery(record: DeliveryRecord | None) -> DeliveryRecord:
    """The delivery, or NotFound."""
    if record is None:
        raise NotFound("There is no such delivery. They are kept for 30 days; the list has those that there are.")
    return record


def require_callable(url: str | None) -> None:
    """Raises Conflict when there is no address to be called."""
    if url is None:
        detail = "The template has no webhook that is active. Give it one by a PUT of the template first."
        raise Conflict("stateDoesNotAllow", detail)


def redelivered(before: DeliveryRecord, editor: Editor, said: Mapping[str, str]) -> Change:
    """The record of one that is sent again; `said` is what the caller said to it."""
    return Change(
        tenant_id=before.tenant_id,
        action="delivery.redeliver",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("delivery", before.id, before.type),
        before={"state": before.state},
        after={"state": "pending", **said},
        request_id=before.request_id,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


def span_redelivered(tenant_id: TenantId, span: DeliverySpan, editor: Editor) -> Change:
    """The record of a span that is sent again; it is written before the first of them is queued."""
    after: dict[str, Json] = {
        "from": span.since.isoformat(),
        "to": span.until.isoformat(),
        "templateId": None if span.template_id is None else str(span.template_id),
    }
    return Change(
        tenant_id=tenant_id,
        action="delivery.redeliver",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("delivery", None, "Deliveries of a span of time"),
        before=None,
        after=after,
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


class Reach(Enum):
    """Whether an address can be called, and else why not. Whoever sets addresses is never told which it is."""

    YES = auto()
    NOT_HTTPS = auto()
    NO_NAME = auto()
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """A template's webhook, and how it gets on."""

    tenant_id: TenantId
    template_id: TemplateId
    template_name: str
    url: str
    active: bool
    failing_since: datetime | None
    disabled_reason: str | None

    @property
    def called(self) -> str:
        """What a sentence begins with that is about it. Its address may hold a secret and is left out."""
        return f"The webhook of template {self.template_name!r} ({self.template_id}, tenant {self.tenant_id})"


def judge_targets(targets: Sequence[WebhookTarget], reaches: Mapping[str, Reach]) -> Sequence[Checkup]:
    """One line for each that somebody has to look at, and one for all that are well. `reaches` is by address."""
    active = [target for target in targets if target.active]
    if not active:
        return [well("webhooks", "There is no active webhook.")]
    found = [checkup for target in active if (checkup := _judged(target, reaches[target.url])) is not None]
    if found and len(found) == len(active):
        return found
    return [*found, well("webhooks", f"{len(active) - len(found)} of {len(active)} active webhooks can be called.")]


def _judged(target: WebhookTarget, reach: Reach) -> Checkup | None:
    if target.disabled_reason is not None:
        cure = 'Mend the receiver, then PUT the template with "active": true for its webhook.'
        return doubtful("webhooks", f"{target.called} was disabled: {target.disabled_reason}", cure)
    match reach:
        case Reach.NOT_HTTPS:
            cure = "Give it an address with https, or set CHAMBERLAIN_WEBHOOK_ALLOW_HTTP=true."
            return faulty("webhooks", f"{target.called} has an address without https.", cure)
        case Reach.NO_NAME:
            cure = "Look whether the name is written well, and whether this machine can look names up."
            return faulty("webhooks", f"{target.called} has a name that stands for no address here.", cure)
        case Reach.REFUSED:
            cure = "Give it a public address, or name its network in CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS."
            return faulty("webhooks", f"{target.called} stands in a network that may not be called.", cure)
        case Reach.YES:
            return _failing(target)


def _failing(target: WebhookTarget) -> Checkup | None:
    if target.failing_since is None:
        return None
    cure = "GET /admin/v1/deliveries/ shows what it answers. After five days it is called no more."
    return doubtful("webhooks", f"{target.called} has failed since {target.failing_since:%Y-%m-%dT%H:%M:%SZ}.", cure)


# No event of the feed has this type: a receiver that knows what it wants passes by it.
TEST_TYPE = "webhook.test"


def payload_of_test(head: TemplateHead, now: datetime) -> Document:
    """What is sent: the five members of every payload, about the template alone."""
    return {
        "type": TEST_TYPE,
        "timestamp": format_time(now),
        "requestId": None,
        "tenantId": str(head.tenant_id),
        "data": {"templateId": str(head.id)},
    }


def only_attempt(reply: Reply) -> Attempt:
    """What came back, as attempts are shown: there is one, and none follows."""
    milliseconds = round(reply.duration.total_seconds() * 1000)
    return Attempt(1, reply.at, reply.status, milliseconds, reply.error, reply.answer)


def no_secret() -> Conflict:
    """What to say of a webhook whose calls cannot be signed."""
    detail = "There is no secret that a call could be signed with. Make one: POST .../webhook/rotate/."
    return Conflict("stateDoesNotAllow", detail)


def tested(head: TemplateHead, url: str, attempt: Attempt, editor: Editor) -> Change:
    """The record of a test call."""
    after: dict[str, Json] = {"url": url, "status": attempt.status, "error": attempt.error}
    return Change(
        tenant_id=head.tenant_id,
        action="webhook.test",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("template", head.id, head.name),
        before=None,
        after=after,
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )
