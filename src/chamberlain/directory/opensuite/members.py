# SPDX-License-Identifier: Apache-2.0
"""Users behind the names (DNs) and ids in entries of groups."""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from chamberlain.core.ids import UserId
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.entry import Entry, is_below, normalized_dn
from chamberlain.directory.opensuite.layout import Layout

# Attributes of a user that the adapter needs beside its id; `pwdLastSuccess` is written by slapd with `lastbind on`.
LAST_SUCCESS: Final = "pwdLastSuccess"
# Local parts that every homeserver accepts (Matrix, "User Identifiers").
_LOCAL_PART: Final = re.compile(r"[a-z0-9._=/+-]+")


class Members:
    """Reads users by name or id."""

    def __init__(self, entries: Entries, layout: Layout) -> None:
        self._entries = entries
        self._layout = layout
        names = layout.names
        self._attributes = (names.name, names.display_name, "cn", names.mail, LAST_SUCCESS, layout.disabled[0])

    async def named(self, user_ids: Collection[UserId]) -> Mapping[UserId, Entry]:
        """Read users by id. Missing ones are left out."""
        people = self._layout.people
        found = await self._entries.by_ids(people.base, user_ids, within=people.filter, attributes=self._attributes)
        return {UserId(each): entry for each, entry in found.items()}

    async def behind(self, dns: Iterable[str]) -> Mapping[str, Entry]:
        """Read users by name, with normalized names as keys.

        Other entries, such as groups, are left out.
        """
        return await self._matching(dns, self._layout.people.filter)

    async def guests_behind(self, dns: Iterable[str]) -> Mapping[str, Entry]:
        """Read those users by name who are guests."""
        return await self._matching(dns, self._layout.guests)

    async def guests_named(self, user_ids: Collection[UserId]) -> Mapping[UserId, Entry]:
        """Read those users by id who are guests."""
        found = await self._entries.by_ids(
            self._layout.people.base, user_ids, within=self._layout.guests, attributes=self._attributes
        )
        return {UserId(each): entry for each, entry in found.items()}

    async def guests_called(self, names: Collection[str]) -> Mapping[str, Entry]:
        """Read the guests with these user names.

        Keys are normalized names of entries.
        """
        people = self._layout.people
        found = await self._entries.by_values(
            people.base, self._layout.names.name, names, within=self._layout.guests, attributes=self._attributes
        )
        return {normalized_dn(each.dn): each for each in found}

    async def _matching(self, dns: Iterable[str], filter_: str) -> Mapping[str, Entry]:
        base = self._layout.people.base
        people = [dn for dn in dns if is_below(dn, base)]
        return await self._entries.read_all(people, within=filter_, attributes=self._attributes)


def local_part_of(entry: Entry, layout: Layout) -> str | None:
    """Return the local part of a user's Matrix id.

    None if Matrix permits no such name.
    """
    name = (entry.one(layout.names.name) or "").lower()
    return name if _LOCAL_PART.fullmatch(name) else None


def display_name_of(entry: Entry, layout: Layout) -> str:
    """Return the name of a user or group that people read."""
    return entry.one(layout.names.display_name) or entry.one("cn") or entry.one(layout.names.name) or ""


def last_success_of(entry: Entry) -> datetime | None:
    """Return the last recorded sign-in to the directory."""
    return time_of(entry, LAST_SUCCESS)


def time_of(entry: Entry, attribute: str) -> datetime | None:
    """Return a time in UTC (RFC 4517, 3.3.13)."""
    written = (entry.one(attribute) or "").partition(".")[0].rstrip("Z")
    try:
        return datetime.strptime(written, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
