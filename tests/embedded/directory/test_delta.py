# SPDX-License-Identifier: Apache-2.0
"""Changed groups and users over HTTP, independent of the order of commits."""

import json
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any
from uuid import UUID

import httpx2
import pytest

from chamberlain.embedded import postgres
from chamberlain.embedded.directory.load import load
from tests.databases import Databases
from tests.embedded.directory.conftest import OwnServer, Served, open_server, serving
from tests.embedded.directory.mailboxes import HELP, create_mailboxes
from tests.embedded.directory.sample_data import (
    ADA,
    BEN,
    CLEO,
    CREW,
    GIL,
    HANDBOOK,
    HOUSE,
    OTHERS,
    SALES,
    SECTION,
    STAFF,
    ZOE,
)

GROUPS, USERS = "/v1.0/groups/delta", "/v1.0/users/delta"
OF_HOUSE = {str(each) for each in (STAFF, SALES, CREW, HANDBOOK)}
PEOPLE = {str(each) for each in (ADA, BEN, CLEO, GIL)}


@pytest.fixture(scope="module")
async def changing(postgres_server: postgres.Server) -> AsyncIterator[OwnServer]:
    """Start a server whose objects change, but stay. A test sees the changes after its own token only."""
    async with open_server(postgres_server) as own_server:
        yield own_server


async def read(served: Served, path: str, *, page_size: int | None = None) -> tuple[list[dict[str, Any]], str]:
    """Read all pages from a path, and the path of later changes."""
    found: list[dict[str, Any]] = []
    for _ in range(50):
        answer = await get(served, path, page_size=page_size)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        found += body["value"]
        link = body.get("@odata.nextLink") or body["@odata.deltaLink"]
        path = link.removeprefix(served.graph_url)
        if "@odata.deltaLink" in body:
            return found, path
    raise AssertionError(path)


async def get(served: Served, path: str, *, page_size: int | None = None) -> httpx2.Response:
    headers = {"Authorization": "Bearer house-directory"}
    if page_size is not None:
        headers["Prefer"] = f"odata.maxpagesize={page_size}"
    return await served.http.get(f"/graph{path}", headers=headers)


def ids(entries: list[dict[str, Any]]) -> set[str]:
    return {entry["id"] for entry in entries}


