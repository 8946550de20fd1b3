# SPDX-License-Identifier: Apache-2.0
"""The ports of the embedded directory with faults of test runs.

Each call of a port counts once for each tenant in it. A fault hits the parts of its tenant only, where the port has an
outcome for each part. A batch of reads has none, so it fails as a whole.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import TypeVar

from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.core.ids import TenantId
from chamberlain.directory import port
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.embedded.mapping import port_errors
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import Label, PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.subjects import ObservedSubject, SubjectReference
from chamberlain.embedded.directory.requested_faults import Operation, RequestedFaults

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Faulty:
    def __init__(self, faults: RequestedFaults) -> None:
        self._faults = faults

    async def _read(self, operation: Operation, tenants: Sequence[TenantId]) -> None:
        """Raise TryAgain if a fault hits one of the tenants."""
        with port_errors():
            for hit in (await self._faults.take(operation, tenants)).values():
                raise hit.error()

    async def _write(
        self,
        operation: Operation,
        items: Sequence[Item],
        tenant_of: Callable[[Item], TenantId],
        write: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
        failed: Callable[[OutsideFault], Result],
    ) -> Sequence[Result]:
        """Write the items, apart from those that a fault stops."""
        with port_errors():
            hits = await self._faults.take(operation, [tenant_of(item) for item in items])
        if not hits:
            return await write(items)
        hit_of = [hits.get(tenant_of(item)) for item in items]
        written = [number for number, hit in enumerate(hit_of) if hit is None or hit.kind.is_after_write]
        results = dict(zip(written, await write([items[number] for number in written]), strict=True)) if written else {}
        for number, hit in enumerate(hit_of):
            if hit is not None:
                results[number] = failed(_port_error(hit.error()))
        return [results[number] for number in range(len(items))]


def _port_error(error: Exception) -> TryAgain:
    try:
        with port_errors():
            raise error
    except TryAgain as converted:
        return converted


class PeopleWithFaults(_Faulty):
    """Looks up users, groups and labels."""

    def __init__(self, people: port.People, faults: RequestedFaults) -> None:
        super().__init__(faults)
        self._people = people

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        """Answer a question."""
        await self._read(Operation.PEOPLE_READ, [question.tenant_id])
        return await self._people.look_up(question)

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
        """Find people by typed text."""
        await self._read(Operation.PEOPLE_READ, [tenant_id])
        return await self._people.find(tenant_id, text, limit)

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
        """List the labels of a tenant."""
        await self._read(Operation.PEOPLE_READ, [tenant_id])
        return await self._people.labels(tenant_id)

    def remember_for(self, tenant_id: TenantId) -> timedelta:  # noqa: ARG002 - the same for all tenants.
        """Return no time, so that a cache hides no fault."""
        return timedelta(0)


class DirectoryWithFaults(_Faulty):
    """Provisions groups and mailboxes."""

    def __init__(self, directory: port.Directory, faults: RequestedFaults) -> None:
        super().__init__(faults)
        self._directory = directory

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:
        """Return the capabilities of the directory."""
        return await self._directory.capabilities(tenant_id)

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """Read the state of each group."""
        await self._read(Operation.GROUPS_READ, [one.tenant_id for one in references])
        return await self._directory.observe(references)

    async def ensure(self, works: Sequence[port.GroupWork]) -> Sequence[port.GroupOutcome]:
        """Provision each group."""
        return await self._write(
            Operation.GROUPS_WRITE,
            works,
            lambda work: work.wanted.tenant_id,
            self._directory.ensure,
            lambda fault: port.Outcome(None, (), fault),
        )

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """Read the state of each mailbox."""
        await self._read(Operation.MAILBOXES_READ, [one.tenant_id for one in references])
        return await self._directory.observe_mailboxes(references)

    async def ensure_mailboxes(self, works: Sequence[port.MailboxWork]) -> Sequence[port.MailboxOutcome]:
        """Provision each mailbox."""
        return await self._write(
            Operation.MAILBOXES_WRITE,
            works,
            lambda work: work.wanted.tenant_id,
            self._directory.ensure_mailboxes,
            lambda fault: port.Outcome(None, (), fault),
        )


class GuestsWithFaults(_Faulty):
    """Applies guest rules."""

    def __init__(self, guests: port.Guests, faults: RequestedFaults) -> None:
        super().__init__(faults)
        self._guests = guests

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """Read the state of each group or site."""
        await self._read(Operation.GUESTS_READ, [one.tenant_id for one in references])
        return await self._guests.observe(references)

    async def ensure(self, works: Sequence[port.GuestWork]) -> Sequence[port.GuestOutcome]:
        """Apply guest rules."""
        return await self._write(
            Operation.GUESTS_WRITE,
            works,
            lambda work: work.wanted.tenant_id,
            self._guests.ensure,
            lambda fault: port.GuestOutcome(None, (), fault),
        )

    async def act(self, acts: Sequence[port.GuestAct]) -> Sequence[port.ActOutcome]:
        """Perform each action."""
        return await self._write(
            Operation.GUESTS_WRITE,
            acts,
            lambda act: act.tenant_id,
            self._guests.act,
            lambda fault: port.ActOutcome(None, fault),
        )

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> port.SubjectChanges:
        """Read the next page of changes."""
        await self._read(Operation.GUESTS_READ, [tenant_id])
        return await self._guests.changes(tenant_id, extension, cursor)
