# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from uuid import uuid4

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import RequestId
from chamberlain.directory.capabilities import Ability
from chamberlain.directory.groups import GroupReference
from chamberlain.directory.mailboxes import MailboxReference
from chamberlain.directory.models import ObjectType
from chamberlain.directory.port import MOST_CHANGES
from tests.directory import group_work
from tests.directory.conftest import Adapter
from tests.directory.mailbox_work import Make, each_type, plain, room
from tests.directory.marking_work import GROUP_EXTENSION, MAILBOX_EXTENSION, all_of, made_before, marking
from tests.directory.sample_directory import OTHER_TENANT, TENANT


@pytest.mark.abilities(Ability.MAILBOXES)
@each_type
async def test_it_works(adapter: Adapter, make: Make) -> None:
    before = await made_before(adapter, make)
    shown = (await all_of(adapter.adoptions))[before.id]
    one = marking(before.id)

    assert await adapter.adoptions.mark([one]) == [None]

    # The mark finds it now, and nothing else has changed.
    [after] = await adapter.directory.observe_mailboxes([MailboxReference(TENANT, MAILBOX_EXTENSION, one.request_id)])
    assert after is not None
    assert replace(after, marks=shown.marks) == shown
    assert after.marks["requestId"] == str(one.request_id)
    assert (await all_of(adapter.adoptions))[before.id] == after


async def test_it_handles_a_group(adapter: Adapter) -> None:
    work = group_work.work()
    [outcome] = await adapter.directory.ensure([work])
    assert outcome.observed is not None
    first = replace(marking(outcome.observed.id, ObjectType.GROUP), request_id=work.wanted.request_id)
    await adapter.adoptions.unmark([first])
    again = marking(outcome.observed.id, ObjectType.GROUP)

    assert await adapter.adoptions.mark([again]) == [None]

    references = [GroupReference(TENANT, GROUP_EXTENSION, each.request_id) for each in (first, again)]
    [nothing, after] = await adapter.directory.observe(references)
    assert nothing is None
    assert after is not None
    assert replace(after, marks=outcome.observed.marks) == outcome.observed


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_the_id_selects_one_of_several_mailboxes_with_the_same_mark(adapter: Adapter) -> None:
    first, second, other = [await made_before(adapter) for _ in range(3)]
    one, another = marking(first.id), marking(other.id)
    await adapter.adoptions.mark([one, replace(one, id=second.id), another])
    reference = MailboxReference(TENANT, MAILBOX_EXTENSION, one.request_id)

    shown = await adapter.directory.observe_mailboxes(
        [replace(reference, id=each) for each in (first.id, second.id, other.id, uuid4())]
    )
    elsewhere = await adapter.directory.observe_mailboxes([replace(reference, tenant_id=OTHER_TENANT, id=first.id)])

    found = [None if each is None else each.id for each in shown]
    assert found[:2] == [first.id, second.id]
    # An id of a mailbox with another mark is ignored.
    assert found[2:] == [min(first.id, second.id)] * 2
    assert elsewhere == [None]


