"""Who calls: what a bearer token proved, and how somebody is named in records."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from chamberlain.core.errors import Stale
from chamberlain.core.ids import ClientId, TenantId, TraceId, UserId
from chamberlain.core.values import value


class ActorType(StrEnum):
    """Who can have done something."""

    USER = "user"
    APPLICATION = "application"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a bearer token speaks for, with permissions as absolute names (audience, slash, name).

    `id` is the object id of the user, or of the application. A caller is never of type system.
    """

    tenant_id: TenantId
    type: ActorType
    id: UUID
    client_id: ClientId
    permissions: frozenset[str]
    expires_at: datetime

    @property
    def user_id(self) -> UserId | None:
        """The user, or None when an application calls for itself."""
        return UserId(self.id) if self.type is ActorType.USER else None


@value(frozen=True, slots=True)
class Actor:
    """Somebody as records name them; `id` is None for the service itself."""

    type: ActorType
    id: UUID | None
    display_name: str


# What nobody asked for at the moment in which it was done.
SERVICE = Actor(ActorType.SYSTEM, None, "Chamberlain")


# What the programs of a tenant are called, as far as the identity platform tells.
ClientNames = Callable[[TenantId], Awaitable[Mapping[ClientId, str]]]


@dataclass(frozen=True, slots=True)
class Issuer:
    """A registered pair of `iss` and `tid`; `tid` is None for an issuer that serves one tenant and leaves it out.

    `audiences` turns an identifier, which some platforms put into `aud`, into the address of the audience that it
    stands for.
    """

    tenant_id: TenantId
    issuer: str
    tid: str | None
    audiences: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Edit:
    """How a change of something that is there comes in; `if_match` are the versions that the caller has seen, None
    when any will do, and `client_address` is the caller's."""

    if_match: frozenset[str] | None
    trace_id: TraceId
    client_address: str | None = None


@dataclass(frozen=True, slots=True)
class Editor:
    """Who changes something, by which client, on which trace, from which address; None for a change that does not come
    over HTTP."""

    actor: Actor
    client_id: ClientId | None
    trace_id: TraceId
    client_address: str | None


def require_match(etag: str, edit: Edit, noun: str) -> None:
    """Raises Stale when the caller has seen another version of the thing than the one that there is."""
    if edit.if_match is not None and etag not in edit.if_match:
        detail = f"The {noun} has changed since you read it. Read it again, and send your change for that version."
        raise Stale("etagStale", detail)
