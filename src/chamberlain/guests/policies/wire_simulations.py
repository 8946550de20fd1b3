"""The body of a call that looks ahead at a policy."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta

from chamberlain.core.constraints_shape import Shape
from chamberlain.core.ids import GroupId
from chamberlain.core.validation import Reader
from chamberlain.guests.policies.simulation_simulations import SimulationOrder

# As many as one look into the directory shows.
Chosen = Annotated[tuple[UUID, ...], Meta(min_length=1, max_length=200)]


class SimulationBody(Shape, frozen=True, kw_only=True):
    """Groups by their ids, and sites by the ids of their security groups; without any, all that there are."""

    group_ids: Chosen | None = None
    site_ids: Chosen | None = None


SIMULATION = Reader(SimulationBody)


def to_simulation_order(body: SimulationBody) -> SimulationOrder:
    """The rules' value of it; what is named twice is looked at once."""
    return SimulationOrder(_each_once(body.group_ids), _each_once(body.site_ids))


def _each_once(ids: tuple[UUID, ...] | None) -> tuple[GroupId, ...]:
    return tuple(dict.fromkeys(map(GroupId, ids or ())))
