# SPDX-License-Identifier: Apache-2.0
"""The people of an LDAP server, against slapd."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest

from chamberlain.core.ids import GroupId, UserId
from chamberlain.directory.models import NO_RELATIONS, NamedPerson, PeopleAnswer, PeopleQuestion
from chamberlain.directory.opensuite.addresses import Addresses
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.people import SuitePeople
from chamberlain.directory.port import REMEMBER_REMOTE
from deploy.suite.folder import Suite
from tests.suite.ldap_work import TENANT, connected, group, group_dn, layout_of, mailbox, mailbox_dn, operating, unique


@dataclass(frozen=True, slots=True)
class Neighbours:
    """People of one test: a manager, and a guest whom she manages, in groups that contain each other."""

    word: str
    manager: UserId
    guest: UserId
    outer: GroupId
    inner: GroupId


@pytest.fixture
async def entries(suite: Suite) -> AsyncIterator[Entries]:
    async with connected(suite) as client:
        yield Entries(client)


@pytest.fixture
def people(suite: Suite, entries: Entries) -> SuitePeople:
    return SuitePeople(entries, layout_of(suite))


@pytest.fixture
async def operator(suite: Suite) -> AsyncIterator[Entries]:
    async with operating(suite) as found:
        yield found


@pytest.fixture
async def neighbours(suite: Suite, entries: Entries, operator: Entries) -> Neighbours:
    word = f"w{uuid4().hex[:10]}"
    manager_dn, guest_dn = (f"uid={each}-{word},ou=guests,{suite.base}" for each in ("mia", "gus"))
    common = {"objectClass": ["inetOrgPerson"], "sn": [word]}
    manager = await operator.add(
        manager_dn,
        {
            **common,
            "uid": [f"mia-{word}"],
            "cn": [f"Mia {word}"],
            "displayName": [f"Mia {word}"],
            "mail": [f"Mia.{word}@estate.example"],
            "departmentNumber": ["Sales"],
            "preferredLanguage": ["de-CH"],
        },
    )
    guest = await operator.add(
        guest_dn,
        {**common, "uid": [f"gus-{word}"], "cn": [f"Gus {word}"], "employeeType": ["Guest"], "manager": [manager_dn]},
    )
    outer, inner = unique("outer"), unique("inner")
    outer_dn, inner_dn = group_dn(suite, outer), group_dn(suite, inner)
    outer_group = await entries.add(outer_dn, {**group(suite, outer), "owner": [manager_dn], "member": [inner_dn]})
    inner_group = await entries.add(inner_dn, {**group(suite, inner), "member": [guest_dn, outer_dn]})
    return Neighbours(word, UserId(manager.id), UserId(guest.id), GroupId(outer_group.id), GroupId(inner_group.id))


async def test_it_works(people: SuitePeople, neighbours: Neighbours) -> None:
    word, unknown = neighbours.word, UserId(uuid4())
    taken = f"MIA.{word}@Estate.Example"

    answer = await people.look_up(
        PeopleQuestion(
            TENANT,
            users=frozenset({neighbours.manager, neighbours.guest, unknown}),
            labels=frozenset({"confidential"}),
            addresses=frozenset({taken, f"free-{word}@estate.example", "\x00", "half \ud800", "ä@estate.example"}),
            member=neighbours.guest,
            groups=frozenset({neighbours.outer, neighbours.inner}),
        )
    )

    assert answer.people.keys() == {neighbours.manager, neighbours.guest}
    mia, gus = answer.people[neighbours.manager], answer.people[neighbours.guest]
    assert (mia.display_name, mia.mail, mia.language) == (f"Mia {word}", f"Mia.{word}@estate.example", "de-CH")
    assert (mia.properties["department"], mia.is_guest, mia.has_team_license) == ("Sales", False, True)
    # Without a display name, the common name is shown.
    assert (gus.display_name, gus.mail, gus.is_guest, gus.has_team_license) == (f"Gus {word}", None, True, False)
    assert answer.labels == frozenset()
    assert answer.taken_addresses == {taken}
    assert answer.member_of == {neighbours.outer, neighbours.inner}


async def test_a_user_name_is_no_free_address(
    suite: Suite, entries: Entries, operator: Entries, people: SuitePeople
) -> None:
    """A mailbox with this address would have the same name in Dovecot, and neither could be opened."""
    name = f"{unique('user')}@estate.example"
    person = {"objectClass": ["inetOrgPerson"], "uid": [name], "cn": [name], "sn": [name], "mail": [f"o-{name}"]}
    added = await operator.add(f"uid={name},ou=guests,{suite.base}", person)

    answer = await people.look_up(PeopleQuestion(TENANT, addresses=frozenset({name})))
    read = await Addresses.read(entries, layout_of(suite), [name.upper()])

    assert answer.taken_addresses == {name}
    assert read.claim([name], None, 1) is not None
    assert read.claim([name], added.id, 1) is None


async def test_an_empty_question_has_an_empty_answer(people: SuitePeople) -> None:
    assert await people.look_up(PeopleQuestion(TENANT)) == PeopleAnswer()
    assert people.remember_for(TENANT) == REMEMBER_REMOTE
    assert list(await people.labels(TENANT)) == []


async def test_it_finds_managers_members_and_owners(people: SuitePeople, neighbours: Neighbours) -> None:
    unknown = GroupId(UUID(int=7))
    groups = frozenset({neighbours.outer, neighbours.inner, unknown})

    answer = await people.look_up(
        PeopleQuestion(TENANT, manager_of=neighbours.guest, members_of=groups, named_groups=groups, owners_of=groups)
    )

    mia = NamedPerson(neighbours.manager, f"Mia {neighbours.word}")
    gus = NamedPerson(neighbours.guest, f"Gus {neighbours.word}")
    assert answer.relations.manager == mia
    assert answer.relations.members == {neighbours.outer: (gus,), neighbours.inner: (gus,), unknown: ()}
    assert answer.known_groups == {neighbours.outer, neighbours.inner}
    assert answer.owners == {neighbours.outer: (mia,)}
    none = await people.look_up(PeopleQuestion(TENANT, manager_of=neighbours.manager))
    assert none.relations == NO_RELATIONS


async def test_it_finds_people_by_the_beginnings_of_words(
    suite: Suite, entries: Entries, people: SuitePeople, neighbours: Neighbours
) -> None:
    word, name = neighbours.word, unique("box")
    await entries.add(mailbox_dn(suite, name), {**mailbox(name), "displayName": [f"Box {word}"]})
    both = [neighbours.guest, neighbours.manager]
    expected = {
        word: both,
        word[:6].upper(): both,
        f"mi {word}": [neighbours.manager],
        f"{word} m": [neighbours.manager],
        f"mia.{word}@est": [neighbours.manager],
        f"gus-{word}": [neighbours.guest],
        word[1:]: [],
        f"{word} x": [],
        f"{word} %%": [],
        f"{word}\x00": [],
        f"{word}*": [],
        "a": [],
        "": [],
    }

    found = {text: [each.id for each in await people.find(TENANT, text, 10)] for text in expected}

    assert found == expected
    assert [each.id for each in await people.find(TENANT, word, 1)] == [neighbours.guest]
    assert list(await people.find(TENANT, word, 0)) == []


async def test_it_checks_membership_rules(people: SuitePeople) -> None:
    good, bad, pattern = 'user.department -eq "Sales"', "user.department is Sales", 'user.department -match "S.*"'

    answer = await people.look_up(PeopleQuestion(TENANT, membership_rules=frozenset({good, bad, pattern})))

    assert answer.rule_faults.keys() == {bad, pattern}
