# SPDX-License-Identifier: Apache-2.0
"""JSON of the caller."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from chamberlain.auth.models import ActorType
from chamberlain.me.models import MOST_TO_DECIDE
from chamberlain.me.models import Me as KnownCaller


class Me(Struct, rename="camel", frozen=True):
    """The user or the application of the token.

    `displayName` is empty if neither the directory nor the identity platform knows it. `mail` and `language` are those
    of a user in the directory, or null. `language` is a tag such as `de-CH` (RFC 5646). `administrator` is false for
    applications. `toDecide` is the number of requests that wait for your decision, at most 100.
    """

    kind: Literal["user", "application"]
    id: UUID
    display_name: str
    mail: str | None
    tenant_id: UUID
    tenant_name: str
    administrator: bool
    language: str | None
    to_decide: Annotated[int, Meta(ge=0, le=MOST_TO_DECIDE)]


def to_me(me: KnownCaller) -> Me:
    """Return the JSON of the caller."""
    return Me(
        kind="user" if me.caller.type is ActorType.USER else "application",
        id=me.caller.id,
        display_name=me.display_name,
        mail=me.mail,
        tenant_id=me.caller.tenant_id,
        tenant_name=me.tenant_name,
        administrator=me.is_administrator,
        language=me.language,
        to_decide=me.to_decide,
    )