def removed(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {entry["id"]: entry["@removed"] for entry in entries if "@removed" in entry}


@pytest.mark.parametrize(
    ("path", "everything"),
    [(GROUPS, OF_HOUSE), (USERS, PEOPLE), (f"{GROUPS}()", OF_HOUSE), ("/v1.0/users/microsoft.graph.delta()", PEOPLE)],
)
async def test_it_works(changing: OwnServer, path: str, everything: set[str]) -> None:
    first, later = await read(changing.served, path)
    second, later = await read(changing.served, later)

    assert (ids(first), second) == (everything, [])
    assert "$deltatoken=" in later


@pytest.mark.parametrize(("path", "everything"), [(GROUPS, OF_HOUSE), (USERS, PEOPLE)])
async def test_it_pages(changing: OwnServer, path: str, everything: set[str]) -> None:
    answer = await get(changing.served, path, page_size=3)
    found, _ = await read(changing.served, path, page_size=1)

    assert len(answer.json()["value"]) == 3
    assert "$skiptoken=" in answer.json()["@odata.nextLink"]
    assert (ids(found), len(found)) == (everything, 4)


@pytest.mark.parametrize(
    ("path", "statement", "changed"),
    [
        (GROUPS, "UPDATE directory.groups SET display_name = 'Hands' WHERE id = '{crew}'", CREW),
        (GROUPS, "INSERT INTO directory.memberships VALUES ('{house}', '{crew}', '{gil}', false, true, false)", CREW),
        (GROUPS, "DELETE FROM directory.memberships WHERE group_id = '{crew}'", CREW),
        (USERS, "UPDATE directory.users SET display_name = 'Gil H.' WHERE id = '{gil}'", GIL),
        (USERS, "UPDATE directory.users SET account_enabled = false WHERE id = '{gil}'", GIL),
        (USERS, "UPDATE directory.users SET properties = '{{}}' WHERE id = '{ada}'", ADA),
        (USERS, "UPDATE directory.users SET manager_id = '{ada}' WHERE id = '{gil}'", GIL),
    ],
)
async def test_it_reports_a_change_once(changing: OwnServer, path: str, statement: str, changed: UUID) -> None:
    _, later = await read(changing.served, path)

    await changing.databases.worker.pool.execute(statement.format(crew=CREW, house=HOUSE, gil=GIL, ada=ADA))
    found, later = await read(changing.served, later)
    again, _ = await read(changing.served, later)

    assert (ids(found), again) == ({str(changed)}, [])


@pytest.mark.parametrize(
    ("path", "statement"),
    [
        (USERS, "UPDATE directory.users SET last_seen_at = now()"),
        (USERS, "UPDATE directory.users SET display_name = display_name"),
        (USERS, "UPDATE directory.users SET display_name = 'Z' WHERE id = '{zoe}'"),
        (USERS, "DELETE FROM directory.users WHERE id = '{zoe}'"),
        (GROUPS, "DELETE FROM directory.groups WHERE id = '{others}'"),
    ],
)
async def test_it_ignores_invisible_changes(changing: OwnServer, path: str, statement: str) -> None:
    _, later = await read(changing.served, path)

    await changing.databases.worker.pool.execute(statement.format(zoe=ZOE, others=OTHERS))

    assert (await read(changing.served, later))[0] == []


@pytest.mark.parametrize(("path", "table", "gone"), [(GROUPS, "groups", CREW), (USERS, "users", BEN)])
async def test_it_reports_removed_objects(own_server: OwnServer, path: str, table: str, gone: UUID) -> None:
    _, later = await read(own_server.served, path)

    await own_server.databases.worker.pool.execute(f"DELETE FROM directory.{table} WHERE id = $1", gone)  # noqa: S608 - a name of this file.
    found, later = await read(own_server.served, later)

    assert removed(found) == {str(gone): {"reason": "deleted"}}
    assert str(gone) not in ids((await read(own_server.served, later))[0])


@pytest.mark.parametrize(
    ("path", "table", "first", "second"), [(GROUPS, "groups", STAFF, CREW), (USERS, "users", ADA, BEN)]
)
async def test_it_includes_changes_that_commit_late(
    changing: OwnServer, path: str, table: str, first: UUID, second: UUID
) -> None:
    """The first transaction commits last, after a read that showed the second one."""
    change = f"UPDATE directory.{table} SET display_name = 'X' WHERE id = $1"  # noqa: S608 - a name of this file.
    _, later = await read(changing.served, path)
    pool = changing.databases.worker.pool
    async with pool.acquire() as early:
        transaction = early.transaction()
        await transaction.start()
        await early.execute(change, first)
        await pool.execute(change, second)

        seen, later = await read(changing.served, later)
        await transaction.commit()

    found, _ = await read(changing.served, later)
    assert (str(first) in ids(seen), str(second) in ids(seen)) == (False, True)
    assert str(first) in ids(found)


async def test_changes_during_a_scan_are_in_the_next_round(changing: OwnServer) -> None:
    page = (await get(changing.served, USERS, page_size=1)).json()
    first = page["value"][0]["id"]
    change = "UPDATE directory.users SET display_name = 'Scanned' WHERE id = $1"
    await changing.databases.worker.pool.execute(change, first)

    rest, later = await read(changing.served, page["@odata.nextLink"].removeprefix(changing.served.graph_url))

    assert ids(rest) == PEOPLE - {first}
    assert ids((await read(changing.served, later))[0]) == {first}


async def test_it_reports_changed_mailboxes_as_users(own_server: OwnServer) -> None:
    _, later = await read(own_server.served, USERS)
    await create_mailboxes(own_server.databases.worker.pool)
    made, later = await read(own_server.served, later)

    pool = own_server.databases.worker.pool
    await pool.execute("UPDATE directory.mailboxes SET is_hidden = false WHERE user_id = $1", HELP)
    changed, _ = await read(own_server.served, later)

    assert str(HELP) in ids(made)
    assert ids(changed) == {str(HELP)}


async def test_it_selects_properties_for_all_rounds(changing: OwnServer) -> None:
    first, later = await read(changing.served, f"{GROUPS}?$select=displayName,house_group", page_size=2)
    await changing.databases.worker.pool.execute("UPDATE directory.groups SET description = 'x' WHERE id = $1", STAFF)
    second, _ = await read(changing.served, later)

    assert {frozenset(entry) for entry in first} == {
        frozenset({"id", "displayName"}),
        frozenset({"id", "displayName", "house_group"}),
    }
    assert second == [entry for entry in first if entry["id"] == str(STAFF)]


async def test_it_reports_members_and_owners_who_come_and_go(own_server: OwnServer) -> None:
    pool = own_server.databases.worker.pool
    first, later = await read(own_server.served, f"{GROUPS}?$select=id,members,owners")
    await pool.execute("DELETE FROM directory.memberships WHERE group_id = $1 AND member_id = $2", STAFF, BEN)
    await pool.execute("UPDATE directory.memberships SET is_owner = false WHERE group_id = $1", STAFF)

    (staff,) = (await read(own_server.served, later))[0]
    again = await read(own_server.served, later)

    before = {entry["id"]: entry for entry in first}[str(STAFF)]
    assert [each["id"] for each in before["members@delta"]] == [str(ADA), str(BEN), str(CREW)]
    assert [each["id"] for each in before["owners@delta"]] == [str(ADA)]
    assert removed(staff["members@delta"]) == {str(BEN): {"reason": "deleted"}}
    assert removed(staff["owners@delta"]) == {str(ADA): {"reason": "deleted"}}
    assert ids(staff["members@delta"]) == {str(ADA), str(BEN), str(CREW)}
    assert again[0] == [staff]


async def test_a_member_who_returns_is_not_removed(own_server: OwnServer) -> None:
    pool = own_server.databases.worker.pool
    _, later = await read(own_server.served, f"{GROUPS}?$select=members")
    await pool.execute("DELETE FROM directory.memberships WHERE group_id = $1 AND member_id = $2", STAFF, BEN)
    await pool.execute("INSERT INTO directory.memberships VALUES ($1, $2, $3, false, true, false)", HOUSE, STAFF, BEN)

    (staff,) = (await read(own_server.served, later))[0]

    assert removed(staff["members@delta"]) == {}
    assert str(BEN) in ids(staff["members@delta"])


async def test_it_starts_at_later_changes(changing: OwnServer) -> None:
    nothing, later = await read(changing.served, f"{GROUPS}?$deltatoken=latest&$select=displayName")
    await changing.databases.worker.pool.execute("UPDATE directory.groups SET display_name = 'X' WHERE id = $1", CREW)

    found, _ = await read(changing.served, later)

    assert (nothing, found) == ([], [{"id": str(CREW), "displayName": "X"}])


async def test_a_token_expires(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    async with serving(databases.application.pool, now=lambda: moment) as served:
        _, later = await read(served, GROUPS)
        moment += timedelta(days=7)
        known = await get(served, later)
        moment += timedelta(seconds=1)
        expired = await get(served, later)

    assert known.status_code == 200
    assert (expired.status_code, expired.json()["error"]["code"]) == (410, "syncStateNotFound")
    assert expired.headers["location"] == f"{served.graph_url}{GROUPS}"


@pytest.mark.parametrize(
    "query",
    [
        "$deltatoken=x",
        "$deltatoken=",
        "$skiptoken={token}x",
        "$deltatoken={token}&$skiptoken={token}",
        "$deltatoken={token}&$select=displayName",
        "$select=password",
        "$top=3",
        "$orderby=displayName",
        "$expand=members",
    ],
)
async def test_it_rejects_other_queries(changing: OwnServer, query: str) -> None:
    _, later = await read(changing.served, f"{GROUPS}?$select=id")
    token = later.partition("=")[2]

    assert (await get(changing.served, f"{GROUPS}?{query.format(token=token)}")).status_code == 400


async def test_it_rejects_tokens_of_other_paths_and_tenants(changing: OwnServer) -> None:
    _, later = await read(changing.served, GROUPS)

    users = await get(changing.served, later.replace(GROUPS, USERS))
    other = await changing.served.get(later, whose="other")

    assert (users.status_code, other.status_code) == (400, 400)


@pytest.mark.parametrize("path", [GROUPS, USERS])
async def test_it_requires_a_permission(changing: OwnServer, path: str) -> None:
    assert (await changing.served.get(path, whose="house-sites")).status_code == 403


@pytest.mark.parametrize(("made_at", "status"), [(10**18, 200), (10**12, 200), (-(10**18), 410)])
async def test_a_forged_time_of_a_token_is_no_internal_error(changing: OwnServer, made_at: int, status: int) -> None:
    # The digest needs no secret: a token is a position in the caller's own list.
    _, later = await read(changing.served, GROUPS)
    raw = urlsafe_b64decode(later.partition("=")[2] + "==")
    content = json.dumps([*json.loads(raw[12:])[:2], made_at], separators=(",", ":")).encode()
    path = GROUPS.removeprefix("/v1.0")
    bound = json.dumps([{"tenant": str(HOUSE), "path": path}, b64encode(content).decode()], separators=(",", ":"))
    token = urlsafe_b64encode(blake2b(bound.encode(), digest_size=12).digest() + content).decode().rstrip("=")

    assert (await get(changing.served, f"{GROUPS}?$deltatoken={token}")).status_code == status
