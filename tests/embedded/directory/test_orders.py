# SPDX-License-Identifier: Apache-2.0
"""`$orderby` with pagination, and `$count`."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Sequence
from urllib.parse import parse_qsl, quote, urlsplit
from uuid import UUID

import pytest

from chamberlain.app.directory import found_together
from chamberlain.embedded import postgres
from chamberlain.embedded.directory.database import Pool, one_tenant
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import Call
from chamberlain.embedded.directory.graph.filters import Parameters
from chamberlain.embedded.directory.graph.groups import GROUP_LISTING
from chamberlain.embedded.directory.graph.options import Order, SortKey, read_options, read_order
from chamberlain.embedded.directory.graph.paging import (
    Place,
    page_statement,
    read_query,
    read_skip_token,
    write_skip_token,
)
from chamberlain.embedded.directory.load import load
from tests.databases import Databases
from tests.embedded.directory.conftest import Served, open_server
from tests.embedded.directory.mailboxes import create_mailboxes
from tests.embedded.directory.sample_data import ADA, HOUSE, STAFF, group, user
from tests.postgres import connected

OPTIONS = ("$filter", "$orderby", "$skiptoken")
EVENTUAL = {"ConsistencyLevel": "eventual"}
# Names that differ only in case, or not at all, and names that are easily confused.
NAMES = ["b", "B", "b", "a", "Zebra", "Ähre", "ähre", "it's", "", "%", "a b", "日本", "a+b&c", 'say "x"', "Z"]
GROUPS = [
    group(
        UUID(int=0x6000 + number),
        HOUSE,
        f"G {name}",
        mailNickname=f"g{number}",
        **({} if number % 3 else {"mail": f"{'G' if number % 2 else 'g'}{number}@house.example"}),
    )
    for number, name in enumerate(NAMES)
]


@pytest.fixture(scope="module")
async def sorted_groups(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_server(postgres_server) as own_server:
        await fill(own_server.databases.worker.pool)
        yield own_server.served


async def fill(pool: Pool) -> None:
    users = [user(UUID(int=0x7000 + number), HOUSE, f"User {name}") for number, name in enumerate("cba")]
    for number, each in enumerate(users):
        each |= {"userPrincipalName": f"u{number}@house.example", "mail": None if number else "u@house.example"}
    await load(pool, {"groups": GROUPS, "users": users})
    await create_mailboxes(pool)
    # Some groups have the same creation time, and none are created in the order of the ids.
    await pool.execute(
        "UPDATE directory.groups SET created_at = '2026-11-20T09:30:00Z'::timestamptz "
        "+ hashtext(id::text) % 5 * interval '1 s'"
    )


async def get(served: Served, path: str, **headers: str) -> dict[str, object]:
    answer = await served.http.get(f"/graph{path}", headers={"Authorization": "Bearer house-directory", **headers})
    assert answer.status_code == 200, answer.text
    body: dict[str, object] = answer.json()
    return body


async def follow_links(served: Served, path: str, **headers: str) -> list[dict[str, str]]:
    """List all entries by following the links; only the first call has these headers."""
    found: list[dict[str, str]] = []
    for _ in range(40):
        body = await get(served, path, **headers)
        page = body["value"]
        assert isinstance(page, list)
        found += page
        link = body.get("@odata.nextLink")
        if link is None:
            return found
        assert isinstance(link, str)
        assert link.startswith(f"{served.graph_url}/v1.0/")
        assert all(character.isascii() and character not in " '\"<>" for character in link)
        path, headers = link.removeprefix(served.graph_url), {}
    raise AssertionError("The pages do not end.")


def expected(entries: Sequence[dict[str, str]], name: str, *, descends: bool) -> list[dict[str, str]]:
    """Sort the entries: missing values first, case-insensitive, then by id."""
    return sorted(
        entries,
        key=lambda entry: (entry[name] is not None, (entry[name] or "").lower(), entry["id"]),
        reverse=descends,
    )


async def test_it_works(sorted_groups: Served) -> None:
    for kind, name in [
        ("groups", "displayName"),
        ("groups", "mail"),
        ("groups", "createdDateTime"),
        ("users", "displayName"),
        ("users", "mail"),
        ("users", "userPrincipalName"),
    ]:
        everything = await follow_links(sorted_groups, f"/v1.0/{kind}?$select=id,{name}")
        assert len(everything) > 9

        for direction, top in ((" desc", 2), (" asc", 3), ("", 1), ("", 999)):
            path = f"/v1.0/{kind}?$orderby={name}{direction}&$select=id,{name}&$top={top}"

            found = await follow_links(sorted_groups, quote(path, safe="/?$&=,"))

            assert found == expected(everything, name, descends=direction == " desc"), path


async def test_it_sorts_filtered_entries(sorted_groups: Served) -> None:
    written = quote("not(startswith(displayName, 'G b')) and displayName ne 'G it''s & +'")
    path = f"/v1.0/groups?$filter={written}&$orderby=displayName%20desc&$count=true&$top=2&$select=displayName,id"

    first = await get(sorted_groups, path, **EVENTUAL)
    found = await follow_links(sorted_groups, path, **EVENTUAL)

    assert first["@odata.count"] == len(found) == len(NAMES) + 4 - 3
    assert found == expected(found, "displayName", descends=True)
    link = first["@odata.nextLink"]
    assert isinstance(link, str)
    carried = dict(parse_qsl(urlsplit(link).query))
    assert carried.pop("$skiptoken")
    assert carried == dict(parse_qsl(urlsplit(path).query))
    # Only the first page has the count.
    assert "@odata.count" not in await get(sorted_groups, link.removeprefix(sorted_groups.graph_url), **EVENTUAL)


@pytest.mark.parametrize(
    "query", ["$orderby=mail", "$orderby=mail desc", "$filter=mail eq null", "$orderby=displayName"]
)
async def test_a_skip_token_is_valid_for_its_query_only(sorted_groups: Served, query: str) -> None:
    link = (await get(sorted_groups, f"/v1.0/groups?{query}&$top=1"))["@odata.nextLink"]
    assert isinstance(link, str)
    token = dict(parse_qsl(urlsplit(link).query))["$skiptoken"]
    raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    changed = [urlsafe_b64encode(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]).decode() for at in range(len(raw))]

    refused = [
        await sorted_groups.get(f"/v1.0/{path}&$skiptoken={quote(tampered)}", whose=whose)
        for path, tampered, whose in [
            *((f"groups?{query}", one.rstrip("="), "house") for one in changed[::7]),
            (f"groups?{query}", token + "A", "house"),
            (f"groups?{query}", token[:-1], "house"),
            (f"groups?{query}", f"{token[:5]}!{token[5:]}", "house"),
            (f"groups?{query}", "' OR true; --", "house"),
            ("groups?$orderby=createdDateTime", token, "house"),
            ("groups?$filter=mail ne null", token, "house"),
            ("groups?", token, "house"),
            (f"groups?{query}", token, "other"),
            ("users?$orderby=mail", token, "house-directory"),
            (f"groups/{STAFF}/members?$top=1", token, "house"),
        ]
    ]

    assert {answer.status_code for answer in refused} == {400}
    assert all("$skiptoken" in answer.json()["error"]["message"] for answer in refused)
    assert (await sorted_groups.get(f"/v1.0/groups?{query}&$top=5&$skiptoken={token}")).status_code == 200


@pytest.mark.parametrize("is_time", [False, True])
@pytest.mark.parametrize("key", ["x\x00", "0001-01-01T00:00:00", "yesterday", ""])
def test_a_decoded_skip_token_is_storable(key: str, *, is_time: bool) -> None:
    token = write_skip_token(Place(STAFF, key), ("query",))

    try:
        place = read_skip_token(token, ("query",), key_is_time=is_time)
    except BadQuery:
        return

    assert is_time is not isinstance(place.key, str)
    assert "\x00" not in str(place.key)


async def test_it_counts(sorted_groups: Served) -> None:
    groups, users, members = len(NAMES) + 4, 4 + 3 + 3, 3
    for path, count in [
        ("groups", groups),
        ("groups?$filter=startswith(displayName, 'g b')", 3),
        ("groups?$filter=chamberlain_group/requestId eq 'x'", 0),
        ("groups?$filter=house_group/requestId eq 'abc-1'", 1),
        ("users", users),
        ("users?$filter=userType eq 'Guest'", 1),
        (f"groups/{STAFF}/members", members),
        (f"groups/{STAFF}/owners", 1),
    ]:
        resource, _, query = path.partition("?")
        among = f"/v1.0/{resource}?{query}&$count=true&$top=1" if query else f"/v1.0/{resource}?$count=true&$top=1"

        listed = await get(sorted_groups, among, **EVENTUAL)
        alone = await sorted_groups.http.get(
            f"/graph/v1.0/{resource}/$count?{query}", headers={"Authorization": "Bearer house-directory", **EVENTUAL}
        )

        assert listed["@odata.count"] == count
        assert (alone.status_code, alone.text) == (200, str(count))
        assert alone.headers["content-type"] == "text/plain; charset=utf-8"
        # As in Graph, the option is ignored without the header.
        assert "@odata.count" not in await get(sorted_groups, among)


@pytest.mark.parametrize("path", ["groups", "users", f"groups/{STAFF}/owners", f"groups/{STAFF}/members"])
@pytest.mark.parametrize("headers", [{}, {"ConsistencyLevel": "session"}])
async def test_it_rejects_a_bare_count_without_the_header(served: Served, path: str, headers: dict[str, str]) -> None:
    authorized = {"Authorization": "Bearer house-directory", **headers}

    answer = await served.http.get(f"/graph/v1.0/{path}/$count", headers=authorized)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "Request_BadRequest")
    assert "ConsistencyLevel" in answer.json()["error"]["message"]


async def test_a_count_requires_permission_and_existence(served: Served) -> None:
    eventual = {"Authorization": "Bearer house", **EVENTUAL}

    forbidden = await served.http.get("/graph/v1.0/users/$count", headers=eventual)
    unknown = await served.http.get(f"/graph/v1.0/groups/{ADA}/members/$count", headers=eventual)
    refused = await served.http.get("/graph/v1.0/groups/$count?$orderby=mail", headers=eventual)

    assert (forbidden.status_code, unknown.status_code, refused.status_code) == (403, 404, 400)


@pytest.mark.parametrize(
    ("written", "descends"),
    [("mail", False), (" mail  asc ", False), ("mail desc", True), ("mail\tdesc", True)],
)
def test_it_parses_an_order(written: str, *, descends: bool) -> None:
    key = SortKey("g.mail", may_lack=True)

    assert read_order(written, {"mail": key}, "Group") == Order(key, descends=descends)


MANY = """
INSERT INTO directory.groups (
    tenant_id, id, display_name, mail_nickname, visibility, group_types, mail_enabled, security_enabled, extensions,
    created_at)
