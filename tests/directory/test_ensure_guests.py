import asyncio
from dataclasses import replace
from itertools import combinations, permutations, product
from uuid import UUID

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import GroupId
from chamberlain.directory.port import GuestWork
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import AddedBy, Sharing, WantedGuestRules, remaining_of_subject
from tests.directory import wanted
from tests.directory.conftest import Stage
from tests.directory.population import (
    ADA,
    GIL,
    HANDBOOK,
    NOBODY,
    OTHER_GUEST,
    OTHER_SITE,
    OTHER_TENANT,
    PARTNERS,
    TENANT,
    VISITORS,
)
from tests.directory.test_observe_guests import GUEST_GIL, GUEST_HANA, OBSERVED_HANDBOOK, OBSERVED_PARTNERS
from tests.directory.wanted_guests import (
    ASSIGNMENTS,
    FROM_PARTNERS,
    NO_GUESTS,
    NO_GUESTS_TEMPLATE,
    NOT_FROM_RIVALS,
    PARTNERS_TEMPLATE,
    POLICY,
    assign,
    reference,
    subject_of,
)

NOTHING = GroupId(UUID(int=1))
STEPS = (Step.MARK_ASSIGNMENT, Step.SET_GUEST_ACCESS, Step.SET_GUEST_DOMAINS, Step.SET_SHARING_CAPABILITY)
CLEAR, FORBID, PARTNERS_ONLY, NOT_RIVALS, _ = ASSIGNMENTS


async def test_it_works(stage: Stage) -> None:
    group, site = await stage.guests.ensure([assign(PARTNERS, FORBID), assign(HANDBOOK, PARTNERS_ONLY)])

    own = replace(NO_GUESTS, sharing=None)
    assert subject_of(group) == replace(OBSERVED_PARTNERS, template_id=NO_GUESTS_TEMPLATE, rules=own)
    assert OBSERVED_HANDBOOK.site is not None
    assert subject_of(site) == replace(
        OBSERVED_HANDBOOK,
        template_id=PARTNERS_TEMPLATE,
        policy_id=POLICY,
        rules=FROM_PARTNERS,
        site=replace(OBSERVED_HANDBOOK.site, sharing=Sharing.EXISTING_GUESTS),
    )
    assert (group.done, site.done) == (STEPS[:3], STEPS)


async def test_it_answers_a_batch_of_nothing(stage: Stage) -> None:
    assert await stage.guests.ensure([]) == []


@pytest.mark.parametrize("group_id", [PARTNERS, HANDBOOK], ids=["group", "site"])
async def test_it_ends_the_same_from_wherever_it_began(stage: Stage, group_id: GroupId) -> None:
    """Every assignment after every other one; twice is once, and nothing of the former is left."""
    fresh = {}
    for assignment in ASSIGNMENTS:
        [outcome] = await stage.guests.ensure([assign(group_id, assignment)])
        fresh[assignment] = subject_of(outcome)

    for before, after in product(ASSIGNMENTS, ASSIGNMENTS):
        await stage.guests.ensure([assign(group_id, before)])
        [outcome] = await stage.guests.ensure([assign(group_id, after)])
        [again] = await stage.second_guests.ensure([assign(group_id, after)])

        assert subject_of(outcome) == fresh[after]
        assert again == outcome
        assert remaining_of_subject(assign(group_id, after).wanted, subject_of(outcome), STEPS) == ()
    assert len(set(fresh.values())) == len(ASSIGNMENTS)


@pytest.mark.parametrize("group_id", [PARTNERS, HANDBOOK], ids=["group", "site"])
async def test_it_restores_the_default_when_all_is_cleared(stage: Stage, group_id: GroupId) -> None:
    for assignment in (FORBID, NOT_RIVALS):
        await stage.guests.ensure([assign(group_id, assignment)])

    [outcome] = await stage.guests.ensure([assign(group_id, CLEAR)])

    assert subject_of(outcome) == (OBSERVED_PARTNERS if group_id == PARTNERS else OBSERVED_HANDBOOK)


