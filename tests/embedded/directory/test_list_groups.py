# SPDX-License-Identifier: Apache-2.0
from urllib.parse import quote

import pytest

from chamberlain.database.transactions import open_database
from tests.embedded.directory.conftest import REQUEST_ID, OwnServer, Served, serving
from tests.embedded.directory.sample_data import CREW, HANDBOOK, OTHERS, SALES, STAFF

BY_MARK = "/v1.0/groups?$filter=house_group/requestId eq 'abc-1'"


async def ids(served: Served, written: str) -> list[str]:
    answer = await served.get(f"/v1.0/groups?$filter={quote(written)}")
    assert answer.status_code == 200, answer.text
    return [group["id"] for group in answer.json()["value"]]


async def test_it_works(served: Served) -> None:
    answer = await served.get("/v1.0/groups?$filter=house_group/requestId+eq+'ABC-1'")

    assert answer.status_code == 200
    assert answer.headers["request-id"] == str(REQUEST_ID)
    body = answer.json()
    assert set(body) == {"@odata.context", "value"}
    assert body["@odata.context"] == f"{served.graph_url}/v1.0/$metadata#groups"
    [group] = body["value"]
    assert group.pop("createdDateTime").endswith("Z")
    assert group == {
        "id": str(STAFF),
        "deletedDateTime": None,
        "description": "Everybody, and the crew",
        "displayName": "All staff",
        "groupTypes": ["Unified"],
        "mail": "all-staff@house.example",
        "mailEnabled": True,
        "mailNickname": "all-staff",
        "membershipRule": None,
        "membershipRuleProcessingState": None,
        "proxyAddresses": ["SMTP:all-staff@house.example"],
        "resourceProvisioningOptions": [],
        "securityEnabled": False,
        "visibility": "Public",
        "assignedLabels": [{"labelId": "internal", "displayName": "Internal"}],
        "house_group": {"requestId": "ABC-1", "templateId": "t"},
    }


@pytest.mark.parametrize(
    "path",
    [
        "/v1.0/groups?$filter=house_group/requestId+eq+'abc-1'",
        "/v1.0/groups/?$filter=house_group/requestId%20eq%20'abc-1'",
        "/v1.0/groups?%24filter=house_group%2FrequestId%20eq%20%27abc-1%27",
        "/v1.0/groups/?%24filter=house_group%2FrequestId+eq+%27ABC-1%27&whatever=1",
        "/v1.0/groups?$top=5&$filter=house_group/requestId+eq+'abc-1'+or+id+eq+'x'",
    ],
)
async def test_it_decodes_every_encoding_of_a_query(served: Served, path: str) -> None:
    answer = await served.get(path)

    assert [group["id"] for group in answer.json()["value"]] == [str(STAFF)]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("house_group/requestId eq 'nothing'", []),
        ("house_group/templateId in ('s', 'T')", [STAFF]),
        ("house_group/requestId eq null and startswith(displayName, 's')", [SALES]),
        ("startswith(house_group/requestId, 'abc')", [STAFF]),
        ("other_group/requestId eq 'ABC-1'", []),
        (f"id eq '{str(CREW).upper()}'", [CREW]),
        (f"id in ('{CREW}', '{STAFF}', '{OTHERS}', 'x')", [STAFF, CREW]),
        ("id eq 'x'", []),
        ("displayName eq 'ALL STAFF'", [STAFF]),
        ("displayName ne 'all staff'", [SALES, CREW, HANDBOOK]),
        ("not startswith(displayName, 'a')", [SALES, CREW, HANDBOOK]),
        ("startswith(displayName, '%')", []),
        ("mailNickname eq 'crew'", [CREW]),
        ("mailNickname in ('crew', 'sales')", [SALES, CREW]),
        ("mail eq 'All-Staff@house.example'", [STAFF]),
        ("mail ne 'all-staff@house.example'", [SALES, CREW, HANDBOOK]),
        ("mail eq null", [SALES, CREW, HANDBOOK]),
        ("mail eq 'ada@house.example'", []),
        ("groupTypes/any(c:c eq 'Unified')", [STAFF, SALES, CREW]),
        ("groupTypes/any(c:c eq 'DynamicMembership') or displayName eq 'Handbook'", [SALES, HANDBOOK]),
        ("not(groupTypes/any(c:c eq 'Unified')) and not (displayName eq 'x')", [HANDBOOK]),
        ("proxyAddresses/any(p:p eq 'SMTP:All-Staff@house.example')", [STAFF]),
        ("proxyAddresses/any(p:p eq 'smtp:ada@house.example')", []),
        ("not proxyAddresses/any(p:p eq 'all-staff@house.example') and mailNickname eq 'crew'", [CREW]),
        ("displayName eq ''' OR true; --'", []),
    ],
)
async def test_it_filters(served: Served, written: str, expected: list[object]) -> None:
    assert await ids(served, written) == [str(one) for one in expected]


async def test_it_lists_all_groups_of_the_tenant_and_no_other(served: Served) -> None:
    house = await served.get("/v1.0/groups")
    other = await served.get("/v1.0/groups", whose="other")

    assert [group["id"] for group in house.json()["value"]] == [str(one) for one in (STAFF, SALES, CREW, HANDBOOK)]
    assert [group["id"] for group in other.json()["value"]] == [str(OTHERS)]
    assert (await served.get(BY_MARK, whose="other")).json()["value"] == []


async def test_it_selects(served: Served) -> None:
    answer = await served.get("/v1.0/groups?$filter=displayName eq 'All staff'&$select=id, house_group,description")

    assert answer.json() == {
        "@odata.context": f"{served.graph_url}/v1.0/$metadata#groups(id,house_group,description)",
        "value": [
            {
                "id": str(STAFF),
                "house_group": {"requestId": "ABC-1", "templateId": "t"},
                "description": "Everybody, and the crew",
            }
        ],
    }


