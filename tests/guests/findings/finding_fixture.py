# SPDX-License-Identifier: Apache-2.0
"""Findings for tests, and their service and jobs, built over an estate."""

import json
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from chamberlain.auth.models import Caller
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import TenantId
from chamberlain.core.paging import PageWanted
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests import finding_records
from chamberlain.guests.findings import store as finding_store
from chamberlain.guests.findings.jobs import FindingJobs
from chamberlain.guests.findings.rules import AcceptanceRequest
from chamberlain.guests.findings.service import FindingService
from chamberlain.guests.models import (
    Finding,
    FindingFilter,
    FindingKind,
    FindingRecord,
    FindingSearch,
    FindingSource,
    FindingState,
    FindingSubject,
)
from chamberlain.queue.models import JobKind
from tests.estates import ADA, ESTATE, Estate
from tests.guests.assignments.guest_fixture import ALL_STAFF, GIL
from tests.requests.request_services import act, administrator

SUBJECT = FindingSubject(ESTATE, ALL_STAFF, SubjectType.GROUP, "All staff")


@dataclass
class FindingFixture:
    """The service and jobs of findings of one process."""

    estate: Estate
    findings: FindingService
    jobs: FindingJobs

    async def find(self, kind: FindingKind = FindingKind.GUEST_AGAINST_RULE) -> UUID:
        """Let something be found, and give its id."""
        await self.see(kind)
        (record,) = await self.all(FindingFilter(state=FindingState.OPEN, kind=kind))
        return record.id

    async def see(self, kind: FindingKind = FindingKind.GUEST_AGAINST_RULE) -> None:
        """Let something be found, or be seen again."""
        found = Finding(
            subject=SUBJECT,
            kind=kind,
            source=FindingSource.ASSIGNMENT,
            about=str(GIL),
            property="guests",
            wanted=None,
            observed={"id": str(GIL)},
            detail="Gil Hartmann is a guest.",
        )
        async with self.estate.databases.worker.across_tenants() as tx:
            await finding_records.save(tx, [(uuid4(), found)], at=self.estate.moment)

    async def lose(self, kind: FindingKind = FindingKind.GUEST_AGAINST_RULE) -> None:
        """Let it be true no more."""
        async with self.estate.databases.worker.across_tenants() as tx:
            searched = FindingSearch(FindingSource.ASSIGNMENT, (kind,))
            await finding_records.close_missing(
                tx, [(SUBJECT.tenant_id, SUBJECT.id)], searched, remaining=(), at=self.estate.moment
            )

    async def all(self, wanted: FindingFilter, tenant_id: TenantId = ESTATE) -> list[FindingRecord]:
        """The findings that a filter names."""
        async with self.estate.databases.application.transaction(tenant_id) as tx:
            return list((await finding_store.find_page(tx, tenant_id, wanted, PageWanted(100, None))).items)

    async def record(self, finding_id: UUID) -> FindingRecord:
        """One as it is kept."""
        async with self.estate.databases.application.transaction(ESTATE) as tx:
            found = await finding_records.find(tx, ESTATE, finding_id)
        assert found is not None
        return found

    async def accepted(
        self,
        finding_id: UUID,
        until: datetime | None = None,
        *,
        reason: str = "The project ends in spring.",
        caller: Caller | None = None,
        key: str | None = None,
    ) -> KeptAnswer:
        """Accept one, as the API does."""
        wanted = AcceptanceRequest(reason, until)
        return await self.findings.accept(
            caller or administrator(ADA), finding_id, wanted, act(key=key), render=rendered
        )

    async def work(self) -> None:
        """Run due jobs."""
        await self.jobs.reopen(await self.estate.claim(kinds=[JobKind.FINDING_REOPEN]))


def finding_fixture(estate: Estate) -> FindingFixture:
    """The parts of one process."""
    database = estate.databases.application
    return FindingFixture(
        estate,
        FindingService(database, estate.people, estate.authorization(), estate.now),
        FindingJobs(estate.databases.worker, estate.read_time),
    )


def rendered(record: FindingRecord) -> bytes:
    """Render the state and the acceptance."""
    return json.dumps([record.state, record.acceptance and record.acceptance.reason]).encode()
