"""Send a notice: whoever is to be told gets a mail, at least once, and always under the same id.

Whom it goes to is asked of the directory when it is sent, and what it says is what is so then. Those who have it are
put down before the next ones get theirs. What is refused for one recipient keeps it from nobody else; what may work
later is tried again, and given up after days with a line in the log.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import NoticeId, RequestId, TenantId, UserId
from chamberlain.database.clock import ReadTime
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.models import PeopleQuestion, Person
from chamberlain.directory.port import People
from chamberlain.guests.policies import report_records
from chamberlain.guests.policies.reports import POLICY_REPORT, Report, named
from chamberlain.notifications import store
from chamberlain.notifications.mail_server import MailServer
from chamberlain.notifications.models import (
    AboutRequest,
    AboutSubject,
    Notice,
    concerned_by,
    still_to_be_told,
    wait_after,
)
from chamberlain.notifications.recipients import candidates, question_of, readers
from chamberlain.notifications.rendering import (
    Letter,
    Mail,
    PolicyNews,
    RequestNews,
    address_of,
    language_for,
    mail_of,
    policy_letter,
    request_letter,
)
from chamberlain.notifications.words import Language
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable
from chamberlain.requests import records as request_records
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

# How many go over one connection before those who have theirs are put down.
TOGETHER = 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WantedReport:
    """A report for which it is still to be found out who reads it."""

    notice: Notice
    report: Report
    tenant: Tenant


@dataclass(frozen=True, slots=True)
class Addressed:
    """What is told, and to whom; `people` are those of them whom the directory knows."""

    news: RequestNews | PolicyNews
    users: Sequence[UserId]
    people: Mapping[UserId, Person]


@dataclass(frozen=True, slots=True)
class NoticeJobs:
    """Works as the worker's role. Without a `server`, what was written when there was one waits for it until it is
    given up. `link_of` gives where a person can look at a request, if somewhere; `confirm_address` is where a finding
    is confirmed, with ID for its id."""

    database: Database
    people: People
    server: MailServer | None
    link_of: Callable[[TenantId, RequestId], str | None]
    confirm_address: str
    now: ReadTime

    async def send(self, claim: Claim) -> None:
        """Raises Unavailable."""
        for job in claim.jobs:
            wanted = await self._load(job)
            if wanted is None or await self._tell(job, wanted):
                await self._complete(claim, job)
            else:
                await self._try_later(claim, job, wanted.notice)

    async def _load(self, job: Job) -> RequestNews | WantedReport | None:
        async with self.database.transaction(job.tenant_id) as tx:
            notice = await store.find(tx, NoticeId(job.subject))
            tenant = await tenant_records.find(tx, job.tenant_id)
            if notice is None or tenant is None:
                return None
            match notice.about:
                case AboutRequest() as about:
                    return await self._news(tx, notice, about, tenant)
                case AboutSubject(subject_id):
                    report = await report_records.find(tx, tenant.id, subject_id, notice.id)
                    return None if report is None or report.is_empty else WantedReport(notice, report, tenant)

    async def _news(self, tx: Transaction, notice: Notice, about: AboutRequest, tenant: Tenant) -> RequestNews | None:
        request = await request_records.find(tx, about.request_id)
        if request is None:
            return None
        return RequestNews(notice, about, request, tenant.name, self.link_of(tenant.id, about.request_id))

    async def _tell(self, job: Job, wanted: RequestNews | WantedReport) -> bool:
        """Whether everybody has it who can ever have it."""
        notice = wanted.notice
        try:
            mails = await self._compose(job, notice, await self._address(wanted))
            chunks = [mails[begin : begin + TOGETHER] for begin in range(0, len(mails), TOGETHER)]
            return all([await self._send(job, notice, each) for each in chunks])
        except TryAgain as fault:
            logger.warning("A notice waits.", extra={**_about(job, notice), "reason": fault.reason})
            return False

    async def _address(self, wanted: RequestNews | WantedReport) -> Addressed:
        """Raises TryAgain when the directory does not answer."""
        match wanted:
            case RequestNews(notice=notice, about=about, request=request):
                users = still_to_be_told(notice, concerned_by(about, request))
                return Addressed(wanted, users, await self._people(notice.tenant_id, users))
            case WantedReport():
                return await self._find_readers(wanted)

    async def _find_readers(self, wanted: WantedReport) -> Addressed:
        notice, report, tenant = wanted.notice, wanted.report, wanted.tenant
        asked = candidates(report, tenant, await self.people.look_up(question_of(report, tenant)))
        people = await self._people(tenant.id, {*asked.owners, *asked.administrators, *report.unnamed})
        told = readers(asked, people)
        news = PolicyNews(notice, named(report, people), tenant.name, told.are_owners, self.confirm_address)
        return Addressed(news, still_to_be_told(notice, told.users), people)

    async def _people(self, tenant_id: TenantId, users: Collection[UserId]) -> Mapping[UserId, Person]:
        if not users:
            return {}
        return (await self.people.look_up(PeopleQuestion(tenant_id, users=frozenset(users)))).people

    async def _compose(self, job: Job, notice: Notice, addressed: Addressed) -> Sequence[Mail]:
        """Whoever has no address in the directory is told nothing."""
        users, people = addressed.users, addressed.people
        addresses = _addresses(users, people)
        for user in (unknown := [user for user in users if user not in addresses]):
            extra = {**_about(job, notice), "userId": str(user)}
            logger.warning("Somebody cannot be told: the directory has no mail address of theirs.", extra=extra)
        await self._put_down(notice, unknown)
        languages = {language_for(people[user]) for user in addresses}
        letters = {language: _letter(addressed.news, language) for language in languages}
        return [
            mail_of(notice, letters[language_for(people[user])], people[user], address)
            for user, address in addresses.items()
        ]

    async def _send(self, job: Job, notice: Notice, mails: Sequence[Mail]) -> bool:
        """Whether none of these is to be tried again. Raises TryAgain when the server is not to be spoken to."""
        if self.server is None:
            raise TryAgain(timedelta(0), "No mail server is set: CHAMBERLAIN_SMTP_URL is empty.")
        outcomes = dict(zip(mails, await self.server.send(mails), strict=True))
        await self._put_down(notice, [mail.to for mail, each in outcomes.items() if not isinstance(each, TryAgain)])
        for mail, outcome in outcomes.items():
            _log(_about(job, notice), mail, outcome)
        return not any(isinstance(each, TryAgain) for each in outcomes.values())

    async def _put_down(self, notice: Notice, users: Sequence[UserId]) -> None:
        if users:
            async with self.database.transaction(notice.tenant_id) as tx:
                await store.note_told(tx, notice.id, users)

    async def _try_later(self, claim: Claim, job: Job, notice: Notice) -> None:
        async with self.database.across_tenants() as tx:
            now = await self.now(tx)
        after = wait_after(notice.attempts + 1, notice, now)
        if after is None:
            logger.error("A notice is given up: it was tried for days.", extra=_about(job, notice))
            await self._complete(claim, job)
            return
        async with self.database.transaction(job.tenant_id) as tx:
            if await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)]):
                await store.note_attempt(tx, notice.id)

    async def _complete(self, claim: Claim, job: Job) -> None:
        async with self.database.transaction(job.tenant_id) as tx:
            if await queue_jobs.complete(tx, claim.lease_id, [job.id]):
                await store.remove(tx, NoticeId(job.subject))


def _letter(news: RequestNews | PolicyNews, language: Language) -> Letter:
    match news:
        case RequestNews():
            return request_letter(news, language)
        case PolicyNews():
            return policy_letter(news, language)


def _addresses(users: Iterable[UserId], people: Mapping[UserId, Person]) -> Mapping[UserId, str]:
    found = {user: address_of(people[user]) for user in users if user in people}
    return {user: address for user, address in found.items() if address is not None}


def _log(about: Mapping[str, object], mail: Mail, outcome: OutsideFault | None) -> None:
    extra = {**about, "userId": str(mail.to)}
    if isinstance(outcome, Rejected):
        logger.warning("A notice was refused for good.", extra={**extra, "reason": outcome.detail})
    elif outcome is not None:
        logger.warning("A notice waits for one of its recipients.", extra={**extra, "reason": str(outcome)})


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


JOBS = JobTable(NoticeJobs, {JobKind.NOTICE_SEND: NoticeJobs.send})
