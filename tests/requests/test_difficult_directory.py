# SPDX-License-Identifier: Apache-2.0
"""Provisioning in a directory that is slow to show what is new, throttles, and is away now and then."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from chamberlain.core.errors import Conflict
from chamberlain.core.ids import RequestId
from chamberlain.core.reasons import Reason
from chamberlain.database.notify import Watchers
from chamberlain.directory.embedded.directory import FaultyDirectory
from chamberlain.directory.embedded.mapping import KEY_MEMBER
from chamberlain.directory.embedded.people import EmbeddedPeople
from chamberlain.embedded.directory.faults import (
    AWAY,
    NOT_FOUND,
    NOT_SHOWN,
    TOO_MANY,
    Faults,
    FaultyGroups,
    FaultyMailboxes,
    FaultyRegister,
    Injection,
    Outages,
)
from chamberlain.mailboxes.wire import read_mailbox_order
from chamberlain.queue.models import JobKind
from chamberlain.requests.models import Accepted, RequestState, StepState
from chamberlain.requests.timeline import Timelines
from tests.directory.retries import Clock
from tests.estates import (
    ADA,
    BEN,
    CLEO,
    ESTATE,
    OTHER_GROUP,
    OTHER_HOUSE,
    PROJECT_TEAM,
    ZOE,
    Estate,
    apply,
    caller_of,
    changed_estate,
    mail_caller_of,
)
from tests.requests.request_services import cancel, retry

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
NO_GUESTS = "7e000000-0000-4000-8000-000000000021"
YEARLY_REVIEW = "90110000-0000-4000-8000-000000000002"
REASONS = """
SELECT jsonb_path_query(timeline, '$[*].state.waiting.cause.code') #>> '{}'
FROM chamberlain.request WHERE request_id = $1
"""


@dataclass
class FaultyDirectoryFixture:
    """An estate whose directory has faults, and a clock for all of it."""

    estate: Estate
    faults: Faults
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        pools = self.estate.databases
        injection = Injection(self.faults, self.clock)
        groups = FaultyGroups(pools.worker.pool, injection, key_member=KEY_MEMBER)
        mailboxes = FaultyMailboxes(pools.worker.pool, injection, key_member=KEY_MEMBER)
        register = FaultyRegister(pools.application.pool, Injection(self.faults, self.clock))
        self.estate.directory.directory = FaultyDirectory(groups, mailboxes)
        self.estate.people.people = EmbeddedPeople(register)
        self.estate.moment = self.clock()

    async def go_on(self, span: timedelta) -> None:
        """Let so much time pass, and what is due then be done."""
        self.clock.wait(span)
        self.estate.moment = self.clock()
        async with self.estate.databases.worker.across_tenants() as tx:
            await tx.execute("UPDATE chamberlain.job SET run_at = run_at - $1::interval", span)
        await self.work()

    async def work(self) -> None:
        while (claim := await self.estate.claim(kinds=[JobKind.GROUP_PROVISION])).jobs:
            await self.estate.provision_groups.provision(claim)

    async def go_on_until_nothing_is_left(self, *, most: int = 120) -> None:
        for _ in range(most):
            if not await self.estate.rows("SELECT FROM chamberlain.job WHERE kind = 'groupProvision'"):
                return
            await self.go_on(SECOND)
        raise AssertionError(f"There are jobs left after {most} s.")

    async def reasons(self, request_id: RequestId) -> Sequence[str]:
        """Why it waited, each time, as its timeline tells."""
        return [str(reason) for (reason,) in await self.estate.rows(REASONS, request_id)]

    async def waits(self, accepted: Accepted) -> tuple[str, str, int]:
        """Where a request waits, why, and for the how many-th time."""
        record = await self.estate.record(accepted.request_id, accepted.tenant_id)
        assert record.waiting is not None
        [step] = [step for step in record.steps if step.state is StepState.WAITING]
        assert (step.step, step.reason, step.attempts) == (
            record.waiting.step, record.waiting.reason, record.waiting.attempt
        )  # fmt: skip
        assert record.waiting.cause is not None
        return record.waiting.step, record.waiting.shown_reason.sentence, record.waiting.attempt


@pytest.mark.heavy
async def test_it_works_for_two_hundred_requests_while_groups_are_shown_late_and_calls_are_throttled(
    estate: Estate,
) -> None:
    # A busy machine needs half a minute for the first attempts.
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(visibility_delay=60 * SECOND, throttle=3))
    accepted = [await estate.request(f"Group {number}", members=[str(BEN)]) for number in range(200)]
    await faulty_fixture.work()
    early = [await estate.group(each.request_id) for each in accepted]

    await faulty_fixture.go_on_until_nothing_is_left()

    assert early == [None] * 200
    assert await estate.rows("SELECT state, count(*) FROM chamberlain.request GROUP BY 1") == [("succeeded", 200)]
    made = await estate.rows("SELECT v.value FROM directory.extension_values v WHERE v.member = 'requestId'")
    assert Counter(made) == {(str(each.request_id),): 1 for each in accepted}
    assert await estate.rows("SELECT count(*) FROM directory.groups WHERE extensions <> '{}'") == [(200,)]
    told = [await faulty_fixture.reasons(each.request_id) for each in accepted]
    assert all(told)
    # A request that was throttled for all that time waits for nothing else.
    assert sum("groupNotVisible" in reasons for reasons in told) > 180
    assert sum("directoryBusy" in reasons for reasons in told) > 60
    assert {reason for reasons in told for reason in reasons} == {"groupNotVisible", "directoryBusy"}
    groups = [await estate.group(each.request_id) for each in accepted]
    assert all(group is not None and group.members == {ADA, BEN} for group in groups)


async def test_a_team_is_made_step_by_step_each_once(estate: Estate) -> None:
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(visibility_delay=15 * SECOND))
    accepted = await estate.request("Apollo", templateId=str(PROJECT_TEAM), owners=[str(BEN)], members=[str(CLEO)])
    await faulty_fixture.work()
    first = await faulty_fixture.waits(accepted)
    await faulty_fixture.go_on(SECOND)
    second = await faulty_fixture.waits(accepted)

    await faulty_fixture.go_on_until_nothing_is_left()

    record = await estate.record(accepted.request_id)
    assert (first, second) == (("addOwners", NOT_SHOWN, 1), ("addOwners", NOT_SHOWN, 2))
    assert [(step.step, step.state) for step in record.steps] == [
        (step, "succeeded") for step in ("createGroup", "addOwners", "addMembers", "createTeam", "createChannels")
    ]
    # Waits of 1, 1.5, 2, 3, 4.5 and 6 s lead past the 15 s; what follows needs no wait.
    assert [step.attempts for step in record.steps] == [1, 7, 1, 1, 1]
    group = await estate.group(accepted.request_id)
    assert group is not None
    assert (set(group.owners), set(group.members)) == ({ADA, BEN}, {ADA, BEN, CLEO})
    assert group.channels == ("General", "Planning")


async def test_a_request_of_one_step_succeeds_when_everybody_can_see_its_group(estate: Estate) -> None:
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(visibility_delay=15 * SECOND))
    accepted = await estate.request("Apollo")

    await faulty_fixture.work()
    waits = await faulty_fixture.waits(accepted)
    await faulty_fixture.go_on_until_nothing_is_left()

    assert waits == ("createGroup", NOT_SHOWN, 1)
    assert (await estate.record(accepted.request_id)).state == "succeeded"
    assert await estate.group(accepted.request_id) is not None


async def test_a_group_that_is_shown_but_not_found_waits_with_its_own_reason(estate: Estate) -> None:
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(not_found_after_create=10 * SECOND))
    accepted = await estate.request("Apollo", members=[str(BEN)])

    await faulty_fixture.work()
    waits = await faulty_fixture.waits(accepted)
    shown = await estate.group(accepted.request_id)
    await faulty_fixture.go_on_until_nothing_is_left()

    assert waits == ("addMembers", NOT_FOUND, 1)
    assert shown is not None
    assert shown.members == {ADA}
    assert (await estate.record(accepted.request_id)).state == "succeeded"


async def test_all_wait_for_the_end_of_an_outage_and_no_longer(estate: Estate) -> None:
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(outages=Outages(lasting=HOUR, every=2 * HOUR)))
    since = (faulty_fixture.clock() - datetime(1970, 1, 1, tzinfo=UTC)) % (2 * HOUR)
    faulty_fixture.clock.wait(3 * HOUR - since)
    checked = await estate.request("Apollo")
    faulty_fixture.clock.wait(HOUR)
    unchecked = await estate.request("Zephyr")

    await faulty_fixture.go_on(SECOND)
    waits = [await faulty_fixture.waits(each) for each in (checked, unchecked)]
    record = await estate.record(checked.request_id)
    await faulty_fixture.go_on(HOUR)

    assert waits == [("createGroup", AWAY, 1), ("checkPeople", AWAY, 1)]
    assert record.waiting is not None
    assert record.waiting.next_attempt_at is not None
    assert record.waiting.next_attempt_at <= estate.moment
    for each in (checked, unchecked):
        assert (await estate.record(each.request_id)).state == "succeeded"


async def test_one_that_is_throttled_holds_up_nobody_else(estate: Estate) -> None:
    await apply(estate.databases, changed_estate())
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(throttle=3))
    accepted = [await estate.request(f"Group {number}") for number in range(2)]
    accepted.append(await estate.request("Theirs", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP)))

    await faulty_fixture.work()

    records = [await estate.record(each.request_id, each.tenant_id) for each in accepted]
    [late] = [each for each, record in zip(accepted, records, strict=True) if record.state is RequestState.WAITING]
    assert sorted(record.state for record in records) == ["succeeded", "succeeded", "waiting"]
    assert await faulty_fixture.waits(late) == ("createGroup", TOO_MANY, 1)
    record = await estate.record(late.request_id, late.tenant_id)
    assert record.waiting is not None
    assert record.waiting.next_attempt_at == estate.moment + SECOND
    await faulty_fixture.go_on(SECOND)
    assert (await estate.record(late.request_id, late.tenant_id)).state == "succeeded"


async def test_waits_are_no_runs_cut_short(estate: Estate) -> None:
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(visibility_delay=HOUR))
    accepted = await estate.request("Apollo", members=[str(BEN)])

    await faulty_fixture.work()
    for _ in range(20):
        await faulty_fixture.go_on(10 * SECOND)

    _, _, attempt = await faulty_fixture.waits(accepted)
    assert attempt > 5
    assert await estate.rows("SELECT attempts, held_reason FROM chamberlain.job") == [(0, None)]


async def test_a_wait_that_ends_fails_with_a_sentence_keeps_its_address_and_can_be_retried(estate: Estate) -> None:
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(visibility_delay=HOUR))
    accepted = await estate.request("Apollo", members=[str(BEN)])
    await faulty_fixture.work()
    for _ in range(21):
        await faulty_fixture.go_on(60 * SECOND)
    failed = await estate.record(accepted.request_id)
    other = await estate.request("Apollo")
    await faulty_fixture.go_on(HOUR)

    await retry(estate, accepted.request_id, caller_of(ADA))
    await faulty_fixture.go_on_until_nothing_is_left()

    assert failed.error is not None
    assert (failed.state, failed.error.step, failed.error.code) == ("failed", "addMembers", "directoryNotReady")
    assert failed.error.detail == f"{NOT_SHOWN} This was tried for 20 minutes. Retry the request later."
    assert [step.state for step in failed.steps] == ["succeeded", "failed"]
    assert failed.steps[1].error == failed.error.detail
    record = await estate.record(accepted.request_id)
    assert (record.state, record.error) == ("succeeded", None)
    assert [(step.state, step.attempts) for step in record.steps] == [("succeeded", 1), ("succeeded", 1)]
    group, namesake = await estate.group(accepted.request_id), await estate.group(other.request_id)
    assert group is not None
    assert namesake is not None
    assert (group.mail, set(group.members)) == ("apollo@estate.example", {ADA, BEN})
    assert namesake.mail == f"apollo-{str(other.request_id)[:8]}@estate.example"


async def test_the_rules_for_guests_are_a_step_of_their_own(estate: Estate) -> None:
    rules = {"guestTemplateId": NO_GUESTS, "guestPolicyId": YEARLY_REVIEW}
    await apply(estate.databases, changed_estate(project_group=rules))
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(not_found_after_create=10 * SECOND))
    accepted = await estate.request("Apollo")

    await faulty_fixture.work()
    before = await estate.group(accepted.request_id)
    waits = await faulty_fixture.waits(accepted)
    await faulty_fixture.go_on_until_nothing_is_left()

    assert waits == ("assignGuestRules", NOT_FOUND, 1)
    group = await estate.group(accepted.request_id)
    assert before is not None
    assert group is not None
    assert before.marks == {"requestId": str(accepted.request_id)}
    assert group.marks == {**before.marks, "templateId": NO_GUESTS, "policyId": YEARLY_REVIEW}


async def test_the_rules_for_guests_are_written_at_once_where_nothing_is_difficult(estate: Estate) -> None:
    rules = {"guestTemplateId": NO_GUESTS}
    await apply(estate.databases, changed_estate(project_group=rules))
    accepted = await estate.request("Apollo")

    await estate.work()

    group = await estate.group(accepted.request_id)
    record = await estate.record(accepted.request_id)
    assert group is not None
    assert group.marks == {"requestId": str(accepted.request_id), "templateId": NO_GUESTS}
    assert [(step.step, step.state) for step in record.steps] == [
        ("createGroup", "succeeded"),
        ("assignGuestRules", "succeeded"),
    ]


async def test_what_was_made_stays_when_the_request_is_cancelled_and_the_request_says_so(estate: Estate) -> None:
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(visibility_delay=HOUR))
    accepted = await estate.request("Apollo")
    await faulty_fixture.work()

    await cancel(estate, accepted.request_id, caller_of(ADA))

    ((group,),) = await estate.rows("SELECT id FROM directory.groups WHERE mail = 'apollo@estate.example'")
    (warning,) = (await estate.record(accepted.request_id)).warnings
    values = {"type": "group", "displayName": "Apollo", "address": "apollo@estate.example", "id": str(group)}
    assert warning == Reason.build("objectLeftBehind", **values)
    timeline = await Timelines(estate.databases.application, Watchers()).find(ESTATE, accepted.request_id)
    assert timeline is not None
    assert timeline.warnings == (warning,)


async def test_a_mailbox_that_was_made_stays_and_whoever_asks_again_is_reported_who_has_its_address(
    estate: Estate,
) -> None:
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(visibility_delay=HOUR))
    sent = {"name": "Desk", "displayName": "Desk", "alias": "help"}
    accepted = (await estate.ask_mailbox(sent)).accepted
    await estate.provision_mailboxes.provision(await estate.claim())
    await cancel(estate, accepted.request_id, mail_caller_of(ADA))
    faulty_fixture.clock.wait(2 * HOUR)

    with pytest.raises(Conflict) as refused:
        await estate.ask_mailbox(sent)
    dry_run = await estate.mailboxes.dry_run(mail_caller_of(ADA), read_mailbox_order(msgspec.json.encode(sent)))

    (warning,) = (await estate.record(accepted.request_id)).warnings
    assert warning.code == "objectLeftBehind"
    assert (refused.value.code, refused.value.conflicting_id) == ("addressTaken", None)
    assert refused.value.detail.startswith("Something in the directory has the address desk@estate.example")
    assert refused.value.detail in [conflict.detail for conflict in dry_run.conflicts]


async def test_a_group_that_was_made_stays_and_whoever_asks_again_is_reported_who_has_its_address(
    estate: Estate,
) -> None:
    faulty_fixture = FaultyDirectoryFixture(estate, Faults(visibility_delay=HOUR))
    await apply(estate.databases, changed_estate(project_group={"naming": {"mailNickname": "{input}"}}))
    accepted = await estate.request("Apollo")
    await faulty_fixture.work()
    await cancel(estate, accepted.request_id, caller_of(ADA))

    with pytest.raises(Conflict) as refused:
        await estate.request("Apollo")

    assert (refused.value.code, refused.value.conflicting_id) == ("addressTaken", None)
    assert refused.value.detail.startswith("Something in the directory has the address apollo@estate.example")
