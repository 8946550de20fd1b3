# SPDX-License-Identifier: Apache-2.0
"""Read the mail of resources, and write their replies (RFC 6047).

Nothing here does I/O.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.message import EmailMessage, Message
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime
from typing import Final
from zoneinfo import ZoneInfo

from chamberlain.bookings.models import SENTENCES, Answer, Appointment, Decision, Ignored, Invitation, Resource
from chamberlain.bookings.rules import MOST_LISTED
from chamberlain.core.ids import TenantId
from chamberlain.core.mails import MALFORMED, parse_mail, parts_of, sender_of
from chamberlain.core.text import clean_lines, one_line

# Bytes of a mail. Invitations with pictures have some hundred thousand.
LONGEST_MAIL: Final = 5_242_880
# Answers of machines, and notices of mail servers (RFC 3834, 5). Google marks its invitations as auto-generated, so
# that value is none of them.
_AUTOMATIC: Final = frozenset({"auto-replied", "auto-notified"})
_CALENDAR_TYPES: Final = frozenset({"text/calendar", "application/ics"})
_ADDRESS = re.compile(r"[^\s@<>()\[\]\\,;:\"\x00-\x1f\x7f]+@[^\s@<>()\[\]\\,;:\"\x00-\x1f\x7f]+")
# The longest address that a mail server has to take (RFC 5321, 4.5.3.1).
_LONGEST_ADDRESS: Final = 254
_MESSAGE_ID = re.compile(r"<[\x21-\x3b\x3d\x3f-\x7e]{1,900}>")
_LONGEST_SUMMARY: Final = 256
# Texts of headers that need no encoding.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9 _-]+")
_PLAIN_TEXT = re.compile(r"[\x20-\x7e]+")


@dataclass(frozen=True, slots=True)
class Incoming:
    """A mail with a calendar.

    `sender` is the address of From, in lower case, and `envelope_sender` that of the mail transfer. Either is None if
    the mail has none or several. `message_id` is None if the mail has none that is valid.
    """

    calendar: str
    sender: str | None
    envelope_sender: str | None
    message_id: str | None


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply to send, with its envelope.

    The resource gets a copy, which proves that the reply was sent.
    """

    id: str
    sender: str
    recipient: str
    content: bytes


def read_mail(raw: bytes | None) -> Incoming | Ignored:
    """Read the calendar in a raw mail (RFC 5322)."""
    if raw is None or len(raw) > LONGEST_MAIL:
        return Ignored.TOO_LONG
    try:
        mail = parse_mail(raw)
        if _is_automatic(mail):
            return Ignored.AUTOMATIC
        calendar = next(_calendars(mail), None)
        message_id = str(mail.get("Message-ID", "")).strip()
        sender, envelope_sender = sender_of(mail), sender_of(mail, "Return-Path")
    except MALFORMED:
        return Ignored.UNREADABLE
    if calendar is None:
        return Ignored.NO_CALENDAR
    return Incoming(calendar, sender, envelope_sender, message_id if _MESSAGE_ID.fullmatch(message_id) else None)


def reply_id(tenant_id: TenantId, resource: Resource, invitation: Invitation) -> str:
    """Return the message id of a reply, the same at each retry."""
    versions = [
        f"{each.recurrence}/{each.version.sequence}/{each.version.stamp.isoformat()}" for each in _ordered(invitation)
    ]
    text = "\0".join([str(tenant_id), str(resource.id), invitation.uid, invitation.method, *versions])
    return f"<booking.{hashlib.sha256(text.encode()).hexdigest()[:40]}@{resource.mail.rpartition('@')[2]}>"


def is_address(address: str) -> bool:
    """Return whether a reply can be sent to an address."""
    return len(address) <= _LONGEST_ADDRESS and address.isascii() and _ADDRESS.fullmatch(address) is not None


def sentence_of(resource: Resource, decision: Decision) -> str:
    """Return the answer with the automatic reply of the resource."""
    name = one_line(resource.display_name) or resource.mail
    if decision.answer is Answer.ACCEPTED:
        lines = [f"{name} is booked."]
    else:
        reason = "" if decision.refusal is None else f" {SENTENCES[decision.refusal]}"
        lines = [f"{name} is not booked.{reason}", *_times(resource, decision)]
    if resource.automatic_reply:
        lines += ["", clean_lines(resource.automatic_reply).strip()]
    return "\n".join(lines)


