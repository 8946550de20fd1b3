# SPDX-License-Identifier: Apache-2.0
"""The directory port, with and without injected faults."""

from collections.abc import Sequence
from datetime import timedelta

from chamberlain.core.ids import TenantId
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.embedded.groups import GROUPS
from chamberlain.directory.embedded.mailboxes import MAILBOXES
from chamberlain.directory.embedded.steps import AtomicProvisioner, Provisioner, StepwiseProvisioner
from chamberlain.directory.groups import GroupReference, ObservedGroup, WantedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox, WantedMailbox
from chamberlain.directory.port import (
    Directory,
    GroupOutcome,
    GroupWork,
    MailboxOutcome,
    MailboxWork,
)
from chamberlain.embedded.directory.faults import FaultyGroups, FaultyMailboxes
from chamberlain.embedded.directory.groups import Groups
from chamberlain.embedded.directory.mailboxes import Mailboxes

# New objects are visible at once; one second is the minimum of Retry-After.
_SHORTEST_DELAY = timedelta(seconds=1)


class _Directory(Directory):
    def __init__(
        self,
        groups: Provisioner[WantedGroup, ObservedGroup],
        mailboxes: Provisioner[WantedMailbox, ObservedMailbox],
        visible_after: timedelta,
    ) -> None:
        self._groups = groups
        self._mailboxes = mailboxes
        self._capabilities = Capabilities(visible_after=visible_after, shares_database=True)

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:  # noqa: ARG002 - the same for all tenants.
        """Return the capabilities of this directory."""
        return self._capabilities

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """Read the state of each group."""
        return await self._groups.observe(references)

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        """Provision each group."""
        return await self._groups.ensure(works)

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """Read the state of each mailbox."""
        return await self._mailboxes.observe(references)

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """Provision each mailbox."""
        return await self._mailboxes.ensure(works)


class EmbeddedDirectory(_Directory):
    """Provisions each group and mailbox entirely or not at all."""

    def __init__(self, groups: Groups, mailboxes: Mailboxes) -> None:
        super().__init__(AtomicProvisioner(groups, GROUPS), AtomicProvisioner(mailboxes, MAILBOXES), _SHORTEST_DELAY)


class FaultyDirectory(_Directory):
    """Provisions groups and mailboxes step by step, with injected faults."""

    def __init__(self, groups: FaultyGroups, mailboxes: FaultyMailboxes) -> None:
        visible_after = max(_SHORTEST_DELAY, groups.faults.known_after)
        super().__init__(StepwiseProvisioner(groups, GROUPS), StepwiseProvisioner(mailboxes, MAILBOXES), visible_after)
