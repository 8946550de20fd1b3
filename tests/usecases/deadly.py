"""A process that is killed: just behind the directory, before what came of it is recorded."""

from collections.abc import Sequence
from dataclasses import dataclass

from chamberlain.directory.port import Capabilities, Directory, MailboxOutcome, MailboxWork, Outcome, Work
from chamberlain.rules.groups import GroupReference, ObservedGroup
from chamberlain.rules.mailboxes import MailboxReference, ObservedMailbox


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
