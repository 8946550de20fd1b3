"""The adapter for the embedded directory with faults on purpose: every step may have to wait."""

from collections.abc import Sequence

from chamberlain.directory.embedded.directory import SHORTEST_LOOK
from chamberlain.directory.embedded.faulty_groups import GroupSteps
from chamberlain.directory.embedded.faulty_mailboxes import MailboxSteps
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.port import Capabilities, Directory, MailboxOutcome, MailboxWork, Outcome, Work
from chamberlain.embedded.directory.faulty import FaultyGroups, FaultyMailboxes


class FaultyDirectory(Directory):
    """Makes groups and mailboxes step by step."""

    def __init__(self, groups: FaultyGroups, mailboxes: FaultyMailboxes) -> None:
        self._faults = groups.faults
        self._groups = GroupSteps(groups)
        self._mailboxes = MailboxSteps(mailboxes)

    @property
    def capabilities(self) -> Capabilities:
        """What this directory can do."""
        return Capabilities(visible_after=max(SHORTEST_LOOK, self._faults.known_after), shares_database=True)

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """What is visible of each group by now."""
        return await self._groups.observe(references)

    async def ensure(self, works: Sequence[Work]) -> Sequence[Outcome]:
        """Take the steps of each group as far as they go."""
        return await self._groups.ensure(works)

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """What is visible of each mailbox by now."""
        return await self._mailboxes.observe(references)

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """Take the steps of each mailbox as far as they go."""
        return await self._mailboxes.ensure(works)
