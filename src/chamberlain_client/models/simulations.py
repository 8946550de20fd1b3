"""What a guest policy would do."""

from datetime import datetime
from uuid import UUID

from msgspec import field

from chamberlain_client.models.findings import FindingKind, Subject
from chamberlain_client.models.model import Model
from chamberlain_client.models.open_enums import OpenStrEnum
from chamberlain_client.models.policies import PolicyAction


class OccurrenceType(OpenStrEnum):
    """What would happen: something is found, announced or done."""

    FINDING = "finding"
    REMINDER = "reminder"
    ACTION = "action"


class SimulatedGuest(Model, frozen=True):
    """The guest to whom something would happen."""

    id: UUID
    display_name: str
    mail: str | None


class SimulatedOccurrence(Model, frozen=True, kw_only=True):
    """Something that would happen. `guest` is None where it is about owners, `detail` for all but findings."""

    at: datetime
    type: OccurrenceType
    kind: FindingKind
    subject: Subject
    guest: SimulatedGuest | None
    detail: str | None
    action: PolicyAction
    action_at: datetime | None


class SimulatedCounts(Model, frozen=True):
    """How much would happen: findings by their kinds, actions by what is done."""

    reminders: int
    findings: dict[str, int]
    actions: dict[str, int]


class SimulatedPolicy(Model, frozen=True, kw_only=True):
    """What a policy would do; `items` are the earliest, and all of them where `is_whole`."""

    policy_id: UUID
    since: datetime = field(name="from")
    until: datetime = field(name="to")
    subjects: int
    guests: int
    counts: SimulatedCounts
    items: tuple[SimulatedOccurrence, ...]
    is_whole: bool