@pytest.mark.parametrize("written", [None, "not(displayName eq 'it''s & #1')", "displayName ne 'ä'"])
async def test_it_pages(served: Served, written: str | None) -> None:
    filtered = "" if written is None else f"&$filter={quote(written)}"
    path, found = f"/v1.0/groups?$top=2&$select=id,displayName{filtered}", []
    for _ in range(5):
        page = (await served.get(path)).json()
        assert len(page["value"]) <= 2
        assert {frozenset(group) for group in page["value"]} <= {frozenset({"id", "displayName"})}
        found += [group["id"] for group in page["value"]]
        if "@odata.nextLink" not in page:
            break
        assert page["@odata.nextLink"].startswith(f"{served.graph_url}/v1.0/groups?")
        assert " " not in page["@odata.nextLink"]
        path = page["@odata.nextLink"].removeprefix(served.graph_url)

    assert found == [str(one) for one in (STAFF, SALES, CREW, HANDBOOK)]


async def test_it_pages_through_filtered_groups(own_server: OwnServer) -> None:
    served = own_server.served
    for number in range(5):
        await own_server.databases.worker.pool.execute(
            "INSERT INTO directory.extension_values (tenant_id, name, member, value, group_id) "
            "SELECT tenant_id, 'house_group', 'policyId', 'p', id FROM directory.groups WHERE tenant_id <> $1 "
            "ORDER BY id OFFSET $2 LIMIT 1",
            OTHERS,
            number,
        )

    first = (await served.get("/v1.0/groups?$top=3&$filter=house_group/policyId eq 'P'")).json()
    second = (await served.get(first["@odata.nextLink"].removeprefix(served.graph_url))).json()

    assert [len(first["value"]), len(second["value"])] == [3, 1]
    assert "@odata.nextLink" not in second


@pytest.mark.parametrize(
    ("query", "code", "words"),
    [
        ("$filter=displayName eq", "BadRequest", "position 15"),
        ("$filter=", "BadRequest", "position 1"),
        ("$filter=password eq 'x'", "Request_UnsupportedQuery", "password"),
        ("$filter=displayName eq 'x%00'", "BadRequest", "$filter"),
        ("$filter=displayName eq '%ff'", "BadRequest", "encoded"),
        ("$filter=mail eq null&$filter=mail eq null", "BadRequest", "twice"),
        ("%24search=x", "Request_UnsupportedQuery", "startswith"),
        ("$skip=1", "Request_UnsupportedQuery", "nextLink"),
        ("$expand=members", "Request_UnsupportedQuery", "$expand"),
        ("$Filter=mail eq null", "Request_UnsupportedQuery", "$Filter"),
        ("$count=yes", "BadRequest", "$count"),
        ("$count=true&$count=true", "BadRequest", "twice"),
        ("$orderby=", "BadRequest", "property"),
        ("$orderby=displayName up", "BadRequest", "asc"),
        ("$orderby=displayName ASC", "BadRequest", "asc"),
        ("$orderby=displayName asc desc", "BadRequest", "asc"),
        ("$orderby=displayName,mail", "Request_UnsupportedQuery", "one property"),
        ("$orderby=password", "Request_UnsupportedQuery", "createdDateTime, displayName, mail"),
        ("$orderby=displayName; DROP TABLE groups", "BadRequest", "asc"),
        ("$orderby=displayName&$filter=mail eq null", "Request_UnsupportedQuery", "Sorting not supported"),
        ("&".join(["a=b"] * 101), "BadRequest", "100"),
        ("$select=password", "BadRequest", "password"),
        ("$select=", "BadRequest", "$select"),
        ("$top=0", "Request_UnsupportedQuery", "999"),
        ("$top=1000", "Request_UnsupportedQuery", "999"),
        ("$top=²", "Request_UnsupportedQuery", "999"),
        ("$top=-1", "Request_UnsupportedQuery", "999"),
        ("$top=99999999999999999999", "Request_UnsupportedQuery", "999"),
        ("$skiptoken=x", "BadRequest", "$skiptoken"),
        ("$skiptoken=ä", "BadRequest", "$skiptoken"),
        (f"$skiptoken={STAFF}", "BadRequest", "$skiptoken"),
    ],
)
async def test_it_rejects(served: Served, query: str, code: str, words: str) -> None:
    answer = await served.get(f"/v1.0/groups?{query}")

    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == code
    assert words in error["message"]
    assert error["innerError"] == {"date": "2026-11-20T09:30:00", "request-id": str(REQUEST_ID)}


@pytest.mark.parametrize(
    "query",
    [
        f"$filter=displayName eq '{'x' * 30_000}'",
        f"$filter={'(' * 1_000}",
        f"$filter={'not ' * 400}displayName eq 'x'",
        f"$filter=id in ({','.join(['null'] * 300)})",
    ],
)
async def test_it_rejects_long_and_deep_filters_with_the_position(served: Served, query: str) -> None:
    answer = await served.get(f"/v1.0/groups?{query}")

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "Request_UnsupportedQuery")
    assert "position" in answer.json()["error"]["message"]


async def test_it_is_unavailable_without_the_database() -> None:
    away = await open_database("postgresql://nobody@127.0.0.1:1/nowhere", most=2, name="away")
    async with serving(away.pool) as served:
        for path in (BY_MARK, "/v1.0/groups", f"/v1.0/groups/{STAFF}"):
            answer = await served.get(path)

            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "2"
            assert answer.json()["error"]["code"] == "serviceNotAvailable"
            assert "127.0.0.1:1" not in answer.text
    await away.close()
