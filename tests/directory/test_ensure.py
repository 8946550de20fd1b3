import asyncio
from dataclasses import replace

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.port import Outcome, Work
from chamberlain.directory.steps import Step
from tests.directory.conftest import Stage
from tests.directory.population import ADA, BEN, CLEO, CONFIDENTIAL, INTERNAL, NOBODY, OTHER_LABEL, OTHER_TENANT, ZOE
from tests.directory.wanted import reference, work


def rejection(outcome: Outcome) -> Rejected:
    assert isinstance(outcome.fault, Rejected)
    return outcome.fault


async def test_it_works(stage: Stage) -> None:
    one = work(display_name="Häfen & Kräne", label_id=INTERNAL, owners=(ADA, CLEO), members=(ADA, BEN, CLEO))

    [outcome] = await stage.directory.ensure([one])

    assert outcome.fault is None
    assert outcome.done == one.steps
    group = outcome.group
    assert group is not None
    assert (group.display_name, group.mail, group.mail_nickname) == (
        "Häfen & Kräne",
        one.wanted.mail,
        one.wanted.mail_nickname,
    )
    assert group.owners == {ADA, CLEO}
    assert group.members == {ADA, BEN, CLEO}
    assert (group.label_id, group.channels) == (INTERNAL, None)
    assert group.marks == {"requestId": str(one.wanted.request_id)}
    assert await stage.directory.observe([reference(one)]) == [group]


async def test_it_makes_a_team_with_its_channels_in_their_order(stage: Stage) -> None:
    one = work(channels=("General", "Planning", "Archive"))

    [outcome] = await stage.directory.ensure([one])

    assert outcome.fault is None
    [seen] = await stage.directory.observe([reference(one)])
    assert seen is not None
    assert seen.channels == ("General", "Planning", "Archive")


async def test_it_makes_one_group_when_asked_twice(stage: Stage) -> None:
    one = work(channels=("General",), label_id=INTERNAL)
    [first] = await stage.directory.ensure([one])

    [again] = await stage.directory.ensure([one])

    assert again == first


async def test_it_makes_one_group_when_a_batch_holds_it_twice(stage: Stage) -> None:
    one = work()

    first, second = await stage.directory.ensure([one, one])

    assert first == second
    assert first.fault is None


async def test_it_makes_one_group_when_two_workers_ask_at_once(stage: Stage) -> None:
    works = [work() for _ in range(40)]

    ahead, behind = await asyncio.gather(
        stage.directory.ensure(works), stage.second_directory.ensure(list(reversed(works)))
    )

    assert [outcome.fault for outcome in (*ahead, *behind)] == [None] * 80
    assert list(ahead) == list(reversed(behind))


async def test_it_adds_what_is_missing(stage: Stage) -> None:
    little = work(owners=(ADA,), members=(ADA,))
    [before] = await stage.directory.ensure([little])
    more = work(
        request_id=little.wanted.request_id,
        owners=(ADA, CLEO),
        members=(ADA, BEN, CLEO),
        label_id=INTERNAL,
        channels=("General",),
    )

    [outcome] = await stage.directory.ensure([more])

    assert outcome.fault is None
    assert before.group is not None
    assert outcome.group == replace(
        before.group,
        owners=frozenset({ADA, CLEO}),
        members=frozenset({ADA, BEN, CLEO}),
        label_id=INTERNAL,
        channels=("General",),
    )
    assert await stage.directory.observe([reference(little)]) == [outcome.group]


async def test_it_sets_the_label_that_is_wanted_in_the_place_of_another(stage: Stage) -> None:
    labelled = work(label_id=INTERNAL)
    await stage.directory.ensure([labelled])
    other = work(request_id=labelled.wanted.request_id, label_id=CONFIDENTIAL)

    [outcome] = await stage.directory.ensure([other])

    assert outcome.group is not None
    assert (outcome.fault, outcome.group.label_id) == (None, CONFIDENTIAL)


