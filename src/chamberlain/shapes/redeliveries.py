"""The body of a call that has the deliveries of a span of time sent again."""

from typing import Annotated
from uuid import UUID

from msgspec import field

from chamberlain.rules.errors import BodyInvalid, Fault
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.redeliveries import DeliverySpan
from chamberlain.shapes.fields import Id, shaped
from chamberlain.shapes.reading import Reader
from chamberlain.shapes.shape import Shape
from chamberlain.shapes.times import read_time

_SENTENCE = "must be a time with its zone, such as 2026-11-20T09:30:00.000Z"
_DATE, _CLOCK = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}:[0-9]{2}"
_ZONE = "(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
Moment = Annotated[str, shaped(f"{_DATE}[Tt]{_CLOCK}(?:\\.[0-9]{{1,9}})?{_ZONE}", _SENTENCE)]


class RedeliveryBody(Shape, frozen=True, kw_only=True):
    """From `from` on and before `to`, by the time at which they were made; of one template, or of any."""

    since: Moment = field(name="from")
    until: Moment = field(name="to")
    template_id: Id | None = None


REDELIVERY = Reader(RedeliveryBody)


def to_delivery_span(body: RedeliveryBody) -> DeliverySpan:
    """The span that a body names. Raises BodyInvalid for days that there are not, and for one that ends before it
    begins."""
    since, until = read_time(body.since), read_time(body.until)
    faults = [
        Fault(f"/{name}", "invalidText", f"{name} {_SENTENCE}.")
        for name, time in (("from", since), ("to", until))
        if time is None
    ]
    if since is None or until is None:
        raise BodyInvalid(faults)
    if until <= since:
        raise BodyInvalid((Fault("/to", "outOfBounds", "to must be later than from."),))
    template_id = None if body.template_id is None else TemplateId(UUID(body.template_id))
    return DeliverySpan(since, until, template_id)
