# SPDX-License-Identifier: Apache-2.0
"""Guest policies as they are sent."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct, field

from chamberlain.changes.models import format_time
from chamberlain.core.fields import Shape
from chamberlain.core.ids import GroupId
from chamberlain.core.json import StoredDecoder
from chamberlain.core.validation import Reader
from chamberlain.directory.subjects import Guest, SubjectType
from chamberlain.guests.models import FindingKind
from chamberlain.guests.policies.models import PolicyAction, PolicyRecord
from chamberlain.guests.policies.schema import (
    ExpiryShape,
    InactivityShape,
    MinimumOwnersShape,
    PolicyShape,
    ReviewShape,
)
from chamberlain.guests.policies.simulation import Occurrence, OccurrenceType, Simulation, SimulationRequest
from chamberlain.http.wire import Actor, Time


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
    """Encode a policy for administrators."""
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
        created_at=format_time(record.created_at),
        created_by=Actor(by.type, by.id, by.display_name),
        updated_at=format_time(record.updated_at),
    )


_decode = StoredDecoder(PolicyShape).decode


class SimulatedSubject(Struct, rename="camel", frozen=True):
    """The group or site to which something would happen."""

    type: SubjectType
    id: UUID
    display_name: str


class SimulatedGuest(Struct, rename="camel", frozen=True):
    """The guest of an occurrence."""

    id: UUID
    display_name: str
    mail: str | None


class SimulatedOccurrence(Struct, rename="camel", frozen=True):
    """An occurrence: a finding, a reminder or an action.

    `guest` is null for owners. `detail` is set for findings only.
    """

    at: Time
    type: OccurrenceType
    kind: FindingKind
    subject: SimulatedSubject
    guest: SimulatedGuest | None
    detail: str | None
    action: PolicyAction
    action_at: Time | None


class SimulatedCounts(Struct, frozen=True):
    """The numbers of reminders, findings by kind, and actions."""

    reminders: int
    findings: dict[str, int]
    actions: dict[str, int]


class SimulatedPolicy(Struct, rename="camel", frozen=True):
    """The result of a simulation.

    `subjects` and `guests` are simulated; a guest counts once per group. `items` are the earliest occurrences, or all
    if `isWhole` is true.
    """

    policy_id: UUID
    since: Time = field(name="from")
    until: Time = field(name="to")
    subjects: int
    guests: int
    counts: SimulatedCounts
    items: tuple[SimulatedOccurrence, ...]
    is_whole: bool


def simulated_policy_of(simulation: Simulation) -> SimulatedPolicy:
    """Encode a simulation."""
    return SimulatedPolicy(
        policy_id=simulation.policy_id,
        since=format_time(simulation.since),
        until=format_time(simulation.until),
        subjects=simulation.subjects,
        guests=simulation.guests,
        counts=SimulatedCounts(
            simulation.reminders,
            {str(kind): number for kind, number in simulation.findings.items()},
            {str(action): number for action, number in simulation.actions.items()},
        ),
        items=tuple(map(_occurrence, simulation.occurrences)),
        is_whole=simulation.is_whole,
    )


def _occurrence(each: Occurrence) -> SimulatedOccurrence:
    return SimulatedOccurrence(
        at=format_time(each.at),
        type=each.type,
        kind=each.kind,
        subject=SimulatedSubject(SubjectType(each.subject.type), each.subject.id, each.subject.display_name),
        guest=None if each.guest is None else _guest(each.guest),
        detail=None if each.found is None else each.found.detail,
        action=each.action,
        action_at=None if each.action_at is None else format_time(each.action_at),
    )


def _guest(guest: Guest) -> SimulatedGuest:
    return SimulatedGuest(guest.id, guest.display_name, guest.mail)


# As many as one look into the directory shows.
Chosen = Annotated[tuple[UUID, ...], Meta(min_length=1, max_length=200)]


class SimulationBody(Shape, frozen=True, kw_only=True):
    """Ids of groups, and of security groups of sites.

    Without any, all are simulated.
    """

    group_ids: Chosen | None = None
    site_ids: Chosen | None = None


SIMULATION = Reader(SimulationBody)


def to_simulation_request(body: SimulationBody) -> SimulationRequest:
    """Convert a body. Duplicates are removed."""
    return SimulationRequest(_each_once(body.group_ids), _each_once(body.site_ids))


def _each_once(ids: tuple[UUID, ...] | None) -> tuple[GroupId, ...]:
    return tuple(dict.fromkeys(map(GroupId, ids or ())))
