# SPDX-License-Identifier: Apache-2.0
"""Writes of users over HTTP."""

from dataclasses import replace
from uuid import uuid4

import pytest

from chamberlain.embedded.directory.graph.products import plan_id, product_id
from tests.databases import Databases
from tests.embedded.directory.sample_data import ADA, BEN, CLEO, HOUSE, SALES, STAFF, ZOE
from tests.embedded.directory.writes.graph import Graph, code_of, user_body


async def test_it_creates_a_user(graph: Graph) -> None:
    body = {**user_body(), "department": "Sales", "mail": f"{uuid4()}@house.example", "usageLocation": "CH"}

    answer = await graph.send("POST", "/users", body)

    assert answer.status_code == 201
    shape = answer.json()
    assert answer.headers["location"] == f"{graph.served.graph_url}/v1.0/users/{shape['id']}"
    assert (shape["displayName"], shape["mail"]) == ("Eve Duran", body["mail"])
    assert shape == await graph.get(f"/users/{body['userPrincipalName']}")
    more = await graph.get(f"/users/{shape['id']}?$select=department,usageLocation,accountEnabled,userType")
    assert (more["department"], more["usageLocation"], more["accountEnabled"], more["userType"]) == (
        "Sales",
        "CH",
        True,
        "Member",
    )
    assert shape["id"] in await graph.ids(f"/groups/{SALES}/members")


async def test_it_changes_a_user(graph: Graph) -> None:
    user_id = await graph.make_user(department="Sales", jobTitle="Clerk")

    change = {"department": None, "displayName": "Eve D.", "accountEnabled": False}
    answer = await graph.send("PATCH", f"/users/{user_id}", change)

    assert (answer.status_code, answer.content) == (204, b"")
    shape = await graph.get(f"/users/{user_id}?$select=department,displayName,jobTitle,accountEnabled")
    assert {name: shape[name] for name in ("department", "displayName", "jobTitle", "accountEnabled")} == {
        **change,
        "jobTitle": "Clerk",
    }
    assert user_id not in await graph.ids(f"/groups/{SALES}/members")


async def test_it_creates_guests_and_disables_them(graph: Graph) -> None:
    name = f"gina_{uuid4().hex}_partner.example#EXT#@house.example"
    user_id = await graph.make_user(userType="Guest", userPrincipalName=name, mail=f"{uuid4()}@partner.example")
    disabling = replace(graph, permissions="User.EnableDisableAccount.All")

    more = await disabling.send("PATCH", f"/users/{user_id}", {"accountEnabled": False, "department": "X"})
    answer = await disabling.send("PATCH", f"/users/{user_id}", {"accountEnabled": False})
    revoked = await graph.send("POST", f"/users/{user_id}/revokeSignInSessions")

    assert [code_of(more), answer.status_code] == [(403, "Authorization_RequestDenied"), 204]
    assert revoked.json()["value"] is True
    shape = await graph.get(f"/users/{user_id}?$select=userType,accountEnabled,department")
    assert (shape["userType"], shape["accountEnabled"], shape["department"]) == ("Guest", False, None)


async def test_it_deletes_a_user(graph: Graph) -> None:
    user_id = await graph.make_user()
    await graph.send("POST", f"/groups/{STAFF}/members/$ref", graph.reference(user_id))

    assert (await graph.send("DELETE", f"/users/{user_id}")).status_code == 204

    assert code_of(await graph.send("DELETE", f"/users/{user_id}")) == (404, "Request_ResourceNotFound")
    assert user_id not in await graph.ids(f"/groups/{STAFF}/members")


async def test_it_sets_and_removes_a_manager(graph: Graph) -> None:
    user_id = await graph.make_user()

    answer = await graph.send("PUT", f"/users/{user_id}/manager/$ref", graph.reference(BEN))
    manager = await graph.get(f"/users/{user_id}/manager?$select=id")
    removed = [await graph.send("DELETE", f"/users/{user_id}/manager/$ref") for _ in range(2)]

    assert (answer.status_code, manager["id"]) == (204, str(BEN))
    assert [each.status_code for each in removed] == [204, 404]