@pytest.mark.parametrize(("before", "after"), list(permutations([CLEAR, FORBID, PARTNERS_ONLY], 2)))
async def test_it_ends_the_same_when_it_was_killed_between_steps(
    stage: Stage, before: WantedGuestRules, after: WantedGuestRules
) -> None:
    remove = (GIL,)
    await stage.guests.ensure([assign(HANDBOOK, before), assign(PARTNERS, before)])
    [straight] = await stage.guests.ensure([assign(HANDBOOK, after)])

    # Whatever was done before it was killed: the next run takes all steps again.
    for count in range(len(STEPS)):
        for done in combinations(STEPS, count):
            await stage.guests.ensure([assign(HANDBOOK, before)])
            await stage.guests.ensure([GuestWork(assign(HANDBOOK, after).wanted, done)])
            [ended] = await stage.second_guests.ensure([assign(HANDBOOK, after)])
            assert subject_of(ended) == subject_of(straight)

    half = GuestWork(assign(PARTNERS, after, remove=remove).wanted, STEPS[:2])
    await stage.guests.ensure([half])
    [ended] = await stage.second_guests.ensure([assign(PARTNERS, after, remove=remove)])
    assert subject_of(ended).guests == (GUEST_HANA,)


@pytest.mark.parametrize("step", STEPS)
async def test_it_takes_no_step_that_it_was_not_asked_for(stage: Stage, step: Step) -> None:
    one = assign(HANDBOOK, PARTNERS_ONLY, remove=(GIL,))

    [outcome] = await stage.guests.ensure([GuestWork(one.wanted, (step,))])

    assert outcome.done == (step,)
    assert set(remaining_of_subject(one.wanted, subject_of(outcome), STEPS)) == set(STEPS) - {step}


async def test_it_begins_own_settings_as_what_held_before(stage: Stage) -> None:
    access = GuestWork(assign(PARTNERS, NOT_RIVALS).wanted, (Step.SET_GUEST_ACCESS,))
    domains = GuestWork(assign(HANDBOOK, NOT_RIVALS).wanted, (Step.SET_GUEST_DOMAINS,))

    group, site = await stage.guests.ensure([access, domains])

    sharing = Sharing.NEW_AND_EXISTING_GUESTS
    assert subject_of(group).rules == replace(NOT_FROM_RIVALS, blocked_domains=(), sharing=None)
    assert subject_of(site).rules == replace(NOT_FROM_RIVALS, added_by=AddedBy.MEMBERS, sharing=sharing)


async def test_it_removes_guests_and_nobody_else(stage: Stage) -> None:
    remove = (GIL, ADA, OTHER_GUEST, NOBODY)

    group, site = await stage.guests.ensure(
        [assign(PARTNERS, FORBID, remove=remove), assign(HANDBOOK, FORBID, remove=remove)]
    )
    [again] = await stage.guests.ensure([assign(PARTNERS, FORBID, remove=remove)])

    assert subject_of(group).guests == (GUEST_HANA,)
    assert subject_of(again) == subject_of(group)
    # Of the site he was an owner.
    assert subject_of(site).guests == ()
    [other] = await stage.guests.observe([reference(OTHER_SITE, OTHER_TENANT)])
    assert other is not None
    assert [guest.id for guest in other.guests] == [OTHER_GUEST]


async def test_it_keeps_the_mark_of_the_request_that_made_a_group(stage: Stage) -> None:
    one = wanted.work()
    [made] = await stage.directory.ensure([one])
    assert made.group is not None

    for assignment in (PARTNERS_ONLY, CLEAR):
        [outcome] = await stage.guests.ensure([assign(made.group.id, assignment)])
        assert subject_of(outcome).request_id == one.wanted.request_id
    [again] = await stage.directory.ensure([one])

    assert again == made


async def test_it_rejects_an_unknown_group_and_does_the_others(stage: Stage) -> None:
    works = [assign(NOTHING, FORBID), assign(PARTNERS, FORBID), assign(OTHER_SITE, FORBID)]

    unknown, done, elsewhere = await stage.guests.ensure(works)

    for one in (unknown, elsewhere):
        assert isinstance(one.fault, Rejected)
        assert (one.subject, one.done, one.fault.code) == (None, (), "groupUnknown")
    assert subject_of(done).template_id == NO_GUESTS_TEMPLATE
    [other] = await stage.guests.observe([reference(OTHER_SITE, OTHER_TENANT)])
    assert other is not None
    assert (other.template_id, other.rules) == (None, None)


