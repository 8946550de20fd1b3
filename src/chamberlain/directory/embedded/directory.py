"""The adapter for the embedded directory, when it has no faults on purpose."""

from collections.abc import Sequence
from datetime import timedelta

from chamberlain.directory.embedded.groups import GroupSteps, WholeGroups
from chamberlain.directory.embedded.mailboxes import MailboxSteps, WholeMailboxes
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.port import Capabilities, Directory, MailboxOutcome, MailboxWork, Outcome, Work
from chamberlain.embedded.directory.faults import FaultyGroups, FaultyMailboxes
from chamberlain.embedded.directory.groups import Groups
from chamberlain.embedded.directory.mailboxes import Mailboxes

# What is made can be found in the next moment; one second is the shortest that Retry-After can say.
SHORTEST_LOOK = timedelta(seconds=1)

_CAPABILITIES = Capabilities(visible_after=SHORTEST_LOOK, shares_database=True)


class EmbeddedDirectory(Directory):
    """Makes groups and mailboxes in the embedded directory. All steps of one happen at once, or none does."""

    def __init__(self, groups: Groups, mailboxes: Mailboxes) -> None:
        self._groups = WholeGroups(groups)
        self._mailboxes = WholeMailboxes(mailboxes)

    @property
    def capabilities(self) -> Capabilities:
        """What this directory can do."""
        return _CAPABILITIES

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """What the directory shows of each group."""
        return await self._groups.observe(references)

    async def ensure(self, works: Sequence[Work]) -> Sequence[Outcome]:
        """Bring each group about."""
        return await self._groups.ensure(works)

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """What the directory shows of each mailbox."""
        return await self._mailboxes.observe(references)

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """Bring each mailbox about."""
        return await self._mailboxes.ensure(works)


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
