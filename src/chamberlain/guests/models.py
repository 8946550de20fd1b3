"""Findings: what is against the rules, or was changed behind our back, and what has become of it."""

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
    """What was found."""

    DRIFT = "drift"
    GUEST_AGAINST_RULE = "guestAgainstRule"
    GUEST_EXPIRED = "guestExpired"
    REVIEW_DUE = "reviewDue"
    GUEST_INACTIVE = "guestInactive"
    TOO_FEW_OWNERS = "tooFewOwners"
    REPAIR_DOES_NOT_HOLD = "repairDoesNotHold"


class FindingState(StrEnum):
    """What has become of it: it stands, was mended by us, may stay, or is not true any more."""

    OPEN = "open"
    REPAIRED = "repaired"
    ACCEPTED = "accepted"
    GONE = "gone"


class FindingSource(StrEnum):
    """Who looks for it: what is found by one is not taken back by another."""

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
    """The mailbox that something was found about, by the id that it has here."""

    tenant_id: TenantId
    id: MailboxId
    display_name: str
    type: Literal["mailbox"] = "mailbox"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is true now. `about` says what within the subject it is about, such as a guest: while it stands
    it is found once only. `action` is what is about to be done; when it is found no more after that, it was
    repaired. A policy says what it will do at `action_at`, or what it has done. `request_id` names the request without
    which it would not be found."""

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
    """What a finding is told from all others by while it stands."""

    tenant_id: TenantId
    subject_id: UUID
    kind: FindingKind
    about: str


@dataclass(frozen=True, slots=True)
class FindingSearch:
    """What a source has looked for: these kinds, about these things alone where they are named."""

    source: FindingSource
    kinds: Collection[FindingKind]
    abouts: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class ClosedFinding:
    """Something that was looked for and is not found any more, as it was found last: gone, or repaired by us."""

    subject: FindingSubject | FindingMailbox
    about: str
    state: FindingState
    wanted: Json
    observed: Json


@dataclass(frozen=True, slots=True)
class FindingClosure:
    """Something that was found and is not true any more: `gone` by itself or by others, or `repaired` by us."""

    subject: FindingSubject | FindingMailbox
    kind: FindingKind
    about: str
    state: FindingState


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Who has said that a finding may stand, and why; without `until` that has no end."""

    by: Actor
    reason: str
    accepted_at: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """A finding whole. `acceptance` is there while it is accepted, and stays when it has gone."""

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


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """Which findings somebody wants to see; None is any."""

    state: FindingState | None = None
    kind: FindingKind | None = None
    subject_id: GroupId | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What is assigned; None where nothing is."""

    template_id: TemplateId | None = None
    policy_id: PolicyId | None = None

    @property
    def etag(self) -> str:
        """Names this version: it changes with the two ids and with nothing else."""
        return f'"{self.template_id or "-"}.{self.policy_id or "-"}"'


# Ids are a tenant's own.
Place: TypeAlias = tuple[TenantId, GroupId]


@dataclass(frozen=True, slots=True)
class Assigned:
    """What is assigned to a group or site at one moment; its generation says whether that is still so later. A template
    of None: nothing is said about guests."""

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
        """What tells it from all others."""
        return self.tenant_id, self.id

    @property
    def reference(self) -> SubjectReference:
        """How the directory finds it."""
        return SubjectReference(self.tenant_id, self.id, self.extension)

    @property
    def finding_subject(self) -> FindingSubject:
        """How findings name it."""
        return FindingSubject(self.tenant_id, self.id, self.type, self.display_name)

    @property
    def removes_guests(self) -> bool:
        """Whether guests who are against the rules are taken out of the group."""
        return self.template is not None and self.template.present_guests is PresentGuests.REMOVE

    @property
    def wanted(self) -> WantedGuestRules:
        """What the directory shall show, before it is known which guests have to go."""
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
    """A request of kind assignment that is worked on. `assigned` is None when the group is not known any more."""

    request_id: RequestId
    tenant_id: TenantId
    display_name: str
    steps: tuple[StepRecord, ...]
    created_by: Actor
    assigned: Assigned | None


def finding_key(found: Finding) -> FindingKey:
    """What tells it from all others that stand."""
    return FindingKey(found.subject.tenant_id, found.subject.id, found.kind, found.about)


def violations(guests: Sequence[Guest], rules: GuestRules | None) -> Iterator[tuple[Guest, str]]:
    """The guests who are against the rules, each with the sentence that says why; without rules nobody is."""
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
    """The guests who are there against the rules; `removed` says that they are about to be removed, but for those whom
    somebody has `kept`, as `about` names them."""
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
