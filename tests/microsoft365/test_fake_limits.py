# SPDX-License-Identifier: Apache-2.0
"""Limits of the fake, to the unit (throttling-limits.md, throttling-teams.md)."""

from datetime import timedelta

import httpx2
import pytest

from tests.directory.sample_directory import ADA, OTHER_TENANT, OUTER, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.clock import Clock
from tests.microsoft365.fake.limits import Counted, Limits, costs, resource_units
from tests.microsoft365.fake.sample import APP, EXTENSION, PERMISSIONS
from tests.microsoft365.fake.tenant import Tenant
from tests.microsoft365.graph_client import GRAPH, FakeToken, code

pytestmark = pytest.mark.pure

LIST_USERS, LIST_MEMBERS = "GET /users", "GET /groups/{group-id}/members"
UPDATE_GROUP, CREATE_TEAM = "PATCH /groups/{group-id}", "PUT /groups/{group-id}/team"
ADD_MEMBERS, CREATE_CHANNEL = "POST /teams/{team-id}/members/add", "POST /teams/{team-id}/channels"
PATHS = {
    LIST_USERS: "/users",
    LIST_MEMBERS: "/groups/g/members",
    UPDATE_GROUP: "/groups/g",
    CREATE_TEAM: "/groups/{}/team",
    ADD_MEMBERS: "/teams/{}/members/add",
    CREATE_CHANNEL: "/teams/{}/channels",
}


def counted(
    operation: str,
    *,
    query: dict[str, str] | None = None,
    team: int = 0,
    tenant: str = "t",
    app: str = "a",
    users: int = 10,
    has_extension: bool = False,
) -> Counted:
    path = PATHS[operation].format(team)
    return Counted(operation, path, query or {}, app, tenant, users, has_extension)


def accepted(limits: Limits, calls: list[Counted]) -> int:
    """Return the number of accepted calls before the first refused one."""
    for number, call in enumerate(calls):
        if limits.take(call).refused_by is not None:
            return number
    return len(calls)


@pytest.mark.parametrize(
    ("operation", "query", "units"),
    [
        (LIST_USERS, {}, 2),
        (LIST_USERS, {"$select": "id"}, 1),
        (LIST_USERS, {"$expand": "manager"}, 3),
        (LIST_USERS, {"$select": "id", "$top": "5"}, 1),
        (LIST_USERS, {"$top": "19"}, 1),
        (LIST_USERS, {"$top": "20"}, 2),
        (LIST_MEMBERS, {}, 3),
        (LIST_MEMBERS, {"$select": "id", "$top": "999"}, 2),
        ("GET /groups/{group-id}/transitiveMembers/microsoft.graph.user", {"$select": "id"}, 4),
        ("POST /users/{user-id}/checkMemberGroups", {}, 4),
        (UPDATE_GROUP, {}, 1),
    ],
)
def test_units(operation: str, query: dict[str, str], units: int) -> None:
    assert resource_units(Counted(operation, "", query, "a", "t", 10, has_extension=False)) == units


@pytest.mark.parametrize(("users", "most"), [(49, 3_500), (50, 5_000), (500, 5_000), (501, 8_000)])
def test_units_by_the_size_of_the_tenant(clock: Clock, users: int, most: int) -> None:
    calls = [counted(LIST_MEMBERS, query={"$select": "id"}, users=users)] * most

    assert accepted(Limits(clock), calls) == most // 2


@pytest.mark.parametrize(
    ("calls", "most", "name"),
    [
        pytest.param([counted(UPDATE_GROUP)] * 3_001, 3_000, "writes", id="writes of an app"),
        pytest.param([counted(UPDATE_GROUP, has_extension=True)] * 456, 455, "extensions", id="extensions"),
        pytest.param([counted(CREATE_TEAM, team=each) for each in range(7)], 6, "teams", id="new teams"),
        pytest.param(
            [counted(CREATE_TEAM, team=each, tenant=str(each % 26)) for each in range(151)],
            150,
            "teams of the app",
            id="new teams of all tenants",
        ),
        pytest.param([counted(CREATE_CHANNEL, team=each) for each in range(31)], 30, "teams", id="new channels"),
        pytest.param([counted(CREATE_CHANNEL)] * 5, 4, "team", id="one team"),
    ],
)
def test_limits(clock: Clock, calls: list[Counted], most: int, name: str) -> None:
    limits = Limits(clock)

    assert accepted(limits, calls) == most
    assert dict(limits.refused) == {name: 1}


