# SPDX-License-Identifier: Apache-2.0
"""The tenant of a token: found by its exact issuer and tid, and only while the tenant is not suspended."""

from uuid import UUID, uuid4

import pytest

from tests.estates import ESTATE, OTHER_HOUSE, Estate

ISSUER = "https://issuer.example/one"
ISSUERS = """
INSERT INTO chamberlain.issuer (tenant_id, issuer, tid, audiences) VALUES
    ($1, 'https://issuer.example/one', NULL, '{"api": "https://one"}'),
    ($1, 'https://issuer.example/two', 'first', '{}'),
    ($2, 'https://issuer.example/two', 'second', '{}')
RETURNING 1
"""
SUSPEND = "UPDATE chamberlain.tenant SET suspended = true WHERE tenant_id = $1 RETURNING 1"


@pytest.fixture
async def filled(estate: Estate) -> Estate:
    """Two tenants, one issuer of the first, and one that both share."""
    await estate.rows(ISSUERS, ESTATE, OTHER_HOUSE)
    return estate


async def find(estate: Estate, issuer: str, tid: str | None) -> list[tuple[object, ...]]:
    """Look as a process does that has no tenant yet."""
    async with estate.databases.application.statement() as connection:
        return [
            tuple(row) for row in await connection.fetch("SELECT * FROM chamberlain.find_issuer($1, $2)", issuer, tid)
        ]


async def is_served(estate: Estate, tenant: UUID) -> object:
    async with estate.databases.application.statement() as connection:
        return await connection.fetchval("SELECT chamberlain.tenant_is_served($1)", tenant)


async def test_it_works(filled: Estate) -> None:
    assert await find(filled, ISSUER, None) == [(ESTATE, ISSUER, None, '{"api": "https://one"}')]


@pytest.mark.parametrize(("tid", "tenant"), [("first", ESTATE), ("second", OTHER_HOUSE)])
async def test_tenants_of_one_issuer_differ_by_tid(filled: Estate, tid: str, tenant: UUID) -> None:
    found = await find(filled, "https://issuer.example/two", tid)

    assert found == [(tenant, "https://issuer.example/two", tid, "{}")]


@pytest.mark.parametrize(
    ("issuer", "tid"),
    [(ISSUER, "first"), ("https://issuer.example/two", None), ("https://issuer.example/two", "third"), ("x", None)],
)
async def test_it_finds_none_for_another_issuer_or_tid(filled: Estate, issuer: str, tid: str | None) -> None:
    assert await find(filled, issuer, tid) == []


async def test_it_finds_no_suspended_tenant(filled: Estate) -> None:
    await filled.rows(SUSPEND, ESTATE)

    assert await find(filled, ISSUER, None) == []
    assert await find(filled, "https://issuer.example/two", "first") == []
    assert len(await find(filled, "https://issuer.example/two", "second")) == 1


async def test_a_tenant_is_served_while_it_is_there_and_not_suspended(estate: Estate) -> None:
    before = await is_served(estate, ESTATE), await is_served(estate, uuid4())
    await estate.rows(SUSPEND, ESTATE)

    assert before == (True, False)
    assert await is_served(estate, ESTATE) is False
    assert await is_served(estate, OTHER_HOUSE) is True
