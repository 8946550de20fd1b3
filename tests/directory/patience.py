"""Whoever asks a difficult directory until it has answered, with a clock that goes as fast as one waits."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.core.ids import TenantId
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.port import (
    ActOutcome,
    Adoptions,
    Capabilities,
    Directory,
    GuestAct,
    GuestOutcome,
    Guests,
    GuestWork,
    MailboxOutcome,
    MailboxPage,
    MailboxWork,
    Marking,
    Outcome,
    People,
    SubjectChanges,
    Work,
)
from chamberlain.directory.subjects import ObservedSubject, SubjectReference

# Far more than any fault that passes by itself needs.
MOST_TRIES = 100

Answer = TypeVar("Answer")
Item = TypeVar("Item")
Ended = TypeVar("Ended", Outcome, MailboxOutcome, GuestOutcome, ActOutcome)


@dataclass
class Clock:
    """The time, and how far it was put ahead. The directory dates groups by its own clock, so it begins at that."""

    ahead: timedelta = field(default_factory=timedelta)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def wait(self, span: timedelta) -> None:
        self.ahead += span


async def patiently(clock: Clock, ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """The first answer that is not "try again"."""
    for _ in range(MOST_TRIES):
        try:
            return await ask()
        except TryAgain as fault:
            clock.wait(fault.after)
    raise AssertionError(f"There was no answer after {MOST_TRIES} tries.")


@dataclass
class PatientPeople(People):
    """People who are asked until they answer."""

    people: People
    clock: Clock

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        return await patiently(self.clock, lambda: self.people.look_up(question))


@dataclass
class PatientDirectory(Directory):
    """A directory that is asked until every item has its end; `reasons` are those of the waits between."""

    directory: Directory
    clock: Clock
    reasons: list[str] = field(default_factory=list)

    @property
    def capabilities(self) -> Capabilities:
        return self.directory.capabilities

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        return await patiently(self.clock, lambda: self.directory.observe(references))

    async def ensure(self, works: Sequence[Work]) -> Sequence[Outcome]:
        return await until_all_end(self.clock, works, self.directory.ensure, reasons=self.reasons)

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        return await patiently(self.clock, lambda: self.directory.observe_mailboxes(references))

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        return await until_all_end(self.clock, works, self.directory.ensure_mailboxes, reasons=self.reasons)


@dataclass
class PatientGuests(Guests):
    """Rules for guests, asked for until every item has its end."""

    guests: Guests
    clock: Clock

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        return await patiently(self.clock, lambda: self.guests.observe(references))

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        return await until_all_end(self.clock, works, self.guests.ensure, reasons=[])

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        return await until_all_end(self.clock, acts, self.guests.act, reasons=[])

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        return await patiently(self.clock, lambda: self.guests.changes(tenant_id, extension, cursor))


@dataclass
class PatientAdoptions(Adoptions):
    """What was there before, asked for until every item has its end."""

    adoptions: Adoptions
    clock: Clock

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        return await patiently(self.clock, lambda: self.adoptions.mailboxes(tenant_id, extension, cursor))

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        return await self._until_all_end(markings, self.adoptions.mark)

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        return await self._until_all_end(markings, self.adoptions.unmark)

    async def _until_all_end(
        self, markings: Sequence[Marking], ask: Callable[[Sequence[Marking]], Awaitable[Sequence[OutsideFault | None]]]
    ) -> Sequence[OutsideFault | None]:
        ends: dict[Marking, OutsideFault | None] = {}
        for _ in range(MOST_TRIES):
            left = [one for one in markings if one not in ends]
            if not left:
                return [ends[one] for one in markings]
            faults = await patiently(self.clock, partial(ask, left))
            ends |= {one: each for one, each in zip(left, faults, strict=True) if not isinstance(each, TryAgain)}
            self.clock.wait(max([each.after for each in faults if isinstance(each, TryAgain)], default=timedelta()))
        raise AssertionError(f"{len(markings) - len(ends)} items had no end after {MOST_TRIES} tries.")


async def until_all_end(
    clock: Clock,
    works: Sequence[Item],
    ensure: Callable[[Sequence[Item]], Awaitable[Sequence[Ended]]],
    *,
    reasons: list[str],
) -> Sequence[Ended]:
    """What came of each in the end; the reasons of the waits between are put behind `reasons`."""
    outcomes: dict[int, Ended] = {}
    for _ in range(MOST_TRIES):
        left = [index for index in range(len(works)) if index not in outcomes]
        tried = await patiently(clock, partial(ensure, [works[index] for index in left]))
        faults = [outcome.fault for outcome in tried if isinstance(outcome.fault, TryAgain)]
        outcomes |= {
            index: outcome
            for index, outcome in zip(left, tried, strict=True)
            if not isinstance(outcome.fault, TryAgain)
        }
        if not faults:
            return [outcomes[index] for index in range(len(works))]
        reasons += [fault.reason for fault in faults]
        clock.wait(max(fault.after for fault in faults))
    raise AssertionError(f"{len(works) - len(outcomes)} items had no end after {MOST_TRIES} tries.")
