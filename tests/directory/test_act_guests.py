import asyncio

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.port import ActOutcome, DisableGuest, GuestAct, RemoveGuest
from tests.directory.conftest import Stage
from tests.directory.population import (
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
from tests.directory.test_observe_guests import OBSERVED_HANDBOOK, OBSERVED_PARTNERS
from tests.directory.wanted_guests import reference

DONE = ActOutcome(None, None)


def remove(group_id: GroupId, guest_id: UserId, tenant_id: TenantId = TENANT) -> RemoveGuest:
    return RemoveGuest(tenant_id, group_id, guest_id)


async def guests_in(stage: Stage, group_id: GroupId, tenant_id: TenantId = TENANT) -> list[UserId]:
    [shown] = await stage.guests.observe([reference(group_id, tenant_id)])
    assert shown is not None
    return [guest.id for guest in shown.guests]


async def test_it_works(stage: Stage) -> None:
    acts: list[GuestAct] = [remove(PARTNERS, GIL), DisableGuest(TENANT, HANA)]

    first = await stage.guests.act(acts)
    again = await stage.second_guests.act(acts)

    assert list(first) == list(again) == [DONE, DONE]
    assert await guests_in(stage, PARTNERS) == [HANA]
    assert await stage.accounts() == {GIL: True, HANA: False, OTHER_GUEST: True}


async def test_it_answers_a_batch_of_nothing(stage: Stage) -> None:
    assert list(await stage.guests.act([])) == []


async def test_it_removes_owners_and_members_and_changes_nothing_else(stage: Stage) -> None:
    acts = [remove(HANDBOOK, GIL), remove(PARTNERS, GIL), remove(PARTNERS, HANA)]

    outcomes = await stage.guests.act(acts)
    partners, handbook = await stage.guests.observe([reference(PARTNERS), reference(HANDBOOK)])

    assert list(outcomes) == [DONE] * 3
    assert partners is not None
    assert handbook is not None
    assert (partners.guests, partners.owners, partners.rules) == ((), 1, OBSERVED_PARTNERS.rules)
    assert (handbook.guests, handbook.owners, handbook.site) == ((), 1, OBSERVED_HANDBOOK.site)


async def test_it_passes_over_who_is_not_there_and_who_is_no_guest(stage: Stage) -> None:
    acts: list[GuestAct] = [
        remove(PARTNERS, NOBODY),
        remove(PARTNERS, ADA),
        remove(PARTNERS, OTHER_GUEST),
        DisableGuest(TENANT, NOBODY),
    ]

    outcomes = await stage.guests.act(acts)
    [shown] = await stage.guests.observe([reference(PARTNERS)])

    assert list(outcomes) == [DONE] * 4
    assert shown == OBSERVED_PARTNERS


async def test_it_disables_no_user_of_the_house_and_no_guest_of_another(stage: Stage) -> None:
    house, other, guest = await stage.guests.act(
        [DisableGuest(TENANT, ADA), DisableGuest(TENANT, OTHER_GUEST), DisableGuest(OTHER_TENANT, OTHER_GUEST)]
    )

    assert house.stayed is not None
    assert (house.stayed.id, house.stayed.code, house.fault) == (ADA, "notAGuest", None)
    assert (other, guest) == (DONE, DONE)
    assert await stage.accounts() == {GIL: True, HANA: True, OTHER_GUEST: False}


async def test_it_says_who_stays_and_why(stage: Stage) -> None:
    acts = [remove(VISITORS, GIL), remove(OTHER_SITE, OTHER_GUEST, OTHER_TENANT), remove(PARTNERS, GIL)]

    follower, last, gone = await stage.guests.act(acts)

    assert follower.stayed is not None
    assert last.stayed is not None
    assert (follower.stayed.id, follower.stayed.code) == (GIL, "membersFollowRule")
    assert (last.stayed.id, last.stayed.code) == (OTHER_GUEST, "lastOwner")
    assert gone == DONE
    assert await guests_in(stage, VISITORS) == [GIL, HANA]


async def test_it_rejects_an_unknown_group_and_does_the_others(stage: Stage) -> None:
    unknown, elsewhere, done = await stage.guests.act(
        [remove(NOTHING, GIL), remove(OTHER_SITE, OTHER_GUEST), remove(PARTNERS, GIL)]
    )

    for one in (unknown, elsewhere):
        assert isinstance(one.fault, Rejected)
        assert (one.stayed, one.fault.code) == (None, "groupUnknown")
    assert done == DONE
    assert await guests_in(stage, OTHER_SITE, OTHER_TENANT) == [OTHER_GUEST]


async def test_it_takes_the_same_twice_in_one_batch_and_many_at_once(stage: Stage) -> None:
    acts: list[GuestAct] = [remove(PARTNERS, GIL), DisableGuest(TENANT, GIL), DisableGuest(TENANT, HANA)]
    guests = (stage.guests, stage.second_guests)

    [twice, *many] = await asyncio.gather(
        stage.guests.act([*acts, *acts]), *(guests[number % 2].act(acts) for number in range(6))
    )

    assert list(twice) == [DONE] * 6
    assert [list(one) for one in many] == [[DONE] * 3] * 6
    assert await stage.accounts() == {GIL: False, HANA: False, OTHER_GUEST: True}


async def test_it_shows_when_a_guest_was_last_seen(stage: Stage) -> None:
    [before] = await stage.guests.observe([reference(PARTNERS)])
    seen_at = await stage.see(GIL)
    [after] = await stage.guests.observe([reference(PARTNERS)])

    assert before is not None
    assert after is not None
    assert [guest.last_seen_at for guest in before.guests] == [None, None]
    assert [guest.last_seen_at for guest in after.guests] == [seen_at, None]
