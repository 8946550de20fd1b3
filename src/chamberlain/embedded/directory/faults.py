"""Faults on purpose: what makes this directory as difficult as a suite that many share. All of them are off by default.

What happens is decided by the time and by counting, never by chance, so that a test can say what comes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from chamberlain.embedded.directory.database import Pool, Queryable, answering
from chamberlain.embedded.directory.entries import Ensured, GroupEntry, MailboxEntry, Mark, Shown
from chamberlain.embedded.directory.errors import NotYet, Throttled, Unreachable
from chamberlain.embedded.directory.groups import Groups, GroupShown
from chamberlain.embedded.directory.guests import GuestEntry, Guests, SubjectName, SubjectShown
from chamberlain.embedded.directory.mailboxes import Mailboxes, MailboxShown
from chamberlain.embedded.directory.people import Found, Question, Register

NEVER = timedelta(0)

# What a throttled call is told to wait: the shortest that Retry-After can say.
SLOW_DOWN = timedelta(seconds=1)

# Why somebody has to wait, as it is told.
NOT_SHOWN = "The directory does not show the new group yet."
NOT_FOUND = "The directory shows the new group, but does not find it under its id yet."
MAILBOX_NOT_SHOWN = "The directory does not show the new mailbox yet."
MAILBOX_NOT_FOUND = "The directory shows the new mailbox, but does not find it under its id yet."
TOO_MANY = "The directory has asked to slow down."
AWAY = "The directory is not available at present."

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Outages:
    """Nothing answers for the first `lasting` of every `every`, counted from 1970: the same time in every process."""

    lasting: timedelta
    every: timedelta

    def left(self, now: datetime) -> timedelta:
        """How long the outage of this moment still lasts; zero when there is none."""
        return max(self.lasting - (now - _EPOCH) % self.every, NEVER)


@dataclass(frozen=True, slots=True)
class Faults:
    """Which faults there are.

    A group or mailbox is not visible at all before `visibility_delay`. Lists show it from then on, but under its own id
    it is not found before `not_found_after_create`. One in `throttle` calls is told to slow down.
    """

    visibility_delay: timedelta = NEVER
    throttle: int | None = None
    not_found_after_create: timedelta = NEVER
    outages: Outages | None = None

    @property
    def known_after(self) -> timedelta:
        """How old a group or mailbox has to be to be found under its id."""
        return max(self.visibility_delay, self.not_found_after_create)


class Injection:
    """Faults at work in one process: it knows what time it is, and how many calls came."""

    def __init__(self, faults: Faults, now: Callable[[], datetime]) -> None:
        self.faults = faults
        self._now = now
        self._calls = 0

    def answer(self) -> None:
        """Raises Unreachable during an outage."""
        outages = self.faults.outages
        left = NEVER if outages is None else outages.left(self._now())
        if left > NEVER:
            raise Unreachable(AWAY, left)

    def take_call(self) -> None:
        """As `answer`, and counts the call: raises Throttled for one in so many."""
        self.answer()
        self._calls += 1
        if self.faults.throttle is not None and self._calls % self.faults.throttle == 0:
            raise Throttled(TOO_MANY, SLOW_DOWN)

    def visible_until(self) -> datetime:
        """Groups and mailboxes are visible that were made at this time or before."""
        return self._now() - self.faults.visibility_delay

    def known_until(self) -> datetime:
        """Groups and mailboxes are found under their ids that were made at this time or before."""
        return self._now() - self.faults.known_after


# The wait that is fair before the first look for what was just made; later ones are up to whoever looks.
_LOOK_AGAIN = timedelta(seconds=1)


class FaultyRegister(Register):
    """A register that does not answer during an outage."""

    def __init__(self, pool: Pool, injection: Injection) -> None:
        super().__init__(pool)
        self._injection = injection

    async def look_up(self, questions: Mapping[UUID, Question]) -> Mapping[UUID, Found]:
        """As without faults, when anything answers at all."""
        self._injection.answer()
        return await super().look_up(questions)


class Marked(Protocol):
    """An entry that is found again by its mark."""

    @property
    def mark(self) -> Mark: ...


Entry = TypeVar("Entry", bound=Marked)
Entry_contra = TypeVar("Entry_contra", bound=Marked, contravariant=True)


class Kept(Protocol[Entry_contra, Shown]):
    """Groups or mailboxes as they are kept without faults."""

    async def observe(self, marks: Sequence[Mark]) -> Sequence[Shown | None]: ...

    async def made_at(self, marks: Sequence[Mark]) -> Sequence[datetime | None]: ...

    async def ensure(self, entries: Sequence[Entry_contra]) -> Sequence[Ensured[Shown]]: ...

    async def describe(self, entries: Sequence[Entry_contra]) -> None: ...


class Faulty(Generic[Entry, Shown]):
    """Groups or mailboxes for those who have to call once for each part."""

    def __init__(
        self,
        pool: Pool,
        injection: Injection,
        *,
        keep: Callable[[Queryable], Kept[Entry, Shown]],
        not_shown: str,
        not_found: str,
    ) -> None:
        self._pool = pool
        self._injection = injection
        self._keep = keep
        self._kept = keep(pool)
        self._not_shown = not_shown
        self._not_found = not_found

    @property
    def faults(self) -> Faults:
        """Those that are at work."""
        return self._injection.faults

    async def observe(self, marks: Sequence[Mark]) -> Sequence[Shown | None]:
        """What is visible of each."""
        self._injection.answer()
        until = self._injection.visible_until()
        shown = await self._kept.observe(marks)
        if not any(shown):
            return shown
        made = await self._kept.made_at(marks)
        return [one if at is not None and at <= until else None for one, at in zip(shown, made, strict=True)]

    async def find(self, mark: Mark) -> Shown:
        """One that was made. Raises NotNow when it is not visible yet."""
        [shown] = await self.observe([mark])
        if shown is None:
            raise NotYet(self._not_shown, _LOOK_AGAIN)
        return shown

    async def create(self, whole: Entry, first: Entry) -> None:
        """Make `first`, which is a part of the whole, unless something speaks against the whole. What is there already,
        by the id that it was to get, needs no writing call. Raises Refused and NotNow."""
        self._injection.answer()
        [made_at] = await self._kept.made_at([whole.mark])
        if made_at is not None:
            return
        self._injection.take_call()
        await self.check(whole)
        await self._write(first)

    async def change(self, part: Entry) -> None:
        """Bring this part of it about. Raises Refused and NotNow."""
        await self._ready(part)
        await self._write(part)

    async def describe(self, entry: Entry) -> None:
        """Have it called and described as it is wanted. Raises NotNow."""
        await self._ready(entry)
        await self._kept.describe([entry])

    async def _ready(self, part: Entry) -> None:
        """Take a writing call about what is there. Raises NotNow."""
        self._injection.take_call()
        [made_at] = await self._kept.made_at([part.mark])
        if made_at is None or made_at > self._injection.visible_until():
            raise NotYet(self._not_shown, _LOOK_AGAIN)
        if made_at > self._injection.known_until():
            raise NotYet(self._not_found, _LOOK_AGAIN)

    async def check(self, entry: Entry) -> None:
        """Raises Refused with what speaks against it: it is made, and unmade before anybody sees it."""
        with answering():
            async with self._pool.acquire() as connection:
                attempt = connection.transaction()
                await attempt.start()
                try:
                    [ensured] = await self._keep(connection).ensure([entry])
                finally:
                    await attempt.rollback()
        if ensured.fault is not None:
            raise ensured.fault

    async def _write(self, part: Entry) -> None:
        [ensured] = await self._kept.ensure([part])
        if ensured.fault is not None:
            raise ensured.fault


class FaultyGroups(Faulty[GroupEntry, GroupShown]):
    """Groups, call by call."""

    def __init__(self, pool: Pool, injection: Injection, *, key_member: str) -> None:
        def keep(database: Queryable) -> Groups:
            return Groups(database, key_member=key_member)

        super().__init__(pool, injection, keep=keep, not_shown=NOT_SHOWN, not_found=NOT_FOUND)


class FaultyMailboxes(Faulty[MailboxEntry, MailboxShown]):
    """Mailboxes, call by call."""

    def __init__(self, pool: Pool, injection: Injection, *, key_member: str) -> None:
        def keep(database: Queryable) -> Mailboxes:
            return Mailboxes(database, key_member=key_member)

        super().__init__(pool, injection, keep=keep, not_shown=MAILBOX_NOT_SHOWN, not_found=MAILBOX_NOT_FOUND)


class SuiteGuests:
    """The rules for guests, for those who have to call once for each part."""

    def __init__(self, pool: Pool, injection: Injection) -> None:
        self._kept = Guests(pool)
        self._injection = injection

    def answer(self) -> None:
        """Raises Unreachable during an outage."""
        self._injection.answer()

    async def observe(self, names: Sequence[SubjectName]) -> Sequence[SubjectShown | None]:
        """What is visible of each by now."""
        self._injection.answer()
        until = self._injection.visible_until()
        shown = await self._kept.observe(names)
        made = await self._kept.made_at(names)
        return [one if at is not None and at <= until else None for one, at in zip(shown, made, strict=True)]

    async def find(self, name: SubjectName) -> SubjectShown:
        """One that is there. Raises NotNow when it is not visible yet."""
        [shown] = await self.observe([name])
        if shown is None:
            raise NotYet(NOT_SHOWN, _LOOK_AGAIN)
        return shown

    async def disable(self, tenant_id: UUID, user_id: UUID) -> None:
        """Keep a guest from signing in. Raises Refused and NotNow."""
        self._injection.take_call()
        [refused] = await self._kept.disable([(tenant_id, user_id)])
        if refused is not None:
            raise refused

    async def change(self, part: GuestEntry) -> SubjectShown | None:
        """Bring this part of it about; gives what there is then. Raises Refused and NotNow."""
        self._injection.take_call()
        [made_at] = await self._kept.made_at([part.name])
        # What was never made is refused below; what was made a moment ago is only not there yet.
        if made_at is not None and made_at > self._injection.visible_until():
            raise NotYet(NOT_SHOWN, _LOOK_AGAIN)
        if made_at is not None and made_at > self._injection.known_until():
            raise NotYet(NOT_FOUND, _LOOK_AGAIN)
        [ensured] = await self._kept.ensure([part])
        if ensured.fault is not None:
            raise ensured.fault
        return ensured.shown
