"""How somebody who did something stands in a row."""

import msgspec

from chamberlain.auth.models import Actor, ActorType
from chamberlain.database.transactions import Record

_encode = msgspec.json.Encoder().encode


def encode_actor(actor: Actor) -> str:
    """As JSON, for rows that are read whole."""
    return _encode(actor).decode()


def actor_of(row: Record) -> Actor:
    """From the three columns of a row that is searched by its actor."""
    return Actor(ActorType(row["actor_type"]), row["actor_id"], row["actor_name"])
