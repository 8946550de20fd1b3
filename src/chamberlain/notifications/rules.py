# SPDX-License-Identifier: Apache-2.0
"""Rules of notices: recipients and the retry schedule."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from chamberlain.auth.models import ActorType
from chamberlain.core.ids import UserId
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion, Person
from chamberlain.guests.policies.models import ConfirmedBy
from chamberlain.guests.policies.reports import Report
from chamberlain.notifications.models import AboutRequest, Notice, NoticeKind
from chamberlain.notifications.rendering import address_of
from chamberlain.requests.approvals import acting_substitutes, undecided
from chamberlain.requests.models import ApprovalRecord, RequestRecord, RequestState
from chamberlain.tenants.models import Tenant

# Waits before retries. The last one repeats. Our choice: a restarted server is back within minutes, a repaired one
# within hours.
RETRY_SCHEDULE = (
    timedelta(seconds=10),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=1),
    timedelta(hours=2),
    timedelta(hours=4),
)
# Longer than a weekend without mail. Older notices are useless.
GIVE_UP_AFTER = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Possible recipients of a report."""

    owners: tuple[UserId, ...]
    administrators: tuple[UserId, ...]


@dataclass(frozen=True, slots=True)
class Recipients:
    """Recipients of a report, and their role."""

    users: tuple[UserId, ...]
    are_owners: bool


def pending_recipients(notice: Notice, concerned: Iterable[UserId]) -> tuple[UserId, ...]:
    """Return recipients without a notification, in the order of this attempt."""
    left = [user for user in dict.fromkeys(concerned) if user not in notice.notified]
    # A server may close the connection at one recipient, and the next ones get nothing. So each retry starts with
    # another recipient.
    first = notice.attempts % max(len(left), 1)
    return (*left[first:], *left[:first])


def request_recipients(about: AboutRequest, request: RequestRecord) -> tuple[UserId, ...]:
    """Return the recipients of a request's notice.

    Outdated notices have none: approved by others, retried after a failure, or cancelled.
    """
    return tuple(_recipients(about, request))


def next_wait(attempt: int, notice: Notice, now: datetime) -> timedelta | None:
    """Return the wait before the next retry, or None to give up."""
    return RETRY_SCHEDULE[min(attempt, len(RETRY_SCHEDULE)) - 1] if now - notice.at < GIVE_UP_AFTER else None


def recipients_question(report: Report, tenant: Tenant) -> PeopleQuestion:
    """Ask the directory for the owners and the administrators of the tenant."""
    owned = frozenset((report.subject.entry.id,))
    return PeopleQuestion(tenant.id, owners_of=owned, members_of=tenant.administrator_groups)


def administrators_question(tenant: Tenant) -> PeopleQuestion:
    """Ask the directory for the administrators of the tenant."""
    return PeopleQuestion(tenant.id, members_of=tenant.administrator_groups)


def administrators(tenant: Tenant, answer: PeopleAnswer) -> tuple[UserId, ...]:
    """Return the administrators from the directory's answer."""
    members = [person.id for group in tenant.administrator_groups for person in answer.relations.members.get(group, ())]
    return tuple(sorted({*tenant.administrator_users, *members}))


def candidates(report: Report, tenant: Tenant, answer: PeopleAnswer) -> Candidates:
    """Return the possible recipients from the directory's answer."""
    owners = () if report.confirmed_by is ConfirmedBy.ADMINISTRATORS else answer.owners.get(report.subject.entry.id, ())
    return Candidates(
        owners=tuple([person.id for person in owners]),
        administrators=administrators(tenant, answer),
    )


def report_recipients(candidates: Candidates, people: Mapping[UserId, Person]) -> Recipients:
    """Choose owners, or administrators if no owner can be notified.

    Owners who are guests get no report, because they cannot confirm guests.
    """
    owners = tuple([user for user in candidates.owners if user not in people or not people[user].is_guest])
    if any(user in people and address_of(people[user]) is not None for user in owners):
        return Recipients(owners, are_owners=True)
    return Recipients(candidates.administrators, are_owners=False)


def _recipients(about: AboutRequest, request: RequestRecord) -> Iterable[UserId]:
    match about.kind:
        case NoticeKind.APPROVAL_REQUIRED:
            return [person.id for level in _levels(about, request) for person in undecided(level)]
        case NoticeKind.SUBSTITUTE_REQUIRED:
            return [person.id for level in _levels(about, request) for person in acting_substitutes(level)]
        case NoticeKind.APPROVAL_REMINDER:
            return [user for level in _levels(about, request) for user in _all_deciders(level)]
        case NoticeKind.FAILED:
            return _requester(request) if request.state is RequestState.FAILED else ()
        case NoticeKind.APPROVED:
            return _requester(request) if request.state is not RequestState.CANCELLED else ()
        case NoticeKind.REJECTED | NoticeKind.EXPIRED:
            return _requester(request)


def _levels(about: AboutRequest, request: RequestRecord) -> Iterable[ApprovalRecord]:
    """Return the level of a notice while the request waits for approval."""
    if request.state is not RequestState.PENDING_APPROVAL:
        return ()
    return [each for each in request.approvals if about.level in {None, each.level}]


def _all_deciders(level: ApprovalRecord) -> Iterable[UserId]:
    return [*(person.id for person in undecided(level)), *(each.id for each in acting_substitutes(level))]


def _requester(request: RequestRecord) -> Iterable[UserId]:
    """A program has no mail."""
    by = request.created_by
    return (UserId(by.id),) if by.type is ActorType.USER and by.id is not None else ()
