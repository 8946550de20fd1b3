# SPDX-License-Identifier: Apache-2.0
"""Services and jobs of guest rules over an estate, with a faulty port."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID, uuid4

import msgspec

from chamberlain.auth.models import Caller, Edit
from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId, UserId
from chamberlain.core.paging import NamedPageWanted, PageWanted
from chamberlain.directory.embedded.adoptions import EmbeddedAdoptions
from chamberlain.directory.embedded.guests import EmbeddedGuests
from chamberlain.directory.embedded.subjects import EmbeddedSubjects
from chamberlain.directory.port import ActOutcome, GuestAct, GuestOutcome, Guests, GuestWork, Shortfall, SubjectChanges
from chamberlain.directory.subjects import ObservedSubject, SubjectReference, SubjectType
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.guests import Guests as KeptGuests
from chamberlain.guests.assignments.jobs import AssignmentJobs
from chamberlain.guests.assignments.rules import WantedAssignment
from chamberlain.guests.assignments.service import AssignmentService
from chamberlain.guests.assignments.store import Assigner
from chamberlain.guests.assignments.wire import ASSIGNMENT, to_assignment_order
from chamberlain.guests.discovery.jobs import SubjectJobs
from chamberlain.guests.findings.service import FindingService
from chamberlain.guests.models import FindingFilter, FindingRecord
from chamberlain.guests.policies.jobs import PolicyJobs
from chamberlain.guests.subjects.models import SubjectFilter, SubjectRecord
from chamberlain.queue.models import JobKind
from tests.estates import ADA, ESTATE, TRACE, Estate
from tests.requests.request_services import administrator, watchers, workers

ALL_STAFF = GroupId(UUID("94000000-0000-4000-8000-000000000001"))
HANDBOOK = GroupId(UUID("51730000-0000-4000-8000-000000000001"))
SUPPLIERS = GroupId(UUID("51730000-0000-4000-8000-000000000002"))
GIL = UserId(UUID("9e570000-0000-4000-8000-000000000001"))
NO_GUESTS = TemplateId(UUID("7e000000-0000-4000-8000-000000000021"))
PARTNERS = TemplateId(UUID("7e000000-0000-4000-8000-000000000022"))
NINETY_DAYS = PolicyId(UUID("90110000-0000-4000-8000-000000000001"))
YEARLY_REVIEW = PolicyId(UUID("90110000-0000-4000-8000-000000000002"))
ZERO = "00000000-0000-0000-0000-000000000000"
EXTENSION = "chamberlain_group"


@dataclass
class FaultyGuests(Guests):
    """A guest port that fails for all calls while `error` is set, or for some."""

    guests: Guests
    error: TryAgain | None = None
    faults: dict[GroupId, OutsideFault] = field(default_factory=dict)
    shortfalls: tuple[Shortfall, ...] = ()
    ensured: list[GuestWork] = field(default_factory=list)
    act_faults: dict[UserId, ActOutcome] = field(default_factory=dict)
    acts: list[GuestAct] = field(default_factory=list)
    # The state that a replica still shows.
    stale: ObservedSubject | None = None

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        if self.error is not None:
            raise self.error
        if self.stale is not None:
            return [self.stale for _ in references]
        return await self.guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        self.ensured.extend(works)
        well = [work for work in works if work.wanted.id not in self.faults]
        outcomes = {
            work.wanted.id: replace(each, shortfalls=self.shortfalls)
            for work, each in zip(well, await self.guests.ensure(well), strict=True)
        }
        return [outcomes.get(work.wanted.id) or GuestOutcome(None, (), self.faults[work.wanted.id]) for work in works]

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        if self.error is not None:
            raise self.error
        self.acts.extend(acts)
        well = [act for act in acts if act.guest_id not in self.act_faults]
        outcomes = dict(zip(well, await self.guests.act(well), strict=True))
        return [outcomes.get(act) or self.act_faults[act.guest_id] for act in acts]

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        if self.error is not None:
            raise self.error
        return await self.guests.changes(tenant_id, extension, cursor)


@dataclass
class GuestFixture:
    """The services and jobs of guest rules of one process."""

    estate: Estate
    guests: FaultyGuests
    assignments: AssignmentService
    assignment_jobs: AssignmentJobs
    subject_jobs: SubjectJobs
    evaluate: PolicyJobs
    findings: FindingService

    async def assign(
        self,
        group_id: GroupId = ALL_STAFF,
        *,
        caller: Caller | None = None,
        kind: SubjectType = SubjectType.GROUP,
        if_match: str | None = None,
        **sent: object,
    ) -> SubjectRecord:
        """Assign as the API does, with these fields as the body."""
        return await self.ask(sent, group_id, caller=caller, kind=kind, if_match=if_match)

    async def ask(
        self,
        sent: Mapping[str, object],
        group_id: GroupId = ALL_STAFF,
        *,
        caller: Caller | None = None,
        kind: SubjectType = SubjectType.GROUP,
        if_match: str | None = None,
    ) -> SubjectRecord:
        """As `assign`, with the body as one thing."""
        wanted = self.wanted(sent, group_id, kind=kind, if_match=if_match)
        return await self.assignments.assign(caller or administrator(ADA), wanted)

    def wanted(
        self,
        sent: Mapping[str, object],
        group_id: GroupId = ALL_STAFF,
        *,
        kind: SubjectType = SubjectType.GROUP,
        if_match: str | None = None,
    ) -> WantedAssignment:
        """Return the change that a body asks for."""
        body = msgspec.json.encode(sent)
        edit = Edit(None if if_match is None else frozenset((if_match,)), TRACE)
        return WantedAssignment(group_id, kind, to_assignment_order(ASSIGNMENT.read(body)), body, edit)

    async def work(self) -> None:
        """Run due jobs of assignments once."""
        await self.assignment_jobs.apply(await self.estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY]))

    async def run_policies(self) -> None:
        """Run the policies of all groups and sites, due or not."""
        await make_due(self.estate)
        await self.evaluate.evaluate(await self.estate.claim(kinds=[JobKind.POLICY_EVALUATE]))

    async def discover(self) -> None:
        """Discover the groups and sites of the directory."""
        await self.subject_jobs.begin(TRACE)
        for _ in range(3):
            await make_due(self.estate)
            await self.subject_jobs.discover(await self.estate.claim(kinds=[JobKind.SUBJECT_DISCOVER]))

    async def shown(self, group_id: GroupId = ALL_STAFF, tenant_id: TenantId = ESTATE) -> ObservedSubject:
        """Return the state of the directory."""
        (found,) = await self.guests.guests.observe([SubjectReference(tenant_id, group_id, EXTENSION)])
        assert found is not None
        return found

    async def record(self, group_id: GroupId = ALL_STAFF, kind: SubjectType = SubjectType.GROUP) -> SubjectRecord:
        """As it is read."""
        return await self.assignments.read(administrator(ADA), group_id, kind)

    async def names(self, wanted: SubjectFilter) -> list[str]:
        """Paginate a list, two at a time, and return the display names."""
        page = await self.assignments.list(administrator(ADA), wanted, NamedPageWanted(2, None))
        found = list(page.items)
        while page.next is not None:
            page = await self.assignments.list(administrator(ADA), wanted, NamedPageWanted(2, page.next))
            found += page.items
        return [each.entry.display_name for each in found]

    async def found(self, wanted: FindingFilter | None = None) -> Sequence[FindingRecord]:
        """The first hundred findings."""
        page = await self.findings.list(administrator(ADA), wanted or FindingFilter(), PageWanted(100, None))
        return page.items

    async def traces(self) -> list[tuple[object, ...]]:
        """All that a change leaves behind."""
        return await self.estate.rows(
            "SELECT 'request', request_id::text FROM chamberlain.request UNION ALL "
            "SELECT 'job', subject::text FROM chamberlain.job WHERE kind = 'assignmentApply' UNION ALL "
            "SELECT 'audit', request_id::text FROM chamberlain.audit WHERE action LIKE '%.assign' UNION ALL "
            "SELECT 'event', request_id::text FROM chamberlain.event ORDER BY 1, 2"
        )


def guest_fixture(estate: Estate) -> GuestFixture:
    """The parts of one process."""
    database, worker = estate.databases.application, estate.databases.worker
    guests = FaultyGuests(EmbeddedGuests(KeptGuests(worker.pool), Changes(worker.pool)))
    directory = EmbeddedSubjects(database.pool)
    return GuestFixture(
        estate=estate,
        guests=guests,
        assignments=AssignmentService(
            database,
            directory,
            estate.directory,
            estate.authorization(),
            Assigner(database),
            workers(estate),
            uuid4,
            estate.now,
        ),
        assignment_jobs=AssignmentJobs(worker, estate.directory, guests, watchers(estate), uuid4, estate.now),
        subject_jobs=SubjectJobs(worker, guests, EmbeddedAdoptions(worker.pool), uuid4, estate.now),
        evaluate=PolicyJobs(worker, guests, uuid4, estate.read_time),
        findings=FindingService(database, estate.people, estate.authorization(), estate.now),
    )


async def make_due(estate: Estate) -> None:
    """Make all waiting jobs due."""
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.job SET run_at = now()")


async def expire_leases(estate: Estate) -> None:
    """Let all leases expire."""
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.job SET lease_until = now() - interval '1 s' WHERE lease_id IS NOT NULL")


def later(estate: Estate, **span: float) -> None:
    """Let time pass."""
    estate.moment += timedelta(**span)


def of_tenant(caller: Caller, tenant_id: TenantId) -> Caller:
    """The same with a token of another tenant."""
    return replace(caller, tenant_id=tenant_id)
