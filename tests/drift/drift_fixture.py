# SPDX-License-Identifier: Apache-2.0
"""Drift checks over an estate, and changes outside of the service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

import msgspec

from chamberlain.auth.models import Caller
from chamberlain.core.ids import RequestId
from chamberlain.core.paging import PageWanted
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.drift.finding_repairs import FindingRepairJobs
from chamberlain.drift.jobs import DriftJobs
from chamberlain.drift.service import DriftService
from chamberlain.drift.watch import DriftWatchJobs
from chamberlain.guests.models import FindingFilter, FindingRecord
from chamberlain.queue.models import JobKind
from chamberlain.requests.rules import RequestView
from chamberlain.templates.cache import Revisions
from chamberlain.tenants import records as tenant_records
from tests.estates import ADA, ESTATE, SHARED_MAILBOX, TRACE, Estate
from tests.guests.assignments.guest_fixture import GuestFixture, guest_fixture, make_due
from tests.requests.request_services import act, administrator, workers
from tests.restricted_directory import RESTRICTED, RestrictedGuests

ACCEPT = """
UPDATE chamberlain.finding SET state = 'accepted', accepted_at = now(), accepted_reason = 'It may.',
    accepted_by = '{"type": "system", "id": null, "display_name": "Test"}'
WHERE kind = $1 AND state = 'open' AND property = $2
"""


@dataclass
class DriftFixture:
    """Drift checks of one process."""

    estate: Estate
    assignments: GuestFixture
    jobs: DriftJobs
    service: DriftService
    watch_jobs: DriftWatchJobs
    repair_jobs: FindingRepairJobs

    def restrict(self, capabilities: Capabilities = RESTRICTED) -> None:
        """Take abilities away from the directory."""
        self.estate.restrict(capabilities)
        self.assignments.guests.guests = RestrictedGuests(self.assignments.guests.guests, capabilities)

    async def check_all(self, *, page_size: int | None = None) -> None:
        """Check all tenants from beginning to end."""
        jobs = self.jobs if page_size is None else replace(self.jobs, page_size=page_size)
        await jobs.begin(TRACE)
        await self.run_due(jobs)
        await self.finish(jobs)

    async def finish(self, jobs: DriftJobs | None = None) -> None:
        """Run due jobs until no check is running."""
        await self.run_due(jobs)
        while await self.estate.rows("SELECT FROM chamberlain.drift_check WHERE phase IS NOT NULL"):
            await self.run_due(jobs)

    async def run_due(self, jobs: DriftJobs | None = None) -> None:
        """Make all jobs due, and run those of drift checks once."""
        await make_due(self.estate)
        await (jobs or self.jobs).check(await self.estate.claim(kinds=[JobKind.DRIFT_CHECK]))

    async def watch(self, jobs: DriftWatchJobs | None = None) -> None:
        """Discover changes of the directory, and compare the changed objects."""
        await self.assignments.discover()
        await (jobs or self.watch_jobs).watch(await self.estate.claim(kinds=[JobKind.DRIFT_WATCH]))

    async def request_repair(self, finding_id: UUID, caller: Caller | None = None, key: str | None = None) -> UUID:
        """Request the repair of a finding, as the API does, and return its request."""
        asked = caller or administrator(ADA)
        answer = await self.service.repair(asked, finding_id, act(comment="Now", key=key), _request_id)
        return UUID(answer.body.decode())

    async def run_repairs(self, jobs: FindingRepairJobs | None = None) -> None:
        """Run the due jobs of requested repairs."""
        await make_due(self.estate)
        await (jobs or self.repair_jobs).repair(await self.estate.claim(kinds=[JobKind.FINDING_REPAIR]))

    async def events(self) -> list[tuple[str, str, str | None]]:
        """Type, state and property of each event about a finding, oldest first."""
        rows = await self.estate.rows(
            "SELECT type, data::text FROM chamberlain.event WHERE type LIKE 'finding.%' ORDER BY sequence"
        )
        found = [(str(type_), msgspec.json.decode(str(data))["finding"]) for type_, data in rows]
        return [(type_, each["state"], each["property"]) for type_, each in found]

    async def set_repair(
        self, treatments: Mapping[DriftProperty, Treatment] | None = None, *, drift: bool = True
    ) -> None:
        """Set which drift the tenant repairs."""
        async with self.estate.databases.worker.across_tenants() as tx:
            tenant = await tenant_records.find(tx, ESTATE)
            assert tenant is not None
            await tenant_records.put(tx, replace(tenant, repairs_drift=drift, repair_properties=treatments or {}))

    async def records(self, wanted: FindingFilter | None = None, *, limit: int = 200) -> Sequence[FindingRecord]:
        """The findings, newest first."""
        page = await self.assignments.findings.list(
            administrator(ADA), wanted or FindingFilter(), PageWanted(limit, None)
        )
        return page.items

    async def findings(self) -> list[tuple[str, str, str | None]]:
        """Kind, state and property of each finding."""
        return sorted((each.kind, each.state, each.property) for each in await self.records())

    async def change(self, statement: str, *values: object) -> None:
        """Change the directory outside of the service."""
        async with self.estate.databases.worker.across_tenants() as tx:
            await tx.execute(statement, *values)

    async def accept(self, kind: str, about: str) -> None:
        """Accept a finding."""
        await self.change(ACCEPT, kind, about)

    async def mailbox(self, **sent: object) -> RequestId:
        """A mailbox that exists."""
        body: dict[str, object] = {"name": "Desk", "displayName": "The desk", **sent}
        if not {"metadata", "roomMailboxMetadata"} & body.keys():
            body["templateId"] = str(SHARED_MAILBOX)
        accepted = await self.estate.ask_mailbox(body)
        await self.estate.work()
        return accepted.record.request_id

    async def group(self, **sent: object) -> tuple[RequestId, UUID]:
        """Create a group. Returns its request and its id in the directory."""
        accepted = await self.estate.ask({"displayName": "Apollo", **sent})
        await self.estate.work()
        group = await self.estate.group(accepted.request_id)
        assert group is not None
        return accepted.request_id, group.id

    async def repairs(self) -> list[dict[str, object]]:
        """Return the repairs in the audit trail."""
        rows = await self.estate.rows(
            "SELECT action, payload::text FROM chamberlain.audit WHERE action LIKE '%.repair' ORDER BY sequence"
        )
        return [{"action": action, **msgspec.json.decode(str(payload))} for action, payload in rows]


def _request_id(view: RequestView) -> bytes:
    return str(view.record.request_id).encode()


def drift_fixture(estate: Estate) -> DriftFixture:
    """The parts of one process."""
    database = estate.databases.application
    guest_rules = guest_fixture(estate)
    return DriftFixture(
        estate=estate,
        assignments=guest_rules,
        jobs=DriftJobs(
            estate.databases.worker, estate.directory, guest_rules.guests, estate.people, Revisions(), uuid4, estate.now
        ),
        service=DriftService(database, estate.authorization(), workers(estate), uuid4, estate.now),
        watch_jobs=DriftWatchJobs(
            estate.databases.worker, estate.directory, guest_rules.guests, estate.people, Revisions(), uuid4, estate.now
        ),
        repair_jobs=FindingRepairJobs(
            estate.databases.worker,
            estate.directory,
            guest_rules.guests,
            estate.people,
            Revisions(),
            uuid4,
            estate.now,
            notifier=workers(estate),
        ),
    )
