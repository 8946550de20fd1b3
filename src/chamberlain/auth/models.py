# SPDX-License-Identifier: Apache-2.0
"""Callers, actors and issuers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from chamberlain.core.errors import Stale
from chamberlain.core.ids import ClientId, TenantId, TraceId, UserId
from chamberlain.core.values import value


class ActorType(StrEnum):
    """Type of an actor."""

    USER = "user"
    APPLICATION = "application"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Caller:
    """The user or application of a bearer token.

    Permissions are absolute names: audience, slash, name. `id` is the object id of the user or application. A caller is
    never of type system.
    """

    tenant_id: TenantId
    type: ActorType
    id: UUID
    client_id: ClientId
    permissions: frozenset[str]
    expires_at: datetime

    @property
    def user_id(self) -> UserId | None:
        """Return the user, or None for an application."""
        return UserId(self.id) if self.type is ActorType.USER else None


@value(frozen=True, slots=True)
class Actor:
    """An actor of a record; `id` is None for the service."""

    type: ActorType
    id: UUID | None
    display_name: str


# For changes without a caller.
SERVICE = Actor(ActorType.SYSTEM, None, "Chamberlain")


# Names of client programs of a tenant, as the identity platform has them.
ClientNames = Callable[[TenantId], Awaitable[Mapping[ClientId, str]]]


@dataclass(frozen=True, slots=True)
class Issuer:
    """A registered pair of `iss` and `tid`.

    `tid` is None for an issuer of one tenant that omits it. `audiences` maps identifiers, which some platforms put into
    `aud`, to audiences.
    """

    tenant_id: TenantId
    issuer: str
    tid: str | None
    audiences: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Edit:
    """Conditions and origin of an edit.

    `if_match` has the accepted versions, None for any. `client_address` is that of the caller.
    """

    if_match: frozenset[str] | None
    trace_id: TraceId
    client_address: str | None = None


@dataclass(frozen=True, slots=True)
class Editor:
    """Actor, client, trace and address of a change.

    The address is None for changes outside HTTP.
    """

    actor: Actor
    client_id: ClientId | None
    trace_id: TraceId
    client_address: str | None


def require_match(etag: str, edit: Edit, noun: str) -> None:
    """Raise Stale unless the edit accepts this version (optimistic lock)."""
    if edit.if_match is not None and etag not in edit.if_match:
        detail = f"The {noun} has changed since you read it. Read it again, and send your change for that version."
        raise Stale("etagStale", detail)
