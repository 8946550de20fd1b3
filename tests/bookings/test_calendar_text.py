# SPDX-License-Identifier: Apache-2.0
"""Invitations of usual clients, read and written with icalendar, which is in the environment of the suite."""

from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.bookings.calendar_text import (
    has_uid,
    is_booked_by_server,
    organizer_of,
    read_booked,
    read_invitation,
    version_of,
)
from chamberlain.bookings.copies import participating, private_copy, reply_text, scheduled_copy, without
from chamberlain.bookings.models import WHOLE, Answer, Ignored, Invitation, Method, Period, Stored
from chamberlain.bookings.rules import HORIZON, window_at
from tests.bookings.recorded_mails import BIRCH, CALENDARS, GMAIL, OUTLOOK, THUNDERBIRD, changed

pytestmark = [pytest.mark.suite, pytest.mark.needs("suite")]
NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)
NINE = datetime(2026, 12, 1, 9, tzinfo=UTC)
HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(weeks=1)
UID = "5d4a29cd-4a0e-4a7c-9a52-2f6f1c3a7b10"
BEFORE_LAST = ("TRANSP:OPAQUE\n", "TRANSP:OPAQUE\nRRULE:FREQ=WEEKLY;COUNT=4\n")
SERIES = changed(THUNDERBIRD, BEFORE_LAST)
# The second week is moved to the afternoon.
OCCURRENCE = changed(
    THUNDERBIRD,
    ("DTSTART;TZID=Europe/Berlin:20261201T100000", "DTSTART;TZID=Europe/Berlin:20261208T150000"),
    ("DTEND;TZID=Europe/Berlin:20261201T110000", "DTEND;TZID=Europe/Berlin:20261208T160000"),
    ("DTSTAMP:20261120T081622Z", "DTSTAMP:20261121T081622Z"),
    added=["RECURRENCE-ID;TZID=Europe/Berlin:20261208T100000"],
)
SECOND = "20261208T090000Z"


def read(calendar: str) -> Invitation:
    found = read_invitation(calendar, BIRCH, window_at(NOW))
    assert isinstance(found, Invitation), found
    return found


def hour(start: datetime) -> Period:
    return Period(start, start + HOUR)


def stored(text: str) -> Stored:
    return Stored("/birch/x.ics", '"1"', text)


def booking(text: str) -> Stored:
    return stored(private_copy(text, BIRCH, UID, None))


def periods(of: Stored) -> list[Period]:
    found = read_booked(of, BIRCH, Period(NOW, NOW + HORIZON))
    assert found is not None
    return list(found.periods)


@pytest.mark.parametrize("client", CALENDARS)
def test_it_works(client: str) -> None:
    invitation = read(CALENDARS[client])

    (appointment,) = invitation.appointments
    assert (invitation.method, invitation.organizer) == (Method.REQUEST, "vera@outside.example")
    assert (invitation.invited_as, appointment.recurrence) == ("birch@estate.example", WHOLE)
    assert (appointment.version.sequence, appointment.version.stamp) == (
        0,
        datetime(2026, 11, 20, 8, 16, 22, tzinfo=UTC),
    )
    assert invitation.periods == (hour(NINE),)
    assert invitation.is_whole
    assert appointment.is_asked


@pytest.mark.parametrize(
    ("calendar", "reason"),
    [
        ("", Ignored.UNREADABLE),
        ("BEGIN:VCALENDAR\nEND:VCALENDAR\n", Ignored.OTHER_METHOD),
        (THUNDERBIRD.replace("METHOD:REQUEST", "METHOD:REPLY"), Ignored.OTHER_METHOD),
        (THUNDERBIRD.replace("METHOD:REQUEST", "METHOD:PUBLISH"), Ignored.OTHER_METHOD),
        (THUNDERBIRD.replace("birch@", "oak@"), Ignored.NOT_INVITED),
        (THUNDERBIRD.replace("vera@outside.example", "birke@estate.example"), Ignored.FROM_RESOURCE),
        (THUNDERBIRD.replace(f"UID:{UID}", "UID:"), Ignored.UNREADABLE),
        (THUNDERBIRD.replace("DTSTART;TZID=Europe/Berlin:20261201T100000", "DTSTART:soon"), Ignored.UNREADABLE),
        (THUNDERBIRD + "X" * 300_000, Ignored.TOO_LONG),
    ],
)
def test_it_ignores(calendar: str, reason: Ignored) -> None:
    assert read_invitation(calendar, BIRCH, window_at(NOW)) is reason


