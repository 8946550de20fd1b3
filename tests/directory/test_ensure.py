# SPDX-License-Identifier: Apache-2.0
import asyncio
from dataclasses import replace

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.directory.capabilities import Ability
from chamberlain.directory.groups import MemberShipType, is_done
from chamberlain.directory.port import GroupOutcome, GroupWork, Work
from chamberlain.directory.steps import Step
from tests.directory.conftest import Adapter
from tests.directory.group_work import reference, work
from tests.directory.sample_directory import (
    ADA,
    BEN,
    CLEO,
    CONFIDENTIAL,
    INTERNAL,
    NOBODY,
    OTHER_LABEL,
    OTHER_TENANT,
    ZOE,
)


def rejection(outcome: GroupOutcome) -> Rejected:
    assert isinstance(outcome.fault, Rejected)
    return outcome.fault


async def assert_refused(adapter: Adapter, one: GroupWork) -> None:
    """Without labels, the work is refused before any write."""
    refused, good = await adapter.directory.ensure([one, work()])

    assert (refused.observed, refused.done, rejection(refused).code) == (None, (), "labelsNotSupported")
    assert good.fault is None
    assert await adapter.directory.observe([reference(one)]) == [None]


@pytest.mark.abilities
async def test_it_works(adapter: Adapter) -> None:
    label = adapter.label(INTERNAL)
    one = work(display_name="Häfen & Kräne", label_id=label, owners=(ADA, CLEO), members=(ADA, BEN, CLEO))

    [outcome] = await adapter.directory.ensure([one])

    assert outcome.fault is None
    assert outcome.done == one.steps
    group = outcome.observed
    assert group is not None
    assert (group.display_name, group.mail, group.mail_nickname) == (
        "Häfen & Kräne",
        one.wanted.mail,
        one.wanted.mail_nickname,
    )
    assert group.owners == {ADA, CLEO}
    assert group.members == {ADA, BEN, CLEO}
    assert (group.label_id, group.channels) == (label, None)
    assert group.marks == {"requestId": str(one.wanted.request_id)}
    assert await adapter.directory.observe([reference(one)]) == [group]


async def test_it_makes_a_team_with_its_channels_in_their_order(adapter: Adapter) -> None:
    one = work(channels=("General", "Planning", "Archive"))

    [outcome] = await adapter.directory.ensure([one])

    assert outcome.fault is None
    [seen] = await adapter.directory.observe([reference(one)])
    assert seen is not None
    assert seen.channels == ("General", "Planning", "Archive")


async def test_it_is_idempotent(adapter: Adapter) -> None:
    one = work(channels=("General",), label_id=adapter.label(INTERNAL))
    [first] = await adapter.directory.ensure([one])

    [again] = await adapter.directory.ensure([one])

    assert again == first


async def test_duplicates_in_a_batch_create_one_group(adapter: Adapter) -> None:
    one = work()

    first, second = await adapter.directory.ensure([one, one])

    assert first == second
    assert first.fault is None


async def test_concurrent_workers_create_one_group(adapter: Adapter) -> None:
    works = [work() for _ in range(40)]

    ahead, behind = await asyncio.gather(
        adapter.directory.ensure(works), adapter.second_directory.ensure(list(reversed(works)))
    )

    assert [outcome.fault for outcome in (*ahead, *behind)] == [None] * 80
    assert list(ahead) == list(reversed(behind))


@pytest.mark.abilities
async def test_it_completes_a_group(adapter: Adapter) -> None:
    little = work(owners=(ADA,), members=(ADA,))
    [before] = await adapter.directory.ensure([little])
    more = work(
        request_id=little.wanted.request_id,
        owners=(ADA, CLEO),
        members=(ADA, BEN, CLEO),
        label_id=adapter.label(INTERNAL),
        channels=("General",),
    )

    [outcome] = await adapter.directory.ensure([more])

    assert outcome.fault is None
    assert before.observed is not None
    assert outcome.observed == replace(
        before.observed,
        owners=frozenset({ADA, CLEO}),
        members=frozenset({ADA, BEN, CLEO}),
        label_id=adapter.label(INTERNAL),
        channels=("General",),
    )
    assert await adapter.directory.observe([reference(little)]) == [outcome.observed]


