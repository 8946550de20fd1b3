# SPDX-License-Identifier: Apache-2.0
"""Requests that are read at the same time, by one statement for all of them and as each tenant sees its own."""

import asyncio
from datetime import timedelta

import msgspec

from chamberlain.core.errors import DatabaseUnavailable
from chamberlain.core.ids import RequestId
from chamberlain.requests.store import RequestLooks
from tests.databases import Databases
from tests.estates import ADA, ESTATE, OTHER_GROUP, OTHER_HOUSE, ZOE, Estate, caller_of, open_estate
from tests.postgres import connected

UNKNOWN = RequestId(ADA)


async def requested(estate: Estate) -> tuple[RequestId, RequestId]:
    """A request of each of two tenants."""
    ours = await estate.request("Apollo")
    theirs = await estate.request("Zeus", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP))
    return ours.request_id, theirs.request_id


async def test_it_works(estate: Estate) -> None:
    ours, _ = await requested(estate)

    found = await RequestLooks(estate.databases.application).find(ESTATE, ours)

    assert found == await estate.record(ours)


async def test_those_who_read_at_the_same_time_get_what_their_tenant_has(estate: Estate) -> None:
    ours, theirs = await requested(estate)
    looks = RequestLooks(estate.databases.application)
    places = [(ESTATE, ours), (OTHER_HOUSE, theirs), (ESTATE, theirs), (OTHER_HOUSE, ours), (ESTATE, UNKNOWN)] * 20

    found = await asyncio.gather(*(looks.find(*place) for place in places))

    assert [each and each.display_name for each in found] == ["Apollo", "Zeus", None, None, None] * 20


async def test_each_request_is_read_once_and_by_its_own_tenant(estate: Estate) -> None:
    """The owner reads here, whom row-level security does not bind: the function itself keeps to each tenant."""
    ours, theirs = await requested(estate)
    await estate.request("Borealis")
    await estate.request("Hera", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP))
    places = [(ESTATE, ours), (ESTATE, ours), (OTHER_HOUSE, ours), (ESTATE, theirs)]

    async with connected(estate.databases.addresses.owner) as owner:
        found = await owner.fetch(
            "SELECT tenant_id, request_id FROM chamberlain.look_at_requests($1, $2)", *zip(*places, strict=True)
        )

    assert list(map(tuple, found)) == [(ESTATE, ours)]


async def test_one_that_cannot_be_read_fails_nobody_else(estate: Estate) -> None:
    ours, theirs = await requested(estate)
    later = '[{"step": "stepOfALaterVersion", "state": "pending"}]'
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.request SET steps = $1 WHERE request_id = $2", later, ours)
    looks = RequestLooks(estate.databases.application)

    spoilt, good = await asyncio.gather(
        looks.find(ESTATE, ours), looks.find(OTHER_HOUSE, theirs), return_exceptions=True
    )

    assert isinstance(spoilt, msgspec.ValidationError)
    assert good == await estate.record(theirs, OTHER_HOUSE)


async def test_nobody_waits_for_long_while_the_table_is_held(databases: Databases) -> None:
    estate = await open_estate(databases)
    ours, _ = await requested(estate)
    looks = RequestLooks(databases.application, patience=timedelta(seconds=0.2))

    async with connected(databases.addresses.owner) as owner, owner.transaction():
        await owner.execute("LOCK TABLE chamberlain.request")
        # More than travel together, twice.
        found = await asyncio.gather(*(looks.find(ESTATE, ours) for _ in range(100)), return_exceptions=True)

    assert {type(each) for each in found} == {DatabaseUnavailable}
    assert await RequestLooks(databases.application).find(ESTATE, ours)


async def test_no_tenant_is_left_set_behind_a_look(estate: Estate) -> None:
    ours, _ = await requested(estate)

    async with estate.databases.application.statement() as connection:
        look = "SELECT request_id FROM chamberlain.look_at_requests($1, $2)"
        assert len(await connection.fetch(look, [ESTATE], [ours])) == 1
        assert await connection.fetchval("SELECT count(*) FROM chamberlain.request") == 0


async def test_it_goes_on_while_the_table_gets_a_column(databases: Databases) -> None:
    estate = await open_estate(databases)
    ours, _ = await requested(estate)
    looks = RequestLooks(databases.application)
    before = await looks.find(ESTATE, ours)

    async with connected(databases.addresses.owner) as owner:
        await owner.execute("ALTER TABLE chamberlain.request ADD COLUMN later text")

    assert await looks.find(ESTATE, ours) == before
