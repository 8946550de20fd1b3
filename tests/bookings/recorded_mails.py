# SPDX-License-Identifier: Apache-2.0
"""Invitations in the forms of Thunderbird, Outlook and Google Calendar.

The structure of the mails, the order of properties and the parameters are those of the clients. Names and times are
ours. All are about a room `birch@estate.example`.
"""

import base64
from collections.abc import Sequence
from uuid import UUID

from chamberlain.bookings.models import Resource
from chamberlain.core.ids import MailboxId

BIRCH = Resource(
    id=MailboxId(UUID(int=7)),
    login="birch",
    mail="birch@estate.example",
    display_name="Birch",
    aliases=("birke@estate.example",),
    most_bookings=1,
    automatic_reply="The key is at the reception.",
    zone="Europe/Berlin",
)

BERLIN = """\
BEGIN:VTIMEZONE
TZID:Europe/Berlin
BEGIN:DAYLIGHT
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
TZNAME:CEST
DTSTART:19700329T020000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
BEGIN:STANDARD
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
TZNAME:CET
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
END:STANDARD
END:VTIMEZONE
"""

# Outlook names zones as Windows does, and some versions all of them `Customized Time Zone`.
WINDOWS_BERLIN = """\
BEGIN:VTIMEZONE
TZID:W. Europe Standard Time
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE
"""

THUNDERBIRD = f"""\
BEGIN:VCALENDAR
PRODID:-//Mozilla.org/NONSGML Mozilla Calendar V1.1//EN
VERSION:2.0
METHOD:REQUEST
{BERLIN}BEGIN:VEVENT
CREATED:20261120T081500Z
LAST-MODIFIED:20261120T081622Z
DTSTAMP:20261120T081622Z
UID:5d4a29cd-4a0e-4a7c-9a52-2f6f1c3a7b10
SUMMARY:Planning
ORGANIZER;CN=Vera Outside;PARTSTAT=ACCEPTED;ROLE=CHAIR:mailto:vera@outside.example
ATTENDEE;RSVP=TRUE;CN=Birch;PARTSTAT=NEEDS-ACTION;CUTYPE=ROOM;ROLE=REQ-PARTICIPANT;X-NUM-GUESTS=0:mailto:birch@estate.example
ATTENDEE;RSVP=TRUE;PARTSTAT=NEEDS-ACTION;ROLE=REQ-PARTICIPANT:mailto:wim@outside.example
DTSTART;TZID=Europe/Berlin:20261201T100000
DTEND;TZID=Europe/Berlin:20261201T110000
TRANSP:OPAQUE
LOCATION:Birch
END:VEVENT
END:VCALENDAR
"""

OUTLOOK = f"""\
BEGIN:VCALENDAR
METHOD:REQUEST
PRODID:Microsoft Exchange Server 2010
VERSION:2.0
{WINDOWS_BERLIN}BEGIN:VEVENT
ORGANIZER;CN=Vera Outside:mailto:Vera@outside.example
ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE;CN=Wim Outside:mailto:wim@outside.example
ATTENDEE;ROLE=NON-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE;CUTYPE=RESOURCE;CN=Birch:MAILTO:Birch@estate.example
DESCRIPTION;LANGUAGE=de-DE:Guten Tag\\,\\n\\nbis dann.\\n
UID:040000008200E00074C5B7101A82E00800000000E05D9E3B7C5ADD01000000000000000
 010000000A5C7F1D3B2E4A94C8D7F60A1B2C3D4E5
SUMMARY;LANGUAGE=de-DE:Planung
DTSTART;TZID=W. Europe Standard Time:20261201T100000
DTEND;TZID=W. Europe Standard Time:20261201T110000
CLASS:PUBLIC
PRIORITY:5
DTSTAMP:20261120T081622Z
TRANSP:OPAQUE
STATUS:CONFIRMED
SEQUENCE:0
LOCATION;LANGUAGE=de-DE:Birch
X-MICROSOFT-CDO-APPT-SEQUENCE:0
X-MICROSOFT-CDO-BUSYSTATUS:TENTATIVE
X-MICROSOFT-CDO-INTENDEDSTATUS:BUSY
X-MICROSOFT-CDO-ALLDAYEVENT:FALSE
X-MICROSOFT-CDO-IMPORTANCE:1
X-MICROSOFT-CDO-INSTTYPE:0
X-MICROSOFT-DISALLOW-COUNTER:FALSE
BEGIN:VALARM
DESCRIPTION:REMINDER
TRIGGER;RELATED=START:-PT15M
ACTION:DISPLAY
END:VALARM
END:VEVENT
END:VCALENDAR
"""

GMAIL = """\
BEGIN:VCALENDAR
PRODID:-//Google Inc//Google Calendar 70.9054//EN
VERSION:2.0
CALSCALE:GREGORIAN
METHOD:REQUEST
BEGIN:VEVENT
DTSTART:20261201T090000Z
DTEND:20261201T100000Z
DTSTAMP:20261120T081622Z
ORGANIZER;CN=Vera Outside:mailto:vera@outside.example
UID:3k1p9q2r7s8t@google.com
ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=
 TRUE;CN=birch@estate.example;X-NUM-GUESTS=0:mailto:birch@estate.example
ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;RSVP=TRUE
 ;CN=Vera Outside;X-NUM-GUESTS=0:mailto:vera@outside.example
X-MICROSOFT-CDO-OWNERAPPTID:-1234567890
CREATED:20261120T081500Z
DESCRIPTION:
LAST-MODIFIED:20261120T081621Z
LOCATION:Birch
SEQUENCE:0
STATUS:CONFIRMED
SUMMARY:Planning
TRANSP:OPAQUE
END:VEVENT
END:VCALENDAR
"""

