# SPDX-License-Identifier: Apache-2.0
"""Connections of a tenant: added, checked, changed and deleted, with their states."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from chamberlain.app.connections import confirmed
from chamberlain.auth.models import Edit
from chamberlain.connections import records, store
from chamberlain.connections.models import Adapter, ConnectionState, Credential, Described, Target
from chamberlain.core.errors import (
    Conflict,
    ConnectionBroken,
    Forbidden,
    NotFound,
    NotPossible,
    Rejected,
    Stale,
    Unavailable,
)
from chamberlain.core.ids import ConnectionId, JobId, TenantId
from chamberlain.directory.embedded.adoptions import EmbeddedAdoptions
from chamberlain.directory.embedded.guests import EmbeddedGuests
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.routed import RoutedPeople
from chamberlain.embedded import postgres
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.guests import Guests
from chamberlain.people.service import PeopleService
from chamberlain.queue.models import Claim, Job, JobKind
from chamberlain.tenant_admin.service import TenantOperations
from chamberlain.tenant_admin.store import TenantRow
from tests.connections.connection_fixture import EDIT, SECRET, ConnectionFixture, address_of, connection_fixture
from tests.estates import ADA, BEN, ESTATE, OPERATOR, TRACE, Estate, caller_of
from tests.postgres import connected
from tests.requests.request_services import administrator

PERSON = """
INSERT INTO directory.users (tenant_id, id, user_type, account_enabled, properties, display_name, user_principal_name)
VALUES ($1, gen_random_uuid(), 'Member', true, '{}', 'Yvonne Elsewhere', 'yvonne@elsewhere.example')
"""
EXTENSIONS = ["chamberlain_mailbox"]


@pytest.fixture
async def fixture(estate: Estate, postgres_server: postgres.Server) -> AsyncIterator[ConnectionFixture]:
    async with connection_fixture(estate, postgres_server) as found:
        yield found


async def changes(fixture: ConnectionFixture) -> list[tuple[object, ...]]:
    audit = "SELECT action FROM chamberlain.audit WHERE tenant_id = $1 AND action LIKE 'connection.%' ORDER BY sequence"
    return await fixture.estate.rows(audit, ESTATE)


async def events(fixture: ConnectionFixture) -> list[object]:
    statement = "SELECT type FROM chamberlain.event WHERE tenant_id = $1 AND type LIKE 'connection.%' ORDER BY sequence"
    return [type_ for [type_] in await fixture.estate.rows(statement, ESTATE)]


async def test_it_works(fixture: ConnectionFixture) -> None:
    added = await fixture.add()
    checked = await fixture.check(added)
    await fixture.check(added)
    await fixture.service.delete(administrator(ADA), added.id, EDIT, force=False)

    assert (added.state, added.has_secret, added.checked_at) == (ConnectionState.NEW, True, None)
    assert (checked.state, checked.reason) == (ConnectionState.READY, None)
    assert "labels" in checked.described.abilities
    assert checked.described.limits["observeBatch"] == 25
    assert await fixture.service.list(administrator(ADA)) == ()
    assert await changes(fixture) == [("connection.create",), ("connection.ready",), ("connection.delete",)]
    assert await events(fixture) == ["connection.ready"]


async def test_a_tenant_has_one_connection_and_only_its_administrators_see_it(fixture: ConnectionFixture) -> None:
    added = await fixture.add()

    with pytest.raises(Conflict):
        await fixture.add()
    with pytest.raises(Forbidden):
        await fixture.service.read(caller_of(BEN), added.id)
    with pytest.raises(NotFound):
        await fixture.service.read(administrator(ADA), ConnectionId(ESTATE))
    stale = Edit(frozenset({'"7"'}), TRACE)
    with pytest.raises(Stale):
        await fixture.service.delete(administrator(ADA), added.id, stale, force=False)


@pytest.mark.parametrize(
    ("role", "database", "code"),
    [
        ("stranger", None, "passwordRefused"),
        ("chamberlain_worker", "missing", "databaseUnknown"),
        ("chamberlain_application", None, "privilegeMissing"),
        ("chamberlain_owner", "postgres", "privilegeMissing"),
    ],
)
async def test_a_refused_connection_is_broken_with_its_code(
    fixture: ConnectionFixture, role: str, database: str | None, code: str
) -> None:
    added = await fixture.add(address=address_of(fixture.other, role=role, database=database))

    broken = await fixture.check(added)

    assert (broken.state, broken.reason and broken.reason.code) == (ConnectionState.BROKEN, code)
    assert await events(fixture) == ["connection.broken"]


async def test_a_database_without_a_directory_is_broken(fixture: ConnectionFixture) -> None:
    async with connected(fixture.other.addresses.owner) as connection:
        await connection.execute("DROP SCHEMA directory CASCADE")

    broken = await fixture.check(await fixture.add())

    assert broken.reason
    assert broken.reason.code == "schemaMissing"


async def test_calls_set_a_connection_broken_once_and_a_check_makes_it_ready(fixture: ConnectionFixture) -> None:
    added = await fixture.add(address=address_of(fixture.other, role="stranger"))
    people = RoutedPeople(fixture.estate.people, fixture.connections)
    question = PeopleQuestion(ESTATE, users=frozenset({ADA}))

    answers = await asyncio.gather(*(people.look_up(question) for _ in range(5)), return_exceptions=True)
    await fixture.connections.refresh()
    # A broken connection is not used: there is no call to the directory.
    with pytest.raises(ConnectionBroken) as stored:
        await people.look_up(question)
    changed = await fixture.change(added, address=address_of(fixture.other))
    before = await fixture.read(added)
    ready = await fixture.check(added)
    answer = await people.look_up(question)

    assert all(isinstance(each, ConnectionBroken) for each in answers)
    assert stored.value.because.code == "connectionBroken"
    assert (changed.state, before.state, ready.state) == (
        ConnectionState.BROKEN,
        ConnectionState.BROKEN,
        ConnectionState.READY,
    )
    # The other directory has no users.
    assert answer.people == {}
    assert await events(fixture) == ["connection.broken", "connection.ready"]


async def test_people_are_found_in_the_directory_of_the_tenant(fixture: ConnectionFixture) -> None:
    estate = fixture.estate
    people = RoutedPeople(estate.people, fixture.connections)
    service = PeopleService(estate.databases.application, estate.authorization(), people, estate.now)

    async def found(text: str) -> list[str]:
        return [person.display_name for person in await service.find(caller_of(BEN), text)]

    await fixture.other.worker.pool.execute(PERSON, ESTATE)
    before = await found("ada"), await found("yvo")
    await fixture.check(await fixture.add())
    after = await found("ada"), await found("yvo")

    assert (before, after) == ((["Ada Achterberg"], []), ([], ["Yvonne Elsewhere"]))


async def test_a_directory_without_the_search_for_people_is_not_ready(fixture: ConnectionFixture) -> None:
    """Else the first search would break the connection."""
    async with connected(fixture.other.addresses.owner) as owner:
        await owner.execute("DROP FUNCTION directory.find_people")

    checked = await fixture.check(await fixture.add())

    assert (checked.state, checked.reason and checked.reason.code) == (ConnectionState.BROKEN, "schemaMissing")


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_no_job_uses_the_directory_of_before_a_change(
    fixture: ConnectionFixture,
    elsewhere: bool,  # noqa: FBT001 - parametrised
) -> None:
    """The notification of the change arrives later."""
    places = list[bool]()

    async def handle(claim: Claim) -> None:
        places.extend(job.tenant_id in fixture.connections.elsewhere for job in claim.jobs)

    handlers = confirmed({JobKind.GROUP_PROVISION: handle}, fixture.connections, elsewhere=elsewhere)
    job = Job(JobId(1), ESTATE, JobKind.GROUP_PROVISION, ESTATE, TRACE, 0, fixture.estate.now())
    added = await fixture.add(is_noticed=not elsewhere)
    if not elsewhere:
        await fixture.service.delete(administrator(ADA), added.id, EDIT, force=False)
    before = ESTATE in fixture.connections.elsewhere

    await asyncio.gather(*(handlers[job.kind](Claim(uuid4(), (job,))) for _ in range(3)))

    assert before is not elsewhere
    assert places == [elsewhere] * 3


async def test_a_cursor_is_of_one_directory(fixture: ConnectionFixture) -> None:
    """Both databases are on one server, whose identifier and transactions they share."""
    pool = fixture.estate.databases.worker.pool
    await fixture.add()
    there = fixture.connections.elsewhere[ESTATE].adapters
    assert there
    sides = [(EmbeddedGuests(Guests(pool), Changes(pool)), EmbeddedAdoptions(pool)), (there.guests, there.adoptions)]

    cursors = [(await guests.changes(ESTATE, "chamberlain_group", None)).cursor for guests, _ in sides]
    positions = [(await found.changed_mailboxes(ESTATE, EXTENSIONS, None)).cursor for _, found in sides]

    for number, (guests, found) in enumerate(sides):
        assert (await guests.changes(ESTATE, "chamberlain_group", cursors[number])).is_complete
        assert (await found.changed_mailboxes(ESTATE, EXTENSIONS, positions[number])).is_complete
        with pytest.raises(Rejected):
            await guests.changes(ESTATE, "chamberlain_group", cursors[1 - number])
        with pytest.raises(Rejected):
            await found.changed_mailboxes(ESTATE, EXTENSIONS, positions[1 - number])


async def flags(fixture: ConnectionFixture) -> tuple[object, ...]:
    statement = "SELECT directory_parked, directory_lanes FROM chamberlain.tenant WHERE tenant_id = $1"
    [found] = await fixture.estate.rows(statement, ESTATE)
    return found


async def test_jobs_wait_while_the_connection_is_broken(fixture: ConnectionFixture) -> None:
    added = await fixture.add(address=address_of(fixture.other, role="stranger"))
    new = await flags(fixture)
    await fixture.check(added)
    broken = await flags(fixture)
    await fixture.change(added, address=address_of(fixture.other))
    changed = await flags(fixture)
    await fixture.check(added)
    ready = await flags(fixture)
    await fixture.service.delete(administrator(ADA), added.id, EDIT, force=False)

    assert (new, broken, changed, ready) == ((False, True), (True, True), (True, True), (False, True))
    assert await flags(fixture) == (False, False)


async def test_the_job_checks_broken_connections_when_they_are_due(fixture: ConnectionFixture) -> None:
    added = await fixture.add(address=address_of(fixture.other, role="stranger"))
    await fixture.check(added)
    worker = fixture.estate.databases.worker
    await fixture.jobs.begin(TRACE)

    async def run() -> ConnectionState:
        async with worker.across_tenants() as tx:
            await tx.execute("UPDATE chamberlain.connection SET check_at = now()")
            await tx.execute("UPDATE chamberlain.job SET run_at = now() WHERE kind = 'connectionCheck'")
        await fixture.jobs.check(await fixture.estate.claim(kinds=[JobKind.CONNECTION_CHECK]))
        return (await fixture.read(added)).state

    first = await run()
    [[wait]] = await fixture.estate.rows("SELECT check_at - now() FROM chamberlain.connection")
    async with worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.connection SET address = $1", address_of(fixture.other))
    second = await run()

    assert (first, second) == (ConnectionState.BROKEN, ConnectionState.READY)
    assert isinstance(wait, timedelta)
    assert store.FIRST_PAUSE < wait <= store.LONGEST_PAUSE


async def test_no_connection_is_added_while_older_processes_may_run(fixture: ConnectionFixture) -> None:
    async with connected(fixture.estate.databases.addresses.owner) as connection:
        await connection.execute("DELETE FROM migration.applied WHERE file_name LIKE '0068%.post.sql'")

    with pytest.raises(Conflict) as refused:
        await fixture.add(force=True)

    assert refused.value.code == "stateDoesNotAllow"
    assert await fixture.service.list(administrator(ADA)) == ()


async def test_managed_objects_keep_their_directory(fixture: ConnectionFixture) -> None:
    await fixture.estate.request("Apollo")

    with pytest.raises(Conflict) as refused:
        await fixture.add()
    added = await fixture.add(force=True)
    with pytest.raises(Conflict):
        await fixture.service.delete(administrator(ADA), added.id, EDIT, force=False)
    moved = await fixture.change(added, credential=Credential("another"))
    await fixture.service.delete(administrator(ADA), added.id, EDIT, force=True)

    assert refused.value.code == "inUse"
    assert moved.revision == 2


async def test_another_adapter_needs_an_address_and_a_file_of_its_own(fixture: ConnectionFixture) -> None:
    added = await fixture.add()

    with pytest.raises(NotPossible) as refused:
        await fixture.change(added, adapter=Adapter.MICROSOFT365)

    assert [(each.pointer, each.code) for each in refused.value.faults] == [
        ("/address", "addressInvalid"),
        ("/credential", "credentialMissing"),
    ]


async def test_a_host_that_is_no_longer_permitted_is_not_called(fixture: ConnectionFixture) -> None:
    added = await fixture.add()
    object.__setattr__(fixture.opener, "hosts", frozenset())

    broken = await fixture.check(added)

    assert (broken.reason and broken.reason.code) == "hostNotPermitted"


async def test_the_secret_is_in_no_row_log_or_error(
    fixture: ConnectionFixture, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    added = await fixture.add(address=address_of(fixture.other, role="stranger"))
    await fixture.check(added)
    async with fixture.estate.databases.worker.across_tenants() as tx:
        target = await records.find_target(tx, ESTATE)
    assert target
    with pytest.raises(ConnectionBroken) as broken:
        await fixture.opener.check(target)
    chained = []
    error: BaseException | None = broken.value
    while error is not None:
        chained.append(f"{error!r} {error}")
        error = error.__cause__ or error.__context__

    dumped = []
    tables = "SELECT relname FROM pg_class WHERE relnamespace = 'chamberlain'::regnamespace AND relkind IN ('r', 'p')"
    async with connected(fixture.estate.databases.addresses.owner) as connection:
        for [table] in await connection.fetch(tables):
            # Bytes are hexadecimal in it.
            rows = await connection.fetch(f"SELECT t::text FROM chamberlain.{table} t")  # noqa: S608 - a name of the catalog.
            dumped += [str(row) for [row] in rows]
    shown = "".join(
        [*dumped, *chained, caplog.text, repr(target), repr(added), repr(fixture.opener), repr(Credential(SECRET))]
    )
    assert "connection.create" in shown
    assert SECRET not in shown
    assert SECRET.encode().hex() not in shown


async def test_the_secret_is_in_no_export(fixture: ConnectionFixture) -> None:
    added = await fixture.add()
    await fixture.check(added)
    rows = list[TenantRow]()

    operations = TenantOperations(fixture.estate.databases.worker)
    await operations.export(ESTATE, rows.append, actor=OPERATOR, trace_id=TRACE)

    [exported] = [each.content for each in rows if each.table == "chamberlain.connection"]
    assert str(added.id) in exported
    assert "sealed" not in exported
    assert all(SECRET not in each.content and SECRET.encode().hex() not in each.content for each in rows)


async def test_a_credential_is_read_from_the_file_of_the_tenant(fixture: ConnectionFixture, tmp_path: Path) -> None:
    opener = replace(fixture.opener, files=tmp_path)
    added = await fixture.change(await fixture.add(), credential=Credential(file="password"))
    async with fixture.estate.databases.worker.across_tenants() as tx:
        target = await records.find_target(tx, ESTATE)
    assert target
    (tmp_path / "password").write_text("of no tenant", encoding="utf-8")

    with pytest.raises(ConnectionBroken) as missing:
        await opener.check(target)
    (tmp_path / str(ESTATE)).mkdir()
    (tmp_path / str(ESTATE) / "password").write_text("of the tenant\n", encoding="utf-8")
    described = await opener.check(target)

    assert missing.value.because.code == "credentialUnreadable"
    assert described.abilities
    assert (added.has_secret, added.credential_file, target.sealed) == (False, "password", None)


async def test_keys_rotate(fixture: ConnectionFixture) -> None:
    added = await fixture.add()
    fixture.keyring.keys = {"k1": bytes(32), "k2": bytes([7]) * 32}
    fixture.keyring.first = "k2"

    async with fixture.estate.databases.worker.across_tenants() as tx:
        before = await records.count(tx)
        resealed = await records.reseal(tx, fixture.keyring, TenantId(ESTATE), 10)
        done = await records.reseal(tx, fixture.keyring, TenantId(UUID(int=0)), 10)
        after = await records.count(tx)

    assert (before, after) == ({"k1": 1}, {"k2": 1})
    assert (resealed.done, done.done, done.left, done.next) == (0, 1, 0, None)
    fixture.keyring.keys = {"k2": bytes([7]) * 32}
    assert (await fixture.check(added)).state is ConnectionState.READY


async def test_a_stored_credential_is_not_sent_to_another_host(fixture: ConnectionFixture) -> None:
    added = await fixture.add()

    with pytest.raises(NotPossible) as refused:
        await fixture.change(added, address=f"{address_of(fixture.other).partition('port=')[0]}port=6543")
    moved = await fixture.change(
        added, address=f"{address_of(fixture.other).partition('port=')[0]}port=6543", credential=Credential("another")
    )

    assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [("/credential", "credentialMissing")]
    assert moved.has_secret


async def test_a_connection_has_one_check_at_a_time(fixture: ConnectionFixture) -> None:
    added, began, ends = await fixture.add(), asyncio.Event(), asyncio.Event()

    async def check(_: Target) -> Described:
        began.set()
        await ends.wait()
        return Described()

    fixture.service = replace(fixture.service, check_target=check)
    first = asyncio.create_task(fixture.check(added))
    await began.wait()
    with pytest.raises(Unavailable):
        await fixture.check(added)
    ends.set()

    assert (await first).state is ConnectionState.READY
    assert (await fixture.check(added)).state is ConnectionState.READY
