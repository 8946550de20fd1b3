# SPDX-License-Identifier: Apache-2.0
"""The embedded directory in another database, as the directory of one tenant.

A refused connection is ConnectionBroken here. In the database of the service it is a fault of the whole service.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from chamberlain.core.errors import ConnectionBroken, OutsideFault
from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.directory import port
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.embedded.adoptions import EmbeddedAdoptions
from chamberlain.directory.embedded.directory import EmbeddedDirectory
from chamberlain.directory.embedded.guests import EmbeddedGuests
from chamberlain.directory.embedded.mapping import KEY_MEMBER, port_errors
from chamberlain.directory.embedded.people import EmbeddedPeople
from chamberlain.directory.embedded.subjects import EmbeddedSubjects
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import Label, PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.routed import Adapters
from chamberlain.directory.subjects import ObservedSubject, SubjectReference
from chamberlain.embedded.directory import guests
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import Broken
from chamberlain.embedded.directory.groups import Groups
from chamberlain.embedded.directory.mailboxes import Mailboxes
from chamberlain.embedded.directory.people import Register
from chamberlain.embedded.directory.remote import refusals, require_writable

# A broken connection is tried again at the earliest after the first check of it.
_BROKEN_FOR: Final = timedelta(minutes=1)


@contextmanager
def _refused() -> Iterator[None]:
    try:
        with refusals():
            yield
    except Broken as error:
        raise ConnectionBroken(_BROKEN_FOR, Reason.build(error.code)) from error


def remote_adapters(pool: Pool) -> Adapters:
    """Build the ports of the directory in the database of this pool.

    Its role must be a member of chamberlain_worker there.
    """
    inner = EmbeddedDirectory(Groups(pool, key_member=KEY_MEMBER), Mailboxes(pool, key_member=KEY_MEMBER))
    people, directory = _People(EmbeddedPeople(Register(pool))), _Directory(inner)

    async def check(tenant_id: TenantId) -> None:
        with port_errors(), _refused():
            await require_writable(pool)
        # Nothing has this id and name. Each call fails if its function is missing there.
        await people.look_up(PeopleQuestion(tenant_id, users=frozenset({UserId(UUID(int=0))})))
        await people.find(tenant_id, "of no name", limit=0)
        await directory.observe([GroupReference(tenant_id, "chamberlain_group", RequestId(UUID(int=0)))])
        await directory.observe_mailboxes([MailboxReference(tenant_id, "chamberlain_mailbox", RequestId(UUID(int=0)))])

    return Adapters(
        people=people,
        directory=directory,
        guests=_Guests(EmbeddedGuests(guests.Guests(pool), Changes(pool, is_elsewhere=True))),
        adoptions=_Adoptions(EmbeddedAdoptions(pool, is_elsewhere=True)),
        subjects=_Subjects(EmbeddedSubjects(pool)),
        check=check,
    )


class _People(port.People):
    def __init__(self, people: port.People) -> None:
        self._people = people

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        with _refused():
            return await self._people.look_up(question)

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
        with _refused():
            return await self._people.find(tenant_id, text, limit)

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
        with _refused():
            return await self._people.labels(tenant_id)

    def remember_for(self, tenant_id: TenantId) -> timedelta | None:  # noqa: ARG002 - the same for all tenants.
        # Its notifications are not heard here.
        return port.REMEMBER_REMOTE


class _Directory(port.Directory):
    def __init__(self, directory: port.Directory) -> None:
        self._directory = directory

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:
        found = await self._directory.capabilities(tenant_id)
        return replace(found, shares_database=False, trusts_writes=True, in_lanes=True)

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        with _refused():
            return await self._directory.observe(references)

    async def ensure(self, works: Sequence[port.GroupWork]) -> Sequence[port.GroupOutcome]:
        with _refused():
            return await self._directory.ensure(works)

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        with _refused():
            return await self._directory.observe_mailboxes(references)

    async def ensure_mailboxes(self, works: Sequence[port.MailboxWork]) -> Sequence[port.MailboxOutcome]:
        with _refused():
            return await self._directory.ensure_mailboxes(works)


class _Subjects(port.Subjects):
    def __init__(self, subjects: port.Subjects) -> None:
        self._subjects = subjects

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        with _refused():
            return await self._subjects.observe(references)


class _Guests(port.Guests):
    def __init__(self, guests: port.Guests) -> None:
        self._guests = guests

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        with _refused():
            return await self._guests.observe(references)

    async def ensure(self, works: Sequence[port.GuestWork]) -> Sequence[port.GuestOutcome]:
        with _refused():
            return await self._guests.ensure(works)

    async def act(self, acts: Sequence[port.GuestAct]) -> Sequence[port.ActOutcome]:
        with _refused():
            return await self._guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> port.SubjectChanges:
        with _refused():
            return await self._guests.changes(tenant_id, extension, cursor)


class _Adoptions(port.Adoptions):
    def __init__(self, adoptions: port.Adoptions) -> None:
        self._adoptions = adoptions

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> port.MailboxPage:
        with _refused():
            return await self._adoptions.mailboxes(tenant_id, extension, cursor)

    async def observe(
        self, tenant_id: TenantId, extension: str, ids: Sequence[UUID]
    ) -> Sequence[ObservedMailbox | None]:
        with _refused():
            return await self._adoptions.observe(tenant_id, extension, ids)

    async def changed_mailboxes(
        self, tenant_id: TenantId, extensions: Sequence[str], cursor: str | None
    ) -> port.MailboxChanges:
        with _refused():
            return await self._adoptions.changed_mailboxes(tenant_id, extensions, cursor)

    async def mark(self, markings: Sequence[port.Marking]) -> Sequence[OutsideFault | None]:
        with _refused():
            return await self._adoptions.mark(markings)

    async def unmark(self, markings: Sequence[port.Marking]) -> Sequence[OutsideFault | None]:
        with _refused():
            return await self._adoptions.unmark(markings)
