# SPDX-License-Identifier: Apache-2.0
from collections.abc import AsyncIterator

import pytest

from chamberlain.embedded import postgres
from chamberlain.embedded.directory.graph.products import plan_id, product_id
from tests.embedded.directory.conftest import OwnServer, Served, open_server
from tests.embedded.directory.mailboxes import HELP, create_mailboxes
from tests.embedded.directory.sample_data import ADA, CLEO, ZOE


@pytest.fixture(scope="module")
async def with_mailboxes(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_server(postgres_server) as own_server:
        await create_mailboxes(own_server.databases.worker.pool)
        yield own_server.served


@pytest.mark.parametrize("name", [str(ADA), "ada@house.example", "ADA%40house.example"])
async def test_it_works(served: Served, name: str) -> None:
    answer = await served.get(f"/v1.0/users/{name}", whose="house-users")

    assert answer.status_code == 200
    body = answer.json()
    assert body["@odata.context"] == f"{served.graph_url}/v1.0/$metadata#users/$entity"
    assert (body["id"], body["displayName"], body["givenName"]) == (str(ADA), "Ada Achterberg", "Ada")
    assert "accountEnabled" not in body


async def test_it_shows_a_mailbox_as_a_disabled_user(with_mailboxes: Served) -> None:
    query = "$select=id,accountEnabled,city,department,createdDateTime,house_mailbox"
    body = (await with_mailboxes.get(f"/v1.0/users/help@house.example?{query}", whose="house-users")).json()

    assert body.pop("createdDateTime").endswith("Z")
    assert body == {
        "@odata.context": f"{with_mailboxes.graph_url}/v1.0/$metadata#users({query.removeprefix('$select=')})/$entity",
        "id": str(HELP),
        "accountEnabled": False,
        "city": "Basel",
        "department": "Service",
        "house_mailbox": {"requestId": "HELP-1"},
    }


async def test_it_shows_the_calling_user(served: Served) -> None:
    me = await served.get("/v1.0/me?$select=id,department", whose="ada")

    assert (me.status_code, me.json()["id"], me.json()["department"]) == (200, str(ADA), "Sales")
    assert (await served.get("/v1.0/me/licenseDetails", whose="ada")).json()["value"] == []
    assert (await served.get("/v1.0/me/mailboxSettings", whose="ada")).json()["userPurpose"] == "user"


@pytest.mark.parametrize(("whose", "status"), [("house-users", 400), ("ada-elsewhere", 403)])
async def test_me_requires_a_user_token_for_this_directory(served: Served, whose: str, status: int) -> None:
    assert (await served.get("/v1.0/me", whose=whose)).status_code == status


@pytest.mark.parametrize("name", [str(ZOE), "zoe@other.example", "nobody", "all-staff@house.example", "%00", "x%ff"])
@pytest.mark.parametrize("rest", ["", "/licenseDetails", "/mailboxSettings"])
async def test_it_rejects_an_unknown_user(served: Served, name: str, rest: str) -> None:
    answer = await served.get(f"/v1.0/users/{name}{rest}", whose="house-users")

    assert answer.status_code == 404


async def test_it_rejects_an_alias_as_the_name_of_a_user(with_mailboxes: Served) -> None:
    assert (await with_mailboxes.get("/v1.0/users/support@house.example", whose="house-users")).status_code == 404


async def test_it_shows_licenses_with_their_plans(own_server: OwnServer) -> None:
    await own_server.databases.worker.pool.execute(
        "INSERT INTO directory.licenses (tenant_id, user_id, sku_part_number) "
        "SELECT tenant_id, id, 'BUSINESS' FROM directory.users WHERE id = $1",
        CLEO,
    )
    await own_server.databases.worker.pool.execute(
        "INSERT INTO directory.service_plans (tenant_id, user_id, sku_part_number, service_plan_name, "
        "provisioning_status) SELECT tenant_id, id, 'BUSINESS', plan, 'Success' "
        "FROM directory.users, unnest(ARRAY['TEAMS1', 'MAIL1']) AS plan WHERE id = $1",
        CLEO,
    )

    [license] = (await own_server.served.get(f"/v1.0/users/{CLEO}/licenseDetails", whose="house-users")).json()["value"]  # noqa: A001 - its name.

    assert (license["skuPartNumber"], license["skuId"]) == ("BUSINESS", str(product_id("BUSINESS")))
    assert license["servicePlans"] == [
        {
            "servicePlanId": str(plan_id(name)),
            "servicePlanName": name,
            "provisioningStatus": "Success",
            "appliesTo": "User",
        }
        for name in ("MAIL1", "TEAMS1")
    ]


async def test_it_shows_the_last_sign_in_if_it_is_selected(own_server: OwnServer) -> None:
    await own_server.databases.worker.pool.execute(
        "UPDATE directory.users SET last_seen_at = '2026-11-01T08:00:00Z' WHERE id = $1", ADA
    )

    users = (await own_server.served.get("/v1.0/users?$select=id,signInActivity", whose="house-users")).json()["value"]
    plain = (await own_server.served.get(f"/v1.0/users/{ADA}", whose="house-users")).json()

    found = {user["id"]: user["signInActivity"] for user in users}
    assert found[str(ADA)] == {"lastSignInDateTime": "2026-11-01T08:00:00Z"}
    assert found[str(CLEO)] is None
    assert "signInActivity" not in plain
