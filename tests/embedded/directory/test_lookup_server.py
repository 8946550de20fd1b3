# SPDX-License-Identifier: Apache-2.0
"""Lookups of Graph in the directory of a tenant that is elsewhere, with a role that sees all tenants."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from chamberlain.app.directory import found_together
from chamberlain.embedded import postgres
from chamberlain.embedded.directory.graph.calls import NotThere
from chamberlain.embedded.directory.graph.remote import LookupServer
from chamberlain.embedded.directory.graph.server import Access, Request
from tests.databases import filled_database
from tests.embedded.directory.conftest import REQUEST_ID, authenticate, load_sample_data
from tests.embedded.directory.sample_data import ADA, HOUSE, STAFF, ZOE

HOUSE_READER = Access(HOUSE, frozenset({"Directory.Read.All"}))


@pytest.fixture(scope="module")
async def lookups(postgres_server: postgres.Server) -> AsyncIterator[LookupServer]:
    async with filled_database(postgres_server, "sample_data", load_sample_data) as databases:
        pool = databases.worker.pool

        async def refused(code: str) -> None:
            raise AssertionError(code)

        yield LookupServer(
            pool,
            refused=refused,
            find_groups=found_together(pool),
            graph_url="http://127.0.0.1/graph",
            authenticate=authenticate,
            now=lambda: datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
            new_request_id=lambda: REQUEST_ID,
        )


async def found(lookups: LookupServer, path: str, filter_: str | None = None) -> list[object]:
    """The ids that a call returns."""
    query = b"" if filter_ is None else f"$select=id,displayName,mail&$filter={quote(filter_)}".encode()
    answer = await lookups.answer(HOUSE_READER, Request("GET", f"/v1.0{path}", query, {}))
    assert isinstance(answer, dict)
    entries = answer.get("value", [answer])
    assert isinstance(entries, list)
    return [each["id"] for each in entries]


@pytest.mark.parametrize(
    "filter_",
    [
        "mail eq 'ada@house.example' or userPrincipalName eq 'ada@house.example'",
        "userPrincipalName eq 'ada@house.example'",
        "displayName eq 'Ada Achterberg'",
        "startswith(displayName,'Ada')",
    ],
)
async def test_it_finds_a_user_by_address_or_name(lookups: LookupServer, filter_: str) -> None:
    assert await found(lookups, "/users", filter_) == [str(ADA)]


@pytest.mark.parametrize("filter_", ["mail eq 'zoe@other.example'", "startswith(displayName,'Zoe')"])
async def test_users_of_other_tenants_are_not_found(lookups: LookupServer, filter_: str) -> None:
    assert await found(lookups, "/users", filter_) == []


async def test_it_returns_a_user_and_a_group_by_id(lookups: LookupServer) -> None:
    assert await found(lookups, f"/users/{ADA}") == [str(ADA)]
    assert await found(lookups, f"/groups/{STAFF}") == [str(STAFF)]
    with pytest.raises(NotThere):
        await found(lookups, f"/users/{ZOE}")


@pytest.mark.parametrize("path", ["/users", "/groups", f"/users/{ADA}/manager", "/organization"])
async def test_everything_else_is_not_there(lookups: LookupServer, path: str) -> None:
    with pytest.raises(NotThere):
        await found(lookups, path)
