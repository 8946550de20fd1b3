"""Which groups and sites there are, and what has changed since: complete, nothing lost, nothing of another tenant."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.directory.port import MOST_CHANGES, Guests, SubjectChanges
from tests.directory import wanted
from tests.directory.conftest import Stage
from tests.directory.population import (
    HANDBOOK,
    INNER,
    OTHER_GROUP,
    OTHER_SITE,
    OTHER_TENANT,
    OUTER,
    PARTNERS,
    TENANT,
    VISITORS,
)
from tests.directory.test_observe_guests import OBSERVED_HANDBOOK, OBSERVED_PARTNERS
from tests.directory.wanted_guests import ASSIGNMENTS, EXTENSION, assign, reference, subject_of

CLEAR, FORBID, *_ = ASSIGNMENTS
EVERYBODY = {OUTER, INNER, PARTNERS, VISITORS, HANDBOOK}


async def pages(
    guests: Guests, cursor: str | None = None, tenant_id: TenantId = TENANT
) -> AsyncIterator[SubjectChanges]:
    """The pages from a cursor on, until nothing is left."""
    is_complete = False
    while not is_complete:
        page = await guests.changes(tenant_id, EXTENSION, cursor)
        cursor, is_complete = page.cursor, page.is_complete
        yield page


async def follow(
    guests: Guests, cursor: str | None = None, tenant_id: TenantId = TENANT
) -> tuple[list[GroupId], list[GroupId], str]:
    """What is told from a cursor on: groups, removed groups, and the cursor for later."""
    found: list[GroupId] = []
    removed: list[GroupId] = []
    async for page in pages(guests, cursor, tenant_id):
        found += [subject.id for subject in page.subjects]
        removed += page.removed
    return found, removed, page.cursor


async def make(stage: Stage, count: int) -> set[GroupId]:
    outcomes = await stage.directory.ensure([wanted.work() for _ in range(count)])
    return {outcome.group.id for outcome in outcomes if outcome.group is not None}


async def test_it_works(stage: Stage) -> None:
    page = await stage.guests.changes(TENANT, EXTENSION, None)

    assert page.is_complete
    assert {subject.id: subject for subject in page.subjects}.keys() == EVERYBODY
    assert OBSERVED_PARTNERS in page.subjects
    assert OBSERVED_HANDBOOK in page.subjects
    assert (page.removed, len(page.subjects)) == ((), len(EVERYBODY))


async def test_it_tells_each_change_once(stage: Stage) -> None:
    _, _, cursor = await follow(stage.guests)

    [outcome] = await stage.guests.ensure([assign(PARTNERS, FORBID)])
    page = await stage.guests.changes(TENANT, EXTENSION, cursor)
    later = await stage.second_guests.changes(TENANT, EXTENSION, page.cursor)

    assert page.subjects == (subject_of(outcome),)
    assert (later.subjects, later.removed, later.is_complete) == ((), (), True)


async def test_it_tells_nothing_when_nothing_has_changed(stage: Stage) -> None:
    await stage.guests.ensure([assign(HANDBOOK, FORBID)])
    _, _, cursor = await follow(stage.guests)

    await stage.guests.ensure([assign(HANDBOOK, FORBID)])

    assert (await follow(stage.guests, cursor))[:2] == ([], [])


async def test_it_tells_of_groups_that_were_made_or_removed(stage: Stage) -> None:
    _, _, cursor = await follow(stage.guests)

    made = await make(stage, 2)
    await stage.remove_group(TENANT, INNER)
    found, removed, cursor = await follow(stage.guests, cursor)
    gone = made.pop()
    await stage.remove_group(TENANT, gone)

    assert (set(found), removed) == ({gone, *made}, [INNER])
    assert (await follow(stage.guests, cursor))[:2] == ([], [gone])
    # A new scan does not show what is gone, and what was gone before it began is not told.
    assert set((await follow(stage.guests))[0]) == EVERYBODY - {INNER} | made


async def test_it_comes_in_pages(stage: Stage) -> None:
    made = await make(stage, MOST_CHANGES + 50)

    scanned = [page async for page in pages(stage.guests)]
    _, _, cursor = await follow(stage.guests)
    ids = sorted(made)
    for begin in range(0, len(ids), 100):
        await stage.guests.ensure([assign(group_id, FORBID) for group_id in ids[begin : begin + 100]])
    changed = [page async for page in pages(stage.guests, cursor)]

    assert [len(page.subjects) for page in scanned] == [MOST_CHANGES, 50 + len(EVERYBODY)]
    assert [len(page.subjects) for page in changed] == [MOST_CHANGES, 50]
    assert [page.is_complete for page in scanned] == [False, True]
    assert {subject.id for page in scanned for subject in page.subjects} == made | EVERYBODY
    assert {subject.id for page in changed for subject in page.subjects} == made
    assert all(subject.rules is not None for page in changed for subject in page.subjects)


async def test_it_misses_nothing_that_happens_while_pages_are_read(stage: Stage) -> None:
    await make(stage, MOST_CHANGES + 10)
    first = await stage.guests.changes(TENANT, EXTENSION, None)
    assert not first.is_complete
    passed, *_, seen_last = [subject.id for subject in first.subjects]

    await stage.guests.ensure([assign(passed, FORBID)])
    new = await make(stage, 1)
    await stage.remove_group(TENANT, seen_last)
    rest, removed, cursor = await follow(stage.guests, first.cursor)
    found, gone, _ = await follow(stage.guests, cursor)

    assert {passed, *new} <= {*rest, *found}
    assert seen_last in {*removed, *gone}


async def test_it_misses_nothing_while_many_write(stage: Stage) -> None:
    """Somebody who applies all that is told, page by page, knows in the end just what there is."""
    known: dict[GroupId, object] = {}
    ended = asyncio.Event()

    async def apply(cursor: str | None) -> str:
        async for page in pages(stage.guests, cursor):
            known.update({subject.id: subject for subject in page.subjects})
            for gone in page.removed:
                known.pop(gone, None)
        return page.cursor

    async def read() -> str:
        cursor = await apply(None)
        while not ended.is_set():
            cursor = await apply(cursor)
        return await apply(cursor)

    async def write(number: int) -> None:
        for turn in range(8):
            made = sorted(await make(stage, 3))
            await stage.second_guests.ensure([assign(made[0], FORBID), assign(PARTNERS, ASSIGNMENTS[turn % 5])])
            await stage.remove_group(TENANT, made[number % 3])

    reading = asyncio.create_task(read())
    await asyncio.gather(*(write(number) for number in range(4)))
    ended.set()
    await reading

    there = await follow(stage.guests)
    assert known.keys() == set(there[0])
    assert list(known.values()) == list(await stage.guests.observe([reference(one) for one in known]))


async def test_it_tells_nothing_of_another_tenant(stage: Stage) -> None:
    _, _, cursor = await follow(stage.guests, tenant_id=OTHER_TENANT)
    await stage.guests.ensure([assign(PARTNERS, FORBID)])
    await stage.remove_group(TENANT, INNER)

    assert set((await follow(stage.guests, tenant_id=OTHER_TENANT))[0]) == {OTHER_GROUP, OTHER_SITE}
    assert (await follow(stage.guests, cursor, OTHER_TENANT))[:2] == ([], [])


async def test_it_shows_the_marks_of_the_extension_that_was_asked_for(stage: Stage) -> None:
    await stage.guests.ensure([assign(PARTNERS, FORBID)])

    page = await stage.guests.changes(TENANT, "other_group", None)

    assert {subject.id: subject.template_id for subject in page.subjects}[PARTNERS] is None


async def foreign(stage: Stage) -> str:
    """A cursor of another tenant."""
    return (await follow(stage.guests, tenant_id=OTHER_TENANT))[2]


async def cut(stage: Stage) -> str:
    return (await follow(stage.guests))[2][:-4]


async def strange(stage: Stage) -> str:  # noqa: ARG001 - as the others are called.
    return "half \ud800"


@pytest.mark.parametrize("made_by", [foreign, cut, strange])
async def test_it_rejects_a_cursor_that_it_did_not_make(
    stage: Stage, made_by: Callable[[Stage], Awaitable[str]]
) -> None:
    cursor = await made_by(stage)

    with pytest.raises(Rejected) as rejected:
        await stage.guests.changes(TENANT, EXTENSION, cursor)

    assert rejected.value.code == "cursorUnknown"


async def test_it_tells_of_a_group_whose_marks_were_cleared(stage: Stage) -> None:
    await stage.guests.ensure([assign(PARTNERS, FORBID)])
    _, _, cursor = await follow(stage.guests)

    await stage.guests.ensure([assign(PARTNERS, CLEAR)])

    page = await stage.guests.changes(TENANT, EXTENSION, cursor)
    assert page.subjects == (replace(OBSERVED_PARTNERS, template_id=None),)
