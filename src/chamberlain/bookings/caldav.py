# SPDX-License-Identifier: Apache-2.0
"""Calendars over CalDAV (RFC 4791), as those of SOGo.

One account may write to all calendars (SOGoSuperUsernames). The calendar of each login is `Calendar/personal`.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import httpx2

from chamberlain.bookings.calendar_text import has_uid
from chamberlain.bookings.models import Period, Put, Stored
from chamberlain.core.errors import Cause, ConnectionBroken, TryAgain
from chamberlain.core.reasons import Reason

TIMEOUT_SECONDS: Final = 30.0
# Pauses of a retry: our choice. A restart of SOGo takes ten seconds or more (measured by the prototype).
_AWAY_FOR: Final = timedelta(seconds=15)
_BROKEN_FOR: Final = timedelta(minutes=1)
_NAME: Final = "The calendar server"
# Other names of files are hashed, because servers treat slashes and spaces in paths differently.
_PLAIN_UID = re.compile(r"[A-Za-z0-9@._{}+-]{1,200}")
_DAV: Final = "{DAV:}"
_CALDAV: Final = "{urn:ietf:params:xml:ns:caldav}"
_QUERY: Final = (
    '<?xml version="1.0" encoding="utf-8"?>'
    '<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">'
    "<D:prop><D:getetag/><C:calendar-data/></D:prop>"
    '<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">'
    '<C:time-range start="{start}" end="{end}"/>'
    "</C:comp-filter></C:comp-filter></C:filter></C:calendar-query>"
)


@dataclass(frozen=True, slots=True)
class CalendarServer:
    """The CalDAV server of a tenant.

    `url` is that of the folder with the logins, for example `https://mail.example.org/SOGo/dav`. `user` may write to
    the calendars of all others.
    """

    url: str
    user: str
    password: str = field(repr=False)


class CalDav:
    """The calendars of one server.

    Every method raises TryAgain if it does not answer, and ConnectionBroken if it refuses the account.
    """

    def __init__(self, client: httpx2.AsyncClient, server: CalendarServer) -> None:
        self._client = client
        self._server = server
        address = urlsplit(server.url)
        self._origin = f"{address.scheme}://{address.netloc}"
        self._folder = address.path.rstrip("/")
        credential = b64encode(f"{server.user}:{server.password}".encode()).decode("ascii")
        self._headers = {"Authorization": f"Basic {credential}"}

    async def find(self, login: str, uid: str, around: Period | None) -> Stored | None:
        """Find the object of an appointment by its uid.

        Clients choose the names of objects. Most use the uid.
        """
        found = await self._read(self._path(login, uid))
        if found is not None and has_uid(found, uid):
            return found
        if around is None:
            return None
        return next((each for each in await self.between(login, around) if has_uid(each, uid)), None)

    async def between(self, login: str, window: Period) -> Sequence[Stored]:
        """Return the objects in a time.

        SOGo returns neighbours as well. A calendar that does not exist yet has none.
        """
        body = _QUERY.format(start=f"{window.start:%Y%m%dT%H%M%SZ}", end=f"{window.end:%Y%m%dT%H%M%SZ}")
        headers = {"Depth": "1", "Content-Type": "application/xml; charset=utf-8"}
        response = await self._send("REPORT", self._calendar(login), body, headers)
        if response.status_code == 404:
            return ()
        if response.status_code != 207:
            raise _unexpected(response)
        try:
            return tuple(_parse_objects(response.content))
        except ElementTree.ParseError as error:
            raise TryAgain(_AWAY_FOR, f"{_NAME} sends an unreadable answer.", Cause.AWAY) from error

    async def put(self, login: str, uid: str, text: str, before: Stored | None) -> Put:
        """Write an object with optimistic locking."""
        path = self._path(login, uid) if before is None else before.path
        condition = {"If-None-Match": "*"} if before is None else {"If-Match": before.etag}
        headers = {"Content-Type": "text/calendar; charset=utf-8", **condition}
        response = await self._send("PUT", path, text, headers)
        match response.status_code:
            case 200 | 201 | 204:
                return Put.STORED
            case 409:
                return _conflict_of(response)
            case 412:
                # SOGo also answers so to an event that it refuses for other reasons, such as its organizer.
                now = await self._read(path)
                return Put.CHANGED if _etag(now) != _etag(before) else Put.REFUSED
            case _:
                raise _unexpected(response)

    async def delete(self, before: Stored) -> bool:
        """Delete an object, unless it has changed."""
        response = await self._send("DELETE", before.path, "", {"If-Match": before.etag})
        if response.status_code == 412:
            return False
        if response.status_code not in {200, 204, 404, 410}:
            raise _unexpected(response)
        return True

    async def _read(self, path: str) -> Stored | None:
        response = await self._send("GET", path, "", {})
        if response.status_code in {404, 410}:
            return None
        if response.status_code != 200:
            raise _unexpected(response)
        return Stored(path, response.headers.get("ETag", ""), response.text)

    def _calendar(self, login: str) -> str:
        return f"{self._folder}/{quote(login, safe='@')}/Calendar/personal/"

    def _path(self, login: str, uid: str) -> str:
        name = uid if _PLAIN_UID.fullmatch(uid) else hashlib.sha256(uid.encode()).hexdigest()
        return f"{self._calendar(login)}{quote(name, safe='@')}.ics"

    async def _send(self, method: str, path: str, body: str, headers: Mapping[str, str]) -> httpx2.Response:
        try:
            response = await self._request(method, path, body, headers)
        except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
            # SOGo closes idle connections. A repeated write fails by its condition.
            response = await self._retry(method, path, body, headers)
        except (httpx2.HTTPError, OSError) as error:
            raise _away() from error
        if response.status_code in {401, 403}:
            raise ConnectionBroken(_BROKEN_FOR, Reason.build("serverRefusesCredential", server=_NAME))
        if response.status_code >= 500:
            raise _unexpected(response)
        return response

    async def _retry(self, method: str, path: str, body: str, headers: Mapping[str, str]) -> httpx2.Response:
        try:
            return await self._request(method, path, body, headers)
        except (httpx2.HTTPError, OSError) as error:
            raise _away() from error

    async def _request(self, method: str, path: str, body: str, headers: Mapping[str, str]) -> httpx2.Response:
        return await self._client.request(
            method,
            f"{self._origin}{path}",
            content=body.encode() if body else None,
            headers={**self._headers, **headers},
            timeout=TIMEOUT_SECONDS,
        )


def _conflict_of(response: httpx2.Response) -> Put:
    """Tell the meanings of a conflict apart.

    A full resource has the member `reject`; its sentence is in the language of the account (SOGoAppointmentObject.m).
    """
    if '"reject"' in response.text or "simultaneous" in response.text:
        return Put.OCCUPIED
    return Put.CHANGED if "already in use" in response.text else Put.REFUSED


def _parse_objects(body: bytes) -> Iterator[Stored]:
    root = ElementTree.fromstring(body)  # noqa: S314 - of the operator's server; expat limits the growth of entities.
    for response in root.iter(f"{_DAV}response"):
        path, text = response.findtext(f"{_DAV}href"), response.findtext(f".//{_CALDAV}calendar-data")
        if path and text:
            yield Stored(urlsplit(path).path, response.findtext(f".//{_DAV}getetag") or "", text)


def _etag(stored: Stored | None) -> str | None:
    return None if stored is None else stored.etag


def _unexpected(response: httpx2.Response) -> TryAgain:
    problem = f"{_NAME} answered with the HTTP status {response.status_code}."
    return TryAgain(_AWAY_FOR, problem, Cause.AWAY)


def _away() -> TryAgain:
    return TryAgain(_AWAY_FOR, f"{_NAME} does not answer.", Cause.AWAY)
