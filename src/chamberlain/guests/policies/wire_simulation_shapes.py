"""What a policy would do, as it is sent."""

from uuid import UUID

from msgspec import Struct, field

from chamberlain.directory.subjects import SubjectType
from chamberlain.directory.subjects_guests import Guest
from chamberlain.guests.models import FindingKind
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.simulation import Occurrence, OccurrenceType
from chamberlain.guests.policies.simulation_simulations import Simulation
from chamberlain.http.wire import Time, time_of


class SimulatedSubject(Struct, rename="camel", frozen=True):
    """The group or site to which something would happen."""

    type: SubjectType
    id: UUID
    display_name: str


class SimulatedGuest(Struct, rename="camel", frozen=True):
    """The guest to whom something would happen."""

    id: UUID
    display_name: str
    mail: str | None


class SimulatedOccurrence(Struct, rename="camel", frozen=True):
    """Something that would happen: what would be found, announced or done, and when. `guest` is null where it is about
    owners; `detail` is the sentence of a finding, null for all else."""

    at: Time
    type: OccurrenceType
    kind: FindingKind
    subject: SimulatedSubject
    guest: SimulatedGuest | None
    detail: str | None
    action: PolicyAction
    action_at: Time | None


class SimulatedCounts(Struct, frozen=True):
    """How much would happen: reminders, findings by their kinds, actions by what is done."""

    reminders: int
    findings: dict[str, int]
    actions: dict[str, int]


class SimulatedPolicy(Struct, rename="camel", frozen=True):
    """What a policy would do. `subjects` and `guests` were looked at, a guest once in each group; `items` are the
    earliest, and all of them where it says `isWhole`."""

    policy_id: UUID
    since: Time = field(name="from")
    until: Time = field(name="to")
    subjects: int
    guests: int
    counts: SimulatedCounts
    items: tuple[SimulatedOccurrence, ...]
    is_whole: bool


def simulated_policy_of(simulation: Simulation) -> SimulatedPolicy:
    """What is sent of it."""
    return SimulatedPolicy(
        policy_id=simulation.policy_id,
        since=time_of(simulation.since),
        until=time_of(simulation.until),
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
        at=time_of(each.at),
        type=each.type,
        kind=each.kind,
        subject=SimulatedSubject(SubjectType(each.subject.type), each.subject.id, each.subject.display_name),
        guest=None if each.guest is None else _guest(each.guest),
        detail=None if each.found is None else each.found.detail,
        action=each.action,
        action_at=None if each.action_at is None else time_of(each.action_at),
    )


def _guest(guest: Guest) -> SimulatedGuest:
    return SimulatedGuest(guest.id, guest.display_name, guest.mail)
