# SPDX-License-Identifier: Apache-2.0
"""Findings and assignments: values that all guest folders share."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeAlias
from uuid import UUID

from chamberlain.auth.models import Actor
from chamberlain.core.ids import GroupId, MailboxId, PolicyId, RequestId, TemplateId, TenantId
from chamberlain.core.values import Json
from chamberlain.directory.subjects import (
    Guest,
    GuestRules,
    ObservedSubject,
    PresentGuests,
    SubjectReference,
    SubjectType,
    WantedGuestRules,
    is_against,
)
from chamberlain.requests.models import StepRecord
from chamberlain.templates.models import GuestTemplate


class FindingKind(StrEnum):
    """The kind of a finding."""

    DRIFT = "drift"
    GUEST_AGAINST_RULE = "guestAgainstRule"
    GUEST_EXPIRED = "guestExpired"
    REVIEW_DUE = "reviewDue"
    GUEST_INACTIVE = "guestInactive"
    TOO_FEW_OWNERS = "tooFewOwners"
    REPAIR_DOES_NOT_HOLD = "repairDoesNotHold"


class FindingState(StrEnum):
    """The state of a finding.

    It is open, repaired by the service, accepted by a user, ignored until its observed value changes, or no longer
    true.
    """

    OPEN = "open"
    REPAIRED = "repaired"
    ACCEPTED = "accepted"
    IGNORED = "ignored"
    GONE = "gone"


class FindingSource(StrEnum):
    """The source of a finding. A source closes only its own findings."""

    ASSIGNMENT = "assignment"
    DRIFT = "drift"
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class FindingSubject:
    """The group or site that something was found about."""

    tenant_id: TenantId
    id: GroupId
    type: SubjectType
    display_name: str


@dataclass(frozen=True, slots=True)
class FindingMailbox:
    """The mailbox of a finding, by its id in the service."""

    tenant_id: TenantId
    id: MailboxId
    display_name: str
    type: Literal["mailbox"] = "mailbox"


@dataclass(frozen=True, slots=True)
class Finding:
    """A current violation or drift.

    `about` identifies it within its subject, such as a guest. Only one per `about` is open at a time. `action` is
    announced; if the finding disappears afterwards, it counts as repaired. A policy takes the action at `action_at`.
    `request_id` is the request that a finding depends on.
    """

    subject: FindingSubject | FindingMailbox
    kind: FindingKind
    source: FindingSource
    about: str
    property: str | None
    wanted: Json
    observed: Json
    detail: str
    action: str | None = None
    action_at: datetime | None = None
    policy_id: PolicyId | None = None
    request_id: RequestId | None = None


@dataclass(frozen=True, slots=True)
class FindingKey:
    """The key of an open finding."""

    tenant_id: TenantId
    subject_id: UUID
    kind: FindingKind
    about: str


@dataclass(frozen=True, slots=True)
class FindingSearch:
    """The kinds that a source has searched for, optionally by `about`."""

    source: FindingSource
    kinds: Collection[FindingKind]
    abouts: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class ClosedFinding:
    """A finding that is no longer true, with its last values."""

    subject: FindingSubject | FindingMailbox
    about: str
    state: FindingState
    wanted: Json
    observed: Json


@dataclass(frozen=True, slots=True)
class FindingClosure:
    """The closure of a finding as gone or repaired."""

    subject: FindingSubject | FindingMailbox
    kind: FindingKind
    about: str
    state: FindingState


@dataclass(frozen=True, slots=True)
class Acceptance:
    """An acceptance of a finding. Without `until` it has no end."""

    by: Actor
    reason: str
    accepted_at: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """A stored finding. A closed finding keeps its acceptance.

    `repair_request_id` is the last request that repairs it, `request_id` the one that it depends on.
    """

    id: UUID
    kind: FindingKind
    state: FindingState
    subject: FindingSubject | FindingMailbox
    property: str | None
    wanted: Json
    observed: Json
    detail: str
    policy_id: PolicyId | None
    action: str | None
    action_at: datetime | None
    first_seen_at: datetime
    last_seen_at: datetime
    about: str = ""
    acceptance: Acceptance | None = None
    repair_request_id: RequestId | None = None
    request_id: RequestId | None = None


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """Filter of findings. None matches any."""

    state: FindingState | None = None
    kind: FindingKind | None = None
    subject_id: GroupId | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assigned guest template and policy, or None."""

    template_id: TemplateId | None = None
    policy_id: PolicyId | None = None

    @property
    def etag(self) -> str:
        """Return the ETag. It depends on the two ids only."""
        return f'"{self.template_id or "-"}.{self.policy_id or "-"}"'


