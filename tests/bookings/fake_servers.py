# SPDX-License-Identifier: Apache-2.0
"""Fake servers of resources, in memory."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from chamberlain.bookings.calendar_text import has_uid
from chamberlain.bookings.mails import Reply
from chamberlain.bookings.models import Message, Period, Put, Resource, Stored
from chamberlain.bookings.port import BookingServers
from chamberlain.core.errors import OutsideFault
from chamberlain.core.ids import MailboxId
from tests.bookings.recorded_mails import BIRCH


@dataclass(slots=True)
class FakeServers:
    """Directory, mail, calendars and outgoing mail of one tenant.

    `people` are logins by address. `put_answers` replace the outcome of the next writes. `fault` is the outcome of the
    next sending, and `is_cut_short` stops it after the server has accepted the reply. Reading a mail in `unread_faults`
    raises its error.
    """

    resources_: list[Resource] = field(default_factory=lambda: [BIRCH])
    people: dict[str, str] = field(default_factory=dict)
    mails: dict[int, bytes] = field(default_factory=dict)
    handled: set[int] = field(default_factory=set)
    objects: dict[str, Stored] = field(default_factory=dict)
    sent: list[Reply] = field(default_factory=list)
    put_answers: list[Put] = field(default_factory=list)
    fault: OutsideFault | None = None
    is_cut_short: bool = False
    unread_faults: dict[int, Exception] = field(default_factory=dict)
    before_send: Callable[[], None] | None = None

    @property
    def servers(self) -> BookingServers:
        """The servers by their port."""
        return BookingServers(self, self, self, self)

    def deliver(self, raw: bytes) -> int:
        """Deliver a mail to the resource, and return its id."""
        self.mails[uid := len(self.mails) + 1] = raw
        return uid

    def subjects(self) -> list[str]:
        """The subjects of all sent replies."""
        return [
            line.removeprefix(b"Subject: ").decode()
            for reply in self.sent
            for line in reply.content.split(b"\r\n")
            if line.startswith(b"Subject: ")
        ]

    async def find_all(self) -> Sequence[Resource]:
        return self.resources_

    async def login_of(self, address: str) -> str | None:
        return self.people.get(address)

    async def unread(self, resources: Sequence[Resource], most: int) -> Mapping[MailboxId, Sequence[int]]:
        left = sorted(self.mails.keys() - self.handled)[:most]
        return {resources[0].id: left} if left else {}

    async def read(self, resource: Resource, uid: int) -> Message | None:
        assert resource in self.resources_
        if uid in self.unread_faults:
            raise self.unread_faults[uid]
        return Message(uid, self.mails[uid]) if uid in self.mails else None

    async def mark_handled(self, resource: Resource, uids: Collection[int]) -> None:
        assert resource in self.resources_
        self.handled |= set(uids)

    async def has_copy(self, resource: Resource, message_id: str) -> bool:
        return any((reply.id, reply.sender) == (message_id, resource.mail) for reply in self.sent)

    async def find(self, login: str, uid: str, around: Period | None) -> Stored | None:
        path = f"/{login}/{uid}.ics"
        if path in self.objects or around is None:
            return self.objects.get(path)
        return next((each for each in await self.between(login, around) if has_uid(each, uid)), None)

    async def between(self, login: str, window: Period) -> Sequence[Stored]:
        assert window.start < window.end
        await asyncio.sleep(0)
        return [each for path, each in self.objects.items() if path.startswith(f"/{login}/")]

    async def put(self, login: str, uid: str, text: str, before: Stored | None) -> Put:
        if self.put_answers:
            return self.put_answers.pop(0)
        path = f"/{login}/{uid}.ics" if before is None else before.path
        present = self.objects.get(path)
        if present != before:
            return Put.CHANGED
        version = 1 if present is None else int(present.etag) + 1
        self.objects[path] = Stored(path, str(version), text)
        if login != BIRCH.login:
            # As the calendar server does for an organizer of its own.
            self.objects[f"/{BIRCH.login}/{uid}.ics"] = Stored(f"/{BIRCH.login}/{uid}.ics", str(version), text)
        return Put.STORED

    async def delete(self, before: Stored) -> bool:
        if self.objects.get(before.path) != before:
            return before.path not in self.objects
        del self.objects[before.path]
        owner, _, name = before.path.removeprefix("/").partition("/")
        if owner != BIRCH.login:
            self.objects.pop(f"/{BIRCH.login}/{name}", None)
        return True

    async def send(self, reply: Reply) -> OutsideFault | None:
        if self.before_send is not None:
            self.before_send()
        fault, self.fault = self.fault, None
        if fault is None:
            self.sent.append(reply)
            await asyncio.sleep(0)
        if self.is_cut_short:
            self.is_cut_short = False
            raise ConnectionAbortedError
        return fault
