# SPDX-License-Identifier: Apache-2.0
"""`$search` of users: the beginning of each word of a name, and of addresses."""

from urllib.parse import quote
from uuid import UUID

import httpx2
import pytest

from tests.embedded.directory.conftest import Served
from tests.embedded.directory.sample_data import ADA, BEN, CLEO, GIL

EVENTUAL = {"ConsistencyLevel": "eventual"}


async def search(served: Served, text: str, more: str = "", **headers: str) -> httpx2.Response:
    sent = {"Authorization": "Bearer house-users", **(headers or EVENTUAL)}
    return await served.http.get(f"/graph/v1.0/users?$search={quote(text, safe='')}{more}", headers=sent)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"displayName:ADA"', [ADA]),
        ('"displayName:acht"', [ADA]),
        ('"displayName:chter"', []),
        ('"displayName:ada acht"', [ADA]),
        ('"displayName:ada oka"', []),
        ('"mail:ben@"', [BEN]),
        ('"mail:house"', []),
        ('"userPrincipalName:cleo"', [CLEO]),
        ('"displayName:okafor" OR "mail:gil"', [BEN, GIL]),
        ('"displayName:ada" AND "mail:ben"', []),
        ('"displayName:ben" AND "mail:ben" OR "displayName:zoe" OR "displayName:gil"', [BEN, GIL]),
        ('"displayName:%%"', []),
        ('"displayName:ada" OR "displayName:_"', [ADA]),
        ("ada", None),
        ("", None),
        ('"ada"', None),
        ('"displayName:ada" "mail:ada"', None),
        ('"displayName:ada" OR', None),
        ('"displayName:ada" or "mail:ada"', None),
        ('"id:ada"', None),
        (" OR ".join(['"mail:a"'] * 16), None),
    ],
)
async def test_it_finds_users(served: Served, text: str, expected: list[UUID] | None) -> None:
    answer = await search(served, text)

    if expected is None:
        assert answer.status_code == 400
    else:
        assert [UUID(user["id"]) for user in answer.json()["value"]] == expected


async def test_it_needs_the_header_that_graph_requires(served: Served) -> None:
    answer = await search(served, '"displayName:ada"', ConsistencyLevel="session")

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "Request_UnsupportedQuery")


async def test_it_has_pages_a_filter_an_order_and_a_count(served: Served) -> None:
    text = '"displayName:ben" OR "displayName:ada" OR "displayName:gil"'
    more = "&$filter=userType eq 'Member'&$orderby=displayName desc&$count=true&$top=1&$select=id"

    first = (await search(served, text, more)).json()
    second = (
        await served.http.get(first["@odata.nextLink"], headers={"Authorization": "Bearer house-users", **EVENTUAL})
    ).json()

    assert (first["@odata.count"], first["value"], second["value"]) == (2, [{"id": str(BEN)}], [{"id": str(ADA)}])
    assert "@odata.nextLink" not in second