SELECT $1, gen_random_uuid(), 'Many ' || n, 'n', 'Private', '{}', false, true, '{}', now()
FROM generate_series(1, 5000) AS n
"""


@pytest.mark.parametrize(
    "query",
    [
        "$orderby=displayName",
        "$orderby=displayName desc",
        "$orderby=displayName&$skiptoken=",
        "$orderby=displayName desc&$skiptoken=",
        "$filter=displayName eq 'Many 7'",
    ],
)
async def test_it_scans_only_the_page(databases: Databases, query: str) -> None:
    await databases.worker.pool.execute(MANY, HOUSE)
    async with connected(databases.addresses.owner) as owner:
        await owner.execute("ANALYZE directory.groups")
    if query.endswith("$skiptoken="):
        order = query.removeprefix("$orderby=").partition("&")[0]
        query += write_skip_token(Place(STAFF, "many 4000"), (str(HOUSE), "/groups", None, order))
    pool = databases.application.pool
    query_string = quote(query, safe="$=&").encode()
    call = Call(pool, found_together(pool), "", HOUSE, None, query_string, path="/groups")
    wanted = read_query(call, GROUP_LISTING, read_options(call.query_string, known=frozenset({*OPTIONS})))
    parameters = Parameters([HOUSE])
    statement = page_statement(call, GROUP_LISTING, wanted, parameters)

    async with one_tenant(call.pool, HOUSE) as connection:
        rows = await connection.fetch(f"EXPLAIN {statement}", *parameters)

    plan = "\n".join(row[0] for row in rows)
    assert "using groups_by_name" in plan
    if "$skiptoken" in query:
        assert "Index Cond: ((tenant_id = " in plan
        assert "ROW(sorted_name, id)" in plan
