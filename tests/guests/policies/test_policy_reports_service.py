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
class House:
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
def house(notice_databases: Databases, smtp_server: FakeSmtpServer) -> House:
    estate = service_of(notice_databases)
    return House(Runs(guest_fixture(estate)), notice_fixture(estate, smtp_server))


async def test_it_works(house: House) -> None:
    """The mail is enough to confirm the guest."""
    await house.assign(review=REVIEW)
    assert await house.mail(0, 29) == []

    (content,) = await house.mail(30)

    finding = await house.review()
    text = content.part("plain")
    assert (content.to, content.message["Subject"]) == (
        "ada@estate.example",
        'Please confirm who stays: group "All staff"',
    )
    assert 'The guest policy "Of a test" applies to the group "All staff".' in text
    assert "You receive this message as an owner." in text
    assert "stay only if they are confirmed by the time next to their name. After that their accounts" in text
    assert f"- {finding.id}: {house.at(40)}, Gil Hartmann (gil@partner.example)" in text
    assert "chamberlain finding confirm ID" in text
    assert CONFIRM in text
    assert "About 94000000-0000-4000-8000-000000000001 of Example Estate." in text
    assert f"<li>{finding.id}: {house.at(40)}, Gil Hartmann (gil@partner.example)</li>" in content.part("html")
    assert await house.notices.left() == (0, 0)
    await house.confirm(finding.id, ADA)
    assert await house.mail(37, 40) == []


async def test_it_works_in_german(house: House) -> None:
    await house.notices.change(SPEAKS, ADA, "de-CH")
    await house.assign(review=REVIEW, expiry=EXPIRY, minimumOwners={"count": 2, "action": "notify"})

    (owners,) = await house.mail(0)
    (reminder,) = await house.mail(30)
    (disabled,) = await house.mail(40)
    text = await house.content(90)

    assert owners.message["Subject"] == "Gästerichtlinie: Gruppe „All staff“"
    assert "Es gibt zu wenige Besitzer: 1 statt 2." in owners.part("plain")
    assert reminder.message["Subject"] == "Bitte bestätigen Sie, wer bleibt: Gruppe „All staff“"
    assert "Sie erfahren das als Besitzerin oder Besitzer." in reminder.part("plain")
    assert f": {house.at(40)}, Gil Hartmann (gil@partner.example)" in reminder.part("plain")
    assert "Danach werden ihre Konten gesperrt:" in reminder.part("plain")
    assert '<html lang="de">' in reminder.part("html")
    assert "Ihre Konten wurden gesperrt:" in disabled.part("plain")
    # The run of this day is the first that could have reminded of the end.
    assert "dürfen bis zu der Zeit bleiben, die neben dem Namen steht. Danach werden sie entfernt:" in text


async def test_it_works_for_what_was_done(house: House) -> None:
    await house.assign(expiry=EXPIRY)

    reminder = await house.content(0, 76)
    removal = await house.content(90)

    assert "may stay until the time next to their name. After that they are removed:" in reminder
    assert f"- {house.at(90)}, Gil Hartmann (gil@partner.example)" in reminder
    assert "finding confirm" not in reminder
    assert "The time for which these guests may stay is over. They were removed:\n\n- Gil Hartmann (gil@" in removal
    assert house.notices.smtp_server.received[1].message["Subject"] == 'Guest policy: group "All staff"'


async def test_it_works_for_an_account_that_was_disabled(house: House) -> None:
    await house.assign(review=REVIEW)
    await house.mail(0, 30, 37)

    text = await house.content(40)

    assert "These guests were not confirmed in time. Their accounts were disabled:" in text
    assert f"- {(await house.review()).id}: Gil Hartmann (gil@partner.example)" in text


async def test_it_works_for_too_few_owners(house: House) -> None:
    await house.assign(minimumOwners={"count": 3, "action": "notify"})

    text = await house.content(0)

    assert "It has too few owners: 1 instead of 3." in text
    assert await house.mail(1, 2) == []


async def test_it_works_for_a_site(house: House) -> None:
    runs = Runs(house.runs.guest_rules, HANDBOOK)
    await runs.put_policy(POLICY, minimumOwners={"count": 9, "action": "notify"})
    await runs.guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, policyId=str(POLICY))

    await runs.run(0)
    contents = await house.notices.work()

    assert {each.message["Subject"] for each in contents} == {'Guest policy: site "Handbook"'}


async def test_it_tells_once_what_happens_in_one_run(house: House) -> None:
    """One guest is removed and another one reminded of on the same day; the first mail waits for the removal."""
    await house.assign(expiry=EXPIRY)
    await house.mail(0, 76)
    (late,) = await make_guests(house.runs, 1)
    await house.run(14)
    await house.runs.join([late])
    await house.run(14)

    text = await house.content(90)

    assert "After that they are removed:\n\n- " in text
    assert "Guest 1 (guest1@partner.example)" in text
    assert "They were removed:\n\n- Gil Hartmann" in text


