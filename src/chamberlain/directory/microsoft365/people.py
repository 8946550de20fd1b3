# SPDX-License-Identifier: Apache-2.0
"""Looks up users, addresses and groups, and checks membership rules."""

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from heapq import nsmallest
from typing import Any, Final
from unicodedata import normalize
from uuid import UUID

from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.core.membership_rules import FURTHER, RuleInvalid, read_rule
from chamberlain.core.text import clean_line
from chamberlain.directory.microsoft365.calls import groups as group_calls
from chamberlain.directory.microsoft365.calls import people as calls
from chamberlain.directory.microsoft365.members import chunks
from chamberlain.directory.microsoft365.objects import is_storable
from chamberlain.directory.microsoft365.operations import text
from chamberlain.directory.microsoft365.wire.faults import PermissionMissing, Refused
from chamberlain.directory.microsoft365.wire.graph import Graph
from chamberlain.directory.models import (
    LEAST_LETTERS,
    NO_RELATIONS,
    Label,
    NamedPerson,
    PeopleAnswer,
    PeopleQuestion,
    Person,
    Relations,
    typed_words,
)
from chamberlain.directory.port import REMEMBER_REMOTE, People

# Members and owners of one group in an answer. Enough to display.
_MOST_NAMED: Final = 1_000
# Service plans of Teams: TEAMS1, TEAMS_GOV, TEAMS_AR_DOD, TEAMS_AR_GCCHIGH ("Product names and service plan
# identifiers for licensing").
_TEAMS_PLANS: Final = frozenset(
    {
        "57ff2da0-773e-42df-b2af-ffb7a2317929",
        "304767db-7d23-49e8-a945-4a7eb65f9f28",
        "fd500458-c24c-478e-856c-a6067a8376cd",
        "9953b155-8aef-4c56-92f3-72b0487fce41",
    }
)
_NOT_IN_WORDS: Final = re.compile(r"[\W_]+")
# Characters with a meaning in a search.
_NOT_SEARCHED: Final = re.compile(r"[\"\\]")