async def test_it_calls_and_describes_what_is_there_only_by_the_step_for_that(stage: Stage) -> None:
    one, other = work(description="Ships"), work()
    await stage.directory.ensure([one, other])
    renamed = replace(one.wanted, display_name="Port", description="Boats", member_ship_type=MemberShipType.PUBLIC)
    described = Work(renamed, (Step.SET_PROPERTIES,))

    [left_alone] = await stage.directory.ensure([replace(one, wanted=renamed)])
    [set_right, beside] = await stage.directory.ensure([described, other])

    assert left_alone.group is not None
    assert (left_alone.group.display_name, left_alone.group.description) == ("Harbour", "Ships")
    assert (set_right.fault, set_right.done) == (None, (Step.SET_PROPERTIES,))
    [group, still] = await stage.directory.observe([reference(one), reference(other)])
    assert set_right.group == group
    assert group is not None
    shown = (group.display_name, group.description, group.member_ship_type, group.mail)
    assert shown == ("Port", "Boats", MemberShipType.PUBLIC, one.wanted.mail)
    assert beside.group == still
    assert still is not None
    assert still.display_name == "Harbour"


async def test_it_takes_nobody_out_whom_others_added(stage: Stage) -> None:
    one = work(members=(ADA,))
    await stage.directory.ensure([one])
    by_others = work(request_id=one.wanted.request_id, owners=(ADA, BEN), members=(ADA, BEN, CLEO))
    await stage.directory.ensure([by_others])

    [outcome] = await stage.directory.ensure([one])

    assert outcome.group is not None
    assert outcome.group.owners == {ADA, BEN}
    assert outcome.group.members == {ADA, BEN, CLEO}


async def test_it_makes_a_dynamic_group_of_those_whom_the_rule_names(stage: Stage) -> None:
    one = work(
        member_ship_type=MemberShipType.DYNAMIC,
        membership_rule='user.department -eq "Sales"',
        owners=(CLEO,),
        members=(),
    )

    [outcome] = await stage.directory.ensure([one])

    assert outcome.fault is None
    [seen] = await stage.directory.observe([reference(one)])
    assert seen is not None
    assert seen.members == {ADA, BEN}
    assert seen.owners == {CLEO}


async def test_it_rejects_one_bad_item_and_makes_the_others(stage: Stage) -> None:
    good, bad, also_good = work(), work(members=(ADA, NOBODY)), work()

    outcomes = await stage.directory.ensure([good, bad, also_good])

    assert [outcome.fault is None for outcome in outcomes] == [True, False, True]
    seen = await stage.directory.observe([reference(good), reference(bad), reference(also_good)])
    assert [one is None for one in seen] == [False, True, False]


async def test_it_rejects_an_unknown_user(stage: Stage) -> None:
    [outcome] = await stage.directory.ensure([work(owners=(ADA, NOBODY))])

    assert rejection(outcome).code == "userUnknown"
    assert str(NOBODY) in rejection(outcome).detail
    assert (outcome.group, outcome.done) == (None, ())


async def test_it_rejects_a_user_of_another_tenant(stage: Stage) -> None:
    [outcome] = await stage.directory.ensure([work(members=(ADA, ZOE))])

    assert rejection(outcome).code == "userUnknown"


@pytest.mark.parametrize("label_id", ["no such label", OTHER_LABEL])
async def test_it_rejects_an_unknown_label(stage: Stage, label_id: str) -> None:
    [outcome] = await stage.directory.ensure([work(label_id=label_id)])

    assert rejection(outcome).code == "labelUnknown"
    assert label_id in rejection(outcome).detail


@pytest.mark.parametrize("mail", ["ada@estate.example", "CLEO@Estate.example", "All-Staff@estate.example"])
async def test_it_rejects_an_address_that_a_user_or_group_has(stage: Stage, mail: str) -> None:
    bad, good = work(mail=mail), work()

    outcome, other = await stage.directory.ensure([bad, good])

    assert rejection(outcome).code == "addressTaken"
    assert mail in rejection(outcome).detail
    assert other.fault is None
    assert await stage.directory.observe([reference(bad)]) == [None]


