"""The body of a call that has the deliveries of a span of time sent again."""

from uuid import UUID

from msgspec import field

from chamberlain.core.constraints_shape import Shape
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.ids import TemplateId
from chamberlain.core.time import Moment, read_moment
from chamberlain.core.validation import Reader
from chamberlain.core.validation_fields import Id
from chamberlain.webhooks.models_redeliveries import DeliverySpan


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
