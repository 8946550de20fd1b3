"""Checks for drift: what is looked at, in which order, how far one has come, and when the next one begins."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

from chamberlain.auth.models import Editor
from chamberlain.changes.models import Change, Subject
from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.directory.groups import GroupReference, ObservedGroup, WantedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox, WantedMailbox
from chamberlain.directory.properties import DriftProperty, Treatment, treatment_of
from chamberlain.directory.subjects import ObservedSubject
from chamberlain.drift.compare import Difference, assignment_differences, group_differences, mailbox_differences
from chamberlain.guests.models import Assigned, FindingKind, FindingSource, FindingSubject, Found, FoundMailbox
from chamberlain.requests.models import RequestKind
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
# What a directory does not show so soon after it was made is late, not gone.
LATE = timedelta(hours=1)
# What a finding says is about to be done.
REPAIR = "repair"

DOES_NOT_HOLD = (
    "This was put right twice, and the directory shows it otherwise again. Find out who changes it; accept this "
    "finding to have it put right again."
)


@dataclass(frozen=True, slots=True)
class ManagedMailbox:
    """A mailbox that was asked for here. With `replies_freely` its people may set another automatic reply."""

    subject: FoundMailbox
    since: datetime
    wanted: WantedMailbox
    replies_freely: bool

    @property
    def request_id(self) -> RequestId:
        """What it was asked for by."""
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
    """A group or team that was asked for here. `removed` are the guests whom a policy or template has removed, or is
    about to remove."""

    subject: FindingSubject
    since: datetime
    wanted: WantedGroup
    removed: frozenset[UserId] = frozenset()

    @property
    def request_id(self) -> RequestId:
        """What it was asked for by."""
        return self.wanted.request_id

    @property
    def reference(self) -> GroupReference:
        """How the directory finds it."""
        return GroupReference(self.wanted.tenant_id, self.wanted.extension, self.wanted.request_id)

    def without_removed(self, observed: ObservedGroup) -> "ManagedGroup":
        """The same without those whom nobody shall give back: a guest whose time is over is wanted no more, whatever
        the request has asked for. Whoever is there again stays."""
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
    """What is assigned to a group or site."""

    subject: FindingSubject
    since: datetime
    assigned: Assigned

    @property
    def request_id(self) -> None:
        """What is assigned is kept with its group, whatever becomes of the request."""
        return None


Managed = ManagedMailbox | ManagedGroup | ManagedAssignment


@dataclass(frozen=True, slots=True)
class Position:
    """How far a check has come: within a phase, everything up to this place."""

    phase: RequestKind
    at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class Extent:
    """What of a tenant is looked at next: what follows a position in its phase, so many things at most."""

    tenant_id: TenantId
    position: Position
    most: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Things that follow one another in a phase, each with its place. `following` is where the next ones begin; None
    when these are the last of the phase."""

    managed: Sequence[tuple[Managed, Position]]
    following: Position | None

    @property
    def things(self) -> Sequence[Managed]:
        """The things alone."""
        return [managed for managed, _ in self.managed]

    def first(self, number: int) -> "Stretch":
        """No more than so many of them; the next ones begin behind these then."""
        if number >= len(self.managed):
            return self
        return Stretch(self.managed[:number], self.managed[number - 1][1])


BEGINNING = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """The checks of a tenant: how far the one under way has come (None between two), when it began and the last one
    ended, and when somebody has asked for one."""

    position: Position | None = None
    asked_at: datetime | None = None
    began_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def is_asked_for(self) -> bool:
        """Whether somebody has asked for one since the last one began."""
        return self.asked_at is not None and (self.began_at is None or self.asked_at > self.began_at)

    def at(self, position: Position | None, *, now: datetime) -> "DriftCheck":
        """The same when it has come so far, which is the end of it without a position."""
        return replace(self, position=position, finished_at=now if position is None else self.finished_at)


def first_of(phase: RequestKind) -> Position:
    """Before everything in a phase."""
    return Position(phase, BEGINNING, UUID(int=0))


def beginning_after(phase: RequestKind) -> Position | None:
    """Where the phase that follows begins; None after the last."""
    following = PHASES[PHASES.index(phase) + 1 :]
    return first_of(following[0]) if following else None


def next_night(tenant_id: TenantId, now: datetime) -> datetime:
    """When the next check of a tenant begins: always at the same time of the night, each tenant at its own."""
    share = tenant_id.int % 7919 / 7919
    night = datetime.combine(now.date(), BEGINS_AT, UTC) + SPREAD * share
    return night if night > now else night + timedelta(days=1)


