# SPDX-License-Identifier: Apache-2.0
"""Resources in the LDAP directory of a tenant."""

from collections.abc import Iterator, Sequence
from typing import Final

from chamberlain.bookings.models import Resource
from chamberlain.core.ids import MailboxId
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.entry import Entry
from chamberlain.directory.opensuite.filters import all_of, any_value, none_of
from chamberlain.directory.opensuite.layout import Layout

# The attribute of logins in the schema of people (inetOrgPerson), as the mail and calendar servers use it.
LOGIN: Final = "uid"


class LdapResources:
    """The resources of one tenant.

    Mailboxes without a kind do not answer by themselves.
    """

    def __init__(self, entries: Entries, layout: Layout, zone: str) -> None:
        self._entries = entries
        self._layout = layout
        self._zone = zone

    async def find_all(self) -> Sequence[Resource]:
        """Find the mailboxes with a kind."""
        branch, names = self._layout.mailboxes, self._layout.names
        wanted = (
            names.name,
            names.mail,
            names.address,
            names.display_name,
            names.kind,
            names.bookings,
            names.automatic_reply,
            "entryUUID",
            "entryCSN",
        )
        has_kind = all_of(branch.filter, f"({names.kind}=*)")
        return tuple(self._parse(await self._entries.search_all(branch.base, has_kind, attributes=wanted)))

    async def login_of(self, address: str) -> str | None:
        """Return the login of the person with an address.

        Guests have no calendar here.
        """
        branch, names = self._layout.people, self._layout.names
        for attribute in dict.fromkeys((names.mail, names.address, *self._layout.aliases)):
            within = all_of(branch.filter, none_of(self._layout.guests), any_value(attribute, [address]))
            for each in await self._entries.search(branch.base, within, attributes=(LOGIN, "entryUUID", "entryCSN")):
                if (login := each.one(LOGIN)) is not None:
                    return login
        return None

    def _parse(self, found: Sequence[Entry]) -> Iterator[Resource]:
        names = self._layout.names
        for each in found:
            login, mail = each.one(names.name), each.one(names.mail)
            if login is None or mail is None:
                continue
            bookings = each.number(names.bookings)
            yield Resource(
                id=MailboxId(each.id),
                login=login,
                mail=mail,
                display_name=each.one(names.display_name) or login,
                aliases=tuple(address for address in each.all(names.address) if address.lower() != mail.lower()),
                most_bookings=1 if bookings is None else bookings,
                automatic_reply=each.one(names.automatic_reply),
                zone=self._zone,
            )
