"""The body of a call that acts upon something: cancel, retry, release."""

from chamberlain.core.constraints_shape import Shape
from chamberlain.core.validation import Reader
from chamberlain.core.validation_fields import Description


class ActionBody(Shape, frozen=True, kw_only=True):
    """What is to be said about it; kept on the audit trail."""

    comment: Description | None = None


ACTION = Reader(ActionBody)
