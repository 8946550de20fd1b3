# SPDX-License-Identifier: Apache-2.0
import asyncio
from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId
from chamberlain.directory.capabilities import Ability
from chamberlain.directory.models import NO_RELATIONS, NamedPerson, PeopleAnswer, PeopleQuestion, Relations
from tests.directory.conftest import Adapter
from tests.directory.group_work import work
from tests.directory.sample_directory import (
    ADA,
    BEN,
    CLEO,
    GIL,
    HANDBOOK,
    INNER,
    INTERNAL,
    NOBODY,
    OTHER_GROUP,
    OTHER_LABEL,
    OTHER_TENANT,
    OUTER,
    TENANT,
    ZOE,
)

NAMED_ADA, NAMED_BEN = NamedPerson(ADA, "Ada Achterberg"), NamedPerson(BEN, "Ben Okafor")


@pytest.mark.abilities
async def test_it_works(adapter: Adapter) -> None:
    answer = await adapter.people.look_up(
        PeopleQuestion(
            TENANT,
            users=frozenset({ADA, NOBODY}),
            labels=frozenset({INTERNAL.upper(), "no such label"}),
            addresses=frozenset({"ada@estate.example", "free@estate.example"}),
            member=ADA,
            groups=frozenset({OUTER, INNER}),
        )
    )

    assert set(answer.people) == {ADA}
    ada = answer.people[ADA]
    assert (ada.id, ada.display_name, ada.mail) == (ADA, "Ada Achterberg", "Ada@estate.example")
    assert ada.properties["department"] == "Sales"
    assert ada.properties["displayName"] == "Ada Achterberg"
    assert answer.labels == ({INTERNAL} if adapter.can(Ability.LABELS) else set())
    assert answer.taken_addresses == {"ada@estate.example"}
    assert answer.member_of == {OUTER, INNER}


async def test_it_returns_the_preferred_language(adapter: Adapter) -> None:
    answer = await adapter.people.look_up(PeopleQuestion(TENANT, users=frozenset({ADA, BEN})))

    languages = {user: person.properties.get("preferredLanguage") for user, person in answer.people.items()}
    assert languages == {ADA: "de-CH", BEN: None}


async def test_it_returns_valid_team_licences(adapter: Adapter) -> None:
    answer = await adapter.people.look_up(PeopleQuestion(TENANT, users=frozenset({ADA, BEN, CLEO})))

    licensed = {user: person.has_team_license for user, person in answer.people.items()}
    assert licensed == {ADA: True, BEN: False, CLEO: False}


async def test_it_returns_addresses_as_spelled_in_the_question(adapter: Adapter) -> None:
    asked = frozenset({"ADA@Estate.Example", "ada@estate.example", "all-STAFF@estate.example", "free@estate.example"})

    answer = await adapter.people.look_up(PeopleQuestion(TENANT, addresses=asked))

    assert answer.taken_addresses == asked - {"free@estate.example"}


async def test_it_finds_the_address_of_a_new_group(adapter: Adapter) -> None:
    await adapter.directory.ensure([work(mail="slip@estate.example")])

    answer = await adapter.people.look_up(PeopleQuestion(TENANT, addresses=frozenset({"slip@estate.example"})))

    assert answer.taken_addresses == {"slip@estate.example"}


async def test_it_finds_nested_members(adapter: Adapter) -> None:
    ben = await adapter.people.look_up(PeopleQuestion(TENANT, member=BEN, groups=frozenset({OUTER, INNER})))
    cleo = await adapter.people.look_up(PeopleQuestion(TENANT, member=CLEO, groups=frozenset({OUTER, INNER})))

    assert ben.member_of == {OUTER, INNER}
    assert cleo.member_of == frozenset()


async def test_it_finds_existing_groups(adapter: Adapter) -> None:
    strange = GroupId(UUID(int=7))
    asked = frozenset({OUTER, INNER, OTHER_GROUP, strange})

    own, other, nothing = await asyncio.gather(
        adapter.people.look_up(PeopleQuestion(TENANT, named_groups=asked)),
        adapter.people.look_up(PeopleQuestion(OTHER_TENANT, named_groups=asked)),
        adapter.people.look_up(PeopleQuestion(TENANT, named_groups=frozenset({strange}))),
    )

    assert own.known_groups == {OUTER, INNER}
    assert other.known_groups == {OTHER_GROUP}
    assert nothing == PeopleAnswer()


async def test_it_validates_membership_rules(adapter: Adapter) -> None:
    good, bad = 'user.department -eq "Sales"', "user.department is Sales"

    answer = await adapter.people.look_up(PeopleQuestion(TENANT, membership_rules=frozenset({good, bad})))

    assert answer.rule_faults.keys() == {bad}
    assert "not understood at character" in answer.rule_faults[bad]


async def test_it_finds_nothing_of_another_tenant(adapter: Adapter) -> None:
    answer = await adapter.people.look_up(
        PeopleQuestion(
            TENANT,
            users=frozenset({ZOE}),
            labels=frozenset({OTHER_LABEL}),
            addresses=frozenset({"zoe@other.example"}),
            member=ZOE,
            groups=frozenset({OTHER_GROUP}),
        )
    )

    assert answer == PeopleAnswer()


