# SPDX-License-Identifier: Apache-2.0
"""Mails of resources: the calendar in them, mails that are ignored, and replies."""

from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.policy import default
from uuid import UUID

import pytest

from chamberlain.bookings.mails import (
    LONGEST_MAIL,
    Incoming,
    compose_reply,
    is_address,
    read_mail,
    reply_id,
    sentence_of,
)
from chamberlain.bookings.models import (
    WHOLE,
    Answer,
    Appointment,
    Decision,
    Ignored,
    Invitation,
    Method,
    Period,
    Refusal,
    Version,
)
from chamberlain.core.ids import TenantId
from tests.bookings.recorded_mails import BIRCH, CALENDARS, MAILS, THUNDERBIRD, thunderbird_mail

pytestmark = pytest.mark.pure
TENANT = TenantId(UUID(int=1))
NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)


def invitation(summary: str = "Planning", sequence: int = 0) -> Invitation:
    appointment = Appointment(WHOLE, Version(sequence, NOW), ())
    return Invitation(
        "uid", Method.REQUEST, "vera@outside.example", "birch@estate.example", summary, (appointment,), ()
    )


@pytest.mark.parametrize("client", CALENDARS)
def test_it_works(client: str) -> None:
    mail = read_mail(MAILS[client](CALENDARS[client]))

    assert isinstance(mail, Incoming)
    assert mail.calendar.splitlines() == CALENDARS[client].splitlines()
    assert mail.message_id is not None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, Ignored.TOO_LONG),
        (b"x" * (LONGEST_MAIL + 1), Ignored.TOO_LONG),
        (b"From: vera@outside.example\r\n\r\nHello\r\n", Ignored.NO_CALENDAR),
        (thunderbird_mail(THUNDERBIRD, ["Auto-Submitted: auto-replied"]), Ignored.AUTOMATIC),
        (thunderbird_mail(THUNDERBIRD, ["Auto-Submitted: auto-replied; owner-email=x"]), Ignored.AUTOMATIC),
        (thunderbird_mail(THUNDERBIRD, ["Return-Path: <>"]), Ignored.AUTOMATIC),
        (b"Content-Type: multipart/report; boundary=x\r\n\r\n--x\r\n\r\n--x--\r\n", Ignored.AUTOMATIC),
        (b"Content-Type: text/calendar; x=" + b"a" * 20_000 + b"\r\n\r\n", Ignored.UNREADABLE),
        (b"a: b\r\n" * 50_000 + b"\r\n", Ignored.UNREADABLE),
        (b"Content-Type: multipart/mixed; boundary=x\r\n\r\n" + b"--x\r\n\r\n" * 50_000, Ignored.UNREADABLE),
        (b"", Ignored.NO_CALENDAR),
    ],
)
def test_it_ignores(raw: bytes | None, reason: Ignored) -> None:
    assert read_mail(raw) is reason


def test_it_ignores_calendars_in_attached_mails() -> None:
    attached = b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: message/rfc822\r\n\r\n"

    assert read_mail(attached + thunderbird_mail(THUNDERBIRD) + b"\r\n--x--\r\n") is Ignored.NO_CALENDAR


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("vera@outside.example", True),
        ("vera", False),
        ("vera@outside.example>\r\nBcc: eve@other.example", False),
        ("a b@outside.example", False),
        (f"{'a' * 250}@outside.example", False),
        ("jürgen@outside.example", False),
    ],
)
def test_addresses(address: str, *, expected: bool) -> None:
    assert is_address(address) is expected


def test_a_reply_has_both_forms_and_the_automatic_reply() -> None:
    text = sentence_of(BIRCH, Decision(Answer.ACCEPTED))
    reply = compose_reply(
        BIRCH,
        invitation(),
        Answer.ACCEPTED,
        text=text,
        calendar="BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n",
        message_id=reply_id(TENANT, BIRCH, invitation()),
        to="<1@outside.example>",
        at=NOW,
    )

    mail = message_from_bytes(reply.content, policy=default)
    plain, calendar = mail.iter_parts()
    assert (reply.sender, reply.recipient) == ("birch@estate.example", "vera@outside.example")
    assert (mail["Subject"], mail["Auto-Submitted"]) == ("Accepted: Planning", "auto-replied")
    assert (mail["In-Reply-To"], mail["Message-ID"]) == ("<1@outside.example>", reply.id)
    assert "The key is at the reception." in plain.get_content()
    assert (calendar.get_content_type(), calendar["Content-Type"].params["method"]) == ("text/calendar", "REPLY")
    # A resource never answers a reply, so two resources cannot answer each other.
    assert read_mail(reply.content) is Ignored.AUTOMATIC


@pytest.mark.parametrize("summary", ["Planung für März", "a\r\nBcc: eve@other.example", "x" * 2_000, "\u202egnp.exe"])
def test_a_summary_cannot_add_headers(summary: str) -> None:
    reply = compose_reply(
        BIRCH, invitation(summary), Answer.DECLINED, text="No.", calendar="", message_id="<1@x>", to=None, at=NOW
    )

    mail = message_from_bytes(reply.content, policy=default)
    assert mail["Bcc"] is None
    assert str(mail["Subject"]).startswith("Declined: ")


def test_a_refusal_lists_occupied_times_in_the_zone_of_the_resource() -> None:
    first = datetime(2026, 12, 1, 9, tzinfo=UTC)
    found = tuple(
        Period(first + timedelta(days=number), first + timedelta(days=number, hours=1)) for number in range(7)
    )

    lines = sentence_of(BIRCH, Decision(Answer.DECLINED, Refusal.OCCUPIED, found)).splitlines()

    assert lines[1] == "- 2026-12-01 10:00 to 11:00 (Europe/Berlin)"
    assert "- and 2 more" in lines


def test_a_reply_has_one_id_for_each_version() -> None:
    ids = {reply_id(TENANT, BIRCH, invitation(sequence=number)) for number in (0, 0, 1)}

    assert len(ids) == 2
