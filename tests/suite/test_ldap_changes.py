# SPDX-License-Identifier: Apache-2.0
"""Scans and changes by LDAP Sync, against slapd."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.directory.opensuite.changes import SuiteChanges
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.layout import MARK, REQUEST_ID, mark_values
from chamberlain.directory.opensuite.ldap import Client
from chamberlain.directory.opensuite.members import LAST_SUCCESS
from chamberlain.directory.port import MOST_CHANGES, SubjectChanges
from deploy.suite.folder import Suite
from deploy.suite.processes import end
from deploy.suite.servers import Starter
from tests.suite.ldap_work import TENANT, connected, group, group_dn, layout_of, mailbox, mailbox_dn, unique

GROUP, MAILBOX = "chamberlain_group", "chamberlain_mailbox"


@pytest.fixture
async def client(suite: Suite) -> AsyncIterator[Client]:
    async with connected(suite) as found:
        yield found


@pytest.fixture
def changes(suite: Suite, client: Client) -> SuiteChanges:
    return SuiteChanges(client, layout_of(suite), suite.base)


async def follow(changes: SuiteChanges, cursor: str | None = None) -> tuple[list[SubjectChanges], str]:
    """Read all pages from a cursor on, and return them with the next cursor."""
    pages = []
    while True:
        page = await changes.changes(TENANT, GROUP, cursor)
        pages.append(page)
        cursor = page.cursor
        if page.is_complete:
            return pages, cursor


async def make(suite: Suite, client: Client, count: int) -> dict[UUID, str]:
    """Add groups, and return their names by id."""
    names = [unique("changing") for _ in range(count)]
    added = await asyncio.gather(*[Entries(client).add(group_dn(suite, name), group(suite, name)) for name in names])
    return {each.id: name for each, name in zip(added, names, strict=True)}


async def last_success(client: Client, account: str) -> str | None:
    """Return the last sign-in of an account that slapd has noted."""
    entry = await Entries(client).read(account, attributes=[LAST_SUCCESS])
    return None if entry is None else entry.one(LAST_SUCCESS)


def ids_of(pages: list[SubjectChanges]) -> list[UUID]:
    return [subject.id for page in pages for subject in page.subjects]


def removed_of(pages: list[SubjectChanges]) -> set[UUID]:
    return {each for page in pages for each in page.removed}


async def test_it_works(suite: Suite, client: Client, changes: SuiteChanges) -> None:
    entries = Entries(client)
    made = await make(suite, client, 3)
    [first, second, third] = made
    scanned, cursor = await follow(changes)

    await entries.set(group_dn(suite, made[first]), {"displayName": ["Changed"]})
    await entries.delete(group_dn(suite, made[second]))
    changed, later = await follow(changes, cursor)
    nothing, _ = await follow(changes, later)

    assert {first, second, third} <= set(ids_of(scanned))
    assert removed_of(scanned) == set()
    assert ids_of(changed) == [first]
    assert changed[0].subjects[0].display_name == "Changed"
    assert removed_of(changed) == {second}
    assert (ids_of(nothing), removed_of(nothing)) == ([], set())


async def test_changed_people_are_no_groups(suite: Suite, client: Client, changes: SuiteChanges) -> None:
    _, cursor = await follow(changes)
    name = unique("mailbox")
    await Entries(client).add(mailbox_dn(suite, name), mailbox(name))

    changed, _ = await follow(changes, cursor)

    assert ids_of(changed) == []


async def test_another_process_continues_a_scan(suite: Suite, client: Client, changes: SuiteChanges) -> None:
    made = await make(suite, client, MOST_CHANGES + 10)
    first = await changes.changes(TENANT, GROUP, None)
    passed = first.subjects[0].id
    [(new, _)] = (await make(suite, client, 1)).items()
    gone = next(iter(made.keys() - {passed}))
    await Entries(client).delete(group_dn(suite, made[gone]))

    async with connected(suite) as another:
        rest, cursor = await follow(SuiteChanges(another, layout_of(suite), suite.base), first.cursor)
        later, _ = await follow(SuiteChanges(another, layout_of(suite), suite.base), cursor)

    found = [subject.id for subject in first.subjects] + ids_of(rest) + ids_of(later)
    assert (len(first.subjects), first.is_complete) == (MOST_CHANGES, False)
    assert {*made, new} - {gone} <= set(found)
    assert gone in removed_of(later)


async def test_marks_are_those_of_the_extension(suite: Suite, client: Client, changes: SuiteChanges) -> None:
    _, cursor = await follow(changes)
    name, request_id, template_id = unique("marked"), uuid4(), uuid4()
    marks = {REQUEST_ID: [str(request_id)], MARK: mark_values({"templateId": str(template_id)}, GROUP)}
    await Entries(client).add(group_dn(suite, name), {**group(suite, name), **marks})

    own = await changes.changes(TENANT, GROUP, cursor)
    other = await changes.changes(TENANT, "other_group", cursor)

    assert [(each.request_id, each.template_id) for each in own.subjects] == [(request_id, template_id)]
    assert [(each.request_id, each.template_id) for each in other.subjects] == [(None, None)]


async def test_cursors_of_others_are_unknown(suite: Suite, client: Client, changes: SuiteChanges) -> None:
    _, cursor = await follow(changes)
    elsewhere = SuiteChanges(client, layout_of(suite), "dc=another,dc=example")
    unknown = [
        changes.changes(TENANT, GROUP, cursor[:-4]),
        changes.changes(TENANT, GROUP, "half \ud800"),
        changes.changes(TenantId(uuid4()), GROUP, cursor),
        elsewhere.changes(TENANT, GROUP, cursor),
        changes.changed_mailboxes(TENANT, [MAILBOX], "no cursor"),
    ]

    results = await asyncio.gather(*unknown, return_exceptions=True)

    assert [isinstance(each, Rejected) and each.code for each in results] == ["cursorUnknown"] * len(unknown)


async def test_a_lost_log_needs_a_new_scan(
    suite: Suite, client: Client, changes: SuiteChanges, starter: Starter
) -> None:
    """The log of deletions is in the memory of slapd, so a restart loses it."""
    made = await make(suite, client, 2)
    _, cursor = await follow(changes)
    [(kept, _), (gone, name)] = made.items()
    await Entries(client).delete(group_dn(suite, name))
    end(suite, ["slapd"])
    starter.one("slapd")

    is_scanned = False
    try:
        pages, _ = await follow(changes, cursor)
    except Rejected:
        is_scanned = True
        pages, _ = await follow(changes)

    assert (kept in ids_of(pages), gone in removed_of(pages)) == (is_scanned, not is_scanned)
    assert gone not in ids_of(pages)


async def test_changed_and_deleted_mailboxes_are_reported(suite: Suite, client: Client, changes: SuiteChanges) -> None:
    entries = Entries(client)
    requests = {unique("mailbox"): RequestId(uuid4()) for _ in range(3)}
    [changed, deleted, foreign] = requests
    for name, request_id in requests.items():
        extension = "other_mailbox" if name == foreign else MAILBOX
        await entries.add(mailbox_dn(suite, name), mailbox(name, request_id, extension))
    begun = await changes.changed_mailboxes(TENANT, [MAILBOX], None)

    for name in (changed, foreign):
        await entries.set(mailbox_dn(suite, name), {"displayName": ["Changed"]})
    await entries.delete(mailbox_dn(suite, deleted))
    page = await changes.changed_mailboxes(TENANT, [MAILBOX], begun.cursor)
    again = await changes.changed_mailboxes(TENANT, [MAILBOX], page.cursor)

    assert (begun.request_ids, begun.is_complete) == ((), True)
    assert (set(page.request_ids), page.is_complete) == ({requests[changed], requests[deleted]}, True)
    assert again.request_ids == ()


async def test_a_sign_in_removes_nothing(suite: Suite, client: Client, changes: SuiteChanges) -> None:
    """slapd notes the time in the account, which is no group."""
    account = f"cn=chamberlain,{suite.base}"
    _, cursor = await follow(changes)
    before = await last_success(client, account)
    assert before

    # The time has whole seconds.
    async with asyncio.timeout(10):
        while await last_success(client, account) == before:
            async with connected(suite) as other:
                await Entries(other).read(suite.base)

    [page], _ = await follow(changes, cursor)

    assert (page.subjects, page.removed) == ((), ())
