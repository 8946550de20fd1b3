# SPDX-License-Identifier: Apache-2.0
"""A tenant that leaves gets all that is its, and then nothing of it is left, in whatever table."""

import json
from collections.abc import Mapping, Sequence

import asyncpg
import pytest

from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.ids import TenantId
from chamberlain.queue.models import JobKind
from chamberlain.tenant_admin.service import TenantOperations
from chamberlain.tenant_admin.store import RemovedRows, TenantRow
from tests.audit.audit_fixture import seal
from tests.databases import Databases
from tests.estates import (
    CONFIDENTIAL_TEAM,
    ESTATE,
    NOBODY,
    OPERATOR,
    OTHER_GROUP,
    OTHER_HOUSE,
    TRACE,
    ZOE,
    Estate,
    caller_of,
)
from tests.postgres import connected

# Asked of the owner, who sees every table, whether anybody else may or not.
TABLES = """
SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' WHERE c.relkind IN ('r', 'p')
AND NOT c.relispartition ORDER BY 1
"""
DIGEST = """
SELECT count(*) || ' ' || md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) FROM {} t WHERE tenant_id = $1
"""
MORE = (
    "INSERT INTO chamberlain.issuer (tenant_id, issuer) VALUES ($1::uuid, 'https://' || $1::uuid)",
    "INSERT INTO identity.accounts VALUES ($1::uuid, $1::uuid, 'a@' || $1::uuid, 'A')",
    "INSERT INTO identity.clients VALUES ($1, $1, 'program', 'confidential', 'hash-of-a-secret')",
    "INSERT INTO identity.permissions VALUES ($1, $1, 'application', 'https://api', 'All')",
)
SECRET = """
INSERT INTO chamberlain.webhook_secret (tenant_id, template_id, sealed, previous_secret, previous_until)
VALUES ($1, $2, 'sealed-secret', 'sealed-secret of before', now() + interval '1 day')
"""


@pytest.fixture
async def filled_estate(estate: Estate) -> Estate:
    """Both tenants with something of everything, most of all the first."""
    await estate.request("Apollo", key="k1")
    await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM), description="line\nbreak")
    await estate.ask_mailbox({"name": "Info", "displayName": "Information", "alias": "desk"})
    await estate.request("Theirs", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP), key="k1")
    await estate.work()
    async with estate.databases.worker.across_tenants() as tx:
        for statement in MORE:
            await tx.execute(statement, ESTATE)
            await tx.execute(statement, OTHER_HOUSE)
        await tx.execute(SECRET, ESTATE, CONFIDENTIAL_TEAM)
    return estate


async def suspend(estate: Estate) -> None:
    await TenantOperations(estate.databases.worker).suspend(ESTATE, actor=OPERATOR, trace_id=TRACE)


async def delete(estate: Estate, tenant_id: TenantId = ESTATE) -> Sequence[RemovedRows]:
    operations = TenantOperations(estate.databases.worker)
    return await operations.delete_with_directory(tenant_id, actor=OPERATOR, trace_id=TRACE)


async def digests(databases: Databases, tenant_id: TenantId) -> Mapping[str, str]:
    """How many rows of a tenant each table has, and what they say."""
    async with connected(databases.addresses.owner) as connection:
        tables = [row["name"] for row in await connection.fetch(TABLES)]
    async with databases.worker.across_tenants() as tx:
        found = {name: await tx.fetch(DIGEST.format(name), tenant_id) for name in tables}
    return {name: str(rows[0][0]) for name, rows in found.items()}


async def exported(databases: Databases, tenant_id: TenantId = ESTATE) -> list[TenantRow]:
    rows: list[TenantRow] = []
    count = await TenantOperations(databases.worker).export(tenant_id, rows.append, actor=OPERATOR, trace_id=TRACE)
    assert count == len(rows)
    return rows


async def test_it_works(filled_estate: Estate) -> None:
    await suspend(filled_estate)
    before = await digests(filled_estate.databases, ESTATE)
    others = await digests(filled_estate.databases, OTHER_HOUSE)

    removed = await delete(filled_estate)

    left = await digests(filled_estate.databases, ESTATE)
    assert {name: told for name, told in left.items() if not told.startswith("0 ")} == {}
    assert await digests(filled_estate.databases, OTHER_HOUSE) == others
    counts = {each.table: each.count for each in removed}
    assert (
        counts.items() >= {"chamberlain.tenant": 1, "chamberlain.template": 9, "chamberlain.webhook_secret": 1}.items()
    )
    # Triggers remove these with the requests and the users.
    followers = {"chamberlain.request_by_state", "directory.user_words"}
    there = {name for name, told in before.items() if not told.startswith("0 ")}
    assert there - followers <= counts.keys()


