# SPDX-License-Identifier: Apache-2.0
"""Limits of a tenant: how many requests may be open, how many may come in a minute, how many jobs may run."""

import asyncio
from dataclasses import replace

import msgspec
import pytest

from chamberlain.core.errors import LimitReached
from chamberlain.groups.wire import read_group_order
from chamberlain.mailboxes.wire import read_mailbox_order
from chamberlain.requests.models import Accepted
from chamberlain.tenants.schema import LimitsShape
from tests.databases import Databases
from tests.estates import (
    ADA,
    CONFIDENTIAL_TEAM,
    OTHER_GROUP,
    OTHER_HOUSE,
    PROJECT_GROUP,
    ZOE,
    Estate,
    apply,
    caller_of,
    changed_estate,
    mail_caller_of,
    open_estate,
    service_of,
)
from tests.guests.assignments.fingerprints import fingerprint


async def limited(databases: Databases, limits: LimitsShape) -> Estate:
    """The example estate, whose first tenant has these limits."""
    configuration = changed_estate()
    estate, *others = configuration.tenants
    tenant = msgspec.structs.replace(estate.tenant, limits=limits)
    first = replace(estate, tenant=tenant)
    return await open_estate(databases, replace(configuration, tenants=(first, *others)))


async def refusal(estate: Estate, name: str = "One too many", *, key: str | None = None) -> LimitReached:
    with pytest.raises(LimitReached) as caught:
        await estate.request(name, key=key)
    return caught.value


async def test_it_works(databases: Databases) -> None:
    estate = await limited(databases, LimitsShape(open_requests=2))
    await estate.request("One")
    await estate.request("Two", templateId=str(CONFIDENTIAL_TEAM))
    before = await estate.counts()

    refused = await refusal(estate)

    assert (refused.code, refused.limit) == ("quotaExceeded", "openRequests")
    assert refused.after.total_seconds() >= 1
    assert await estate.counts() == before


async def test_there_is_room_again_when_a_request_has_ended(databases: Databases) -> None:
    estate = await limited(databases, LimitsShape(open_requests=1))
    await estate.request("One")
    await refusal(estate)

    await estate.work()

    await estate.request("Two")


async def test_a_batch_fills_the_room_and_no_more(databases: Databases) -> None:
    estate = await limited(databases, LimitsShape(open_requests=7))

    answers = await asyncio.gather(*[estate.request(f"Group {n}") for n in range(20)], return_exceptions=True)

    assert sum(isinstance(each, Accepted) for each in answers) == 7
    assert sum(isinstance(each, LimitReached) for each in answers) == 13
    assert (await estate.counts())["request"] == 7


async def test_two_processes_never_fill_the_same_room(databases: Databases) -> None:
    estate = await limited(databases, LimitsShape(open_requests=30))
    processes = [estate, service_of(databases)]

    answers = await asyncio.gather(
        *[processes[n % 2].request(f"Group {n}") for n in range(100)], return_exceptions=True
    )

    assert sum(isinstance(each, Accepted) for each in answers) == 30
    assert {type(each) for each in answers} == {Accepted, LimitReached}


async def test_a_request_that_was_accepted_before_is_reported_again_when_there_is_no_room(databases: Databases) -> None:
    estate = await limited(databases, LimitsShape(open_requests=1))
    first = await estate.request("One", key="k1")

    again = await estate.request("One", key="k1")

    assert (again.request_id, again.replayed) == (first.request_id, True)


async def test_a_refused_request_gives_its_key_back(databases: Databases) -> None:
    estate = await limited(databases, LimitsShape(open_requests=1))
    await estate.request("One")
    await refusal(estate, key="k1")
    await estate.work()

    accepted = await estate.request("Another thing", key="k1")

    assert not accepted.replayed


async def test_a_dry_run_lists_the_exhausted_limit_and_uses_none(databases: Databases) -> None:
    estate = await limited(databases, LimitsShape(open_requests=2))
    group = read_group_order(msgspec.json.encode({"displayName": "Dry", "templateId": str(PROJECT_GROUP)}))
    mailbox = read_mailbox_order(msgspec.json.encode({"name": "Dry", "displayName": "Dry", "autoMapping": True}))
    await estate.request("One")
    free = [await estate.groups.dry_run(caller_of(ADA), group), await estate.groups.dry_run(caller_of(ADA), group)]
    await estate.request("Two")
    before = await fingerprint(databases)

    of_group = (await estate.groups.dry_run(caller_of(ADA), group)).conflicts
    of_mailbox = (await estate.mailboxes.dry_run(mail_caller_of(ADA), mailbox)).conflicts

    assert [each.conflicts for each in free] == [(), ()]
    assert [(fault.pointer, fault.code) for fault in (*of_group, *of_mailbox)] == [("", "quotaExceeded")] * 2
    assert await fingerprint(databases) == before


async def test_so_many_in_a_minute(databases: Databases) -> None:
    estate = await limited(databases, LimitsShape(requests_per_minute=2))
    await estate.request("One")
    await estate.request("Two")
    await estate.work()

    refused = await refusal(estate)
    await estate.rows("UPDATE chamberlain.request SET created_at = created_at - interval '61 s'")
    await estate.request("Three")

    assert (refused.code, refused.limit, refused.after.total_seconds()) == ("quotaExceeded", "requestsPerMinute", 60)


async def test_a_limit_is_of_one_tenant(databases: Databases) -> None:
    estate = await limited(databases, LimitsShape(open_requests=1))
    await estate.request("One")
    await refusal(estate)

    await estate.request("House", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP))


async def test_a_limit_that_is_taken_away_counts_no_more(databases: Databases) -> None:
    estate = await limited(databases, LimitsShape(open_requests=1))
    await estate.request("One")
    await refusal(estate)

    await apply(databases, changed_estate())

    await estate.request("Two")


async def test_so_many_jobs_run_at_once(databases: Databases) -> None:
    estate = await limited(databases, LimitsShape(running_jobs=3))
    for number in range(10):
        await estate.request(f"Group {number}")

    first, second = await estate.claim(), await estate.claim()

    assert len(first.jobs) == 3
    assert second.jobs == ()
