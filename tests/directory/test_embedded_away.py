"""What the adapter of the embedded directory says while its database is away, and that looking never writes."""

from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.database.transactions import Database, open_database
from chamberlain.directory.embedded import KEY_MEMBER, EmbeddedDirectory, EmbeddedPeople, group_id_of
from chamberlain.directory.groups import GroupReference
from chamberlain.directory.models import PeopleQuestion
from chamberlain.embedded.directory.groups import Groups
from chamberlain.embedded.directory.mailboxes import Mailboxes
from chamberlain.embedded.directory.people import Register
from tests.databases import Databases
from tests.directory import wanted_mailboxes
from tests.directory.conftest import Stage
from tests.directory.population import ADA, TENANT
from tests.directory.wanted import reference, work


def directory_on(database: Database) -> EmbeddedDirectory:
    return EmbeddedDirectory(
        Groups(database.pool, key_member=KEY_MEMBER), Mailboxes(database.pool, key_member=KEY_MEMBER)
    )


async def test_it_works_when_the_database_cannot_be_reached() -> None:
    away = await open_database("postgresql://nobody@127.0.0.1:1/nowhere", most=2, name="away")
    directory, people = directory_on(away), EmbeddedPeople(Register(away.pool))

    with pytest.raises(TryAgain) as ensured:
        await directory.ensure([work()])
    with pytest.raises(TryAgain):
        await directory.observe([reference(work())])
    with pytest.raises(TryAgain):
        await directory.ensure_mailboxes([wanted_mailboxes.shared()])
    with pytest.raises(TryAgain):
        await directory.observe_mailboxes([wanted_mailboxes.reference(wanted_mailboxes.shared())])
    with pytest.raises(TryAgain):
        await people.look_up(PeopleQuestion(TENANT, users=frozenset({ADA})))

    assert ensured.value.after == timedelta(seconds=2)
    await away.close()


async def test_it_goes_on_after_its_connections_were_cut(stage: Stage, filled: Databases) -> None:
    one = work()
    await stage.directory.ensure([one])
    async with filled.worker.pool.acquire() as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE usename = current_user AND pid <> pg_backend_pid() AND datname = current_database()"
        )

    [seen] = await stage.directory.observe([reference(one)])

    assert seen is not None


async def test_it_reads_where_nothing_may_be_written(stage: Stage, filled: Databases) -> None:
    one = work()
    [outcome] = await stage.directory.ensure([one])
    mailbox = wanted_mailboxes.shared()
    [made] = await stage.directory.ensure_mailboxes([mailbox])
    address = f"{filled.addresses.worker}&options=-c%20default_transaction_read_only%3Don"
    read_only = await open_database(address, most=1, name="read only")

    directory = directory_on(read_only)

    assert await directory.observe([reference(one), reference(work())]) == [outcome.group, None]
    assert await directory.observe_mailboxes([wanted_mailboxes.reference(mailbox)]) == [made.mailbox]
    await read_only.close()


def test_it_gives_a_request_the_same_group_id_each_time() -> None:
    one, other = reference(work()), reference(work())

    assert group_id_of(one) == group_id_of(one)
    assert group_id_of(one) != group_id_of(other)
    assert group_id_of(one).bytes[:6] == one.request_id.bytes[:6]
    assert (group_id_of(one).version, group_id_of(one).variant) == (8, one.request_id.variant)


def test_a_request_keeps_its_group_id_for_good() -> None:
    """A run that an older version has begun is ended by a newer one."""
    tenant, request = TenantId(UUID(int=1)), RequestId(UUID("0195f3a0-1c2d-4e4f-8a6b-7c8d9e0f1a2b"))

    begun = group_id_of(GroupReference(tenant, "estate_group", request))

    assert str(begun) == "0195f3a0-1c2d-8ee3-aabe-b83a6e729586"
