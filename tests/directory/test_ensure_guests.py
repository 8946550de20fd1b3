# SPDX-License-Identifier: Apache-2.0
import asyncio
from dataclasses import replace
from itertools import combinations, permutations, product
from uuid import UUID

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import GroupId
from chamberlain.directory.capabilities import Ability
from chamberlain.directory.port import Work
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import AddedBy, Sharing, WantedGuestRules, remaining_of_subject
from tests.directory import group_work
from tests.directory.conftest import Adapter
from tests.directory.guest_work import (
    ASSIGNMENTS,
    FROM_PARTNERS,
    GUEST_GIL,
    GUEST_HANA,
    NO_GUESTS,
    NO_GUESTS_TEMPLATE,
    NOT_FROM_RIVALS,
    OBSERVED_HANDBOOK,
    OBSERVED_PARTNERS,
    PARTNERS_TEMPLATE,
    POLICY,
    assign,
    reference,
    subject_of,
)
from tests.directory.sample_directory import (
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

NOTHING = GroupId(UUID(int=1))
STEPS = (Step.MARK_ASSIGNMENT, Step.SET_GUEST_ACCESS, Step.SET_GUEST_DOMAINS, Step.SET_SHARING_CAPABILITY)
CLEAR, FORBID, PARTNERS_ONLY, NOT_RIVALS, _ = ASSIGNMENTS


@pytest.mark.abilities
async def test_it_works(adapter: Adapter) -> None:
    group, site = await adapter.guests.ensure(
        [adapter.assign(PARTNERS, FORBID), adapter.assign(HANDBOOK, PARTNERS_ONLY)]
    )

    own = replace(NO_GUESTS, sharing=None)
    expected = replace(OBSERVED_PARTNERS, template_id=NO_GUESTS_TEMPLATE, rules=own)
    assert subject_of(group) == adapter.subject(expected)
    assert OBSERVED_HANDBOOK.site is not None
    assert subject_of(site) == adapter.subject(
        replace(
            OBSERVED_HANDBOOK,
            template_id=PARTNERS_TEMPLATE,
            policy_id=POLICY,
            rules=FROM_PARTNERS,
            site=replace(OBSERVED_HANDBOOK.site, sharing=Sharing.EXISTING_GUESTS),
        )
    )
    assert (group.done, site.done) == (STEPS[:3], STEPS if adapter.can(Ability.SITES) else STEPS[:3])


@pytest.mark.abilities
async def test_it_refuses_a_site_in_a_directory_without_sites(adapter: Adapter) -> None:
    if adapter.can(Ability.SITES):
        return

    refused, good = await adapter.guests.ensure([assign(HANDBOOK, FORBID), adapter.assign(PARTNERS, FORBID)])

    assert isinstance(refused.fault, Rejected)
    assert (refused.subject, refused.done, refused.fault.code) == (None, (), "sitesNotSupported")
    assert good.fault is None
    assert await adapter.guests.observe([reference(HANDBOOK)]) == [adapter.subject(OBSERVED_HANDBOOK)]


async def test_it_handles_an_empty_batch(adapter: Adapter) -> None:
    assert await adapter.guests.ensure([]) == []


@pytest.mark.parametrize("group_id", [PARTNERS, HANDBOOK], ids=["group", "site"])
async def test_the_result_is_independent_of_the_start(adapter: Adapter, group_id: GroupId) -> None:
    """Each assignment replaces each other one completely, and is idempotent."""
    fresh = {}
    for assignment in ASSIGNMENTS:
        [outcome] = await adapter.guests.ensure([adapter.assign(group_id, assignment)])
        fresh[assignment] = subject_of(outcome)

    for before, after in product(ASSIGNMENTS, ASSIGNMENTS):
        await adapter.guests.ensure([adapter.assign(group_id, before)])
        [outcome] = await adapter.guests.ensure([adapter.assign(group_id, after)])
        [again] = await adapter.second_guests.ensure([adapter.assign(group_id, after)])

        assert subject_of(outcome) == fresh[after]
        assert again == outcome
        left = remaining_of_subject(adapter.assign(group_id, after).wanted, subject_of(outcome), STEPS)
        assert set(left) == adapter.unreported(after)
    assert len(set(fresh.values())) == len(ASSIGNMENTS)


@pytest.mark.parametrize("group_id", [PARTNERS, HANDBOOK], ids=["group", "site"])
async def test_it_restores_the_default_when_all_is_cleared(adapter: Adapter, group_id: GroupId) -> None:
    for assignment in (FORBID, NOT_RIVALS):
        await adapter.guests.ensure([adapter.assign(group_id, assignment)])

    [outcome] = await adapter.guests.ensure([adapter.assign(group_id, CLEAR)])

    expected = OBSERVED_PARTNERS if group_id == PARTNERS else OBSERVED_HANDBOOK
    assert subject_of(outcome) == adapter.subject(expected)


@pytest.mark.parametrize(("before", "after"), list(permutations([CLEAR, FORBID, PARTNERS_ONLY], 2)))
async def test_it_resumes_after_a_crash(adapter: Adapter, before: WantedGuestRules, after: WantedGuestRules) -> None:
    remove = (GIL,)
    await adapter.guests.ensure([adapter.assign(HANDBOOK, before), adapter.assign(PARTNERS, before)])
    [straight] = await adapter.guests.ensure([adapter.assign(HANDBOOK, after)])

    # After a crash, the next run repeats all steps.
    steps = adapter.assign(HANDBOOK, after).steps
    for count in range(len(steps)):
        for done in combinations(steps, count):
            await adapter.guests.ensure([adapter.assign(HANDBOOK, before)])
            await adapter.guests.ensure([Work(adapter.assign(HANDBOOK, after).wanted, done)])
            [ended] = await adapter.second_guests.ensure([adapter.assign(HANDBOOK, after)])
            assert subject_of(ended) == subject_of(straight)

    half = Work(adapter.assign(PARTNERS, after, remove=remove).wanted, STEPS[:2])
    await adapter.guests.ensure([half])
    [ended] = await adapter.second_guests.ensure([adapter.assign(PARTNERS, after, remove=remove)])
    assert subject_of(ended).guests == (GUEST_HANA,)


@pytest.mark.abilities
@pytest.mark.parametrize("step", STEPS)
async def test_it_runs_only_the_given_steps(adapter: Adapter, step: Step) -> None:
    one = adapter.assign(HANDBOOK, PARTNERS_ONLY, remove=(GIL,))
    if step not in one.steps:
        return

    [outcome] = await adapter.guests.ensure([Work(one.wanted, (step,))])

    assert outcome.done == (step,)
    left = remaining_of_subject(one.wanted, subject_of(outcome), STEPS)
    assert set(left) == set(one.steps) - {step} | ({step} & adapter.unreported(one.wanted))


@pytest.mark.abilities
async def test_own_settings_start_with_the_current_ones(adapter: Adapter) -> None:
    access = Work(adapter.assign(PARTNERS, NOT_RIVALS).wanted, (Step.SET_GUEST_ACCESS,))
    domains = Work(adapter.assign(HANDBOOK, NOT_RIVALS).wanted, (Step.SET_GUEST_DOMAINS,))

    group, site = await adapter.guests.ensure([access, domains])

    sharing = Sharing.NEW_AND_EXISTING_GUESTS
    of_group = replace(NOT_FROM_RIVALS, blocked_domains=(), sharing=None)
    of_site = replace(NOT_FROM_RIVALS, added_by=AddedBy.MEMBERS, sharing=sharing)
    assert subject_of(group).rules == adapter.rules(of_group)
    assert subject_of(site).rules == adapter.rules(of_site, HANDBOOK)


async def test_it_removes_only_guests(adapter: Adapter) -> None:
    remove = (GIL, ADA, OTHER_GUEST, NOBODY)

    group, site = await adapter.guests.ensure(
        [adapter.assign(PARTNERS, FORBID, remove=remove), adapter.assign(HANDBOOK, FORBID, remove=remove)]
    )
    [again] = await adapter.guests.ensure([adapter.assign(PARTNERS, FORBID, remove=remove)])

    assert subject_of(group).guests == (GUEST_HANA,)
    assert subject_of(again) == subject_of(group)
    # He was an owner of the site.
    assert subject_of(site).guests == ()
    [other] = await adapter.guests.observe([reference(OTHER_SITE, OTHER_TENANT)])
    assert other is not None
    assert [guest.id for guest in other.guests] == [OTHER_GUEST]


async def test_it_keeps_the_mark_of_the_request_that_made_a_group(adapter: Adapter) -> None:
    one = group_work.work()
    [made] = await adapter.directory.ensure([one])
    assert made.observed is not None

    for assignment in (PARTNERS_ONLY, CLEAR):
        [outcome] = await adapter.guests.ensure([adapter.assign(made.observed.id, assignment)])
        assert subject_of(outcome).request_id == one.wanted.request_id
    [again] = await adapter.directory.ensure([one])

    assert again == made


async def test_it_rejects_only_the_unknown_group(adapter: Adapter) -> None:
    works = [adapter.assign(NOTHING, FORBID), adapter.assign(PARTNERS, FORBID), adapter.assign(OTHER_SITE, FORBID)]

    unknown, done, elsewhere = await adapter.guests.ensure(works)

    for one in (unknown, elsewhere):
        assert isinstance(one.fault, Rejected)
        assert (one.subject, one.done, one.fault.code) == (None, (), "groupUnknown")
    assert subject_of(done).template_id == NO_GUESTS_TEMPLATE
    [other] = await adapter.guests.observe([reference(OTHER_SITE, OTHER_TENANT)])
    assert other is not None
    assert (other.template_id, other.rules) == (None, None)


async def test_it_keeps_guests_of_dynamic_groups(adapter: Adapter) -> None:
    [outcome] = await adapter.guests.ensure([adapter.assign(VISITORS, FORBID, remove=(GIL,))])
    [again] = await adapter.second_guests.ensure([adapter.assign(VISITORS, FORBID, remove=(GIL,))])
    [other] = await adapter.guests.ensure([adapter.assign(VISITORS, FORBID, remove=(ADA, NOBODY))])

    assert [(each.id, each.code) for each in outcome.stayed] == [(GIL, "membersFollowRule")]
    assert outcome.stayed[0].detail.startswith("Gil Hartmann is in this group by its membership rule")
    shown = subject_of(outcome)
    assert shown.guests == (GUEST_GIL, GUEST_HANA)
    assert (shown.template_id, shown.rules) == (NO_GUESTS_TEMPLATE, adapter.rules(replace(NO_GUESTS, sharing=None)))
    assert outcome.done == STEPS[:3]
    assert again == outcome
    assert other.stayed == ()


async def test_it_keeps_the_last_owner(adapter: Adapter) -> None:
    last = adapter.assign(OTHER_SITE, FORBID, remove=(OTHER_GUEST,), tenant_id=OTHER_TENANT)

    outcome, one_of_two = await adapter.guests.ensure([last, adapter.assign(HANDBOOK, FORBID, remove=(GIL,))])
    [again] = await adapter.second_guests.ensure([last])

    assert [(each.id, each.code) for each in outcome.stayed] == [(OTHER_GUEST, "lastOwner")]
    assert outcome.stayed[0].detail.startswith("Ines Castro is the last owner of this group")
    shown = subject_of(outcome)
    assert [guest.id for guest in shown.guests] == [OTHER_GUEST]
    sharing = None if shown.rules is None else shown.rules.sharing
    rules = adapter.rules(replace(NO_GUESTS, sharing=sharing), OTHER_SITE)
    assert (shown.template_id, shown.rules) == (NO_GUESTS_TEMPLATE, rules)
    assert again == outcome
    assert (subject_of(one_of_two).guests, one_of_two.stayed) == ((), ())


async def test_it_rejects_texts_that_cannot_be_stored(adapter: Adapter) -> None:
    strange = replace(FORBID, rules=replace(NO_GUESTS, blocked_domains=("nul\x00",)))

    bad, good = await adapter.guests.ensure([adapter.assign(HANDBOOK, strange), adapter.assign(PARTNERS, FORBID)])

    assert isinstance(bad.fault, Rejected)
    assert bad.fault.code == "notAccepted"
    assert subject_of(good).template_id == NO_GUESTS_TEMPLATE


async def test_works_for_one_group_run_in_order(adapter: Adapter) -> None:
    works = [
        adapter.assign(PARTNERS, FORBID),
        adapter.assign(HANDBOOK, FORBID),
        adapter.assign(PARTNERS, NOT_RIVALS),
        adapter.assign(PARTNERS, CLEAR),
    ]

    outcomes = await adapter.guests.ensure(works)

    assert [subject_of(one).template_id for one in outcomes] == [
        NO_GUESTS_TEMPLATE,
        NO_GUESTS_TEMPLATE,
        PARTNERS_TEMPLATE,
        None,
    ]
    assert await adapter.guests.observe([reference(PARTNERS)]) == [OBSERVED_PARTNERS]


async def test_the_last_of_concurrent_works_wins(adapter: Adapter) -> None:
    guests = (adapter.guests, adapter.second_guests)
    many = [adapter.assign(PARTNERS, ASSIGNMENTS[number % len(ASSIGNMENTS)]) for number in range(20)]

    outcomes = await asyncio.gather(*(guests[number % 2].ensure([one]) for number, one in enumerate(many)))
    [last] = await adapter.guests.ensure([adapter.assign(PARTNERS, FORBID)])

    assert [one.fault for [one] in outcomes] == [None] * len(many)
    own = replace(NO_GUESTS, sharing=None)
    expected = replace(OBSERVED_PARTNERS, template_id=NO_GUESTS_TEMPLATE, rules=own)
    assert subject_of(last) == adapter.subject(expected)


async def test_a_batch_isolates_tenants(adapter: Adapter) -> None:
    works = [adapter.assign(PARTNERS, FORBID), adapter.assign(OTHER_SITE, NOT_RIVALS, tenant_id=OTHER_TENANT)]

    here, there = await adapter.guests.ensure(works)

    assert (subject_of(here).tenant_id, subject_of(there).tenant_id) == (TENANT, OTHER_TENANT)
    assert subject_of(there).rules == adapter.rules(replace(NOT_FROM_RIVALS, sharing=Sharing.DISABLED), OTHER_SITE)
