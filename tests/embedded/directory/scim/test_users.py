# SPDX-License-Identifier: Apache-2.0
"""People by SCIM, in the tables of the directory."""

import asyncio

import pytest

from chamberlain.embedded.directory.database import one_transaction
from chamberlain.embedded.directory.scim.parameters import MOST_NAMES, SEARCH_SCHEMA
from chamberlain.embedded.directory.scim.schemas import ENTERPRISE, GROUP, USER, Json
from chamberlain.embedded.directory.writes import users as writes
from tests.embedded.directory.mailboxes import ROOM, create_mailboxes
from tests.embedded.directory.sample_data import ADA, BEN, CLEO, GIL, HOUSE, SALES, STAFF, ZOE
from tests.embedded.directory.scim.conftest import Said, Scim

EVE: Said = {
    "externalId": "hr-7",
    "name": {"givenName": "Eve", "familyName": "Okoro", "honorificPrefix": "Dr"},
    "title": "Counsel",
    "emails": [{"value": "eve@house.example", "type": "work"}, {"value": "eve@home.example", "type": "home"}],
    "phoneNumbers": [{"value": "+47 1", "type": "mobile"}],
    "addresses": [{"type": "work", "streetAddress": "Kai 1", "locality": "Oslo", "country": "NO"}],
    "preferredLanguage": "nb-NO",
    "timezone": "Europe/Oslo",
    ENTERPRISE: {"department": "Sales", "employeeNumber": "7", "costCenter": "c", "manager": {"value": str(ADA)}},
}


# Characters of three bytes that do not compress.
LONG = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(1024))


async def test_it_works(scim: Scim) -> None:
    created = await scim.create_user("eve@house.example", **EVE)

    path = f"/Users/{created['id']}"
    assert created == await scim.find(path)
    assert created["meta"]["location"] == f"{scim.root}{path}"
    assert {name: created[name] for name in EVE if name != ENTERPRISE} == {
        name: value for name, value in EVE.items() if name != ENTERPRISE
    }
    enterprise = {**EVE[ENTERPRISE], "manager": {"value": str(ADA), "$ref": f"{scim.root}/Users/{ADA}"}}
    assert created[ENTERPRISE] == enterprise
    assert created["active"] is True
    # The membership rule of the group selects the department.
    assert [one["value"] for one in created["groups"]] == [str(SALES)]
    row = await scim.databases.worker.pool.fetchrow(
        "SELECT display_name, mail, manager_id, account_enabled, properties ->> 'mobilePhone', properties ->> 'city' "
        "FROM directory.users WHERE tenant_id = $1 AND user_principal_name = 'eve@house.example'",
        HOUSE,
    )
    assert tuple(row or ()) == ("Eve Okoro", "eve@house.example", ADA, True, "+47 1", "Oslo")


async def test_a_user_of_the_directory_is_a_resource(shared_scim: Scim) -> None:
    shown = await shared_scim.find(f"/Users/{ADA}")

    assert (shown["userName"], shown["displayName"], shown["active"]) == ("ada@house.example", "Ada Achterberg", True)
    assert shown["name"] == {"givenName": "Ada"}
    assert shown["emails"] == [{"value": "ada@house.example", "type": "work"}]
    assert shown[ENTERPRISE] == {"department": "Sales"}
    assert [one["display"] for one in shown["groups"]] == ["All staff", "Sales"]
    assert (await shared_scim.find(f"/Users/{GIL}"))["userType"] == "Guest"
    assert (await shared_scim.find(f"/Users/{CLEO}"))["active"] is False


async def test_a_mailbox_and_a_user_of_another_tenant_are_no_resources(scim: Scim) -> None:
    await create_mailboxes(scim.databases.worker.pool)

    assert (await scim.send("GET", f"/Users/{ROOM}")).status_code == 404
    assert (await scim.send("GET", f"/Users/{ZOE}")).status_code == 404
    assert (await scim.send("GET", f"/Users/{ZOE}", whose="other")).status_code == 200
    assert (await scim.send("DELETE", f"/Users/{ZOE}")).status_code == 404
    assert {one["id"] for one in (await scim.find("/Users"))["Resources"]} == {
        str(one) for one in (ADA, BEN, CLEO, GIL)
    }


