"""Wire models that several nouns share."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from chamberlain.auth.models import Actor as RecordedActor
from chamberlain.auth.models import ActorType

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"}, description="UTC, with milliseconds")]


class Actor(Struct, rename="camel", frozen=True):
    """The actor of a change; `id` is null for the service itself."""

    type: ActorType
    id: UUID | None
    display_name: str


def _actor(actor: RecordedActor) -> Actor:
    return Actor(actor.type, actor.id, actor.display_name)


def time_of(value: datetime) -> str:
    """Encode a time in UTC, with milliseconds."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _time_or_none(value: datetime | None) -> str | None:
    return None if value is None else time_of(value)
