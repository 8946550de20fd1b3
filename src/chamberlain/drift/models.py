# SPDX-License-Identifier: Apache-2.0
"""Drift checks: managed objects, the position of a check and its schedule."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

from chamberlain.auth.models import Actor, Editor
from chamberlain.changes.models import Change, Subject, change_by
from chamberlain.core.ids import RequestId, TenantId, TraceId, UserId
from chamberlain.directory.groups import GroupReference, ObservedGroup, WantedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox, WantedMailbox
from chamberlain.directory.subjects import ObservedSubject
from chamberlain.guests.models import Assigned, FindingMailbox, FindingSubject
from chamberlain.requests.models import RequestKind, StepRecord
from chamberlain.tenants.models import Tenant

# Each in its turn, by the kind of request that makes them.
PHASES = (
    RequestKind.SHARED,
    RequestKind.EQUIPMENT,
    RequestKind.ROOM,
    RequestKind.GROUP,
    RequestKind.TEAM,
    RequestKind.ASSIGNMENT,
)
# When the night's checks begin, and how long it takes until the last tenant's has. Ours: few people work then, in the
# time zone of most who run this, and a directory is not asked by all tenants at once.
BEGINS_AT = time(2, 0)
SPREAD = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class ManagedMailbox:
    """A mailbox that was provisioned by a request.

    With `replies_freely` its users may set another automatic reply.
    """

    subject: FindingMailbox
    since: datetime
    wanted: WantedMailbox
    replies_freely: bool

    @property
    def request_id(self) -> RequestId:
        """Return the request that provisioned it."""
        return self.wanted.request_id

    @property
    def reference(self) -> MailboxReference:
        """How the directory finds it."""
        return MailboxReference(self.wanted.tenant_id, self.wanted.extension, self.wanted.request_id)

    def without(self, gone: AbstractSet[UserId]) -> "ManagedMailbox":
        """The same without those who are not in the directory any more."""
        wanted = self.wanted
        return replace(
            self,
            wanted=replace(
                wanted,
                permissions={user: level for user, level in wanted.permissions.items() if user not in gone},
                owners=tuple([owner for owner in wanted.owners if owner not in gone]),
            ),
        )


@dataclass(frozen=True, slots=True)
class ManagedGroup:
    """A group or team that was provisioned by a request.

    `removed` are guests whom a policy or template removed or is about to remove.
    """

    subject: FindingSubject
    since: datetime
    wanted: WantedGroup
    removed: frozenset[UserId] = frozenset()

    @property
    def request_id(self) -> RequestId:
        """Return the request that provisioned it."""
        return self.wanted.request_id

    @property
    def reference(self) -> GroupReference:
        """How the directory finds it."""
        return GroupReference(self.wanted.tenant_id, self.wanted.extension, self.wanted.request_id, self.subject.id)

    def without_removed(self, observed: ObservedGroup) -> "ManagedGroup":
        """Remove guests from the desired state whom a policy or template removed.

        Guests who are members again stay.
        """
        return self._without(self.removed - observed.owners, self.removed - observed.members)

    def without(self, gone: AbstractSet[UserId]) -> "ManagedGroup":
        """The same without those who are not in the directory any more."""
        return self._without(gone, gone)

    def _without(self, owners: AbstractSet[UserId], members: AbstractSet[UserId]) -> "ManagedGroup":
        if not owners and not members:
            return self
        wanted = self.wanted
        return replace(
            self,
            wanted=replace(
                wanted,
                owners=tuple([owner for owner in wanted.owners if owner not in owners]),
                members=tuple([member for member in wanted.members if member not in members]),
            ),
        )


@dataclass(frozen=True, slots=True)
class ManagedAssignment:
    """The assignment of a group or site."""

    subject: FindingSubject
    since: datetime
    assigned: Assigned

    @property
    def request_id(self) -> None:
        """Return None. An assignment outlives its request."""
        return None


Managed = ManagedMailbox | ManagedGroup | ManagedAssignment


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a check within a phase.

    Everything up to it is checked.
    """

    phase: RequestKind
    at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class Batch:
    """Managed objects in the order of a phase, each with its position.

    `following` is the position of the next batch, or None after the last one.
    """

    managed: Sequence[tuple[Managed, Position]]
    following: Position | None

    @property
    def objects(self) -> Sequence[Managed]:
        """The things alone."""
        return [managed for managed, _ in self.managed]

    def first(self, number: int) -> "Batch":
        """Return the first objects. The next batch starts after them."""
        if number >= len(self.managed):
            return self
        return Batch(self.managed[:number], self.managed[number - 1][1])


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """The drift checks of a tenant.

    `position` is None between two checks.
    """

    position: Position | None = None
    asked_at: datetime | None = None
    began_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def is_requested(self) -> bool:
        """Return whether a caller requested a check after the last one began."""
        return self.asked_at is not None and (self.began_at is None or self.asked_at > self.began_at)

    def at(self, position: Position | None, *, now: datetime) -> "DriftCheck":
        """Advance the check. Without a position it is finished."""
        return replace(self, position=position, finished_at=now if position is None else self.finished_at)


@dataclass(frozen=True, slots=True)
class ChangedObject:
    """A managed object that changed in the directory.

    `id` is the request of a group or mailbox, or an assigned group or site.
    """

    kind: str
    id: UUID
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class RepairDraft:
    """A request that repairs a finding, to write.

    `body` has the comment that was sent, if any.
    """

    request_id: RequestId
    body: Mapping[str, str]
    steps: tuple[StepRecord, ...]
    editor: Editor
    at: datetime


@dataclass(frozen=True, slots=True)
class RepairTask:
    """A running request that repairs a finding.

    Without `finding_id`, a later request repairs the finding.
    """

    request_id: RequestId
    tenant_id: TenantId
    finding_id: UUID | None
    display_name: str
    steps: tuple[StepRecord, ...]
    created_by: Actor
    trace_id: TraceId


Observed = ObservedMailbox | ObservedGroup | ObservedSubject


def phase_start(phase: RequestKind) -> Position:
    """Before everything in a phase."""
    return Position(phase, datetime(1, 1, 1, tzinfo=UTC), UUID(int=0))


def next_phase_start(phase: RequestKind) -> Position | None:
    """Where the phase that follows begins; None after the last."""
    following = PHASES[PHASES.index(phase) + 1 :]
    return phase_start(following[0]) if following else None


def next_night(tenant_id: TenantId, now: datetime) -> datetime:
    """Return the start of the next nightly check.

    Each tenant has a fixed time of the night.
    """
    share = tenant_id.int % 7919 / 7919
    night = datetime.combine(now.date(), BEGINS_AT, UTC) + SPREAD * share
    return night if night > now else night + timedelta(days=1)


def check_change(tenant: Tenant, editor: Editor, details: Mapping[str, str]) -> Change:
    """Build the audit entry of a requested check."""
    return change_by(
        editor, tenant.id, "drift.check", Subject("tenant", tenant.id, tenant.name), before=None, after=details or None
    )


def people_in(observed: Observed | None) -> int:
    """Count the people of an observation.

    They determine the memory of a page.
    """
    match observed:
        case ObservedMailbox():
            return len(observed.permissions)
        case ObservedGroup():
            return len(observed.members) + len(observed.owners)
        case ObservedSubject():
            return len(observed.guests)
        case None:
            return 0
