# SPDX-License-Identifier: Apache-2.0
"""Mailboxes step by step with injected faults."""

from datetime import timedelta

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.directory.embedded.directory import FaultyDirectory
from chamberlain.directory.mailboxes import remaining_of_mailbox
from chamberlain.directory.port import MailboxOutcome, Work
from chamberlain.directory.steps import Step
from chamberlain.embedded.directory.faults import MAILBOX_NOT_FOUND, MAILBOX_NOT_SHOWN, TOO_MANY, Faults, Injection
from tests.databases import Databases
from tests.directory.conftest import faulty_directory
from tests.directory.mailbox_work import Make, each_type, plain, reference, shared
from tests.directory.retries import Clock
from tests.directory.sample_directory import CLEO

HOUR = timedelta(hours=1)


def directory_with(faults: Faults, databases: Databases, clock: Clock) -> FaultyDirectory:
    return faulty_directory(databases, Injection(faults, clock))


def reason_of(outcome: MailboxOutcome) -> str:
    assert isinstance(outcome.fault, TryAgain)
    return outcome.fault.reason


@each_type
async def test_it_works_step_by_step(filled: Databases, make: Make) -> None:
    one = make()
    directory = directory_with(Faults(), filled, Clock())

    for number in range(1, len(one.steps) + 1):
        await directory.ensure_mailboxes([Work(one.wanted, one.steps[:number])])

        [seen] = await directory.observe_mailboxes([reference(one)])
        left = remaining_of_mailbox(one.wanted, seen, one.steps)
        # The default visibility can be the desired one before its step runs.
        assert set(left) | {Step.SET_VISIBILITY} == {*one.steps[number:], Step.SET_VISIBILITY}


async def test_it_waits_until_the_mailbox_is_known(filled: Databases) -> None:
    clock = Clock()
    directory = directory_with(Faults(visibility_delay=HOUR, not_found_after_create=2 * HOUR), filled, clock)
    one = shared()

    [hidden] = await directory.ensure_mailboxes([one])
    [again] = await directory.ensure_mailboxes([one])
    clock.wait(HOUR)
    [unknown] = await directory.ensure_mailboxes([one])
    clock.wait(HOUR)
    [known] = await directory.ensure_mailboxes([one])

    assert hidden.done == again.done == unknown.done == (Step.CREATE_MAILBOX,)
    assert reason_of(hidden) == reason_of(again) == MAILBOX_NOT_SHOWN
    assert (hidden.observed, again.observed) == (None, None)
    assert unknown.observed is not None
    assert reason_of(unknown) == MAILBOX_NOT_FOUND
    assert (known.fault, known.done) == (None, one.steps)


async def test_throttling_stops_one_item(filled: Databases) -> None:
    directory = directory_with(Faults(throttle=3), filled, Clock())
    works = [plain() for _ in range(4)]

    outcomes = await directory.ensure_mailboxes(works)

    assert [outcome.fault is None for outcome in outcomes] == [True, True, False, True]
    assert (reason_of(outcomes[2]), outcomes[2].done) == (TOO_MANY, ())
    assert await directory.observe_mailboxes([reference(works[2])]) == [None]


async def test_a_later_step_rejects_a_removed_user(filled: Databases) -> None:
    clock = Clock()
    directory = directory_with(Faults(visibility_delay=HOUR), filled, clock)
    one = plain(is_hidden=True, owners=(CLEO,))
    await directory.ensure_mailboxes([one])
    async with filled.worker.pool.acquire() as connection:
        await connection.execute("DELETE FROM directory.users WHERE id = $1", CLEO)
    clock.wait(HOUR)

    [outcome] = await directory.ensure_mailboxes([one])

    assert isinstance(outcome.fault, Rejected)
    assert outcome.fault.code == "userUnknown"
    assert outcome.done == (Step.CREATE_MAILBOX, Step.SET_VISIBILITY)
    assert outcome.observed is not None
