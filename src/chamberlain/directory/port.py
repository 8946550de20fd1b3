"""Interfaces of a directory.

Each has at most five methods, and one conformance suite proves every adapter. Adapters raise, or put into their
outcomes, two kinds of faults only: TryAgain and Rejected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, Protocol, TypeAlias, TypeVar
from uuid import UUID

from chamberlain.core.errors import OutsideFault
from chamberlain.core.ids import GroupId, RequestId, TenantId, UserId
from chamberlain.directory.groups import GroupReference, ObservedGroup, WantedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox, WantedMailbox
from chamberlain.directory.models import ObjectType, PeopleAnswer, PeopleQuestion
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedSubject, SubjectReference, WantedGuestRules

# Most groups and sites on one page of changes: a response of about 100 KB.
MOST_CHANGES = 200


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Differences between directories.

    `visible_after` is the time until a client should look for a created object. With `shares_database` all its writes
    are in the service's database, and never durable before earlier writes of the service.
    """

    visible_after: timedelta
    shares_database: bool = False


Wanted = TypeVar("Wanted")
Observed = TypeVar("Observed")


@dataclass(frozen=True, slots=True)
class Work(Generic[Wanted]):
    """Steps for one object, in this order.

    A repeated step is harmless (idempotent).
    """

    wanted: Wanted
    steps: tuple[Step, ...]


GroupWork: TypeAlias = Work[WantedGroup]
MailboxWork: TypeAlias = Work[WantedMailbox]
GuestWork: TypeAlias = Work[WantedGuestRules]


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Observed]):
    """Outcome of the steps for one group or mailbox.

    `observed` is None before the object exists. `fault` stopped the step after `done`; None means that all are done.
    `made` is the id of the created object, also before it is visible. It matters after a fault only.
    """

    observed: Observed | None
    done: tuple[Step, ...]
    fault: OutsideFault | None
    made: UUID | None = None


GroupOutcome: TypeAlias = Outcome[ObservedGroup]
MailboxOutcome: TypeAlias = Outcome[ObservedMailbox]


@dataclass(frozen=True, slots=True)
class Stayed:
    """A guest who cannot be removed.

    The membership rule includes the guest (`membersFollowRule`), or the group would lose its last owner (`lastOwner`).
    `detail` is a sentence with the next step.
    """

    id: UserId
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class GuestOutcome:
    """Outcome of the steps for guest rules, as for a group.

    `subject` is None for an unknown group. The step that removes guests is done even if some have `stayed`.
    """

    subject: ObservedSubject | None
    done: tuple[Step, ...]
    fault: OutsideFault | None
    stayed: tuple[Stayed, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoveGuest:
    """Remove a guest from a group, as owner and as member.

    Users who are not in it, or are no guests, are skipped.
    """

    tenant_id: TenantId
    group_id: GroupId
    guest_id: UserId


@dataclass(frozen=True, slots=True)
class DisableGuest:
    """Block the sign-in of a guest.

    Guests without an account are skipped.
    """

    tenant_id: TenantId
    guest_id: UserId


GuestAct: TypeAlias = RemoveGuest | DisableGuest


@dataclass(frozen=True, slots=True)
class ActOutcome:
    """Outcome of one action on a guest.

    It is done, or `stayed` has the reason why it is impossible, or a fault stopped it. A user who is no guest any more
    stays (`notAGuest`).
    """

    stayed: Stayed | None
    fault: OutsideFault | None


@dataclass(frozen=True, slots=True)
class SubjectChanges:
    """A page of a scan, or of later changes.

    `subjects` has the current state, `removed` the deleted ones. `cursor` continues. `is_complete` is true on the last
    page for now; the cursor then starts at later changes.
    """

    subjects: tuple[ObservedSubject, ...]
    removed: tuple[GroupId, ...]
    cursor: str
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Marking:
    """An existing object, and the mark to set or remove.

    `id` is its id in the directory. `extension` is the name of the attribute of the mark.
    """

    tenant_id: TenantId
    type: ObjectType
    id: UUID
    extension: str
    request_id: RequestId


@dataclass(frozen=True, slots=True)
class MailboxPage:
    """A page of the mailboxes of a tenant.

    `cursor` is None on the last page.
    """

    mailboxes: tuple[ObservedMailbox, ...]
    cursor: str | None


class People(Protocol):
    """Lookup in a tenant's directory, before anything is written."""

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        """Answer a question. Raises TryAgain if the directory does not answer."""
        ...


class Directory(Protocol):
    """The directory for the worker.

    Every call takes a batch. Each item has its own outcome, in the same order.
    """

    @property
    def capabilities(self) -> Capabilities:
        """Return the capabilities of this directory."""
        ...

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """Observe each group; None if it is not visible.

        Never writes. Raises TryAgain.
        """
        ...

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        """Provision each group; a retry ends in the same state (idempotent).

        Steps run in their order. An adapter that cannot stop between them may apply all at once. Raises TryAgain if the
        directory does not answer at all.
        """
        ...

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """Observe mailboxes, as `observe` does."""
        ...

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """Provision mailboxes, as `ensure` does.

        Properties that differ from the desired state are set. Unspecified ones (None, no entries) stay as they are.
        Users in the permissions have exactly that level afterwards, revoked users none.
        """
        ...


class Subjects(Protocol):
    """Groups and sites for the API."""

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """Read groups and sites of one tenant.

        None for each that does not exist. Raises TryAgain.
        """
        ...


class Guests(Protocol):
    """Groups and sites with their guests, and the rules for guests."""

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """Observe each group or site; None if it does not exist.

        Never writes. Raises TryAgain.
        """
        ...

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        """Apply guest rules by their steps (idempotent).

        The step that sets the access removes guests. It keeps guests by a membership rule, and the last owner: the
        outcome reports them, and the other changes are done. An unknown group is Rejected (`groupUnknown`). Raises
        TryAgain if the directory does not answer at all.
        """
        ...

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        """Perform each action; a retry ends in the same state (idempotent).

        Each has its own outcome, in the same order. An unknown group is Rejected (`groupUnknown`). Raises TryAgain if
        the directory does not answer at all.
        """
        ...

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        """Read the next page of a scan, or of later changes.

        A page has at most MOST_CHANGES groups and sites of the tenant. `cursor` None starts a scan. Nothing is missed,
        however late it was committed; changes during the scan may repeat. `removed` has only groups that were deleted
        after the scan began: a group that a whole scan did not return does not exist. Raises TryAgain, and Rejected
        (`cursorUnknown`) for an expired cursor: a new scan is needed then.
        """
        ...


class Adoptions(Protocol):
    """Existing mailboxes and groups, and the marks that make them managed.

    Nothing else of them changes.
    """

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        """Read the next page of visible mailboxes of a tenant, by id.

        A page has at most MOST_CHANGES; `cursor` None starts. Never writes. Raises TryAgain, and Rejected
        (`cursorUnknown`) for an invalid cursor.
        """
        ...

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Set each mark; a retry ends in the same state (idempotent).

        A missing object is Rejected (`gone`), and so is one with the mark of another request (`alreadyManaged`). No
        object may be repeated. Raises TryAgain if the directory does not answer at all.
        """
        ...

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Remove exactly this mark from each object.

        Missing objects, and those without the mark, are skipped. Raises TryAgain if the directory does not answer at
        all.
        """
        ...
