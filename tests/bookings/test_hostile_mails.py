# SPDX-License-Identifier: Apache-2.0
"""Mails of attackers to resources: none raises an error, and none takes long."""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chamberlain.bookings.calendar_text import read_booked, read_invitation
from chamberlain.bookings.components import CalendarUnreadable
from chamberlain.bookings.copies import private_copy, reply_text, scheduled_copy
from chamberlain.bookings.mails import Incoming, read_mail
from chamberlain.bookings.models import Answer, Ignored, Invitation, Stored
from chamberlain.bookings.rules import decide, window_at
from tests.bookings.recorded_mails import BIRCH, CALENDARS, MAILS, THUNDERBIRD, changed, thunderbird_mail
from tests.bookings.test_calendar_text import NOW, OCCURRENCE, SERIES, UID

# A hostile calendar may take some seconds on a busy machine, and not minutes.
pytestmark = [pytest.mark.suite, pytest.mark.needs("suite"), pytest.mark.timeout(60)]
UNREADABLE, UNSUPPORTED = Ignored.UNREADABLE, "unsupported"
DAYS = ",".join(str(day) for day in range(1, 32))
EMPTY_EVENT = "BEGIN:VEVENT\nEND:VEVENT\n"
AGAIN = THUNDERBIRD[THUNDERBIRD.index("BEGIN:VEVENT") : THUNDERBIRD.index("END:VCALENDAR")]


def with_rule(rule: str) -> str:
    return changed(THUNDERBIRD, added=[f"RRULE:{rule}"])


def with_zone_rule(rule: str, more: str = "") -> str:
    """An invitation in a time zone of the attacker."""
    return changed(
        THUNDERBIRD,
        ("FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3", rule),
        ("Europe/Berlin", "Custom"),
        ("END:VTIMEZONE\n", f"{more}END:VTIMEZONE\n"),
        added=["RRULE:FREQ=DAILY"],
    )


def observances(number: int) -> str:
    lines = "BEGIN:STANDARD\nDTSTART:16010101T{:06}\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n{}END:STANDARD\n"
    return "".join(lines.format(each, "RRULE:FREQ=YEARLY;BYDAY=SU;BYMONTH=3\n") for each in range(number))


@pytest.mark.parametrize(
    ("calendar", "expected"),
    [
        (with_rule("FREQ=SECONDLY"), UNSUPPORTED),
        (with_rule("FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=1,2,3"), UNSUPPORTED),
        (with_rule("FREQ=DAILY;BYMONTH=13"), UNSUPPORTED),
        (with_rule("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"), UNSUPPORTED),
        (with_rule("FREQ=YEARLY;BYEASTER=1"), UNSUPPORTED),
        (with_rule("FREQ=DAILY;INTERVAL=0"), UNSUPPORTED),
        (with_rule("FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30"), None),
        (with_rule("FREQ=DAILY;COUNT=1000000000"), None),
        (changed(THUNDERBIRD, added=["RRULE:FREQ=DAILY"] * 3_000), UNSUPPORTED),
        (changed(OCCURRENCE, added=["RRULE:FREQ=DAILY"]), UNSUPPORTED),
        (changed(THUNDERBIRD, added=["RDATE:" + ",".join(["20261202T100000Z"] * 14_000)]), None),
        (with_zone_rule("FREQ=SECONDLY"), UNREADABLE),
        (with_zone_rule("FREQ=DAILY"), UNREADABLE),
        (with_zone_rule(f"FREQ=YEARLY;BYMONTH=3;BYMONTHDAY={DAYS}"), UNREADABLE),
        (with_zone_rule("FREQ=YEARLY;BYMONTH=3;BYDAY=SU", observances(14)), None),
        (with_zone_rule("FREQ=YEARLY;BYMONTH=3;BYDAY=SU", observances(100)), UNREADABLE),
        (with_zone_rule("FREQ=YEARLY;BYMONTH=3;BYDAY=SU", EMPTY_EVENT), UNREADABLE),
        (THUNDERBIRD.replace("END:DAYLIGHT", "END:VTIMEZONE\nRRULE:FREQ=SECONDLY"), UNREADABLE),
        (THUNDERBIRD.replace("END:VCALENDAR", EMPTY_EVENT * 5_000 + "END:VCALENDAR"), UNREADABLE),
        # The database keeps one answer to each occurrence.
        (THUNDERBIRD.replace("END:VCALENDAR", f"{AGAIN}END:VCALENDAR"), UNREADABLE),
        (THUNDERBIRD.replace("END:VCALENDAR", AGAIN.replace("vera@", "eve@") + "END:VCALENDAR"), UNREADABLE),
        (
            SERIES.replace("END:VCALENDAR", OCCURRENCE[OCCURRENCE.index("BEGIN:VEVENT") :].replace("vera@", "eve@")),
            Ignored.NO_ORGANIZER,
        ),
        (
            THUNDERBIRD.replace("END:VEVENT", "BEGIN:VALARM\n" * 5_000 + "END:VALARM\n" * 5_000 + "END:VEVENT"),
            UNREADABLE,
        ),
        (changed(THUNDERBIRD, ("UID:5d", "UID:5\0d")), UNREADABLE),
        (
            changed(
                THUNDERBIRD, ("DTSTART;TZID=Europe/Berlin:20261201T100000", "DTSTART;TZID=Nowhere:20261201T100000")
            ),
            None,
        ),
        (changed(THUNDERBIRD, ("DTEND;TZID=Europe/Berlin:20261201T110000", f"DURATION:P{'9' * 50_000}D")), UNREADABLE),
        (changed(THUNDERBIRD, added=["SEQUENCE:" + "9" * 5_000]), UNREADABLE),
        (changed(THUNDERBIRD, added=["X" + ";A=b" * 60_000 + ":1"]), None),
        (changed(THUNDERBIRD, added=["X:" + "a" * 300_000]), Ignored.TOO_LONG),
        (changed(THUNDERBIRD, ("METHOD:REQUEST", "METHOD:REPLY")), Ignored.OTHER_METHOD),
        (changed(THUNDERBIRD, ("METHOD:REQUEST", "METHOD:COUNTER")), Ignored.OTHER_METHOD),
        (changed(THUNDERBIRD, ("METHOD:REQUEST", "METHOD:REFRESH")), Ignored.OTHER_METHOD),
        (changed(THUNDERBIRD, ("vera@outside.example", "birke@estate.example")), Ignored.FROM_RESOURCE),
    ],
)
def test_it_ends(calendar: str, expected: Ignored | str | None) -> None:
    found = read_invitation(calendar, BIRCH, window_at(NOW))

    if expected is None or expected == UNSUPPORTED:
        assert isinstance(found, Invitation), found
        assert all(each.is_supported == (expected is None) for each in found.appointments)
    else:
        assert found is expected