async def test_it_separates_batched_questions(adapter: Adapter) -> None:
    questions = [
        PeopleQuestion(TENANT, users=frozenset({ADA})),
        PeopleQuestion(OTHER_TENANT, users=frozenset({ADA, ZOE}), member=ZOE, groups=frozenset({OTHER_GROUP})),
        PeopleQuestion(TENANT, users=frozenset({BEN}), member=ADA, groups=frozenset({OUTER})),
        PeopleQuestion(OTHER_TENANT, addresses=frozenset({"ada@estate.example", "zoe@other.example"})),
        PeopleQuestion(TENANT, member=CLEO, groups=frozenset({OUTER})),
        PeopleQuestion(TENANT, labels=frozenset({INTERNAL})),
    ]

    answers = await asyncio.gather(*(adapter.people.look_up(question) for question in questions))

    assert [set(answer.people) for answer in answers] == [{ADA}, {ZOE}, {BEN}, set(), set(), set()]
    assert [answer.member_of for answer in answers] == [set(), {OTHER_GROUP}, {OUTER}, set(), set(), set()]
    assert answers[3].taken_addresses == {"zoe@other.example"}
    assert answers[5].labels == ({INTERNAL} if adapter.can(Ability.LABELS) else set())


async def test_it_handles_an_empty_question(adapter: Adapter) -> None:
    assert await adapter.people.look_up(PeopleQuestion(TENANT)) == PeopleAnswer()


async def test_it_handles_texts_that_cannot_be_stored(adapter: Adapter) -> None:
    strange = PeopleQuestion(
        TENANT,
        labels=frozenset({"nul\x00", "half \ud800", INTERNAL}),
        addresses=frozenset({"\x00", "two\x1fparts@estate.example"}),
    )
    usual = PeopleQuestion(
        TENANT, users=frozenset({ADA}), addresses=frozenset({"ada@estate.example", "free@estate.example"})
    )

    answers = await asyncio.gather(adapter.people.look_up(strange), adapter.people.look_up(usual))

    labels = frozenset({INTERNAL}) if adapter.can(Ability.LABELS) else frozenset[str]()
    assert answers[0] == PeopleAnswer(labels=labels)
    assert set(answers[1].people) == {ADA}
    assert answers[1].taken_addresses == {"ada@estate.example"}


async def test_it_finds_managers_and_members(adapter: Adapter) -> None:
    answer = await adapter.people.look_up(PeopleQuestion(TENANT, manager_of=BEN, members_of=frozenset({OUTER, INNER})))

    assert answer.relations.manager == NAMED_ADA
    # Includes nested members, each once, by name; the two groups contain each other.
    assert answer.relations.members == {OUTER: (NAMED_ADA, NAMED_BEN), INNER: (NAMED_ADA, NAMED_BEN)}
    assert answer.people == {}


async def test_it_finds_no_managers_or_members_elsewhere(adapter: Adapter) -> None:
    nothing = GroupId(UUID(int=1))
    question = PeopleQuestion(TENANT, manager_of=ADA, members_of=frozenset({nothing, OTHER_GROUP}))

    answer = await adapter.people.look_up(question)

    assert answer == PeopleAnswer(relations=Relations(None, {nothing: (), OTHER_GROUP: ()}))
    assert (await adapter.people.look_up(PeopleQuestion(TENANT, manager_of=ZOE))).relations == NO_RELATIONS


async def test_it_finds_owners(adapter: Adapter) -> None:
    question = PeopleQuestion(TENANT, owners_of=frozenset({OUTER, INNER, HANDBOOK, GroupId(NOBODY), OTHER_GROUP}))

    owners = (await adapter.people.look_up(question)).owners

    assert owners == {OUTER: (NAMED_ADA,), HANDBOOK: (NAMED_ADA, NamedPerson(GIL, "Gil Hartmann"))}
    assert (await adapter.people.look_up(PeopleQuestion(TENANT))).owners == {}


async def test_it_combines_all_questions(adapter: Adapter) -> None:
    plain, managed, other, both = await asyncio.gather(
        adapter.people.look_up(PeopleQuestion(TENANT, users=frozenset({BEN}))),
        adapter.people.look_up(PeopleQuestion(TENANT, manager_of=BEN)),
        adapter.people.look_up(PeopleQuestion(OTHER_TENANT, members_of=frozenset({OTHER_GROUP}))),
        adapter.people.look_up(PeopleQuestion(TENANT, manager_of=CLEO, members_of=frozenset({INNER}))),
    )

    assert (set(plain.people), plain.relations) == ({BEN}, NO_RELATIONS)
    assert managed.relations == Relations(NAMED_ADA, {})
    assert other.relations == Relations(None, {OTHER_GROUP: (NamedPerson(ZOE, "Zoe Adeyemi"),)})
    assert both.relations == Relations(None, {INNER: (NAMED_ADA, NAMED_BEN)})
