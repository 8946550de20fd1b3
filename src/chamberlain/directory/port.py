# SPDX-License-Identifier: Apache-2.0
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
from chamberlain.core.reasons import Reason
from chamberlain.directory.capabilities import Capable
from chamberlain.directory.groups import GroupReference, ObservedGroup, WantedGroup
from chamberlain.directory.lookups import Found, FoundGroup, FoundUser, Related, Relation, Search, Slice
from chamberlain.directory.mailboxes import MailboxReference, MailboxSummary, ObservedMailbox, WantedMailbox
from chamberlain.directory.models import Label, ObjectType, PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedSubject, SubjectReference, SubjectSummary, WantedGuestRules

# Groups, sites and mailboxes on one page of changes: a response of about 100 KB. It is a hint: a directory that decides
# on the size of its pages may return more.
MOST_CHANGES = 200


# Maximum age of cached people of a directory without notifications. Our choice: a change of a user applies within a
# minute, and a burst of submissions by one caller takes one call.
REMEMBER_REMOTE = timedelta(seconds=60)


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
class Shortfall:
    """A part of a completed step that the directory cannot do.

    The sentence of the reason says how to get the rest.
    """

    step: Step
    reason: Reason


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Observed]):
    """Outcome of the steps for one group or mailbox.

    `observed` is None before the object exists. `fault` stopped the step after `done`; None means that all are done.
    `made` is the id of the created object, also before it is visible. It matters after a fault only. `shortfalls` are
    parts of the steps in `done` that were left undone.
    """

    observed: Observed | None
    done: tuple[Step, ...]
    fault: OutsideFault | None
    made: UUID | None = None
    shortfalls: tuple[Shortfall, ...] = ()


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
    display_name: str = ""


@dataclass(frozen=True, slots=True)
class GuestOutcome:
    """Outcome of the steps for guest rules, as for a group.

    `subject` is None for an unknown group. The step that removes guests is done even if some have `stayed`.
    """

    subject: ObservedSubject | None
    done: tuple[Step, ...]
    fault: OutsideFault | None
    stayed: tuple[Stayed, ...] = ()
    shortfalls: tuple[Shortfall, ...] = ()


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

    `subjects` are summaries in the current state; the last one of an id is current. `removed` are the deleted ones,
    which `subjects` does not contain. Some directories report other deleted objects as well, so callers ignore unknown
    ids. Callers that need more than a summary observe by id. `cursor` continues.
    `is_complete` is true on the last page for now; the cursor then starts at later changes.
    """

    subjects: tuple[SubjectSummary, ...]
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
class ManagedObject:
    """A group or mailbox, found by the mark of its request.

    `id` is its id in the directory, if it is known. An object without this mark is never changed.
    """

    tenant_id: TenantId
    type: ObjectType
    extension: str
    request_id: RequestId
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """The object is to be removed.

    With the ability `softDelete` it can be restored for a time that the directory decides on.
    """

    object: ManagedObject


@dataclass(frozen=True, slots=True)
class Restored:
    """The removed object is to exist again, with all that it had."""

    object: ManagedObject


@dataclass(frozen=True, slots=True)
class Renamed:
    """The object is to have this display name.

    `name` is that of a mailbox; None leaves it.
    """

    object: ManagedObject
    display_name: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Readdressed:
    """The object is to have this primary address.

    The present one becomes an alias.
    """

    object: ManagedObject
    mail: str


LifecycleWork: TypeAlias = Gone | Restored | Renamed | Readdressed


@dataclass(frozen=True, slots=True)
class MailboxPage:
    """A page of the mailboxes of a tenant.

    They are summaries in any order. A mailbox may be on several pages. `cursor` is None on the last page.
    """

    mailboxes: tuple[MailboxSummary, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class MailboxChanges:
    """A page of changed and deleted mailboxes.

    They are the requests in their marks. `cursor` continues. `is_complete` is true on the last page for now.
    """

    request_ids: tuple[RequestId, ...]
    cursor: str
    is_complete: bool


class People(Protocol):
    """Lookup in a tenant's directory, before anything is written."""

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        """Answer a question. Raises TryAgain if the directory does not answer."""
        ...

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
        """Find people by typed text.

        At most `limit` are returned, in the order of their names and ids. Each typed word is the start of a word of the
        display name, or of the mail address or user name (as a whole, or a word before the @). Letter case does not
        matter. Mailboxes are no people; guests are, and say so. Nothing is found unless a word has two letters. Raises
        TryAgain.
        """
        ...

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
        """List the sensitivity labels of a tenant by name.

        There are none if the directory has no labels. Raises TryAgain.
        """
        ...

    def remember_for(self, tenant_id: TenantId) -> timedelta | None:  # noqa: ARG002 - the same for all tenants here.
        """Return the maximum age of cached answers about a tenant.

        None for a directory that notifies changes: an answer is valid until the next notification. Missing users and
        labels are never cached. REMEMBER_REMOTE is the usual age.
        """
        return None


