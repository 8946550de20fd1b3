# SPDX-License-Identifier: Apache-2.0
"""Finds groups and users for clients of the directory.

Mailboxes are users. A filter that many entries may match reads their ids in pages first, and then the entries of the
slice.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from types import MappingProxyType
from typing import Final
from uuid import UUID

from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.core.text import clean_line, clean_lines
from chamberlain.directory.lookups import (
    Extensions,
    Found,
    FoundGroup,
    FoundUser,
    Related,
    Relation,
    Search,
    Slice,
)
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.entry import Entry, is_below, normalized_dn
from chamberlain.directory.opensuite.filters import all_of
from chamberlain.directory.opensuite.groups import member_ship_type_of
from chamberlain.directory.opensuite.layout import MARK, REQUEST_ID, Branch, Layout, extension_of, marks_of
from chamberlain.directory.opensuite.mailbox_values import address_attributes, addresses_of, read_text
from chamberlain.directory.opensuite.members import LAST_SUCCESS, display_name_of, last_success_of, time_of
from chamberlain.directory.opensuite.searches import (
    Searched,
    is_selective,
    search_filter,
    searched_groups,
    searched_mailboxes,
    searched_people,
)
from chamberlain.directory.port import Lookups

_CREATED: Final = "createTimestamp"
_CN: Final = "cn"
# Names of the address fields of a mailbox among the properties of users.
_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "street_address": "streetAddress",
        "office_location": "officeLocation",
        "company_name": "companyName",
        "postal_code": "postalCode",
        "city": "city",
        "country": "country",
        "department": "department",
    }
)
# Properties that have a member of their own.
_NAMED: Final = frozenset({"objectId", "displayName", "userPrincipalName", "mail"})


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A branch to search."""

    branch: Branch
    searched: Searched


class SuiteLookups(Lookups):
    """The groups and users of one tenant."""

    def __init__(self, entries: Entries, layout: Layout) -> None:
        self._entries = entries
        self._layout = layout
        self._groups = _Place(layout.groups, searched_groups(layout))
        self._people = _Place(layout.people, searched_people(layout))
        self._mailboxes = _Place(layout.mailboxes, searched_mailboxes(layout))
        self._group_attributes = _group_attributes(layout)
        self._user_attributes = _user_attributes(layout)

    async def groups(self, tenant_id: TenantId, search: Search) -> Found[FoundGroup]:  # noqa: ARG002 - one tenant.
        """Find groups."""
        found = await self._find([self._groups], search, self._group_attributes)
        return Found([found_group(entry, self._layout) for _, entry in found.entries], found.total)

    async def users(self, tenant_id: TenantId, search: Search) -> Found[FoundUser]:  # noqa: ARG002 - one tenant.
        """Find people and mailboxes.

        An entry of both branches is a mailbox.
        """
        found = await self._find([self._people, self._mailboxes], search, self._user_attributes)
        people = [entry for place, entry in found.entries if place is self._people]
        guests = await self._guests(people)
        return Found(
            [
                found_person(entry, self._layout, is_guest=entry.id in guests)
                if place is self._people
                else found_mailbox(entry, self._layout)
                for place, entry in found.entries
            ],
            found.total,
        )

    async def related(
        self,
        tenant_id: TenantId,  # noqa: ARG002 - one tenant.
        group_id: GroupId,
        relation: Relation,
        part: Slice,
    ) -> Found[Related] | None:
        """List the owners, or direct members, of a group.

        The overlay dynlist returns the members of a dynamic group.
        """
        layout = self._layout
        attribute = layout.names.owner if relation is Relation.OWNERS else layout.names.member
        branch = layout.groups
        found = await self._entries.by_ids(branch.base, [group_id], within=branch.filter, attributes=[attribute])
        if group_id not in found:
            return None
        left = {normalized_dn(dn): dn for dn in found[group_id].all(attribute)}
        groups = await self._taken(left, layout.groups, self._group_attributes)
        mailboxes = await self._taken(left, layout.mailboxes, self._user_attributes)
        people = await self._taken(left, layout.people, self._user_attributes)
        ids = set(_sliced((each.id for each in (*groups, *mailboxes, *people)), part))
        shown = [each for each in people if each.id in ids]
        guests = await self._guests(shown)
        related: list[Related] = [
            *(found_group(each, layout) for each in groups if each.id in ids),
            *(found_mailbox(each, layout) for each in mailboxes if each.id in ids),
            *(found_person(each, layout, is_guest=each.id in guests) for each in shown),
        ]
        return Found(sorted(related, key=lambda each: each.id), len(groups) + len(mailboxes) + len(people))

    async def _find(
        self, places: Sequence[_Place], search: Search, attributes: Sequence[str]
    ) -> Found[tuple[_Place, Entry]]:
        """Find the entries of a slice, each with its place.

        An entry of several places has the last one.
        """
        if is_selective(search.filter):
            few = await asyncio.gather(
                *[
                    self._entries.search(each.branch.base, _filter(each, search), attributes=attributes)
                    for each in places
                ]
            )
            known = {entry.id: (place, entry) for place, each in zip(places, few, strict=True) for entry in each}
            return Found([known[each] for each in _sliced(known, search.slice)], len(known))
        many = [
            await self._entries.search_all(each.branch.base, _filter(each, search), attributes=["entryUUID"])
            for each in places
        ]
        place_by_id = {entry.id: place for place, each in zip(places, many, strict=True) for entry in each}
        while True:
            ids = _sliced(place_by_id, search.slice)
            read = await self._read({each: place_by_id[each] for each in ids}, attributes)
            gone = [each for each in ids if each not in read]
            if not gone:
                return Found([(place_by_id[each], read[each]) for each in ids], len(place_by_id))
            # Fewer entries than the limit would mean that there are no more.
            for each in gone:
                del place_by_id[each]

    async def _read(self, place_by_id: Mapping[UUID, _Place], attributes: Sequence[str]) -> Mapping[UUID, Entry]:
        read: dict[UUID, Entry] = {}
        for place in dict.fromkeys(place_by_id.values()):
            ids = [each for each, of in place_by_id.items() if of is place]
            read |= await self._entries.by_ids(
                place.branch.base, ids, within=place.branch.filter, attributes=attributes
            )
        return read

    async def _taken(self, left: dict[str, str], branch: Branch, attributes: Sequence[str]) -> Sequence[Entry]:
        """Read the entries of a branch among those left.

        Their names are removed from these.
        """
        names = [dn for name, dn in left.items() if is_below(name, branch.base)]
        found = await self._entries.read_all(names, within=branch.filter, attributes=attributes)
        for name in found:
            del left[name]
        return list(found.values())

    async def _guests(self, people: Iterable[Entry]) -> Collection[UUID]:
        branch = self._layout.people
        within = all_of(branch.filter, self._layout.guests)
        ids = [each.id for each in people]
        return await self._entries.by_ids(branch.base, ids, within=within, attributes=["entryUUID"])


