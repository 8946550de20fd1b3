# SPDX-License-Identifier: Apache-2.0
"""A worker that runs policies is killed between any two of its steps.

In the end there is one report for each group and day with an entry, and every entry is in it.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count, pairwise
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chamberlain.core.ids import GroupId, PolicyId
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim
from tests.databases import Databases
from tests.estates import ADA, ESTATE, LEASE, service_of
from tests.fake_smtp_server import FakeSmtpServer, Received, open_smtp_server
from tests.guests.assignments.guest_fixture import NINETY_DAYS, GuestFixture, guest_fixture
from tests.guests.policies.policy_runs import Runs, make_guests, new_group
from tests.notifications.notice_fixture import NoticeFixture, notice_fixture, open_databases_with_notices
from tests.queue.crash_injection import CrashingDatabase, CrashingGuests, CrashPoint, InjectedCrash

pytestmark = pytest.mark.heavy

# Before a worker is killed at one of its points, it has got past all the others; there are some dozens.
FEWEST = 40
EXPIRY = {"afterDays": 90, "reminderDays": [14]}
# Two guests are there from the beginning, a third comes on day 14: on day 90 that one is reminded of, and they go.
DAYS = (0, 14, 76, 90, 91, 104)
ACTIONS = st.sampled_from(["notify", "disable", "remove"])
RULES = st.fixed_dictionaries(
    {},
    optional={
        "expiry": st.builds(
            lambda days, action: {"afterDays": days, "reminderDays": [1], "action": action}, st.integers(2, 5), ACTIONS
        ),
        "review": st.builds(
            lambda days, action: {
                "everyDays": days,
                "answerDays": 2,
                "confirmedBy": "owners",
                "reminderDays": [2, 1],
                "action": action,
            },
            st.integers(2, 4),
            ACTIONS,
        ),
        "minimumOwners": st.builds(lambda number: {"count": number, "action": "notify"}, st.integers(1, 2)),
    },
)
LAST_DAY = 7
OWN = """
INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group)
VALUES ($1, $2, $3, true, true, false)
"""
TAKE = """
UPDATE chamberlain.job SET lease_id = $1, lease_until = now() + $2, run_at = now()
WHERE kind = 'policyEvaluate' AND subject = ANY ($3)
RETURNING job_id, tenant_id, kind, subject, trace_id, attempts, queued_at
"""
TOLD_OF = """
SELECT DISTINCT data -> 'subject' ->> 'id' FROM chamberlain.event WHERE type LIKE 'policy.%' AND at = $1
"""


@pytest.fixture
async def notices(example: Databases) -> AsyncIterator[NoticeFixture]:
    async with (
        open_databases_with_notices(example) as notice_databases,
        open_smtp_server(FakeSmtpServer()) as smtp_server,
    ):
        yield notice_fixture(service_of(notice_databases), smtp_server)


@pytest.mark.parametrize("action", ["remove", "disable"])
async def test_it_tells_once_what_was_cut_short(notices: NoticeFixture, action: str) -> None:
    guest_rules = guest_fixture(notices.estate)
    for place in count():
        runs = await new_group(guest_rules)
        await runs.put_policy(NINETY_DAYS, expiry=EXPIRY | {"action": action})
        *two, third = await make_guests(runs, 3)
        await runs.join(two)
        await guest_rules.assign(runs.group_id, policyId=str(NINETY_DAYS))
        notices.smtp_server.received.clear()

        crash_point, was_killed = CrashPoint(place), False
        for day in DAYS:
            if day == 14:
                await runs.join([third])
            runs.set_day(day)
            was_killed |= await run_and_kill(runs, notices, crash_point)
            await notices.work()

        assert [parts(content) for content in notices.smtp_server.received] == [
            ("may stay until Guest 1 Guest 2", ""),
            ("may stay until Guest 3", "is over Guest 1 Guest 2"),
            ("", "is over Guest 3"),
        ], place
        assert await notices.left() == (0, 0), place
        if not was_killed:
            break
    assert place > FEWEST


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    groups=st.lists(st.tuples(RULES, st.integers(0, 2)), min_size=1, max_size=4),
    crash_points=st.lists(
        st.none() | st.builds(CrashPoint, st.integers(0, 30)), min_size=LAST_DAY + 1, max_size=LAST_DAY + 1
    ),
)
async def test_there_are_as_many_mails_as_groups_with_something_to_tell(
    notices: NoticeFixture,
    groups: Sequence[tuple[Mapping[str, object], int]],
    crash_points: Sequence[CrashPoint | None],
) -> None:
    guest_rules = guest_fixture(notices.estate)
    everything = [await make_group(guest_rules, rules, guests) for rules, guests in groups]

    for day, crash_point in enumerate(crash_points):
        notices.smtp_server.received.clear()
        notices.estate.moment = everything[0].began_at + timedelta(days=day)
        await run_all_and_kill(guest_rules, [runs.group_id for runs in everything], notices, crash_point)
        await notices.work()

        reported = await notices.estate.rows(TOLD_OF, notices.estate.moment)
        assert sorted(map(group_of, notices.smtp_server.received)) == sorted(str(group_id) for (group_id,) in reported)
        assert await notices.left() == (0, 0)


async def make_group(guest_rules: GuestFixture, rules: Mapping[str, object], guests: int) -> Runs:
    runs, policy_id = await new_group(guest_rules), PolicyId(uuid4())
    await runs.put_policy(policy_id, **rules)
    await runs.join(await make_guests(runs, guests))
    await runs.execute(OWN, ESTATE, runs.group_id, ADA)
    await guest_rules.assign(runs.group_id, policyId=str(policy_id))
    return runs


async def run_and_kill(runs: Runs, notices: NoticeFixture, crash_point: CrashPoint) -> bool:
    """Run one group with a worker that is killed at that point; another one takes over. Says whether it was."""
    return await run_all_and_kill(runs.guest_rules, [runs.group_id], notices, crash_point)


async def run_all_and_kill(
    guest_rules: GuestFixture, groups: Sequence[GroupId], notices: NoticeFixture, crash_point: CrashPoint | None
) -> bool:
    """The same for several groups together; without a cut no worker is killed."""
    evaluate = guest_rules.evaluate
    crashing = evaluate
    if crash_point is not None:
        database, guests = (
            CrashingDatabase(evaluate.database, crash_point),
            CrashingGuests(evaluate.guests, crash_point),
        )
        crashing = replace(evaluate, database=database, guests=guests)
    try:
        await crashing.evaluate(await claim(guest_rules, groups))
    except InjectedCrash:
        # Mail goes on meanwhile.
        await notices.work()
        await evaluate.evaluate(await claim(guest_rules, groups))
        return True
    return False


async def claim(guest_rules: GuestFixture, groups: Sequence[GroupId]) -> Claim:
    """Claim the jobs of these groups, whether they are due, leased or not."""
    lease_id = uuid4()
    rows = await guest_rules.estate.databases.worker.pool.fetch(TAKE, lease_id, LEASE, groups)
    return Claim(lease_id, tuple([queue_jobs.job_of(row) for row in rows]))


def parts(content: Received) -> tuple[str, str]:
    """The guests in each part: with a reminder, and at the end of their time."""
    text = content.part("plain").replace("\r", "")
    found = {"may stay until": "", "is over": ""}
    for phrase in found:
        lists = [listed for said, listed in pairwise(text.split("\n\n")) if phrase in said]
        names = sorted(re.findall(r"Guest \d", "".join(lists)))
        found[phrase] = " ".join([phrase, *names]) if names else ""
    return found["may stay until"], found["is over"]


def group_of(content: Received) -> str:
    """The id of the group that a mail is about."""
    (found,) = re.findall(r"^About (\S+) of", content.part("plain"), re.MULTILINE)
    return str(found)