async def test_it_assigns_licenses(graph: Graph, stored: Databases) -> None:
    """The tenant has the products that its users have."""
    async with stored.worker.pool.acquire() as connection:
        await connection.execute("INSERT INTO directory.licenses VALUES ($1, $2, 'E3')", HOUSE, ADA)
        plans = "INSERT INTO directory.service_plans VALUES ($1, $2, $3, 'E3', 'Success')"
        await connection.execute(plans, HOUSE, ADA, "TEAMS1")
        await connection.execute(plans, HOUSE, ADA, "EXCHANGE")
    user_id = await graph.make_user()
    held_license = {"skuId": str(product_id("E3")), "disabledPlans": [str(plan_id("EXCHANGE"))]}

    answer = await graph.send(
        "POST", f"/users/{user_id}/assignLicense", {"addLicenses": [held_license], "removeLicenses": []}
    )

    assert (answer.status_code, answer.json()["id"]) == (200, user_id)
    details = await graph.get(f"/users/{user_id}/licenseDetails")
    assert isinstance(details["value"], list)
    [held] = details["value"]
    assert held["skuId"] == str(product_id("E3"))
    assert [(plan["servicePlanName"], plan["provisioningStatus"]) for plan in held["servicePlans"]] == [
        ("EXCHANGE", "Disabled"),
        ("TEAMS1", "Success"),
    ]
    shape = await graph.get(f"/users/{user_id}?$select=id,assignedLicenses,assignedPlans")
    assert shape["assignedLicenses"] == [{"skuId": str(product_id("E3")), "disabledPlans": [str(plan_id("EXCHANGE"))]}]
    assert isinstance(shape["assignedPlans"], list)
    assert [(plan["service"], plan["capabilityStatus"]) for plan in shape["assignedPlans"]] == [
        ("EXCHANGE", "Deleted"),
        ("TEAMS1", "Enabled"),
    ]
    removal = {"addLicenses": [], "removeLicenses": [str(product_id("E3"))]}
    removed = [await graph.send("POST", f"/users/{user_id}/assignLicense", removal) for _ in range(2)]
    unknown = {"addLicenses": [{"skuId": str(uuid4())}], "removeLicenses": []}
    refused = await graph.send("POST", f"/users/{user_id}/assignLicense", unknown)
    assert [each.status_code for each in (*removed, refused)] == [200, 400, 400]


INVALID: list[tuple[dict[str, object], str]] = [
    ({"accountEnabled": None}, "accountEnabled"),
    ({"accountEnabled": "yes"}, "accountEnabled"),
    ({"passwordProfile": None}, "passwordProfile"),
    ({"passwordProfile": {"password": ""}}, "passwordProfile"),
    ({"userPrincipalName": "no address"}, "userPrincipalName"),
    ({"userPrincipalName": "ada@house.example"}, "userPrincipalName"),
    ({"mail": "ALL-STAFF@house.example"}, "mail"),
    ({"userType": "Visitor"}, "userType"),
    ({"department": 3}, "department"),
    ({"department": "x" * 65}, "department"),
    ({"usageLocation": "Switzerland"}, "usageLocation"),
    ({"assignedPlans": []}, "assignedPlans"),
    ({"favouriteColour": "red"}, "favouriteColour"),
]


@pytest.mark.parametrize(("change", "target"), INVALID)
async def test_it_refuses_an_invalid_user(
    graph: Graph, stored: Databases, change: dict[str, object], target: str
) -> None:
    before = await stored.worker.pool.fetchval("SELECT count(*) FROM directory.users")

    answer = await graph.send("POST", "/users", {**user_body(), **change})

    assert code_of(answer) == (400, "Request_BadRequest")
    assert [each["target"] for each in answer.json()["error"]["details"]] == [target]
    assert await stored.worker.pool.fetchval("SELECT count(*) FROM directory.users") == before


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", f"/users/{ZOE}", {"department": "X"}),
        ("PATCH", "/users/zoe@other.example", {"department": "X"}),
        ("DELETE", f"/users/{ZOE}", None),
        ("PUT", f"/users/{ZOE}/manager/$ref", {"@odata.id": f"https://x/v1.0/users/{ADA}"}),
        ("PUT", f"/users/{ADA}/manager/$ref", {"@odata.id": f"https://x/v1.0/users/{ZOE}"}),
        ("PUT", f"/users/{ADA}/manager/$ref", {"@odata.id": f"https://x/v1.0/groups/{STAFF}"}),
        ("POST", f"/users/{ZOE}/assignLicense", {"addLicenses": [], "removeLicenses": []}),
        ("POST", f"/users/{ZOE}/revokeSignInSessions", None),
    ],
)
async def test_users_of_other_tenants_do_not_exist(graph: Graph, method: str, path: str, body: object) -> None:
    answer = await graph.send(method, path, body)

    assert code_of(answer) == (404, "Request_ResourceNotFound")


@pytest.mark.parametrize(
    ("permission", "method", "path", "body"),
    [
        ("User.ReadWrite.All", "PATCH", f"/users/{CLEO}", {"city": "Bern"}),
        ("Directory.ReadWrite.All", "PATCH", f"/users/{CLEO}", {"city": "Bern"}),
        ("LicenseAssignment.ReadWrite.All", "POST", f"/users/{CLEO}/assignLicense",
         {"addLicenses": [], "removeLicenses": []}),
        ("User.RevokeSessions.All", "POST", f"/users/{CLEO}/revokeSignInSessions", None),
    ],
)  # fmt: skip
async def test_the_least_permission_is_sufficient_and_no_other(
    graph: Graph, permission: str, method: str, path: str, body: object
) -> None:
    refused = await replace(graph, permissions="User.Read.All+Group.ReadWrite.All").send(method, path, body)
    answer = await replace(graph, permissions=permission).send(method, path, body)

    assert code_of(refused) == (403, "Authorization_RequestDenied")
    assert answer.is_success