def found_group(entry: Entry, layout: Layout) -> FoundGroup:
    """Convert the entry of a group."""
    names = layout.names
    description = entry.one(names.description)
    return FoundGroup(
        id=GroupId(entry.id),
        display_name=clean_line(display_name_of(entry, layout)),
        mail=_line(entry, names.mail),
        mail_nickname=_line(entry, names.nickname) or "",
        description=None if description is None else clean_lines(description),
        member_ship_type=member_ship_type_of(entry, layout),
        membership_rule=entry.one(names.member_url),
        is_team=entry.one(names.room) is not None,
        created_at=time_of(entry, _CREATED),
        extensions=_extensions(entry),
    )


def found_person(entry: Entry, layout: Layout, *, is_guest: bool) -> FoundUser:
    """Convert the entry of a person."""
    names, person = layout.names, layout.person
    mail = _line(entry, person.get("mail", names.mail))
    addresses = [each for name in (names.address, *layout.aliases) for each in entry.all(name)]
    texts = {name: _line(entry, attribute) for name, attribute in person.items() if name not in _NAMED}
    return FoundUser(
        id=UserId(entry.id),
        display_name=_line(entry, person.get("displayName", names.display_name)) or _line(entry, _CN) or "",
        user_name=_line(entry, person.get("userPrincipalName", names.name)) or "",
        mail=mail,
        is_guest=is_guest,
        can_sign_in=entry.one(layout.disabled[0]) is None,
        is_hidden=entry.flag(names.hidden) is True,
        aliases=_aliases(addresses, mail),
        created_at=time_of(entry, _CREATED),
        last_seen_at=last_success_of(entry),
        properties={name: text for name, text in texts.items() if text is not None},
        extensions=_extensions(entry),
    )


def found_mailbox(entry: Entry, layout: Layout) -> FoundUser:
    """Convert the entry of a mailbox, which cannot sign in."""
    names = layout.names
    mail, *aliases = addresses_of(entry, names)
    attributes = address_attributes(names)
    texts = {name: _line(entry, attributes[each]) for each, name in _FIELDS.items()}
    return FoundUser(
        id=UserId(entry.id),
        display_name=_line(entry, names.display_name) or _line(entry, _CN) or "",
        user_name=_line(entry, names.name) or "",
        mail=clean_line(mail) or None,
        is_guest=False,
        can_sign_in=False,
        is_hidden=entry.flag(names.hidden) is True,
        aliases=_aliases(aliases, mail),
        business_phones=tuple([clean_line(read_text(each)) for each in entry.all(names.business_phones)]),
        created_at=time_of(entry, _CREATED),
        properties={name: text for name, text in texts.items() if text is not None},
        extensions=_extensions(entry),
    )


def _filter(place: _Place, search: Search) -> str:
    return all_of(place.branch.filter, search_filter(search.filter, place.searched))


def _sliced(ids: Iterable[UUID], part: Slice) -> list[UUID]:
    return nsmallest(part.limit, [each for each in ids if part.after is None or each > part.after])


def _extensions(entry: Entry) -> Extensions:
    name = extension_of(entry)
    return {} if name is None else {name: marks_of(entry, name)}


def _line(entry: Entry, attribute: str) -> str | None:
    value = entry.one(attribute)
    return None if value is None else clean_line(read_text(value))


def _aliases(addresses: Iterable[str], mail: str | None) -> tuple[str, ...]:
    by_lowered = {each.lower(): clean_line(each) for each in addresses}
    by_lowered.pop((mail or "").lower(), None)
    return tuple(by_lowered.values())


def _group_attributes(layout: Layout) -> Sequence[str]:
    """Return the attributes of a group.

    Members are left out: the overlay dynlist would search for them.
    """
    names = layout.names
    return (
        "objectClass",
        names.display_name,
        _CN,
        names.name,
        names.mail,
        names.nickname,
        names.description,
        names.member_ship,
        names.member_url,
        names.room,
        _CREATED,
        REQUEST_ID,
        MARK,
    )


def _user_attributes(layout: Layout) -> Sequence[str]:
    names = layout.names
    return tuple(
        dict.fromkeys(
            (
                *layout.person.values(),
                *address_attributes(names).values(),
                *layout.aliases,
                names.display_name,
                _CN,
                names.name,
                names.mail,
                names.address,
                names.hidden,
                names.business_phones,
                layout.disabled[0],
                _CREATED,
                LAST_SUCCESS,
                REQUEST_ID,
                MARK,
            )
        )
    )
