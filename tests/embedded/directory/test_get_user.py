from collections.abc import AsyncIterator

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import Houses, Served, open_houses
from tests.embedded.directory.houses import ADA, CLEO, ZOE
from tests.embedded.directory.mailboxes import HELP, furnish


@pytest.fixture(scope="module")
async def furnished(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_houses(postgres_server) as houses:
        await furnish(houses.databases.worker.pool)
        yield houses.served


@pytest.mark.parametrize("name", [str(ADA), "ada@house.example", "ADA%40house.example"])
async def test_it_works(served: Served, name: str) -> None:
    answer = await served.get(f"/v1.0/users/{name}", whose="house-users")

    assert answer.status_code == 200
    body = answer.json()
    assert body["@odata.context"] == f"{served.graph_url}/v1.0/$metadata#users/$entity"
    assert (body["id"], body["displayName"], body["givenName"]) == (str(ADA), "Ada Achterberg", "Ada")
    assert "accountEnabled" not in body


async def test_it_shows_the_user_of_a_mailbox_who_cannot_sign_in(furnished: Served) -> None:
    query = "$select=id,accountEnabled,city,department,createdDateTime,house_mailbox"
    body = (await furnished.get(f"/v1.0/users/help@house.example?{query}", whose="house-users")).json()

    assert body.pop("createdDateTime").endswith("Z")
    assert body == {
        "@odata.context": f"{furnished.graph_url}/v1.0/$metadata#users({query.removeprefix('$select=')})/$entity",
        "id": str(HELP),
        "accountEnabled": False,
        "city": "Basel",
        "department": "Service",
        "house_mailbox": {"requestId": "HELP-1"},
    }


async def test_it_shows_whoever_calls(served: Served) -> None:
    me = await served.get("/v1.0/me?$select=id,department", whose="ada")

    assert (me.status_code, me.json()["id"], me.json()["department"]) == (200, str(ADA), "Sales")
    assert (await served.get("/v1.0/me/licenseDetails", whose="ada")).json()["value"] == []
    assert (await served.get("/v1.0/me/mailboxSettings", whose="ada")).json()["userPurpose"] == "user"


@pytest.mark.parametrize(("whose", "status"), [("house-users", 400), ("ada-elsewhere", 403)])
async def test_it_rejects_a_program_and_a_token_for_something_else(served: Served, whose: str, status: int) -> None:
    assert (await served.get("/v1.0/me", whose=whose)).status_code == status


@pytest.mark.parametrize("name", [str(ZOE), "zoe@other.example", "nobody", "all-staff@house.example", "%00", "x%ff"])
@pytest.mark.parametrize("rest", ["", "/licenseDetails", "/mailboxSettings"])
async def test_it_rejects_who_is_not_there(served: Served, name: str, rest: str) -> None:
    answer = await served.get(f"/v1.0/users/{name}{rest}", whose="house-users")

    assert answer.status_code == 404


async def test_it_rejects_an_alias_as_the_name_of_a_user(furnished: Served) -> None:
    assert (await furnished.get("/v1.0/users/support@house.example", whose="house-users")).status_code == 404


async def test_it_shows_licenses_with_their_plans(houses: Houses) -> None:
    await houses.databases.worker.pool.execute(
        "INSERT INTO directory.licenses (tenant_id, user_id, sku_part_number) "
        "SELECT tenant_id, id, 'BUSINESS' FROM directory.users WHERE id = $1",
        CLEO,
    )
    await houses.databases.worker.pool.execute(
        "INSERT INTO directory.service_plans (tenant_id, user_id, sku_part_number, service_plan_name, "
        "provisioning_status) SELECT tenant_id, id, 'BUSINESS', plan, 'Success' "
        "FROM directory.users, unnest(ARRAY['TEAMS1', 'MAIL1']) AS plan WHERE id = $1",
        CLEO,
    )

    [license] = (await houses.served.get(f"/v1.0/users/{CLEO}/licenseDetails", whose="house-users")).json()["value"]  # noqa: A001 - its name.

    assert license["skuPartNumber"] == "BUSINESS"
    assert license["servicePlans"] == [
        {"servicePlanName": name, "provisioningStatus": "Success", "appliesTo": "User"} for name in ("MAIL1", "TEAMS1")
    ]