class Directory(Capable, Protocol):
    """The directory for the worker.

    Every call takes a batch. Each item has its own outcome, in the same order.
    """

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


class Lookups(Protocol):
    """Groups and users for clients of the directory.

    They are sorted by id. The embedded directory answers its clients itself, from its tables.
    """

    async def groups(self, tenant_id: TenantId, search: Search) -> Found[FoundGroup]:
        """Find groups.

        Raises TryAgain, and Rejected (`filterNotSupported`) for a comparison that the directory cannot make.
        """
        ...

    async def related(
        self, tenant_id: TenantId, group_id: GroupId, relation: Relation, part: Slice
    ) -> Found[Related] | None:
        """List the owners, or direct members, of a group.

        None for an unknown group. Nested groups are members. Users and groups that no longer exist are left out. Raises
        TryAgain.
        """
        ...

    async def users(self, tenant_id: TenantId, search: Search) -> Found[FoundUser]:
        """Find users and mailboxes, as `groups` finds groups."""
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

        A page has about MOST_CHANGES groups and sites of the tenant, perhaps more. `cursor` None starts a scan. Cursors
        are opaque and durable: the caller stores them, and every process may continue with them. Nothing is missed,
        however late it was committed; changes may repeat. `removed` has only groups that were deleted after the scan
        began: a group that a whole scan did not return does not exist. Raises TryAgain, and Rejected (`cursorUnknown`)
        for an expired cursor: a new scan is needed then.
        """
        ...


@dataclass(frozen=True, slots=True)
class TenantCursors:
    """The cursors of a tenant: those of `Guests.changes` and `Adoptions.changed_mailboxes`."""

    tenant_id: TenantId
    subjects: str
    mailboxes: str


class ChangedTenants(Protocol):
    """The tenants with changed groups, sites or mailboxes.

    One call is about many tenants.
    """

    async def changed_tenants(self, cursors: Sequence[TenantCursors]) -> frozenset[TenantId]:
        """Return the tenants with changes after their cursors.

        Includes each tenant whose cursors it cannot compare. Raises TryAgain.
        """
        ...


class Adoptions(Protocol):
    """Existing mailboxes and groups, and the marks that make them managed.

    Nothing else of them changes.
    """

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        """Read the next page of visible mailboxes of a tenant.

        A page has about MOST_CHANGES; `cursor` None starts. Never writes. Raises TryAgain, and Rejected
        (`cursorUnknown`) for an invalid cursor.
        """
        ...

    async def observe(
        self, tenant_id: TenantId, extension: str, ids: Sequence[UUID]
    ) -> Sequence[ObservedMailbox | None]:
        """Observe mailboxes of a tenant by id, with or without a mark.

        None for each that does not exist. Never writes. Raises TryAgain.
        """
        ...

    async def changed_mailboxes(
        self, tenant_id: TenantId, extensions: Sequence[str], cursor: str | None
    ) -> MailboxChanges:
        """Read the next page of changed and deleted mailboxes.

        A page has about MOST_CHANGES of those with a mark under one of the extensions. Created ones are not changed.
        `cursor` None starts at later changes. Cursors are durable, as those of `Guests.changes`. Nothing is missed,
        however late it was committed. Raises TryAgain, and Rejected (`cursorUnknown`) for an expired cursor.
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

        A group loses the metadata of its request too. Missing objects, and those without the mark, are skipped. Raises
        TryAgain if the directory does not answer at all.
        """
        ...


class Lifecycle(Protocol):
    """Removal, restoration and change of existing groups and mailboxes."""

    async def ensure(self, works: Sequence[LifecycleWork]) -> Sequence[OutsideFault | None]:
        """Bring each object into its wanted state.

        A retry ends in the same state (idempotent). Works run in their order. Removing an object that does not exist is
        done. A missing object is otherwise Rejected (`gone`), and so is a restoration after the retention. An address
        of another object is Rejected (`addressTaken`). Callers ask for the abilities first. Raises TryAgain if the
        directory does not answer at all.
        """
        ...
