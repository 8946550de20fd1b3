# SPDX-License-Identifier: Apache-2.0
import importlib
from datetime import UTC, datetime, timedelta
from email.message import Message
from itertools import count
from uuid import uuid4

import pytest

from deploy.suite.folder import Suite
from tests.services import wait_until
from tests.suite.calendar_client import HOUR, CalendarClient, invitation
from tests.suite.mail_client import MailClient
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_requests import EQUIPMENT, ROOM, WITHIN, Json, SuiteRequests

# The hours of one year, so that no test books an hour of another one. A clock of its own needs no real time.
_HOURS = count()
_FIRST = datetime(2031, 1, 6, 9, tzinfo=UTC)


@pytest.fixture
def calendar(suite: Suite) -> CalendarClient:
    """Calendar clients of the people of the estate."""
    return CalendarClient(suite)


def free_hour() -> datetime:
    return _FIRST + next(_HOURS) * timedelta(days=1)


def new_room(requests: SuiteRequests, **properties: object) -> Json:
    whiteboard = {"hasWhiteboard": True, "hasConferencePhone": False, "hasVideoConferencing": False}
    return requests.mailbox(ROOM, "Room", capacity=12, roomMailboxMetadata=whiteboard, **properties)


def test_it_works_for_an_invitation(requests: SuiteRequests, calendar: CalendarClient) -> None:
    room, start = new_room(requests), free_hour()

    uid = calendar.book("ben", room["primarySmtpAddress"], start)

    wait_until(lambda: calendar.answer("ben", uid, room["primarySmtpAddress"]) == "ACCEPTED", WITHIN)
    assert calendar.busy("cleo", room["primarySmtpAddress"], start)
    assert not calendar.busy("cleo", room["primarySmtpAddress"], start + HOUR)


def test_a_conflict_is_refused_and_the_next_hour_is_free(requests: SuiteRequests, calendar: CalendarClient) -> None:
    room, start = new_room(requests), free_hour()
    calendar.book("ben", room["primarySmtpAddress"], start)

    with pytest.raises(importlib.import_module("caldav.lib.error").DAVError):
        calendar.book("cleo", room["primarySmtpAddress"], start)
    uid = calendar.book("cleo", room["primarySmtpAddress"], start + HOUR)

    wait_until(lambda: calendar.answer("cleo", uid, room["primarySmtpAddress"]) == "ACCEPTED", WITHIN)


def test_a_deleted_booking_frees_the_room(requests: SuiteRequests, calendar: CalendarClient) -> None:
    room, start = new_room(requests), free_hour()
    uid = calendar.book("ben", room["primarySmtpAddress"], start)

    calendar.delete("ben", uid)

    again = calendar.book("cleo", room["primarySmtpAddress"], start)
    wait_until(lambda: calendar.answer("cleo", again, room["primarySmtpAddress"]) == "ACCEPTED", WITHIN)


def test_equipment_has_as_many_bookings_as_units(requests: SuiteRequests, calendar: CalendarClient) -> None:
    projectors, start = requests.mailbox(EQUIPMENT, "Projectors", capacity=2), free_hour()
    address = projectors["primarySmtpAddress"]

    for name in ("ben", "cleo"):
        uid = calendar.book(name, address, start)
        wait_until(lambda name=name, uid=uid: calendar.answer(name, uid, address) == "ACCEPTED", WITHIN)  # type: ignore[misc]

    with pytest.raises(importlib.import_module("caldav.lib.error").DAVError):
        calendar.book("dara", address, start)


def test_an_invitation_by_mail_from_outside_is_answered(
    requests: SuiteRequests, mail: MailClient, calendar: CalendarClient
) -> None:
    room, start = new_room(requests, automaticReply="The key is at the reception."), free_hour()
    uid = str(uuid4())

    mail.invite("vera@outside.example", room["primarySmtpAddress"], invitation_by_mail(room, start, uid))

    answer = text_of(mail.wait_for("vera", f"Accepted: Meeting {uid[:8]}", within=WITHIN))
    assert uid in answer
    assert "The key is at the reception." in answer
    # The booking by mail blocks one by CalDAV.
    with pytest.raises(importlib.import_module("caldav.lib.error").DAVError):
        calendar.book("ben", room["primarySmtpAddress"], start)


def test_a_booking_by_calendar_declines_one_by_mail(
    requests: SuiteRequests, mail: MailClient, calendar: CalendarClient
) -> None:
    room, start = new_room(requests), free_hour()
    calendar.book("ben", room["primarySmtpAddress"], start)
    uid = str(uuid4())

    mail.invite("vera@outside.example", room["primarySmtpAddress"], invitation_by_mail(room, start, uid))

    assert uid in text_of(mail.wait_for("vera", f"Declined: Meeting {uid[:8]}", within=WITHIN))


def test_it_is_found_by_capacity_and_whiteboard(requests: SuiteRequests, directory: SuiteDirectory) -> None:
    without = {"hasWhiteboard": False, "hasConferencePhone": False, "hasVideoConferencing": False}
    room, board = new_room(requests), requests.mailbox(EQUIPMENT, "Boards", capacity=12)
    plain = requests.mailbox(ROOM, "Room", capacity=12, roomMailboxMetadata=without)

    found = {
        entry["mail"][0]
        for entry in directory.find(
            "(&(chamberlainKind=location)(chamberlainCapacity>=12)(chamberlainFeature=whiteboard))", "mail"
        )
    }
    larger = directory.find(
        "(&(chamberlainKind=location)(chamberlainCapacity>=13)(chamberlainFeature=whiteboard))", "mail"
    )

    assert room["primarySmtpAddress"] in found
    assert found.isdisjoint({plain["primarySmtpAddress"], board["primarySmtpAddress"]})
    assert room["primarySmtpAddress"] not in [entry["mail"][0] for entry in larger]


def invitation_by_mail(room: Json, start: datetime, uid: str) -> str:
    text = invitation("vera", room["primarySmtpAddress"], start, uid).replace("vera@estate", "vera@outside")
    text = text.replace("SUMMARY:Meeting", f"SUMMARY:Meeting {uid[:8]}")
    return text.replace("VERSION:2.0\r\n", "VERSION:2.0\r\nMETHOD:REQUEST\r\n")


def text_of(message: Message) -> str:
    """All parts of a message, decoded, and without the line breaks of iCalendar."""
    parts = [part.get_payload(decode=True) for part in message.walk() if not part.is_multipart()]
    text = "\n".join(part.decode() for part in parts if isinstance(part, bytes))
    return text.replace("\r\n ", "").replace("\n ", "")
