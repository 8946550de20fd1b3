"""Guest policies as they are sent."""

from uuid import UUID

from msgspec import Struct

from chamberlain.core.json_stored import StoredDecoder
from chamberlain.guests.policies.models_policy_records import PolicyRecord
from chamberlain.guests.policies.schema import (
    ExpiryShape,
    InactivityShape,
    MinimumOwnersShape,
    PolicyShape,
    ReviewShape,
)
from chamberlain.http.wire import Actor, Time, time_of


class Policy(Struct, rename="camel", frozen=True):
    """A guest policy, whole. A rule of null does not apply."""

    id: UUID
    name: str
    description: str
    active: bool
    expiry: ExpiryShape | None
    review: ReviewShape | None
    inactivity: InactivityShape | None
    minimum_owners: MinimumOwnersShape | None
    created_at: Time
    created_by: Actor
    updated_at: Time


def policy_of(record: PolicyRecord) -> Policy:
    """What administrators are sent."""
    shape = _decode(record.stored.content)
    by = record.created_by
    return Policy(
        id=shape.id,
        name=shape.name,
        description=shape.description,
        active=shape.active,
        expiry=shape.expiry,
        review=shape.review,
        inactivity=shape.inactivity,
        minimum_owners=shape.minimum_owners,
        created_at=time_of(record.created_at),
        created_by=Actor(by.type, by.id, by.display_name),
        updated_at=time_of(record.updated_at),
    )


_decode = StoredDecoder(PolicyShape).decode
