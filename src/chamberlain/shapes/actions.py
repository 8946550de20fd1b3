"""The body of a call that acts upon something: cancel, retry, release."""

from chamberlain.shapes.fields import Description
from chamberlain.shapes.reading import Reader
from chamberlain.shapes.shape import Shape


class ActionBody(Shape, frozen=True, kw_only=True):
    """What is to be said about it; kept on the audit trail."""

    comment: Description | None = None


ACTION = Reader(ActionBody)