class GraphPeople(People):
    """The users of one tenant."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        """Look up the existing keys of the question, in parallel."""
        people, taken, member_of, relations, groups, owners = await asyncio.gather(
            self._people(question.users),
            self._taken_addresses(question.addresses),
            self._member_of(question.member, question.groups),
            self._relations(question.manager_of, question.members_of),
            self._known_groups(question.named_groups),
            self._owners(question.owners_of),
        )
        faults = {rule: _fault_of(rule) for rule in question.membership_rules}
        return PeopleAnswer(
            people=people,
            taken_addresses=taken,
            member_of=member_of,
            relations=relations,
            known_groups=groups,
            rule_faults={rule: fault for rule, fault in faults.items() if fault is not None},
            owners=owners,
        )

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:  # noqa: ARG002 - one tenant.
        """Find people by typed text.

        Graph searches the longest word. All words are compared here. Accounts of mailboxes are disabled.
        """
        words = [word.lower() for word in typed_words(text)]
        if not words or limit <= 0 or not is_storable(text):
            return ()
        longest = _NOT_SEARCHED.sub("", max(words, key=len))
        if len(longest) < LEAST_LETTERS:
            return ()
        found = [each for each in await calls.search_users(self._graph, longest) if _matches(each, words)]
        first = nsmallest(limit, found, key=lambda each: ((each.get("displayName") or "").lower(), each["id"]))
        return [_person(each) for each in first]

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:  # noqa: ARG002 - of no tenant.
        """List no labels: the adapter does not set them yet."""
        return ()

    def remember_for(self, tenant_id: TenantId) -> timedelta:  # noqa: ARG002 - the same for all tenants.
        """Return the maximum age of answers: nothing notifies changes."""
        return REMEMBER_REMOTE

    async def _people(self, ids: Collection[UserId]) -> Mapping[UserId, Person]:
        found = await asyncio.gather(
            *[calls.users_by_id(self._graph, part) for part in chunks(tuple(ids), group_calls.MOST_CLAUSES)]
        )
        people = [_person(each) for part in found for each in part]
        return {each.id: each for each in people}

    async def _taken_addresses(self, addresses: Collection[str]) -> frozenset[str]:
        """Compare the addresses of users, groups and contacts.

        They are returned in the spelling of the question.
        """
        storable = [each for each in addresses if is_storable(each)]
        found = await asyncio.gather(*[self._addresses(part) for part in chunks(storable, group_calls.MOST_CLAUSES)])
        taken = {each for part in found for each in part}
        return frozenset([each for each in storable if each.lower() in taken])

    async def _addresses(self, addresses: Sequence[str]) -> Iterable[str]:
        condition = " or ".join(f"proxyAddresses/any(p:p eq {text(f'smtp:{each}')})" for each in addresses)

        async def contacts() -> Sequence[Mapping[str, Any]]:
            try:
                return await calls.contacts_with_addresses(self._graph, condition)
            except PermissionMissing:
                # Contacts are optional. Graph refuses their addresses later.
                return ()

        found = await asyncio.gather(
            calls.users_with_addresses(self._graph, condition),
            group_calls.groups_with_addresses(self._graph, condition),
            contacts(),
        )
        return [
            str(address).partition(":")[2].lower()
            for objects in found
            for each in objects
            for address in each.get("proxyAddresses") or ()
        ]

    async def _member_of(self, member: UserId | None, groups: Collection[GroupId]) -> frozenset[GroupId]:
        if member is None or not groups:
            return frozenset()
        found = await asyncio.gather(
            *[calls.check_groups(self._graph, member, part) for part in chunks(tuple(groups), calls.MOST_CHECKED)]
        )
        return frozenset(GroupId(UUID(each)) for part in found for each in part)

    async def _relations(self, manager_of: UserId | None, members_of: Collection[GroupId]) -> Relations:
        if manager_of is None and not members_of:
            return NO_RELATIONS
        manager, members = await asyncio.gather(
            self._manager(manager_of), asyncio.gather(*map(self._members, members_of))
        )
        return Relations(manager, dict(zip(members_of, members, strict=True)))

    async def _manager(self, user_id: UserId | None) -> NamedPerson | None:
        found = None if user_id is None else await calls.get_manager(self._graph, user_id)
        return None if found is None else _named(found)

    async def _members(self, group_id: GroupId) -> tuple[NamedPerson, ...]:
        try:
            return _by_name(await group_calls.list_all_users(self._graph, group_id))
        except Refused as refused:
            if refused.is_missing:
                return ()
            raise

    async def _known_groups(self, groups: Collection[GroupId]) -> frozenset[GroupId]:
        found = await asyncio.gather(
            *[group_calls.known_groups(self._graph, part) for part in chunks(tuple(groups), group_calls.MOST_CLAUSES)]
        )
        return frozenset(GroupId(UUID(each)) for part in found for each in part)

    async def _owners(self, groups: Collection[GroupId]) -> Mapping[GroupId, tuple[NamedPerson, ...]]:
        async def owners(group_id: GroupId) -> tuple[NamedPerson, ...]:
            try:
                return _by_name(await group_calls.list_owners(self._graph, group_id))
            except Refused as refused:
                if refused.is_missing:
                    return ()
                raise

        found = await asyncio.gather(*map(owners, groups))
        return {group_id: people for group_id, people in zip(groups, found, strict=True) if people}


def _person(found: Mapping[str, Any]) -> Person:
    properties = {name: clean_line(found[name]) for name in FURTHER if found.get(name)}
    mail = found.get("mail")
    if mail:
        properties["mail"] = clean_line(mail)
    display_name = clean_line(found.get("displayName") or "")
    return Person(
        id=UserId(UUID(found["id"])),
        display_name=display_name,
        mail=properties.get("mail"),
        has_team_license=_has_teams(found),
        properties={
            **properties,
            "displayName": display_name,
            "userPrincipalName": clean_line(found.get("userPrincipalName") or ""),
            "userType": found.get("userType") or "Member",
        },
    )


def _has_teams(found: Mapping[str, Any]) -> bool:
    return any(
        each.get("capabilityStatus") == "Enabled" and str(each.get("servicePlanId")).lower() in _TEAMS_PLANS
        for each in found.get("assignedPlans") or ()
    )


def _matches(found: Mapping[str, Any], words: Sequence[str]) -> bool:
    if found.get("accountEnabled") is False:
        return False
    addresses = [found.get("mail") or "", found.get("userPrincipalName") or ""]
    known = words_of(found.get("displayName") or "", addresses)
    return all(any(each.startswith(word) for each in known) for word in words)


def words_of(display_name: str, addresses: Iterable[str]) -> frozenset[str]:
    """Return the words that find a person, in lower case and NFC.

    They are those of the name, those before the @ of the addresses, and each address as a whole.
    """
    name = normalize("NFC", display_name).lower()
    lowered = [address.lower() for address in addresses]
    parts = [part for each in (name, *(address.partition("@")[0] for address in lowered)) for part in _split(each)]
    return frozenset(each for each in (*name.split(), *parts, *lowered) if each)


def _split(name: str) -> list[str]:
    return _NOT_IN_WORDS.split(name)


def _named(found: Mapping[str, Any]) -> NamedPerson:
    return NamedPerson(UserId(UUID(found["id"])), clean_line(found.get("displayName") or ""))


def _by_name(found: Iterable[Mapping[str, Any]]) -> tuple[NamedPerson, ...]:
    people = sorted(map(_named, found), key=lambda each: (each.display_name, each.id))
    return tuple(people[:_MOST_NAMED])


def _fault_of(rule: str) -> str | None:
    """Return the error of an invalid membership rule.

    Graph has no call that checks one.
    """
    try:
        read_rule(rule)
    except RuleInvalid as error:
        return error.detail
    return None
