# SPDX-License-Identifier: Apache-2.0
"""Calendar clients of the people of a suite: the library caldav, as programs use it."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import uuid4

import httpx2

from deploy.suite.people import password_of

# No stubs of the library in the environment of the checks, which does not have it either.
Library = Any
HOUR = timedelta(hours=1)


class Servers(Protocol):
    """A suite, or another place with SOGo."""

    def url(self, name: str, /) -> str: ...


@dataclass(frozen=True, slots=True)
class CalendarClient:
    """Signs people in by name."""

    suite: Servers

    @contextmanager
    def calendar(self, name: str) -> Iterator[Library]:
        """The personal calendar of a person."""
        caldav = importlib.import_module("caldav")
        url = f"{self.suite.url('SOGO')}/SOGo/dav/{name}/"
        # SOGo sometimes closes a connection after an answer that does not say so.
        client = caldav.DAVClient(
            url=url,
            username=name,
            password=password_of(name),
            auth_type="basic",
            headers={"Connection": "close"},
        )
        with client:
            yield client.calendar(url=f"{url}Calendar/personal/")

    def book(self, name: str, address: str, start: datetime, *, rule: str | None = None) -> str:
        """Invite a place for an hour, and return the UID of the event. Raises DAVError if the server refuses it."""
        uid = str(uuid4())
        with self.calendar(name) as calendar:
            calendar.add_event(invitation(name, address, start, uid, rule))
        return uid

    def answer(self, name: str, uid: str, address: str) -> str:
        """The answer of a place, in the organizer's copy of the event."""
        with self.calendar(name) as calendar:
            event = calendar.get_event_by_uid(uid).icalendar_component
        asked = event["ATTENDEE"] if isinstance(event["ATTENDEE"], list) else [event["ATTENDEE"]]
        [found] = [each for each in asked if str(each).lower() == f"mailto:{address}"]
        return str(found.params.get("PARTSTAT", "NEEDS-ACTION"))

    def delete(self, name: str, uid: str) -> None:
        """Delete an event as its organizer."""
        with self.calendar(name) as calendar:
            calendar.get_event_by_uid(uid).delete()

    def busy(self, name: str, address: str, start: datetime) -> bool:
        """Return whether a place is booked for an hour, as another person's client asks (RFC 6638, 5)."""
        own = f"{name}@estate.example"
        lines = [
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            "PRODID:-//Example//Tests//EN",
            "METHOD:REQUEST",
            "BEGIN:VFREEBUSY",
            f"UID:{uuid4()}",
            f"DTSTAMP:{start:%Y%m%dT%H%M%SZ}",
            f"DTSTART:{start:%Y%m%dT%H%M%SZ}",
            f"DTEND:{start + HOUR:%Y%m%dT%H%M%SZ}",
            f"ORGANIZER:mailto:{own}",
            f"ATTENDEE:mailto:{address}",
            "END:VFREEBUSY",
            "END:VCALENDAR",
        ]
        answer = httpx2.post(
            # The personal calendar is SOGo's schedule-outbox-URL.
            f"{self.suite.url('SOGO')}/SOGo/dav/{name}/Calendar/personal/",
            content="\r\n".join(lines) + "\r\n",
            headers={
                "Content-Type": "text/calendar; charset=utf-8",
                "Originator": f"mailto:{own}",
                "Recipient": f"mailto:{address}",
            },
            auth=(name, password_of(name)),
            timeout=30,
        )
        assert answer.is_success, answer.text
        # SOGo also returns periods that end when the hour begins.
        return f"FBTYPE=BUSY:{start:%Y%m%dT%H%M%SZ}/{start + HOUR:%Y%m%dT%H%M%SZ}" in answer.text


def invitation(name: str, address: str, start: datetime, uid: str, rule: str | None = None) -> str:
    """An event with one attendee, as a calendar client writes it."""
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Example//Tests//EN",
        "BEGIN:VEVENT",
        f"UID:{uid}",
        f"DTSTAMP:{start:%Y%m%dT%H%M%SZ}",
        f"DTSTART:{start:%Y%m%dT%H%M%SZ}",
        f"DTEND:{start + HOUR:%Y%m%dT%H%M%SZ}",
        *([] if rule is None else [f"RRULE:{rule}"]),
        "SUMMARY:Meeting",
        f"ORGANIZER:mailto:{name}@estate.example",
        f"ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:{address}",
        "END:VEVENT",
        "END:VCALENDAR",
    ]
    return "\r\n".join(lines) + "\r\n"