async def test_it_leaves_guests_who_follow_a_rule_and_does_all_else(stage: Stage) -> None:
    [outcome] = await stage.guests.ensure([assign(VISITORS, FORBID, remove=(GIL,))])
    [again] = await stage.second_guests.ensure([assign(VISITORS, FORBID, remove=(GIL,))])
    [other] = await stage.guests.ensure([assign(VISITORS, FORBID, remove=(ADA, NOBODY))])

    assert [(each.id, each.code) for each in outcome.stayed] == [(GIL, "membersFollowRule")]
    assert outcome.stayed[0].detail.startswith("Gil Hartmann is in this group by its membership rule")
    shown = subject_of(outcome)
    assert shown.guests == (GUEST_GIL, GUEST_HANA)
    assert (shown.template_id, shown.rules) == (NO_GUESTS_TEMPLATE, replace(NO_GUESTS, sharing=None))
    assert outcome.done == STEPS[:3]
    assert again == outcome
    assert other.stayed == ()


async def test_it_leaves_the_last_owner_and_does_all_else(stage: Stage) -> None:
    last = assign(OTHER_SITE, FORBID, remove=(OTHER_GUEST,), tenant_id=OTHER_TENANT)

    outcome, one_of_two = await stage.guests.ensure([last, assign(HANDBOOK, FORBID, remove=(GIL,))])
    [again] = await stage.second_guests.ensure([last])

    assert [(each.id, each.code) for each in outcome.stayed] == [(OTHER_GUEST, "lastOwner")]
    assert outcome.stayed[0].detail.startswith("Ines Castro is the last owner of this group")
    shown = subject_of(outcome)
    assert [guest.id for guest in shown.guests] == [OTHER_GUEST]
    assert (shown.template_id, shown.rules and shown.rules.allowed) == (NO_GUESTS_TEMPLATE, False)
    assert again == outcome
    assert (subject_of(one_of_two).guests, one_of_two.stayed) == ((), ())


async def test_it_rejects_texts_that_no_directory_can_hold(stage: Stage) -> None:
    strange = replace(FORBID, rules=replace(NO_GUESTS, blocked_domains=("nul\x00",)))

    bad, good = await stage.guests.ensure([assign(HANDBOOK, strange), assign(PARTNERS, FORBID)])

    assert isinstance(bad.fault, Rejected)
    assert bad.fault.code == "notAccepted"
    assert subject_of(good).template_id == NO_GUESTS_TEMPLATE


async def test_it_does_what_a_batch_wants_twice_one_after_the_other(stage: Stage) -> None:
    works = [assign(PARTNERS, FORBID), assign(HANDBOOK, FORBID), assign(PARTNERS, NOT_RIVALS), assign(PARTNERS, CLEAR)]

    outcomes = await stage.guests.ensure(works)

    assert [subject_of(one).template_id for one in outcomes] == [
        NO_GUESTS_TEMPLATE,
        NO_GUESTS_TEMPLATE,
        PARTNERS_TEMPLATE,
        None,
    ]
    assert await stage.guests.observe([reference(PARTNERS)]) == [OBSERVED_PARTNERS]


async def test_it_ends_as_asked_last_when_many_ask_at_once(stage: Stage) -> None:
    guests = (stage.guests, stage.second_guests)
    many = [assign(PARTNERS, ASSIGNMENTS[number % len(ASSIGNMENTS)]) for number in range(20)]

    outcomes = await asyncio.gather(*(guests[number % 2].ensure([one]) for number, one in enumerate(many)))
    [last] = await stage.guests.ensure([assign(PARTNERS, FORBID)])

    assert [one.fault for [one] in outcomes] == [None] * len(many)
    own = replace(NO_GUESTS, sharing=None)
    assert subject_of(last) == replace(OBSERVED_PARTNERS, template_id=NO_GUESTS_TEMPLATE, rules=own)


async def test_it_keeps_tenants_apart_in_one_batch(stage: Stage) -> None:
    works = [assign(PARTNERS, FORBID), assign(OTHER_SITE, NOT_RIVALS, tenant_id=OTHER_TENANT)]

    here, there = await stage.guests.ensure(works)

    assert (subject_of(here).tenant_id, subject_of(there).tenant_id) == (TENANT, OTHER_TENANT)
    assert subject_of(there).rules == replace(NOT_FROM_RIVALS, sharing=Sharing.DISABLED)
