# SPDX-License-Identifier: Apache-2.0
import asyncio
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from chamberlain.core.errors import Cause, ConnectionBroken, Rejected, TryAgain
from chamberlain.directory.opensuite.doveadm import (
    FULL_RIGHTS,
    INBOX,
    NO_USER,
    Answer,
    Folder,
    delete_rights,
    get_rights,
    list_folders,
    put_script,
    set_rights,
    subscribe,
)
from chamberlain.directory.opensuite.mailstore import MailServer, Mailstore
from tests.directory.opensuite.fake_dovecot import KEY, FakeDovecot, run_fake_dovecot

QUAY = "quay@estate.example"
FULL = frozenset(FULL_RIGHTS)


@pytest.fixture
def dovecot() -> Iterator[FakeDovecot]:
    with run_fake_dovecot() as server:
        server.folders = {QUAY: {INBOX: {}}, "ada": {INBOX: {}}}
        yield server


@pytest.fixture
async def mailstore(dovecot: FakeDovecot) -> AsyncIterator[Mailstore]:
    async with httpx2.AsyncClient(trust_env=False) as client:
        yield Mailstore(client, MailServer(dovecot.url, KEY))


async def test_it_works(dovecot: FakeDovecot, mailstore: Mailstore) -> None:
    folder = mailstore.shared_name(QUAY)
    await mailstore.call([set_rights(QUAY, INBOX, "ada"), subscribe("ada", folder), put_script(QUAY, "keep;")])

    state = await mailstore.observe(QUAY, has_reply=True)

    assert state is not None
    assert state.folders == {INBOX: Folder({"ada": FULL}, has_entries=True)}
    assert state.script == "keep;"
    assert dovecot.subscriptions == {("ada", f"shared/{QUAY}")}


async def test_every_folder_is_observed(dovecot: FakeDovecot, mailstore: Mailstore) -> None:
    dovecot.folders[QUAY] = {INBOX: {"user=ada": ["lookup"]}, "Ships": {}, "Ships/Old": {"group=x": ["lookup"]}}
    # Mailboxes of others that this one sees are not its own.
    dovecot.folders[QUAY]["shared/pier@estate.example"] = {}

    state = await mailstore.observe(QUAY, has_reply=False)

    assert state is not None
    assert state.folders == {
        INBOX: Folder({"ada": frozenset({"lookup"})}, has_entries=True),
        "Ships": Folder({}, has_entries=False),
        "Ships/Old": Folder({}, has_entries=True),
    }
    assert state.script is None
    assert "sieveList" not in dovecot.commands


async def test_an_inactive_script_is_none(dovecot: FakeDovecot, mailstore: Mailstore) -> None:
    dovecot.scripts[QUAY], dovecot.is_active = "keep;", False

    state = await mailstore.observe(QUAY, has_reply=True)

    assert state is not None
    assert state.script is None


async def test_an_unknown_mailbox_is_none(mailstore: Mailstore) -> None:
    assert await mailstore.observe("free@estate.example", has_reply=True) is None


@pytest.mark.parametrize("pattern", ["*", "qua?@estate.example"])
async def test_a_pattern_is_no_mailbox(dovecot: FakeDovecot, mailstore: Mailstore, pattern: str) -> None:
    """doveadm would give the rights in all mailboxes that match."""
    commands = [set_rights(pattern, INBOX, "ada"), subscribe(pattern, "shared/quay")]

    for each in commands:
        with pytest.raises(Rejected) as refused:
            await mailstore.call([each])
        assert refused.value.code == "notAccepted"
    assert await mailstore.observe(pattern, has_reply=False) is None
    assert dovecot.folders[QUAY] == {INBOX: {}}


async def test_missing_folders_are_skipped(mailstore: Mailstore) -> None:
    commands = [set_rights(QUAY, "Gone", "ada"), delete_rights(QUAY, "Gone", "ada"), get_rights(QUAY, "Gone")]

    assert [answer.exit_code for answer in await mailstore.call(commands)] == [68, 68, 68]


async def test_a_user_without_mailbox_is_not_subscribed(mailstore: Mailstore) -> None:
    [answer] = await mailstore.call([subscribe("ben", "shared/x")])

    assert answer.exit_code == NO_USER


async def test_a_new_mailbox_may_be_unknown_for_some_time(mailstore: Mailstore) -> None:
    with pytest.raises(TryAgain) as raised:
        await mailstore.call([set_rights("free@estate.example", INBOX, "ada")])

    assert (raised.value.cause, raised.value.because.code) == (Cause.NOT_YET, "mailboxNotVisible")


async def test_a_wrong_key_breaks_the_connection(dovecot: FakeDovecot) -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        mailstore = Mailstore(client, MailServer(dovecot.url, "wrong"))

        with pytest.raises(ConnectionBroken) as raised:
            await mailstore.check()

    assert raised.value.because.code == "serverRefusesCredential"
    assert "wrong" not in repr(mailstore) + str(raised.value) + repr(MailServer(dovecot.url, "wrong"))


async def test_the_key_may_ask(mailstore: Mailstore) -> None:
    await mailstore.check()


