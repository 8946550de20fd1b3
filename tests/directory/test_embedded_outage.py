# SPDX-License-Identifier: Apache-2.0
"""The embedded directory without its database, and in a read-only database."""

from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.errors import Cause, TryAgain
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.database.transactions import Database, open_database
from chamberlain.directory.embedded.directory import EmbeddedDirectory
from chamberlain.directory.embedded.groups import group_id_of
from chamberlain.directory.embedded.mapping import KEY_MEMBER
from chamberlain.directory.embedded.people import EmbeddedPeople
from chamberlain.directory.groups import GroupReference
from chamberlain.directory.models import PeopleQuestion
from chamberlain.embedded.directory.groups import Groups
from chamberlain.embedded.directory.mailboxes import Mailboxes
from chamberlain.embedded.directory.people import Register
from tests.databases import Databases
from tests.directory import mailbox_work
from tests.directory.group_work import reference, work
from tests.directory.sample_directory import ADA, TENANT


def directory_on(database: Database) -> EmbeddedDirectory:
    return EmbeddedDirectory(
        Groups(database.pool, key_member=KEY_MEMBER), Mailboxes(database.pool, key_member=KEY_MEMBER)
    )


async def test_it_raises_try_again_without_a_database() -> None:
    away = await open_database("postgresql://nobody@127.0.0.1:1/nowhere", most=2, name="away")
    directory, people = directory_on(away), EmbeddedPeople(Register(away.pool))

    with pytest.raises(TryAgain) as ensured:
        await directory.ensure([work()])
    with pytest.raises(TryAgain):
        await directory.observe([reference(work())])
    with pytest.raises(TryAgain):
        await directory.ensure_mailboxes([mailbox_work.shared()])
    with pytest.raises(TryAgain):
        await directory.observe_mailboxes([mailbox_work.reference(mailbox_work.shared())])
    with pytest.raises(TryAgain):
        await people.look_up(PeopleQuestion(TENANT, users=frozenset({ADA})))

    assert (ensured.value.after, ensured.value.cause) == (timedelta(seconds=2), Cause.AWAY)
    await away.close()


async def test_it_recovers_from_closed_connections(filled: Databases) -> None:
    one, directory = work(), directory_on(filled.worker)
    await directory.ensure([one])
    async with filled.worker.pool.acquire() as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE usename = current_user AND pid <> pg_backend_pid() AND datname = current_database()"
        )

    [seen] = await directory.observe([reference(one)])

    assert seen is not None


async def test_reads_work_in_a_read_only_database(filled: Databases) -> None:
    one, mailbox, writable = work(), mailbox_work.shared(), directory_on(filled.worker)
    [outcome] = await writable.ensure([one])
    [made] = await writable.ensure_mailboxes([mailbox])
    address = f"{filled.addresses.worker}&options=-c%20default_transaction_read_only%3Don"
    read_only = await open_database(address, most=1, name="read only")

    directory = directory_on(read_only)

    assert await directory.observe([reference(one), reference(work())]) == [outcome.observed, None]
    assert await directory.observe_mailboxes([mailbox_work.reference(mailbox)]) == [made.observed]
    await read_only.close()


def test_the_group_id_is_deterministic() -> None:
    one, other = reference(work()), reference(work())

    assert group_id_of(one) == group_id_of(one)
    assert group_id_of(one) != group_id_of(other)
    assert group_id_of(one).bytes[:6] == one.request_id.bytes[:6]
    assert (group_id_of(one).version, group_id_of(one).variant) == (8, one.request_id.variant)


def test_the_group_id_never_changes() -> None:
    """A newer version can finish a run of an older version."""
    tenant, request = TenantId(UUID(int=1)), RequestId(UUID("0195f3a0-1c2d-4e4f-8a6b-7c8d9e0f1a2b"))

    begun = group_id_of(GroupReference(tenant, "estate_group", request))

    assert str(begun) == "0195f3a0-1c2d-8ee3-aabe-b83a6e729586"