async def test_it_waits_for_what_the_directory_puts_off(house: House) -> None:
    guests = house.runs.guest_rules.guests
    (other,) = await make_guests(house.runs, 1)
    await house.runs.join([other])
    await house.assign(expiry=EXPIRY)
    await house.mail(0, 76)
    guests.act_faults[other] = ActOutcome(None, TryAgain(timedelta(seconds=1), "Not now."))

    assert await house.mail(90) == []
    del guests.act_faults[other]
    text = await house.content(90.001)

    assert "Gil Hartmann" in text
    assert "Guest 1" in text


async def test_it_waits_for_what_an_earlier_portion_has_put_off(house: House) -> None:
    guests, guest_rules = house.runs.guest_rules.guests, house.runs.guest_rules
    others = await make_guests(house.runs, 3)
    await house.runs.join(others)
    await house.assign(expiry=EXPIRY)
    await house.mail(0, 76)
    [first, *_] = (await guest_rules.shown(house.runs.group_id)).guests
    guests.act_faults[first.id] = ActOutcome(None, TryAgain(timedelta(seconds=1), "Not now."))

    house.runs.set_day(90)
    await replace(guest_rules.evaluate, max_actions=2).evaluate(await house.runs.claim())
    assert await house.notices.work() == []
    del guests.act_faults[first.id]
    text = await house.content(90.001)

    assert all(name in text for name in ("Gil Hartmann", "Guest 1", "Guest 2", "Guest 3"))


async def test_it_tells_what_is_done_when_the_rest_takes_long(house: House) -> None:
    guests = house.runs.guest_rules.guests
    (other,) = await make_guests(house.runs, 1)
    await house.runs.join([other])
    await house.assign(expiry=EXPIRY)
    await house.mail(0, 76)
    guests.act_faults[other] = ActOutcome(None, TryAgain(timedelta(seconds=1), "Not now."))
    assert await house.mail(90) == []

    await house.notices.let_pass(timedelta(minutes=5))
    (content,) = await house.notices.work()

    assert "Guest 1" not in content.part("plain")


async def test_it_makes_another_report_while_one_is_on_its_way(house: House) -> None:
    await house.assign(review=REVIEW)
    await house.run(0, 30)
    first = await house.notices.claim()

    await house.run(37)

    assert len(await house.notices.work()) == 1
    await house.notices.jobs.send(first)
    assert len(house.notices.smtp_server.received) == 2
    assert await house.notices.left() == (0, 0)


@pytest.mark.parametrize("what", ["confirmed", "accepted", "gone", "unassigned"])
async def test_it_tells_nobody_what_is_not_so_any_more(house: House, what: str) -> None:
    await house.assign(review=REVIEW)
    await house.run(0, 30)
    finding = await house.review()

    match what:
        case "confirmed":
            await house.confirm(finding.id, ADA)
        case "accepted":
            await finding_fixture(house.estate).accepted(finding.id)
        case "gone":
            await house.runs.leave()
            await house.run(31)
        case _:
            await house.runs.guest_rules.assign(policyId=ZERO)

    assert await house.notices.work() == []
    assert await house.notices.left() == (0, 0)


async def test_it_leaves_out_who_was_confirmed(house: House) -> None:
    (other,) = await make_guests(house.runs, 1)
    await house.runs.join([other])
    await house.assign(review=REVIEW)
    await house.run(0, 30)
    found = await house.runs.guest_rules.found(FindingFilter(kind=FindingKind.REVIEW_DUE))
    await house.confirm(next(each.id for each in found if each.about == str(GIL)), ADA)

    (content,) = await house.notices.work()

    assert "Gil" not in content.part("plain")
    assert "Guest 1" in content.part("plain")


async def test_it_tells_administrators_where_nobody_owns_it(house: House) -> None:
    await house.notices.change(DISOWN, ESTATE, house.runs.group_id)
    await house.notices.change(OWN, ESTATE, HANDBOOK, BEN)
    await house.assign(review=REVIEW)
    await house.notices.change(ADMINISTER, ESTATE, HANDBOOK)

    (content,) = await house.mail(0, 30)

    assert content.to == "ben@estate.example"
    assert "You receive this message because you administer Example Estate." in content.part("plain")


async def test_it_tells_administrators_where_reviews_are_theirs(house: House) -> None:
    await house.notices.change(DISOWN, ESTATE, house.runs.group_id)
    await house.notices.change(OWN, ESTATE, house.runs.group_id, CLEO)
    await house.assign(review={**REVIEW, "confirmedBy": "administrators"})

    assert [each.to for each in await house.mail(0, 30)] == ["ada@estate.example"]


