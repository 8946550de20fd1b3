# SPDX-License-Identifier: Apache-2.0
"""The adoption service and its job over an estate with existing objects."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

from chamberlain.adoptions.jobs import AdoptionJobs
from chamberlain.adoptions.models import AdoptionFilter, AdoptionRecord, AdoptionRule, AdoptionView, Preview
from chamberlain.adoptions.service import AdoptionService, Previewer
from chamberlain.auth.models import Caller
from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.core.idempotency import Act, IdempotencyKey, KeptAnswer
from chamberlain.core.ids import AdoptionId, RequestId, TemplateId, TenantId, UserId
from chamberlain.core.paging import PageWanted
from chamberlain.database.notify import Notifier
from chamberlain.directory.embedded.adoptions import EmbeddedAdoptions
from chamberlain.directory.groups import MemberShipType, WantedGroup
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.directory.port import Adoptions, MailboxChanges, MailboxPage, MailboxWork, Marking, Work
from chamberlain.groups.rules import plan_group
from chamberlain.queue.models import JobKind
from chamberlain.templates.models import TemplateKind
from tests.estates import ADA, BEN, ESTATE, SHARED_MAILBOX, TRACE, Estate
from tests.guests.assignments.guest_fixture import make_due
from tests.requests.request_services import administrator

# Another extension. Objects with a mark under it are not ours.
ELSEWHERE = "elsewhere"
RULE = AdoptionRule(TemplateKind.SHARED, SHARED_MAILBOX)


@dataclass
class AdoptionsWithFaults(Adoptions):
    """The port with faults: for all calls, or for single marks.

    `before_marking` runs once.
    """

    adoptions: Adoptions
    error: TryAgain | None = None
    faults: dict[UUID, OutsideFault] = field(default_factory=dict)
    marked: list[Marking] = field(default_factory=list)

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        if self.error is not None:
            raise self.error
        return await self.adoptions.mailboxes(tenant_id, extension, cursor)

    async def observe(
        self, tenant_id: TenantId, extension: str, ids: Sequence[UUID]
    ) -> Sequence[ObservedMailbox | None]:
        if self.error is not None:
            raise self.error
        return await self.adoptions.observe(tenant_id, extension, ids)

    async def changed_mailboxes(
        self, tenant_id: TenantId, extensions: Sequence[str], cursor: str | None
    ) -> MailboxChanges:
        return await self.adoptions.changed_mailboxes(tenant_id, extensions, cursor)

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        return await self._with_faults(markings, await self.adoptions.mark(self._well(markings)))

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        return await self._with_faults(markings, await self.adoptions.unmark(self._well(markings)))

    def _well(self, markings: Sequence[Marking]) -> list[Marking]:
        if self.error is not None:
            raise self.error
        self.marked.extend(markings)
        return [one for one in markings if one.id not in self.faults]

    async def _with_faults(
        self, markings: Sequence[Marking], came: Sequence[OutsideFault | None]
    ) -> Sequence[OutsideFault | None]:
        ends = iter(came)
        return [self.faults[one.id] if one.id in self.faults else next(ends) for one in markings]


@dataclass
class AdoptionFixture:
    """Adoptions of one process."""

    estate: Estate
    port: AdoptionsWithFaults
    service: AdoptionService
    run: AdoptionJobs

    async def preview(self, rule: AdoptionRule = RULE, caller: Caller | None = None) -> Preview:
        return await self.service.preview(caller or administrator(ADA), rule)

    async def confirm(
        self,
        rule: AdoptionRule = RULE,
        *,
        digest: str | None = None,
        caller: Caller | None = None,
        key: str | None = None,
        client_address: str | None = None,
    ) -> AdoptionId:
        """Confirm the preview of now, or an earlier one."""
        digest = digest or (await self.preview(rule)).digest
        act = Act(None, None if key is None else IdempotencyKey(key, digest.encode()), TRACE, client_address)
        answer = await self.service.confirm(caller or administrator(ADA), rule, digest, act, rendered)
        return AdoptionId(UUID(answer.body.decode()))

    async def undo(
        self,
        adoption_id: AdoptionId,
        caller: Caller | None = None,
        *,
        key: str | None = None,
        client_address: str | None = None,
    ) -> KeptAnswer:
        act = Act("A slip.", None if key is None else IdempotencyKey(key, b"undo"), TRACE, client_address)
        return await self.service.undo(caller or administrator(ADA), adoption_id, act, rendered)

    async def work(self) -> None:
        """Run due jobs of adoptions once."""
        await make_due(self.estate)
        await self.run.run(await self.estate.claim(kinds=[JobKind.ADOPTION_RUN]))

    async def read(self, adoption_id: AdoptionId) -> AdoptionView:
        return await self.service.read(administrator(ADA), adoption_id)

    async def listed(self) -> Sequence[AdoptionRecord]:
        return (await self.service.list(administrator(ADA), PageWanted(100, None))).items

    async def mailbox_before(self, work: MailboxWork) -> ObservedMailbox:
        """Create a mailbox outside of the service."""
        [outcome] = await self.estate.directory.ensure_mailboxes([elsewhere(work)])
        assert outcome.observed is not None, outcome.fault
        return outcome.observed

    async def shown(self) -> dict[UUID, ObservedMailbox]:
        """All mailboxes of the directory with the marks that are ours."""
        page = await self.port.adoptions.mailboxes(ESTATE, "chamberlain_mailbox", None)
        assert page.cursor is None
        ids = [one.id for one in page.mailboxes]
        shown = await self.port.adoptions.observe(ESTATE, "chamberlain_mailbox", ids)
        return {one.id: one for one in shown if one is not None}

    async def records(self) -> dict[str, list[tuple[object, ...]]]:
        """All that an adoption writes and its undoing takes away."""
        tables = ("request", "mailbox", "mailbox_reader", "reservation", "job")
        return {
            table: await self.estate.rows(f"SELECT * FROM chamberlain.{table} WHERE tenant_id = $1", ESTATE)  # noqa: S608 - names of ours alone
            for table in tables
        }


def elsewhere(work: MailboxWork) -> MailboxWork:
    """Return the same work for another system."""
    return replace(work, wanted=replace(work.wanted, extension=f"{ELSEWHERE}_mailbox"))


def rendered(view: AdoptionView) -> bytes:
    return str(view.record.id).encode()


def chosen(
    prefix: str, kind: TemplateKind = TemplateKind.SHARED, template: TemplateId = SHARED_MAILBOX
) -> AdoptionRule:
    """A rule for those that begin so."""
    return AdoptionRule(kind, template, AdoptionFilter(prefix=prefix))


async def make_group(
    estate: Estate, name: str, *, channels: tuple[str, ...] | None = None, owners: tuple[UserId, ...] = (ADA, BEN)
) -> UUID:
    """Create a group or team outside of the service."""
    request_id = RequestId(uuid4())
    wanted = WantedGroup(
        tenant_id=ESTATE,
        request_id=request_id,
        display_name=name,
        mail_nickname=name.lower(),
        mail=f"{name.lower()}@estate.example",
        description=None,
        member_ship_type=MemberShipType.PRIVATE,
        membership_rule=None,
        owners=owners,
        members=owners,
        label_id=None,
        channels=channels,
        extension=f"{ELSEWHERE}_group",
        marks={"requestId": str(request_id)},
    )
    [outcome] = await estate.directory.ensure([Work(wanted, plan_group(wanted, people_checked=True))])
    assert outcome.observed is not None, outcome.fault
    return outcome.observed.id


def adoption_fixture(estate: Estate, *, page: int = 50) -> AdoptionFixture:
    """The parts of one process."""
    database, worker = estate.databases.application, estate.databases.worker
    workers = Notifier(estate.databases.addresses.application)
    port = AdoptionsWithFaults(EmbeddedAdoptions(worker.pool))
    # Calls list as a role that sees their tenant alone.
    listing = EmbeddedAdoptions(database.pool)
    return AdoptionFixture(
        estate=estate,
        port=port,
        service=AdoptionService(
            database,
            estate.authorization(),
            Previewer(database, listing, estate.catalog),
            workers,
            uuid4,
            estate.now,
        ),
        run=AdoptionJobs(worker, port, estate.directory, estate.people, uuid4, estate.now, page),
    )
