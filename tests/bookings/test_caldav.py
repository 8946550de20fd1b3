# SPDX-License-Identifier: Apache-2.0
"""Calendars over CalDAV, with a fake server in the place of SOGo."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from xml.sax.saxutils import escape

import httpx2
import pytest

from chamberlain.bookings.caldav import CalDav, CalendarServer
from chamberlain.bookings.models import Period, Put, Stored
from chamberlain.core.errors import ConnectionBroken, TryAgain

pytestmark = pytest.mark.pure
START = datetime(2026, 12, 1, 9, tzinfo=UTC)
WINDOW = Period(START, START + timedelta(hours=1))
FOLDER = "/SOGo/dav/birch/Calendar/personal/"


def calendar(uid: str) -> str:
    return f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:a & b\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"


@dataclass(slots=True)
class FakeSogo:
    """A CalDAV server that answers as SOGo does.

    `answers` replace the next responses, and `drops` closes so many connections.
    """

    objects: dict[str, tuple[str, str]] = field(default_factory=dict)
    answers: list[tuple[int, str]] = field(default_factory=list)
    requests: list[httpx2.Request] = field(default_factory=list)
    drops: int = 0

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if self.drops:
            self.drops -= 1
            raise httpx2.RemoteProtocolError("Server disconnected without sending a response.")
        if self.answers:
            status, text = self.answers.pop(0)
            return httpx2.Response(status, text=text)
        path, present = request.url.path, self.objects.get(request.url.path)
        match request.method:
            case "GET" if present is not None:
                return httpx2.Response(200, text=present[1], headers={"ETag": present[0]})
            case "REPORT":
                return httpx2.Response(207, text=self._report())
            case "PUT":
                wanted = request.headers.get("If-Match")
                if (present is None) != (wanted is None) or (present is not None and present[0] != wanted):
                    return httpx2.Response(412)
                self.objects[path] = (f'"{len(self.requests)}"', request.content.decode())
                return httpx2.Response(201)
            case "DELETE" if present is not None:
                if request.headers["If-Match"] != present[0]:
                    return httpx2.Response(412)
                del self.objects[path]
                return httpx2.Response(204)
            case _:
                return httpx2.Response(404)

    def _report(self) -> str:
        responses = [
            f"<D:response><D:href>{path}</D:href><D:propstat><D:status>HTTP/1.1 200 OK</D:status><D:prop>"
            f"<D:getetag>{escape(etag)}</D:getetag><C:calendar-data>{escape(text)}</C:calendar-data>"
            "</D:prop></D:propstat></D:response>"
            for path, (etag, text) in self.objects.items()
        ]
        return (
            '<?xml version="1.0" encoding="utf-8"?><D:multistatus xmlns:D="DAV:" '
            f'xmlns:C="urn:ietf:params:xml:ns:caldav">{"".join(responses)}</D:multistatus>'
        )


@pytest.fixture
def sogo() -> FakeSogo:
    return FakeSogo()


@pytest.fixture
async def calendars(sogo: FakeSogo) -> AsyncIterator[CalDav]:
    server = CalendarServer("http://sogo.example/SOGo/dav", "chamberlain-calendar", "secret")
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(sogo)) as client:
        yield CalDav(client, server)


async def find(calendars: CalDav, uid: str) -> Stored:
    found = await calendars.find("birch", uid, None)
    assert found is not None
    return found


async def test_it_works(calendars: CalDav, sogo: FakeSogo) -> None:
    assert await calendars.put("birch", "a@x", calendar("a@x"), None) is Put.STORED
    stored = await find(calendars, "a@x")
    assert await calendars.put("birch", "a@x", calendar("a@x"), stored) is Put.STORED
    assert await calendars.delete(await find(calendars, "a@x"))

    assert sogo.objects == {}
    assert {each.url.path for each in sogo.requests} == {f"{FOLDER}a@x.ics"}
    assert sogo.requests[0].headers["Authorization"].startswith("Basic ")


async def test_objects_with_other_names_are_found_in_their_time(calendars: CalDav, sogo: FakeSogo) -> None:
    sogo.objects[f"{FOLDER}31-4A2B.ics"] = ('"1"', calendar("a@x"))

    found = await calendars.find("birch", "a@x", WINDOW)

    assert found is not None
    assert (found.path, found.etag) == (f"{FOLDER}31-4A2B.ics", '"1"')
    # Line ends of XML are those of Unix.
    assert found.text.splitlines() == calendar("a@x").splitlines()
    assert await calendars.find("birch", "b@x", WINDOW) is None
    assert b'start="20261201T090000Z" end="20261201T100000Z"' in sogo.requests[1].content


async def test_strange_uids_have_plain_names(calendars: CalDav, sogo: FakeSogo) -> None:
    uid = "../../ada/Calendar/personal/a?b#c"

    assert await calendars.put("birch", uid, calendar(uid), None) is Put.STORED

    (path,) = sogo.objects
    assert re.fullmatch(rf"{FOLDER}[0-9a-f]{{64}}\.ics", path)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((409, '{"reject": "Maximum number of simultaneous bookings (1) reached"}'), Put.OCCUPIED),
        ((409, '{"reject": "Die maximale Anzahl gleichzeitiger Buchungen (1) ist erreicht"}'), Put.OCCUPIED),
        ((409, "Event UID already in use. (x.ics)"), Put.CHANGED),
        ((409, "sequences don't match"), Put.REFUSED),
        # Nothing was there before, and is there afterwards: SOGo refuses the event itself.
        ((412, ""), Put.REFUSED),
    ],
)
async def test_refused_writes(calendars: CalDav, sogo: FakeSogo, answer: tuple[int, str], expected: Put) -> None:
    sogo.answers.append(answer)

    assert await calendars.put("birch", "a@x", calendar("a@x"), None) is expected


async def test_a_write_does_not_replace_another_one(calendars: CalDav) -> None:
    await calendars.put("birch", "a@x", calendar("a@x"), None)
    stored = await find(calendars, "a@x")
    await calendars.put("birch", "a@x", calendar("a@x"), stored)

    assert await calendars.put("birch", "a@x", calendar("a@x"), stored) is Put.CHANGED
    assert await calendars.put("birch", "a@x", calendar("a@x"), None) is Put.CHANGED
    assert not await calendars.delete(stored)


async def test_a_closed_connection_is_opened_again(calendars: CalDav, sogo: FakeSogo) -> None:
    sogo.drops = 1

    assert await calendars.between("birch", WINDOW) == ()


@pytest.mark.parametrize(("status", "error"), [(401, ConnectionBroken), (403, ConnectionBroken), (502, TryAgain)])
async def test_failures(calendars: CalDav, sogo: FakeSogo, status: int, error: type[TryAgain]) -> None:
    sogo.answers.append((status, ""))

    with pytest.raises(error):
        await calendars.between("birch", WINDOW)


async def test_a_calendar_that_does_not_exist_is_free(calendars: CalDav, sogo: FakeSogo) -> None:
    sogo.answers.append((404, ""))

    assert await calendars.between("birch", WINDOW) == ()
