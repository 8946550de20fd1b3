# SPDX-License-Identifier: Apache-2.0
"""Webhooks: calls, replies, deliveries and their attempts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from uuid import UUID

from chamberlain.core.ids import DeliveryId, EventId, JobId, RequestId, TemplateId, TenantId, TraceId
from chamberlain.core.paging import Position
from chamberlain.template_admin.models import WebhookKey

# Stored bytes of an answer.
MAX_ANSWER_BYTES = 1_024
# Stored attempts of a delivery, the newest ones.
MAX_STORED_ATTEMPTS = 50


class DeliveryState(StrEnum):
    """The state of a delivery.

    A pending one has a next attempt or is being attempted.
    """

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """A call of a webhook, signed with each of the secrets.

    `traceparent` is the header of that name, if the call has a span.
    """

    url: str
    event_id: EventId
    payload: bytes
    secrets: tuple[str, ...] = field(repr=False)
    trace_id: TraceId
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a call: a status and the answer's start.

    Without an answer it has an error. `retry_after` is the wait that the receiver requested.
    """

    at: datetime
    duration: timedelta
    status: int | None = None
    answer: str | None = None
    error: str | None = None
    retry_after: timedelta | None = None
    was_sent: bool = True

    @classmethod
    def unsent(cls, at: datetime, error: str) -> "Reply":
        """Build the reply of a call that our side could not make."""
        return cls(at, timedelta(), error=error, was_sent=False)

    @property
    def succeeded(self) -> bool:
        """Whether the receiver has taken it."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        """Return whether the receiver unsubscribed from all events."""
        return self.status == 410


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt as it is stored. `number` counts from 1."""

    number: int
    at: datetime
    status: int | None
    duration_ms: int
    error: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """A delivery with its newest 50 attempts.

    `next_attempt_at` is None if no attempt follows.
    """

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
    """Filter of deliveries. None matches any."""

    state: DeliveryState | None = None
    template_id: TemplateId | None = None
    request_id: RequestId | None = None


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A delivery that a worker claimed.

    `url` is the current address, or None if the webhook is missing, inactive or disabled.
    """

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
        """Return the key of the webhook."""
        return self.tenant_id, self.template_id


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The outcome of one run of a delivery under its lease.

    Without a reply there was no call. `after` is the wait for the next attempt.
    """

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


# Deliveries queued per transaction. It takes some hundredths of a second.
BATCH = 500


@dataclass(frozen=True, slots=True)
class DeliverySpan:
    """Deliveries created from `since` until `until`. `template_id` None matches any."""

    since: datetime
    until: datetime
    template_id: TemplateId | None = None


@dataclass(frozen=True, slots=True)
class RedeliveredBatch:
    """Queued deliveries of a span, and the position of the next ones."""

    ids: Sequence[DeliveryId]
    next: Position | None


class Reachability(Enum):
    """Whether an address can be called.

    Administrators of a tenant never see the reason.
    """

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
    def label(self) -> str:
        """Name the webhook in a sentence.

        Its address may contain a secret and is left out.
        """
        return f"The webhook of template {self.template_name!r} ({self.template_id}, tenant {self.tenant_id})"


def truncate_answer(body: bytes) -> str:
    """Decode the start of an answer.

    Bytes that are no text, and NUL characters, are replaced.
    """
    return body[:MAX_ANSWER_BYTES].decode("utf-8", errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
