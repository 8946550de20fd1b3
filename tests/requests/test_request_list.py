# SPDX-License-Identifier: Apache-2.0
"""Listing requests: one's own or all of the tenant's, by state and kind, every one once however the pages are cut."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from uuid import UUID

import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Forbidden, TryAgain, Unavailable
from chamberlain.core.ids import RequestId
from chamberlain.core.paging import PageWanted
from chamberlain.requests.models import RequestFilter, RequestKind, RequestState
from tests.databases import Databases
from tests.estates import (
    ADA,
    BEN,
    CLEO,
    CONFIDENTIAL_TEAM,
    ESTATE,
    OTHER_HOUSE,
    ZOE,
    Estate,
    caller_of,
    mail_caller_of,
    open_estate,
)
from tests.requests.request_services import administrator, application, request_service

EVERYTHING = RequestFilter()
BOTH = frozenset(
    {"https://api.estate.example/collab/App.ReadWrite.All", "https://api.estate.example/admin/Config.ReadWrite.All"}
)


async def listed(
    estate: Estate, caller: Caller, wanted: RequestFilter = EVERYTHING, *, limit: int = 200
) -> list[RequestId]:
    """The ids of all pages in their order."""
    found: list[RequestId] = []
    page = await request_service(estate).list(caller, wanted, PageWanted(limit, None))
    found += [view.record.request_id for view in page.items]
    while page.next is not None:
        assert len(page.items) == limit
        page = await request_service(estate).list(caller, wanted, PageWanted(limit, page.next))
        found += [view.record.request_id for view in page.items]
    return found


async def test_it_works(estate: Estate) -> None:
    first = await estate.request("Apollo", caller=caller_of(BEN))
    second = await estate.request("Secret", caller=caller_of(BEN), templateId=str(CONFIDENTIAL_TEAM))
    await estate.request("Hermes", caller=caller_of(CLEO))

    page = await request_service(estate).list(caller_of(BEN), EVERYTHING, PageWanted(50, None))

    assert [view.record.request_id for view in page.items] == [second.request_id, first.request_id]
    assert page.next is None
    # As it is read alone, but without what may be large.
    whole = await estate.record(first.request_id)
    assert page.items[1].record == replace(whole, body=b"{}", steps=())
    assert [len(view.actions) for view in page.items] == [1, 1]


async def test_a_prefix_and_times_select_among_the_visible_requests(estate: Estate) -> None:
    apollo = (await estate.request("Apollo", caller=caller_of(BEN))).request_id
    artemis = (await estate.request("ÄRTEMIS 100%", caller=caller_of(BEN))).request_id
    foreign = (await estate.request("Apollonia", caller=caller_of(CLEO))).request_id
    sent = {"name": "lindau", "displayName": "Information", "autoMapping": True}
    mailbox = (await estate.ask_mailbox(sent, caller=mail_caller_of(BEN))).accepted.request_id
    begun = [(await estate.record(each)).created_at for each in (apollo, artemis, foreign, mailbox)]

    async def found(wanted: RequestFilter) -> list[RequestId]:
        return await listed(estate, mail_caller_of(BEN), wanted)

    for prefix, expected in (
        ("aPoLLo", [apollo]),
        ("ärtemis 100%", [artemis]),
        ("LINDAU@", [mailbox]),
        ("inform", [mailbox]),
        ("%", []),
        ("rtemis", []),
        ("Apollo ", []),
    ):
        assert await found(RequestFilter(prefix=prefix)) == expected, prefix
    assert await found(RequestFilter(since=begun[1])) == [mailbox, artemis]
    assert await found(RequestFilter(until=begun[1])) == [apollo]
    assert await found(RequestFilter(since=begun[0], until=begun[3])) == [artemis, apollo]
    assert await found(RequestFilter(prefix="apollo", since=begun[1])) == []
    assert await listed(estate, administrator(ADA), RequestFilter(prefix="apollo")) == [foreign, apollo]
    later = RequestFilter(prefix="apollo", since=begun[1], until=begun[3])
    assert await listed(estate, administrator(ADA), later) == [foreign]


async def test_an_administrator_sees_all_of_the_tenant_or_only_the_own(estate: Estate) -> None:
    own = await estate.request("Apollo", caller=caller_of(ADA))
    other = await estate.request("Hermes", caller=caller_of(CLEO))

    everybodys = await listed(estate, administrator(ADA))
    mine = await listed(estate, administrator(ADA), RequestFilter(mine=True))

    assert everybodys == [other.request_id, own.request_id]
    assert mine == [own.request_id]


async def test_without_the_permission_of_one_an_administrator_sees_the_own(estate: Estate) -> None:
    own = await estate.request("Apollo", caller=caller_of(ADA))
    await estate.request("Hermes", caller=caller_of(CLEO))

    assert await listed(estate, caller_of(ADA)) == [own.request_id]


async def test_the_permission_of_an_administrator_gives_others_their_own(estate: Estate) -> None:
    await estate.request("Apollo", caller=caller_of(ADA))
    own = await estate.request("Hermes", caller=caller_of(CLEO))

    assert await listed(estate, replace(caller_of(CLEO), permissions=BOTH)) == [own.request_id]


async def test_nothing_of_another_tenant_is_there(estate: Estate) -> None:
    await estate.request("Apollo")

    assert await listed(estate, caller_of(ZOE, OTHER_HOUSE)) == []
    assert await listed(estate, replace(caller_of(ADA), tenant_id=OTHER_HOUSE)) == []


async def test_an_application_sees_its_own(estate: Estate) -> None:
    await estate.request("Apollo")

    assert await listed(estate, application("Collab.Manage.ReadWrite.All")) == []


async def test_it_rejects_the_permission_of_an_administrator_in_other_hands(estate: Estate) -> None:
    for wanted in (EVERYTHING, RequestFilter(mine=True)):
        with pytest.raises(Forbidden) as caught:
            await listed(estate, administrator(CLEO), wanted)
        assert caught.value.code == "notAdministrator"


async def test_ones_own_are_listed_while_the_directory_is_away(databases: Databases) -> None:
    estate = await open_estate(databases)
    await estate.rows(
        "UPDATE chamberlain.tenant SET administrator_groups = ARRAY['94000000-0000-4000-8000-000000000001'::uuid]"
    )
    own = await estate.request("Apollo", caller=caller_of(BEN))
    estate.people.error = TryAgain(timedelta(seconds=2), "The directory does not answer.")
    caller = replace(caller_of(BEN), permissions=BOTH)

    assert await listed(estate, caller, RequestFilter(mine=True)) == [own.request_id]
    with pytest.raises(Unavailable):
        await listed(estate, caller)


async def scattered(estate: Estate, number: int) -> list[tuple[RequestId, RequestState, RequestKind, UUID]]:
    """Requests of all states and kinds and of two people, newest first; many are of the same moment."""
    chance = random.Random(7)  # noqa: S311 (which requests they are does not matter, only that they stay the same)
    made = []
    for each in range(number):
        request_id = RequestId(UUID(int=chance.getrandbits(128), version=4))
        at = datetime(2026, 11, 20, tzinfo=UTC) + timedelta(seconds=each // 5)
        state, kind = chance.choice(list(RequestState)), chance.choice(list(RequestKind))
        made.append((at, request_id, state, kind, chance.choice([ADA, BEN])))
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO chamberlain.request (request_id, tenant_id, kind, state, display_name, template_id, "
            "template_name, body, approval_required, people_checked, client_id, actor_type, actor_id, actor_name, "
            "trace_id, steps, created_at) SELECT id, $1, kind, state, '', $1, '', '{}', false, true, '', 'user', "
            "actor, '', '', '[]', at FROM unnest($2::timestamptz[], $3::uuid[], $4::text[], $5::text[], $6::uuid[]) "
            "AS r (at, id, state, kind, actor)",
            ESTATE,
            *zip(*made, strict=True),
        )
        await tx.execute(
            "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, held_reason) SELECT tenant_id, "
            "'groupProvision', request_id, '', CASE WHEN request_id::text < '4' THEN 'A bug.' END "
            "FROM chamberlain.request WHERE state IN ('queued', 'running', 'waiting')"
        )
    return [(each[1], each[2], each[3], each[4]) for each in sorted(made, reverse=True)]


@pytest.mark.parametrize("limit", [1, 7, 200])
async def test_every_filter_gives_what_it_names_once_and_in_order(estate: Estate, limit: int) -> None:
    requests = await scattered(estate, 400 if limit > 1 else 60)

    for state, kind, mine in product([None, *RequestState], [None, *RequestKind], [False, True]):
        found = await listed(estate, administrator(ADA), RequestFilter(state, kind, mine=mine), limit=limit)

        expected = [
            request_id
            for request_id, its_state, its_kind, actor in requests
            if state in (None, its_state) and kind in (None, its_kind) and (actor == ADA or not mine)
        ]
        assert found == expected, (state, kind, mine)
