# SPDX-License-Identifier: Apache-2.0
"""Writes of groups over HTTP."""

import asyncio
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from chamberlain.embedded.directory.changes import Changes
from tests.databases import Databases
from tests.embedded.directory.sample_data import ADA, BEN, CLEO, CREW, HANDBOOK, HOUSE, OTHERS, SALES, STAFF, ZOE
from tests.embedded.directory.writes.graph import Graph, code_of, group_body

UNKNOWN = UUID("00000000-0000-4000-8000-00000000dead")


async def test_it_creates_a_group(graph: Graph) -> None:
    body = group_body()
    answer = await graph.send(
        "POST",
        "/groups",
        {
            **body,
            "description": "At the front",
            "owners@odata.bind": [graph.url(ADA)],
            "members@odata.bind": [graph.url(ADA), f"https://graph.microsoft.com/v1.0/users('{BEN}')"],
            "house_group": {"requestId": "R-1"},
        },
    )

    assert answer.status_code == 201
    shape = answer.json()
    assert answer.headers["location"] == f"{graph.served.graph_url}/v1.0/groups/{shape['id']}"
    assert (shape["mail"], shape["visibility"]) == (f"{body['mailNickname']}@house.example", "Public")
    assert shape == {**await graph.get(f"/groups/{shape['id']}")}
    assert await graph.ids(f"/groups/{shape['id']}/owners") == [str(ADA)]
    assert await graph.ids(f"/groups/{shape['id']}/members") == [str(ADA), str(BEN)]
    assert await graph.ids("/groups?$filter=house_group/requestId eq 'r-1'") == [shape["id"]]


async def test_it_creates_security_and_dynamic_groups(graph: Graph) -> None:
    security = await graph.make_group(mailEnabled=False, securityEnabled=True, groupTypes=[])
    rule = 'user.department -eq "Sales"'
    dynamic = await graph.make_group(
        groupTypes=["Unified", "DynamicMembership"], membershipRule=rule, membershipRuleProcessingState="On"
    )

    assert (await graph.get(f"/groups/{security}"))["mail"] is None
    assert await graph.ids(f"/groups/{dynamic}/members") == [str(ADA), str(BEN)]
    answer = await graph.send("POST", f"/groups/{dynamic}/members/$ref", graph.reference(CLEO))
    assert code_of(answer) == (400, "Request_BadRequest")


async def test_the_user_who_creates_a_group_owns_it(graph: Graph) -> None:
    headers = {"Authorization": "Bearer ada-writer"}
    answer = await graph.served.http.post("/graph/v1.0/groups", headers=headers, json=group_body())

    assert await graph.ids(f"/groups/{answer.json()['id']}/owners") == [str(ADA)]


async def test_equal_values_are_no_change(graph: Graph) -> None:
    group_id = await graph.make_group(house_group={"requestId": "R-30"})
    changes = str((await graph.get("/groups/delta?$deltatoken=latest"))["@odata.deltaLink"]).partition("/v1.0")[2]

    await graph.send("PATCH", f"/groups/{group_id}", {"displayName": "Desk", "house_group": {"requestId": "R-30"}})
    same = await graph.ids(changes)
    await graph.send("PATCH", f"/groups/{group_id}", {"description": "At the front"})

    assert (same, await graph.ids(changes)) == ([], [group_id])


async def test_it_changes_a_group(graph: Graph) -> None:
    group_id = await graph.make_group(house_group={"requestId": "R-2", "templateId": "T"})
    change = {
        "displayName": "Front desk",
        "visibility": "Private",
        "description": None,
        "house_group": {"templateId": None, "policyId": "P"},
        "members@odata.bind": [graph.url(BEN)],
    }

    answer = await graph.send("PATCH", f"/groups/{group_id}", change)

    assert (answer.status_code, answer.content) == (204, b"")
    shape = await graph.get(f"/groups/{group_id}")
    assert (shape["displayName"], shape["visibility"]) == ("Front desk", "Private")
    assert shape["house_group"] == {"requestId": "R-2", "policyId": "P"}
    assert await graph.ids(f"/groups/{group_id}/members") == [str(BEN)]