def test_limits_of_many_calls() -> None:
    """Those that no test reaches by calls."""
    found = {cost.key[0]: (cost.key[1:], cost.most, cost.window) for cost in costs(counted(UPDATE_GROUP))}

    assert found["units of the app"] == (("a",), 150_000, timedelta(seconds=20))
    assert found["writes of the app"] == (("a",), 70_000, timedelta(minutes=5))
    assert found["writes of the tenant"] == (("t",), 18_000, timedelta(minutes=5))


def test_reads_by_post_are_no_writes() -> None:
    call = Counted("POST /users/{user-id}/checkMemberGroups", "/users/u", {}, "a", "t", 10, has_extension=False)

    assert {cost.key[0] for cost in costs(call)} == {"units", "units of the app"}


def test_members_of_a_team_in_a_minute(clock: Clock) -> None:
    limits = Limits(clock)
    verdicts = []
    for _ in range(5):
        verdicts.append(limits.take(counted(ADD_MEMBERS)))
        clock.wait(timedelta(seconds=10))
    clock.wait(verdicts[-1].wait - timedelta(seconds=10))

    # The refused request counts too, so the next one fits when two of the first ones are a minute old.
    assert [each.refused_by is None for each in verdicts] == [True] * 4 + [False]
    assert verdicts[-1].wait == timedelta(seconds=30)
    assert limits.take(counted(ADD_MEMBERS)).refused_by is None


def test_a_window_moves(clock: Clock) -> None:
    limits = Limits(clock)
    accepted(limits, [counted(UPDATE_GROUP)] * 3_000)

    verdict = limits.take(counted(UPDATE_GROUP))
    clock.wait(verdict.wait)

    assert verdict.wait == timedelta(seconds=150)
    assert limits.take(counted(UPDATE_GROUP)).refused_by is None


def test_figures(clock: Clock) -> None:
    limits = Limits(clock)
    accepted(limits, [counted(CREATE_TEAM, team=each) for each in range(7)])
    accepted(limits, [counted(CREATE_TEAM, tenant="other")])

    assert (limits.calls, dict(limits.refused), limits.used["teams"]) == (8, {"teams": 1}, 8)
    assert limits.used_by["teams", CREATE_TEAM, "a", "other"] == 1


def test_another_tenant_has_its_own_limits(clock: Clock) -> None:
    limits = Limits(clock)
    accepted(limits, [counted(CREATE_TEAM, team=each) for each in range(7)])

    assert limits.take(counted(CREATE_TEAM, tenant="other")).refused_by is None


async def test_a_refused_request(graph: httpx2.AsyncClient, tenant: Tenant, clock: Clock) -> None:
    for number in range(4):
        answer = await graph.post(f"/teams/{PARTNERS}/channels", json={"displayName": f"c{number}"})
        assert answer.status_code == 201
    refused = await graph.post(f"/teams/{PARTNERS}/channels", json={"displayName": "c9"})
    clock.wait(timedelta(seconds=int(refused.headers["retry-after"])))
    later = await graph.post(f"/teams/{PARTNERS}/channels", json={"displayName": "c9"})

    assert code(refused) == (429, "TooManyRequests")
    assert refused.headers["retry-after"] == "1"
    assert refused.headers["x-ms-throttle-scope"] == f"Tenant_Application/ReadWrite/{APP}/{TENANT}"
    assert later.status_code == 201
    assert len(tenant.created("channel")) == 5


async def test_the_used_share_is_reported_above_80_percent(graph: httpx2.AsyncClient) -> None:
    """throttling-limits.md, "Regular responses requests"."""
    shares = [(await graph.put(f"/groups/{OUTER}/team", json={})).headers for _ in range(6)]

    found = [each.get("x-ms-throttle-limit-percentage") for each in shares]
    assert found == [None, None, None, None, "0.83", "1.00"]


async def test_extensions_in_writes_count(graph: httpx2.AsyncClient, fake: FakeMicrosoft365) -> None:
    await graph.patch(f"/groups/{PARTNERS}", json={EXTENSION: {"requestId": "r"}})
    await graph.patch(f"/groups/{PARTNERS}", json={"description": "d"})
    await graph.get("/schemaExtensions")

    assert fake.limits.used["extensions"] == 2


async def test_tenants_of_the_fake_have_their_own_limits(fake: FakeMicrosoft365, graph: httpx2.AsyncClient) -> None:
    fake.consent(str(OTHER_TENANT), str(APP), PERMISSIONS)
    own = [await graph.put(f"/groups/{OUTER}/team", json={}) for _ in range(7)]
    auth = FakeToken(fake, tenant_id=str(OTHER_TENANT))
    async with httpx2.AsyncClient(transport=fake.transport(), base_url=GRAPH, auth=auth) as other:
        elsewhere = await other.put(f"/groups/{ADA}/team", json={})

    assert (own[-1].status_code, elsewhere.status_code) == (429, 404)
