# SPDX-License-Identifier: Apache-2.0
import asyncio

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.port import ActOutcome, DisableGuest, GuestAct, RemoveGuest
from tests.directory.conftest import Adapter
from tests.directory.guest_work import OBSERVED_HANDBOOK, OBSERVED_PARTNERS, reference
from tests.directory.sample_directory import (
    ADA,
    GIL,
    HANA,
    HANDBOOK,
    NOBODY,
    OTHER_GUEST,
    OTHER_SITE,
    OTHER_TENANT,
    PARTNERS,
    TENANT,
    VISITORS,
)
from tests.directory.test_ensure_guests import NOTHING

DONE = ActOutcome(None, None)


def remove(group_id: GroupId, guest_id: UserId, tenant_id: TenantId = TENANT) -> RemoveGuest:
    return RemoveGuest(tenant_id, group_id, guest_id)


async def guests_in(adapter: Adapter, group_id: GroupId, tenant_id: TenantId = TENANT) -> list[UserId]:
    [shown] = await adapter.guests.observe([reference(group_id, tenant_id)])
    assert shown is not None
    return [guest.id for guest in shown.guests]


async def test_it_works(adapter: Adapter) -> None:
    acts: list[GuestAct] = [remove(PARTNERS, GIL), DisableGuest(TENANT, HANA)]

    first = await adapter.guests.act(acts)
    again = await adapter.second_guests.act(acts)

    assert list(first) == list(again) == [DONE, DONE]
    assert await guests_in(adapter, PARTNERS) == [HANA]
    assert await adapter.accounts() == {GIL: True, HANA: False, OTHER_GUEST: True}


async def test_it_handles_an_empty_batch(adapter: Adapter) -> None:
    assert list(await adapter.guests.act([])) == []


async def test_it_removes_owners_and_members_and_changes_nothing_else(adapter: Adapter) -> None:
    acts = [remove(HANDBOOK, GIL), remove(PARTNERS, GIL), remove(PARTNERS, HANA)]

    outcomes = await adapter.guests.act(acts)
    partners, handbook = await adapter.guests.observe([reference(PARTNERS), reference(HANDBOOK)])

    assert list(outcomes) == [DONE] * 3
    assert partners is not None
    assert handbook is not None
    assert (partners.guests, partners.owners, partners.rules) == ((), 1, OBSERVED_PARTNERS.rules)
    assert (handbook.guests, handbook.owners, handbook.site) == ((), 1, adapter.subject(OBSERVED_HANDBOOK).site)


async def test_it_skips_users_who_are_no_members_or_no_guests(adapter: Adapter) -> None:
    acts: list[GuestAct] = [
        remove(PARTNERS, NOBODY),
        remove(PARTNERS, ADA),
        remove(PARTNERS, OTHER_GUEST),
        DisableGuest(TENANT, NOBODY),
    ]

    outcomes = await adapter.guests.act(acts)
    [shown] = await adapter.guests.observe([reference(PARTNERS)])

    assert list(outcomes) == [DONE] * 4
    assert shown == OBSERVED_PARTNERS


async def test_it_disables_neither_users_nor_guests_of_other_tenants(adapter: Adapter) -> None:
    house, other, guest = await adapter.guests.act(
        [DisableGuest(TENANT, ADA), DisableGuest(TENANT, OTHER_GUEST), DisableGuest(OTHER_TENANT, OTHER_GUEST)]
    )

    assert house.stayed is not None
    assert (house.stayed.id, house.stayed.code, house.fault) == (ADA, "notAGuest", None)
    assert (other, guest) == (DONE, DONE)
    assert await adapter.accounts() == {GIL: True, HANA: True, OTHER_GUEST: False}


async def test_it_reports_guests_who_stay(adapter: Adapter) -> None:
    acts = [remove(VISITORS, GIL), remove(OTHER_SITE, OTHER_GUEST, OTHER_TENANT), remove(PARTNERS, GIL)]

    follower, last, gone = await adapter.guests.act(acts)

    assert follower.stayed is not None
    assert last.stayed is not None
    assert (follower.stayed.id, follower.stayed.code) == (GIL, "membersFollowRule")
    assert (last.stayed.id, last.stayed.code) == (OTHER_GUEST, "lastOwner")
    assert gone == DONE
    assert await guests_in(adapter, VISITORS) == [GIL, HANA]


async def test_it_rejects_only_the_unknown_group(adapter: Adapter) -> None:
    unknown, elsewhere, done = await adapter.guests.act(
        [remove(NOTHING, GIL), remove(OTHER_SITE, OTHER_GUEST), remove(PARTNERS, GIL)]
    )

    for one in (unknown, elsewhere):
        assert isinstance(one.fault, Rejected)
        assert (one.stayed, one.fault.code) == (None, "groupUnknown")
    assert done == DONE
    assert await guests_in(adapter, OTHER_SITE, OTHER_TENANT) == [OTHER_GUEST]


async def test_it_handles_duplicates_and_concurrent_batches(adapter: Adapter) -> None:
    acts: list[GuestAct] = [remove(PARTNERS, GIL), DisableGuest(TENANT, GIL), DisableGuest(TENANT, HANA)]
    guests = (adapter.guests, adapter.second_guests)

    [twice, *many] = await asyncio.gather(
        adapter.guests.act([*acts, *acts]), *(guests[number % 2].act(acts) for number in range(6))
    )

    assert list(twice) == [DONE] * 6
    assert [list(one) for one in many] == [[DONE] * 3] * 6
    assert await adapter.accounts() == {GIL: False, HANA: False, OTHER_GUEST: True}


async def test_it_shows_the_last_activity_of_a_guest(adapter: Adapter) -> None:
    [before] = await adapter.guests.observe([reference(PARTNERS)])
    seen_at = await adapter.record_activity(GIL)
    [after] = await adapter.guests.observe([reference(PARTNERS)])

    assert before is not None
    assert after is not None
    assert [guest.last_seen_at for guest in before.guests] == [None, None]
    assert [guest.last_seen_at for guest in after.guests] == [seen_at, None]