def test_an_alias_is_invited() -> None:
    assert read(THUNDERBIRD.replace("birch@estate", "Birke@estate")).invited_as == "birke@estate.example"


@pytest.mark.parametrize(
    ("calendar", "starts"),
    [
        pytest.param(SERIES, [NINE + each * WEEK for each in range(4)], id="weekly"),
        pytest.param(
            changed(SERIES, ("COUNT=4", "UNTIL=20261215T090000Z")),
            [NINE + each * WEEK for each in range(3)],
            id="until",
        ),
        pytest.param(
            changed(SERIES, ("COUNT=4", "UNTIL=20261215")), [NINE + each * WEEK for each in range(3)], id="until a day"
        ),
        pytest.param(
            changed(SERIES, added=["EXDATE;TZID=Europe/Berlin:20261208T100000"]),
            [NINE, NINE + 2 * WEEK, NINE + 3 * WEEK],
            id="without one",
        ),
        pytest.param(
            changed(THUNDERBIRD, added=["RDATE;TZID=Europe/Berlin:20261203T100000"]), [NINE, NINE + 2 * DAY], id="dates"
        ),
        pytest.param(
            # Summer time begins on 28 March 2027: the meeting stays at ten in Berlin.
            changed(
                SERIES,
                ("COUNT=4", "COUNT=2"),
                ("20261201T100000", "20270323T100000"),
                ("20261201T110000", "20270323T110000"),
            ),
            [datetime(2027, 3, 23, 9, tzinfo=UTC), datetime(2027, 3, 30, 8, tzinfo=UTC)],
            id="summer time",
        ),
        pytest.param(
            changed(OUTLOOK, added=["RRULE:FREQ=WEEKLY;UNTIL=20261208T090000Z;INTERVAL=1;BYDAY=TU;WKST=MO"]),
            [NINE, NINE + WEEK],
            id="outlook",
        ),
        pytest.param(
            changed(GMAIL, added=["RRULE:FREQ=DAILY;COUNT=3"]), [NINE, NINE + DAY, NINE + 2 * DAY], id="gmail"
        ),
    ],
)
def test_series(calendar: str, starts: list[datetime]) -> None:
    assert [each.start for each in read(calendar).periods] == starts


def test_a_replaced_occurrence_counts_instead_of_the_original_one() -> None:
    both = SERIES.replace(
        "END:VCALENDAR",
        OCCURRENCE[OCCURRENCE.index("BEGIN:VEVENT") : OCCURRENCE.index("END:VCALENDAR")] + "END:VCALENDAR",
    )

    invitation = read(both)

    assert {each.recurrence for each in invitation.appointments} == {WHOLE, SECOND}
    assert hour(NINE + WEEK) not in invitation.periods
    assert hour(NINE + WEEK + 5 * HOUR) in invitation.periods


def test_an_endless_series_has_a_horizon() -> None:
    found = read(changed(SERIES, (";COUNT=4", ""))).periods

    assert 100 < len(found) < 110