async def test_the_id_selects_one_of_several_groups_with_the_same_mark(adapter: Adapter) -> None:
    works = [group_work.work() for _ in range(2)]
    outcomes = await adapter.directory.ensure(works)
    ids = [outcome.observed.id for outcome in outcomes if outcome.observed is not None]
    marks = [marking(each, ObjectType.GROUP) for each in ids]
    await adapter.adoptions.unmark(
        [replace(each, request_id=work.wanted.request_id) for each, work in zip(marks, works, strict=True)]
    )
    await adapter.adoptions.mark([replace(each, request_id=marks[0].request_id) for each in marks])
    reference = GroupReference(TENANT, GROUP_EXTENSION, marks[0].request_id)

    shown = await adapter.directory.observe([replace(reference, id=each) for each in ids])

    assert [None if each is None else each.id for each in shown] == ids


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_marking_is_idempotent(adapter: Adapter) -> None:
    one = marking((await made_before(adapter)).id)
    await adapter.adoptions.mark([one])
    once = await all_of(adapter.adoptions)

    assert await adapter.adoptions.mark([one]) == [None]
    assert await all_of(adapter.adoptions) == once


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_unmarking_leaves_no_trace(adapter: Adapter) -> None:
    before = await made_before(adapter, room)
    shown = (await all_of(adapter.adoptions))[before.id]
    one = marking(before.id)
    await adapter.adoptions.mark([one])

    assert await adapter.adoptions.unmark([one]) == [None]
    assert await adapter.adoptions.unmark([one]) == [None]

    assert (await all_of(adapter.adoptions))[before.id] == shown
    reference = MailboxReference(TENANT, MAILBOX_EXTENSION, one.request_id)
    assert await adapter.directory.observe_mailboxes([reference]) == [None]


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_it_rejects_only_missing_and_managed_objects(adapter: Adapter) -> None:
    managed, free = await made_before(adapter), await made_before(adapter)
    await adapter.adoptions.mark([marking(managed.id)])

    faults = await adapter.adoptions.mark(
        [marking(uuid4()), marking(free.id), marking(managed.id), marking(uuid4(), ObjectType.GROUP)]
    )

    codes = [None if fault is None else isinstance(fault, Rejected) and fault.code for fault in faults]
    assert codes == ["gone", None, "alreadyManaged", "gone"]


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_changed_mailboxes_are_reported(adapter: Adapter) -> None:
    before = await made_before(adapter)
    begun = await adapter.adoptions.changed_mailboxes(TENANT, [MAILBOX_EXTENSION], None)
    one = marking(before.id)

    await adapter.adoptions.mark([one])

    page = await adapter.adoptions.changed_mailboxes(TENANT, ["other_mailbox", MAILBOX_EXTENSION], begun.cursor)
    assert (begun.request_ids, page.request_ids) == ((), (one.request_id,))
    assert begun.is_complete is page.is_complete is True
    with pytest.raises(Rejected):
        await adapter.adoptions.changed_mailboxes(TENANT, [MAILBOX_EXTENSION], "no cursor")


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_unmarking_keeps_the_mark_of_another_request(adapter: Adapter) -> None:
    one = marking((await made_before(adapter)).id)
    await adapter.adoptions.mark([one])

    other = replace(one, request_id=RequestId(uuid4()))
    assert await adapter.adoptions.unmark([other, marking(uuid4())]) == [None, None]

    reference = MailboxReference(TENANT, MAILBOX_EXTENSION, one.request_id)
    [after] = await adapter.directory.observe_mailboxes([reference])
    assert after is not None


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_nothing_of_another_tenant_is_shown_or_marked(adapter: Adapter) -> None:
    before = await made_before(adapter)
    strange = replace(marking(before.id), tenant_id=OTHER_TENANT)

    [fault] = await adapter.adoptions.mark([strange])

    assert isinstance(fault, Rejected)
    page = await adapter.adoptions.mailboxes(OTHER_TENANT, MAILBOX_EXTENSION, None)
    assert before.id not in {one.id for one in page.mailboxes}
    assert await adapter.adoptions.observe(OTHER_TENANT, MAILBOX_EXTENSION, [before.id]) == [None]


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_it_pages(adapter: Adapter) -> None:
    works = [plain() for _ in range(MOST_CHANGES + 1)]
    outcomes = await adapter.second_directory.ensure_mailboxes(works)

    found = await all_of(adapter.adoptions)

    assert {outcome.observed.id for outcome in outcomes if outcome.observed} <= found.keys()


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_it_rejects_an_invalid_cursor(adapter: Adapter) -> None:
    with pytest.raises(Rejected) as rejected:
        await adapter.adoptions.mailboxes(TENANT, MAILBOX_EXTENSION, "nothing of ours")
    assert rejected.value.code == "cursorUnknown"
