# SPDX-License-Identifier: Apache-2.0
"""Writes of teams, channels, team members and guest settings over HTTP."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from tests.embedded.directory.sample_data import ADA, BEN, CLEO, HANDBOOK, STAFF, ZOE
from tests.embedded.directory.writes.graph import Graph, code_of

GUESTS = "08d542b9-071f-4e16-94b0-74abb372e3d9"
TEAM = {
    "memberSettings": {"allowCreateUpdateChannels": True},
    "funSettings": {"allowGiphy": True, "giphyContentRating": "strict"},
}


async def make_team(graph: Graph) -> str:
    group_id = await graph.make_group(**{"owners@odata.bind": [graph.url(ADA)]})
    assert (await graph.send("PUT", f"/groups/{group_id}/team", TEAM)).status_code == 201
    return group_id


async def test_it_gives_a_group_a_team(graph: Graph) -> None:
    group_id = await graph.make_group()
    ownerless = await graph.send("PUT", f"/groups/{group_id}/team", TEAM)
    await graph.send("POST", f"/groups/{group_id}/owners/$ref", graph.reference(ADA))

    answer = await graph.send("PUT", f"/groups/{group_id}/team", TEAM)
    again = await graph.send("PUT", f"/groups/{group_id}/team", TEAM)

    assert code_of(ownerless) == (400, "Request_BadRequest")
    assert (answer.status_code, answer.json()["id"]) == (201, group_id)
    assert code_of(again) == (409, "Conflict")
    assert (await graph.get(f"/groups/{group_id}"))["resourceProvisioningOptions"] == ["Team"]
    assert answer.json() == await graph.get(f"/teams/{group_id}")


async def test_it_creates_channels(graph: Graph) -> None:
    team_id = await make_team(graph)

    answer = await graph.send("POST", f"/teams/{team_id}/channels", {"displayName": "Plans", "description": "Drafts"})
    taken = await graph.send("POST", f"/groups/{team_id}/team/channels", {"displayName": "plans"})

    assert answer.status_code == 201
    assert (answer.json()["displayName"], answer.json()["description"]) == ("Plans", "Drafts")
    assert code_of(taken) == (400, "Request_BadRequest")
    channels = await graph.get(f"/teams/{team_id}/channels")
    assert isinstance(channels["value"], list)
    assert [each["displayName"] for each in channels["value"]] == ["General", "Plans"]


@pytest.mark.parametrize(
    "body",
    [{}, {"displayName": ""}, {"displayName": "a/b"}, {"displayName": "x" * 51}, {"displayName": "A", "owner": "x"},
     {"displayName": "A", "membershipType": "private"}],
)  # fmt: skip
async def test_it_refuses_an_invalid_channel(graph: Graph, body: object) -> None:
    team_id = await make_team(graph)

    assert code_of(await graph.send("POST", f"/teams/{team_id}/channels", body)) == (400, "Request_BadRequest")


async def test_a_group_without_a_team_has_no_channels(graph: Graph) -> None:
    for path in (f"/teams/{STAFF}/channels", f"/teams/{STAFF}/members"):
        answer = await graph.send("POST", path, {"displayName": "A"} if "channels" in path else member(graph, str(BEN)))
        assert code_of(answer) == (404, "NotFound")


def member(graph: Graph, user_id: str, *roles: str) -> dict[str, object]:
    return {
        "@odata.type": "#microsoft.graph.aadUserConversationMember",
        "roles": list(roles),
        "user@odata.bind": f"{graph.served.graph_url}/v1.0/users('{user_id}')",
    }


async def test_it_adds_team_members(graph: Graph) -> None:
    team_id = await make_team(graph)

    one = await graph.send("POST", f"/teams/{team_id}/members", member(graph, str(BEN), "owner"))
    members = {"values": [member(graph, str(BEN)), member(graph, "cleo@house.example")]}
    all_added = await graph.send("POST", f"/teams/{team_id}/members/add", members)
    members = {"values": [member(graph, str(ZOE)), member(graph, str(ADA))]}
    some_added = await graph.send("POST", f"/teams/{team_id}/members/add", members)

    assert (one.status_code, one.json()["userId"], one.json()["roles"]) == (201, str(BEN), ["owner"])
    assert (all_added.status_code, [each["error"] for each in all_added.json()["value"]]) == (200, [None, None])
    results = {each["userId"]: each["error"] and each["error"]["code"] for each in some_added.json()["value"]}
    assert (some_added.status_code, results) == (207, {str(ZOE): "NotFound", str(ADA): None})
    assert await graph.ids(f"/groups/{team_id}/owners") == [str(ADA), str(BEN)]
    assert await graph.ids(f"/groups/{team_id}/members") == [str(ADA), str(BEN), str(CLEO)]


async def test_owners_of_a_team_need_another_permission(graph: Graph) -> None:
    team_id = await make_team(graph)
    restricted = replace(graph, permissions="TeamMember.ReadWriteNonOwnerRole.All")

    answers = [
        await restricted.send("POST", f"/teams/{team_id}/members", member(graph, str(BEN), *roles))
        for roles in ([], ["owner"])
    ]

    assert [answer.status_code for answer in answers] == [201, 403]


async def test_it_writes_guest_settings(graph: Graph) -> None:
    group_id = await graph.make_group()
    path = f"/groups/{group_id}/settings"

    made = await graph.send(
        "POST", path, {"templateId": GUESTS, "values": [{"name": "AllowToAddGuests", "value": "False"}]}
    )
    again = await graph.send("POST", path, {"templateId": GUESTS, "values": []})
    settings_id = made.json()["id"]
    change = {"values": [{"name": "AllowToAddGuests", "value": "true"}]}
    changed = await graph.send("PATCH", f"{path}/{settings_id}", change)

    assert made.status_code == 201
    assert made.json()["values"][0] == {"name": "AllowToAddGuests", "value": "false"}
    assert code_of(again) == (400, "Request_BadRequest")
    assert changed.status_code == 204
    [settings] = (await graph.send("GET", path)).json()["value"]
    assert (settings["id"], settings["values"][0]["value"]) == (settings_id, "true")
    removed = [await graph.send("DELETE", f"{path}/{settings_id}") for _ in range(2)]
    assert [each.status_code for each in removed] == [204, 404]
    assert (await graph.get(path))["value"] == []


async def test_settings_that_are_deleted_at_once_are_missing(graph: Graph) -> None:
    path = f"/groups/{await graph.make_group()}/settings"
    body = {"templateId": GUESTS, "values": [{"name": "AllowToAddGuests", "value": "false"}]}
    settings_id = (await graph.send("POST", path, body)).json()["id"]

    answers = await asyncio.gather(
        *(graph.send("POST", path, body) for _ in range(40)),
        *(graph.send("DELETE", f"{path}/{settings_id}") for _ in range(40)),
    )

    assert {answer.status_code for answer in answers} <= {201, 204, 400, 404}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"templateId": GUESTS},
        {"templateId": str(uuid4()), "values": []},
        {"templateId": GUESTS, "values": [{"name": "AllowToAddGuests", "value": "perhaps"}]},
        {"templateId": GUESTS, "values": [{"name": "AllowToAddGuests", "value": True}]},
        {"templateId": GUESTS, "values": [{"name": "AllowGuests", "value": "true"}]},
    ],
)
async def test_it_refuses_invalid_settings(graph: Graph, body: object) -> None:
    answer = await graph.send("POST", f"/groups/{HANDBOOK}/settings", body)

    assert code_of(answer) == (400, "Request_BadRequest")
    assert (await graph.get(f"/groups/{HANDBOOK}/settings"))["value"] == []


async def test_settings_of_another_id_do_not_exist(graph: Graph) -> None:
    for method, body in (("PATCH", {"values": []}), ("DELETE", None)):
        answer = await graph.send(method, f"/groups/{HANDBOOK}/settings/{uuid4()}", body)
        assert code_of(answer) == (404, "Request_ResourceNotFound")
