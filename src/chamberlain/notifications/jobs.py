# SPDX-License-Identifier: Apache-2.0
"""Send notices by e-mail, at least once and under stable message ids.

Recipients and content are read when a notice is sent. Each batch of recipients is saved before the next one. A
permanent refusal affects its recipient only. All else is retried for days, then logged and given up.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import NoticeId, RequestId, TenantId, UserId
from chamberlain.database.clock import ReadTime
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.models import PeopleQuestion, Person
from chamberlain.directory.port import People
from chamberlain.guests import finding_records
from chamberlain.guests.models import FindingRecord
from chamberlain.guests.policies import report_records
from chamberlain.guests.policies.reports import MAX_NAMED, POLICY_REPORT, Report, add_names
from chamberlain.notifications import store
from chamberlain.notifications.mail_server import MailServer
from chamberlain.notifications.models import (
    ASKING,
    DRIFT_KINDS,
    DRIFT_REPORT,
    AboutDrift,
    AboutRequest,
    AboutSubject,
    Notice,
)
from chamberlain.notifications.rendering import (
    Asked,
    DriftNotification,
    EmailContent,
    Mail,
    PolicyNotification,
    RequestNotification,
    address_of,
    drift_email,
    language_for,
    policy_email,
    request_email,
    to_mail,
)
from chamberlain.notifications.rules import (
    administrators,
    administrators_question,
    candidates,
    next_wait,
    pending_recipients,
    recipients_question,
    report_recipients,
    request_recipients,
)
from chamberlain.notifications.texts import Language
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable
from chamberlain.requests import records as request_records
from chamberlain.requests.approvals import represented_by
from chamberlain.requests.replies import Asking, ReplyTokens
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

# Mails per connection, before their recipients are saved.
BATCH_SIZE = 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PendingReport:
    """A report whose recipients are not known yet."""

    notice: Notice
    report: Report
    tenant: Tenant


@dataclass(frozen=True, slots=True)
class PendingDrift:
    """A report of drift whose recipients are not known yet."""

    notice: Notice
    findings: tuple[FindingRecord, ...]
    number: int
    tenant: Tenant


# A notice that was read, before its recipients are known.
Loaded: TypeAlias = RequestNotification | PendingReport | PendingDrift


@dataclass(frozen=True, slots=True)
class AddressedNotification:
    """A notification with its recipients.

    `people` are those whom the directory knows.
    """

    notification: RequestNotification | PolicyNotification | DriftNotification
    users: Sequence[UserId]
    people: Mapping[UserId, Person]


@dataclass(frozen=True, slots=True)
class NoticeJobs:
    """Job handler of notices. Needs the worker's role.

    Without a `server`, existing notices wait until they are given up. `link_of` returns the address of a request's
    page, or None, and `review_link_of` that of the page to decide on it. `confirm_address` is the address that confirms
    a finding, with ID as placeholder. `reply_tokens` is None if replies by mail are not taken.
    """

    database: Database
    people: People
    server: MailServer | None
    link_of: Callable[[TenantId, RequestId], str | None]
    confirm_address: str
    now: ReadTime
    review_link_of: Callable[[TenantId, RequestId], str | None] | None = None
    reply_tokens: ReplyTokens | None = None

    async def send(self, claim: Claim) -> None:
        """Raises Unavailable."""
        for job in claim.jobs:
            wanted = await self._load(job)
            if wanted is None or await self._notify(job, wanted):
                await self._complete(claim, job)
            else:
                await self._retry_later(claim, job, wanted.notice)

    async def _load(self, job: Job) -> Loaded | None:
        async with self.database.transaction(job.tenant_id) as tx:
            notice = await store.find(tx, NoticeId(job.subject))
            tenant = await tenant_records.find(tx, job.tenant_id)
            if notice is None or tenant is None:
                return None
            match notice.about:
                case AboutRequest() as about:
                    return await self._read_request(tx, notice, about, tenant)
                case AboutSubject(subject_id):
                    report = await report_records.find(tx, tenant.id, subject_id, notice.id)
                    return None if report is None or report.is_empty else PendingReport(notice, report, tenant)
                case AboutDrift(since):
                    found, number = await finding_records.opened_since(
                        tx, tenant.id, DRIFT_KINDS, since, limit=MAX_NAMED
                    )
                    return PendingDrift(notice, tuple(found), number, tenant) if found else None

    async def _read_request(
        self, tx: Transaction, notice: Notice, about: AboutRequest, tenant: Tenant
    ) -> RequestNotification | None:
        request = await request_records.find(tx, about.request_id)
        if request is None:
            return None
        link_of = self.review_link_of if about.kind in ASKING and self.review_link_of is not None else self.link_of
        return RequestNotification(notice, about, request, tenant.name, link_of(tenant.id, about.request_id))

    async def _notify(self, job: Job, wanted: Loaded) -> bool:
        """Whether everybody has it who can ever have it."""
        notice = wanted.notice
        try:
            mails = await self._compose(job, notice, await self._find_recipients(wanted))
            chunks = [mails[begin : begin + BATCH_SIZE] for begin in range(0, len(mails), BATCH_SIZE)]
            return all([await self._send_batch(job, notice, each) for each in chunks])
        except TryAgain as fault:
            logger.warning("A notice will be retried.", extra={**_about(job, notice), "reason": fault.reason})
            return False

    async def _find_recipients(self, wanted: Loaded) -> AddressedNotification:
        """Raises TryAgain when the directory does not answer."""
        match wanted:
            case RequestNotification(notice=notice, about=about, request=request):
                users = pending_recipients(notice, request_recipients(about, request))
                return AddressedNotification(wanted, users, await self._people(notice.tenant_id, users))
            case PendingReport():
                return await self._find_report_recipients(wanted)
            case PendingDrift(notice=notice, tenant=tenant):
                answer = await self.people.look_up(administrators_question(tenant))
                users = pending_recipients(notice, administrators(tenant, answer))
                notification = DriftNotification(notice, wanted.findings, wanted.number, tenant.name)
                return AddressedNotification(notification, users, await self._people(tenant.id, users))

    async def _find_report_recipients(self, wanted: PendingReport) -> AddressedNotification:
        notice, report, tenant = wanted.notice, wanted.report, wanted.tenant
        found = candidates(report, tenant, await self.people.look_up(recipients_question(report, tenant)))
        people = await self._people(tenant.id, {*found.owners, *found.administrators, *report.unnamed})
        recipients = report_recipients(found, people)
        notification = PolicyNotification(
            notice, add_names(report, people), tenant.name, recipients.are_owners, self.confirm_address
        )
        return AddressedNotification(notification, pending_recipients(notice, recipients.users), people)

    async def _people(self, tenant_id: TenantId, users: Collection[UserId]) -> Mapping[UserId, Person]:
        if not users:
            return {}
        return (await self.people.look_up(PeopleQuestion(tenant_id, users=frozenset(users)))).people

    async def _compose(self, job: Job, notice: Notice, addressed: AddressedNotification) -> Sequence[Mail]:
        """Render the mails. Recipients without an address are logged and left out."""
        users, people = addressed.users, addressed.people
        addresses = _addresses(users, people)
        for user in (unknown := [user for user in users if user not in addresses]):
            extra = {**_about(job, notice), "userId": str(user)}
            logger.warning("A recipient has no mail address in the directory.", extra=extra)
        await self._save_notified(notice, unknown)
        readers = {user: (language_for(people[user]), self._asked(addressed.notification, user)) for user in addresses}
        # Most notices have the same content for all of a language.
        contents = {reader: _render(addressed.notification, *reader) for reader in set(readers.values())}
        return [to_mail(notice, contents[readers[user]], people[user], address) for user, address in addresses.items()]

    def _asked(self, notification: object, user: UserId) -> Asked | None:
        """Return the part of a mail for this user only, or None."""
        if not isinstance(notification, RequestNotification) or notification.about.kind not in ASKING:
            return None
        about, approvals, tokens = notification.about, notification.request.approvals, self.reply_tokens
        approver = represented_by(approvals, user)
        token = None
        if tokens is not None and about.level is not None:
            token = tokens.sign(Asking(notification.notice.tenant_id, about.request_id, about.level, user))
        return Asked(None if approver is None else approver.display_name, token)

    async def _send_batch(self, job: Job, notice: Notice, mails: Sequence[Mail]) -> bool:
        """Return whether no mail of this batch needs a retry.

        Raises TryAgain if the server cannot be used.
        """
        if self.server is None:
            raise TryAgain(timedelta(0), "No mail server is set: CHAMBERLAIN_SMTP_URL is empty.")
        outcomes = dict(zip(mails, await self.server.send(mails), strict=True))
        await self._save_notified(
            notice, [mail.to for mail, each in outcomes.items() if not isinstance(each, TryAgain)]
        )
        for mail, outcome in outcomes.items():
            _log(_about(job, notice), mail, outcome)
        return not any(isinstance(each, TryAgain) for each in outcomes.values())

    async def _save_notified(self, notice: Notice, users: Sequence[UserId]) -> None:
        if users:
            async with self.database.transaction(notice.tenant_id) as tx:
                await store.save_notified(tx, notice.id, users)

    async def _retry_later(self, claim: Claim, job: Job, notice: Notice) -> None:
        async with self.database.across_tenants() as tx:
            now = await self.now(tx)
        after = next_wait(notice.attempts + 1, notice, now)
        if after is None:
            logger.error("A notice is given up after days of retries.", extra=_about(job, notice))
            await self._complete(claim, job)
            return
        async with self.database.transaction(job.tenant_id) as tx:
            if await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)]):
                await store.count_attempt(tx, notice.id)

    async def _complete(self, claim: Claim, job: Job) -> None:
        async with self.database.transaction(job.tenant_id) as tx:
            if await queue_jobs.complete(tx, claim.lease_id, [job.id]):
                await store.delete(tx, NoticeId(job.subject))


def _render(
    notification: RequestNotification | PolicyNotification | DriftNotification, language: Language, asked: Asked | None
) -> EmailContent:
    match notification:
        case RequestNotification():
            return request_email(notification, language, asked)
        case PolicyNotification():
            return policy_email(notification, language)
        case DriftNotification():
            return drift_email(notification, language)


def _addresses(users: Iterable[UserId], people: Mapping[UserId, Person]) -> Mapping[UserId, str]:
    found = {user: address_of(people[user]) for user in users if user in people}
    return {user: address for user, address in found.items() if address is not None}


def _log(about: Mapping[str, object], mail: Mail, outcome: OutsideFault | None) -> None:
    extra = {**about, "userId": str(mail.to)}
    if isinstance(outcome, Rejected):
        logger.warning("A notice was refused permanently.", extra={**extra, "reason": outcome.detail})
    elif outcome is not None:
        logger.warning("A notice will be retried for one of its recipients.", extra={**extra, "reason": str(outcome)})


def _about(job: Job, notice: Notice) -> Mapping[str, object]:
    return {
        **_subject_of(notice),
        "noticeId": str(notice.id),
        "tenantId": str(notice.tenant_id),
        "traceId": job.trace_id,
    }


def _subject_of(notice: Notice) -> Mapping[str, object]:
    match notice.about:
        case AboutRequest(kind, request_id):
            return {"kind": kind, "requestId": str(request_id)}
        case AboutSubject(subject_id):
            return {"kind": POLICY_REPORT, "subjectId": str(subject_id)}
        case AboutDrift():
            return {"kind": DRIFT_REPORT}


JOBS = JobTable(NoticeJobs, {JobKind.NOTICE_SEND: NoticeJobs.send, JobKind.DRIFT_REPORT: NoticeJobs.send})
