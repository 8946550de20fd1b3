import asyncio
from dataclasses import replace

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.directory import subjects
from chamberlain.directory.mailboxes import (
    AddressFields,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
    Place,
    RoomEquipment,
    WantedMailbox,
    remaining_of_mailbox,
)
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.port import MailboxOutcome, MailboxWork
from chamberlain.directory.steps import Step
from tests.directory import wanted
from tests.directory.conftest import Stage
from tests.directory.population import ADA, BEN, CLEO, NOBODY, OTHER_TENANT, TENANT, ZOE
from tests.directory.wanted_mailboxes import MAKERS, Changes, Make, each_type, equipment, plain, reference, room, shared

FULL_ACCESS, SEND_AS = PermissionLevel.FULL_ACCESS, PermissionLevel.SEND_AS


def mailbox_of(outcome: MailboxOutcome) -> ObservedMailbox:
    assert outcome.fault is None
    assert outcome.mailbox is not None
    return outcome.mailbox


def rejection(outcome: MailboxOutcome) -> Rejected:
    assert isinstance(outcome.fault, Rejected)
    return outcome.fault


def as_shown(one: WantedMailbox, made: ObservedMailbox) -> ObservedMailbox:
    """What a directory that had nothing before has to show, but for the id, which is its own affair."""
    full = {user for user, level in one.permissions.items() if level is FULL_ACCESS}
    return ObservedMailbox(
        id=made.id,
        type=one.type,
        name=one.name,
        display_name=one.display_name,
        mail=one.mail,
        aliases=one.aliases,
        address_fields=one.address_fields,
        place=one.place,
        books_automatically=one.books_automatically,
        automatic_reply=one.automatic_reply,
        quota_megabytes=one.quota_megabytes,
        capacity=one.capacity,
        is_hidden=bool(one.is_hidden),
        permissions=one.permissions,
        auto_mapped=frozenset(full if one.auto_mapping else ()),
        owners=one.owners,
        marks=one.marks,
    )


@each_type
async def test_it_works(stage: Stage, make: Make) -> None:
    one = make()

    [outcome] = await stage.directory.ensure_mailboxes([one])

    assert outcome.done == one.steps
    mailbox = mailbox_of(outcome)
    assert mailbox == as_shown(one.wanted, mailbox)
    assert remaining_of_mailbox(one.wanted, mailbox, one.steps) == ()
    assert await stage.second_directory.observe_mailboxes([reference(one)]) == [mailbox]


async def test_it_makes_the_steps_that_the_suite_tries(stage: Stage) -> None:
    one, other, third = shared(), room(), equipment()

    outcomes = await stage.directory.ensure_mailboxes([one, other, third])

    mailbox_steps = set(Step) - {
        Step.CHECK_PEOPLE,
        Step.CREATE_GROUP,
        Step.ADD_OWNERS,
        Step.ADD_MEMBERS,
        Step.SET_LABEL,
        Step.CREATE_TEAM,
        Step.CREATE_CHANNELS,
        Step.ASSIGN_GUEST_RULES,
        Step.SET_PROPERTIES,
        *subjects.EFFECTS,
    }
    assert {step for outcome in outcomes for step in outcome.done} == mailbox_steps


async def test_it_calls_what_is_there_otherwise_only_by_the_step_for_that(stage: Stage) -> None:
    one, other = plain(), plain()
    await stage.directory.ensure_mailboxes([one, other])
    renamed = replace(one.wanted, display_name="Quay")

    [left_alone] = await stage.directory.ensure_mailboxes([MailboxWork(renamed, one.steps)])
    [set_right, beside] = await stage.directory.ensure_mailboxes([MailboxWork(renamed, (Step.SET_PROPERTIES,)), other])

    assert mailbox_of(left_alone).display_name == one.wanted.display_name
    assert (set_right.fault, set_right.done) == (None, (Step.SET_PROPERTIES,))
    shown = await stage.directory.observe_mailboxes([reference(one), reference(other)])
    assert shown == [mailbox_of(set_right), mailbox_of(beside)]
    assert (mailbox_of(set_right).display_name, mailbox_of(beside).display_name) == ("Quay", other.wanted.display_name)


@each_type
async def test_it_makes_one_mailbox_when_asked_twice(stage: Stage, make: Make) -> None:
    one = make()
    [first] = await stage.directory.ensure_mailboxes([one])

    [again] = await stage.directory.ensure_mailboxes([one])

    assert mailbox_of(again) == mailbox_of(first)
    assert again == first


async def test_it_makes_one_mailbox_when_a_batch_holds_it_twice(stage: Stage) -> None:
    one = shared()

    first, second = await stage.directory.ensure_mailboxes([one, one])

    assert mailbox_of(first) == mailbox_of(second)


