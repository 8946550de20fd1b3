# SPDX-License-Identifier: Apache-2.0
"""Looks up users, addresses, groups and membership rules."""

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from heapq import nsmallest
from typing import Final
from unicodedata import normalize
from uuid import UUID

from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.core.membership_rules import FURTHER
from chamberlain.core.text import clean_line
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
from chamberlain.directory.opensuite.entries import Entries, batched
from chamberlain.directory.opensuite.entry import Entry, is_below, normalized_dn
from chamberlain.directory.opensuite.filters import all_of, any_of, any_value, escaped, none_of
from chamberlain.directory.opensuite.layout import Layout
from chamberlain.directory.opensuite.rules import fault_of
from chamberlain.directory.port import REMEMBER_REMOTE, People

# Members and owners of one group in an answer. Enough to display.
_MOST_NAMED: Final = 1_000
# Names that no text of LDAP has: NUL ends a text in many programs, and half of a surrogate pair has no UTF-8.
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_NOT_IN_WORDS: Final = re.compile(r"[\W_]+")
# The name of an entry without a display name.
_COMMON_NAME: Final = "cn"


class SuitePeople(People):
    """The users of one tenant."""

    def __init__(self, entries: Entries, layout: Layout) -> None:
        self._entries = entries
        self._layout = layout
        self._names = layout.names
        self._attributes = tuple(dict.fromkeys((*layout.person.values(), self._names.display_name, _COMMON_NAME)))

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
        faults = {rule: fault_of(rule, self._layout) for rule in question.membership_rules}
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

        The server selects those whose names contain the words. The beginnings of words are compared here.
        """
        words = [word.lower() for word in typed_words(text)]
        if not words or limit <= 0 or any(_UNSTORABLE.search(word) for word in words):
            return ()
        layout = self._layout
        selecting = [self._containing(word) for word in words if len(word) >= LEAST_LETTERS]
        can_sign_in = none_of(f"({layout.disabled[0]}=*)")
        found = await self._entries.search_all(
            layout.people.base,
            all_of(layout.people.filter, can_sign_in, *selecting),
            attributes=(*self._searched(), self._names.display_name, _COMMON_NAME),
            keep=lambda entry: self._matches(entry, words),
        )
        first = nsmallest(limit, found, key=lambda entry: (self._display_name(entry).lower(), entry.id))
        chosen = [UserId(entry.id) for entry in first]
        people = await self._people(chosen)
        return [people[each] for each in chosen if each in people]

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:  # noqa: ARG002 - of no tenant.
        """List no labels: this directory has none."""
        return ()

    def remember_for(self, tenant_id: TenantId) -> timedelta:  # noqa: ARG002 - the same for all tenants.
        """Return the maximum age of answers: nothing notifies changes."""
        return REMEMBER_REMOTE

    async def _people(self, ids: Collection[UserId]) -> Mapping[UserId, Person]:
        if not ids:
            return {}
        layout = self._layout
        entries, guests, licensed = await asyncio.gather(
            self._entries.by_ids(layout.people.base, ids, within=layout.people.filter, attributes=self._attributes),
            self._matching(ids, layout.guests),
            self._matching(() if layout.licensed is None else ids, layout.licensed or ""),
        )
        if layout.licensed is None:
            licensed = entries.keys() - set(guests)
        return {
            UserId(each): self._person(entry, is_guest=each in guests, has_team_license=each in licensed)
            for each, entry in entries.items()
        }

    async def _matching(self, ids: Collection[UserId], filter_: str) -> Collection[UUID]:
        people = self._layout.people
        return await self._entries.by_ids(
            people.base, ids, within=all_of(people.filter, filter_), attributes=["entryUUID"]
        )

    async def _taken_addresses(self, addresses: Collection[str]) -> frozenset[str]:
        """Compare the addresses of all entries, in the spelling of the question."""
        storable = [address for address in addresses if not _UNSTORABLE.search(address)]
        attributes = self._layout.addresses
        found = await asyncio.gather(
            *[
                self._entries.search(
                    base, any_of(*[any_value(name, batch) for name in attributes]), attributes=attributes
                )
                for base in self._layout.tops
                for batch in batched(storable)
            ]
        )
        taken = {
            value.lower() for entries in found for entry in entries for name in attributes for value in entry.all(name)
        }
        return frozenset([address for address in storable if address.lower() in taken])

    async def _member_of(self, member: UserId | None, groups: Collection[GroupId]) -> frozenset[GroupId]:
        if member is None or not groups:
            return frozenset()
        people = self._layout.people
        found, members = await asyncio.gather(
            self._entries.by_ids(people.base, [member], within=people.filter, attributes=["entryUUID"]),
            self._members_by_group(groups),
        )
        names = {normalized_dn(entry.dn) for entry in found.values()}
        return frozenset([group for group, dns in members.items() if not names.isdisjoint(dns)])

    async def _relations(self, manager_of: UserId | None, members_of: Collection[GroupId]) -> Relations:
        if manager_of is None and not members_of:
            return NO_RELATIONS
        manager, members = await asyncio.gather(self._manager(manager_of), self._members_by_group(members_of))
        named = await self._named_by_group(members)
        return Relations(manager, {group: named.get(group, ()) for group in members_of})

    async def _manager(self, user: UserId | None) -> NamedPerson | None:
        if user is None:
            return None
        people = self._layout.people
        found = await self._entries.by_ids(people.base, [user], within=people.filter, attributes=[self._names.manager])
        for entry in found.values():
            named = await self._named(entry.all(self._names.manager)[:1])
            return next(iter(named.values()), None)
        return None

    async def _known_groups(self, groups: Collection[GroupId]) -> frozenset[GroupId]:
        branch = self._layout.groups
        found = await self._entries.by_ids(branch.base, groups, within=branch.filter, attributes=["entryUUID"])
        return frozenset(map(GroupId, found))

    async def _owners(self, groups: Collection[GroupId]) -> Mapping[GroupId, tuple[NamedPerson, ...]]:
        branch, owner = self._layout.groups, self._names.owner
        found = await self._entries.by_ids(branch.base, groups, within=branch.filter, attributes=[owner])
        owners = {GroupId(each): set(map(normalized_dn, entry.all(owner))) for each, entry in found.items()}
        named = await self._named_by_group(owners)
        return {group: people for group, people in named.items() if people}

    async def _members_by_group(self, groups: Collection[GroupId]) -> Mapping[GroupId, set[str]]:
        """Return the normalized names of the direct and nested members of groups.

        Groups can contain each other. Each one is read once.
        """
        branch, member = self._layout.groups, self._names.member
        roots = await self._entries.by_ids(branch.base, groups, within=branch.filter, attributes=[member])
        members: dict[str, set[str]] = {}
        reached = {normalized_dn(entry.dn): entry for entry in roots.values()}
        while reached:
            members |= {name: set(map(normalized_dn, entry.all(member))) for name, entry in reached.items()}
            nested = {dn for name in reached for dn in members[name] if dn not in members and is_below(dn, branch.base)}
            reached = dict(await self._entries.read_all(nested, within=branch.filter, attributes=[member]))
            # A name in the branch that is no group is a member like any other.
            members |= {dn: set() for dn in nested - reached.keys()}
        return {GroupId(each): _descend(normalized_dn(entry.dn), members) for each, entry in roots.items()}

    async def _named_by_group(self, names: Mapping[GroupId, set[str]]) -> Mapping[GroupId, tuple[NamedPerson, ...]]:
        """Return the first users of each group, ordered by name."""
        base = self._layout.people.base
        listed = {group: sorted(dn for dn in dns if is_below(dn, base))[:_MOST_NAMED] for group, dns in names.items()}
        named = await self._named({dn for dns in listed.values() for dn in dns})
        return {group: _by_name(named[dn] for dn in dns if dn in named) for group, dns in listed.items()}

    async def _named(self, dns: Iterable[str]) -> Mapping[str, NamedPerson]:
        attributes = (self._names.display_name, _COMMON_NAME)
        found = await self._entries.read_all(dns, within=self._layout.people.filter, attributes=attributes)
        return {dn: NamedPerson(UserId(entry.id), self._display_name(entry)) for dn, entry in found.items()}

    def _person(self, entry: Entry, *, is_guest: bool, has_team_license: bool) -> Person:
        found = {name: entry.one(attribute) for name, attribute in self._layout.person.items()}
        properties = {name: clean_line(value) for name, value in found.items() if name in FURTHER and value is not None}
        mail, user_name = found.get("mail"), found.get("userPrincipalName")
        if mail is not None:
            properties["mail"] = clean_line(mail)
        display_name = self._display_name(entry)
        return Person(
            id=UserId(entry.id),
            display_name=display_name,
            mail=properties.get("mail"),
            has_team_license=has_team_license,
            properties={
                **properties,
                "displayName": display_name,
                "userPrincipalName": clean_line(user_name or ""),
                "userType": "Guest" if is_guest else "Member",
            },
        )

    def _display_name(self, entry: Entry) -> str:
        """Return the display name, or the common name (RFC 4519)."""
        attribute = self._layout.person.get("displayName", self._names.display_name)
        return clean_line(entry.one(attribute) or entry.one(_COMMON_NAME) or "")

    def _searched(self) -> tuple[str, ...]:
        """Return the attributes that a search for people compares."""
        person = self._layout.person
        named = [person[each] for each in ("displayName", "mail", "userPrincipalName") if each in person]
        return tuple(dict.fromkeys((*named, _COMMON_NAME)))

    def _containing(self, word: str) -> str:
        return any_of(*[f"({attribute}=*{escaped(word)}*)" for attribute in self._searched()])

    def _matches(self, entry: Entry, words: Sequence[str]) -> bool:
        person = self._layout.person
        addresses = [entry.one(person[each]) or "" for each in ("mail", "userPrincipalName") if each in person]
        known = words_of(self._display_name(entry), addresses)
        return all(any(each.startswith(word) for each in known) for word in words)


def words_of(display_name: str, addresses: Iterable[str]) -> frozenset[str]:
    """Return the words that find a person, in lower case and NFC.

    They are those of the name, those before the @ of the addresses, and each address as a whole.
    """
    name = normalize("NFC", display_name).lower()
    lowered = [address.lower() for address in addresses]
    local_parts = [address.partition("@")[0] for address in lowered]
    parts = [part for text in (name, *local_parts) for part in _NOT_IN_WORDS.split(text)]
    return frozenset(each for each in (*name.split(), *parts, *lowered) if each)


def _descend(root: str, members: Mapping[str, set[str]]) -> set[str]:
    """Return everything below a group, the groups in it included."""
    found: set[str] = set()
    left = [root]
    while left:
        new = members.get(left.pop(), set()) - found
        found |= new
        left.extend(new)
    return found


def _by_name(people: Iterable[NamedPerson]) -> tuple[NamedPerson, ...]:
    return tuple(sorted(people, key=lambda each: (each.display_name, each.id)))
