# SPDX-License-Identifier: Apache-2.0
"""The adapter's mailboxes against slapd and Dovecot, without the service."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import RequestId
from chamberlain.directory.mailboxes import PermissionLevel, remaining_of_mailbox
from chamberlain.directory.models import ObjectType
from chamberlain.directory.opensuite.connection import open_suite
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.settings import read_suite
from chamberlain.directory.port import MailboxOutcome, MailboxWork, Marking, Work
from chamberlain.directory.routed import Adapters
from chamberlain.directory.steps import Step
from deploy.suite.connection import FILE, environment_of
from deploy.suite.folder import HOST, Suite
from deploy.suite.folder import TENANT as FOLDER_NAME
from deploy.suite.processes import end, kill
from deploy.suite.servers import Starter
from tests.directory.mailbox_work import Changes, plain, reference, room, shared
from tests.directory.sample_directory import ADA, BEN, CLEO, TENANT
from tests.services import wait_until
from tests.suite import ldap_work
from tests.suite.mail_client import MailClient
from tests.suite.suite_directory import SuiteDirectory

FULL_ACCESS = PermissionLevel.FULL_ACCESS
# A killed process may leave the lock of a mailbox's rights. Dovecot removes it after two minutes.
UNLOCKED_WITHIN = 200.0
# Dovecot would remove the lock of the list of shared mailboxes after a minute.
UNLOCKED_AT_ONCE = 30.0


@pytest.fixture
async def adapters(suite: Suite) -> AsyncIterator[Adapters]:
    """The ports of the suite, with connections of their own."""
    files = Path(environment_of(suite)["CHAMBERLAIN_CONNECTION_FILES"])
    opened = open_suite(read_suite(suite.values["LDAP_URL"], files / FOLDER_NAME, FILE))
    yield opened.adapters
    await opened.close()


@contextmanager
def without_dovecot(suite: Suite, starter: Starter) -> Iterator[None]:
    """Stop Dovecot for as long as the block runs."""
    end(suite, ["dovecot"])
    try:
        yield
    finally:
        starter.start(("dovecot",))


def name_of(work: MailboxWork) -> str:
    return work.wanted.mail.lower()


def same(work: MailboxWork, **changes: object) -> MailboxWork:
    """Other work on the mailbox: nothing but these changes."""
    wanted = plain(request_id=work.wanted.request_id, mail=work.wanted.mail, name=work.wanted.name).wanted
    wanted = replace(wanted, **changes)  # type: ignore[arg-type] # The names are checked when it runs.
    return Work(wanted, (Step.SET_PERMISSIONS,))


async def ensure(adapters: Adapters, work: MailboxWork) -> MailboxOutcome:
    [outcome] = await adapters.directory.ensure_mailboxes([work])
    return outcome


async def test_it_works(adapters: Adapters, mail: MailClient) -> None:
    work = shared()

    outcome = await ensure(adapters, work)

    assert (outcome.fault, outcome.done) == (None, work.steps)
    assert await adapters.directory.observe_mailboxes([reference(work)]) == [outcome.observed]
    folder = f"shared/{name_of(work)}"
    assert folder in await asyncio.to_thread(mail.subscribed, "ada")
    assert not await asyncio.to_thread(mail.can_open, "ben", folder)


async def test_a_revocation_leaves_no_right_in_ten_folders(adapters: Adapters, mail: MailClient) -> None:
    work = plain(permissions={ADA: FULL_ACCESS, BEN: FULL_ACCESS})
    await ensure(adapters, work)
    folder, name = f"shared/{name_of(work)}", name_of(work)
    for number in range(9):
        await asyncio.to_thread(mail.create_folder, "ada", f"{folder}/Folder {number}")
    # Ben made it, so its rights are copies of those that are revoked.
    await asyncio.to_thread(mail.create_folder, "ben", f"{folder}/Folder 0/Inside")

    outcome = await ensure(adapters, same(work, revoked=frozenset({BEN})))

    assert outcome.observed is not None
    assert outcome.observed.permissions == {ADA: FULL_ACCESS}
    folders = await asyncio.to_thread(mail.own_folders, name)
    assert len(folders) >= 11
    for each in folders:
        assert "ben" not in await asyncio.to_thread(mail.rights, name, each)
    assert await asyncio.to_thread(mail.can_open, "ada", f"{folder}/Folder 0/Inside")
    assert folder not in await asyncio.to_thread(mail.subscribed, "ben")


async def test_a_later_permission_reaches_all_folders(adapters: Adapters, mail: MailClient) -> None:
    work = plain(permissions={ADA: FULL_ACCESS})
    await ensure(adapters, work)
    folder = f"shared/{name_of(work)}"
    await asyncio.to_thread(mail.create_folder, "ada", f"{folder}/Before")

    outcome = await ensure(adapters, same(work, permissions={CLEO: FULL_ACCESS}))
    await asyncio.to_thread(mail.create_folder, "ada", f"{folder}/After")

    assert outcome.observed is not None
    assert outcome.observed.permissions == {ADA: FULL_ACCESS, CLEO: FULL_ACCESS}
    for each in (folder, f"{folder}/Before", f"{folder}/After"):
        for user in ("ada", "cleo"):
            assert await asyncio.to_thread(mail.can_open, user, each), (user, each)


async def test_rights_that_were_removed_by_hand_are_drift(adapters: Adapters, mail: MailClient) -> None:
    work = plain(permissions={ADA: FULL_ACCESS})
    await ensure(adapters, work)
    await asyncio.to_thread(mail.grant, name_of(work), "INBOX", "ada")

    [seen] = await adapters.directory.observe_mailboxes([reference(work)])
    repaired = await ensure(adapters, Work(work.wanted, (Step.SET_PERMISSIONS,)))

    assert remaining_of_mailbox(work.wanted, seen, work.steps) == (Step.SET_PERMISSIONS,)
    assert repaired.observed is not None
    assert remaining_of_mailbox(work.wanted, repaired.observed, work.steps) == ()


async def test_without_dovecot_the_rest_waits(adapters: Adapters, suite: Suite, starter: Starter) -> None:
    work, other = shared(), room(permissions={})

    with without_dovecot(suite, starter):
        waiting, complete = await adapters.directory.ensure_mailboxes([work, other])
    again = await ensure(adapters, work)

    assert isinstance(waiting.fault, TryAgain)
    assert waiting.done == work.steps[: work.steps.index(Step.SET_AUTOMATIC_REPLY)]
    # A room without permissions needs nothing of Dovecot.
    assert complete.fault is None
    assert (again.fault, again.done) == (None, work.steps)
    assert again.observed is not None
    assert remaining_of_mailbox(work.wanted, again.observed, work.steps) == ()


async def test_a_killed_dovecot_loses_nothing(
    adapters: Adapters, suite: Suite, starter: Starter, directory: SuiteDirectory
) -> None:
    works = [shared() for _ in range(20)]
    first = f"(chamberlainRequestId={works[0].wanted.request_id})"

    begun = asyncio.ensure_future(adapters.directory.ensure_mailboxes(works))
    await asyncio.to_thread(wait_until, lambda: directory.find(first, "uid"), 30)
    await asyncio.to_thread(kill, suite, "dovecot")
    await asyncio.to_thread(starter.start, ("dovecot",))
    await asyncio.gather(begun, return_exceptions=True)
    async with asyncio.timeout(UNLOCKED_WITHIN):
        outcomes = await adapters.directory.ensure_mailboxes(works)
        while waits := [outcome.fault.after for outcome in outcomes if isinstance(outcome.fault, TryAgain)]:
            await asyncio.sleep(max(waits).total_seconds())
            outcomes = await adapters.directory.ensure_mailboxes(works)

    assert [outcome.fault for outcome in outcomes] == [None] * 20
    for work, outcome in zip(works, outcomes, strict=True):
        assert outcome.observed is not None
        assert remaining_of_mailbox(work.wanted, outcome.observed, work.steps) == ()


async def test_a_mailbox_is_listed_after_dovecot_was_killed_before_it_kept_the_list(
    adapters: Adapters, suite: Suite, mail: MailClient
) -> None:
    """Dovecot keeps the rights first, and then the list of shared mailboxes of each user."""
    work = plain(permissions={BEN: FULL_ACCESS})
    await ensure(adapters, work)
    await asyncio.to_thread(forget_shared, suite, name_of(work))
    # The entry records the part of Dovecot last.
    async with ldap_work.connected(suite) as client:
        dn = ldap_work.mailbox_dn(suite, name_of(work))
        await Entries(client).set(dn, {"chamberlainFullAccess": [], "chamberlainAutoMapped": []})
    folder = f"shared/{name_of(work)}"
    assert folder not in await asyncio.to_thread(mail.folders, "ben")

    outcome = await ensure(adapters, work)

    assert outcome.fault is None
    assert folder in await asyncio.to_thread(mail.folders, "ben")


def forget_shared(suite: Suite, mailbox: str) -> None:
    """Delete a mailbox from the list of shared mailboxes: pairs of lines, of keys and values."""
    file = suite.folder / "mail" / "shared.db"
    lines = file.read_text().splitlines(keepends=True)
    kept = [pair for pair in zip(lines[::2], lines[1::2], strict=True) if not pair[0].endswith(f"/{mailbox}\n")]
    fresh = file.with_suffix(".fresh")
    fresh.write_text("".join(line for pair in kept for line in pair))
    shutil.copystat(file, fresh)
    os.chown(fresh, file.stat().st_uid, file.stat().st_gid)
    fresh.replace(file)


async def test_a_lock_that_a_killed_dovecot_left_delays_no_other_mailbox(adapters: Adapters, suite: Suite) -> None:
    lock = suite.folder / "mail" / "shared.db.lock"
    lock.touch()

    async with asyncio.timeout(UNLOCKED_AT_ONCE):
        outcome = await ensure(adapters, plain(permissions={BEN: FULL_ACCESS}))

    assert outcome.fault is None
    lock.unlink()


async def test_concurrent_calls_create_one_mailbox(adapters: Adapters, suite: Suite) -> None:
    work = shared()

    outcomes = await asyncio.gather(*[ensure(adapters, work) for _ in range(8)])

    assert {outcome.fault for outcome in outcomes} == {None}
    assert len({outcome.observed.id for outcome in outcomes if outcome.observed}) == 1
    async with ldap_work.connected(suite) as client:
        found = await Entries(client).search(suite.base, f"(chamberlainRequestId={work.wanted.request_id})")
    assert len(found) == 1


async def test_a_new_mailbox_has_nothing_of_a_deleted_one(adapters: Adapters, suite: Suite, mail: MailClient) -> None:
    old = plain(permissions={ADA: FULL_ACCESS})
    await ensure(adapters, old)
    async with ldap_work.connected(suite) as client:
        await Entries(client).delete(ldap_work.mailbox_dn(suite, name_of(old)))

    new = plain(mail=old.wanted.mail)
    outcome = await ensure(adapters, new)
    [seen] = await adapters.directory.observe_mailboxes([reference(new)])

    assert outcome.fault is None
    assert seen is not None
    assert seen.permissions == {}
    assert not await asyncio.to_thread(mail.can_open, "ada", f"shared/{name_of(new)}")


@pytest.mark.parametrize("changes", [Changes(mail="ada@estate.example"), Changes(aliases=("BEN@estate.example",))])
async def test_the_address_of_a_person_is_taken(adapters: Adapters, changes: Changes) -> None:
    outcome = await ensure(adapters, plain(**changes))

    assert isinstance(outcome.fault, Rejected)
    assert outcome.fault.code == "addressTaken"


async def test_what_sogo_has_cached_is_deleted(adapters: Adapters, suite: Suite) -> None:
    work = room(permissions={})
    key = f"{name_of(work)}+attributes"
    reader, writer = await asyncio.open_connection(HOST, suite.port("MEMCACHED"))
    writer.write(f"set {key} 0 300 2\r\n{{}}\r\n".encode())
    assert await reader.readline() == b"STORED\r\n"

    outcome = await ensure(adapters, work)

    assert (outcome.fault, outcome.shortfalls) == (None, ())
    writer.write(f"get {key}\r\n".encode())
    assert await reader.readline() == b"END\r\n"
    writer.close()


async def test_an_existing_mailbox_is_adopted(adapters: Adapters, suite: Suite, mail: MailClient) -> None:
    name = ldap_work.unique("adopted")
    async with ldap_work.connected(suite) as client:
        added = await Entries(client).add(ldap_work.mailbox_dn(suite, name), ldap_work.mailbox(name))
    await asyncio.to_thread(mail.grant, name, "INBOX", "cleo")
    request_id = RequestId(uuid4())
    marking = Marking(TENANT, ObjectType.MAILBOX, added.id, "chamberlain_mailbox", request_id)

    [before] = await adapters.adoptions.observe(TENANT, "chamberlain_mailbox", [added.id])
    [marked] = await adapters.adoptions.mark([marking])
    [refused] = await adapters.adoptions.mark([replace(marking, request_id=RequestId(uuid4()))])
    work = Work(plain(request_id=request_id, permissions={ADA: FULL_ACCESS}).wanted, (Step.SET_PERMISSIONS,))
    outcome = await ensure(adapters, work)

    assert before is not None
    assert (before.name, before.marks, before.permissions) == (name, {}, {CLEO: PermissionLevel.NONE})
    assert marked is None
    assert isinstance(refused, Rejected)
    assert refused.code == "alreadyManaged"
    assert outcome.observed is not None
    assert outcome.observed.permissions == {ADA: FULL_ACCESS, CLEO: PermissionLevel.NONE}