async def test_it_makes_one_mailbox_when_two_workers_ask_at_once(stage: Stage) -> None:
    works = [make() for make in MAKERS for _ in range(10)]

    ahead, behind = await asyncio.gather(
        stage.directory.ensure_mailboxes(works), stage.second_directory.ensure_mailboxes(list(reversed(works)))
    )

    assert [outcome.fault for outcome in (*ahead, *behind)] == [None] * 80
    assert list(ahead) == list(reversed(behind))


@each_type
async def test_it_ends_in_the_same_state_wherever_it_was_killed(stage: Stage, make: Make) -> None:
    for number in range(1, len(make().steps)):
        one = make()
        await stage.directory.ensure_mailboxes([MailboxWork(one.wanted, one.steps[:number])])

        [outcome] = await stage.second_directory.ensure_mailboxes([one])

        mailbox = mailbox_of(outcome)
        assert mailbox == as_shown(one.wanted, mailbox)
        assert await stage.directory.observe_mailboxes([reference(one)]) == [mailbox]


@pytest.mark.parametrize(
    "changes",
    [
        Changes(aliases=("quay@estate.example",)),
        Changes(address_fields=AddressFields(city="Basel")),
        Changes(address_fields=AddressFields(notes="", business_phones=("1",))),
        Changes(automatic_reply="We are back."),
        Changes(quota_megabytes=0),
        Changes(quota_megabytes=2**31 - 1),
        Changes(is_hidden=True),
        Changes(permissions={BEN: FULL_ACCESS}),
        Changes(permissions={BEN: FULL_ACCESS}, auto_mapping=False),
        Changes(owners=(BEN,)),
    ],
)
async def test_it_sets_what_is_wanted_and_leaves_the_rest(stage: Stage, changes: Changes) -> None:
    before = plain()
    [first] = await stage.directory.ensure_mailboxes([before])
    same = Changes(request_id=before.wanted.request_id, name=before.wanted.name)
    after = plain(**(same | changes))

    [outcome] = await stage.directory.ensure_mailboxes([after])

    mailbox = mailbox_of(outcome)
    assert mailbox == as_shown(after.wanted, mailbox) != mailbox_of(first)
    assert await stage.directory.observe_mailboxes([reference(before)]) == [mailbox]


async def test_it_sets_what_shows_otherwise(stage: Stage) -> None:
    before = room()
    [first] = await stage.directory.ensure_mailboxes([before])
    after = plain(
        request_id=before.wanted.request_id,
        type=MailboxType.ROOM,
        address_fields=AddressFields(city="Basel", business_phones=("1",)),
        place=Place(capacity=8, tags=("loud",), equipment=RoomEquipment(has_whiteboard=True)),
        automatic_reply="Sweep it.",
        is_hidden=True,
        owners=(ADA, CLEO),
    )

    [outcome] = await stage.directory.ensure_mailboxes([after])

    old = mailbox_of(first)
    assert old.place is not None
    assert mailbox_of(outcome) == replace(
        old,
        address_fields=replace(old.address_fields, city="Basel", business_phones=("1",)),
        place=replace(
            old.place,
            capacity=8,
            tags=("loud",),
            equipment=RoomEquipment(has_conference_phone=True, has_whiteboard=True),
        ),
        automatic_reply="Sweep it.",
        is_hidden=True,
        owners=(ADA, CLEO),
    )


async def test_it_leaves_what_nobody_speaks_of(stage: Stage) -> None:
    before = shared()
    [first] = await stage.directory.ensure_mailboxes([before])
    nothing = plain(request_id=before.wanted.request_id)

    [outcome] = await stage.directory.ensure_mailboxes([nothing])

    assert mailbox_of(outcome) == mailbox_of(first)


async def test_it_gives_everybody_the_level_that_is_wanted_and_no_other(stage: Stage) -> None:
    before = plain(permissions={ADA: FULL_ACCESS, BEN: SEND_AS, CLEO: FULL_ACCESS})
    await stage.directory.ensure_mailboxes([before])
    after = plain(
        request_id=before.wanted.request_id,
        permissions={ADA: SEND_AS, BEN: FULL_ACCESS},
        revoked=frozenset({NOBODY}),
        auto_mapping=False,
    )

    [outcome] = await stage.directory.ensure_mailboxes([after])

    mailbox = mailbox_of(outcome)
    # Nobody asked about Cleo.
    assert mailbox.permissions == {ADA: SEND_AS, BEN: FULL_ACCESS, CLEO: FULL_ACCESS}
    assert mailbox.auto_mapped == {CLEO}