async def test_it_gives_an_address_that_two_ask_for_to_one_of_them(stage: Stage) -> None:
    works = [work(mail="quay@estate.example"), work(mail="Quay@estate.example")]

    outcomes = await stage.directory.ensure(works)

    assert sorted(outcome.fault is None for outcome in outcomes) == [False, True]
    [taken] = [outcome for outcome in outcomes if outcome.fault is not None]
    assert rejection(taken).code == "addressTaken"


async def test_it_gives_an_address_that_two_workers_ask_for_to_one_of_them(stage: Stage) -> None:
    one, other = work(mail="pier@estate.example"), work(mail="pier@estate.example")

    [[first], [second]] = await asyncio.gather(stage.directory.ensure([one]), stage.second_directory.ensure([other]))

    assert sorted([first.fault is None, second.fault is None]) == [False, True]


async def test_it_lets_two_tenants_have_one_address_each(stage: Stage) -> None:
    here = work(mail="dock@estate.example")
    there = work(tenant_id=OTHER_TENANT, mail="dock@estate.example", owners=(ZOE,), members=(ZOE,))

    outcomes = await stage.directory.ensure([here, there])

    assert [outcome.fault for outcome in outcomes] == [None, None]


async def test_it_keeps_the_groups_of_one_request_id_in_two_tenants_apart(stage: Stage) -> None:
    here = work()
    there = work(
        request_id=here.wanted.request_id, tenant_id=OTHER_TENANT, mail="x@other.example", owners=(ZOE,), members=(ZOE,)
    )

    first, second = await stage.directory.ensure([here, there])

    assert first.group is not None
    assert second.group is not None
    assert first.group.id != second.group.id


@pytest.mark.parametrize("rule", ["", "user.department", 'user.shoeSize -eq "42"', 'user.city -match "(a+"'])
async def test_it_rejects_a_rule_that_is_not_understood(stage: Stage, rule: str) -> None:
    bad = work(member_ship_type=MemberShipType.DYNAMIC, membership_rule=rule, members=())

    outcome, other = await stage.directory.ensure([bad, work()])

    assert rejection(outcome).code == "ruleInvalid"
    assert "character" in rejection(outcome).detail
    assert other.fault is None


async def test_it_rejects_a_text_that_cannot_be_stored_and_makes_the_others(stage: Stage) -> None:
    works = [work(), work(display_name="Nul\x00"), work(), work(display_name="Half \ud800"), work()]

    outcomes = await stage.directory.ensure(works)

    assert [outcome.fault is None for outcome in outcomes] == [True, False, True, False, True]


async def test_it_says_that_the_people_were_looked_at(stage: Stage) -> None:
    one = work(mail="ada@estate.example")

    [outcome] = await stage.directory.ensure([replace(one, steps=(Step.CHECK_PEOPLE, *one.steps))])

    assert rejection(outcome).code == "addressTaken"
    assert outcome.done == (Step.CHECK_PEOPLE,)


async def test_it_handles_an_empty_batch(stage: Stage) -> None:
    assert await stage.directory.ensure([]) == []
    assert await stage.directory.observe([]) == []


async def test_it_handles_two_batches_that_hold_the_same_existing_groups(stage: Stage) -> None:
    small = [work(members=(ADA,)) for _ in range(30)]
    await stage.directory.ensure(small)
    grown = [
        work(request_id=one.wanted.request_id, members=(ADA, BEN, CLEO), label_id=INTERNAL, channels=("General",))
        for one in small
    ]

    both = await asyncio.gather(stage.directory.ensure(grown), stage.second_directory.ensure(list(reversed(grown))))

    assert {outcome.fault for outcomes in both for outcome in outcomes} == {None}
    seen = await stage.directory.observe([reference(one) for one in small])
    assert {one.members for one in seen if one is not None} == {frozenset({ADA, BEN, CLEO})}
