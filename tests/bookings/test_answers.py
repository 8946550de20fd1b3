# SPDX-License-Identifier: Apache-2.0
"""Answers of resources to invitations by mail, with PostgreSQL and fake servers.

They need icalendar, which is in the environment of the suite.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from chamberlain.bookings.jobs import BookingJobs
from chamberlain.bookings.models import Put, Stored
from chamberlain.bookings.port import BookingServers
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import JobId, TenantId, TraceId
from chamberlain.queue.models import Claim, Job, JobKind
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
from tests.estates import ESTATE

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
        """Run the job of the tenant once."""
        job = Job(JobId(1), ESTATE, JobKind.BOOKING_ANSWER, ESTATE, TraceId("1" * 32), 0, NOW)
        jobs = BookingJobs(self.databases.worker, self._find, uuid4, lambda: self.moment)
        await jobs.answer(Claim(uuid4(), (job,)))

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
    others = [Answering(answering.databases, answering.fake) for _ in range(4)]
    for number in range(5):
        answering.fake.deliver(gmail_mail(changed(GMAIL, (OTHER[0], f"UID:{number}@google.com"))))

    await asyncio.gather(*(each.run() for each in others))
    await answering.run()

    assert sorted(each.split(":")[0] for each in answering.fake.subjects()) == ["Accepted", *["Declined"] * 4]


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