CALENDARS = {"thunderbird": THUNDERBIRD, "outlook": OUTLOOK, "gmail": GMAIL}


def thunderbird_mail(calendar: str, headers: Sequence[str] = ()) -> bytes:
    """An invitation of Thunderbird: an alternative in 8bit, and the same as an attachment."""
    lines = [
        "Message-ID: <6c0fb1d2-8c8b-4d43-9c2b-50f4c90e6e6f@outside.example>",
        "Date: Fri, 20 Nov 2026 09:16:22 +0100",
        "MIME-Version: 1.0",
        "User-Agent: Mozilla Thunderbird",
        "From: Vera Outside <vera@outside.example>",
        "To: birch@estate.example",
        "Subject: Invitation: Planning",
        *headers,
        'Content-Type: multipart/mixed; boundary="------------Q5"',
        "",
        "--------------Q5",
        'Content-Type: multipart/alternative; boundary="------------A5"',
        "",
        "--------------A5",
        "Content-Type: text/plain; charset=UTF-8",
        "",
        "Vera Outside has invited you to Planning",
        "--------------A5",
        "Content-Type: text/calendar; method=REQUEST; charset=UTF-8",
        "Content-Transfer-Encoding: 8bit",
        "",
        *calendar.splitlines(),
        "--------------A5--",
        "--------------Q5",
        'Content-Type: application/ics; name="invite.ics"',
        'Content-Disposition: attachment; filename="invite.ics"',
        "Content-Transfer-Encoding: base64",
        "",
        base64.encodebytes(calendar.encode()).decode().strip(),
        "--------------Q5--",
        "",
    ]
    return "\r\n".join(lines).encode()


def outlook_mail(calendar: str, headers: Sequence[str] = ()) -> bytes:
    """An invitation of Outlook by Exchange: an alternative in base64, without an attachment."""
    lines = [
        "From: Vera Outside <Vera@outside.example>",
        "To: Birch <Birch@estate.example>",
        "Subject: Planung",
        "Thread-Topic: Planung",
        "Date: Fri, 20 Nov 2026 08:16:22 +0000",
        "Message-ID: <AM0PR04MB1234567890ABCDEF@AM0PR04MB1234.eurprd04.prod.outlook.com>",
        "Accept-Language: de-DE, en-US",
        "X-MS-Has-Attach:",
        "X-Auto-Response-Suppress: DR, OOF, AutoReply",
        *headers,
        'Content-Type: multipart/alternative; boundary="_000_AM0PR04MB1234_"',
        "MIME-Version: 1.0",
        "",
        "--_000_AM0PR04MB1234_",
        'Content-Type: text/plain; charset="iso-8859-1"',
        "Content-Transfer-Encoding: quoted-printable",
        "",
        "Guten Tag,",
        "--_000_AM0PR04MB1234_",
        'Content-Type: text/html; charset="iso-8859-1"',
        "",
        "<html><body>Guten Tag,</body></html>",
        "--_000_AM0PR04MB1234_",
        'Content-Type: text/calendar; charset="utf-8"; method=REQUEST',
        "Content-Transfer-Encoding: base64",
        "",
        base64.encodebytes(calendar.replace("\n", "\r\n").encode()).decode().strip(),
        "--_000_AM0PR04MB1234_--",
        "",
    ]
    return "\r\n".join(lines).encode()


def gmail_mail(calendar: str, headers: Sequence[str] = ()) -> bytes:
    """An invitation of Google Calendar.

    It is marked as generated, and comes from the organizer.
    """
    encoded = base64.encodebytes(calendar.replace("\n", "\r\n").encode()).decode().strip()
    lines = [
        "Return-Path: <3abcDEF@calendar-server.bounces.google.com>",
        "MIME-Version: 1.0",
        "Reply-To: Vera Outside <vera@outside.example>",
        "Sender: Google Calendar <calendar-notification@google.com>",
        "Auto-Submitted: auto-generated",
        "Message-ID: <calendar-7d0b2a1c-0000@google.com>",
        "Date: Fri, 20 Nov 2026 08:16:22 +0000",
        "Subject: Invitation: Planning @ Tue 1 Dec 2026 10am - 11am (CET) (birch@estate.example)",
        "From: Vera Outside <vera@outside.example>",
        "To: birch@estate.example",
        *headers,
        'Content-Type: multipart/mixed; boundary="000000000000m1"',
        "",
        "--000000000000m1",
        'Content-Type: multipart/alternative; boundary="000000000000a1"',
        "",
        "--000000000000a1",
        'Content-Type: text/plain; charset="UTF-8"; format=flowed; delsp=yes',
        "",
        "You have been invited by Vera Outside to attend an event named Planning",
        "--000000000000a1",
        'Content-Type: text/calendar; charset="UTF-8"; method=REQUEST',
        "Content-Transfer-Encoding: base64",
        "",
        encoded,
        "--000000000000a1--",
        "",
        "--000000000000m1",
        'Content-Type: application/ics; name="invite.ics"',
        'Content-Disposition: attachment; filename="invite.ics"',
        "Content-Transfer-Encoding: base64",
        "",
        encoded,
        "--000000000000m1--",
        "",
    ]
    return "\r\n".join(lines).encode()


MAILS = {"thunderbird": thunderbird_mail, "outlook": outlook_mail, "gmail": gmail_mail}


def changed(calendar: str, *replacements: tuple[str, str], added: Sequence[str] = ()) -> str:
    """A calendar with other lines.

    Each replaced text has to be there; `added` lines end the event.
    """
    for old, new in replacements:
        assert old in calendar, old
        calendar = calendar.replace(old, new)
    return calendar.replace("END:VEVENT\n", "".join(f"{line}\n" for line in (*added, "END:VEVENT")), 1)
