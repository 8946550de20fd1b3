# SPDX-License-Identifier: Apache-2.0
"""The budgets of each request, as Microsoft publishes the limits."""

from collections.abc import Mapping

import pytest

from chamberlain.directory.microsoft365 import operations as known
from chamberlain.directory.microsoft365.operations import Request
from chamberlain.directory.microsoft365.wire.pace import Pace
from tests.directory.sample_directory import PARTNERS, TENANT

pytestmark = pytest.mark.pure

READ = known.LIST_MEMBERS.request(PARTNERS, query={"$select": "id"})
WRITE = known.UPDATE_GROUP.request(PARTNERS, body={"description": "a"})
MARK = known.UPDATE_GROUP.request(PARTNERS, body={"chamberlain_group": {"requestId": "r"}})
TEAM = known.CREATE_TEAM.request(PARTNERS, body={})
CHANNEL = known.CREATE_CHANNEL.request(PARTNERS, body={})
MEMBERS = known.ADD_TEAM_MEMBERS.request(PARTNERS, body={})
OF_TEAM = f"graph d a team {PARTNERS}"
UNITS = {"graph d a units": (280.0, 1), "graph a units": (6000.0, 1)}
WRITES = {"graph d a writes": (16.0, 1), "graph a writes": (186.67, 1)}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (READ, {name: (rate, 2) for name, (rate, _) in UNITS.items()}),
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
    ids=["read", "write", "mark", "team", "channel", "members"],
)
def test_it_takes_each_limit(request_: Request, expected: Mapping[str, tuple[float, float]]) -> None:
    pace = Pace(None, TENANT, directory="d", application="a")

    found = {each.budget.name: (round(each.budget.per_second, 2), each.cost) for each in pace.spent(request_)}

    assert found == expected
