# SPDX-License-Identifier: Apache-2.0
"""Deliveries and their attempts as they are sent."""

from uuid import UUID

from msgspec import Struct, field

from chamberlain.changes.models import format_time
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.fields import Id, Shape
from chamberlain.core.ids import TemplateId
from chamberlain.core.time import Moment, read_moment
from chamberlain.core.validation import Reader
from chamberlain.http.wire import Time
from chamberlain.webhooks.models import Attempt as RecordedAttempt
from chamberlain.webhooks.models import DeliveryRecord, DeliverySpan, DeliveryState


class Attempt(Struct, rename="camel", frozen=True):
    """A call of a webhook.

    It has a status and the first 1,024 bytes of the answer, or an error.
    """

    number: int
    at: Time
    status: int | None
    duration_ms: int
    error: str | None
    answer: str | None


class Delivery(Struct, rename="camel", frozen=True):
    """A delivery of one event to a webhook.

    It has the newest 50 attempts. `nextAttemptAt` is null if no attempt follows.
    """

    id: UUID
    event_id: UUID
    type: str
    request_id: UUID | None
    template_id: UUID
    url: str
    state: DeliveryState
    next_attempt_at: Time | None
    attempts: tuple[Attempt, ...]
    created_at: Time


def delivery_of(record: DeliveryRecord) -> Delivery:
    """Encode a delivery for administrators."""
    return Delivery(
        id=record.id,
        event_id=record.event_id,
        type=record.type,
        request_id=record.request_id,
        template_id=record.template_id,
        url=record.url,
        state=record.state,
        next_attempt_at=None if record.next_attempt_at is None else format_time(record.next_attempt_at),
        attempts=tuple(map(attempt_of, record.attempts)),
        created_at=format_time(record.created_at),
    )


def attempt_of(attempt: RecordedAttempt) -> Attempt:
    """Encode an attempt for administrators."""
    return Attempt(
        number=attempt.number,
        at=format_time(attempt.at),
        status=attempt.status,
        duration_ms=attempt.duration_ms,
        error=attempt.error,
        answer=attempt.answer,
    )


class RedeliveryBody(Shape, frozen=True, kw_only=True):
    """Deliveries created from `from` until `to`, of one template or any."""

    since: Moment = field(name="from")
    until: Moment = field(name="to")
    template_id: Id | None = None


REDELIVERY = Reader(RedeliveryBody)


def to_delivery_span(body: RedeliveryBody) -> DeliverySpan:
    """Convert a body.

    Raises BodyInvalid for unknown days and for an empty span.
    """
    since, until = read_moment(body.since, "from"), read_moment(body.until, "to")
    if isinstance(since, Fault) or isinstance(until, Fault):
        raise BodyInvalid([each for each in (since, until) if isinstance(each, Fault)])
    if until <= since:
        raise BodyInvalid((Fault.build("/to", "outOfBounds", "{property} must be later than from.", property="to"),))
    template_id = None if body.template_id is None else TemplateId(UUID(body.template_id))
    return DeliverySpan(since, until, template_id)
