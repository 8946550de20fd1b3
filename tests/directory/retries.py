# SPDX-License-Identifier: Apache-2.0
"""Ports that retry temporary errors, with a clock that skips the delays."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol, TypeVar
from uuid import UUID

from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.lookups import Found, FoundGroup, FoundUser, Related, Relation, Search, Slice
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import Label, PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.port import (
    ActOutcome,
    Adoptions,
    Directory,
    GroupOutcome,
    GroupWork,
    GuestAct,
    GuestOutcome,
    Guests,
    GuestWork,
    Lifecycle,
    LifecycleWork,
    Lookups,
    MailboxChanges,
    MailboxOutcome,
    MailboxPage,
    MailboxWork,
    Marking,
    People,
    SubjectChanges,
)
from chamberlain.directory.subjects import ObservedSubject, SubjectReference

# Far more than any temporary error needs.
MOST_TRIES = 100

Answer = TypeVar("Answer")
Item = TypeVar("Item")
Ended = TypeVar("Ended", GroupOutcome, MailboxOutcome, GuestOutcome, ActOutcome)


class Waits(Protocol):
    """A clock that skips delays."""

    def wait(self, span: timedelta) -> None: ...


@dataclass
class Clock:
    """The real time plus the skipped delays; the directory uses the real time."""

    ahead: timedelta = field(default_factory=timedelta)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def wait(self, span: timedelta) -> None:
        self.ahead += span


async def retry(clock: Waits, ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Retry a call until it does not raise TryAgain."""
    for _ in range(MOST_TRIES):
        try:
            return await ask()
        except TryAgain as fault:
            clock.wait(fault.after)
    raise AssertionError(f"There was no answer after {MOST_TRIES} tries.")


@dataclass
class RetryingPeople(People):
    """People with retries."""

    people: People
    clock: Waits

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        return await retry(self.clock, lambda: self.people.look_up(question))

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
        return await retry(self.clock, lambda: self.people.find(tenant_id, text, limit))

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
        return await retry(self.clock, lambda: self.people.labels(tenant_id))


@dataclass
class RetryingDirectory(Directory):
    """A directory with retries; `reasons` are those of the temporary errors.

    It states the given capabilities instead of its own.
    """

    directory: Directory
    clock: Waits
    stated: Capabilities | None = None
    reasons: list[str] = field(default_factory=list)

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:
        return self.stated or await self.directory.capabilities(tenant_id)

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        return await retry(self.clock, lambda: self.directory.observe(references))

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        return await retry_items(self.clock, works, self.directory.ensure, reasons=self.reasons)

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        return await retry(self.clock, lambda: self.directory.observe_mailboxes(references))

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        return await retry_items(self.clock, works, self.directory.ensure_mailboxes, reasons=self.reasons)


@dataclass
class RetryingGuests(Guests):
    """Guests with retries."""

    guests: Guests
    clock: Waits

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        return await retry(self.clock, lambda: self.guests.observe(references))

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        return await retry_items(self.clock, works, self.guests.ensure, reasons=[])

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        return await retry_items(self.clock, acts, self.guests.act, reasons=[])

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        return await retry(self.clock, lambda: self.guests.changes(tenant_id, extension, cursor))


@dataclass
class RetryingLookups(Lookups):
    """Lookups with retries."""

    lookups: Lookups
    clock: Waits

    async def groups(self, tenant_id: TenantId, search: Search) -> Found[FoundGroup]:
        return await retry(self.clock, lambda: self.lookups.groups(tenant_id, search))

    async def related(
        self, tenant_id: TenantId, group_id: GroupId, relation: Relation, part: Slice
    ) -> Found[Related] | None:
        return await retry(self.clock, lambda: self.lookups.related(tenant_id, group_id, relation, part))

    async def users(self, tenant_id: TenantId, search: Search) -> Found[FoundUser]:
        return await retry(self.clock, lambda: self.lookups.users(tenant_id, search))


@dataclass
class RetryingAdoptions(Adoptions):
    """Adoptions with retries."""

    adoptions: Adoptions
    clock: Waits

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        return await retry(self.clock, lambda: self.adoptions.mailboxes(tenant_id, extension, cursor))

    async def observe(
        self, tenant_id: TenantId, extension: str, ids: Sequence[UUID]
    ) -> Sequence[ObservedMailbox | None]:
        return await retry(self.clock, lambda: self.adoptions.observe(tenant_id, extension, ids))

    async def changed_mailboxes(
        self, tenant_id: TenantId, extensions: Sequence[str], cursor: str | None
    ) -> MailboxChanges:
        return await retry(self.clock, lambda: self.adoptions.changed_mailboxes(tenant_id, extensions, cursor))

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        return await self._retry_items(markings, self.adoptions.mark)

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        return await self._retry_items(markings, self.adoptions.unmark)

    async def _retry_items(
        self, markings: Sequence[Marking], ask: Callable[[Sequence[Marking]], Awaitable[Sequence[OutsideFault | None]]]
    ) -> Sequence[OutsideFault | None]:
        ends: dict[Marking, OutsideFault | None] = {}
        for _ in range(MOST_TRIES):
            left = [one for one in markings if one not in ends]
            if not left:
                return [ends[one] for one in markings]
            faults = await retry(self.clock, partial(ask, left))
            ends |= {one: each for one, each in zip(left, faults, strict=True) if not isinstance(each, TryAgain)}
            self.clock.wait(max([each.after for each in faults if isinstance(each, TryAgain)], default=timedelta()))
        raise AssertionError(f"{len(markings) - len(ends)} items had no end after {MOST_TRIES} tries.")


async def retry_items(
    clock: Waits,
    works: Sequence[Item],
    ensure: Callable[[Sequence[Item]], Awaitable[Sequence[Ended]]],
    *,
    reasons: list[str],
) -> Sequence[Ended]:
    """Retry until every item has a final outcome; appends the reasons of retries."""
    outcomes: dict[int, Ended] = {}
    for _ in range(MOST_TRIES):
        left = [index for index in range(len(works)) if index not in outcomes]
        tried = await retry(clock, partial(ensure, [works[index] for index in left]))
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


@dataclass
class RetryingLifecycle(Lifecycle):
    """Changes of objects with retries."""

    lifecycle: Lifecycle
    clock: Waits

    async def ensure(self, works: Sequence[LifecycleWork]) -> Sequence[OutsideFault | None]:
        return [await retry(self.clock, partial(self._ensure, work)) for work in works]

    async def _ensure(self, work: LifecycleWork) -> OutsideFault | None:
        [fault] = await self.lifecycle.ensure([work])
        if isinstance(fault, TryAgain):
            raise fault
        return fault
