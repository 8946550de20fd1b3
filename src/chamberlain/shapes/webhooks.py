"""The webhook of a template as it is sent and stored; its secret is never part of it."""

from typing import Annotated

from chamberlain.shapes.fields import shaped
from chamberlain.shapes.shape import Shape

WebhookAddress = Annotated[
    str, shaped(r"https?://[^\s/?#@]+(?:[/?][^\s#]*)?", "must be an http or https address", 2048)
]


class WebhookShape(Shape, frozen=True, kw_only=True):
    """Where a template's events go."""

    url: WebhookAddress
    active: bool = True