async def test_a_change_of_another_program_is_seen_and_the_rest_stays(scim: Scim) -> None:
    created = await scim.create_user("eve@house.example", **EVE)
    async with one_transaction(scim.databases.worker.pool) as connection:
        fields = writes.UserFields(
            mail="eve.okoro@house.example", surname="Holm", account_enabled=False, city="Bergen", department=None,
            mobile_phone="+47 2", office_location="Kai 2",
        )  # fmt: skip
        id_ = await connection.fetchval(
            "SELECT id FROM directory.users WHERE tenant_id = $1 AND user_principal_name = 'eve@house.example'", HOUSE
        )
        await writes.update_user(connection, HOUSE, id_, fields)

    shown = await scim.find(f"/Users/{created['id']}")

    assert shown["emails"] == [{"value": "eve.okoro@house.example", "type": "work"}, EVE["emails"][1]]
    assert shown["name"] == {"givenName": "Eve", "familyName": "Holm", "honorificPrefix": "Dr"}
    assert shown["addresses"] == [{**EVE["addresses"][0], "locality": "Bergen"}]
    assert shown["phoneNumbers"] == [{"value": "+47 2", "type": "mobile"}]
    assert (shown["active"], shown["timezone"], shown["displayName"]) == (False, "Europe/Oslo", "Eve Okoro")
    assert "department" not in shown[ENTERPRISE]
    assert shown["meta"]["version"] != created["meta"]["version"]

    await scim.patch(f"/Users/{created['id']}", {"op": "replace", "path": "title", "value": "Partner"})
    kept = await scim.databases.worker.pool.fetchval(
        "SELECT properties FROM directory.users WHERE tenant_id = $1 AND id = $2", HOUSE, id_
    )
    assert '"officeLocation": "Kai 2"' in kept
    assert (await scim.find(f"/Users/{created['id']}"))["emails"] == shown["emails"]


async def test_put_replaces_the_whole_user(scim: Scim) -> None:
    created = await scim.create_user("eve@house.example", **EVE)
    path = f"/Users/{created['id']}"

    answer = await scim.send("PUT", path, {"schemas": [USER], "userName": "eve.holm@house.example", "active": False})

    after = await scim.find(path)
    assert answer.json() == after
    assert (after["userName"], after["active"]) == ("eve.holm@house.example", False)
    assert not {"emails", "name", "title", ENTERPRISE, "externalId"} & after.keys()
    # The old name is free.
    assert (await scim.create_user("eve@house.example"))["active"] is True


async def test_a_user_is_disabled_and_deleted(scim: Scim) -> None:
    created = await scim.create_user("eve@house.example", **EVE)
    path = f"/Users/{created['id']}"

    disabled = await scim.patch(path, {"op": "Replace", "path": "active", "value": "False"})
    assert (disabled.status_code, disabled.json()["active"]) == (200, False)

    assert (await scim.send("DELETE", path)).status_code == 204
    assert (await scim.send("GET", path)).status_code == 404
    assert (await scim.send("DELETE", path)).status_code == 404
    assert (await scim.find("/Users", filter='externalId eq "hr-7"'))["totalResults"] == 0


@pytest.mark.parametrize("name", ["ADA@house.example", "all-staff@house.example"])
async def test_a_taken_user_name_is_refused(shared_scim: Scim, name: str) -> None:
    answer = await shared_scim.send("POST", "/Users", {"schemas": [USER], "userName": name})

    assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")
    assert answer.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert answer.json()["status"] == "409"


async def test_of_many_calls_with_one_user_name_one_succeeds(scim: Scim) -> None:
    calls = [scim.send("POST", "/Users", {"schemas": [USER], "userName": "eve@house.example"}) for _ in range(8)]

    statuses = sorted(answer.status_code for answer in await asyncio.gather(*calls))

    assert statuses == [201, *[409] * 7]