async def test_it_deletes_a_group(graph: Graph, stored: Databases) -> None:
    group_id = await graph.make_group()
    cursor = (await Changes(stored.worker.pool).read(HOUSE, "house_group", None, most=500)).cursor

    assert (await graph.send("DELETE", f"/groups/{group_id}")).status_code == 204

    assert code_of(await graph.send("GET", f"/groups/{group_id}")) == (404, "Request_ResourceNotFound")
    assert code_of(await graph.send("DELETE", f"/groups/{group_id}")) == (404, "Request_ResourceNotFound")
    assert UUID(group_id) in (await Changes(stored.worker.pool).read(HOUSE, "house_group", cursor, most=500)).removed


async def test_it_adds_and_removes_owners_and_members(graph: Graph) -> None:
    group_id = await graph.make_group()
    for relation, one in (("owners", ADA), ("owners", BEN), ("members", ADA), ("members", CLEO)):
        answer = await graph.send("POST", f"/groups/{group_id}/{relation}/$ref", graph.reference(one))
        assert answer.status_code == 204

    for relation, one in (("owners", ADA), ("members", CLEO)):
        assert (await graph.send("DELETE", f"/groups/{group_id}/{relation}/{one}/$ref")).status_code == 204

    assert await graph.ids(f"/groups/{group_id}/owners") == [str(BEN)]
    assert await graph.ids(f"/groups/{group_id}/members") == [str(ADA)]
    last = await graph.send("DELETE", f"/groups/{group_id}/owners/{BEN}/$ref")
    twice = await graph.send("POST", f"/groups/{group_id}/members/$ref", graph.reference(ADA))
    gone = await graph.send("DELETE", f"/groups/{group_id}/members/{CLEO}/$ref")
    assert [code_of(last), code_of(twice), code_of(gone)] == [
        (400, "Request_BadRequest"),
        (400, "Request_BadRequest"),
        (404, "Request_ResourceNotFound"),
    ]


async def test_an_upsert_creates_a_group_once(graph: Graph) -> None:
    path = f"/groups(uniqueName='o''{uuid4()}')"
    body = {**group_body(), "owners@odata.bind": [graph.url(ADA)], "house_group": {"requestId": "R-3"}}

    missing = await graph.send("PATCH", path, body)
    answers = await asyncio.gather(*(graph.send("PATCH", path, body, prefer="create-if-missing") for _ in range(3)))
    renamed = await graph.send("PATCH", path.replace("(", "/("), {"displayName": "Renamed"})

    assert code_of(missing) == (404, "Request_ResourceNotFound")
    assert sorted(answer.status_code for answer in answers) == [201, 204, 204]
    [made] = [answer.json()["id"] for answer in answers if answer.status_code == 201]
    assert renamed.status_code == 204
    assert (await graph.get(f"/groups/{made}"))["displayName"] == "Renamed"
    assert await graph.ids("/groups?$filter=house_group/requestId eq 'R-3'") == [made]


async def test_a_unique_name_is_set_once(graph: Graph) -> None:
    first, second, name = await graph.make_group(), await graph.make_group(), str(uuid4())

    answers = [
        await graph.send("PATCH", f"/groups/{first}", {"uniqueName": name}),
        await graph.send("PATCH", f"/groups/{first}", {"uniqueName": "another"}),
        await graph.send("PATCH", f"/groups/{second}", {"uniqueName": name}),
    ]

    assert [answer.status_code for answer in answers] == [204, 400, 400]
    assert answers[2].json()["error"]["details"][0] == {
        "code": "ObjectConflict",
        "message": "Another object with the same value for property uniqueName already exists.",
        "target": "uniqueName",
    }


