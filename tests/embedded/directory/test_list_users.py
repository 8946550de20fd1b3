# SPDX-License-Identifier: Apache-2.0
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import Served, open_server
from tests.embedded.directory.mailboxes import CART, HELP, OTHER_ROOM, ROOM, create_mailboxes
from tests.embedded.directory.sample_data import ADA, BEN, CLEO, GIL, ZOE

EVERYBODY = [ADA, BEN, CLEO, GIL, HELP, ROOM, CART]


@pytest.fixture(scope="module")
async def with_mailboxes(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_server(postgres_server) as own_server:
        await create_mailboxes(own_server.databases.worker.pool)
        yield own_server.served


async def test_it_works(with_mailboxes: Served) -> None:
    answer = await with_mailboxes.get("/v1.0/users?$filter=house_mailbox/requestId+eq+'help-1'", whose="house-users")

    assert answer.status_code == 200
    assert answer.json() == {
        "@odata.context": f"{with_mailboxes.graph_url}/v1.0/$metadata#users",
        "value": [
            {
                "businessPhones": ["2", "3"],
                "displayName": "Help desk",
                "givenName": None,
                "jobTitle": None,
                "mail": "help@house.example",
                "mobilePhone": None,
                "officeLocation": None,
                "preferredLanguage": None,
                "surname": None,
                "userPrincipalName": "help@house.example",
                "id": str(HELP),
                "house_mailbox": {"requestId": "HELP-1"},
            }
        ],
    }


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (f"id eq '{ADA}'", [ADA]),
        (f"id in ('{ADA}', '{HELP}', '{ZOE}')", [ADA, HELP]),
        ("userPrincipalName eq 'ADA@house.example'", [ADA]),
        ("mail eq 'Help@house.example'", [HELP]),
        ("mail eq 'support@house.example'", []),
        ("mail in ('tower@house.example', 'ben@house.example', 'all-staff@house.example')", [BEN, ROOM]),
        ("mail ne 'ada@house.example'", EVERYBODY[1:]),
        ("displayName eq 'tower ROOM'", [ROOM]),
        ("startswith(displayName, 'c')", [CLEO, CART]),
        ("startswith(userPrincipalName, 'HELP@')", [HELP]),
        ("mailNickname eq 'tower'", [ROOM]),
        ("startswith(mailNickname, 'a') or startswith(mailNickname, 'ca')", [ADA, CART]),
        ("userType eq 'Guest'", [GIL]),
        ("proxyAddresses/any(p:p eq 'smtp:support@HOUSE.example')", [HELP]),
        ("proxyAddresses/any(p:p eq 'smtp:ada@house.example') or userType eq 'Guest'", [ADA, GIL]),
        ("proxyAddresses/any(p:p eq 'sip:ada@house.example')", []),
        ("userType eq 'member' and startswith(mail, 'b')", [BEN]),
        ("house_mailbox/requestId in ('room-1', 'cart-1')", [ROOM, CART]),
        ("house_mailbox/requestId eq null", [ADA, BEN, CLEO, GIL]),
        ("house_group/requestId eq 'ABC-1'", []),
        ("displayName eq ''' OR true; --'", []),
    ],
)
async def test_it_filters(with_mailboxes: Served, written: str, expected: list[object]) -> None:
    answer = await with_mailboxes.get(f"/v1.0/users?$filter={quote(written)}", whose="house-users")

    assert [user["id"] for user in answer.json()["value"]] == [str(one) for one in expected]


async def test_it_lists_all_users_of_the_tenant_and_no_other(with_mailboxes: Served) -> None:
    house = await with_mailboxes.get("/v1.0/users", whose="house-directory")
    other = await with_mailboxes.get("/v1.0/users", whose="other-directory")

    assert [user["id"] for user in house.json()["value"]] == [str(one) for one in EVERYBODY]
    assert [user["id"] for user in other.json()["value"]] == [str(ZOE), str(OTHER_ROOM)]


async def test_it_selects(with_mailboxes: Served) -> None:
    query = "$filter=mail eq 'help@house.example'&$select=accountEnabled,proxyAddresses,showInAddressList,department"
    answer = await with_mailboxes.get(f"/v1.0/users?{query},userType,mailNickname", whose="house-users")

    assert answer.json()["value"] == [
        {
            "accountEnabled": False,
            "proxyAddresses": ["SMTP:help@house.example", "smtp:Support@house.example"],
            "showInAddressList": False,
            "department": "Service",
            "userType": "Member",
            "mailNickname": "help",
        }
    ]


async def test_it_pages(with_mailboxes: Served) -> None:
    path, found = "/v1.0/users?$top=3&$select=id&$filter=displayName ne 'x'", []
    for _ in range(5):
        page = (await with_mailboxes.get(path, whose="house-users")).json()
        found += [user["id"] for user in page["value"]]
        if "@odata.nextLink" not in page:
            break
        path = page["@odata.nextLink"].removeprefix(with_mailboxes.graph_url)

    assert found == [str(one) for one in EVERYBODY]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("$filter=groupTypes/any(c:c eq 'Unified')", "operators"),
        ("$filter=password eq 'x'", "password"),
        ("$select=password", "password"),
        ("$orderby=createdDateTime", "displayName, mail, userPrincipalName"),
        ("$top=0", "999"),
    ],
)
async def test_it_rejects(served: Served, query: str, words: str) -> None:
    answer = await served.get(f"/v1.0/users?{query}", whose="house-users")

    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


async def test_it_requires_a_user_permission(served: Served) -> None:
    answer = await served.get("/v1.0/users", whose="house")

    assert answer.status_code == 403
    assert "User.Read.All" in answer.json()["error"]["message"]
