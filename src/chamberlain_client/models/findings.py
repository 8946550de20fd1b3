"""Findings: what is against the rules, or was changed behind the service's back."""

from datetime import datetime
from uuid import UUID

from chamberlain_client.models.actors import Actor
from chamberlain_client.models.model import Model
from chamberlain_client.models.open_enums import OpenStrEnum


class FindingKind(OpenStrEnum):
    """What was found."""

    DRIFT = "drift"
    GUEST_AGAINST_RULE = "guestAgainstRule"
    GUEST_EXPIRED = "guestExpired"
    REVIEW_DUE = "reviewDue"
    GUEST_INACTIVE = "guestInactive"
    TOO_FEW_OWNERS = "tooFewOwners"
    REPAIR_DOES_NOT_HOLD = "repairDoesNotHold"


class FindingState(OpenStrEnum):
    """What has become of it."""

    OPEN = "open"
    REPAIRED = "repaired"
    ACCEPTED = "accepted"
    GONE = "gone"


class Subject(Model, frozen=True):
    """A group or site by name; `type` says which."""

    type: str
    id: UUID
    display_name: str


class Acceptance(Model, frozen=True):
    """Who lets a finding stand, and why; `until` of None is for good."""

    by: Actor
    reason: str
    accepted_at: datetime
    until: datetime | None


class Finding(Model, frozen=True, kw_only=True):
    """One thing that was found. `wanted` and `observed` are values of the `property`, of whatever type it has.
    `acceptance` is None unless somebody has accepted it."""

    id: UUID
    kind: FindingKind
    state: FindingState
    subject: Subject
    property: str | None
    wanted: object
    observed: object
    detail: str
    policy_id: UUID | None
    action: str | None
    action_at: datetime | None
    first_seen_at: datetime
    last_seen_at: datetime
    acceptance: Acceptance | None = None
