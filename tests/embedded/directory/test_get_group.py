# SPDX-License-Identifier: Apache-2.0
from uuid import UUID

import pytest

from tests.embedded.directory.conftest import REQUEST_ID, Served
from tests.embedded.directory.sample_data import ADA, BEN, CLEO, CREW, OTHERS, SALES, STAFF, ZOE

PATHS = ("", "/owners", "/members", "/team", "/team/channels")


async def test_it_works(served: Served) -> None:
    answer = await served.get(f"/v1.0/groups/{str(STAFF).upper()}/")

    assert answer.status_code == 200
    body = answer.json()
    assert body["@odata.context"] == f"{served.graph_url}/v1.0/$metadata#groups/$entity"
    assert (body["id"], body["displayName"]) == (str(STAFF), "All staff")


async def test_it_selects(served: Served) -> None:
    answer = await served.get(f"/v1.0/groups/{SALES}?$select=membershipRule,membershipRuleProcessingState,groupTypes")

    assert answer.json() == {
        "@odata.context": f"{served.graph_url}/v1.0/$metadata#groups"
        "(membershipRule,membershipRuleProcessingState,groupTypes)/$entity",
        "membershipRule": 'user.department -eq "Sales"',
        "membershipRuleProcessingState": "On",
        "groupTypes": ["Unified", "DynamicMembership"],
    }


async def test_it_lists_owners(served: Served) -> None:
    answer = await served.get(f"/v1.0/groups/{STAFF}/owners")

    assert answer.json() == {
        "@odata.context": f"{served.graph_url}/v1.0/$metadata#directoryObjects",
        "value": [
            {
                "@odata.type": "#microsoft.graph.user",
                "id": str(ADA),
                "businessPhones": [],
                "displayName": "Ada Achterberg",
                "givenName": "Ada",
                "jobTitle": None,
                "mail": "ada@house.example",
                "mobilePhone": None,
                "officeLocation": None,
                "preferredLanguage": None,
                "surname": None,
                "userPrincipalName": "ada@house.example",
            }
        ],
    }


async def test_it_lists_users_and_groups_as_members(served: Served) -> None:
    answer = await served.get(f"/v1.0/groups/{STAFF}/members/?$select=id")

    assert answer.json()["value"] == [
        {"@odata.type": "#microsoft.graph.user", "id": str(ADA)},
        {"@odata.type": "#microsoft.graph.user", "id": str(BEN)},
        {"@odata.type": "#microsoft.graph.group", "id": str(CREW)},
    ]


async def test_it_pages_through_members(served: Served) -> None:
    first = (await served.get(f"/v1.0/groups/{STAFF}/members?$top=2")).json()
    assert first["@odata.nextLink"].startswith(f"{served.graph_url}/v1.0/groups/{STAFF}/members?")
    second = (await served.get(first["@odata.nextLink"].removeprefix(served.graph_url))).json()

    assert [one["id"] for one in first["value"]] == [str(ADA), str(BEN)]
    assert [one["id"] for one in second["value"]] == [str(CREW)]
    assert "@odata.nextLink" not in second


async def test_it_lists_the_members_of_a_dynamic_group(served: Served) -> None:
    members = await served.get(f"/v1.0/groups/{SALES}/members")
    owners = await served.get(f"/v1.0/groups/{SALES}/owners")

    assert [one["id"] for one in members.json()["value"]] == [str(ADA), str(BEN)]
    assert [one["id"] for one in owners.json()["value"]] == [str(CLEO)]


async def test_it_shows_a_team_and_its_channels(served: Served) -> None:
    group = await served.get(f"/v1.0/groups/{CREW}")
    team = await served.get(f"/v1.0/groups/{CREW}/team")
    channels = await served.get(f"/v1.0/teams/{CREW}/channels")
    names = await served.get(f"/v1.0/teams/{CREW}/channels?$select=displayName")

    assert group.json()["resourceProvisioningOptions"] == ["Team"]
    assert team.json()["displayName"] == "Crew"
    assert team.json()["visibility"] == "private"
    assert [one["displayName"] for one in channels.json()["value"]] == ["General", "Deck"]
    assert names.json()["value"] == [{"displayName": "General"}, {"displayName": "Deck"}]
    assert (await served.get(f"/v1.0/teams/{CREW}")).json() == team.json()


async def test_it_rejects_unknown_properties_of_channels(served: Served) -> None:
    answer = await served.get(f"/v1.0/teams/{CREW}/channels?$select=topic")

    assert answer.status_code == 400


