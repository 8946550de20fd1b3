# SPDX-License-Identifier: Apache-2.0
"""Answers of resources to invitations by mail, with PostgreSQL and fake servers.

They need icalendar, which is in the environment of the suite.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from chamberlain.bookings.jobs import BookingJobs
from chamberlain.bookings.models import Put, Stored
from chamberlain.bookings.port import BookingServers
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import JobId, TenantId, TraceId
from chamberlain.database.notify import REQUESTS_CHANNEL, Notifier
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind
from chamberlain.queue.worker import Loop, Pace
from chamberlain.requests.finish import RequestJobHolder
from tests.bookings.fake_servers import FakeServers
from tests.bookings.recorded_mails import (
    BIRCH,
    CALENDARS,
    GMAIL,
    MAILS,
    OUTLOOK,
    THUNDERBIRD,
    changed,
    gmail_mail,
    outlook_mail,
    thunderbird_mail,
)
from tests.databases import Databases
from tests.estates import ESTATE, until

pytestmark = [pytest.mark.suite, pytest.mark.needs("suite")]
NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
UID = "5d4a29cd-4a0e-4a7c-9a52-2f6f1c3a7b10"
OTHER = ("UID:3k1p9q2r7s8t@google.com", "UID:other@google.com")


@dataclass(slots=True)
class Answering:
    """The job of one worker, with its servers."""

    databases: Databases
    fake: FakeServers
    moment: datetime = NOW

    async def run(self) -> None:
        """Find the mail of the tenant, and answer it once."""
        jobs = BookingJobs(self.databases.worker, self._find, lambda: self.moment)
        await self.find()
        await jobs.answer(await self.claim())

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """A worker that answers mails for the duration of the block."""
        jobs = BookingJobs(self.databases.worker, self._find, lambda: self.moment)
        loop = Loop(
            database=self.databases.worker,
            handlers={JobKind.BOOKING_MAIL: jobs.answer},
            wake=asyncio.Event(),
            new_id=uuid4,
            holder=RequestJobHolder(
                self.databases.worker, Notifier(self.databases.addresses.application, REQUESTS_CHANNEL)
            ),
            observe=lambda *_: None,
            pace=Pace(poll=timedelta(milliseconds=20), pause=timedelta(milliseconds=20)),
        )
        task = asyncio.create_task(loop.run())
        try:
            yield
        finally:
            loop.stop()
            await task

    async def find(self) -> None:
        """Queue the mail of the tenant."""
        jobs = BookingJobs(self.databases.worker, self._find, lambda: self.moment)
        finding = Job(JobId(1), ESTATE, JobKind.BOOKING_ANSWER, ESTATE, TraceId("1" * 32), 0, NOW)
        await jobs.find(Claim(uuid4(), (finding,)))

    async def claim(self) -> Claim:
        """Claim the jobs of all mails as a worker does. They are due again."""
        lease_id = uuid4()
        async with self.databases.worker.across_tenants() as tx:
            await tx.execute(
                "UPDATE chamberlain.job SET run_at = now(), is_scheduled = false WHERE kind = 'bookingMail'"
            )
            jobs = await queue_jobs.claim(
                tx, lease_id, kinds=[JobKind.BOOKING_MAIL], most=50, lease=timedelta(minutes=1), tenant_limit=50
            )
        return Claim(lease_id, tuple(sorted(jobs, key=lambda each: each.id)))

    async def has_sent(self, number: int) -> bool:
        return len(self.fake.sent) >= number

    async def held(self) -> Sequence[str]:
        """The reasons of held jobs."""
        async with self.databases.worker.across_tenants() as tx:
            rows = await tx.fetch("SELECT held_reason FROM chamberlain.job WHERE held_reason IS NOT NULL")
        return [row["held_reason"] for row in rows]

    async def _find(self, tenant_id: TenantId) -> BookingServers | None:
        assert tenant_id == ESTATE
        return self.fake.servers

    async def states(self) -> Sequence[str]:
        async with self.databases.worker.across_tenants() as tx:
            rows = await tx.fetch("SELECT state FROM chamberlain.booking_answer ORDER BY sequence, recurrence")
        return [row["state"] for row in rows]

    async def forget_time(self) -> None:
        """Let the times of the database pass."""
        async with self.databases.worker.across_tenants() as tx:
            await tx.execute("UPDATE chamberlain.booking_answer SET updated_at = updated_at - interval '1 hour'")
            await tx.execute("UPDATE chamberlain.booking_lease SET lease_until = now() - interval '1 s'")
            await tx.execute(
                "UPDATE chamberlain.job SET lease_until = now() - interval '1 s' WHERE lease_until > now()"
            )
            row = await tx.fetch_row("SELECT now() AS now")
        assert row is not None
        self.moment = row["now"]


@pytest.fixture
def answering(databases: Databases) -> Answering:
    return Answering(databases, FakeServers())


@pytest.mark.parametrize("client", CALENDARS)
async def test_it_works(answering: Answering, client: str) -> None:
    answering.fake.deliver(MAILS[client](CALENDARS[client]))

    await answering.run()

    (reply,) = answering.fake.sent
    assert (reply.sender, reply.recipient) == ("birch@estate.example", "vera@outside.example")
    assert b"Subject: Accepted: Plan" in reply.content
    assert b"The key is at the reception." in reply.content
    assert len(answering.fake.objects) == 1
    assert answering.fake.handled == {1}
    assert await answering.states() == ["done"]


async def test_a_conflict_is_declined(answering: Answering) -> None:
    answering.fake.deliver(thunderbird_mail(THUNDERBIRD))
    answering.fake.deliver(gmail_mail(GMAIL))

    await answering.run()

    assert answering.fake.subjects() == ["Accepted: Planning", "Declined: Planning"]
    assert len(answering.fake.objects) == 1


async def test_equipment_has_several_units(answering: Answering) -> None:
    answering.fake.resources_ = [replace(BIRCH, most_bookings=2)]
    for calendar in (GMAIL, changed(GMAIL, OTHER), changed(GMAIL, (OTHER[0], "UID:third@google.com"))):
        answering.fake.deliver(gmail_mail(calendar))

    await answering.run()

    assert [each.split(":")[0] for each in answering.fake.subjects()] == ["Accepted", "Accepted", "Declined"]


async def test_the_same_mail_is_answered_once(answering: Answering) -> None:
    for _ in range(3):
        answering.fake.deliver(outlook_mail(OUTLOOK))

    await answering.run()
    answering.fake.handled.clear()
    await answering.run()

    assert answering.fake.subjects() == ["Accepted: Planung"]


async def test_two_workers_answer_once(answering: Answering) -> None:
    for number in range(5):
        answering.fake.deliver(gmail_mail(changed(GMAIL, (OTHER[0], f"UID:{number}@google.com"))))

    async with answering.working(), answering.working():
        for _ in range(3):
            await answering.find()
            answering.fake.handled.clear()
        await until(lambda: answering.has_sent(5))

    assert sorted(each.split(":")[0] for each in answering.fake.subjects()) == ["Accepted", *["Declined"] * 4]


async def test_a_resource_answers_on_after_a_crash(answering: Answering) -> None:
    answering.fake.is_cut_short = True
    answering.fake.deliver(gmail_mail(GMAIL))
    answering.fake.deliver(gmail_mail(changed(GMAIL, OTHER)))
    with pytest.raises(ConnectionAbortedError):
        await answering.run()
    async with answering.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.job SET lease_until = now() - interval '1 s' WHERE lease_until > now()")
        # A killed worker does not give it back.
        await tx.execute(
            "INSERT INTO chamberlain.booking_lease (tenant_id, resource_id, lease_id, lease_until) "
            "SELECT tenant_id, resource_id, mail_id, now() + interval '5 min' FROM chamberlain.booking_mail "
            "ORDER BY uid LIMIT 1"
        )

    await answering.run()

    assert answering.fake.subjects() == ["Accepted: Planning", "Declined: Planning"]


async def test_a_mail_with_a_bug_is_held_and_the_others_are_answered(answering: Answering) -> None:
    answering.fake.unread_faults[1] = RuntimeError("A bug.")
    for calendar in (GMAIL, changed(GMAIL, OTHER), OUTLOOK):
        answering.fake.deliver(gmail_mail(calendar))
    await answering.find()

    async with answering.working():
        await until(lambda: answering.has_sent(2))

    assert await answering.held() == ["Its run met a bug. The log has it under this trace id."]
    await answering.run()
    assert len(answering.fake.sent) == 2


async def test_a_refused_mail_is_held(answering: Answering) -> None:
    answering.fake.unread_faults[1] = Rejected("notAccepted", "The mail server refuses the folder.")
    for calendar in (GMAIL, changed(GMAIL, OTHER)):
        answering.fake.deliver(gmail_mail(calendar))

    await answering.run()

    assert await answering.held() == ["The mail server refuses the folder."]
    assert answering.fake.subjects() == ["Accepted: Planning"]


@pytest.mark.parametrize(("waited", "is_held"), [(timedelta(hours=23), False), (timedelta(hours=25), True)])
async def test_a_mail_that_servers_do_not_take_for_a_day_is_held(
    answering: Answering, waited: timedelta, *, is_held: bool
) -> None:
    answering.fake.unread_faults[1] = TryAgain(timedelta(0), "The calendar server answered with the HTTP status 500.")
    answering.fake.deliver(gmail_mail(GMAIL))
    answering.fake.deliver(gmail_mail(changed(GMAIL, OTHER)))

    answering.moment = datetime.now(UTC) + waited
    await answering.run()

    assert await answering.held() == ["The calendar server answered with the HTTP status 500."] * is_held
    assert len(answering.fake.sent) == 1


async def test_a_change_moves_the_booking(answering: Answering) -> None:
    later = changed(GMAIL, ("T090000Z", "T130000Z"), ("T100000Z", "T140000Z"), ("SEQUENCE:0", "SEQUENCE:1"))
    for calendar in (GMAIL, later, changed(GMAIL, OTHER)):
        answering.fake.deliver(gmail_mail(calendar))

    await answering.run()

    assert [each.split(":")[0] for each in answering.fake.subjects()] == ["Accepted"] * 3


async def test_a_declined_change_releases_the_booking(answering: Answering) -> None:
    moved = changed(GMAIL, ("T090000Z", "T130000Z"), ("T100000Z", "T140000Z"))
    later = changed(moved, ("SEQUENCE:0", "SEQUENCE:1"))
    for calendar in (GMAIL, changed(moved, OTHER), later):
        answering.fake.deliver(gmail_mail(calendar))

    await answering.run()

    assert [each.split(":")[0] for each in answering.fake.subjects()] == ["Accepted", "Accepted", "Declined"]
    assert list(answering.fake.objects) == ["/birch/other@google.com.ics"]


async def test_a_cancellation_frees_the_resource(answering: Answering) -> None:
    cancelled = changed(OUTLOOK, ("METHOD:REQUEST", "METHOD:CANCEL"), ("STATUS:CONFIRMED", "STATUS:CANCELLED"))
    answering.fake.deliver(outlook_mail(OUTLOOK))
    answering.fake.deliver(outlook_mail(cancelled))
    answering.fake.deliver(outlook_mail(OUTLOOK))

    await answering.run()

    # A cancellation is not answered, and the invitation before it does not come back.
    assert answering.fake.subjects() == ["Accepted: Planung"]
    assert answering.fake.objects == {}


@pytest.mark.parametrize(
    ("organizer", "sender"),
    [
        ("eve@other.example", "eve@other.example"),
        ("vera@outside.example", "eve@other.example"),
        ("eve@other.example", "vera@outside.example"),
    ],
)
@pytest.mark.parametrize("method", ["CANCEL", "REQUEST"])
async def test_another_person_cannot_cancel_or_move(
    answering: Answering, method: str, organizer: str, sender: str
) -> None:
    forged = changed(
        GMAIL,
        ("METHOD:REQUEST", f"METHOD:{method}"),
        ("T090000Z", "T130000Z"),
        ("T100000Z", "T140000Z"),
        ("SEQUENCE:0", "SEQUENCE:9"),
        ("ORGANIZER;CN=Vera Outside:mailto:vera@outside.example", f"ORGANIZER:mailto:{organizer}"),
    )
    answering.fake.deliver(gmail_mail(GMAIL))
    await answering.run()
    before = dict(answering.fake.objects)

    answering.fake.deliver(
        gmail_mail(forged).replace(b"From: Vera Outside <vera@outside.example>", f"From: {sender}".encode())
    )
    await answering.run()

    assert answering.fake.objects == before
    assert len(answering.fake.sent) == 1


async def test_the_booking_of_an_occurrence_cannot_be_taken_by_its_uid(answering: Answering) -> None:
    single = changed(GMAIL, added=["RECURRENCE-ID:20261201T090000Z"])
    taking = changed(
        GMAIL,
        ("ORGANIZER;CN=Vera Outside:mailto:vera@outside.example", "ORGANIZER:mailto:eve@other.example"),
        ("T090000Z", "T130000Z"),
        ("T100000Z", "T140000Z"),
        ("UID:3k1p9q2r7s8t@google.com", "UID:3k1p9q2r7s8t@google.com_occurrence_20261201T090000Z"),
    )
    answering.fake.deliver(gmail_mail(single))
    await answering.run()
    before = dict(answering.fake.objects)

    answering.fake.deliver(
        gmail_mail(taking).replace(b"From: Vera Outside <vera@outside.example>", b"From: eve@other.example")
    )
    await answering.run()

    assert answering.fake.objects == before
    assert [each.split(":")[0] for each in answering.fake.subjects()] == ["Accepted", "Declined"]


@pytest.mark.parametrize(
    ("envelope", "is_answered"),
    [
        (None, False),
        ("eve@other.example", False),
        ("ben@outside.example", False),
        ("vera@outside.example", True),
        ("vera.alias@outside.example", True),
    ],
)
async def test_a_person_here_invites_from_the_own_account(
    answering: Answering, envelope: str | None, *, is_answered: bool
) -> None:
    logins = {"vera@outside.example": "vera", "vera.alias@outside.example": "vera", "ben@outside.example": "ben"}
    answering.fake.people.update(logins)
    answering.fake.deliver(thunderbird_mail(THUNDERBIRD, [] if envelope is None else [f"Return-Path: <{envelope}>"]))

    await answering.run()

    assert len(answering.fake.sent) == is_answered
    assert answering.fake.handled == {1}


async def test_an_internal_organizer_has_the_booking(answering: Answering) -> None:
    answering.fake.people["vera@outside.example"] = "vera"
    answering.fake.deliver(thunderbird_mail(THUNDERBIRD, ["Return-Path: <vera@outside.example>"]))

    await answering.run()

    assert sorted(answering.fake.objects) == [f"/birch/{UID}.ics", f"/vera/{UID}.ics"]
    assert "SCHEDULE-AGENT=CLIENT" in answering.fake.objects[f"/vera/{UID}.ics"].text.replace("\r\n ", "")


async def test_a_booking_of_the_calendar_server_is_not_answered(answering: Answering) -> None:
    text = GMAIL.replace("METHOD:REQUEST\n", "").replace("NEEDS-ACTION", "ACCEPTED")
    answering.fake.objects["/birch/x.ics"] = Stored("/birch/x.ics", "1", text)
    answering.fake.deliver(gmail_mail(GMAIL))

    await answering.run()

    assert answering.fake.sent == []
    assert await answering.states() == ["done"]


async def test_a_role_that_the_server_does_not_book_is_booked(answering: Answering) -> None:
    answering.fake.people["vera@outside.example"] = "vera"
    text = OUTLOOK.replace("METHOD:REQUEST\n", "").replace("NEEDS-ACTION", "ACCEPTED")
    answering.fake.objects["/vera/x.ics"] = Stored("/vera/x.ics", "1", text)
    answering.fake.deliver(outlook_mail(OUTLOOK, ["Return-Path: <vera@outside.example>"]))

    await answering.run()

    assert "NON-PARTICIPANT" not in answering.fake.objects["/vera/x.ics"].text.replace("\r\n ", "")
    assert answering.fake.subjects() == ["Accepted: Planung"]


@pytest.mark.parametrize(
    ("answers", "subject"),
    [
        ([Put.CHANGED], "Accepted: Planning"),
        ([Put.OCCUPIED], "Declined: Planning"),
        ([Put.REFUSED], "Declined: Planning"),
    ],
)
async def test_refusals_of_the_calendar(answering: Answering, answers: list[Put], subject: str) -> None:
    answering.fake.put_answers = answers
    answering.fake.deliver(gmail_mail(GMAIL))

    await answering.run()

    assert answering.fake.subjects() == [subject]


async def test_a_reply_that_was_accepted_before_a_crash_is_not_sent_again(answering: Answering) -> None:
    answering.fake.is_cut_short = True
    answering.fake.deliver(gmail_mail(GMAIL))

    with pytest.raises(ConnectionAbortedError):
        await answering.run()
    assert await answering.states() == ["sending"]
    await answering.forget_time()
    await answering.run()

    assert len(answering.fake.sent) == 1
    assert await answering.states() == ["done"]


async def test_a_reply_that_was_not_accepted_is_sent_later(answering: Answering) -> None:
    answering.fake.fault = TryAgain(timedelta(0), "The mail server defers it.")
    answering.fake.deliver(gmail_mail(GMAIL))

    await answering.run()
    await answering.run()
    assert answering.fake.sent == []
    for _ in range(2):
        await answering.forget_time()
        await answering.run()

    assert answering.fake.subjects() == ["Accepted: Planning"]
    assert len(answering.fake.objects) == 1


async def test_a_reply_that_was_refused_is_given_up(answering: Answering) -> None:
    answering.fake.fault = Rejected("mailRefused", "The mail server refuses it.")
    answering.fake.deliver(gmail_mail(GMAIL))

    await answering.run()

    assert answering.fake.handled == {1}
    assert await answering.states() == ["done"]


async def test_a_crash_before_the_decision_repeats_it(answering: Answering) -> None:
    answering.fake.put_answers = [Put.CHANGED] * 5
    answering.fake.deliver(gmail_mail(GMAIL))

    await answering.run()
    assert await answering.states() == ["claimed"]
    await answering.run()

    assert answering.fake.subjects() == ["Accepted: Planning"]