async def test_an_unknown_manager_is_refused_and_nothing_is_created(shared_scim: Scim) -> None:
    manager = {ENTERPRISE: {"manager": {"value": str(ZOE)}}}
    answer = await shared_scim.send("POST", "/Users", {"schemas": [USER], "userName": "eve@house.example", **manager})

    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")
    assert (await shared_scim.find("/Users", filter='userName eq "eve@house.example"'))["totalResults"] == 0


async def test_a_change_for_another_version_is_refused(scim: Scim) -> None:
    created = await scim.create_user("eve@house.example")
    path, version = f"/Users/{created['id']}", created["meta"]["version"]
    body = {"schemas": [USER], "userName": "eve@house.example", "title": "Counsel"}

    first = await scim.send("PUT", path, body, If_Match=version)
    second = await scim.send("PUT", path, body, If_Match=version)
    deleted = await scim.send("DELETE", path, If_Match=version)
    read = await scim.send("GET", path, If_None_Match=first.headers["etag"])

    assert [one.status_code for one in (first, second, deleted, read)] == [200, 412, 412, 304]
    assert (await scim.send("DELETE", path, If_Match=first.headers["etag"])).status_code == 204


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (f'id eq "{ADA}"', [ADA]),
        ('id eq "no id"', []),
        ('userName eq "ADA@house.example"', [ADA]),
        ('userName eq "all-staff@house.example"', []),
        ('emails eq "ben@house.example"', [BEN]),
        ('emails[type eq "work" and value sw "ben"]', [BEN]),
        (f'{ENTERPRISE}:department eq "sales"', [ADA, BEN]),
        ("active eq false", [CLEO]),
        ('userType eq "Guest" or active eq false', [CLEO, GIL]),
        (f'groups.value eq "{STAFF}"', [ADA, BEN]),
        ('groups.display eq "Sales" and not (userName sw "ada")', [BEN]),
        ('meta.lastModified gt "2020-01-01T00:00:00Z"', []),
    ],
)
async def test_users_are_found_by_a_filter(shared_scim: Scim, written: str, found: list[object]) -> None:
    page = await shared_scim.find("/Users", filter=written)

    assert [one["id"] for one in page["Resources"]] == [str(one) for one in found]
    assert page["totalResults"] == len(found)


async def test_pages_and_orders(shared_scim: Scim) -> None:
    second = await shared_scim.find("/Users", startIndex="2", count="2")
    assert (second["totalResults"], second["startIndex"], second["itemsPerPage"]) == (4, 2, 2)
    assert [one["id"] for one in second["Resources"]] == [str(BEN), str(CLEO)]

    descending = await shared_scim.find("/Users", sortBy="userName", sortOrder="descending", count="3", startIndex="0")
    assert [one["id"] for one in descending["Resources"]] == [str(GIL), str(CLEO), str(BEN)]

    by_department = await shared_scim.find("/Users", sortBy=f"{ENTERPRISE}:department", attributes="userName")
    assert by_department["Resources"][0]["id"] == str(CLEO)
    assert {name for one in by_department["Resources"] for name in one} == {"schemas", "id", "userName"}

    none = await shared_scim.find("/Users", count="0")
    assert (none["totalResults"], none["Resources"]) == (4, [])


async def test_a_search_by_post(shared_scim: Scim) -> None:
    body = {
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
        "filter": 'userName sw "ada"',
        "attributes": ["displayName"],
    }

    answer = await shared_scim.send("POST", "/Users/.search", body)

    assert [one["displayName"] for one in answer.json()["Resources"]] == ["Ada Achterberg"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"schemas": 5},
        {"schemas": True},
        {"schemas": SEARCH_SCHEMA},
        {"filter": 5},
        {"sortBy": ["userName"]},
        {"startIndex": True},
        {"count": 1.5},
        {"attributes": ["id"] * (MOST_NAMES + 1)},
    ],
)
async def test_a_search_with_wrong_values_is_refused(shared_scim: Scim, wrong: Json) -> None:
    answer = await shared_scim.send("POST", "/Users/.search", {"schemas": [SEARCH_SCHEMA], **wrong})

    assert answer.status_code == 400


