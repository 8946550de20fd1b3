# SPDX-License-Identifier: Apache-2.0
"""Scans of groups and sites, and their changes: complete and per tenant."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.directory.port import MOST_CHANGES, Guests, SubjectChanges
from tests.directory import group_work
from tests.directory.conftest import Adapter
from tests.directory.guest_work import (
    ASSIGNMENTS,
    EXTENSION,
    OBSERVED_HANDBOOK,
    OBSERVED_PARTNERS,
    assign,
    reference,
    subject_of,
    summary,
)
from tests.directory.sample_directory import (
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

CLEAR, FORBID, *_ = ASSIGNMENTS
EVERYBODY = {OUTER, INNER, PARTNERS, VISITORS, HANDBOOK}


async def pages(
    guests: Guests, cursor: str | None = None, tenant_id: TenantId = TENANT
) -> AsyncIterator[SubjectChanges]:
    """Read all pages from a cursor on."""
    is_complete = False
    while not is_complete:
        page = await guests.changes(tenant_id, EXTENSION, cursor)
        cursor, is_complete = page.cursor, page.is_complete
        yield page


async def follow(
    guests: Guests, cursor: str | None = None, tenant_id: TenantId = TENANT
) -> tuple[list[GroupId], list[GroupId], str]:
    """Read all changes: groups, removed groups, and the next cursor."""
    found: list[GroupId] = []
    removed: list[GroupId] = []
    async for page in pages(guests, cursor, tenant_id):
        found += [subject.id for subject in page.subjects]
        removed += page.removed
    return found, removed, page.cursor


async def make(adapter: Adapter, count: int) -> set[GroupId]:
    outcomes = await adapter.directory.ensure([group_work.work() for _ in range(count)])
    return {outcome.observed.id for outcome in outcomes if outcome.observed is not None}


@pytest.mark.abilities
async def test_it_works(adapter: Adapter) -> None:
    page = await adapter.guests.changes(TENANT, EXTENSION, None)

    assert page.is_complete
    assert {subject.id: subject for subject in page.subjects}.keys() == EVERYBODY
    assert summary(OBSERVED_PARTNERS) in page.subjects
    assert summary(adapter.subject(OBSERVED_HANDBOOK)) in page.subjects
    assert (page.removed, len(page.subjects)) == ((), len(EVERYBODY))


async def test_it_reports_each_change_once(adapter: Adapter) -> None:
    _, _, cursor = await follow(adapter.guests)

    [outcome] = await adapter.guests.ensure([assign(PARTNERS, FORBID)])
    page = await adapter.guests.changes(TENANT, EXTENSION, cursor)
    later = await adapter.second_guests.changes(TENANT, EXTENSION, page.cursor)

    assert page.subjects == (summary(subject_of(outcome)),)
    assert (later.subjects, later.removed, later.is_complete) == ((), (), True)


async def test_it_is_empty_without_changes(adapter: Adapter) -> None:
    await adapter.guests.ensure([adapter.assign(HANDBOOK, FORBID)])
    _, _, cursor = await follow(adapter.guests)

    await adapter.guests.ensure([adapter.assign(HANDBOOK, FORBID)])

    assert (await follow(adapter.guests, cursor))[:2] == ([], [])


async def test_it_reports_new_and_removed_groups(adapter: Adapter) -> None:
    _, _, cursor = await follow(adapter.guests)

    made = await make(adapter, 2)
    await adapter.remove_group(TENANT, INNER)
    found, removed, cursor = await follow(adapter.guests, cursor)
    gone = made.pop()
    await adapter.remove_group(TENANT, gone)

    assert (set(found), removed) == ({gone, *made}, [INNER])
    assert (await follow(adapter.guests, cursor))[:2] == ([], [gone])
    # A new scan neither shows removed groups nor reports earlier removals.
    assert set((await follow(adapter.guests))[0]) == EVERYBODY - {INNER} | made


async def test_it_pages(adapter: Adapter) -> None:
    made = await make(adapter, MOST_CHANGES + 50)

    scanned = [page async for page in pages(adapter.guests)]
    _, _, cursor = await follow(adapter.guests)
    ids = sorted(made)
    for begin in range(0, len(ids), 100):
        await adapter.guests.ensure([assign(group_id, FORBID) for group_id in ids[begin : begin + 100]])
    changed = [page async for page in pages(adapter.guests, cursor)]

    assert [len(page.subjects) for page in scanned] == [MOST_CHANGES, 50 + len(EVERYBODY)]
    assert [len(page.subjects) for page in changed] == [MOST_CHANGES, 50]
    assert [page.is_complete for page in scanned] == [False, True]
    assert {subject.id for page in scanned for subject in page.subjects} == made | EVERYBODY
    assert {subject.id for page in changed for subject in page.subjects} == made
    assert all(subject.template_id is not None for page in changed for subject in page.subjects)


async def test_it_includes_changes_during_a_scan(adapter: Adapter) -> None:
    await make(adapter, MOST_CHANGES + 10)
    first = await adapter.guests.changes(TENANT, EXTENSION, None)
    assert not first.is_complete
    passed, *_, seen_last = [subject.id for subject in first.subjects]

    await adapter.guests.ensure([adapter.assign(passed, FORBID)])
    new = await make(adapter, 1)
    await adapter.remove_group(TENANT, seen_last)
    rest, removed, cursor = await follow(adapter.guests, first.cursor)
    found, gone, _ = await follow(adapter.guests, cursor)

    assert {passed, *new} <= {*rest, *found}
    assert seen_last in {*removed, *gone}


async def test_it_misses_nothing_under_concurrent_writes(adapter: Adapter) -> None:
    """Applying all pages results in the current state."""
    known: dict[GroupId, object] = {}
    ended = asyncio.Event()

    async def apply(cursor: str | None) -> str:
        async for page in pages(adapter.guests, cursor):
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
            made = sorted(await make(adapter, 3))
            await adapter.second_guests.ensure([assign(made[0], FORBID), assign(PARTNERS, ASSIGNMENTS[turn % 5])])
            await adapter.remove_group(TENANT, made[number % 3])

    reading = asyncio.create_task(read())
    await asyncio.gather(*(write(number) for number in range(4)))
    ended.set()
    await reading

    there = await follow(adapter.guests)
    assert known.keys() == set(there[0])
    shown = await adapter.guests.observe([reference(one) for one in known])
    assert list(known.values()) == [None if one is None else summary(one) for one in shown]


async def test_it_reports_nothing_of_another_tenant(adapter: Adapter) -> None:
    _, _, cursor = await follow(adapter.guests, tenant_id=OTHER_TENANT)
    await adapter.guests.ensure([assign(PARTNERS, FORBID)])
    await adapter.remove_group(TENANT, INNER)

    assert set((await follow(adapter.guests, tenant_id=OTHER_TENANT))[0]) == {OTHER_GROUP, OTHER_SITE}
    assert (await follow(adapter.guests, cursor, OTHER_TENANT))[:2] == ([], [])


async def test_it_shows_the_marks_of_the_requested_extension(adapter: Adapter) -> None:
    await adapter.guests.ensure([assign(PARTNERS, FORBID)])

    page = await adapter.guests.changes(TENANT, "other_group", None)

    assert {subject.id: subject.template_id for subject in page.subjects}[PARTNERS] is None


async def foreign(adapter: Adapter) -> str:
    """Return a cursor of another tenant."""
    return (await follow(adapter.guests, tenant_id=OTHER_TENANT))[2]


async def cut(adapter: Adapter) -> str:
    return (await follow(adapter.guests))[2][:-4]


async def strange(adapter: Adapter) -> str:  # noqa: ARG001 - as the others are called.
    return "half \ud800"


@pytest.mark.parametrize("made_by", [foreign, cut, strange])
async def test_it_rejects_an_unknown_cursor(adapter: Adapter, made_by: Callable[[Adapter], Awaitable[str]]) -> None:
    cursor = await made_by(adapter)

    with pytest.raises(Rejected) as rejected:
        await adapter.guests.changes(TENANT, EXTENSION, cursor)

    assert rejected.value.code == "cursorUnknown"


async def test_it_reports_a_group_with_cleared_marks(adapter: Adapter) -> None:
    await adapter.guests.ensure([assign(PARTNERS, FORBID)])
    _, _, cursor = await follow(adapter.guests)

    await adapter.guests.ensure([assign(PARTNERS, CLEAR)])

    page = await adapter.guests.changes(TENANT, EXTENSION, cursor)
    assert page.subjects == (summary(OBSERVED_PARTNERS),)
