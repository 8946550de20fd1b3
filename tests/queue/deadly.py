"""A process that is killed: just behind the directory, before what came of it is recorded, or between any two things
that it does."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Database, Record, Transaction
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.port import (
    ActOutcome,
    Capabilities,
    Directory,
    GuestAct,
    GuestOutcome,
    Guests,
    GuestWork,
    MailboxOutcome,
    MailboxWork,
    Outcome,
    SubjectChanges,
    Work,
)
from chamberlain.directory.subjects import ObservedSubject, SubjectReference


class Killed(BaseException):
    """Stands for the end of the process."""


@dataclass
class DeadlyDirectory(Directory):
    """A directory behind which the process is killed: just after it has brought everything about."""

    directory: Directory

    @property
    def capabilities(self) -> Capabilities:
        return self.directory.capabilities

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        return await self.directory.observe(references)

    async def ensure(self, works: Sequence[Work]) -> Sequence[Outcome]:
        await self.directory.ensure(works)
        raise Killed

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        return await self.directory.observe_mailboxes(references)

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        await self.directory.ensure_mailboxes(works)
        raise Killed


@dataclass
class Cut:
    """Kills the process when it has got past so many points."""

    left: int

    def pass_by(self) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1


@dataclass(slots=True, eq=False)
class CutTransaction(Transaction):
    """A transaction in which the process may be killed before each statement."""

    cut: Cut

    async def fetch(self, statement: str, *values: object) -> Sequence[Record]:
        self.cut.pass_by()
        return await Transaction.fetch(self, statement, *values)

    async def fetch_row(self, statement: str, *values: object) -> Record | None:
        self.cut.pass_by()
        return await Transaction.fetch_row(self, statement, *values)

    async def execute(self, statement: str, *values: object) -> None:
        self.cut.pass_by()
        await Transaction.execute(self, statement, *values)


class CutDatabase(Database):
    """A database whose client may be killed before each statement, before each commit and behind it."""

    def __init__(self, database: Database, cut: Cut) -> None:
        super().__init__(database.pool, notices=database.notices)
        self._cut = cut

    @asynccontextmanager
    async def across_tenants(self, *, before_disk: bool = False) -> AsyncIterator[Transaction]:
        async with super().across_tenants(before_disk=before_disk) as tx:
            yield CutTransaction(tx.connection, tx.tenant_id, self._cut)
            self._cut.pass_by()
        self._cut.pass_by()


@dataclass
class CutGuests(Guests):
    """The port about guests, before and behind each call of which the process may be killed; of several acts it may be
    that only the first was done."""

    guests: Guests
    cut: Cut

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        self.cut.pass_by()
        return await self.guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        self.cut.pass_by()
        outcomes = await self.guests.ensure(works)
        self.cut.pass_by()
        return outcomes

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        self.cut.pass_by()
        first = await self.guests.act(acts[:1])
        self.cut.pass_by()
        others = await self.guests.act(acts[1:])
        self.cut.pass_by()
        return [*first, *others]

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        return await self.guests.changes(tenant_id, extension, cursor)
