# SPDX-License-Identifier: Apache-2.0
"""Adoptions whose names or marks another transaction takes between two of their steps."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest

from chamberlain.adoptions.models import AdoptionState
from chamberlain.auth.authorization import Authorization
from chamberlain.core.errors import Conflict, OutsideFault
from chamberlain.core.ids import AdoptionId, TenantId
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.port import MailboxPage, Marking
from tests.adoptions.adoption_fixture import AdoptionFixture, AdoptionsWithFaults, adoption_fixture
from tests.directory.mailbox_work import plain
from tests.estates import ESTATE, PREFIXES, Estate
from tests.faulty_directory import FaultyPeople
from tests.guests.assignments.guest_fixture import expire_leases, make_due

TAKE = """
INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
SELECT $1, kind, value, gen_random_uuid() FROM unnest($2::text[], $3::text[]) AS t (kind, value)
"""


@pytest.fixture
async def adoption(estate: Estate) -> AdoptionFixture:
    return adoption_fixture(estate)


@dataclass
class ConcurrentChangePeople(FaultyPeople):
    """A people port that runs an action before it answers a name."""

    act: Callable[[], Awaitable[None]] | None = None

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        if self.act is not None:
            await self.act()
        return await super().look_up(question)


async def test_it_rejects_what_somebody_gets_the_name_of_just_before(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    await adoption.mailbox_before(plain())
    preview = await adoption.preview()
    (kind, value), *_ = sorted(preview.taken[0].held)
    taken: list[str] = []

    async def take() -> None:
        # It is shown to be free, and the caller's name is looked up after that.
        if listing.is_listed and not taken:
            taken.append(value)
            async with adoption.estate.databases.worker.across_tenants() as tx:
                await tx.execute(TAKE, ESTATE, [kind], [value])

    listing = ListingRecorder(adoption.service.previewer.directory)
    people = ConcurrentChangePeople(adoption.estate.people, act=take)
    authorization = Authorization(adoption.estate.databases.application, people, PREFIXES, adoption.estate.now)
    previewer = replace(adoption.service.previewer, directory=listing)
    late = replace(adoption, service=replace(adoption.service, previewer=previewer, authorization=authorization))

    with pytest.raises(Conflict) as refused:
        await late.confirm(digest=preview.digest)

    assert (refused.value.code, taken) == ("previewChanged", [value])
    assert await adoption.listed() == []
    assert await adoption.estate.rows("SELECT value FROM chamberlain.reservation") == [(value,)]
    assert await adoption.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'adoptionRun'") == []


@dataclass
class ListingRecorder(AdoptionsWithFaults):
    """The port; it remembers that mailboxes were listed."""

    is_listed: bool = False

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        self.is_listed = True
        return await super().mailboxes(tenant_id, extension, cursor)


@dataclass
class ConcurrentMark(AdoptionsWithFaults):
    """The port; what is marked first is marked when something else was done."""

    act: Callable[[], Awaitable[None]] | None = None

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        act, self.act = self.act, None
        if act is not None:
            await act()
        return await super().mark(markings)


async def test_marks_that_come_when_all_is_undone_do_not_stay(adoption: AdoptionFixture) -> None:
    """A worker was thought to be dead; another one has undone everything before the first one goes on."""
    for _ in range(3):
        await adoption.mailbox_before(plain())
    shown = await adoption.shown()
    adoption_id = await adoption.confirm()

    slow = replace(
        adoption.run, adoptions=ConcurrentMark(adoption.port.adoptions, act=lambda: undo(adoption, adoption_id))
    )
    await make_due(adoption.estate)
    await slow.run(await adoption.estate.claim())

    assert (await adoption.read(adoption_id)).record.state is AdoptionState.UNDONE
    assert await adoption.shown() == shown
    assert await adoption.estate.rows("SELECT request_id FROM chamberlain.request") == []


async def undo(adoption: AdoptionFixture, adoption_id: AdoptionId) -> None:
    await adoption.undo(adoption_id)
    await expire_leases(adoption.estate)
    await adoption.work()
    assert (await adoption.read(adoption_id)).record.state is AdoptionState.UNDONE


async def test_the_preview_does_not_depend_on_the_order_and_size_of_pages(adoption: AdoptionFixture) -> None:
    for _ in range(3):
        await adoption.mailbox_before(plain())
    in_order = await adoption.preview()
    repeating = RepeatingAdoptions(adoption.port)
    previewer = replace(adoption.service.previewer, directory=repeating)
    repeated = replace(adoption, service=replace(adoption.service, previewer=previewer))

    assert await repeated.preview() == in_order
    assert len(in_order.taken) == 3
    await repeated.confirm(digest=in_order.digest)
    assert repeating.observed == sorted(one.id for one in in_order.taken)


@dataclass
class RepeatingAdoptions(AdoptionsWithFaults):
    """The port; its pages have one mailbox each, in the wrong order and some of them twice."""

    observed: list[UUID] = field(default_factory=list)

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        found = (await super().mailboxes(tenant_id, extension, None)).mailboxes
        turns = [*reversed(found), *found]
        at = int(cursor or 0)
        return MailboxPage((turns[at],), str(at + 1) if at + 1 < len(turns) else None)

    async def observe(
        self, tenant_id: TenantId, extension: str, ids: Sequence[UUID]
    ) -> Sequence[ObservedMailbox | None]:
        self.observed = sorted(ids)
        return await super().observe(tenant_id, extension, ids)