def compose_reply(
    resource: Resource,
    invitation: Invitation,
    answer: Answer,
    *,
    text: str,
    calendar: str,
    message_id: str,
    to: str | None,
    at: datetime,
) -> Reply:
    """Compose a reply. `to` is the message id of the invitation."""
    content = EmailMessage(policy=SMTP_POLICY)
    content.set_content(text, cte="quoted-printable")
    content.add_alternative(calendar, subtype="calendar", params={"method": "REPLY"}, cte="quoted-printable")
    summary = one_line(invitation.summary).strip()[:_LONGEST_SUMMARY]
    subject = f"{answer.title()}: {summary}" if summary else answer.title()
    headers = [
        ("From", f"{_encoded(one_line(resource.display_name), _PLAIN_NAME)} <{resource.mail}>"),
        ("To", f"<{invitation.organizer}>"),
        ("Subject", _encoded(subject, _PLAIN_TEXT)),
        ("Date", format_datetime(at)),
        ("Message-ID", message_id),
        *([] if to is None else [("In-Reply-To", to), ("References", to)]),
        # No other program replies to it (RFC 3834, 5, and Exchange).
        ("Auto-Submitted", "auto-replied"),
        ("X-Auto-Response-Suppress", "All"),
    ]
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    return Reply(message_id, resource.mail, invitation.organizer, lines.encode("ascii") + content.as_bytes())


def _times(resource: Resource, decision: Decision) -> Iterator[str]:
    """Yield the occupied times in the time zone of the resource."""
    for each in decision.conflicts[:MOST_LISTED]:
        start, end = each.start.astimezone(_zone(resource)), each.end.astimezone(_zone(resource))
        until = f"{end:%H:%M}" if start.date() == end.date() else f"{end:%Y-%m-%d %H:%M}"
        yield f"- {start:%Y-%m-%d %H:%M} to {until} ({resource.zone})"
    if len(decision.conflicts) > MOST_LISTED:
        yield f"- and {len(decision.conflicts) - MOST_LISTED} more"


def _zone(resource: Resource) -> ZoneInfo:
    try:
        return ZoneInfo(resource.zone)
    except (ValueError, OSError, LookupError):
        return ZoneInfo("UTC")


def _ordered(invitation: Invitation) -> Iterator[Appointment]:
    yield from sorted(invitation.appointments, key=lambda each: each.recurrence)


def _is_automatic(mail: Message) -> bool:
    submitted = str(mail.get("Auto-Submitted", "no")).split(";")[0].strip().lower()
    is_notice = str(mail.get("Return-Path", "")).strip() == "<>" or mail.get_content_type() == "multipart/report"
    return submitted in _AUTOMATIC or is_notice


def _calendars(mail: Message) -> Iterator[str]:
    """Yield the calendars of a mail, the inline ones before attachments.

    Google and Outlook send the same calendar in both ways.
    """
    parts = [each for each in parts_of(mail) if each.get_content_type() in _CALENDAR_TYPES]
    for part in sorted(parts, key=lambda each: each.get_content_disposition() == "attachment"):
        payload = part.get_payload(decode=True)
        if isinstance(payload, bytes):
            yield _decoded(payload, part.get_content_charset() or "utf-8")


def _decoded(payload: bytes, charset: str) -> str:
    """Decode a calendar without control characters.

    Other programs may read them as line breaks. The calendar is in UTF-8 unless the part says otherwise (RFC 5545, 6).
    """
    is_usual = charset.lower() in {"utf-8", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252"}
    text = payload.decode(charset if is_usual else "utf-8", errors="replace")
    return clean_lines(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))


def _encoded(text: str, plain: re.Pattern[str]) -> str:
    """Encode and fold a text of one line, unless it is plain.

    Its content cannot add headers.
    """
    is_plain = plain.fullmatch(text) is not None and "=?" not in text
    return text if is_plain else Header(text, "utf-8", header_name="Subject").encode(linesep="\r\n")
