# SPDX-License-Identifier: Apache-2.0
"""Mail for owners about the policy of their group: one report for each run, with the state at the time of sending."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.audit.erasure import UserEraser
from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import PolicyId, UserId
from chamberlain.directory.port import ActOutcome
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.findings.service import FindingService
from chamberlain.guests.models import FindingFilter, FindingKind, FindingRecord
from chamberlain.guests.policies.reports import MAX_NAMED
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, ESTATE, OPERATOR, TRACE, Estate, caller_of, service_of
from tests.fake_smtp_server import FakeSmtpServer, Received, open_smtp_server
from tests.guests.assignments.guest_fixture import GIL, HANDBOOK, ZERO, guest_fixture
from tests.guests.findings.finding_fixture import finding_fixture, rendered
from tests.guests.policies.policy_runs import Runs, make_guests, new_group
from tests.notifications.notice_fixture import (
    CONFIRM,
    HAS_MAIL,
    SPEAKS,
    NoticeFixture,
    notice_fixture,
    open_databases_with_notices,
)
from tests.requests.request_services import act

POLICY = PolicyId(UUID("90110000-0000-4000-8000-0000000000f1"))
REVIEW: Mapping[str, object] = {
    "everyDays": 30,
    "answerDays": 10,
    "confirmedBy": "owners",
    "reminderDays": [10, 3],
    "action": "disable",
}
EXPIRY: Mapping[str, object] = {"afterDays": 90, "reminderDays": [14], "action": "remove"}
OWN = """
INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group)
VALUES ($1, $2, $3, true, true, false)
ON CONFLICT (tenant_id, group_id, member_id) DO UPDATE SET is_owner = true
"""
DISOWN = "UPDATE directory.memberships SET is_owner = false WHERE tenant_id = $1 AND group_id = $2"
ADMINISTER = """
UPDATE chamberlain.tenant SET administrator_users = '{}', administrator_groups = ARRAY[$2::uuid] WHERE tenant_id = $1
"""
FORGET_PERSON = "DELETE FROM directory.users WHERE tenant_id = $1 AND id = $2"


@dataclass
class ReportFixture:
    """All staff, which Ada owns and Gil is a guest of, with a policy; a worker runs that and sends mail."""

    runs: Runs
    notices: NoticeFixture

    @property
    def estate(self) -> Estate:
        return self.notices.estate

    async def assign(self, **rules: object) -> None:
        await self.runs.put_policy(POLICY, **rules)
        await self.runs.guest_rules.assign(self.runs.group_id, policyId=str(POLICY))

    async def run(self, *days: float) -> None:
        for day in days:
            await self.runs.run(day)

    async def mail(self, *days: float) -> list[Received]:
        """Run it on these days, and send what is due."""
        await self.run(*days)
        return await self.notices.work()

    async def content(self, *days: float) -> str:
        """The text of the one mail that comes then."""
        (content,) = await self.mail(*days)
        return content.part("plain").replace("\r", "")

    async def review(self) -> FindingRecord:
        return (await self.runs.guest_rules.found(FindingFilter(kind=FindingKind.REVIEW_DUE)))[0]

    async def confirm(self, finding_id: UUID, who: UserId) -> None:
        estate, database = self.estate, self.estate.databases.application
        service = FindingService(database, estate.people, estate.authorization(), estate.now)
        await service.confirm(caller_of(who), finding_id, act(), rendered)

    def at(self, day: float) -> str:
        """That day, as a mail has it."""
        return f"{self.runs.began_at + timedelta(days=day):%Y-%m-%d %H:%M} UTC"


@pytest.fixture
async def notice_databases(example: Databases) -> AsyncIterator[Databases]:
    async with open_databases_with_notices(example) as notice_databases:
        yield notice_databases


@pytest.fixture
async def smtp_server() -> AsyncIterator[FakeSmtpServer]:
    async with open_smtp_server(FakeSmtpServer()) as smtp_server:
        yield smtp_server


@pytest.fixture
def report_fixture(notice_databases: Databases, smtp_server: FakeSmtpServer) -> ReportFixture:
    estate = service_of(notice_databases)
    return ReportFixture(Runs(guest_fixture(estate)), notice_fixture(estate, smtp_server))


async def test_it_works(report_fixture: ReportFixture) -> None:
    """The mail is enough to confirm the guest."""
    await report_fixture.assign(review=REVIEW)
    assert await report_fixture.mail(0, 29) == []

    (content,) = await report_fixture.mail(30)

    finding = await report_fixture.review()
    text = content.part("plain")
    assert (content.to, content.message["Subject"]) == (
        "ada@estate.example",
        'Please confirm who stays: group "All staff"',
    )
    assert 'The guest policy "Of a test" applies to the group "All staff".' in text
    assert "You receive this message as an owner." in text
    assert "stay only if they are confirmed by the time next to their name. After that their accounts" in text
    assert f"- {finding.id}: {report_fixture.at(40)}, Gil Hartmann (gil@partner.example)" in text
    assert "chamberlain finding confirm ID" in text
    assert CONFIRM in text
    assert "About 94000000-0000-4000-8000-000000000001 of Example Estate." in text
    assert f"<li>{finding.id}: {report_fixture.at(40)}, Gil Hartmann (gil@partner.example)</li>" in content.part("html")
    assert await report_fixture.notices.left() == (0, 0)
    await report_fixture.confirm(finding.id, ADA)
    assert await report_fixture.mail(37, 40) == []


async def test_it_works_in_german(report_fixture: ReportFixture) -> None:
    await report_fixture.notices.change(SPEAKS, ADA, "de-CH")
    await report_fixture.assign(review=REVIEW, expiry=EXPIRY, minimumOwners={"count": 2, "action": "notify"})

    (owners,) = await report_fixture.mail(0)
    (reminder,) = await report_fixture.mail(30)
    (disabled,) = await report_fixture.mail(40)
    text = await report_fixture.content(90)

    assert owners.message["Subject"] == "Gästerichtlinie: Gruppe „All staff“"
    assert "Es gibt zu wenige Besitzer: 1 statt 2." in owners.part("plain")
    assert reminder.message["Subject"] == "Bitte bestätigen Sie, wer bleibt: Gruppe „All staff“"
    assert "Sie erhalten diese Nachricht als Besitzerin oder Besitzer." in reminder.part("plain")
    assert f": {report_fixture.at(40)}, Gil Hartmann (gil@partner.example)" in reminder.part("plain")
    assert "Danach werden ihre Konten gesperrt:" in reminder.part("plain")
    assert '<html lang="de">' in reminder.part("html")
    assert "Ihre Konten wurden gesperrt:" in disabled.part("plain")
    # The run of this day is the first that could have reminded of the end.
    assert "dürfen bis zu der Zeit bleiben, die neben dem Namen steht. Danach werden sie entfernt:" in text


async def test_it_works_for_what_was_done(report_fixture: ReportFixture) -> None:
    await report_fixture.assign(expiry=EXPIRY)

    reminder = await report_fixture.content(0, 76)
    removal = await report_fixture.content(90)

    assert "may stay until the time next to their name. After that they are removed:" in reminder
    assert f"- {report_fixture.at(90)}, Gil Hartmann (gil@partner.example)" in reminder
    assert "finding confirm" not in reminder
    assert "The time for which these guests may stay is over. They were removed:\n\n- Gil Hartmann (gil@" in removal
    assert report_fixture.notices.smtp_server.received[1].message["Subject"] == 'Guest policy: group "All staff"'


async def test_it_works_for_an_account_that_was_disabled(report_fixture: ReportFixture) -> None:
    await report_fixture.assign(review=REVIEW)
    await report_fixture.mail(0, 30, 37)

    text = await report_fixture.content(40)

    assert "These guests were not confirmed in time. Their accounts were disabled:" in text
    assert f"- {(await report_fixture.review()).id}: Gil Hartmann (gil@partner.example)" in text


async def test_it_works_for_too_few_owners(report_fixture: ReportFixture) -> None:
    await report_fixture.assign(minimumOwners={"count": 3, "action": "notify"})

    text = await report_fixture.content(0)

    assert "It has too few owners: 1 instead of 3." in text
    assert await report_fixture.mail(1, 2) == []


async def test_it_works_for_a_site(report_fixture: ReportFixture) -> None:
    runs = Runs(report_fixture.runs.guest_rules, HANDBOOK)
    await runs.put_policy(POLICY, minimumOwners={"count": 9, "action": "notify"})
    await runs.guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, policyId=str(POLICY))

    await runs.run(0)
    contents = await report_fixture.notices.work()

    assert {each.message["Subject"] for each in contents} == {'Guest policy: site "Handbook"'}


async def test_it_tells_once_what_happens_in_one_run(report_fixture: ReportFixture) -> None:
    """One guest is removed and another one reminded of on the same day; the first mail waits for the removal."""
    await report_fixture.assign(expiry=EXPIRY)
    await report_fixture.mail(0, 76)
    (late,) = await make_guests(report_fixture.runs, 1)
    await report_fixture.run(14)
    await report_fixture.runs.join([late])
    await report_fixture.run(14)

    text = await report_fixture.content(90)

    assert "After that they are removed:\n\n- " in text
    assert "Guest 1 (guest1@partner.example)" in text
    assert "They were removed:\n\n- Gil Hartmann" in text


async def test_it_waits_for_what_the_directory_puts_off(report_fixture: ReportFixture) -> None:
    guests = report_fixture.runs.guest_rules.guests
    (other,) = await make_guests(report_fixture.runs, 1)
    await report_fixture.runs.join([other])
    await report_fixture.assign(expiry=EXPIRY)
    await report_fixture.mail(0, 76)
    guests.act_faults[other] = ActOutcome(None, TryAgain(timedelta(seconds=1), "Not now."))

    assert await report_fixture.mail(90) == []
    del guests.act_faults[other]
    text = await report_fixture.content(90.001)

    assert "Gil Hartmann" in text
    assert "Guest 1" in text


async def test_it_waits_for_what_an_earlier_portion_has_put_off(report_fixture: ReportFixture) -> None:
    guests, guest_rules = report_fixture.runs.guest_rules.guests, report_fixture.runs.guest_rules
    others = await make_guests(report_fixture.runs, 3)
    await report_fixture.runs.join(others)
    await report_fixture.assign(expiry=EXPIRY)
    await report_fixture.mail(0, 76)
    [first, *_] = (await guest_rules.shown(report_fixture.runs.group_id)).guests
    guests.act_faults[first.id] = ActOutcome(None, TryAgain(timedelta(seconds=1), "Not now."))

    report_fixture.runs.set_day(90)
    await replace(guest_rules.evaluate, max_actions=2).evaluate(await report_fixture.runs.claim())
    assert await report_fixture.notices.work() == []
    del guests.act_faults[first.id]
    text = await report_fixture.content(90.001)

    assert all(name in text for name in ("Gil Hartmann", "Guest 1", "Guest 2", "Guest 3"))


async def test_it_tells_what_is_done_when_the_rest_takes_long(report_fixture: ReportFixture) -> None:
    guests = report_fixture.runs.guest_rules.guests
    (other,) = await make_guests(report_fixture.runs, 1)
    await report_fixture.runs.join([other])
    await report_fixture.assign(expiry=EXPIRY)
    await report_fixture.mail(0, 76)
    guests.act_faults[other] = ActOutcome(None, TryAgain(timedelta(seconds=1), "Not now."))
    assert await report_fixture.mail(90) == []

    await report_fixture.notices.let_pass(timedelta(minutes=5))
    (content,) = await report_fixture.notices.work()

    assert "Guest 1" not in content.part("plain")


async def test_it_makes_another_report_while_one_is_on_its_way(report_fixture: ReportFixture) -> None:
    await report_fixture.assign(review=REVIEW)
    await report_fixture.run(0, 30)
    first = await report_fixture.notices.claim()

    await report_fixture.run(37)

    assert len(await report_fixture.notices.work()) == 1
    await report_fixture.notices.jobs.send(first)
    assert len(report_fixture.notices.smtp_server.received) == 2
    assert await report_fixture.notices.left() == (0, 0)


@pytest.mark.parametrize("what", ["confirmed", "accepted", "gone", "unassigned"])
async def test_it_tells_nobody_what_is_not_so_any_more(report_fixture: ReportFixture, what: str) -> None:
    await report_fixture.assign(review=REVIEW)
    await report_fixture.run(0, 30)
    finding = await report_fixture.review()

    match what:
        case "confirmed":
            await report_fixture.confirm(finding.id, ADA)
        case "accepted":
            await finding_fixture(report_fixture.estate).accepted(finding.id)
        case "gone":
            await report_fixture.runs.leave()
            await report_fixture.run(31)
        case _:
            await report_fixture.runs.guest_rules.assign(policyId=ZERO)

    assert await report_fixture.notices.work() == []
    assert await report_fixture.notices.left() == (0, 0)


async def test_it_leaves_out_who_was_confirmed(report_fixture: ReportFixture) -> None:
    (other,) = await make_guests(report_fixture.runs, 1)
    await report_fixture.runs.join([other])
    await report_fixture.assign(review=REVIEW)
    await report_fixture.run(0, 30)
    found = await report_fixture.runs.guest_rules.found(FindingFilter(kind=FindingKind.REVIEW_DUE))
    await report_fixture.confirm(next(each.id for each in found if each.about == str(GIL)), ADA)

    (content,) = await report_fixture.notices.work()

    assert "Gil" not in content.part("plain")
    assert "Guest 1" in content.part("plain")


async def test_it_tells_administrators_where_nobody_owns_it(report_fixture: ReportFixture) -> None:
    await report_fixture.notices.change(DISOWN, ESTATE, report_fixture.runs.group_id)
    await report_fixture.notices.change(OWN, ESTATE, HANDBOOK, BEN)
    await report_fixture.assign(review=REVIEW)
    await report_fixture.notices.change(ADMINISTER, ESTATE, HANDBOOK)

    (content,) = await report_fixture.mail(0, 30)

    assert content.to == "ben@estate.example"
    assert "You receive this message because you administer Example Estate." in content.part("plain")


async def test_it_tells_administrators_where_reviews_are_theirs(report_fixture: ReportFixture) -> None:
    await report_fixture.notices.change(DISOWN, ESTATE, report_fixture.runs.group_id)
    await report_fixture.notices.change(OWN, ESTATE, report_fixture.runs.group_id, CLEO)
    await report_fixture.assign(review={**REVIEW, "confirmedBy": "administrators"})

    assert [each.to for each in await report_fixture.mail(0, 30)] == ["ada@estate.example"]


async def test_it_tells_administrators_where_no_owner_has_an_address(report_fixture: ReportFixture) -> None:
    await report_fixture.notices.change(DISOWN, ESTATE, report_fixture.runs.group_id)
    await report_fixture.notices.change(OWN, ESTATE, report_fixture.runs.group_id, CLEO)
    await report_fixture.notices.change(HAS_MAIL, CLEO, None)
    await report_fixture.assign(review=REVIEW)

    assert [each.to for each in await report_fixture.mail(0, 30)] == ["ada@estate.example"]


async def test_it_tells_no_guest(report_fixture: ReportFixture) -> None:
    await report_fixture.notices.change(OWN, ESTATE, report_fixture.runs.group_id, GIL)
    await report_fixture.notices.change(OWN, ESTATE, report_fixture.runs.group_id, BEN)
    await report_fixture.assign(review=REVIEW)

    contents = await report_fixture.mail(0, 30)

    assert sorted(each.to for each in contents) == ["ada@estate.example", "ben@estate.example"]


async def test_it_names_the_first_and_counts_the_others(report_fixture: ReportFixture) -> None:
    guests = await make_guests(report_fixture.runs, MAX_NAMED + 11)
    await report_fixture.runs.join(guests)
    await report_fixture.assign(review=REVIEW)

    text = await report_fixture.content(0, 30)

    assert text.count("\n- ") == MAX_NAMED
    assert "And 12 more guests." in text


async def test_it_handles_a_name_as_data(report_fixture: ReportFixture) -> None:
    hostile = "</li><script>x</script>\r\nBcc: eve@evil.example\u202e {id}"
    await report_fixture.runs.execute("UPDATE directory.users SET display_name = $2 WHERE id = $1", GIL, hostile)
    await report_fixture.assign(review=REVIEW)

    (content,) = await report_fixture.mail(0, 30)

    assert "<script" not in content.part("html")
    assert not any(line.startswith("Bcc") for line in content.part("plain").splitlines())
    assert "\u202e" not in content.part("plain") + content.part("html")
    assert "{id} (gil@partner.example)" in content.part("plain")


async def test_it_keeps_no_name_of_somebody_who_is_forgotten(report_fixture: ReportFixture) -> None:
    await report_fixture.assign(expiry=EXPIRY)
    await report_fixture.mail(0, 76)
    await report_fixture.run(90)
    await report_fixture.runs.execute(FORGET_PERSON, ESTATE, GIL)
    await UserEraser(report_fixture.estate.databases.worker).erase(GIL, ESTATE, actor=OPERATOR, trace_id=TRACE)
    kept = await report_fixture.estate.rows(
        "SELECT row_to_json(n)::text, row_to_json(l)::text FROM chamberlain.notice n "
        "JOIN chamberlain.report_line l USING (tenant_id, notice_id)"
    )

    (content,) = await report_fixture.notices.work()

    assert "Gil" not in str(kept)
    assert f"A user who is no longer in the directory ({GIL})" in content.part("plain")


async def test_it_handles_a_directory_that_does_not_answer(report_fixture: ReportFixture) -> None:
    await report_fixture.assign(review=REVIEW)
    report_fixture.estate.people.error = TryAgain(timedelta(seconds=1), "Not now.")
    assert await report_fixture.mail(0, 30) == []
    assert await report_fixture.notices.left() == (1, 1)

    report_fixture.estate.people.error = None
    await report_fixture.notices.let_pass(timedelta(seconds=10))

    assert len(await report_fixture.notices.work()) == 1


async def test_it_tells_nobody_twice_of_a_report_that_was_cut_short(report_fixture: ReportFixture) -> None:
    await report_fixture.notices.change(OWN, ESTATE, report_fixture.runs.group_id, BEN)
    report_fixture.notices.smtp_server.refusals["ben@estate.example"] = "450 4.2.0 later"
    await report_fixture.assign(review=REVIEW)
    assert [each.to for each in await report_fixture.mail(0, 30)] == ["ada@estate.example"]
    report_fixture.notices.smtp_server.refusals.clear()

    # The next run does not add to a report that is already sent.
    assert sorted(each.to for each in await report_fixture.mail(37)) == ["ada@estate.example", "ben@estate.example"]
    await report_fixture.notices.let_pass(timedelta(seconds=10))

    assert [each.to for each in await report_fixture.notices.work()] == ["ben@estate.example"]


async def test_it_writes_nothing_where_nobody_is_reported_by_mail(estate: Estate, smtp_server: FakeSmtpServer) -> None:
    report_fixture = ReportFixture(Runs(guest_fixture(estate)), notice_fixture(estate, smtp_server))
    await report_fixture.assign(review=REVIEW)

    assert await report_fixture.mail(0, 30, 40) == []

    assert await report_fixture.notices.left() == (0, 0)


async def test_it_works_for_several_groups_at_once(report_fixture: ReportFixture) -> None:
    groups = [await new_group(report_fixture.runs.guest_rules) for _ in range(3)]
    await report_fixture.runs.put_policy(POLICY, minimumOwners={"count": 1, "action": "notify"})
    for runs in groups:
        await runs.guest_rules.assign(runs.group_id, policyId=str(POLICY))
    await report_fixture.runs.guest_rules.run_policies()

    contents = await report_fixture.notices.work()

    assert [each.to for each in contents] == ["ada@estate.example"] * 3
    assert len({each.message["Message-ID"] for each in contents}) == 3