async def test_a_label_in_upper_case_is_that_of_the_directory(adapter: Adapter) -> None:
    one = work(label_id=INTERNAL.upper())
    if not adapter.can(Ability.LABELS):
        await assert_refused(adapter, one)
        return

    [outcome] = await adapter.directory.ensure([one])

    [observed] = await adapter.directory.observe([reference(one)])
    assert outcome.fault is None
    assert observed is not None
    assert observed.label_id == INTERNAL
    assert is_done(Step.SET_LABEL, one.wanted, observed)


@pytest.mark.abilities
async def test_it_replaces_the_label(adapter: Adapter) -> None:
    labelled = work(label_id=INTERNAL)
    if not adapter.can(Ability.LABELS):
        await assert_refused(adapter, labelled)
        return
    await adapter.directory.ensure([labelled])
    other = work(request_id=labelled.wanted.request_id, label_id=CONFIDENTIAL)

    [outcome] = await adapter.directory.ensure([other])

    assert outcome.observed is not None
    assert (outcome.fault, outcome.observed.label_id) == (None, CONFIDENTIAL)


async def test_only_one_step_renames_existing_groups(adapter: Adapter) -> None:
    one, other = work(description="Ships"), work()
    await adapter.directory.ensure([one, other])
    renamed = replace(one.wanted, display_name="Port", description="Boats", member_ship_type=MemberShipType.PUBLIC)
    described = Work(renamed, (Step.SET_PROPERTIES,))

    [left_alone] = await adapter.directory.ensure([replace(one, wanted=renamed)])
    [set_right, beside] = await adapter.directory.ensure([described, other])

    assert left_alone.observed is not None
    assert (left_alone.observed.display_name, left_alone.observed.description) == ("Harbour", "Ships")
    assert (set_right.fault, set_right.done) == (None, (Step.SET_PROPERTIES,))
    [group, still] = await adapter.directory.observe([reference(one), reference(other)])
    assert set_right.observed == group
    assert group is not None
    shown = (group.display_name, group.description, group.member_ship_type, group.mail)
    assert shown == ("Port", "Boats", MemberShipType.PUBLIC, one.wanted.mail)
    assert beside.observed == still
    assert still is not None
    assert still.display_name == "Harbour"


async def test_it_keeps_other_members(adapter: Adapter) -> None:
    one = work(members=(ADA,))
    await adapter.directory.ensure([one])
    by_others = work(request_id=one.wanted.request_id, owners=(ADA, BEN), members=(ADA, BEN, CLEO))
    await adapter.directory.ensure([by_others])

    [outcome] = await adapter.directory.ensure([one])

    assert outcome.observed is not None
    assert outcome.observed.owners == {ADA, BEN}
    assert outcome.observed.members == {ADA, BEN, CLEO}


async def test_it_creates_a_dynamic_group(adapter: Adapter) -> None:
    one = work(
        member_ship_type=MemberShipType.DYNAMIC,
        membership_rule='user.department -eq "Sales"',
        owners=(CLEO,),
        members=(),
    )

    [outcome] = await adapter.directory.ensure([one])

    assert outcome.fault is None
    [seen] = await adapter.directory.observe([reference(one)])
    assert seen is not None
    assert seen.members == {ADA, BEN}
    assert seen.owners == {CLEO}


async def test_it_rejects_only_the_invalid_item(adapter: Adapter) -> None:
    good, bad, also_good = work(), work(members=(ADA, NOBODY)), work()

    outcomes = await adapter.directory.ensure([good, bad, also_good])

    assert [outcome.fault is None for outcome in outcomes] == [True, False, True]
    seen = await adapter.directory.observe([reference(good), reference(bad), reference(also_good)])
    assert [one is None for one in seen] == [False, True, False]


async def test_it_rejects_an_unknown_user(adapter: Adapter) -> None:
    [outcome] = await adapter.directory.ensure([work(owners=(ADA, NOBODY))])

    assert rejection(outcome).code == "userUnknown"
    assert str(NOBODY) in rejection(outcome).detail
    assert (outcome.observed, outcome.done) == (None, ())


async def test_it_rejects_a_user_of_another_tenant(adapter: Adapter) -> None:
    [outcome] = await adapter.directory.ensure([work(members=(ADA, ZOE))])

    assert rejection(outcome).code == "userUnknown"


@pytest.mark.abilities
@pytest.mark.parametrize("label_id", ["no such label", OTHER_LABEL])
async def test_it_rejects_an_unknown_label(adapter: Adapter, label_id: str) -> None:
    one = work(label_id=label_id)
    if not adapter.can(Ability.LABELS):
        await assert_refused(adapter, one)
        return

    [outcome] = await adapter.directory.ensure([one])

    assert rejection(outcome).code == "labelUnknown"
    assert label_id in rejection(outcome).detail