@pytest.mark.parametrize(
    "rule", ["FREQ=SECONDLY", "FREQ=HOURLY;COUNT=3", "FREQ=DAILY;BYMINUTE=0,1,2", "FREQ=WEEKLY;RSCALE=HEBREW"]
)
def test_other_rules_are_not_supported(rule: str) -> None:
    (appointment,) = read(changed(SERIES, ("FREQ=WEEKLY;COUNT=4", rule))).appointments

    assert not appointment.is_supported


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ("DTSTART;VALUE=DATE:20261201", "DTEND;VALUE=DATE:20261202"),
            Period(datetime(2026, 11, 30, 23, tzinfo=UTC), datetime(2026, 12, 1, 23, tzinfo=UTC)),
        ),
        (
            ("DTSTART;VALUE=DATE:20261201", "DURATION:P2D"),
            Period(datetime(2026, 11, 30, 23, tzinfo=UTC), datetime(2026, 12, 2, 23, tzinfo=UTC)),
        ),
        (("DTSTART:20261201T100000", "DTEND:20261201T110000"), hour(NINE)),
        (("DTSTART:20261201T090000Z", "DURATION:PT1H"), hour(NINE)),
        (("DTSTART;TZID=/mozilla.org/20050126_1/Europe/Berlin:20261201T100000", "DURATION:PT1H"), hour(NINE)),
        (("DTSTART;TZID=Romance Standard Time:20261201T100000", "DURATION:PT1H"), hour(NINE)),
    ],
)
def test_days_and_floating_times_are_those_of_the_resource(lines: tuple[str, str], expected: Period) -> None:
    calendar = changed(
        THUNDERBIRD,
        ("DTSTART;TZID=Europe/Berlin:20261201T100000", lines[0]),
        ("DTEND;TZID=Europe/Berlin:20261201T110000", lines[1]),
    )

    assert read(calendar).periods == (expected,)


def test_two_calendars_may_give_one_name_to_different_zones() -> None:
    def custom(offset: str) -> str:
        lines = (
            "BEGIN:VTIMEZONE",
            "TZID:Customized Time Zone",
            "BEGIN:STANDARD",
            "DTSTART:16010101T000000",
            f"TZOFFSETFROM:{offset}",
            f"TZOFFSETTO:{offset}",
            "END:STANDARD",
            "END:VTIMEZONE",
        )
        zone = "".join(f"{line}\n" for line in lines)
        start = THUNDERBIRD.index("BEGIN:VTIMEZONE")
        rest = THUNDERBIRD[THUNDERBIRD.index("BEGIN:VEVENT") :].replace("Europe/Berlin", "Customized Time Zone")
        return THUNDERBIRD[:start] + zone + rest

    found = [read(custom(offset)).periods[0].start.hour for offset in ("+0100", "-0500")]

    assert found == [9, 15]


@pytest.mark.parametrize(
    "calendar",
    [
        changed(THUNDERBIRD, ("METHOD:REQUEST", "METHOD:CANCEL"), added=["STATUS:CANCELLED"]),
        changed(OUTLOOK, ("METHOD:REQUEST", "METHOD:CANCEL"), ("STATUS:CONFIRMED", "STATUS:CANCELLED")),
        changed(GMAIL, ("METHOD:REQUEST", "METHOD:CANCEL"), ("STATUS:CONFIRMED", "STATUS:CANCELLED")),
        # Some clients send a request whose event is cancelled.
        changed(GMAIL, ("STATUS:CONFIRMED", "STATUS:CANCELLED")),
    ],
)
def test_cancellations(calendar: str) -> None:
    invitation = read(calendar)

    assert (invitation.method, invitation.is_whole) == (Method.CANCEL, True)


def test_a_booking_has_times_and_no_people() -> None:
    copy = booking(SERIES)

    assert "ATTENDEE" not in copy.text
    assert "\nORGANIZER" not in copy.text
    assert "METHOD" not in copy.text
    assert "TRANSP:OPAQUE" in copy.text
    assert organizer_of(copy) == "vera@outside.example"
    assert has_uid(copy, UID)
    assert periods(copy) == [hour(NINE + each * WEEK) for each in range(4)]
    assert version_of(copy, WHOLE, BIRCH) == read(SERIES).appointments[0].version


