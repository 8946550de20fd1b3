# SPDX-License-Identifier: Apache-2.0
"""Connections in configuration files: planned, applied and exported without a secret."""

from collections.abc import Mapping
from uuid import uuid4

import pytest

from chamberlain.app.maintenance import configuration_service
from chamberlain.auth.models import Editor
from chamberlain.configuration.files import ConfigurationInvalid, read_configuration
from chamberlain.configuration.rules import ConfigurationNoun, Plan, PlannedChange
from chamberlain.configuration.service import ConfigurationService
from chamberlain.configuration.yaml import write_document
from chamberlain.connections import records
from chamberlain.connections.models import Connection, ConnectionState
from chamberlain.connections.service import ConnectionWriter
from chamberlain.core.errors import Conflict
from tests.estates import ESTATE, OPERATOR, TRACE, Estate
from tests.example import configuration_in, example_document
from tests.postgres import connected

ADDRESS = "postgresql://directory@db.estate.example:5432/directory"
HOSTS = frozenset({"db.estate.example"})
ELSEWHERE = {"adapter": "embedded", "address": ADDRESS, "credentialFile": "password"}
OWN = {"adapter": "embedded"}
SEAL = "UPDATE chamberlain.connection SET sealed = '\\x0102', credential_file = NULL"
SEALED = "SELECT sealed FROM chamberlain.connection"
AUDIT = "SELECT action FROM chamberlain.audit WHERE action LIKE 'connection.%' ORDER BY sequence"


def document(**members: object) -> Mapping[str, object]:
    return {"tenants": [{**example_document()["tenants"][0], **members}]}


def service(estate: Estate) -> ConfigurationService:
    return configuration_service(estate.databases.worker, estate.directory, HOSTS)


async def plan(estate: Estate, **members: object) -> Plan:
    return await service(estate).plan(configuration_in(document(**members)))


async def apply(estate: Estate, **members: object) -> Plan:
    return await service(estate).apply(configuration_in(document(**members)), actor=OPERATOR, trace_id=TRACE)


async def stored(estate: Estate) -> Connection | None:
    async with estate.databases.worker.across_tenants() as tx:
        return await records.find(tx, ESTATE)


async def seal(estate: Estate) -> None:
    """Store an encrypted credential, as the API does."""
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute(SEAL)


def shown(change: PlannedChange) -> tuple[object, ...]:
    return change.verb, change.noun, change.before, change.after


async def faults(estate: Estate, connection: object) -> list[tuple[str, str]]:
    with pytest.raises(ConfigurationInvalid) as invalid:
        await plan(estate, connection=connection)
    return [(each.pointer, each.code) for each in invalid.value.faults]


async def test_it_works(estate: Estate) -> None:
    planned = await plan(estate, connection=ELSEWHERE)
    await apply(estate, connection=ELSEWHERE)
    added = await stored(estate)
    again = await plan(estate, connection=ELSEWHERE)
    without = await apply(estate)
    kept = await stored(estate)
    removed = await apply(estate, connection=None)

    (change,) = planned.changes
    content = {"adapter": "embedded", "address": ADDRESS, "credential": None, "credentialFile": "password"}
    assert shown(change) == ("create", ConfigurationNoun.CONNECTION, None, content)
    assert planned.losses == ()
    assert added is not None
    assert (added.address, added.credential_file, added.state) == (ADDRESS, "password", ConnectionState.NEW)
    assert again.changes == without.changes == ()
    assert kept == added
    assert [(each.verb, each.id) for each in removed.losses] == [("remove", added.id)]
    assert await stored(estate) is None
    assert await estate.rows(AUDIT) == [("connection.create",), ("connection.delete",)]
    assert await estate.rows("SELECT directory_lanes FROM chamberlain.tenant WHERE tenant_id = $1", ESTATE) == [
        (False,)
    ]


async def test_an_export_has_no_secret_and_applying_it_keeps_the_stored_one(estate: Estate) -> None:
    await apply(estate, connection=ELSEWHERE)
    await seal(estate)

    text = await service(estate).export(ESTATE)
    planned = await service(estate).plan(read_configuration(text.encode()))
    moved = await apply(estate, connection={"adapter": "embedded", "address": f"{ADDRESS}2"})

    assert "credential" not in text
    assert planned.changes == ()
    assert [shown(each)[2:] for each in moved.changes] == [({"address": ADDRESS}, {"address": f"{ADDRESS}2"})]
    assert moved.losses == ()
    assert await estate.rows(SEALED) == [(b"\x01\x02",)]


