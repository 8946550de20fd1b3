"""The ports: what the service needs of any directory.

They are small, at most five methods each, and one conformance suite proves every adapter. Adapters raise, or put into
their outcomes, two faults only: TryAgain and Rejected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypeAlias
from uuid import UUID

from chamberlain.core.errors import OutsideFault
from chamberlain.core.ids import GroupId, RequestId, TenantId, UserId
from chamberlain.directory.groups import GroupReference, ObservedGroup, WantedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox, WantedMailbox
from chamberlain.directory.models import ObjectType, PeopleAnswer, PeopleQuestion
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedSubject, SubjectReference, WantedGuestRules

# How many groups and sites come with one page of changes, at most. Ours: an answer of about 100 KB.
MOST_CHANGES = 200


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What differs between directories. `visible_after` is when a client should look for what it asked for. With
    `shares_database` all that it writes lies in our database, and is on the disk no earlier than what we wrote before.
    """

    visible_after: timedelta
    shares_database: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """One group or team to bring about, by these steps in this order. Steps that are done already are harmless."""

    wanted: WantedGroup
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one piece of work: how it stands in the directory now (None before it exists), the steps that are
    done, and the fault that stopped the next one (None when all are done). `made` is the id of what was made, also
    where the directory does not show it yet; without a fault nobody needs it."""

    group: ObservedGroup | None
    done: tuple[Step, ...]
    fault: OutsideFault | None
    made: UUID | None = None


@dataclass(frozen=True, slots=True)
class MailboxWork:
    """One mailbox to bring about, by these steps in this order. Steps that are done already are harmless."""

    wanted: WantedMailbox
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class MailboxOutcome:
    """What came of one piece of work on a mailbox, told as for a group."""

    mailbox: ObservedMailbox | None
    done: tuple[Step, ...]
    fault: OutsideFault | None
    made: UUID | None = None


@dataclass(frozen=True, slots=True)
class GuestWork:
    """Guest rules to bring about on one group or site, by these steps in this order, and by no others."""

    wanted: WantedGuestRules
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Stayed:
    """A guest who should have been removed and could not be: by its rule a group has its members
    (`membersFollowRule`), or nobody would own it any more (`lastOwner`). `detail` is a sentence with what to do."""

    id: UserId
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class GuestOutcome:
    """What came of one piece of work on guest rules, told as for a group. There is never anything but None to show of a
    group that the directory does not have. The step that removes guests is done although some have `stayed`."""

    subject: ObservedSubject | None
    done: tuple[Step, ...]
    fault: OutsideFault | None
    stayed: tuple[Stayed, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoveGuest:
    """Take a guest out of a group, as owner and as member. Whoever is not in it (any more), or is no guest, is passed
    over."""

    tenant_id: TenantId
    group_id: GroupId
    guest_id: UserId


@dataclass(frozen=True, slots=True)
class DisableGuest:
    """Keep a guest from signing in, whichever groups they are in. Whoever has no account (any more) is passed over."""

    tenant_id: TenantId
    guest_id: UserId


GuestAct: TypeAlias = RemoveGuest | DisableGuest


@dataclass(frozen=True, slots=True)
class ActOutcome:
    """What came of one act: it is done, or `stayed` says why it cannot be, or a fault stopped it. Whoever is to be
    disabled and is a user of the house by now has stayed (`notAGuest`)."""

    stayed: Stayed | None
    fault: OutsideFault | None


@dataclass(frozen=True, slots=True)
class SubjectChanges:
    """A page of what is there, or of what has changed: each as it is now, and those that are gone.

    `cursor` asks for what follows. `is_complete` says that nothing is left at present: the scan, or what had changed
    since, was told to its end, and `cursor` asks for what changes from here on.
    """

    subjects: tuple[ObservedSubject, ...]
    removed: tuple[GroupId, ...]
    cursor: str
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Marking:
    """A mailbox or group that is there, by the id that the directory knows it by, and the mark of a request that it is
    to carry or to lose. `extension` is the name of the attribute that holds the mark."""

    tenant_id: TenantId
    type: ObjectType
    id: UUID
    extension: str
    request_id: RequestId


@dataclass(frozen=True, slots=True)
class MailboxPage:
    """Some of the mailboxes of a tenant. `cursor` asks for those behind them; None when these were the last."""

    mailboxes: tuple[ObservedMailbox, ...]
    cursor: str | None


class People(Protocol):
    """Who and what is known in a tenant's directory. It is asked before anything is written."""

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        """What of the question exists. Raises TryAgain when the directory does not answer."""
        ...


class Directory(Protocol):
    """The suite as the worker sees it. Every call takes a batch; each item has its own outcome, in the order asked."""

    @property
    def capabilities(self) -> Capabilities:
        """What this directory can do."""
        ...

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """What the directory shows of each; None where it shows nothing. Never writes. Raises TryAgain."""
        ...

    async def ensure(self, works: Sequence[Work]) -> Sequence[Outcome]:
        """Bring each about; doing it twice ends in the same state as once. The steps are asked for in their order; an
        adapter that cannot stop between them may do all that is wanted at once. Raises TryAgain when nothing answers
        at all."""
        ...

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """As `observe`, of mailboxes."""
        ...

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """As `ensure`, for mailboxes. What is wanted and shows otherwise is set; of what nothing is said (None, no
        entries) everything stays as it is. Whoever is named in the permissions has exactly that level afterwards,
        whoever is revoked has none."""
        ...


class Subjects(Protocol):
    """Groups and sites, as the API reads them."""

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """Read groups and sites of one tenant.

        None for each that does not exist. Raises TryAgain.
        """
        ...


class Guests(Protocol):
    """What of the suite has to do with guests: groups and sites with the guests in them, and the rules for them."""

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """What the directory shows of each; None where it shows no such group. Never writes. Raises TryAgain."""
        ...

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        """Bring each about by its steps; doing it twice ends in the same state as once. Guests who shall go are removed
        by the step that sets the access, but for those who are in a group by its membership rule, and for its last
        owner: they are told of in the outcome, and all else is done. Rejected is a group that does not exist
        (`groupUnknown`). Raises TryAgain when nothing answers at all."""
        ...

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        """Do each; doing it twice ends in the same state as once. Each has its own outcome, in the order asked.
        Rejected is a group that does not exist (`groupUnknown`). Raises TryAgain when nothing answers at all."""
        ...

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        """The next page, of at most MOST_CHANGES, of all groups and sites of a tenant (from `cursor` None on), and then
        of what has changed since.

        Nothing is missed, however late it was committed; what changed while pages were read may come twice. A group
        that is gone comes under `removed` only if it went after the scan had begun: what a whole scan did not show is
        not there. Raises TryAgain, and Rejected (`cursorUnknown`) for a cursor that the directory does not know any
        more: then a new scan is needed.
        """
        ...


class Adoptions(Protocol):
    """What was in the suite before anybody asked us for it, and the mark by which it is managed from then on. Nothing
    else of it changes."""

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        """The next page, of at most MOST_CHANGES, of all mailboxes of a tenant that are visible, in the order of their
        ids; from `cursor` None on. Never writes. Raises TryAgain, and Rejected (`cursorUnknown`) for a cursor that is
        none."""
        ...

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Let each carry its mark; doing it twice ends in the same state as once. Rejected is what is not there
        (`gone`) and what carries the mark of another request (`alreadyManaged`). None may come twice. Raises TryAgain
        when nothing answers at all."""
        ...

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Take the mark from each that carries just this one; what is not there, or carries none, is left as it is.
        Raises TryAgain when nothing answers at all."""
        ...