def check_asked_for(tenant: Tenant, editor: Editor, said: Mapping[str, str]) -> Change:
    """What goes on record when somebody asks for a check, and says something to it."""
    return Change(
        tenant_id=tenant.id,
        action="drift.check",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("tenant", tenant.id, tenant.name),
        before=None,
        after=said or None,
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


def drift_found(managed: Managed, difference: Difference, *, repaired: bool, refusal: str | None) -> Found:
    """A difference as a finding. `repaired` says that it is put right, `refusal` why the directory refused that."""
    detail = difference.detail if refusal is None else f"{difference.detail} It could not be put right: {refusal}"
    return Found(
        subject=managed.subject,
        kind=FindingKind.DRIFT,
        source=FindingSource.DRIFT,
        about=difference.name.path,
        property=difference.name.path,
        wanted=difference.wanted,
        observed=difference.observed,
        detail=detail,
        action=REPAIR if repaired else None,
        request_id=managed.request_id,
    )


def does_not_hold(managed: Managed, difference: Difference) -> Found:
    """That repairs of a property do not hold."""
    return Found(
        subject=managed.subject,
        kind=FindingKind.REPAIR_DOES_NOT_HOLD,
        source=FindingSource.DRIFT,
        about=difference.name.path,
        property=difference.name.path,
        wanted=difference.wanted,
        observed=difference.observed,
        detail=f"{difference.detail} {DOES_NOT_HOLD}",
        request_id=managed.request_id,
    )


Observed = ObservedMailbox | ObservedGroup | ObservedSubject


@dataclass(frozen=True, slots=True)
class Look:
    """One thing as it is wanted and shown, with what of it differs and is not ignored."""

    managed: Managed
    observed: Observed | None
    differences: tuple[Difference, ...]

    @property
    def id(self) -> UUID:
        """The mailbox, group or site."""
        return self.managed.subject.id


# What is to be put right of one thing.
Broken = tuple[Look, Sequence[Difference]]


def look_at(tenant: Tenant, managed: Managed, observed: Observed | None) -> Look:
    """One thing with what of it counts as different in this tenant."""
    said = tenant.repair_properties
    if isinstance(managed, ManagedGroup) and isinstance(observed, ObservedGroup):
        managed = managed.without_removed(observed)
    counting = [
        each for each in _differences(managed, observed) if treatment_of(each.name, said) is not Treatment.IGNORED
    ]
    return Look(managed, observed, tuple(counting))


def missing_people(look: Look) -> frozenset[UserId]:
    """Those whom a mailbox or group is found to lack: somebody who has left is wanted no more."""
    names = {each.name for each in look.differences}
    match look.managed, look.observed:
        case ManagedMailbox(wanted=mailbox), ObservedMailbox() as shown_mailbox:
            permitted = mailbox.permissions.keys() if DriftProperty.MAILBOX_PERMISSIONS in names else ()
            owners = mailbox.owners if DriftProperty.MAILBOX_OWNERS in names else ()
            missing = frozenset(owners) - frozenset(shown_mailbox.owners)
            return missing | (frozenset(permitted) - shown_mailbox.permissions.keys())
        case ManagedGroup(wanted=group), ObservedGroup() as shown_group:
            owners = group.owners if DriftProperty.GROUP_OWNERS in names else ()
            members = group.members if DriftProperty.GROUP_MEMBERS in names else ()
            return (frozenset(owners) - shown_group.owners) | (frozenset(members) - shown_group.members)
        case _:
            return frozenset()


def look_without(tenant: Tenant, look: Look, gone: AbstractSet[UserId]) -> Look:
    """The same when nobody wants those who have left."""
    left = missing_people(look) & gone
    match look.managed:
        case ManagedMailbox() | ManagedGroup() if left:
            return look_at(tenant, look.managed.without(left), look.observed)
        case _:
            return look


def apart(broken: Sequence[Broken]) -> Sequence[Sequence[Broken]]:
    """The same in turns, of each thing what the same steps put right in one: what is refused stops nothing else."""
    turns: list[list[Broken]] = []
    for look, differences in broken:
        by_steps = {each.steps: [one for one in differences if one.steps == each.steps] for each in differences}
        for place, together in enumerate(by_steps.values()):
            turns += [[]] if place == len(turns) else []
            turns[place].append((look, together))
    return turns


def people_in(observed: Observed | None) -> int:
    """How many people are named by what the directory shows: what a page takes in memory goes by that."""
    match observed:
        case ObservedMailbox():
            return len(observed.permissions)
        case ObservedGroup():
            return len(observed.members) + len(observed.owners)
        case ObservedSubject():
            return len(observed.guests)
        case None:
            return 0


def _differences(managed: Managed, observed: Observed | None) -> Iterator[Difference]:
    match managed, observed:
        case ManagedMailbox(), ObservedMailbox() | None:
            yield from mailbox_differences(managed.wanted, observed, replies_freely=managed.replies_freely)
        case ManagedGroup(), ObservedGroup() | None:
            yield from group_differences(managed.wanted, observed)
        case ManagedAssignment(), ObservedSubject():
            yield from assignment_differences(managed.assigned.wanted, observed)
        case _:
            # Whoever follows the directory's changes finds out that a group is gone, and what was assigned with it.
            return