def test_an_occurrence_changes_the_booking_of_its_series() -> None:
    copy = stored(private_copy(OCCURRENCE, BIRCH, UID, booking(SERIES)))

    assert periods(copy) == [hour(NINE), hour(NINE + WEEK + 5 * HOUR), hour(NINE + 2 * WEEK), hour(NINE + 3 * WEEK)]


def test_outlook_sends_a_series_without_its_occurrences_and_they_stay() -> None:
    before = stored(private_copy(OCCURRENCE, BIRCH, UID, booking(SERIES)))

    same = stored(private_copy(changed(SERIES, ("SUMMARY:Planning", "SUMMARY:Plans")), BIRCH, UID, before))
    moved = stored(private_copy(changed(SERIES, ("T100000", "T080000"), ("T110000", "T090000")), BIRCH, UID, before))

    assert hour(NINE + WEEK + 5 * HOUR) in periods(same)
    assert periods(moved) == [hour(NINE - 2 * HOUR + each * WEEK) for each in range(4)]


def test_a_single_occurrence_is_booked_as_an_appointment() -> None:
    copy = stored(private_copy(OCCURRENCE, BIRCH, f"{UID}_occurrence_{SECOND}", None))

    assert "RECURRENCE-ID" not in copy.text
    assert periods(copy) == [hour(NINE + WEEK + 5 * HOUR)]


def test_an_occurrence_is_removed_and_included_again() -> None:
    text = without(booking(SERIES), [SECOND], BIRCH)
    assert text is not None
    left = periods(stored(text))
    again = periods(stored(private_copy(OCCURRENCE, BIRCH, UID, stored(text))))

    assert left == [hour(NINE), hour(NINE + 2 * WEEK), hour(NINE + 3 * WEEK)]
    assert hour(NINE + WEEK + 5 * HOUR) in again
    assert without(booking(SERIES), [WHOLE], BIRCH) is None
    assert without(booking(THUNDERBIRD), [WHOLE], BIRCH) is None


def test_the_organizers_copy_books_the_resource_without_mail() -> None:
    copy = scheduled_copy(OUTLOOK, BIRCH, "uid", None).replace("\r\n ", "")

    assert "SCHEDULE-AGENT=CLIENT" in copy
    assert "wim@outside.example" not in copy
    assert "NON-PARTICIPANT" not in copy
    assert "REQ-PARTICIPANT" in copy


def test_a_resource_in_another_role_is_not_booked_by_the_server() -> None:
    of_server = stored(OUTLOOK.replace("METHOD:REQUEST\n", ""))

    assert not is_booked_by_server(of_server, BIRCH)
    assert is_booked_by_server(stored(participating(of_server, BIRCH)), BIRCH)
    assert "wim@outside.example" in participating(of_server, BIRCH)


def test_a_declined_resource_is_free() -> None:
    declined = THUNDERBIRD.replace("CN=Birch;PARTSTAT=NEEDS-ACTION", "CN=Birch;PARTSTAT=DECLINED")

    assert read_booked(stored(declined), BIRCH, Period(NOW, NOW + HORIZON)) is None


@pytest.mark.parametrize("client", CALENDARS)
def test_a_reply_answers_as_the_invited_address(client: str) -> None:
    text = reply_text(CALENDARS[client], BIRCH, Answer.ACCEPTED, "Birch is booked.", NOW).replace("\r\n ", "")

    lines = text.splitlines()
    (attendee,) = [each for each in lines if each.startswith("ATTENDEE")]
    assert "METHOD:REPLY" in lines
    assert "PARTSTAT=ACCEPTED" in attendee
    assert "RSVP" not in attendee
    assert attendee.lower().endswith("mailto:birch@estate.example")
    assert "DTSTAMP:20261120T080000Z" in lines
    assert any(each.startswith("ORGANIZER") for each in lines)
