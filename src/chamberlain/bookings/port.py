# SPDX-License-Identifier: Apache-2.0
"""Interfaces of the servers of resources: directory, mailboxes, calendars and outgoing mail.

Their methods raise TryAgain while a server does not answer, and Rejected if it refuses a call permanently.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from chamberlain.bookings.mails import Reply
from chamberlain.bookings.models import Message, Period, Put, Resource, Stored
from chamberlain.core.errors import OutsideFault
from chamberlain.core.ids import MailboxId


class Resources(Protocol):
    """The resources of a tenant in its directory."""

    async def find_all(self) -> Sequence[Resource]:
        """Find the rooms and equipment that answer by themselves."""
        ...

    async def login_of(self, address: str) -> str | None:
        """Return the login of the person with this address.

        None if no person here has it.
        """
        ...


class Inboxes(Protocol):
    """The mail of resources."""

    async def unread(self, resources: Sequence[Resource], most: int) -> Mapping[MailboxId, Sequence[int]]:
        """Return the ids of mails that were not handled, oldest first.

        There are at most `most` of each resource. Resources without such mail are omitted.
        """
        ...

    async def read(self, resource: Resource, uid: int) -> Message | None:
        """Read a mail. Returns None if it was deleted meanwhile."""
        ...

    async def mark_handled(self, resource: Resource, uids: Collection[int]) -> None:
        """Mark mails, so that they are not unread for this program.

        Users see them as before.
        """
        ...

    async def has_copy(self, resource: Resource, message_id: str) -> bool:
        """Return whether the copy of a sent reply has arrived."""
        ...


class Calendars(Protocol):
    """The calendars of resources and people. `login` names the owner."""

    async def find(self, login: str, uid: str, around: Period | None) -> Stored | None:
        """Find the object of an appointment by its uid.

        Its usual path is tried first, then the objects in the time `around`.
        """
        ...

    async def between(self, login: str, window: Period) -> Sequence[Stored]:
        """Return the objects in a time.

        The server may return neighbours as well.
        """
        ...

    async def put(self, login: str, uid: str, text: str, before: Stored | None) -> Put:
        """Write an object.

        `before` is the one that it replaces, as it was read; None adds an object.
        """
        ...

    async def delete(self, before: Stored) -> bool:
        """Delete an object.

        Returns False if it has changed since it was read. A missing one counts as deleted.
        """
        ...


class Outbox(Protocol):
    """Outgoing mail of resources."""

    async def send(self, reply: Reply) -> OutsideFault | None:
        """Send a reply to the organizer, with a copy to the resource.

        None means accepted. A copy arrives only if the reply is accepted.
        """
        ...


@dataclass(frozen=True, slots=True)
class BookingServers:
    """The servers of the resources of one tenant."""

    resources: Resources
    inboxes: Inboxes
    calendars: Calendars
    outbox: Outbox
