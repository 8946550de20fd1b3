"""The webhook of a template as it is sent and stored; its secret is never part of it."""

from typing import Annotated

from msgspec import Meta

from chamberlain.shapes.shape import Shape

WebhookAddress = Annotated[
    str,
    Meta(
        max_length=2048, pattern=r"^https?://[^\s/?#@]+(?:[/?][^\s#]*)?$(?!\n)", description="an http or https address"
    ),
]


class WebhookShape(Shape, frozen=True, kw_only=True):
    """Where a template's events go."""

    url: WebhookAddress
    active: bool = True
