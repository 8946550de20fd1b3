# SPDX-License-Identifier: Apache-2.0
"""The budgets of each request, as Microsoft publishes the limits."""

from collections.abc import Mapping
from uuid import UUID

import pytest

from chamberlain.core.ids import TenantId
from chamberlain.directory.budgets import Budget, Budgets
from chamberlain.directory.microsoft365 import operations as known
from chamberlain.directory.microsoft365.operations import Request
from chamberlain.directory.microsoft365.wire.pace import Pace
from tests.directory.group_work import reference, work
from tests.directory.sample_directory import PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import APP
from tests.microsoft365.fake.tenant import USERS, Tenant
from tests.microsoft365.stage import opened

DISCOVERY = known.LIST_CHANGES.request(headers={known.PRIORITY: "low"})
READ = known.LIST_MEMBERS.request(PARTNERS, query={"$select": "id"})
WRITE = known.UPDATE_GROUP.request(PARTNERS, body={"description": "a"})
MARK = known.UPDATE_GROUP.request(PARTNERS, body={"chamberlain_group": {"requestId": "r"}})
TEAM = known.CREATE_TEAM.request(PARTNERS, body={})
CHANNEL = known.CREATE_CHANNEL.request(PARTNERS, body={})
MEMBERS = known.ADD_TEAM_MEMBERS.request(PARTNERS, body={})
OF_TEAM = f"graph d a team {PARTNERS}"
UNITS = {"graph d a units": (280.0, 1), "graph a units": (6000.0, 1)}
WRITES = {"graph d a writes": (16.0, 1), "graph a writes": (186.67, 1)}


@pytest.mark.pure
@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (READ, {name: (rate, 2) for name, (rate, _) in UNITS.items()}),
        (DISCOVERY, UNITS | {"graph d a units of discovery": (140.0, 1)}),
        (WRITE, UNITS | WRITES),
        (MARK, UNITS | WRITES | {"graph d a extensions": (36.4, 1)}),
        (TEAM, {"graph d a PUT /groups/{group-id}/team": (4.8, 1)}),
        (CHANNEL, {"graph d a POST /teams/{team-id}/channels": (24.0, 1), OF_TEAM: (2.8, 1)}),
        (
            MEMBERS,
            {
                "graph d a POST /teams/{team-id}/members/add": (24.0, 1),
                OF_TEAM: (2.8, 1),
                f"{OF_TEAM} members": (0.03, 1),
            },
        ),
    ],
    ids=["read", "discovery", "write", "mark", "team", "channel", "members"],
)
def test_it_takes_each_limit(request_: Request, expected: Mapping[str, tuple[float, float]]) -> None:
    pace = Pace(None, TENANT, directory="d", application="a")

    found = {each.budget.name: (round(each.budget.per_second, 2), each.cost) for each in pace.spent(request_)}

    assert found == expected


@pytest.mark.parametrize(("users", "per_second"), [(49, 280.0), (50, 400.0), (500, 400.0), (501, 640.0)])
async def test_the_size_of_the_directory_decides_on_the_units(
    fake: FakeMicrosoft365, tenant: Tenant, users: int, per_second: float
) -> None:
    tenant.size = users
    present = sum(1 for _ in tenant.latest().items(USERS))
    for number in range(users - present):
        tenant.add_user(str(UUID(int=number)), displayName="Crowd", userPrincipalName=f"{number}@estate.example")
    taken = TakenBudgets()
    microsoft365 = opened(fake, TENANT, budgets=taken)

    await microsoft365.adapters.directory.observe([reference(work())])
    await microsoft365.close()

    # The first call counts the users.
    assert taken.rates[0] == 280.0
    assert {*taken.rates[1:]} == {per_second}


class TakenBudgets(Budgets):
    """Budgets without a limit, which record the rates of units."""

    def __init__(self) -> None:
        self.rates: list[float] = []

    async def follow(self, budget: Budget, tenant_id: TenantId, cost: float = 1.0) -> None:  # noqa: ARG002 - without a limit.
        if budget.name == f"graph {TENANT} {APP} units":
            self.rates.append(budget.per_second)