# Ids are a tenant's own.
Place: TypeAlias = tuple[TenantId, GroupId]


@dataclass(frozen=True, slots=True)
class Assigned:
    """The assignment of a group or site at a moment.

    `generation` detects later changes. Without a template there are no rules for guests.
    """

    tenant_id: TenantId
    id: GroupId
    type: SubjectType
    display_name: str
    extension: str
    generation: int
    assignment: Assignment
    template: GuestTemplate | None

    @property
    def place(self) -> Place:
        """Return the key of the group or site."""
        return self.tenant_id, self.id

    @property
    def reference(self) -> SubjectReference:
        """Return the reference in the directory."""
        return SubjectReference(self.tenant_id, self.id, self.extension)

    @property
    def finding_subject(self) -> FindingSubject:
        """Return the subject for findings."""
        return FindingSubject(self.tenant_id, self.id, self.type, self.display_name)

    @property
    def removes_guests(self) -> bool:
        """Return whether guests who violate the rules are removed."""
        return self.template is not None and self.template.present_guests is PresentGuests.REMOVE

    @property
    def wanted(self) -> WantedGuestRules:
        """Return the desired state, before guests to remove are known."""
        return WantedGuestRules(
            tenant_id=self.tenant_id,
            id=self.id,
            extension=self.extension,
            template_id=self.assignment.template_id,
            policy_id=self.assignment.policy_id,
            rules=None if self.template is None else self.template.rules,
        )


@dataclass(frozen=True, slots=True)
class AssignmentTask:
    """A running request of kind assignment.

    `assigned` is None if the group was deleted.
    """

    request_id: RequestId
    tenant_id: TenantId
    display_name: str
    steps: tuple[StepRecord, ...]
    created_by: Actor
    assigned: Assigned | None


def finding_key(found: Finding) -> FindingKey:
    """Return the key of an open finding."""
    return FindingKey(found.subject.tenant_id, found.subject.id, found.kind, found.about)


def violations(guests: Sequence[Guest], rules: GuestRules | None) -> Iterator[tuple[Guest, str]]:
    """List guests who violate the rules, each with the reason."""
    if rules is None:
        return
    for guest in guests:
        if (why := is_against(guest, rules)) is not None:
            yield guest, why


def guest_findings(
    subject: FindingSubject,
    observed: ObservedSubject,
    rules: GuestRules | None,
    *,
    removed: bool,
    kept: Collection[str] = (),
) -> tuple[Finding, ...]:
    """Build the findings of guests who violate the rules.

    With `removed` they are about to be removed, except for those in `kept`.
    """
    return tuple(
        [
            _guest_finding(subject, guest, why, removed=removed and str(guest.id) not in kept)
            for guest, why in violations(observed.guests, rules)
        ]
    )


def to_assignment(template_id: UUID | None, policy_id: UUID | None) -> Assignment:
    """Build an assignment from stored ids."""
    return Assignment(
        template_id=None if template_id is None else TemplateId(template_id),
        policy_id=None if policy_id is None else PolicyId(policy_id),
    )


def _guest_finding(subject: FindingSubject, guest: Guest, why: str, *, removed: bool) -> Finding:
    return Finding(
        subject=subject,
        kind=FindingKind.GUEST_AGAINST_RULE,
        source=FindingSource.ASSIGNMENT,
        about=str(guest.id),
        property="guests",
        wanted=None,
        observed={"id": str(guest.id), "displayName": guest.display_name, "mail": guest.mail},
        detail=why,
        action="remove" if removed else None,
    )
