"""Send a notice: whoever is to be told gets a mail, at least once, and always under the same id.

Whom it goes to is asked of the directory when it is sent, and those who have it are put down before the next ones get
theirs. What is refused for one recipient keeps it from nobody else; what may work later is tried again, and given up
after days with a line in the log.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from chamberlain.directory.port import People
from chamberlain.notices.server import MailServer
from chamberlain.rules.errors import OutsideFault, Rejected, TryAgain
from chamberlain.rules.ids import NoticeId, RequestId, TenantId, UserId
from chamberlain.rules.jobs import Claim, Job, Postponed
from chamberlain.rules.notice_mails import Mail, News, address_of, compose
from chamberlain.rules.notices import Notice, recipients, wait_after
from chamberlain.rules.people import PeopleQuestion, Person
from chamberlain.store import jobs, notices, requests, tenants
from chamberlain.store.database import Database

# How many go over one connection before those who have theirs are put down.
TOGETHER = 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SendNotices:
    """Works as the worker's role. Without a `server`, what was written when there was one waits for it until it is
    given up. `link_of` gives where a person can look at a request, if somewhere."""

    database: Database
    people: People
    server: MailServer | None
    link_of: Callable[[TenantId, RequestId], str | None]
    now: Callable[[], datetime]

    async def __call__(self, claim: Claim) -> None:
        """Raises Unavailable."""
        for job in claim.jobs:
            news = await self._load(job)
            if news is None or await self._tell(job, news):
                await self._complete(claim, job)
            else:
                await self._try_later(claim, job, news.notice)

    async def _load(self, job: Job) -> News | None:
        async with self.database.transaction(job.tenant_id) as tx:
            notice = await notices.find(tx, NoticeId(job.subject))
            request = None if notice is None else await requests.find(tx, notice.request_id)
            tenant = await tenants.find(tx, job.tenant_id)
        if notice is None or request is None or tenant is None:
            return None
        return News(notice, request, tenant.name, self.link_of(tenant.id, request.request_id))

    async def _tell(self, job: Job, news: News) -> bool:
        """Whether everybody has it who can ever have it."""
        users = recipients(news.notice, news.request)
        try:
            mails = await self._compose(job, news, users) if users else ()
            chunks = [mails[begin : begin + TOGETHER] for begin in range(0, len(mails), TOGETHER)]
            return all([await self._send(job, news.notice, each) for each in chunks])
        except TryAgain as fault:
            logger.warning("A notice waits.", extra={**_about(job, news.notice), "reason": fault.reason})
            return False

    async def _compose(self, job: Job, news: News, users: Sequence[UserId]) -> Sequence[Mail]:
        """Raises TryAgain when the directory does not answer. Whoever has no address there is told nothing."""
        answer = await self.people.look_up(PeopleQuestion(news.notice.tenant_id, users=frozenset(users)))
        addresses = _addresses(users, answer.people)
        for user in (unknown := [user for user in users if user not in addresses]):
            extra = {**_about(job, news.notice), "userId": str(user)}
            logger.warning("Somebody cannot be told: the directory has no mail address of theirs.", extra=extra)
        await self._put_down(news.notice, unknown)
        return [compose(news, answer.people[user], address) for user, address in addresses.items()]

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
                await notices.note_told(tx, notice.id, users)

    async def _try_later(self, claim: Claim, job: Job, notice: Notice) -> None:
        after = wait_after(notice.attempts + 1, notice, self.now())
        if after is None:
            logger.error("A notice is given up: it was tried for days.", extra=_about(job, notice))
            await self._complete(claim, job)
            return
        async with self.database.transaction(job.tenant_id) as tx:
            if await jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)]):
                await notices.note_attempt(tx, notice.id)

    async def _complete(self, claim: Claim, job: Job) -> None:
        async with self.database.transaction(job.tenant_id) as tx:
            if await jobs.complete(tx, claim.lease_id, [job.id]):
                await notices.remove(tx, NoticeId(job.subject))


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
        "kind": notice.kind,
        "noticeId": str(notice.id),
        "requestId": str(notice.request_id),
        "tenantId": str(notice.tenant_id),
        "traceId": job.trace_id,
    }
