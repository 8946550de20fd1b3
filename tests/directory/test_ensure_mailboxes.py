# SPDX-License-Identifier: Apache-2.0
import asyncio
from dataclasses import replace

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.directory import subjects
from chamberlain.directory.capabilities import Ability
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
from chamberlain.directory.port import MailboxOutcome, Work
from chamberlain.directory.steps import Step
from tests.directory import group_work
from tests.directory.conftest import Adapter
from tests.directory.mailbox_work import MAKERS, Changes, Make, each_type, equipment, plain, reference, room, shared
from tests.directory.sample_directory import ADA, BEN, CLEO, NOBODY, OTHER_TENANT, TENANT, ZOE

pytestmark = pytest.mark.abilities(Ability.MAILBOXES)

FULL_ACCESS, SEND_AS = PermissionLevel.FULL_ACCESS, PermissionLevel.SEND_AS


def mailbox_of(outcome: MailboxOutcome) -> ObservedMailbox:
    assert outcome.fault is None
    assert outcome.observed is not None
    return outcome.observed


def rejection(outcome: MailboxOutcome) -> Rejected:
    assert isinstance(outcome.fault, Rejected)
    return outcome.fault


def as_shown(one: WantedMailbox, made: ObservedMailbox) -> ObservedMailbox:
    """Return the expected state of a new mailbox, except its id."""
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


@pytest.mark.abilities
@each_type
async def test_it_works(adapter: Adapter, make: Make) -> None:
    one = make()

    [outcome] = await adapter.directory.ensure_mailboxes([one])

    assert outcome.done == one.steps
    mailbox = mailbox_of(outcome)
    assert mailbox == adapter.mailbox(as_shown(one.wanted, mailbox))
    # A step whose effect is not reported is repeated.
    is_hidden = adapter.mapped() is None and FULL_ACCESS in one.wanted.permissions.values()
    hidden = (Step.SET_PERMISSIONS,) if is_hidden else ()
    assert remaining_of_mailbox(one.wanted, mailbox, one.steps) == hidden
    assert await adapter.second_directory.observe_mailboxes([reference(one)]) == [mailbox]


