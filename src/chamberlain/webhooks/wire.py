"""Deliveries and their attempts as they are sent."""

from uuid import UUID

from msgspec import Struct, field

from chamberlain.core.constraints import Shape
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.ids import TemplateId
from chamberlain.core.time import Moment, read_moment
from chamberlain.core.validation import Id, Reader
from chamberlain.http.wire import Time, time_of
from chamberlain.webhooks.models import Attempt as RecordedAttempt
from chamberlain.webhooks.models import DeliveryRecord, DeliverySpan, DeliveryState


class Attempt(Struct, rename="camel", frozen=True):
    """One call of a webhook: the status that came back with the first 1,024 bytes of the answer, or the error."""

    number: int
    at: Time
    status: int | None
    duration_ms: int
    error: str | None
    answer: str | None


class Delivery(Struct, rename="camel", frozen=True):
    """What a webhook is told of one event, with the newest 50 attempts. `nextAttemptAt` is null when there is none."""

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
    """What administrators are sent of a delivery."""
    return Delivery(
        id=record.id,
        event_id=record.event_id,
        type=record.type,
        request_id=record.request_id,
        template_id=record.template_id,
        url=record.url,
        state=record.state,
        next_attempt_at=None if record.next_attempt_at is None else time_of(record.next_attempt_at),
        attempts=tuple(map(attempt_of, record.attempts)),
        created_at=time_of(record.created_at),
    )


def attempt_of(attempt: RecordedAttempt) -> Attempt:
    """What administrators are sent of an attempt."""
    return Attempt(
        number=attempt.number,
        at=time_of(attempt.at),
        status=attempt.status,
        duration_ms=attempt.duration_ms,
        error=attempt.error,
        answer=attempt.answer,
    )


class RedeliveryBody(Shape, frozen=True, kw_only=True):
    """From `from` on and before `to`, by the time at which they were made; of one template, or of any."""

    since: Moment = field(name="from")
    until: Moment = field(name="to")
    template_id: Id | None = None


REDELIVERY = Reader(RedeliveryBody)


def to_delivery_span(body: RedeliveryBody) -> DeliverySpan:
    """The span that a body names. Raises BodyInvalid for days that there are not, and for one that ends before it
    begins."""
    since, until = read_moment(body.since, "from"), read_moment(body.until, "to")
    if isinstance(since, Fault) or isinstance(until, Fault):
        raise BodyInvalid([each for each in (since, until) if isinstance(each, Fault)])
    if until <= since:
        raise BodyInvalid((Fault("/to", "outOfBounds", "to must be later than from."),))
    template_id = None if body.template_id is None else TemplateId(UUID(body.template_id))
    return DeliverySpan(since, until, template_id)
