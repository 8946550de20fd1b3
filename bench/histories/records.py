# SPDX-License-Identifier: Apache-2.0
"""Values of a history: the calls with their outcomes, and the state at the end.

Times are seconds of the monotonic clock of the machine that runs the clients.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf


class Outcome(StrEnum):
    """How a call ended. UNKNOWN is a cut connection, a timeout or a 5xx: the call may have taken effect."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Call:
    """When a call was sent and answered, and how it ended."""

    invoked: float
    answered: float
    outcome: Outcome

    @property
    def completed(self) -> float:
        """The moment after which the call has no effect; never for one that is unknown."""
        return inf if self.outcome is Outcome.UNKNOWN else self.answered


@dataclass(frozen=True, slots=True)
class Submission:
    """A request for a group. `request_id` and `replayed` come from an answer that is OK. Names are never used twice."""

    call: Call
    name: str
    key: str | None
    request_id: str | None = None
    replayed: bool = False


class Verb(StrEnum):
    """An action that ends or advances a request."""

    APPROVE = "approve"
    REJECT = "reject"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Decision:
    """An action upon a request. Calls with one key are attempts of one decision."""

    call: Call
    request_id: str
    person: str
    verb: Verb
    key: str
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """A write with If-Match to a group or site: from the value `seen` to a value that no other write names."""

    call: Call
    subject: str
    seen: str
    value: str
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A value that a group or site showed."""

    call: Call
    subject: str
    value: str


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the feed. An assignment names its subject and both values, an open level its number.

    A level is blocked when it has no approver, for example because the directory did not answer.
    """

    id: str
    type: str
    request_id: str | None = None
    subject: str | None = None
    before: str | None = None
    after: str | None = None
    level: int | None = None
    is_blocked: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page of events that a reader got from a cursor. A reader does not go on from a page that is a repeat."""

    reader: str
    cursor: str | None
    events: tuple[Event, ...]
    following: str
    is_repeat: bool = False


@dataclass(slots=True)
class History:
    """All calls of one round, in the order of their answers. `assigned` has the values before the first write."""

    assigned: dict[str, str] = field(default_factory=dict)
    submissions: list[Submission] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Level:
    """A level of approval at the end: the decisions as pairs of person and outcome.

    A level that was open when its request was cancelled is not reached, and was opened.
    """

    state: str
    decisions: tuple[tuple[str, str], ...] = ()
    was_opened: bool = True


@dataclass(frozen=True, slots=True)
class FinalRequest:
    """A request at the end. `groups` counts its groups in the directory."""

    request_id: str
    name: str
    state: str
    levels: tuple[Level, ...] = ()
    groups: int = 0


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A row of the audit trail. `subject` is set for an assignment."""

    sequence: int
    action: str
    request_id: str | None = None
    person: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class FinalState:
    """The state that the API shows after all work is done."""

    requests: Sequence[FinalRequest]
    assigned: Mapping[str, str]
    feed: Sequence[Event]
    audit: Sequence[AuditRow]


class Rule(StrEnum):
    """A promise of the service."""

    REQUEST_LOST = "an acknowledged request is lost"
    REQUEST_DUPLICATED = "a request exists twice"
    REQUEST_UNASKED = "a refused or unknown request exists"
    REQUEST_UNFINISHED = "a request does not end"
    KEY_ANSWERS_DIFFER = "a key has two answers"
    KEY_ACCEPTED_TWICE = "a key is accepted twice"
    GROUPS_WRONG = "a request has a wrong number of groups"
    UPDATE_LOST = "an acknowledged assignment is overwritten or lost"
    UPDATE_UNASKED = "a value is assigned that no call can have written"
    UPDATE_OUT_OF_ORDER = "an assignment is read or written out of order"
    REFUSED_WITHOUT_CAUSE = "a current If-Match is refused as stale"
    DECISION_LOST = "an acknowledged decision is lost"
    DECISION_UNASKED = "a decision is recorded that no call can have made"
    DECISION_TWICE = "a level or a person counts twice"
    DECISION_AFTER_END = "a decision is accepted after the end"
    DECISION_CONTRADICTED = "a request contradicts its decisions"
    EVENT_SKIPPED = "a reader misses an event"
    EVENT_VANISHED = "a reader has an event that the feed lacks"
    EVENT_TWICE = "an event comes twice"
    EVENT_MOVED = "an event changes its place in the feed"
    EVENT_MISSING = "a change has no event"
    EVENT_UNFOUNDED = "an event has no change"
    EVENT_OUT_OF_ORDER = "events of a request or subject are out of order"
    AUDIT_WRONG = "the audit trail does not match the changes"


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken promise: about which request, key, subject or event, with the facts."""

    rule: Rule
    about: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.rule.value}: {self.about}" + (f" ({self.detail})" if self.detail else "")