@pytest.mark.parametrize(
    "raw",
    [
        b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (each, each) for each in range(5_000)),
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\n" + b"a:b\n" * 1_000_000 + b"\n",
        b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\n" * 800_000,
        b"Content-Type: text/calendar; charset=" + b'"' * 50_000 + b"\n\n",
        b"Content-Type: text/calendar; " + b"".join(b"a*%d=1;" % each for each in range(20_000)) + b"\n\n",
        b"Content-Type: text/calendar\nContent-Transfer-Encoding: base64\n\n" + b"=" * 5_000_000,
        b"\0" * 5_000_000,
    ],
)
def test_a_mail_ends(raw: bytes) -> None:
    found = read_mail(raw)

    assert isinstance(found, Ignored) or isinstance(read_invitation(found.calendar, BIRCH, window_at(NOW)), Ignored)


def test_control_characters_add_no_lines_to_a_booking() -> None:
    mail = read_mail(
        thunderbird_mail(changed(THUNDERBIRD, ("SUMMARY:Planning", "SUMMARY:Plan\0ning\x85X-A:1\x0bX-B:1")))
    )

    assert isinstance(mail, Incoming)
    copy = private_copy(mail.calendar, BIRCH, UID, None)
    assert not any(line.startswith(("X-A", "X-B")) for line in copy.splitlines())
    assert "ATTENDEE" not in copy


LINES = sorted({line for each in (*CALENDARS.values(), SERIES, OCCURRENCE) for line in each.splitlines()})


@given(st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_change_of_a_recorded_mail_is_answered_or_ignored(data: st.DataObject) -> None:
    client = data.draw(st.sampled_from(sorted(CALENDARS)))
    lines = CALENDARS[client].splitlines()
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(lines) - 1))
        lines[place : place + data.draw(st.integers(0, 3))] = data.draw(changes(lines[place]))
    handle(MAILS[client]("".join(f"{line}\n" for line in lines)))


@given(st.sampled_from(sorted(CALENDARS)), st.integers(0, 3_000), st.integers(0, 50), st.binary(max_size=50))
@settings(max_examples=100, deadline=None)
def test_any_bytes_in_a_recorded_mail_are_answered_or_ignored(client: str, place: int, cut: int, put: bytes) -> None:
    raw = MAILS[client](CALENDARS[client])

    handle(raw[:place] + put + raw[place + cut :])


def changes(line: str) -> st.SearchStrategy[Sequence[str]]:
    """Other lines in the place of one."""
    some_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    values = st.sampled_from(["", "99999999T999999Z", "00010101", "99991231T235959Z", "P1W", "-1", "FREQ=DAILY", "\\n"])
    other = st.one_of(values, some_text).map(lambda value: f"{line.partition(':')[0]}:{value}")
    return st.lists(st.one_of(st.sampled_from(LINES), other, some_text), max_size=3)


def handle(raw: bytes) -> None:
    """Read a mail, and write all that an answer needs."""
    mail = read_mail(raw)
    if isinstance(mail, Ignored):
        return
    found = read_invitation(mail.calendar, BIRCH, window_at(NOW))
    if isinstance(found, Ignored):
        return
    decision = decide(found, (), 1, NOW)
    try:
        for copy in (private_copy, scheduled_copy):
            text = copy(mail.calendar, BIRCH, found.uid, None)
            read_booked(Stored("/x", "1", text), BIRCH, window_at(NOW))
        assert Answer.ACCEPTED.value in reply_text(mail.calendar, BIRCH, Answer.ACCEPTED, decision.answer, NOW)
    except CalendarUnreadable:
        pass
