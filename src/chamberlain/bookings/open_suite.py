# SPDX-License-Identifier: Apache-2.0
"""The resources of an open suite, their mail and their replies.

The protocols are LDAP, doveadm over HTTP, and SMTP. No account signs in as a resource, and doveadm reads any mailbox.
A keyword of this program marks handled mail, so that users with full access may read the mail first.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from chamberlain.bookings.mails import LONGEST_MAIL, Reply
from chamberlain.bookings.models import Message, Resource
from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.core.ids import MailboxId
from chamberlain.directory.opensuite.doveadm import INBOX, NO_USER, NOT_FOUND, Answer, Command
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.entry import Entry
from chamberlain.directory.opensuite.filters import all_of, any_value, none_of
from chamberlain.directory.opensuite.layout import Layout
from chamberlain.directory.opensuite.mailstore import Mailstore
from chamberlain.notifications.mail_server import MailServer

# The attribute of logins in the schema of people (inetOrgPerson), as the mail and calendar servers use it.
LOGIN: Final = "uid"
KEYWORD: Final = "$ChamberlainHandled"
# Older mail is not read: a new answerer leaves the history of a mailbox alone. A longer outage loses invitations.
SINCE: Final = "14d"
# Commands of one call.
_BATCH: Final = 100
_IGNORED: Final = frozenset({NO_USER, NOT_FOUND})


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


class DoveadmInboxes:
    """The mail of the resources of one tenant."""

    def __init__(self, mailstore: Mailstore) -> None:
        self._mailstore = mailstore

    async def unread(self, resources: Sequence[Resource], most: int) -> Mapping[MailboxId, Sequence[int]]:
        """Return the ids of mails without the keyword, by resource."""
        found: dict[MailboxId, Sequence[int]] = {}
        query = ["MAILBOX", INBOX, "UNKEYWORD", KEYWORD, "SAVEDSINCE", SINCE]
        for begin in range(0, len(resources), _BATCH):
            batch = resources[begin : begin + _BATCH]
            commands = [_fetch(each, ["uid"], query) for each in batch]
            for resource, answer in zip(batch, await self._mailstore.call(commands), strict=True):
                if uids := sorted(_uids(answer)):
                    found[resource.id] = uids[:most]
        return found

    async def read(self, resource: Resource, uid: int) -> Message | None:
        """Read a mail of the inbox.

        One that is too long has no text.
        """
        query = ["MAILBOX", INBOX, "UID", str(uid)]
        (size,) = await self._mailstore.call([_fetch(resource, ["size.physical"], query)])
        if not size.rows:
            return None
        if int(size.rows[0].get("size.physical", "0")) > LONGEST_MAIL:
            return Message(uid, None)
        (answer,) = await self._mailstore.call([_fetch(resource, ["text"], query)])
        return Message(uid, answer.rows[0].get("text", "").encode("utf-8", "replace")) if answer.rows else None

    async def mark_handled(self, resource: Resource, uids: Collection[int]) -> None:
        """Set the keyword of mails."""
        if uids:
            query = ["MAILBOX", INBOX, "UID", ",".join(map(str, sorted(uids)))]
            command = Command("flagsAdd", resource.login, {"flag": [KEYWORD], "query": query}, _IGNORED)
            await self._mailstore.call([command])

    async def has_copy(self, resource: Resource, message_id: str) -> bool:
        """Look for a mail by its Message-ID in all folders.

        Users may move it.
        """
        query = ["HEADER", "Message-ID", message_id, "SAVEDSINCE", SINCE]
        (answer,) = await self._mailstore.call([_fetch(resource, ["uid"], query)])
        return bool(answer.rows)


class SmtpOutbox:
    """Sends replies by SMTP.

    Organizer and resource are recipients of one message: the server accepts it for both, or the organizer's refusal is
    the outcome.
    """

    def __init__(self, server: MailServer) -> None:
        self._server = server

    async def send(self, reply: Reply) -> OutsideFault | None:
        """Send a reply to the organizer, with a copy to the resource."""
        try:
            return await self._server.send_encoded(reply.sender, [reply.recipient, reply.sender], reply.content)
        except TryAgain as fault:
            return fault


def _fetch(resource: Resource, fields: Sequence[str], query: Sequence[str]) -> Command:
    return Command("fetch", resource.login, {"field": [*fields], "query": [*query]}, _IGNORED)


def _uids(answer: Answer) -> Iterable[int]:
    return [int(row["uid"]) for row in answer.rows if row.get("uid", "").isdecimal()]