@pytest.mark.parametrize(
    ("status", "answer", "fault"),
    [
        (200, b'[["error",{"type":"exitCode", "exitCode":75},"0"]]', TryAgain),
        (200, b'[["error",{"type":"exitCode", "exitCode":65},"0"]]', Rejected),
        (200, b'[["error",{"type":"invalidRequest", "exitCode":0},"0"]]', Rejected),
        (200, b'[["error",{"type":"unknownMethod", "exitCode":0},"0"]]', ConnectionBroken),
        (200, b'[["error",{"type":"unAuthorized", "exitCode":0},"0"]]', ConnectionBroken),
        # Dovecot 2.3 leaves out a comma there.
        (200, b'[["error",{"type":"unknownMethod", "exitCode":0},"0"]["doveadmResponse",[],"1"]]', ConnectionBroken),
        (200, b'[["doveadmResponse",[{"mailbox":"INB', TryAgain),
        (200, b"[]", TryAgain),
        (503, b"", TryAgain),
    ],
)
async def test_errors(
    dovecot: FakeDovecot, mailstore: Mailstore, status: int, answer: bytes, fault: type[Exception]
) -> None:
    dovecot.answers = [(status, answer)]

    with pytest.raises(fault) as raised:
        await mailstore.call([put_script(QUAY, "keep;")])

    assert type(raised.value) is fault


async def test_a_closed_idle_connection_is_no_failure(dovecot: FakeDovecot, mailstore: Mailstore) -> None:
    dovecot.closes = True

    for _ in range(5):
        [answer] = await mailstore.call([list_folders(QUAY)])
        assert answer.rows == ({"mailbox": INBOX},)


async def test_a_server_that_is_away() -> None:
    with run_fake_dovecot() as stopped:
        url = stopped.url
    async with httpx2.AsyncClient(trust_env=False) as client:
        mailstore = Mailstore(client, MailServer(url, KEY))

        with pytest.raises(TryAgain) as raised:
            await mailstore.call([list_folders(QUAY)])

    assert raised.value.cause is Cause.AWAY


@pytest.fixture
async def narrow(dovecot: FakeDovecot) -> AsyncIterator[Mailstore]:
    """A mailstore with one connection."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        yield Mailstore(client, MailServer(dovecot.url, KEY, connections=1))


async def test_mailboxes_that_wait_share_a_call(dovecot: FakeDovecot, narrow: Mailstore) -> None:
    names = [f"quay-{number}@estate.example" for number in range(20)]
    dovecot.folders |= {name: {INBOX: {}} for name in names}

    await asyncio.gather(
        *[narrow.call([set_rights(name, INBOX, "ada"), subscribe("ada", name), list_folders(name)]) for name in names]
    )

    assert all(dovecot.folders[name][INBOX] == {"user=ada": [*FULL_RIGHTS]} for name in names)
    assert dovecot.subscriptions == {("ada", name) for name in names}
    # Subscriptions of one user are one command, and a call has eight mailboxes at most.
    assert (dovecot.commands.count("aclSet"), dovecot.commands.count("mailboxSubscribe")) == (20, 3)


async def test_a_failure_is_that_of_its_mailbox_only(narrow: Mailstore) -> None:
    answers = await asyncio.gather(
        narrow.call([list_folders(QUAY)]),
        narrow.call([set_rights("free@estate.example", INBOX, "ada")]),
        narrow.call([put_script(QUAY, "keep;")]),
        return_exceptions=True,
    )

    assert isinstance(answers[1], TryAgain)
    assert [list(each) for each in (answers[0], answers[2]) if not isinstance(each, BaseException)] == [
        [Answer(({"mailbox": INBOX},))],
        [Answer()],
    ]


async def test_a_caller_that_follows_its_first_call_at_once_is_answered(narrow: Mailstore) -> None:
    async with asyncio.timeout(10):
        answers = [await narrow.call([list_folders(QUAY)]) for _ in range(3)]

    assert [each.exit_code for [each] in answers] == [0, 0, 0]


async def test_a_cancelled_caller_does_not_delay_others(narrow: Mailstore) -> None:
    calls = [asyncio.create_task(narrow.call([list_folders(QUAY)])) for _ in range(3)]
    await asyncio.sleep(0)
    calls[1].cancel()

    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert [type(each) for each in answers] == [list, asyncio.CancelledError, list]


async def test_all_callers_know_that_the_server_is_away() -> None:
    with run_fake_dovecot() as stopped:
        url = stopped.url
    async with httpx2.AsyncClient(trust_env=False) as client:
        mailstore = Mailstore(client, MailServer(url, KEY, connections=1))

        answers = await asyncio.gather(
            *[mailstore.call([list_folders(QUAY)]) for _ in range(3)], return_exceptions=True
        )

    assert [type(each) for each in answers] == [TryAgain] * 3


async def test_nothing_is_sent_without_commands(dovecot: FakeDovecot, mailstore: Mailstore) -> None:
    assert await mailstore.call([]) == []
    assert dovecot.commands == []
