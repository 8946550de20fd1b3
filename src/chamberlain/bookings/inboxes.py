# SPDX-License-Identifier: Apache-2.0
"""The mail of resources, read with doveadm over HTTP.

No account signs in as a resource, and doveadm reads any mailbox. A keyword of this program marks handled mail, so that
users with full access may read the mail first.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from chamberlain.bookings.mails import LONGEST_MAIL
from chamberlain.bookings.models import Message, Resource
from chamberlain.core.ids import MailboxId
from chamberlain.directory.opensuite.doveadm import INBOX, NO_USER, NOT_FOUND, Answer, Command
from chamberlain.directory.opensuite.mailstore import Mailstore

KEYWORD: Final = "$ChamberlainHandled"
# Older mail is not read: a new answerer leaves the history of a mailbox alone. A longer outage loses invitations.
SINCE: Final = "14d"
# Commands of one call.
_BATCH: Final = 100
_IGNORED: Final = frozenset({NO_USER, NOT_FOUND})


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


def _fetch(resource: Resource, fields: Sequence[str], query: Sequence[str]) -> Command:
    return Command("fetch", resource.login, {"field": [*fields], "query": [*query]}, _IGNORED)


def _uids(answer: Answer) -> Iterable[int]:
    return [int(row["uid"]) for row in answer.rows if row.get("uid", "").isdecimal()]