async def test_it_takes_the_permission_from_who_shall_have_none(stage: Stage) -> None:
    before = plain(permissions={ADA: FULL_ACCESS, BEN: SEND_AS, CLEO: SEND_AS})
    await stage.directory.ensure_mailboxes([before])
    after = plain(request_id=before.wanted.request_id, revoked=frozenset({ADA, BEN}))

    [outcome] = await stage.directory.ensure_mailboxes([after])

    assert outcome.done == (Step.CREATE_MAILBOX, Step.SET_PERMISSIONS)
    assert mailbox_of(outcome).permissions == {CLEO: SEND_AS}
    assert mailbox_of(outcome).auto_mapped == frozenset()


async def test_it_changes_the_mapping_of_an_entry_that_is_there(stage: Stage) -> None:
    before = plain(permissions={ADA: FULL_ACCESS}, auto_mapping=False)
    await stage.directory.ensure_mailboxes([before])
    after = plain(request_id=before.wanted.request_id, permissions={ADA: FULL_ACCESS}, auto_mapping=True)

    [outcome] = await stage.directory.ensure_mailboxes([after])

    assert mailbox_of(outcome).auto_mapped == {ADA}


async def test_it_adds_an_alias_beside_those_that_are_there(stage: Stage) -> None:
    before = plain(aliases=("quay@estate.example",))
    await stage.directory.ensure_mailboxes([before])
    after = plain(request_id=before.wanted.request_id, aliases=("quay@estate.example", "pier@estate.example"))

    [outcome] = await stage.directory.ensure_mailboxes([after])

    assert mailbox_of(outcome).aliases == ("quay@estate.example", "pier@estate.example")


async def test_it_rejects_one_bad_item_and_makes_the_others(stage: Stage) -> None:
    works = [room(), shared(permissions={NOBODY: FULL_ACCESS}), shared(), plain(owners=(NOBODY,)), equipment()]

    outcomes = await stage.directory.ensure_mailboxes(works)

    assert [outcome.fault is None for outcome in outcomes] == [True, False, True, False, True]
    seen = await stage.directory.observe_mailboxes([reference(one) for one in works])
    assert [one is not None for one in seen] == [True, False, True, False, True]


@pytest.mark.parametrize(
    "changes",
    [
        Changes(owners=(ADA, NOBODY)),
        Changes(permissions={ADA: FULL_ACCESS, NOBODY: SEND_AS}),
        Changes(owners=(ZOE,)),
        Changes(permissions={ZOE: SEND_AS}),
    ],
)
async def test_it_rejects_an_unknown_user_and_one_of_another_tenant(stage: Stage, changes: Changes) -> None:
    [outcome] = await stage.directory.ensure_mailboxes([shared(**changes)])

    assert rejection(outcome).code == "userUnknown"
    assert any(str(user) in rejection(outcome).detail for user in (NOBODY, ZOE))
    assert (outcome.mailbox, outcome.done) == (None, ())


@pytest.mark.parametrize("taken", ["ada@estate.example", "CLEO@Estate.example", "All-Staff@estate.example"])
@pytest.mark.parametrize("where", ["mail", "aliases"])
async def test_it_rejects_an_address_that_somebody_has(stage: Stage, taken: str, where: str) -> None:
    bad = shared(mail=taken) if where == "mail" else shared(aliases=("free@estate.example", taken))
    good = shared()

    outcome, other = await stage.directory.ensure_mailboxes([bad, good])

    assert rejection(outcome).code == "addressTaken"
    assert taken in rejection(outcome).detail
    assert other.fault is None
    assert await stage.directory.observe_mailboxes([reference(bad)]) == [None]
    # What it would have got besides is free for others.
    free = PeopleQuestion(TENANT, addresses=frozenset({"free@estate.example", bad.wanted.mail}) - {taken})
    assert (await stage.people.look_up(free)).taken_addresses == frozenset()


async def test_it_rejects_the_address_of_another_mailbox_and_its_alias(stage: Stage) -> None:
    first = shared(mail="crane@estate.example", aliases=("winch@estate.example",))
    await stage.directory.ensure_mailboxes([first])

    outcomes = await stage.directory.ensure_mailboxes(
        [
            room(mail="Winch@estate.example"),
            plain(aliases=("crane@estate.example",)),
            plain(mail="crane@estate.example"),
        ]
    )

    assert [rejection(outcome).code for outcome in outcomes] == ["addressTaken"] * 3


