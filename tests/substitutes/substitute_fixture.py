# SPDX-License-Identifier: Apache-2.0
"""Approvals and substitutes, built over an estate whose template for groups asks for approval."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from chamberlain.auth.models import Edit
from chamberlain.core.ids import RequestId, UserId
from chamberlain.core.paging import PageWanted
from chamberlain.requests.models import RequestFilter
from chamberlain.substitutes.models import Naming
from chamberlain.substitutes.service import SubstituteService
from tests.databases import Databases
from tests.estates import TRACE, Estate, caller_of
from tests.requests.approval_fixture import ApprovalFixture, Rule, open_approval_fixture
from tests.requests.request_services import workers

EDIT = Edit(None, TRACE, "192.0.2.1")


def substitute_service(estate: Estate) -> SubstituteService:
    """The service of substitutes of one process."""
    return SubstituteService(
        estate.databases.application, estate.authorization(), estate.people, workers(estate), estate.now
    )


@dataclass(frozen=True, slots=True)
class SubstituteFixture:
    """An estate with approvals and substitutes."""

    approvals: ApprovalFixture
    substitutes: SubstituteService

    async def name(self, approver: UserId, substitute: UserId, *, days: int = 14) -> None:
        until = self.substitutes.now() + timedelta(days=days)
        await self.substitutes.name(caller_of(approver), Naming(substitute, until), EDIT)

    async def withdraw(self, approver: UserId) -> None:
        await self.substitutes.withdraw(caller_of(approver), EDIT)

    async def substituted(self, request_id: RequestId, level: int = 1) -> list[tuple[UserId, UserId]]:
        """The substitutes of a level, each with the approver."""
        return [(each.id, each.approver) for each in (await self.approvals.levels(request_id))[level - 1].substitutes]

    async def lists(self, who: UserId) -> list[RequestId]:
        """The requests that wait for the decision of a user."""
        page = await self.approvals.requests.list(caller_of(who), RequestFilter(to_decide=True), PageWanted(50, None))
        return [each.record.request_id for each in page.items]


async def open_substitute_fixture(
    databases: Databases, *levels: Rule, groups: dict[UUID, list[UUID]] | None = None, days: int | None = None
) -> SubstituteFixture:
    """An estate whose template for groups asks for these levels of approval."""
    approvals = await open_approval_fixture(databases, *levels, groups=groups, days=days)
    return SubstituteFixture(approvals, substitute_service(approvals.estate))
