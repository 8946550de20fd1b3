# SPDX-License-Identifier: Apache-2.0
"""Teams of the fake: creation, channels and members."""

from datetime import timedelta
from typing import Any

import httpx2
import pytest

from tests.directory.sample_directory import ADA, BEN, CLEO, HANA, INNER, NOBODY, OUTER, PARTNERS, TENANT, VISITORS
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.clock import Clock
from tests.microsoft365.fake.faults import Fault
from tests.microsoft365.fake.sample import APP
from tests.microsoft365.fake.tenant import Tenant
from tests.microsoft365.fake.writes import Lags
from tests.microsoft365.graph_client import FakeToken, code, new_group, reference

pytestmark = pytest.mark.pure

SETTINGS = {"memberSettings": {"allowCreateUpdateChannels": False}, "funSettings": {"giphyContentRating": "moderate"}}


def member(user: object, *roles: str) -> dict[str, Any]:
    return {
        "@odata.type": "#microsoft.graph.aadUserConversationMember",
        "roles": list(roles),
        "user@odata.bind": f"https://graph.microsoft.com/v1.0/users('{user}')",
    }


async def test_it_works(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    created = await graph.put(f"/groups/{OUTER}/team", json=SETTINGS)
    group = await graph.get(f"/groups/{OUTER}?$select=resourceProvisioningOptions")
    channels = await graph.get(f"/teams/{OUTER}/channels?$select=id,displayName")
    team = await graph.get(f"/teams/{OUTER}")

    assert created.status_code == 201
    assert created.json()["memberSettings"]["allowCreateUpdateChannels"] is False
    assert created.json()["memberSettings"]["allowDeleteChannels"] is True
    assert group.json()["resourceProvisioningOptions"] == ["Team"]
    assert [each["displayName"] for each in channels.json()["value"]] == ["General"]
    assert team.json()["displayName"] == "All staff"
    assert [each.id for each in tenant.created("team")] == [str(OUTER)]


async def test_a_group_becomes_a_team_once(graph: httpx2.AsyncClient) -> None:
    assert code(await graph.put(f"/groups/{PARTNERS}/team", json={})) == (409, "Conflict")


async def test_a_new_group_is_not_there_yet(graph: httpx2.AsyncClient, tenant: Tenant, clock: Clock) -> None:
    """team-put-teams.md: 404 for up to 15 minutes."""
    tenant.lags = Lags(teams=timedelta(minutes=9))
    body = new_group() | {"owners@odata.bind": [reference(ADA)]}
    group_id = (await graph.post("/groups", json=body)).json()["id"]

    early = await graph.put(f"/groups/{group_id}/team", json={})
    clock.wait(timedelta(minutes=9))
    later = await graph.put(f"/groups/{group_id}/team", json={})

    assert code(early) == (404, "NotFound")
    assert later.status_code == 201


async def test_a_team_needs_an_owner_and_a_unified_group(graph: httpx2.AsyncClient) -> None:
    group_id = (await graph.post("/groups", json=new_group())).json()["id"]

    without = await graph.put(f"/groups/{group_id}/team", json={})
    security = await graph.put(f"/groups/{INNER}/team", json={})

    assert [code(each) for each in (without, security)] == [(400, "BadRequest")] * 2


async def test_a_group_without_team(graph: httpx2.AsyncClient) -> None:
    paths = (f"/teams/{OUTER}", f"/teams/{OUTER}/channels", f"/teams/{OUTER}/members")

    assert {code(await graph.get(path)) for path in paths} == {(404, "NotFound")}


@pytest.mark.parametrize("path", ["team", "team/channels"])
async def test_teams_below_groups_need_another_permission(
    graph: httpx2.AsyncClient, fake: FakeMicrosoft365, path: str
) -> None:
    """The table has Group.Read.All alone for these paths, and for those below /teams also Group.ReadWrite.All."""
    refused = await graph.get(f"/groups/{PARTNERS}/{path}")
    fake.consent(str(TENANT), str(APP), ["Group.Read.All"])
    answer = await graph.get(f"/groups/{PARTNERS}/{path}", auth=FakeToken(fake))

    assert code(refused) == (403, "Authorization_RequestDenied")
    assert answer.status_code == 200


async def test_channels(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    path = f"/teams/{PARTNERS}/channels"
    created = await graph.post(path, json={"displayName": "Plans", "membershipType": "standard"})
    again = await graph.post(path, json={"displayName": "plans"})

    assert created.status_code == 201
    assert code(again)[0] == 400
    assert code(again)[1] in {"NameAlreadyExists", "BadRequest"}
    assert tenant.channel_names(str(PARTNERS)) == ["General", "Plans"]


async def test_a_deleted_channel_reserves_its_name(
    graph: httpx2.AsyncClient, fake: FakeMicrosoft365, tenant: Tenant, clock: Clock
) -> None:
    """microsoft-graph-docs issues 6168 and 6649; 30 days by README.md."""
    path, body = f"/teams/{PARTNERS}/channels", {"displayName": "Plans"}
    await graph.post(path, json=body)
    tenant.delete_channel(str(PARTNERS), "Plans")

    listed = await graph.get(f"{path}?$select=displayName")
    reserved = await graph.post(path, json=body)
    clock.wait(timedelta(days=30))
    free = await graph.post(path, json=body, auth=FakeToken(fake))

    assert [each["displayName"] for each in listed.json()["value"]] == ["General"]
    assert (reserved.status_code, free.status_code) == (400, 201)


@pytest.mark.parametrize("name", ["", "x" * 51, "a/b", "_a", "a:b"])
async def test_names_that_teams_refuses(graph: httpx2.AsyncClient, name: str) -> None:
    answer = await graph.post(f"/teams/{PARTNERS}/channels", json={"displayName": name})

    assert code(answer) == (400, "BadRequest")


async def test_members_in_bulk(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    values = [member(BEN), member(CLEO, "owner")]
    answer = await graph.post(f"/teams/{PARTNERS}/members/add", json={"values": values})
    listed = await graph.get(f"/teams/{PARTNERS}/members")

    assert answer.status_code == 200
    assert {each["error"] for each in answer.json()["value"]} == {None}
    roles = {each["userId"]: each["roles"] for each in listed.json()["value"]}
    assert roles[str(CLEO)] == roles[str(ADA)] == ["owner"]
    assert (roles[str(BEN)], roles[str(HANA)]) == ([], ["guest"])
    assert tenant.owner_ids(str(PARTNERS)) == {str(ADA), str(CLEO)}


async def test_207_names_the_members_that_were_not_added(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    """conversationmembers-add.md, example 2."""
    path = f"/teams/{PARTNERS}/members/add"
    unknown = await graph.post(path, json={"values": [member(NOBODY), member(BEN)]})
    tenant.faults.plan(Fault.MEMBER_NOT_ADDED)
    fault = await graph.post(path, json={"values": [member(CLEO)]})

    assert (unknown.status_code, fault.status_code) == (207, 207)
    errors = {each["userId"]: each["error"] for each in unknown.json()["value"]}
    assert errors == {str(NOBODY): {"code": "NotFound", "message": ""}, str(BEN): None}
    assert str(BEN) in tenant.member_ids(str(PARTNERS))
    assert str(CLEO) not in tenant.member_ids(str(PARTNERS))


async def test_one_member(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    answer = await graph.post(f"/teams/{PARTNERS}/members", json=member(BEN))

    assert answer.status_code == 201
    assert answer.json()["userId"] == str(BEN)
    assert str(BEN) in tenant.member_ids(str(PARTNERS))


async def test_members_of_a_dynamic_team(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    """microsoft-graph-docs issue 12712."""
    tenant.add_team(str(VISITORS))

    answer = await graph.post(f"/teams/{VISITORS}/members", json=member(BEN))

    assert code(answer) == (403, "Forbidden")


async def test_teams_sees_members_of_the_group_later(graph: httpx2.AsyncClient, tenant: Tenant, clock: Clock) -> None:
    tenant.lags = Lags(teams=timedelta(minutes=5))
    await graph.patch(f"/groups/{PARTNERS}", json={"members@odata.bind": [reference(BEN)]})

    early = (await graph.get(f"/teams/{PARTNERS}/members")).json()["value"]
    clock.wait(timedelta(minutes=5))
    later = (await graph.get(f"/teams/{PARTNERS}/members")).json()["value"]

    assert str(BEN) not in {each["userId"] for each in early}
    assert str(BEN) in {each["userId"] for each in later}
