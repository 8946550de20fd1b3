"""Who calls: what a bearer token proved, and how somebody is named in records."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from chamberlain.core.ids import ClientId, TenantId, UserId
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
