"""Wire models that several nouns share."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from chamberlain.auth.models import ActorType

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"}, description="UTC, with milliseconds")]


class Actor(Struct, rename="camel", frozen=True):
    """The actor of a change; `id` is null for the service itself."""

    type: ActorType
    id: UUID | None
    display_name: str