async def test_it_rejects_the_team_of_an_ordinary_group(served: Served) -> None:
    answer = await served.get(f"/v1.0/groups/{STAFF}/team")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NotFound")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("group_id", [OTHERS, ZOE, UUID("00000000-0000-4000-8000-00000000dead")])
async def test_it_rejects_groups_of_other_tenants_and_unknown_ids(served: Served, group_id: UUID, path: str) -> None:
    answer = await served.get(f"/v1.0/groups/{group_id}{path}")

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "Request_ResourceNotFound"


@pytest.mark.parametrize(
    "path", ["/", "/v1.0", "/v1.0/sites", "/v1.0/me/x", "/v1.0/groups/x", f"/v1.0/groups/{STAFF}/x", "/beta/groups"]
)
async def test_it_rejects_unknown_paths(served: Served, path: str) -> None:
    answer = await served.get(f"{path}?a=b")

    assert answer.status_code == 404
    assert set(answer.json()["error"]) == {"code", "message", "innerError"}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/v1.0/groups", f"/v1.0/groups/{STAFF}", "/v1.0/x"])
async def test_it_is_read_only(served: Served, method: str, path: str) -> None:
    answer = await served.http.request(method, f"/graph{path}", headers={"Authorization": "Bearer house"})

    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
    assert set(answer.json()["error"]) == {"code", "message", "innerError"}


@pytest.mark.parametrize(("method", "is_write"), [("PATCH", True), ("PUT", False)])
async def test_a_refused_write_names_the_setting_that_permits_it(
    served: Served, method: str, *, is_write: bool
) -> None:
    answer = await served.http.request(method, f"/graph/v1.0/groups/{STAFF}", headers={"Authorization": "Bearer house"})

    assert ("CHAMBERLAIN_DIRECTORY_WRITABLE" in answer.json()["error"]["message"]) is is_write


@pytest.mark.parametrize("path", ["/v1.0/groups", f"/v1.0/groups/{STAFF}", "/v1.0/groups/$count", "/v1.0/x"])
async def test_head_equals_get_without_the_body(served: Served, path: str) -> None:
    headers = {"Authorization": "Bearer house", "ConsistencyLevel": "eventual"}

    whole = await served.http.get(f"/graph{path}", headers=headers)
    head = await served.http.head(f"/graph{path}", headers=headers)

    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert {**head.headers, "date": ""} == {**whole.headers, "date": ""}


async def test_options_lists_the_methods(served: Served) -> None:
    answer = await served.http.options("/graph/v1.0/groups")

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
    assert answer.headers["request-id"]


@pytest.mark.parametrize(
    "headers", [{"Accept": "text/html"}, {"Accept": "image/png;q=1"}, {"Prefer": "odata.maxpagesize=1, respond-async"}]
)
async def test_it_returns_json_for_any_accept_header(served: Served, headers: dict[str, str]) -> None:
    answer = await served.http.get("/graph/v1.0/groups", headers={"Authorization": "Bearer house", **headers})

    assert answer.headers["content-type"].startswith("application/json")
    assert len(answer.json()["value"]) == 4


@pytest.mark.parametrize("token", ["house", "house-directory", "house-writer"])
async def test_each_of_three_permissions_is_sufficient(served: Served, token: str) -> None:
    assert (await served.get(f"/v1.0/groups/{STAFF}", whose=token)).status_code == 200


async def test_it_rejects_a_call_without_a_token(served: Served) -> None:
    answer = await served.http.get("/graph/v1.0/groups")

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "InvalidAuthenticationToken"


async def test_it_rejects_an_invalid_token(served: Served) -> None:
    answer = await served.get("/v1.0/groups", whose="made up")

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer error="invalid_token"'


async def test_it_rejects_a_token_without_a_permission(served: Served) -> None:
    answer = await served.get("/v1.0/groups", whose="nothing")

    assert answer.status_code == 403
    assert answer.headers["www-authenticate"].startswith('Bearer error="insufficient_scope"')
    assert answer.json()["error"]["code"] == "Authorization_RequestDenied"
    assert "Group.Read.All" in answer.json()["error"]["message"]


@pytest.mark.parametrize(("sent", "repeated"), [("abc-1", True), ("with blank", False), ("x" * 200, False)])
async def test_it_repeats_the_client_request_id(served: Served, sent: str, *, repeated: bool) -> None:
    answer = await served.http.get(
        "/graph/v1.0/x", headers={"client-request-id": sent, "Authorization": "Bearer house"}
    )

    assert answer.headers["request-id"] == str(REQUEST_ID)
    assert answer.headers.get("client-request-id") == (sent if repeated else None)
    assert answer.json()["error"]["innerError"].get("client-request-id") == (sent if repeated else None)
