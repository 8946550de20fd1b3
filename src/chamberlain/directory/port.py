"""The two ports: what the service needs of any directory.

They are small, at most five methods each, and one conformance suite proves every adapter. Adapters raise, or put into
their outcomes, two faults only: TryAgain and Rejected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from chamberlain.rules.errors import OutsideFault
from chamberlain.rules.groups import GroupReference, ObservedGroup, WantedGroup
from chamberlain.rules.mailboxes import MailboxReference, ObservedMailbox, WantedMailbox
from chamberlain.rules.people import PeopleAnswer, PeopleQuestion
from chamberlain.rules.plans import Step


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What differs between directories. `visible_after` is when a client should look for what it asked for."""

    visible_after: timedelta


@dataclass(frozen=True, slots=True)
class Work:
    """One group or team to bring about, by these steps in this order. Steps that are done already are harmless."""

    wanted: WantedGroup
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one piece of work: how it stands in the directory now (None before it exists), the steps that are
    done, and the fault that stopped the next one (None when all are done)."""

    group: ObservedGroup | None
    done: tuple[Step, ...]
    fault: OutsideFault | None


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
