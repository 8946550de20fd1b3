"""Notices: who is told by mail of what has happened, and for how long that is tried.

A notice is about a request: about one event of it, or its last approval, which no event tells of. Or it is about what
the policy of a group or site has done. It holds ids only: whom it goes to and what it says is found out when it is
sent, from what is true then.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from chamberlain.auth.models import ActorType
from chamberlain.core.ids import GroupId, NoticeId, RequestId, TenantId, UserId
from chamberlain.requests.models import ApprovalRecord, ApprovalState, RequestRecord, RequestState

# How long to wait after so many tries in vain, the last one again and again. Ours: a server that is restarted is back
# within minutes, one that is repaired within hours.
WAITS = (
    timedelta(seconds=10),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=1),
    timedelta(hours=2),
    timedelta(hours=4),
)
# Nobody needs older news; a weekend without mail is outlasted.
END = timedelta(days=3)


class NoticeKind(StrEnum):
    """What somebody is told of a request: by the last part of the event's name, and `approved`."""

    APPROVAL_REQUIRED = "approvalRequired"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AboutRequest:
    """What has happened to a request. `level` is the one that asks for approval."""

    kind: NoticeKind
    request_id: RequestId
    level: int | None


@dataclass(frozen=True, slots=True)
class AboutSubject:
    """What the policy of a group or site has done; guests/policies/reports.py says what that is."""

    subject_id: GroupId


@dataclass(frozen=True, slots=True)
class Notice:
    """What is to be told, and how far that has come.

    `id` is that of the event, where there is one. `told` are those who have it, or can never get it; `attempts` counts
    the tries that have left somebody out.
    """

    tenant_id: TenantId
    id: NoticeId
    about: AboutRequest | AboutSubject
    at: datetime
    attempts: int
    told: frozenset[UserId]


def still_to_be_told(notice: Notice, concerned: Iterable[UserId]) -> tuple[UserId, ...]:
    """Those of them who do not have it yet, in the order of this try."""
    left = [user for user in dict.fromkeys(concerned) if user not in notice.told]
    # A server may hang up at one of them, and those behind get nothing. So each try begins with another one.
    first = notice.attempts % max(len(left), 1)
    return (*left[first:], *left[:first])


def concerned_by(about: AboutRequest, request: RequestRecord) -> tuple[UserId, ...]:
    """Whom a request concerns. Nobody is told what is not so any more: an approval that somebody else has given, a
    failure after which the request was retried, or that something is carried out that was cancelled."""
    return tuple(_concerned(about, request))


def wait_after(attempt: int, notice: Notice, now: datetime) -> timedelta | None:
    """How long to wait after so many tries in vain; None when it is given up."""
    return WAITS[min(attempt, len(WAITS)) - 1] if now - notice.at < END else None


def _concerned(about: AboutRequest, request: RequestRecord) -> Iterable[UserId]:
    match about.kind:
        case NoticeKind.APPROVAL_REQUIRED:
            if request.state is not RequestState.PENDING_APPROVAL:
                return ()
            asked = [each for each in request.approvals if about.level in {None, each.level}]
            return [user for level in asked for user in _undecided(level)]
        case NoticeKind.FAILED:
            return _requester(request) if request.state is RequestState.FAILED else ()
        case NoticeKind.APPROVED:
            return _requester(request) if request.state is not RequestState.CANCELLED else ()
        case NoticeKind.REJECTED | NoticeKind.EXPIRED:
            return _requester(request)


def _undecided(level: ApprovalRecord) -> Iterable[UserId]:
    if level.state is not ApprovalState.PENDING:
        return ()
    decided = {decision.by.id for decision in level.decisions}
    return [person.id for person in level.approvers if person.id not in decided]


def _requester(request: RequestRecord) -> Iterable[UserId]:
    """A program has no mail."""
    by = request.created_by
    return (UserId(by.id),) if by.type is ActorType.USER and by.id is not None else ()