async def test_a_page_far_behind_the_end_is_empty(shared_scim: Scim) -> None:
    found = await shared_scim.find("/Users", startIndex="9" * 30)

    assert (found["totalResults"], found["Resources"]) == (4, [])


async def test_repeated_and_unknown_attributes_count_once(shared_scim: Scim) -> None:
    repeated = await shared_scim.find("/Users", attributes="userName,hat,USERNAME")
    unknown = await shared_scim.find("/Users", attributes="hat")
    all_of_them = await shared_scim.find("/Users", excludedAttributes="hat")

    assert {name for one in repeated["Resources"] for name in one} == {"schemas", "id", "userName"}
    assert {name for one in unknown["Resources"] for name in one} == {"schemas", "id"}
    assert all("userName" in one for one in all_of_them["Resources"])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/Users/no-id", 404),
        ("GET", "/Hats", 404),
        ("POST", f"/Users/{ADA}", 405),
        ("PATCH", "/Users", 405),
        ("POST", "/Schemas", 405),
        ("GET", "/Schemas/urn:no", 404),
        ("GET", "/Schemas?filter=id+pr", 403),
        ("GET", "/Me", 501),
        ("POST", "/Bulk", 501),
        ("POST", "/.search", 501),
        ("POST", "/Users", 400),
        ("GET", "/Users?filter=hat", 400),
        ("GET", "/Users?count=many", 400),
        ("GET", "/Users?sortBy=hat", 400),
        ("GET", "/Users?attributes=id&excludedAttributes=id", 400),
        ("GET", "/Users?filter=userName+eq+%22%5Cu0000%22", 400),
        ("GET", "/Groups?filter=displayName+eq+%22%5Cu0000%22", 400),
        ("GET", f"/Users?attributes={'id,' * (MOST_NAMES + 1)}", 400),
    ],
)
async def test_an_error_is_a_scim_error(shared_scim: Scim, method: str, path: str, status: int) -> None:
    answer = await shared_scim.send(method, path)

    assert (answer.status_code, answer.json()["status"]) == (status, str(status))
    assert answer.headers["content-type"] == "application/scim+json"


async def test_a_call_needs_a_token_with_the_permission(shared_scim: Scim) -> None:
    missing = await shared_scim.http.get("/scim/v2/Users")
    refused = await shared_scim.send("GET", "/Users", whose="reader")
    invalid = await shared_scim.send("GET", "/ServiceProviderConfig", whose="stranger")

    assert [one.status_code for one in (missing, refused, invalid)] == [401, 403, 401]
    assert missing.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/Users", {"userName": LONG, "schemas": [USER]}),
        ("/Users", {"userName": "long@house.example", "externalId": LONG, "schemas": [USER]}),
        ("/Users", {"userName": "long@house.example", "displayName": LONG, "schemas": [USER]}),
        ("/Users", {"userName": "long@house.example", "emails": [{"value": LONG}], "schemas": [USER]}),
        ("/Groups", {"displayName": LONG, "schemas": [GROUP]}),
        ("/Groups", {"displayName": "Long", "externalId": LONG, "schemas": [GROUP]}),
    ],
)
async def test_a_text_that_no_index_can_hold_is_refused(shared_scim: Scim, path: str, values: Json) -> None:
    answer = await shared_scim.send("POST", path, values)

    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")


async def test_the_longest_name_made_of_parts_is_stored(scim: Scim) -> None:
    name = {"givenName": LONG, "familyName": LONG}

    answer = await scim.send("POST", "/Users", {"schemas": [USER], "userName": "long@house.example", "name": name})

    assert answer.status_code == 201