INVALID: list[tuple[dict[str, object], str | None]] = [
    ({f"a_{'b' * 127}": {"c": "d"}}, f"a_{'b' * 127}"),
    ({"displayName": None}, "displayName"),
    ({"displayName": 1}, "displayName"),
    ({"displayName": "x" * 257}, "displayName"),
    ({"displayName": "a\x00b"}, None),
    ({"mailNickname": "two words"}, "mailNickname"),
    ({"mailNickname": "all-staff"}, "mailNickname"),
    ({"mailEnabled": None}, "mailEnabled"),
    ({"securityEnabled": "false"}, "securityEnabled"),
    ({"groupTypes": ["Team"]}, "groupTypes"),
    ({"visibility": "Secret"}, "visibility"),
    ({"memberz": []}, "memberz"),
    ({"id": str(UNKNOWN)}, "id"),
    ({"membershipRule": "user.x"}, "membershipRule"),
    ({"groupTypes": ["Unified", "DynamicMembership"], "membershipRule": "user.x"}, "membershipRule"),
    ({"house_group": "R"}, "house_group"),
    ({"house_group": {"requestId": 1}}, "house_group"),
    ({"house_group": {"requestId": "x" * 257}}, "house_group"),
    ({"managers@odata.bind": []}, "managers@odata.bind"),
    ({"members@odata.bind": "x"}, "members@odata.bind"),
    ({"members@odata.bind": ["x"]}, "members@odata.bind"),
    ({"members@odata.bind": [f"https://x/v1.0/users/{number:08x}-0000-4000-8000-000000000000" for number in range(21)]},
     None),
    ({"members@odata.bind": [f"https://x/v1.0/groups/{CREW}"]}, "members"),
    ({"uniqueName": ""}, "uniqueName"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "target"), INVALID)
async def test_it_refuses_an_invalid_group(
    graph: Graph, stored: Databases, change: dict[str, object], target: str | None
) -> None:
    before = await stored.worker.pool.fetchval("SELECT count(*) FROM directory.groups")

    answer = await graph.send("POST", "/groups", {**group_body(), **change})

    assert code_of(answer) == (400, "Request_BadRequest")
    assert [each["target"] for each in answer.json()["error"].get("details", [])] == ([target] if target else [])
    assert await stored.worker.pool.fetchval("SELECT count(*) FROM directory.groups") == before


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"a":' * 100_000, b"\xff", b'"\\ud800"', b'{"displayName":"\\ud800"}']
)
@pytest.mark.parametrize("path", ["/groups", f"/groups/{CREW}/members/$ref", f"/groups/{CREW}/settings"])
async def test_it_refuses_a_body_that_is_no_json_object(graph: Graph, content: bytes, path: str) -> None:
    headers = {"Authorization": f"Bearer only:{graph.permissions}"}
    answer = await graph.served.http.post(f"/graph/v1.0{path}", headers=headers, content=content)

    assert code_of(answer) == (400, "Request_BadRequest")


async def test_it_refuses_a_long_body(graph: Graph) -> None:
    headers = {"Authorization": f"Bearer only:{graph.permissions}"}
    answer = await graph.served.http.post("/graph/v1.0/groups", headers=headers, content=b" " * (4 * 1024 * 1024 + 1))

    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", f"/groups/{OTHERS}", {"displayName": "X"}),
        ("DELETE", f"/groups/{OTHERS}", None),
        ("POST", f"/groups/{OTHERS}/members/$ref", {"@odata.id": f"https://x/v1.0/users/{ADA}"}),
        ("POST", f"/groups/{CREW}/members/$ref", {"@odata.id": f"https://x/v1.0/users/{ZOE}"}),
        ("POST", f"/groups/{CREW}/owners/$ref", {"@odata.id": f"https://x/v1.0/users/{UNKNOWN}"}),
        ("DELETE", f"/groups/{OTHERS}/members/{ZOE}/$ref", None),
        ("DELETE", f"/groups/{CREW}/members/{ADA}/$ref", None),
        ("PUT", f"/groups/{OTHERS}/team", {}),
        ("POST", f"/teams/{OTHERS}/channels", {"displayName": "X"}),
        ("POST", f"/groups/{OTHERS}/settings", {"templateId": "08d542b9-071f-4e16-94b0-74abb372e3d9", "values": []}),
    ],
)
async def test_objects_of_other_tenants_do_not_exist(
    graph: Graph, stored: Databases, method: str, path: str, body: object
) -> None:
    statement = "SELECT g.changed_in::text FROM directory.groups g WHERE g.id = $1"
    before = await stored.worker.pool.fetchval(statement, OTHERS)

    answer = await graph.send(method, path, body)

    assert code_of(answer) == (404, "Request_ResourceNotFound")
    assert await stored.worker.pool.fetchval(statement, OTHERS) == before


