# SPDX-License-Identifier: Apache-2.0
"""Query options of the fake: `$filter`, `$search`, `$orderby`, `$count` and pages."""

import httpx2
import pytest

from tests.directory.sample_directory import ADA, BEN, CLEO, GIL, HANA, OUTER, PARTNERS, VISITORS
from tests.microsoft365.fake.filters import parse_filter
from tests.microsoft365.fake.sample import EXTENSION
from tests.microsoft365.fake.tenant import Tenant
from tests.microsoft365.graph_client import code

pytestmark = pytest.mark.pure

ADVANCED = {"consistencylevel": "eventual"}
UNSUPPORTED = (400, "Request_UnsupportedQuery")


async def names(graph: httpx2.AsyncClient, path: str) -> set[str]:
    answer = await graph.get(path)
    assert answer.status_code == 200, answer.text
    return {each["id"] for each in answer.json()["value"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("department eq 'sales'", {ADA, BEN}),
        ("displayName eq 'Ada Achterberg'", {ADA}),
        ("startswith(displayName,'ad')", {ADA}),
        ("startswith(displayName,'ada') or startsWith(mail,'cleo')", {ADA, CLEO}),
        ("department eq 'Sales' and userType eq 'Member'", {ADA, BEN}),
        ("(department eq 'Finance' or department eq 'Sales') and startswith(displayName,'c')", {CLEO}),
        ("userType eq 'Guest'", {GIL, HANA}),
        ("proxyAddresses/any(p:p eq 'smtp:ada@estate.example')", {ADA}),
        ("proxyAddresses/any(p:startswith(p,'smtp:c'))", {CLEO}),
        ("accountEnabled eq true and userPrincipalName in ('ben@estate.example')", {BEN}),
    ],
)
async def test_it_works(graph: httpx2.AsyncClient, text: str, expected: set[object]) -> None:
    assert await names(graph, f"/users?$filter={text}&$select=id") == set(map(str, expected))


async def test_groups_are_found_by_their_extension(graph: httpx2.AsyncClient) -> None:
    await graph.patch(f"/groups/{PARTNERS}", json={EXTENSION: {"requestId": "r1"}})

    assert await names(graph, f"/groups?$filter={EXTENSION}/requestId eq 'r1'&$select=id") == {str(PARTNERS)}
    assert await names(graph, "/groups?$filter=mailNickname eq 'ALL-STAFF'&$select=id") == {str(OUTER)}
    assert await names(graph, "/groups?$filter=groupTypes/any(c:c eq 'DynamicMembership')&$select=id") == {
        str(VISITORS)
    }


@pytest.mark.parametrize(
    "text",
    [
        "department ne 'Sales'",
        "not startswith(displayName,'a')",
        "endswith(mail,'example')",
        "preferredLanguage eq 'de-CH'",
        "mail eq null",
        "assignedPlans/$count eq 0",
        f"{EXTENSION}/requestId ne 'x'",
    ],
)
async def test_advanced_queries_need_both_parameters(graph: httpx2.AsyncClient, text: str) -> None:
    """aad-advanced-queries.md and filter-directory-objects.md."""
    path = f"/groups?$filter={text}" if text.startswith(EXTENSION) else f"/users?$filter={text}"

    plain, header = await graph.get(path), await graph.get(path, headers=ADVANCED)
    both = await graph.get(f"{path}&$count=true", headers=ADVANCED)

    assert [code(plain), code(header), both.status_code] == [UNSUPPORTED, UNSUPPORTED, 200]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("uniqueName eq 'a'", UNSUPPORTED),
        ("visibility eq 'Private'", UNSUPPORTED),
        ("displayName eq", (400, "BadRequest")),
        ("displayName like 'a'", (400, "BadRequest")),
        ("displayName eq 'a' displayName eq 'b'", (400, "BadRequest")),
        ("displayName eq 'it's'", (400, "BadRequest")),
        ("endswith(displayName,'a')", UNSUPPORTED),
    ],
)
async def test_filters_that_graph_refuses(graph: httpx2.AsyncClient, text: str, expected: tuple[int, str]) -> None:
    answer = await graph.get(f"/groups?$count=true&$filter={text}", headers=ADVANCED)

    assert code(answer) == expected


def test_quotes_are_doubled() -> None:
    assert parse_filter("displayName eq 'it''s'", "Group").matches({"displayName": "It's"})


async def test_search(graph: httpx2.AsyncClient) -> None:
    path = '/users?$select=id&$search="displayName:acht" OR "mail:cleo"'
    narrower = '/users?$select=id&$search="displayName:a" AND "mail:ada"'

    without = await graph.get(path)
    found = await graph.get(path, headers=ADVANCED)
    both = await graph.get(narrower, headers=ADVANCED)
    wrong = await graph.get("/users?$search=ada", headers=ADVANCED)

    assert code(without) == UNSUPPORTED
    assert {each["id"] for each in found.json()["value"]} == {str(ADA), str(CLEO)}
    assert {each["id"] for each in both.json()["value"]} == {str(ADA)}
    assert code(wrong) == (400, "Request_BadRequest")


async def test_a_count_without_the_header_is_ignored(graph: httpx2.AsyncClient) -> None:
    plain = await graph.get("/users?$count=true")
    advanced = await graph.get("/users?$count=true", headers=ADVANCED)

    assert "@odata.count" not in plain.json()
    assert advanced.json()["@odata.count"] == 5


async def test_order(graph: httpx2.AsyncClient) -> None:
    path = "/users?$select=displayName&$orderby=displayName desc"

    ordered = [each["displayName"] for each in (await graph.get(path)).json()["value"]]
    filtered = await graph.get(f"{path}&$filter=userType eq 'Guest'")
    other = await graph.get("/users?$orderby=department")

    assert ordered == sorted(ordered, reverse=True)
    assert [code(filtered), code(other)] == [UNSUPPORTED, UNSUPPORTED]


async def test_pages(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    for number in range(5):
        tenant.add_user(f"u{number}", displayName=f"U {number}", userPrincipalName=f"u{number}@estate.example")
    found, link = [], "/users?$top=3&$select=id&$filter=startswith(displayName,'u ')"

    while link:
        page = (await graph.get(link)).json()
        found.append([each["id"] for each in page["value"]])
        link = page.get("@odata.nextLink")

    assert found == [["u0", "u1", "u2"], ["u3", "u4"]]


@pytest.mark.parametrize("query", ["$top=0", "$top=1000", "$top=x", "$skiptoken=x", "$expand=manager", "$skip=1"])
async def test_options_that_graph_refuses(graph: httpx2.AsyncClient, query: str) -> None:
    assert (await graph.get(f"/users?{query}")).status_code == 400
