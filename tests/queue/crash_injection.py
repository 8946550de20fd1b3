# SPDX-License-Identifier: Apache-2.0
"""Inject crashes of the process.

It crashes after the directory call and before the result is recorded, or between any two calls.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Database, Record, Transaction
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.port import (
    ActOutcome,
    Directory,
    GroupOutcome,
    GroupWork,
    GuestAct,
    GuestOutcome,
    Guests,
    GuestWork,
    MailboxOutcome,
    MailboxWork,
    SubjectChanges,
)
from chamberlain.directory.subjects import ObservedSubject, SubjectReference


class InjectedCrash(BaseException):
    """Simulates the end of the process."""


@dataclass
class CrashingDirectory(Directory):
    """A directory that crashes the process after it has done all work."""

    directory: Directory

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:
        return await self.directory.capabilities(tenant_id)

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        return await self.directory.observe(references)

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        await self.directory.ensure(works)
        raise InjectedCrash

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        return await self.directory.observe_mailboxes(references)

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        await self.directory.ensure_mailboxes(works)
        raise InjectedCrash


@dataclass
class CrashPoint:
    """Crashes the process after `left` calls."""

    left: int

    def check(self) -> None:
        if self.left == 0:
            raise InjectedCrash
        self.left -= 1


@dataclass(slots=True, eq=False)
class CrashingTransaction(Transaction):
    """A transaction that may crash before each statement."""

    crash_point: CrashPoint

    async def fetch(self, statement: str, *values: object) -> Sequence[Record]:
        self.crash_point.check()
        return await Transaction.fetch(self, statement, *values)

    async def fetch_row(self, statement: str, *values: object) -> Record | None:
        self.crash_point.check()
        return await Transaction.fetch_row(self, statement, *values)

    async def execute(self, statement: str, *values: object) -> None:
        self.crash_point.check()
        await Transaction.execute(self, statement, *values)


class CrashingDatabase(Database):
    """A database that may crash before each statement, and before and after each commit."""

    def __init__(self, database: Database, crash_point: CrashPoint) -> None:
        super().__init__(database.pool, notices=database.notices)
        self._crash_point = crash_point

    @asynccontextmanager
    async def across_tenants(self, *, before_disk: bool = False) -> AsyncIterator[Transaction]:
        async with super().across_tenants(before_disk=before_disk) as tx:
            yield CrashingTransaction(tx.connection, tx.tenant_id, self._crash_point)
            self._crash_point.check()
        self._crash_point.check()


@dataclass
class CrashingGuests(Guests):
    """A guest port that may crash before and after each call.

    Of several acts, possibly only the first was done.
    """

    guests: Guests
    crash_point: CrashPoint

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        self.crash_point.check()
        return await self.guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        self.crash_point.check()
        outcomes = await self.guests.ensure(works)
        self.crash_point.check()
        return outcomes

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        self.crash_point.check()
        first = await self.guests.act(acts[:1])
        self.crash_point.check()
        others = await self.guests.act(acts[1:])
        self.crash_point.check()
        return [*first, *others]

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        return await self.guests.changes(tenant_id, extension, cursor)
