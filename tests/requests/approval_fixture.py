# SPDX-License-Identifier: Apache-2.0
"""The use cases of approval, built over an estate whose template for groups asks for approval."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

import msgspec

from chamberlain.auth.models import Caller
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import RequestId, UserId
from chamberlain.database.notify import Watchers
from chamberlain.queue.models import JobKind
from chamberlain.requests.jobs import RequestJobs
from chamberlain.requests.models import ApprovalRecord
from chamberlain.requests.rules import Naming, RequestView
from chamberlain.requests.service import RequestService
from chamberlain.requests.steps import Timeline
from chamberlain.requests.timeline import Timelines
from tests.databases import Databases
from tests.estates import ADA, ESTATE, Estate, caller_of, changed_estate, open_estate
from tests.requests.request_services import ACT, render, request_service, watchers

ALL_STAFF = UUID("94000000-0000-4000-8000-000000000001")
BOARD = UUID("94000000-0000-4000-8000-0000000000b0")

Rule = Mapping[str, object]


def user(id_: UUID) -> Mapping[str, str]:
    """An approver by name."""
    return {"type": "user", "id": str(id_)}


def group(id_: UUID) -> Mapping[str, str]:
    """The members of a group."""
    return {"type": "group", "id": str(id_)}


MANAGER = {"type": "manager"}


def any_of(*approvers: Mapping[str, str]) -> Rule:
    """A level where one of them is enough."""
    return {"mode": "any", "approvers": list(approvers)}


def all_of(*approvers: Mapping[str, str]) -> Rule:
    """A level where every one of them has to agree."""
    return {"mode": "all", "approvers": list(approvers)}


@dataclass(frozen=True, slots=True)
class ApprovalFixture:
    """An estate with a worker for approvals, and the actions of its users."""

    estate: Estate
    requests: RequestService
    request_jobs: RequestJobs

    async def ask(self, caller: Caller | None = None, name: str = "Apollo") -> RequestId:
        """Request a group that needs an approval."""
        return (await self.estate.request(name, caller=caller)).request_id

    async def approve(self, request_id: RequestId, who: UserId, said: Act = ACT) -> KeptAnswer:
        return await self.requests.approve(caller_of(who), request_id, said, render)

    async def reject(self, request_id: RequestId, who: UserId, said: Act = ACT) -> KeptAnswer:
        return await self.requests.reject(caller_of(who), request_id, said, render)

    async def name_approvers(
        self, request_id: RequestId, who: Caller, *users: UserId, level: int = 1, said: Act = ACT
    ) -> KeptAnswer:
        return await self.requests.name_approvers(who, request_id, Naming(level, users), said, render=render)

    async def look(self) -> None:
        """Run what is due of the jobs that attend to requests, once."""
        await self.request_jobs.attend_approvals(await self.estate.claim(kinds=[JobKind.APPROVAL_ATTEND]))

    async def look_again(self) -> None:
        """The same, as if all of them were due."""
        await self.make_due()
        await self.look()

    async def make_due(self) -> None:
        async with self.estate.databases.worker.across_tenants() as tx:
            await tx.execute("UPDATE chamberlain.job SET run_at = now() - interval '1 s' WHERE kind = 'approvalAttend'")

    async def wait_for(self, wait: timedelta) -> None:
        """Let time pass for the service and for its jobs."""
        self.estate.moment += wait
        async with self.estate.databases.worker.across_tenants() as tx:
            await tx.execute("UPDATE chamberlain.job SET run_at = run_at - $1::interval", wait)

    async def levels(self, request_id: RequestId) -> tuple[ApprovalRecord, ...]:
        return (await self.estate.record(request_id)).approvals

    async def approvers(self, request_id: RequestId, level: int = 1) -> list[UserId]:
        return [person.id for person in (await self.levels(request_id))[level - 1].approvers]

    async def events(self, request_id: RequestId) -> list[tuple[str, list[str] | None]]:
        """The events of a request, with the approvers that they tell."""
        found = await self.estate.rows(
            "SELECT type, data FROM chamberlain.event WHERE request_id = $1 ORDER BY sequence", request_id
        )
        told = [(str(type_), msgspec.json.decode(str(data)).get("approvers")) for type_, data in found]
        return [(type_, None if named is None else [each["id"] for each in named]) for type_, named in told]

    async def audit(self, request_id: RequestId) -> list[tuple[str, object]]:
        """The audit entries of a request after its acceptance."""
        found = await self.estate.rows(
            "SELECT action, payload -> 'after' FROM chamberlain.audit WHERE request_id = $1 AND sequence > "
            "(SELECT min(sequence) FROM chamberlain.audit WHERE request_id = $1) ORDER BY sequence",
            request_id,
        )
        return [(str(action), msgspec.json.decode(str(after))) for action, after in found]

    async def jobs(self) -> list[str]:
        """The kinds of all jobs that there are."""
        return [str(kind) for (kind,) in await self.estate.rows("SELECT kind FROM chamberlain.job ORDER BY kind")]

    async def told(self, request_id: RequestId) -> list[str]:
        """The timeline, in words."""
        timeline = await Timelines(self.estate.databases.application, Watchers()).find(ESTATE, request_id)
        assert timeline is not None
        return _words(timeline)

    async def make_groups(self, groups: Mapping[UUID, list[UUID]]) -> None:
        """Make groups in the directory, with these in them."""
        async with self.estate.databases.worker.across_tenants() as tx:
            for each in groups:
                await tx.execute(MAKE_GROUP, ESTATE, each)
        await self.join(groups)

    async def join(self, groups: Mapping[UUID, list[UUID]]) -> None:
        """Put these into groups of the directory."""
        async with self.estate.databases.worker.across_tenants() as tx:
            for outer, members in groups.items():
                for member in members:
                    await tx.execute(JOIN, ESTATE, outer, member)

    async def leave(self, *users: UserId) -> None:
        """Let users be gone from the directory."""
        async with self.estate.databases.worker.across_tenants() as tx:
            await tx.execute("DELETE FROM directory.memberships WHERE member_id = ANY ($1)", users)
            await tx.execute("DELETE FROM directory.users WHERE id = ANY ($1)", users)


async def open_approval_fixture(
    databases: Databases, *levels: Rule, days: int | None = None, groups: Mapping[UUID, list[UUID]] | None = None
) -> ApprovalFixture:
    """An estate whose template for groups asks for these levels of approval."""
    # Configuration files have no aliases, so a repeated value is written twice.
    approval = msgspec.json.decode(msgspec.json.encode({"levels": levels, "deadlineDays": days}))
    estate = await open_estate(databases, changed_estate(project_group={"approval": approval}))
    approval_fixture = approval_fixture_of(estate)
    await approval_fixture.make_groups(groups or {})
    return approval_fixture


MAKE_GROUP = """
INSERT INTO directory.groups (
    tenant_id, id, display_name, mail_nickname, visibility, group_types, mail_enabled, security_enabled, extensions,
    created_at
)
SELECT tenant_id, $2::uuid, 'Group ' || $2::uuid, 'group-' || $2::uuid, visibility, group_types, mail_enabled,
    security_enabled, extensions, created_at
FROM directory.groups WHERE tenant_id = $1 AND id = '94000000-0000-4000-8000-000000000001'
"""
JOIN = """
INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group)
SELECT $1, $2, $3, false, true, EXISTS (SELECT FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = $3)
"""


def approval_fixture_of(estate: Estate, new_id: Callable[[], UUID] = uuid4) -> ApprovalFixture:
    """The use cases of approval over an estate."""
    return ApprovalFixture(
        estate,
        request_service(estate, new_id=new_id),
        RequestJobs(estate.databases.worker, estate.people, watchers(estate), new_id, estate.read_time),
    )


async def view_of(approving_: ApprovalFixture, request_id: RequestId, who: UserId = ADA) -> RequestView:
    """The request as this user sees it."""
    return await approving_.requests.read(caller_of(who), request_id)


def _words(timeline: Timeline) -> list[str]:
    words = []
    for _, entry in timeline.after(0):
        if entry.approval is not None:
            words.append(f"level {entry.approval.level} {entry.approval.state}")
        if entry.state is not None:
            words.append(str(entry.state.state))
    return words
