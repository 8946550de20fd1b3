# SPDX-License-Identifier: Apache-2.0
"""The people port: lookups of users, labels, addresses and groups."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from chamberlain.core.ids import TenantId, UserId
from chamberlain.core.membership_rules import RuleInvalid, read_rule
from chamberlain.core.text import clean_line
from chamberlain.database.batching import Batcher
from chamberlain.directory.embedded.mapping import port_errors
from chamberlain.directory.models import (
    NO_RELATIONS,
    Label,
    NamedPerson,
    PeopleAnswer,
    PeopleQuestion,
    Person,
    Relations,
    typed_words,
)
from chamberlain.directory.port import People
from chamberlain.embedded.directory.people import Card, Found, Question, Register, Relative


class EmbeddedPeople(People):
    """Looks up people; concurrent questions share one call."""

    def __init__(self, register: Register) -> None:
        self._register = register
        self._batcher: Batcher[PeopleQuestion, PeopleAnswer] = Batcher(self._answers)

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        """Look up the existing keys of the question."""
        return await self._batcher.submit(question)

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
        """Find people by typed text."""
        words = typed_words(text)
        if not words:
            return ()
        with port_errors():
            return [_person(card) for card in await self._register.find(tenant_id, words, most=limit)]

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
        """List the labels of a tenant."""
        with port_errors():
            return [Label(each, clean_line(name)) for each, name in await self._register.labels(tenant_id)]

    async def _answers(self, questions: Sequence[PeopleQuestion]) -> Sequence[PeopleAnswer]:
        with port_errors():
            found = await self._register.look_up(_merged(questions))
        people = {tenant: {UserId(card.id): _person(card) for card in one.people} for tenant, one in found.items()}
        return [_answer(one, people[one.tenant_id], found[one.tenant_id]) for one in questions]


def _merged(questions: Sequence[PeopleQuestion]) -> Mapping[UUID, Question]:
    merged: dict[UUID, Question] = {}
    for one in questions:
        together = merged.setdefault(one.tenant_id, Question())
        together.users |= one.users
        together.labels |= one.labels
        together.addresses |= one.addresses
        if one.member is not None:
            together.memberships.update((one.member, group) for group in one.groups)
        if one.manager_of is not None:
            together.managed.add(one.manager_of)
        if one.members_of:
            together.gathered |= one.members_of
        if one.named_groups:
            together.groups |= one.named_groups
        if one.owners_of:
            together.owned |= one.owners_of
    return merged


def _person(card: Card) -> Person:
    name = clean_line(card.display_name)
    names = {
        "displayName": name,
        "userPrincipalName": clean_line(card.user_principal_name),
        "userType": card.user_type,
    }
    if card.mail is not None:
        names["mail"] = clean_line(card.mail)
    return Person(
        id=UserId(card.id),
        display_name=name,
        mail=names.get("mail"),
        has_team_license=card.has_team_license,
        properties=names | {each: clean_line(text) for each, text in card.properties.items()},
    )


def _answer(question: PeopleQuestion, people: Mapping[UserId, Person], found: Found) -> PeopleAnswer:
    member = question.member
    return PeopleAnswer(
        people={user: people[user] for user in question.users if user in people},
        labels=question.labels and _known_labels(question.labels, found.labels),
        taken_addresses=question.addresses & found.taken_addresses,
        member_of=question.groups
        and frozenset([group for group in question.groups if (member, group) in found.memberships]),
        relations=_relations(question, found) if question.manager_of or question.members_of else NO_RELATIONS,
        known_groups=question.named_groups & found.groups,
        rule_faults={rule: fault for rule in question.membership_rules if (fault := _rule_fault(rule)) is not None},
        owners={group: tuple(map(_named, found.owners[group])) for group in question.owners_of & found.owners.keys()},
    )


def _rule_fault(rule: str) -> str | None:
    """Return the error of an invalid membership rule."""
    try:
        read_rule(rule)
    except RuleInvalid as error:
        return error.detail
    return None


def _known_labels(asked: frozenset[str], found: frozenset[str]) -> frozenset[str]:
    """Return the labels of a question with the ids of the directory."""
    small = frozenset(label.lower() for label in asked)
    return frozenset(label for label in found if label.lower() in small)


def _relations(question: PeopleQuestion, found: Found) -> Relations:
    managers, members = found.relations.managers, found.relations.members
    manager = None if question.manager_of is None else managers.get(question.manager_of)
    return Relations(
        manager=None if manager is None else _named(manager),
        members={group: tuple(map(_named, members.get(group, ()))) for group in question.members_of},
    )


def _named(relative: Relative) -> NamedPerson:
    return NamedPerson(UserId(relative.id), clean_line(relative.display_name))