@pytest.mark.parametrize(("wanted", "lost"), [(ELSEWHERE, ("credential",)), (OWN, ("address", "credential"))])
async def test_the_loss_of_a_stored_credential_needs_confirmation(
    estate: Estate, wanted: Mapping[str, object], lost: tuple[str, ...]
) -> None:
    await apply(estate, connection=ELSEWHERE)
    await seal(estate)

    applied = await apply(estate, connection=wanted)

    assert [each.lost_parts for each in applied.losses] == [lost]
    assert await estate.rows(SEALED) == [(None,)]
    assert await estate.rows(AUDIT) == [("connection.create",), ("connection.change",)]


@pytest.mark.parametrize(
    ("connection", "expected"),
    [
        ({**ELSEWHERE, "address": "postgresql://directory@other.example/d"}, [("address", "hostNotPermitted")]),
        ({**ELSEWHERE, "address": "nonsense"}, [("address", "addressInvalid")]),
        ({**ELSEWHERE, "adapter": "microsoft365"}, [("address", "addressInvalid")]),
        ({"adapter": "embedded", "address": ADDRESS}, [("credentialFile", "credentialMissing")]),
        ({**OWN, "credentialFile": "password"}, [("credentialFile", "credentialNotNeeded")]),
    ],
)
async def test_a_connection_follows_the_rules_of_the_api(
    estate: Estate, connection: object, expected: list[tuple[str, str]]
) -> None:
    found = await faults(estate, connection)

    assert found == [(f"/tenants/0/connection/{member}", code) for member, code in expected]


def test_a_credential_in_a_file_is_refused_and_not_repeated() -> None:
    text = write_document({**document(connection={**ELSEWHERE, "credential": "hunter2", "port": 1})})

    with pytest.raises(ConfigurationInvalid) as invalid:
        read_configuration(text.encode())

    assert [(each.pointer, each.code) for each in invalid.value.faults] == [
        ("/tenants/0/connection/credential", "credentialInFile"),
        ("/tenants/0/connection/port", "unknownProperty"),
    ]
    assert "hunter2" not in str(invalid.value)


async def test_managed_objects_keep_their_directory(estate: Estate) -> None:
    await estate.request()
    refused = await faults(estate, ELSEWHERE)
    own = await apply(estate, connection=OWN)

    assert refused == [("/tenants/0/connection", "inUse")]
    assert [each.verb for each in own.changes] == ["create"]
    # Nothing moves: without a connection, the directory is the same.
    assert [each.verb for each in (await plan(estate, connection=None)).changes] == ["remove"]


async def test_a_connection_that_stays_is_not_validated(estate: Estate) -> None:
    await apply(estate, connection=ELSEWHERE)
    await estate.request()
    narrower = configuration_service(estate.databases.worker, estate.directory)

    planned = await narrower.plan(configuration_in(document(connection=ELSEWHERE)))

    assert planned.changes == ()
    assert await faults(estate, None) == [("/tenants/0/connection", "inUse")]
    assert len((await plan(estate, connection={**ELSEWHERE, "address": f"{ADDRESS}2"})).changes) == 1


async def test_a_connection_that_was_changed_meanwhile_stays(estate: Estate) -> None:
    await apply(estate, connection=ELSEWHERE)
    seen = await stored(estate)
    await apply(estate, connection={**ELSEWHERE, "credentialFile": "other"})
    writer = ConnectionWriter(HOSTS, uuid4, estate.now)

    with pytest.raises(Conflict):
        async with estate.databases.worker.across_tenants() as tx:
            await writer.write(tx, ESTATE, None, seen, Editor(OPERATOR, None, TRACE, None))

    assert (await stored(estate)) is not None


async def test_no_file_adds_a_connection_while_older_processes_may_run(estate: Estate) -> None:
    async with connected(estate.databases.addresses.owner) as connection:
        await connection.execute("DELETE FROM migration.applied WHERE file_name LIKE '0068%.post.sql'")

    with pytest.raises(Conflict) as refused:
        await apply(estate, connection=ELSEWHERE)

    assert refused.value.code == "stateDoesNotAllow"
    assert await stored(estate) is None
