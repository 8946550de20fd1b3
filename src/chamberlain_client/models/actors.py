"""Who did something, and people by name."""

from uuid import UUID

from chamberlain_client.models.model import Model
from chamberlain_client.models.open_enums import OpenStrEnum


class ActorType(OpenStrEnum):
    """What kind of caller did something."""

    USER = "user"
    APPLICATION = "application"
    SYSTEM = "system"


class Actor(Model, frozen=True):
    """Who did something; `id` is None for the service itself."""

    type: ActorType
    id: UUID | None
    display_name: str


class Person(Model, frozen=True):
    """Somebody by name."""

    id: UUID
    display_name: str


class Named(Model, frozen=True):
    """A template or policy by name."""

    id: UUID
    name: str
