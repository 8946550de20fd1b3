# SPDX-License-Identifier: Apache-2.0
"""Users among owners and members, managers, and memberships of a user."""

from collections.abc import AsyncIterator
from urllib.parse import quote
from uuid import UUID

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import Served, open_server
from tests.embedded.directory.sample_data import ADA, BEN, CLEO, CREW, GIL, HANDBOOK, HOUSE, OTHERS, SALES, STAFF, ZOE

MEMBERS = f"/v1.0/groups/{STAFF}/members/microsoft.graph.user"
TRANSITIVE = f"/v1.0/groups/{STAFF}/transitiveMembers/microsoft.graph.user"
UNKNOWN = UUID(int=1)


@pytest.fixture(scope="module")
async def nested(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    """Gil is a member of all staff, the crew contains all staff again, and Ada manages Ben."""
    async with open_server(postgres_server) as own_server:
        pool = own_server.databases.worker.pool
        await pool.execute(
            "INSERT INTO directory.memberships "
            "VALUES ($1, $2, $3, false, true, false), ($1, $4, $2, false, true, true)",
            HOUSE,
            STAFF,
            GIL,
            CREW,
        )
        await pool.execute("UPDATE directory.users SET manager_id = $1 WHERE id = $2", ADA, BEN)
        yield own_server.served


async def ids(served: Served, path: str, *, whose: str = "house") -> list[UUID]:
    answer = await served.get(path, whose=whose)
    assert answer.status_code == 200, answer.text
    return [UUID(each["id"]) for each in answer.json()["value"]]


async def test_it_works(nested: Served) -> None:
    assert await ids(nested, MEMBERS) == [ADA, BEN, GIL]
    assert await ids(nested, MEMBERS.replace("microsoft.", "")) == [ADA, BEN, GIL]
    assert await ids(nested, f"/v1.0/groups/{STAFF}/owners/microsoft.graph.user") == [ADA]


async def test_it_lists_transitive_members_of_groups_that_contain_each_other(nested: Served) -> None:
    assert await ids(nested, TRANSITIVE) == [ADA, BEN, CLEO, GIL]
    assert await ids(nested, TRANSITIVE.replace(str(STAFF), str(CREW))) == [ADA, BEN, CLEO, GIL]


async def test_it_has_the_options_of_users(nested: Served) -> None:
    guests = quote("userType eq 'Guest'")

    answer = await nested.http.get(
        f"/graph{MEMBERS}?$filter={guests}&$count=true&$select=id,userType",
        headers={"Authorization": "Bearer house", "ConsistencyLevel": "eventual"},
    )

    assert answer.json()["@odata.count"] == 1
    assert answer.json()["value"] == [{"id": str(GIL), "userType": "Guest"}]


async def test_it_counts_them(nested: Served) -> None:
    headers = {"Authorization": "Bearer house", "ConsistencyLevel": "eventual"}

    assert (await nested.http.get(f"/graph{MEMBERS}/$count", headers=headers)).text == "3"


async def test_it_pages(nested: Served) -> None:
    first = (await nested.get(f"{TRANSITIVE}?$top=3")).json()

    assert await ids(nested, first["@odata.nextLink"].removeprefix(nested.graph_url)) == [GIL]


@pytest.mark.parametrize("group_id", [OTHERS, UNKNOWN, ADA])
@pytest.mark.parametrize("path", [MEMBERS, TRANSITIVE, f"{MEMBERS}/$count"])
async def test_it_rejects_groups_of_other_tenants_and_unknown_ids(nested: Served, group_id: UUID, path: str) -> None:
    answer = await nested.get(path.replace(str(STAFF), str(group_id)))

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "Request_ResourceNotFound")


async def test_it_returns_the_manager(nested: Served) -> None:
    manager = (await nested.get(f"/v1.0/users/{BEN}/manager?$select=id,displayName", whose="house-users")).json()

    assert (manager["@odata.type"], manager["id"]) == ("#microsoft.graph.user", str(ADA))
    assert manager["displayName"] == "Ada Achterberg"


@pytest.mark.parametrize("user_id", [ADA, ZOE, UNKNOWN])
async def test_it_rejects_a_user_without_a_manager(nested: Served, user_id: UUID) -> None:
    answer = await nested.get(f"/v1.0/users/{user_id}/manager", whose="house-users")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "Request_ResourceNotFound")


@pytest.mark.parametrize(
    ("user", "asked", "found"),
    [
        (str(ADA), [STAFF, SALES, CREW, HANDBOOK], [STAFF, SALES, CREW]),
        ("cleo@house.example", [STAFF, CREW, SALES], [STAFF, CREW]),
        (str(BEN), [OTHERS, UNKNOWN, HANDBOOK], []),
        (str(BEN), [], []),
    ],
)
async def test_it_checks_memberships_with_nested_groups(
    nested: Served, user: str, asked: list[UUID], found: list[UUID]
) -> None:
    body = {"groupIds": [str(each) for each in asked]}

    answer = await nested.post(f"/v1.0/users/{user}/checkMemberGroups", body, whose="house-users")

    assert answer.json()["value"] == [str(each) for each in found]


@pytest.mark.parametrize("body", [{}, {"groupIds": ["x"]}, {"groupIds": [str(STAFF)] * 21}, {"groupIds": [], "a": 1}])
async def test_it_rejects_other_bodies(nested: Served, body: object) -> None:
    answer = await nested.post(f"/v1.0/users/{ADA}/checkMemberGroups", body)

    assert answer.status_code == 400


async def test_it_rejects_a_body_that_is_too_large(nested: Served) -> None:
    answer = await nested.post(f"/v1.0/users/{ADA}/checkMemberGroups", {"groupIds": ["x" * 5_000_000]})

    assert answer.status_code == 413


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_it_names_the_methods_of_a_path(nested: Served, method: str) -> None:
    answer = await nested.http.request(
        method, f"/graph/v1.0/users/{ADA}/checkMemberGroups", headers={"Authorization": "Bearer house"}
    )

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST, OPTIONS")


async def test_it_reads_objects_by_their_ids(nested: Served) -> None:
    path, body = "/v1.0/directoryObjects/getByIds", {"ids": [str(each) for each in (CREW, ADA, ZOE, UNKNOWN)]}

    both = await nested.post(path, body, whose="house-directory")
    groups = await nested.post(path, {**body, "types": ["group"]}, whose="house-directory")

    assert [(one["@odata.type"], one["id"]) for one in both.json()["value"]] == [
        ("#microsoft.graph.user", str(ADA)),
        ("#microsoft.graph.group", str(CREW)),
    ]
    assert [one["id"] for one in groups.json()["value"]] == [str(CREW)]


async def test_it_lists_the_members_of_a_team(nested: Served) -> None:
    await_members = await nested.get(f"/v1.0/teams/{CREW}/members")
    no_team = await nested.get(f"/v1.0/teams/{STAFF}/members")

    assert [(one["userId"], one["roles"]) for one in await_members.json()["value"]] == [(str(CLEO), [])]
    assert no_team.status_code == 404