@pytest.mark.parametrize(
    ("permission", "method", "path", "body"),
    [
        ("Group.Create", "POST", "/groups", group_body()),
        ("GroupMember.ReadWrite.All", "POST", f"/groups/{HANDBOOK}/members/$ref",
         {"@odata.id": f"https://x/v1.0/directoryObjects/{ADA}"}),
        ("Directory.ReadWrite.All", "PATCH", f"/groups/{STAFF}", {"description": "All"}),
    ],
)  # fmt: skip
async def test_the_least_permission_is_sufficient_and_no_other(
    graph: Graph, permission: str, method: str, path: str, body: object
) -> None:
    refused = await replace(graph, permissions="Group.Read.All+User.ReadWrite.All").send(method, path, body)
    answer = await replace(graph, permissions=permission).send(method, path, body)

    assert code_of(refused) == (403, "Authorization_RequestDenied")
    assert answer.is_success


async def test_labels_need_a_user(graph: Graph) -> None:
    group_id = await graph.make_group()
    label = {"assignedLabels": [{"labelId": "internal"}]}

    refused = await graph.send("PATCH", f"/groups/{group_id}", label)
    headers = {"Authorization": "Bearer ada-writer"}
    answer = await graph.served.http.patch(f"/graph/v1.0/groups/{group_id}", headers=headers, json=label)

    assert code_of(refused) == (403, "Authorization_RequestDenied")
    assert answer.status_code == 204
    labels = await graph.get(f"/groups/{group_id}?$select=assignedLabels")
    assert labels["assignedLabels"] == [{"labelId": "internal", "displayName": "Internal"}]


async def test_a_group_with_a_rule_can_lose_it(graph: Graph) -> None:
    group_id = await graph.make_group()
    rule = {"groupTypes": ["Unified", "DynamicMembership"], "membershipRule": 'user.department -eq "Finance"'}
    assert (await graph.send("PATCH", f"/groups/{group_id}", rule)).status_code == 204
    assert await graph.ids(f"/groups/{group_id}/members") == [str(CLEO)]

    answer = await graph.send("PATCH", f"/groups/{group_id}", {"groupTypes": ["Unified"]})

    assert answer.status_code == 204
    assert (await graph.get(f"/groups/{group_id}"))["membershipRule"] is None
    assert await graph.ids(f"/groups/{group_id}/members") == [str(CLEO)]
    fixed = await graph.send("PATCH", f"/groups/{group_id}", {"mailEnabled": False})
    assert code_of(fixed) == (400, "Request_BadRequest")


async def test_other_methods_of_a_path_are_refused(graph: Graph) -> None:
    answer = await graph.send("PUT", f"/groups/{SALES}", {})
    unknown = await graph.send("POST", "/unknown", {})

    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, DELETE, PATCH, OPTIONS")
    assert unknown.status_code == 404


async def test_a_batch_writes(graph: Graph) -> None:
    body, name = group_body(), str(uuid4())
    parts = [
        {
            "id": "1",
            "method": "PATCH",
            "url": f"/groups(uniqueName='{name}')",
            "headers": {"Content-Type": "application/json", "Prefer": "create-if-missing"},
            "body": {**body, "owners@odata.bind": [graph.url(ADA)]},
        },
        {
            "id": "2",
            "method": "PATCH",
            "url": f"/groups(uniqueName='{name}')",
            "dependsOn": ["1"],
            "headers": {"Content-Type": "application/json"},
            "body": {"description": "Renamed"},
        },
        {"id": "3", "method": "DELETE", "url": f"/groups/{OTHERS}"},
    ]

    answer = await graph.send("POST", "/$batch", {"requests": parts})

    responses = {each["id"]: each for each in answer.json()["responses"]}
    assert {number: each["status"] for number, each in responses.items()} == {"1": 201, "2": 204, "3": 404}
    assert (await graph.get(f"/groups/{responses['1']['body']['id']}"))["description"] == "Renamed"


async def test_owners_of_a_new_group_need_a_permission_for_users(graph: Graph) -> None:
    body = {**group_body(), "owners@odata.bind": [graph.url(ADA)]}

    answers = [
        await replace(graph, permissions=permissions).send("POST", "/groups", body)
        for permissions in ("Group.Create", "Group.Create+User.Read.All")
    ]

    assert [answer.status_code for answer in answers] == [403, 201]
