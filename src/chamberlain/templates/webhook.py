# SPDX-License-Identifier: Apache-2.0
"""The webhook of a template, as sent and as stored.

A stored webhook never has a secret.
"""

from typing import Annotated

from msgspec import Struct

from chamberlain.core.fields import CONTROL, Shape, shaped
from chamberlain.core.json import StoredDecoder

# A name or an address; an IPv6 address is in brackets.
_HOST = rf"(?:\[[0-9A-Fa-f:.]+\]|[^\s{CONTROL}/?#@:\[\]]+)"
# 1 to 65535.
_PORT = "(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
# The scheme in either letter case (RFC 3986, 3.1). The address is stored as it was sent.
WebhookAddress = Annotated[
    str,
    shaped(
        rf"[Hh][Tt][Tt][Pp][Ss]?://{_HOST}(?::{_PORT})?(?:[/?][^\s{CONTROL}#]*)?",
        "must be an http or https address, its port, if it has one, between 1 and 65535",
        2048,
    ),
]

# Base64 of 24 bytes are eight fours; 64 bytes are 21 fours and two signs more.
_FOUR = "(?:[A-Za-z0-9+/]{4})"
_REST = "(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)"
WebhookSecret = Annotated[
    str,
    shaped(
        f"whsec_(?:{_FOUR}{{8,20}}{_REST}?|{_FOUR}{{21}}(?:[A-Za-z0-9+/]{{2}}==)?)",
        "must be whsec_ with the base64 of 24 to 64 bytes behind it",
        94,
    ),
]


class WebhookShape(Shape, frozen=True, kw_only=True):
    """Where a template's events go, as it is stored."""

    url: WebhookAddress
    active: bool = True


class WebhookBody(WebhookShape, frozen=True, kw_only=True):
    """The webhook as it is sent, with an optional secret.

    Without one the stored secret stays. A first webhook without a secret gets a new one.
    """

    secret: WebhookSecret | None = None


def stored_webhook(body: WebhookBody | None) -> WebhookShape | None:
    """Return the stored part of a webhook. Its secret is stored separately."""
    return None if body is None else WebhookShape(url=body.url, active=body.active)


def kept_webhook(content: bytes) -> WebhookShape | None:
    """Read the webhook of a stored template of any kind."""
    return _decode(content).webhook


class _Hooked(Struct):
    """The common part of all stored templates. Other members are ignored."""

    webhook: WebhookShape | None = None


_decode = StoredDecoder(_Hooked).decode