async def test_it_tells_administrators_where_no_owner_has_an_address(house: House) -> None:
    await house.notices.change(DISOWN, ESTATE, house.runs.group_id)
    await house.notices.change(OWN, ESTATE, house.runs.group_id, CLEO)
    await house.notices.change(HAS_MAIL, CLEO, None)
    await house.assign(review=REVIEW)

    assert [each.to for each in await house.mail(0, 30)] == ["ada@estate.example"]


async def test_it_tells_no_guest(house: House) -> None:
    await house.notices.change(OWN, ESTATE, house.runs.group_id, GIL)
    await house.notices.change(OWN, ESTATE, house.runs.group_id, BEN)
    await house.assign(review=REVIEW)

    contents = await house.mail(0, 30)

    assert sorted(each.to for each in contents) == ["ada@estate.example", "ben@estate.example"]


async def test_it_names_the_first_and_counts_the_others(house: House) -> None:
    guests = await make_guests(house.runs, MAX_NAMED + 11)
    await house.runs.join(guests)
    await house.assign(review=REVIEW)

    text = await house.content(0, 30)

    assert text.count("\n- ") == MAX_NAMED
    assert "And 12 more guests." in text


async def test_it_handles_a_name_as_data(house: House) -> None:
    hostile = "</li><script>x</script>\r\nBcc: eve@evil.example\u202e {id}"
    await house.runs.execute("UPDATE directory.users SET display_name = $2 WHERE id = $1", GIL, hostile)
    await house.assign(review=REVIEW)

    (content,) = await house.mail(0, 30)

    assert "<script" not in content.part("html")
    assert not any(line.startswith("Bcc") for line in content.part("plain").splitlines())
    assert "\u202e" not in content.part("plain") + content.part("html")
    assert "{id} (gil@partner.example)" in content.part("plain")


async def test_it_keeps_no_name_of_somebody_who_is_forgotten(house: House) -> None:
    await house.assign(expiry=EXPIRY)
    await house.mail(0, 76)
    await house.run(90)
    await house.runs.execute(FORGET_PERSON, ESTATE, GIL)
    await UserEraser(house.estate.databases.worker).erase(GIL, ESTATE, actor=OPERATOR, trace_id=TRACE)
    kept = await house.estate.rows(
        "SELECT row_to_json(n)::text, row_to_json(l)::text FROM chamberlain.notice n "
        "JOIN chamberlain.report_line l USING (tenant_id, notice_id)"
    )

    (content,) = await house.notices.work()

    assert "Gil" not in str(kept)
    assert f"A user who is no longer in the directory ({GIL})" in content.part("plain")


async def test_it_handles_a_directory_that_does_not_answer(house: House) -> None:
    await house.assign(review=REVIEW)
    house.estate.people.error = TryAgain(timedelta(seconds=1), "Not now.")
    assert await house.mail(0, 30) == []
    assert await house.notices.left() == (1, 1)

    house.estate.people.error = None
    await house.notices.let_pass(timedelta(seconds=10))

    assert len(await house.notices.work()) == 1


async def test_it_tells_nobody_twice_of_a_report_that_was_cut_short(house: House) -> None:
    await house.notices.change(OWN, ESTATE, house.runs.group_id, BEN)
    house.notices.smtp_server.refusals["ben@estate.example"] = "450 4.2.0 later"
    await house.assign(review=REVIEW)
    assert [each.to for each in await house.mail(0, 30)] == ["ada@estate.example"]
    house.notices.smtp_server.refusals.clear()

    # The next run does not add to a report that is already sent.
    assert sorted(each.to for each in await house.mail(37)) == ["ada@estate.example", "ben@estate.example"]
    await house.notices.let_pass(timedelta(seconds=10))

    assert [each.to for each in await house.notices.work()] == ["ben@estate.example"]


async def test_it_writes_nothing_where_nobody_is_told_by_mail(estate: Estate, smtp_server: FakeSmtpServer) -> None:
    house = House(Runs(guest_fixture(estate)), notice_fixture(estate, smtp_server))
    await house.assign(review=REVIEW)

    assert await house.mail(0, 30, 40) == []

    assert await house.notices.left() == (0, 0)


async def test_it_works_for_several_groups_at_once(house: House) -> None:
    groups = [await new_group(house.runs.guest_rules) for _ in range(3)]
    await house.runs.put_policy(POLICY, minimumOwners={"count": 1, "action": "notify"})
    for runs in groups:
        await runs.guest_rules.assign(runs.group_id, policyId=str(POLICY))
    await house.runs.guest_rules.run_policies()

    contents = await house.notices.work()

    assert [each.to for each in contents] == ["ada@estate.example"] * 3
    assert len({each.message["Message-ID"] for each in contents}) == 3
