# SPDX-License-Identifier: Apache-2.0
"""Fault injection: makes the directory as difficult as a cloud directory.

All faults are off by default. Time and counting decide the faults, never chance, so that tests are deterministic. With
faults, each part of a group, mailbox or guest rule is a separate write call, as in a cloud directory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Generic
from uuid import UUID

from chamberlain.embedded.directory.database import Pool, Queryable, database_errors
from chamberlain.embedded.directory.entries import Ensured, Entry, Mark, MarkedObjects, Shown
from chamberlain.embedded.directory.errors import NotYet, Refused, Throttled, Unreachable
from chamberlain.embedded.directory.groups import GroupEntry, Groups, GroupShown
from chamberlain.embedded.directory.guests import GuestEntry, Guests, SubjectName, SubjectShown
from chamberlain.embedded.directory.mailboxes import MailboxEntry, Mailboxes, MailboxShown
from chamberlain.embedded.directory.people import Card, Found, Question, Register

NEVER = timedelta(0)

# The Retry-After of a throttled call; one second is its minimum.
SLOW_DOWN = timedelta(seconds=1)
# The delay before the first retry for a new object; the caller chooses later delays.
_RETRY_AFTER = timedelta(seconds=1)

NOT_SHOWN = "The directory does not show the new group yet."
NOT_FOUND = "The directory shows the new group, but does not find it under its id yet."
MAILBOX_NOT_SHOWN = "The directory does not show the new mailbox yet."
MAILBOX_NOT_FOUND = "The directory shows the new mailbox, but does not find it under its id yet."
TOO_MANY = "The directory has asked to slow down."
AWAY = "The directory is not available at present."

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Outages:
    """An outage of `lasting` at the start of each period `every`.

    Periods start in 1970, so that all processes agree.
    """

    lasting: timedelta
    every: timedelta

    def left(self, now: datetime) -> timedelta:
        """Return the remaining time of the current outage; zero without one."""
        return max(self.lasting - (now - _EPOCH) % self.every, NEVER)


@dataclass(frozen=True, slots=True)
class Faults:
    """The configured faults.

    A newly provisioned group or mailbox is invisible during `visibility_delay`. Then lists show it, but a lookup by id
    does not find it before `not_found_after_create`. One in `throttle` calls is throttled.
    """

    visibility_delay: timedelta = NEVER
    throttle: int | None = None
    not_found_after_create: timedelta = NEVER
    outages: Outages | None = None

    @property
    def known_after(self) -> timedelta:
        """The age at which a lookup by id finds an object."""
        return max(self.visibility_delay, self.not_found_after_create)


class Injection:
    """The faults of one process, with its clock and call counter."""

    def __init__(self, faults: Faults, now: Callable[[], datetime]) -> None:
        self.faults = faults
        self._now = now
        self._calls = 0

    def answer(self) -> None:
        """Raise Unreachable during an outage."""
        outages = self.faults.outages
        left = NEVER if outages is None else outages.left(self._now())
        if left > NEVER:
            raise Unreachable(AWAY, left)

    def take_call(self) -> None:
        """Count a call.

        Raises Unreachable during an outage, and Throttled for one call in `throttle`.
        """
        self.answer()
        self._calls += 1
        if self.faults.throttle is not None and self._calls % self.faults.throttle == 0:
            raise Throttled(TOO_MANY, SLOW_DOWN)

    def visible_until(self) -> datetime:
        """Return the latest creation time of visible groups and mailboxes."""
        return self._now() - self.faults.visibility_delay

    def known_until(self) -> datetime:
        """Return the latest creation time that a lookup by id finds."""
        return self._now() - self.faults.known_after

    def require_known(self, made_at: datetime, *, not_shown: str = NOT_SHOWN, not_found: str = NOT_FOUND) -> None:
        """Raise NotYet unless a lookup by id finds the object."""
        if made_at > self.visible_until():
            raise NotYet(not_shown, _RETRY_AFTER)
        if made_at > self.known_until():
            raise NotYet(not_found, _RETRY_AFTER)

    def visible(self, shown: Sequence[Shown | None], made: Sequence[datetime | None]) -> Sequence[Shown | None]:
        """Replace each object that is not visible yet by None."""
        until = self.visible_until()
        return [one if at is not None and at <= until else None for one, at in zip(shown, made, strict=True)]


class FaultyRegister(Register):
    """A register that is unreachable during an outage."""

    def __init__(self, pool: Pool, injection: Injection) -> None:
        super().__init__(pool)
        self._injection = injection

    async def look_up(self, questions: Mapping[UUID, Question]) -> Mapping[UUID, Found]:
        """Look up users, labels, addresses and groups. Raises Unreachable during an outage."""
        self._injection.answer()
        return await super().look_up(questions)

    async def find(self, tenant_id: UUID, words: Sequence[str], *, most: int) -> Sequence[Card]:
        """Find people. Raises Unreachable during an outage."""
        self._injection.answer()
        return await super().find(tenant_id, words, most=most)

    async def labels(self, tenant_id: UUID) -> Sequence[tuple[str, str]]:
        """List labels. Raises Unreachable during an outage."""
        self._injection.answer()
        return await super().labels(tenant_id)


class Faulty(Generic[Entry, Shown]):
    """Groups or mailboxes with faults.

    `objects` returns them on the pool or on a connection.
    """

    def __init__(
        self,
        pool: Pool,
        injection: Injection,
        *,
        objects: Callable[[Queryable], MarkedObjects[Entry, Shown]],
        not_shown: str,
        not_found: str,
    ) -> None:
        self._pool = pool
        self._injection = injection
        self._objects_on = objects
        self._objects = objects(pool)
        self._not_shown = not_shown
        self._not_found = not_found

    @property
    def faults(self) -> Faults:
        """The configured faults."""
        return self._injection.faults

    async def observe(self, marks: Sequence[Mark], ids: Sequence[UUID | None] = ()) -> Sequence[Shown | None]:
        """Read the state of each visible object."""
        self._injection.answer()
        shown = await self._objects.observe(marks, ids)
        return self._injection.visible(shown, await self._objects.made_at(marks)) if any(shown) else shown

    async def find(self, mark: Mark) -> Shown:
        """Read an existing object. Raises NotNow while it is not visible."""
        [shown] = await self.observe([mark])
        if shown is None:
            raise NotYet(self._not_shown, _RETRY_AFTER)
        return shown

    async def create(self, whole: Entry, first: Entry) -> None:
        """Create an object with the part `first`, if the whole is possible.

        Raises Refused and NotNow. An existing object is found by its id, which takes no write call.
        """
        self._injection.answer()
        [made_at] = await self._objects.made_at([whole.mark])
        if made_at is not None:
            return
        self._injection.take_call()
        await self.check(whole)
        _require_done(await self._objects.ensure([first]))

    async def change(self, part: Entry) -> None:
        """Set this part of an existing object. Raises Refused and NotNow."""
        await self._require_known(part.mark)
        _require_done(await self._objects.ensure([part]))

    async def describe(self, entry: Entry) -> None:
        """Set the name and description of an existing object. Raises NotNow."""
        await self._require_known(entry.mark)
        await self._objects.describe([entry])

    async def _require_known(self, mark: Mark) -> None:
        self._injection.take_call()
        [made_at] = await self._objects.made_at([mark])
        if made_at is None:
            raise NotYet(self._not_shown, _RETRY_AFTER)
        self._injection.require_known(made_at, not_shown=self._not_shown, not_found=self._not_found)

    async def check(self, entry: Entry) -> None:
        """Create the object and roll back, to validate it.

        Raises Refused.
        """
        with database_errors():
            async with self._pool.acquire() as connection:
                attempt = connection.transaction()
                await attempt.start()
                try:
                    ensured = await self._objects_on(connection).ensure([entry])
                finally:
                    await attempt.rollback()
        _require_done(ensured)


def _require_done(ensured: Sequence[Ensured[Shown]]) -> Shown | None:
    [result] = ensured
    if result.fault is not None:
        raise result.fault
    return result.shown


class FaultyGroups(Faulty[GroupEntry, GroupShown]):
    """Groups with faults."""

    def __init__(self, pool: Pool, injection: Injection, *, key_member: str) -> None:
        groups = partial(Groups, key_member=key_member)
        super().__init__(pool, injection, objects=groups, not_shown=NOT_SHOWN, not_found=NOT_FOUND)


class FaultyMailboxes(Faulty[MailboxEntry, MailboxShown]):
    """Mailboxes with faults."""

    def __init__(self, pool: Pool, injection: Injection, *, key_member: str) -> None:
        mailboxes = partial(Mailboxes, key_member=key_member)
        super().__init__(pool, injection, objects=mailboxes, not_shown=MAILBOX_NOT_SHOWN, not_found=MAILBOX_NOT_FOUND)


class FaultyGuestRules:
    """Guest rules with faults."""

    def __init__(self, pool: Pool, injection: Injection) -> None:
        self._guests = Guests(pool)
        self._injection = injection

    def answer(self) -> None:
        """Raise Unreachable during an outage."""
        self._injection.answer()

    async def observe(self, names: Sequence[SubjectName]) -> Sequence[SubjectShown | None]:
        """Read the state of each visible group."""
        self._injection.answer()
        shown = await self._guests.observe(names)
        return self._injection.visible(shown, await self._guests.made_at(names))

    async def find(self, name: SubjectName) -> SubjectShown:
        """Read an existing group. Raises NotNow while it is not visible."""
        [shown] = await self.observe([name])
        if shown is None:
            raise NotYet(NOT_SHOWN, _RETRY_AFTER)
        return shown

    async def disable(self, tenant_id: UUID, user_id: UUID) -> Refused | None:
        """Disable the account of a guest and return the refusal, if any.

        Raises NotNow.
        """
        self._injection.take_call()
        [refused] = await self._guests.disable([(tenant_id, user_id)])
        return refused

    async def change(self, part: GuestEntry) -> SubjectShown | None:
        """Set this part of the rules and return the new state.

        Raises Refused and NotNow.
        """
        self._injection.take_call()
        [made_at] = await self._guests.made_at([part.name])
        # A group that does not exist is refused below.
        if made_at is not None:
            self._injection.require_known(made_at)
        return _require_done(await self._guests.ensure([part]))