async def test_the_objects_of_the_directory_stay(filled_estate: Estate) -> None:
    await suspend(filled_estate)
    before = await digests(filled_estate.databases, ESTATE)
    operations = TenantOperations(filled_estate.databases.worker)

    removed = await operations.delete(ESTATE, actor=OPERATOR, trace_id=TRACE)

    left = await digests(filled_estate.databases, ESTATE)
    kept = {name: digest for name, digest in before.items() if name.startswith("directory.")}
    assert len(kept) > 5
    assert {name: digest for name, digest in left.items() if not digest.startswith("0 ")} == {
        name: digest for name, digest in kept.items() if not digest.startswith("0 ")
    }
    assert not [each.table for each in removed if each.table.startswith("directory.")]


async def test_a_deleted_tenant_is_gone(filled_estate: Estate) -> None:
    await suspend(filled_estate)
    await delete(filled_estate)

    check = TenantOperations(filled_estate.databases.worker).require_deletable
    for attempt in (delete(filled_estate), check(ESTATE), exported(filled_estate.databases)):
        with pytest.raises(NotFound):
            await attempt


async def test_a_deleted_tenant_is_on_record_with_the_last_head_of_its_trail(filled_estate: Estate) -> None:
    worker = filled_estate.databases.worker
    nothing = await TenantOperations(worker).list_deleted()
    await suspend(filled_estate)
    count = "SELECT count(*) FROM chamberlain.audit WHERE tenant_id = $1"
    ((written,),) = await filled_estate.rows(count, ESTATE)
    # A tenant that leaves takes its trail along, sealed as it is just then.
    await seal(filled_estate.databases, most=2)
    links = [row.content for row in await exported(filled_estate.databases) if row.table == "chamberlain.audit_seal"]
    await delete(filled_estate)

    (gone,) = await TenantOperations(worker).list_deleted()

    assert nothing == []
    assert (gone.id, gone.name, gone.deleted_by) == (ESTATE, "Example Estate", "Test")
    # The export is on record as well, behind what is in it.
    assert gone.head.position == int(str(written)) + 1 == len(links) + 1


async def test_the_record_of_deleted_tenants_cannot_be_changed_by_the_service(filled_estate: Estate) -> None:
    await suspend(filled_estate)
    await delete(filled_estate)

    for statement in ("UPDATE chamberlain.deleted_tenant SET name = ''", "DELETE FROM chamberlain.deleted_tenant"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with filled_estate.databases.worker.across_tenants() as tx:
                await tx.execute(statement)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with filled_estate.databases.application.transaction(ESTATE) as tx:
            await tx.fetch("SELECT FROM chamberlain.deleted_tenant")


async def test_it_rejects_to_delete_one_that_is_served(filled_estate: Estate) -> None:
    before = await digests(filled_estate.databases, ESTATE)

    for attempt in (delete(filled_estate), TenantOperations(filled_estate.databases.worker).require_deletable(ESTATE)):
        with pytest.raises(Conflict, match="Suspend it first"):
            await attempt

    assert await digests(filled_estate.databases, ESTATE) == before


async def test_it_rejects_to_delete_one_that_somebody_works_for(filled_estate: Estate) -> None:
    await filled_estate.request("Late")
    await filled_estate.claim(kinds=[JobKind.GROUP_PROVISION])
    await suspend(filled_estate)

    with pytest.raises(Conflict, match='1 jobs of "Example Estate" are still being done'):
        await delete(filled_estate)


async def test_everything_is_exported_as_it_is(filled_estate: Estate) -> None:
    rows = await exported(filled_estate.databases)

    counts = {name: sum(row.table == name for row in rows) for name in {row.table for row in rows}}
    there = await digests(filled_estate.databases, ESTATE)
    assert counts == {name: int(told.split()[0]) for name, told in there.items() if not told.startswith("0 ")}
    (tenant,) = [json.loads(row.content) for row in rows if row.table == "chamberlain.tenant"]
    assert (tenant["tenant_id"], tenant["name"]) == (str(ESTATE), "Example Estate")
    requests = [json.loads(row.content) for row in rows if row.table == "chamberlain.request"]
    assert {each["display_name"] for each in requests} == {"Apollo", "CONF-Secret", "Information"}


async def test_nothing_of_another_tenant_and_no_secret_is_exported(filled_estate: Estate) -> None:
    text = "\n".join(row.content for row in await exported(filled_estate.databases))

    assert str(OTHER_HOUSE) not in text
    assert "hash-of-a-secret" not in text
    assert b"sealed-secret".hex() not in text
    assert "program" in text


async def test_an_export_is_on_record(filled_estate: Estate) -> None:
    await exported(filled_estate.databases)

    assert await filled_estate.rows(
        "SELECT payload -> 'actor' ->> 'displayName' FROM chamberlain.audit WHERE action = 'tenant.export'"
    ) == [("Test",)]


async def test_it_rejects_a_tenant_that_is_not_there(databases: Databases) -> None:
    with pytest.raises(NotFound):
        await exported(databases, TenantId(NOBODY))
