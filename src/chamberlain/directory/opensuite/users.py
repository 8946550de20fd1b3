# SPDX-License-Identifier: Apache-2.0
"""People of a tenant as other entries and other servers name them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from chamberlain.core.ids import UserId
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.entry import Entry, normalized_dn
from chamberlain.directory.opensuite.layout import Layout


@dataclass(frozen=True, slots=True)
class User:
    """A person, named by the entry and on the other servers."""

    id: UserId
    dn: str
    name: str


class Users:
    """Some people, by their id and by each of their names."""

    def __init__(self, users: Iterable[User]) -> None:
        listed = list(users)
        self.by_id = {user.id: user for user in listed}
        self._by_dn = {normalized_dn(user.dn): user for user in listed}
        self._by_name = {user.name: user for user in listed}

    def with_dns(self, dns: Iterable[str]) -> Sequence[User]:
        """Return the known people of these entries, in the same order."""
        return [user for dn in dns if (user := self._by_dn.get(normalized_dn(dn))) is not None]

    def with_name(self, name: str) -> User | None:
        """Return the person with a name on the other servers."""
        return self._by_name.get(name)

    def joined(self, others: "Users") -> "Users":
        """Return all people of both."""
        return Users([*self.by_id.values(), *others.by_id.values()])


async def users_by_id(entries: Entries, layout: Layout, ids: Collection[UserId]) -> Users:
    """Read people by id.

    Unknown ones are left out, and those without a name: the other servers cannot know them.
    """
    people, name = layout.people, layout.names.name
    found = await entries.by_ids(people.base, ids, within=people.filter, attributes=[name])
    return Users([_user(entry, name) for entry in found.values() if entry.one(name)])


async def users_by_names(entries: Entries, layout: Layout, *, dns: Collection[str], names: Collection[str]) -> Users:
    """Read people by entry names, and by names on other servers."""
    people, name = layout.people, layout.names.name
    by_dn = Users([_user(each, name) for each in (await entries.read_all(dns, attributes=[name])).values()])
    unknown = [each for each in names if by_dn.with_name(each) is None]
    if not unknown:
        return by_dn
    found = await entries.by_values(people.base, name, unknown, within=people.filter, attributes=[name])
    return by_dn.joined(Users([_user(entry, name) for entry in found]))


def _user(entry: Entry, name: str) -> User:
    return User(UserId(entry.id), entry.dn, entry.one(name) or "")