@pytest.mark.parametrize("mail", ["ada@estate.example", "CLEO@Estate.example", "All-Staff@estate.example"])
async def test_it_rejects_a_taken_address(adapter: Adapter, mail: str) -> None:
    bad, good = work(mail=mail), work()

    outcome, other = await adapter.directory.ensure([bad, good])

    assert rejection(outcome).code == "addressTaken"
    assert mail in rejection(outcome).detail
    assert other.fault is None
    assert await adapter.directory.observe([reference(bad)]) == [None]


async def test_one_of_two_groups_in_a_batch_gets_the_address(adapter: Adapter) -> None:
    works = [work(mail="quay@estate.example"), work(mail="Quay@estate.example")]

    outcomes = await adapter.directory.ensure(works)

    assert sorted(outcome.fault is None for outcome in outcomes) == [False, True]
    [taken] = [outcome for outcome in outcomes if outcome.fault is not None]
    assert rejection(taken).code == "addressTaken"


async def test_one_of_two_workers_gets_the_address(adapter: Adapter) -> None:
    one, other = work(mail="pier@estate.example"), work(mail="pier@estate.example")

    [[first], [second]] = await asyncio.gather(
        adapter.directory.ensure([one]), adapter.second_directory.ensure([other])
    )

    assert sorted([first.fault is None, second.fault is None]) == [False, True]


async def test_addresses_are_unique_per_tenant(adapter: Adapter) -> None:
    here = work(mail="dock@estate.example")
    there = work(tenant_id=OTHER_TENANT, mail="dock@estate.example", owners=(ZOE,), members=(ZOE,))

    outcomes = await adapter.directory.ensure([here, there])

    assert [outcome.fault for outcome in outcomes] == [None, None]


async def test_request_ids_are_unique_per_tenant(adapter: Adapter) -> None:
    here = work()
    there = work(
        request_id=here.wanted.request_id, tenant_id=OTHER_TENANT, mail="x@other.example", owners=(ZOE,), members=(ZOE,)
    )

    first, second = await adapter.directory.ensure([here, there])

    assert first.observed is not None
    assert second.observed is not None
    assert first.observed.id != second.observed.id


@pytest.mark.parametrize("rule", ["", "user.department", 'user.shoeSize -eq "42"', 'user.city -match "(a+"'])
async def test_it_rejects_an_invalid_rule(adapter: Adapter, rule: str) -> None:
    bad = work(member_ship_type=MemberShipType.DYNAMIC, membership_rule=rule, members=())

    outcome, other = await adapter.directory.ensure([bad, work()])

    assert rejection(outcome).code == "ruleInvalid"
    assert "character" in rejection(outcome).detail
    assert other.fault is None


async def test_it_rejects_only_texts_that_cannot_be_stored(adapter: Adapter) -> None:
    works = [work(), work(display_name="Nul\x00"), work(), work(display_name="Half \ud800"), work()]

    outcomes = await adapter.directory.ensure(works)

    assert [outcome.fault is None for outcome in outcomes] == [True, False, True, False, True]


async def test_a_rejection_includes_the_check_of_people(adapter: Adapter) -> None:
    one = work(mail="ada@estate.example")

    [outcome] = await adapter.directory.ensure([replace(one, steps=(Step.CHECK_PEOPLE, *one.steps))])

    assert rejection(outcome).code == "addressTaken"
    assert outcome.done == (Step.CHECK_PEOPLE,)


async def test_it_handles_an_empty_batch(adapter: Adapter) -> None:
    assert await adapter.directory.ensure([]) == []
    assert await adapter.directory.observe([]) == []


async def test_it_handles_concurrent_batches_of_existing_groups(adapter: Adapter) -> None:
    small, label = [work(members=(ADA,)) for _ in range(30)], adapter.label(INTERNAL)
    await adapter.directory.ensure(small)
    grown = [
        work(request_id=one.wanted.request_id, members=(ADA, BEN, CLEO), label_id=label, channels=("General",))
        for one in small
    ]

    both = await asyncio.gather(adapter.directory.ensure(grown), adapter.second_directory.ensure(list(reversed(grown))))

    assert {outcome.fault for outcomes in both for outcome in outcomes} == {None}
    seen = await adapter.directory.observe([reference(one) for one in small])
    assert {one.members for one in seen if one is not None} == {frozenset({ADA, BEN, CLEO})}