async def test_it_rejects_a_new_alias_that_is_taken_and_leaves_the_mailbox_as_it_is(stage: Stage) -> None:
    before = plain()
    [first] = await stage.directory.ensure_mailboxes([before])
    after = plain(
        request_id=before.wanted.request_id,
        aliases=("spare@estate.example", "ada@estate.example"),
    )

    [outcome] = await stage.directory.ensure_mailboxes([after])

    assert rejection(outcome).code == "addressTaken"
    assert outcome.mailbox == mailbox_of(first)
    spare = PeopleQuestion(TENANT, addresses=frozenset({"spare@estate.example"}))
    assert (await stage.people.look_up(spare)).taken_addresses == frozenset()


async def test_it_gives_an_address_that_two_ask_for_to_one_of_them(stage: Stage) -> None:
    works = [room(mail="quay@estate.example"), shared(aliases=("Quay@estate.example",))]

    outcomes = await stage.directory.ensure_mailboxes(works)

    assert sorted(outcome.fault is None for outcome in outcomes) == [False, True]


async def test_it_gives_an_address_that_two_workers_ask_for_to_one_of_them(stage: Stage) -> None:
    one, other = room(mail="pier@estate.example"), shared(aliases=("pier@estate.example",))

    [[first], [second]] = await asyncio.gather(
        stage.directory.ensure_mailboxes([one]), stage.second_directory.ensure_mailboxes([other])
    )

    assert sorted([first.fault is None, second.fault is None]) == [False, True]


async def test_it_holds_addresses_against_groups(stage: Stage) -> None:
    await stage.directory.ensure_mailboxes([shared(mail="dock@estate.example", aliases=("slip@estate.example",))])

    outcomes = await stage.directory.ensure(
        [wanted.work(mail="dock@estate.example"), wanted.work(mail="Slip@estate.example")]
    )

    assert [isinstance(outcome.fault, Rejected) and outcome.fault.code for outcome in outcomes] == ["addressTaken"] * 2
    asked = frozenset({"Dock@estate.example", "slip@estate.example", "free@estate.example"})
    answer = await stage.people.look_up(PeopleQuestion(TENANT, addresses=asked))
    assert answer.taken_addresses == asked - {"free@estate.example"}


async def test_it_keeps_the_mailboxes_of_two_tenants_apart(stage: Stage) -> None:
    here = plain(mail="dock@estate.example", owners=(ADA,))
    there = plain(tenant_id=OTHER_TENANT, request_id=here.wanted.request_id, mail="dock@estate.example", owners=(ZOE,))

    first, second = await stage.directory.ensure_mailboxes([here, there])

    assert mailbox_of(first).id != mailbox_of(second).id
    assert (mailbox_of(first).owners, mailbox_of(second).owners) == ((ADA,), (ZOE,))


@pytest.mark.parametrize(
    "changes",
    [
        Changes(display_name="Nul\x00"),
        Changes(name="Half \ud800"),
        Changes(address_fields=AddressFields(notes="Nul\x00")),
        Changes(address_fields=AddressFields(city="Half \ud800")),
        Changes(automatic_reply="Nul\x00"),
    ],
)
async def test_it_rejects_a_text_that_cannot_be_stored_and_makes_the_others(stage: Stage, changes: Changes) -> None:
    works = [plain(), plain(**changes), plain()]

    outcomes = await stage.directory.ensure_mailboxes(works)

    assert [outcome.fault is None for outcome in outcomes] == [True, False, True]


async def test_it_says_that_the_people_were_looked_at(stage: Stage) -> None:
    one = plain(mail="ada@estate.example")

    [outcome] = await stage.directory.ensure_mailboxes([replace(one, steps=(Step.CHECK_PEOPLE, *one.steps))])

    assert rejection(outcome).code == "addressTaken"
    assert outcome.done == (Step.CHECK_PEOPLE,)


async def test_it_handles_an_empty_batch(stage: Stage) -> None:
    assert await stage.directory.ensure_mailboxes([]) == []
    assert await stage.directory.observe_mailboxes([]) == []


async def test_it_handles_two_batches_that_hold_the_same_existing_mailboxes(stage: Stage) -> None:
    small = [plain() for _ in range(30)]
    await stage.directory.ensure_mailboxes(small)
    grown = [shared(request_id=one.wanted.request_id) for one in small]

    both = await asyncio.gather(
        stage.directory.ensure_mailboxes(grown), stage.second_directory.ensure_mailboxes(list(reversed(grown)))
    )

    assert {outcome.fault for outcomes in both for outcome in outcomes} == {None}
    seen = await stage.directory.observe_mailboxes([reference(one) for one in small])
    assert seen == [outcome.mailbox for outcome in both[0]]
    assert {len(one.permissions) for one in seen if one is not None} == {2}