async def test_the_suite_covers_all_steps(adapter: Adapter) -> None:
    one, other, third = shared(), room(), equipment()

    outcomes = await adapter.directory.ensure_mailboxes([one, other, third])

    mailbox_steps = set(Step) - {
        Step.CHECK_PEOPLE,
        Step.REPAIR_DRIFT,
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


async def test_only_one_step_renames_existing_mailboxes(adapter: Adapter) -> None:
    one, other = plain(), plain()
    await adapter.directory.ensure_mailboxes([one, other])
    renamed = replace(one.wanted, display_name="Quay")

    [left_alone] = await adapter.directory.ensure_mailboxes([Work(renamed, one.steps)])
    [set_right, beside] = await adapter.directory.ensure_mailboxes([Work(renamed, (Step.SET_PROPERTIES,)), other])

    assert mailbox_of(left_alone).display_name == one.wanted.display_name
    assert (set_right.fault, set_right.done) == (None, (Step.SET_PROPERTIES,))
    shown = await adapter.directory.observe_mailboxes([reference(one), reference(other)])
    assert shown == [mailbox_of(set_right), mailbox_of(beside)]
    assert (mailbox_of(set_right).display_name, mailbox_of(beside).display_name) == ("Quay", other.wanted.display_name)


@each_type
async def test_it_is_idempotent(adapter: Adapter, make: Make) -> None:
    one = make()
    [first] = await adapter.directory.ensure_mailboxes([one])

    [again] = await adapter.directory.ensure_mailboxes([one])

    assert mailbox_of(again) == mailbox_of(first)
    assert again == first


async def test_duplicates_in_a_batch_create_one_mailbox(adapter: Adapter) -> None:
    one = shared()

    first, second = await adapter.directory.ensure_mailboxes([one, one])

    assert mailbox_of(first) == mailbox_of(second)


async def test_concurrent_workers_create_one_mailbox(adapter: Adapter) -> None:
    works = [make() for make in MAKERS for _ in range(10)]

    ahead, behind = await asyncio.gather(
        adapter.directory.ensure_mailboxes(works), adapter.second_directory.ensure_mailboxes(list(reversed(works)))
    )

    assert [outcome.fault for outcome in (*ahead, *behind)] == [None] * 80
    assert list(ahead) == list(reversed(behind))


@each_type
async def test_it_resumes_after_a_crash(adapter: Adapter, make: Make) -> None:
    for number in range(1, len(make().steps)):
        one = make()
        await adapter.directory.ensure_mailboxes([Work(one.wanted, one.steps[:number])])

        [outcome] = await adapter.second_directory.ensure_mailboxes([one])

        mailbox = mailbox_of(outcome)
        assert mailbox == adapter.mailbox(as_shown(one.wanted, mailbox))
        assert await adapter.directory.observe_mailboxes([reference(one)]) == [mailbox]


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
async def test_it_sets_only_the_given_properties(adapter: Adapter, changes: Changes) -> None:
    before = plain()
    [first] = await adapter.directory.ensure_mailboxes([before])
    same = Changes(request_id=before.wanted.request_id, name=before.wanted.name)
    after = plain(**(same | changes))

    [outcome] = await adapter.directory.ensure_mailboxes([after])

    mailbox = mailbox_of(outcome)
    assert mailbox == adapter.mailbox(as_shown(after.wanted, mailbox)) != mailbox_of(first)
    assert await adapter.directory.observe_mailboxes([reference(before)]) == [mailbox]


async def test_it_changes_different_properties(adapter: Adapter) -> None:
    before = room()
    [first] = await adapter.directory.ensure_mailboxes([before])
    after = plain(
        request_id=before.wanted.request_id,
        type=MailboxType.ROOM,
        address_fields=AddressFields(city="Basel", business_phones=("1",)),
        place=Place(capacity=8, tags=("loud",), equipment=RoomEquipment(has_whiteboard=True)),
        automatic_reply="Sweep it.",
        is_hidden=True,
        owners=(ADA, CLEO),
    )

    [outcome] = await adapter.directory.ensure_mailboxes([after])

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


async def test_it_keeps_other_properties(adapter: Adapter) -> None:
    before = shared()
    [first] = await adapter.directory.ensure_mailboxes([before])
    nothing = plain(request_id=before.wanted.request_id)

    [outcome] = await adapter.directory.ensure_mailboxes([nothing])

    assert mailbox_of(outcome) == mailbox_of(first)


@pytest.mark.abilities
async def test_it_sets_the_permission_levels(adapter: Adapter) -> None:
    before = plain(permissions={ADA: FULL_ACCESS, BEN: SEND_AS, CLEO: FULL_ACCESS})
    await adapter.directory.ensure_mailboxes([before])
    after = plain(
        request_id=before.wanted.request_id,
        permissions={ADA: SEND_AS, BEN: FULL_ACCESS},
        revoked=frozenset({NOBODY}),
        auto_mapping=False,
    )

    [outcome] = await adapter.directory.ensure_mailboxes([after])

    mailbox = mailbox_of(outcome)
    # The work does not name Cleo.
    assert mailbox.permissions == {ADA: SEND_AS, BEN: FULL_ACCESS, CLEO: FULL_ACCESS}
    assert mailbox.auto_mapped == adapter.mapped(CLEO)


async def test_it_revokes_permissions(adapter: Adapter) -> None:
    before = plain(permissions={ADA: FULL_ACCESS, BEN: SEND_AS, CLEO: SEND_AS})
    await adapter.directory.ensure_mailboxes([before])
    after = plain(request_id=before.wanted.request_id, revoked=frozenset({ADA, BEN}))

    [outcome] = await adapter.directory.ensure_mailboxes([after])

    assert outcome.done == (Step.CREATE_MAILBOX, Step.SET_PERMISSIONS)
    assert mailbox_of(outcome).permissions == {CLEO: SEND_AS}
    assert mailbox_of(outcome).auto_mapped == adapter.mapped()


@pytest.mark.abilities
async def test_it_changes_the_auto_mapping(adapter: Adapter) -> None:
    before = plain(permissions={ADA: FULL_ACCESS}, auto_mapping=False)
    await adapter.directory.ensure_mailboxes([before])
    after = plain(request_id=before.wanted.request_id, permissions={ADA: FULL_ACCESS}, auto_mapping=True)

    [outcome] = await adapter.directory.ensure_mailboxes([after])

    assert mailbox_of(outcome).auto_mapped == adapter.mapped(ADA)


async def test_it_adds_an_alias(adapter: Adapter) -> None:
    before = plain(aliases=("quay@estate.example",))
    await adapter.directory.ensure_mailboxes([before])
    after = plain(request_id=before.wanted.request_id, aliases=("quay@estate.example", "pier@estate.example"))

    [outcome] = await adapter.directory.ensure_mailboxes([after])

    assert mailbox_of(outcome).aliases == ("quay@estate.example", "pier@estate.example")


async def test_it_rejects_only_the_invalid_item(adapter: Adapter) -> None:
    works = [room(), shared(permissions={NOBODY: FULL_ACCESS}), shared(), plain(owners=(NOBODY,)), equipment()]

    outcomes = await adapter.directory.ensure_mailboxes(works)

    assert [outcome.fault is None for outcome in outcomes] == [True, False, True, False, True]
    seen = await adapter.directory.observe_mailboxes([reference(one) for one in works])
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
async def test_it_rejects_an_unknown_user_and_one_of_another_tenant(adapter: Adapter, changes: Changes) -> None:
    [outcome] = await adapter.directory.ensure_mailboxes([shared(**changes)])

    assert rejection(outcome).code == "userUnknown"
    assert any(str(user) in rejection(outcome).detail for user in (NOBODY, ZOE))
    assert (outcome.observed, outcome.done) == (None, ())


@pytest.mark.parametrize("taken", ["ada@estate.example", "CLEO@Estate.example", "All-Staff@estate.example"])
@pytest.mark.parametrize("where", ["mail", "aliases"])
async def test_it_rejects_a_taken_address(adapter: Adapter, taken: str, where: str) -> None:
    bad = shared(mail=taken) if where == "mail" else shared(aliases=("free@estate.example", taken))
    good = shared()

    outcome, other = await adapter.directory.ensure_mailboxes([bad, good])

    assert rejection(outcome).code == "addressTaken"
    assert taken in rejection(outcome).detail
    assert other.fault is None
    assert await adapter.directory.observe_mailboxes([reference(bad)]) == [None]
    # Its other addresses are free.
    free = PeopleQuestion(TENANT, addresses=frozenset({"free@estate.example", bad.wanted.mail}) - {taken})
    assert (await adapter.people.look_up(free)).taken_addresses == frozenset()


async def test_it_rejects_the_address_of_another_mailbox_and_its_alias(adapter: Adapter) -> None:
    first = shared(mail="crane@estate.example", aliases=("winch@estate.example",))
    await adapter.directory.ensure_mailboxes([first])

    outcomes = await adapter.directory.ensure_mailboxes(
        [
            room(mail="Winch@estate.example"),
            plain(aliases=("crane@estate.example",)),
            plain(mail="crane@estate.example"),
        ]
    )

    assert [rejection(outcome).code for outcome in outcomes] == ["addressTaken"] * 3


async def test_a_taken_alias_changes_nothing(adapter: Adapter) -> None:
    before = plain()
    [first] = await adapter.directory.ensure_mailboxes([before])
    after = plain(
        request_id=before.wanted.request_id,
        aliases=("spare@estate.example", "ada@estate.example"),
    )

    [outcome] = await adapter.directory.ensure_mailboxes([after])

    assert rejection(outcome).code == "addressTaken"
    assert outcome.observed == mailbox_of(first)
    spare = PeopleQuestion(TENANT, addresses=frozenset({"spare@estate.example"}))
    assert (await adapter.people.look_up(spare)).taken_addresses == frozenset()


async def test_one_of_two_mailboxes_in_a_batch_gets_the_address(adapter: Adapter) -> None:
    works = [room(mail="quay@estate.example"), shared(aliases=("Quay@estate.example",))]

    outcomes = await adapter.directory.ensure_mailboxes(works)

    assert sorted(outcome.fault is None for outcome in outcomes) == [False, True]


async def test_one_of_two_workers_gets_the_address(adapter: Adapter) -> None:
    one, other = room(mail="pier@estate.example"), shared(aliases=("pier@estate.example",))

    [[first], [second]] = await asyncio.gather(
        adapter.directory.ensure_mailboxes([one]), adapter.second_directory.ensure_mailboxes([other])
    )

    assert sorted([first.fault is None, second.fault is None]) == [False, True]


async def test_groups_and_mailboxes_share_addresses(adapter: Adapter) -> None:
    await adapter.directory.ensure_mailboxes([shared(mail="dock@estate.example", aliases=("slip@estate.example",))])

    outcomes = await adapter.directory.ensure(
        [group_work.work(mail="dock@estate.example"), group_work.work(mail="Slip@estate.example")]
    )

    assert [isinstance(outcome.fault, Rejected) and outcome.fault.code for outcome in outcomes] == ["addressTaken"] * 2
    asked = frozenset({"Dock@estate.example", "slip@estate.example", "free@estate.example"})
    answer = await adapter.people.look_up(PeopleQuestion(TENANT, addresses=asked))
    assert answer.taken_addresses == asked - {"free@estate.example"}


async def test_it_isolates_tenants(adapter: Adapter) -> None:
    here = plain(mail="dock@estate.example", owners=(ADA,))
    there = plain(tenant_id=OTHER_TENANT, request_id=here.wanted.request_id, mail="dock@estate.example", owners=(ZOE,))

    first, second = await adapter.directory.ensure_mailboxes([here, there])

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
async def test_it_rejects_only_texts_that_cannot_be_stored(adapter: Adapter, changes: Changes) -> None:
    works = [plain(), plain(**changes), plain()]

    outcomes = await adapter.directory.ensure_mailboxes(works)

    assert [outcome.fault is None for outcome in outcomes] == [True, False, True]


async def test_a_rejection_includes_the_check_of_people(adapter: Adapter) -> None:
    one = plain(mail="ada@estate.example")

    [outcome] = await adapter.directory.ensure_mailboxes([replace(one, steps=(Step.CHECK_PEOPLE, *one.steps))])

    assert rejection(outcome).code == "addressTaken"
    assert outcome.done == (Step.CHECK_PEOPLE,)


async def test_it_handles_an_empty_batch(adapter: Adapter) -> None:
    assert await adapter.directory.ensure_mailboxes([]) == []
    assert await adapter.directory.observe_mailboxes([]) == []


async def test_it_handles_concurrent_batches_of_existing_mailboxes(adapter: Adapter) -> None:
    small = [plain() for _ in range(30)]
    await adapter.directory.ensure_mailboxes(small)
    grown = [shared(request_id=one.wanted.request_id) for one in small]

    both = await asyncio.gather(
        adapter.directory.ensure_mailboxes(grown), adapter.second_directory.ensure_mailboxes(list(reversed(grown)))
    )

    assert {outcome.fault for outcomes in both for outcome in outcomes} == {None}
    seen = await adapter.directory.observe_mailboxes([reference(one) for one in small])
    assert seen == [outcome.observed for outcome in both[0]]
    assert {len(one.permissions) for one in seen if one is not None} == {2}
