# SPDX-License-Identifier: Apache-2.0
"""Resources, invitations and bookings."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chamberlain.core.ids import MailboxId

# The recurrence of a whole series, and of an appointment without one.
WHOLE = ""


class Method(StrEnum):
    """Methods of invitations that a resource acts on (RFC 5546, 1.4)."""

    REQUEST = "REQUEST"
    CANCEL = "CANCEL"


class Answer(StrEnum):
    """Answer of a resource, as a participation status (RFC 5545, 3.2.12)."""

    ACCEPTED = "ACCEPTED"
    DECLINED = "DECLINED"


class Refusal(StrEnum):
    """Reason of a declined invitation."""

    OCCUPIED = "occupied"
    PAST = "past"
    RULE_UNSUPPORTED = "ruleUnsupported"
    CALENDAR_REFUSES = "calendarRefuses"


@dataclass(frozen=True, slots=True)
class Resource:
    """A room or equipment that answers by itself.

    `login` is its name in mail and calendar. `most_bookings` is the number of concurrent bookings; zero or less means
    any number. `zone` is the time zone of all-day and floating appointments.
    """

    id: MailboxId
    login: str
    mail: str
    display_name: str
    aliases: tuple[str, ...] = ()
    most_bookings: int = 1
    automatic_reply: str | None = None
    zone: str = "UTC"

    @property
    def addresses(self) -> frozenset[str]:
        """Return all addresses in lower case."""
        return frozenset(each.lower() for each in (self.mail, *self.aliases))


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """A time from `start` until before `end`, both in UTC."""

    start: datetime
    end: datetime

    def overlaps(self, other: "Period") -> bool:
        """Return whether both have a moment in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Version of an appointment; the larger one is newer (RFC 5546, 2.1.5)."""

    sequence: int
    stamp: datetime


@dataclass(frozen=True, slots=True)
class Appointment:
    """One event of an invitation that names the resource.

    `recurrence` is the original start of one occurrence of a series, or WHOLE. `is_asked` is true unless the mail says
    that the resource has answered already. `is_supported` is false for a rule that cannot be expanded.
    """

    recurrence: str
    version: Version
    periods: tuple[Period, ...]
    is_asked: bool = True
    is_supported: bool = True


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation, a change or a cancellation in a mail.

    `organizer` is an address in lower case. `invited_as` is the address of the resource as the organizer wrote it.
    `periods` are those of all appointments together, without replaced and excluded ones.
    """

    uid: str
    method: Method
    organizer: str
    invited_as: str
    summary: str
    appointments: tuple[Appointment, ...]
    periods: tuple[Period, ...]

    @property
    def is_whole(self) -> bool:
        """Return whether it concerns the whole series, or a single appointment."""
        return any(each.recurrence == WHOLE for each in self.appointments)


class Ignored(StrEnum):
    """Reason why a mail is no invitation to act on."""

    AUTOMATIC = "automatic"
    NO_CALENDAR = "noCalendar"
    TOO_LONG = "tooLong"
    UNREADABLE = "unreadable"
    OTHER_METHOD = "otherMethod"
    NOT_INVITED = "notInvited"
    FROM_RESOURCE = "fromResource"
    NO_ORGANIZER = "noOrganizer"
    SENDER_DIFFERS = "senderDiffers"


class InvitationStatus(StrEnum):
    """Status of an invitation among those that were answered before.

    The answer to a `continued` one has begun.
    """

    NEW = "new"
    CONTINUED = "continued"
    DONE = "done"
    OUTDATED = "outdated"


class AnswerState(StrEnum):
    """State of an answer.

    A `claimed` one is not decided. A `decided` one is booked, or declined, and is not sent yet. A `sending` one may be
    sent.
    """

    CLAIMED = "claimed"
    DECIDED = "decided"
    SENDING = "sending"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer with its progress.

    `calendar` is the login of the calendar with the booking; None if there is none. `decided_at` is the time of the
    decision, which every retry repeats. `updated_at` is that of the last change of the state.
    """

    recurrence: str
    version: Version
    method: Method
    organizer: str
    state: AnswerState
    updated_at: datetime
    answer: Answer | None = None
    refusal: Refusal | None = None
    calendar: str | None = None
    decided_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """An unread mail of a resource.

    `raw` is None if it is too long.
    """

    uid: int
    raw: bytes | None


@dataclass(frozen=True, slots=True)
class Stored:
    """An object in a calendar.

    `text` has all events of one appointment. The server changes `etag` with each write.
    """

    path: str
    etag: str
    text: str


class Put(StrEnum):
    """Outcome of a write to a calendar.

    `changed` means that another program has changed the object since it was read. `refused` is the refusal of an
    appointment by the server, for example of one whose organizer has an account there.
    """

    STORED = "stored"
    OCCUPIED = "occupied"
    CHANGED = "changed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Booked:
    """A booking of a resource, with its occurrences in a window.

    `organizer` is None for a booking of the calendar server or of a user.
    """

    uid: str
    organizer: str | None
    periods: tuple[Period, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision about an invitation.

    A declined one has its reason and the occupied times.
    """

    answer: Answer
    refusal: Refusal | None = None
    conflicts: tuple[Period, ...] = ()


# Properties of the copy in the calendar of a resource. Without organizer and attendees, the calendar server neither
# sends mail about it nor writes to other calendars.
KEPT_PROPERTIES: frozenset[str] = frozenset(
    {
        "UID",
        "SEQUENCE",
        "DTSTAMP",
        "DTSTART",
        "DTEND",
        "DURATION",
        "RRULE",
        "RDATE",
        "EXDATE",
        "RECURRENCE-ID",
        "SUMMARY",
        "CLASS",
        "CREATED",
        "LAST-MODIFIED",
    }
)

# The property with the organizer in bookings that this service has written.
ORGANIZER_MARK = "X-CHAMBERLAIN-ORGANIZER"

# Sentences of a refusal.
SENTENCES: Mapping[Refusal, str] = {
    Refusal.OCCUPIED: "It is booked already at this time.",
    Refusal.PAST: "This time has passed.",
    Refusal.RULE_UNSUPPORTED: "It cannot be booked for this kind of series. Invite it to another series.",
    Refusal.CALENDAR_REFUSES: "Its calendar does not take this appointment. Ask the administrator of the calendar.",
}
