from dataclasses import replace
from uuid import uuid4

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import RequestId
from chamberlain.directory.groups import GroupReference
from chamberlain.directory.mailboxes import MailboxReference
from chamberlain.directory.models import ObjectType
from chamberlain.directory.port import MOST_CHANGES
from tests.directory import wanted
from tests.directory.conftest import Stage
from tests.directory.population import OTHER_TENANT, TENANT
from tests.directory.wanted_mailboxes import Make, each_type, plain, room
from tests.directory.wanted_markings import GROUP_EXTENSION, MAILBOX_EXTENSION, all_of, made_before, marking


@each_type
async def test_it_works(stage: Stage, make: Make) -> None:
    before = await made_before(stage, make)
    shown = (await all_of(stage.adoptions))[before.id]
    one = marking(before.id)

    assert await stage.adoptions.mark([one]) == [None]

    # It is found by its mark from now on, and nothing else of it has changed.
    [after] = await stage.directory.observe_mailboxes([MailboxReference(TENANT, MAILBOX_EXTENSION, one.request_id)])
    assert after is not None
    assert replace(after, marks=shown.marks) == shown
    assert after.marks["requestId"] == str(one.request_id)
    assert (await all_of(stage.adoptions))[before.id] == after


async def test_it_handles_a_group(stage: Stage) -> None:
    work = wanted.work()
    [outcome] = await stage.directory.ensure([work])
    assert outcome.group is not None
    first = replace(marking(outcome.group.id, ObjectType.GROUP), request_id=work.wanted.request_id)
    await stage.adoptions.unmark([first])
    again = marking(outcome.group.id, ObjectType.GROUP)

    assert await stage.adoptions.mark([again]) == [None]

    references = [GroupReference(TENANT, GROUP_EXTENSION, each.request_id) for each in (first, again)]
    [nothing, after] = await stage.directory.observe(references)
    assert nothing is None
    assert after is not None
    assert replace(after, marks=outcome.group.marks) == outcome.group


async def test_twice_is_as_once(stage: Stage) -> None:
    one = marking((await made_before(stage)).id)
    await stage.adoptions.mark([one])
    once = await all_of(stage.adoptions)

    assert await stage.adoptions.mark([one]) == [None]
    assert await all_of(stage.adoptions) == once


async def test_a_mark_that_is_taken_away_leaves_nothing_behind(stage: Stage) -> None:
    before = await made_before(stage, room)
    shown = (await all_of(stage.adoptions))[before.id]
    one = marking(before.id)
    await stage.adoptions.mark([one])

    assert await stage.adoptions.unmark([one]) == [None]
    assert await stage.adoptions.unmark([one]) == [None]

    assert (await all_of(stage.adoptions))[before.id] == shown
    reference = MailboxReference(TENANT, MAILBOX_EXTENSION, one.request_id)
    assert await stage.directory.observe_mailboxes([reference]) == [None]


async def test_it_rejects_what_is_not_there_and_what_is_managed_alone(stage: Stage) -> None:
    managed, free = await made_before(stage), await made_before(stage)
    await stage.adoptions.mark([marking(managed.id)])

    faults = await stage.adoptions.mark(
        [marking(uuid4()), marking(free.id), marking(managed.id), marking(uuid4(), ObjectType.GROUP)]
    )

    codes = [None if fault is None else isinstance(fault, Rejected) and fault.code for fault in faults]
    assert codes == ["gone", None, "alreadyManaged", "gone"]


async def test_a_mark_of_another_request_is_left_alone(stage: Stage) -> None:
    one = marking((await made_before(stage)).id)
    await stage.adoptions.mark([one])

    other = replace(one, request_id=RequestId(uuid4()))
    assert await stage.adoptions.unmark([other, marking(uuid4())]) == [None, None]

    reference = MailboxReference(TENANT, MAILBOX_EXTENSION, one.request_id)
    [after] = await stage.directory.observe_mailboxes([reference])
    assert after is not None


async def test_nothing_of_another_tenant_is_shown_or_marked(stage: Stage) -> None:
    before = await made_before(stage)
    strange = replace(marking(before.id), tenant_id=OTHER_TENANT)

    [fault] = await stage.adoptions.mark([strange])

    assert isinstance(fault, Rejected)
    page = await stage.adoptions.mailboxes(OTHER_TENANT, MAILBOX_EXTENSION, None)
    assert before.id not in {one.id for one in page.mailboxes}


async def test_pages_follow_each_other(stage: Stage) -> None:
    works = [plain() for _ in range(MOST_CHANGES + 1)]
    outcomes = await stage.second_directory.ensure_mailboxes(works)

    found = await all_of(stage.adoptions)

    assert {outcome.mailbox.id for outcome in outcomes if outcome.mailbox} <= found.keys()


async def test_it_rejects_a_cursor_that_is_none(stage: Stage) -> None:
    with pytest.raises(Rejected) as rejected:
        await stage.adoptions.mailboxes(TENANT, MAILBOX_EXTENSION, "nothing of ours")
    assert rejected.value.code == "cursorUnknown"
