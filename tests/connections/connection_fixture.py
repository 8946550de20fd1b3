# SPDX-License-Identifier: Apache-2.0
"""Connections of an estate, and a directory in another database of the same server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from chamberlain.app.connections import Connections, Opener
from chamberlain.auth.models import Edit
from chamberlain.connections.jobs import ConnectionJobs
from chamberlain.connections.models import Adapter, Connection, ConnectionOrder, Credential
from chamberlain.connections.service import ConnectionService
from chamberlain.core.ids import UserId
from chamberlain.database.notify import CONNECTIONS_CHANNEL, Notifier
from chamberlain.embedded import postgres
from chamberlain.secrets.keyring import Keyring
from tests.databases import Databases, migrated_database
from tests.estates import ADA, TRACE, Estate
from tests.requests.request_services import administrator, workers

# The server of the tests ignores passwords, so any one is right.
SECRET = "a-secret-that-no-row-may-have"
EDIT = Edit(None, TRACE)


def address_of(databases: Databases, *, role: str = "chamberlain_worker", database: str | None = None) -> str:
    """The address of a database as a connection has it."""
    parts = urlsplit(databases.addresses.worker)
    query = parse_qs(parts.query)
    name = database or parts.path.removeprefix("/")
    return f"postgresql://{role}@/{name}?host={query['host'][0]}&port={query['port'][0]}"


def folder_of(databases: Databases) -> str:
    """The folder of the socket, which the operator permits as a host."""
    return parse_qs(urlsplit(databases.addresses.worker).query)["host"][0]


@dataclass
class ConnectionFixture:
    """The connections of one process, and the database of another directory."""

    estate: Estate
    other: Databases
    keyring: Keyring
    opener: Opener
    connections: Connections
    service: ConnectionService
    jobs: ConnectionJobs

    async def add(
        self,
        *,
        address: str | None = None,
        secret: str | None = SECRET,
        user: UserId = ADA,
        force: bool = False,
        is_noticed: bool = True,
    ) -> Connection:
        credential = None if secret is None else Credential(secret)
        order = ConnectionOrder(Adapter.EMBEDDED, address or address_of(self.other), credential)
        added = await self.service.add(administrator(user), order, EDIT, force=force)
        if is_noticed:
            await self.connections.refresh()
        return added

    async def change(self, connection: Connection, *, force: bool = False, **parts: object) -> Connection:
        order = ConnectionOrder(**parts)  # type: ignore[arg-type]  # The parts of the order.
        changed = await self.service.change(administrator(ADA), connection.id, order, EDIT, force=force)
        await self.connections.refresh()
        return changed

    async def check(self, connection: Connection) -> Connection:
        checked = await self.service.check(administrator(ADA), connection.id, EDIT)
        await self.connections.refresh()
        return checked

    async def read(self, connection: Connection) -> Connection:
        return await self.service.read(administrator(ADA), connection.id)


@asynccontextmanager
async def connection_fixture(estate: Estate, server: postgres.Server) -> AsyncIterator[ConnectionFixture]:
    """Build the connections of one process, with an empty directory in another database."""
    worker = estate.databases.worker
    keyring = Keyring("k1", {"k1": bytes(32)})
    async with migrated_database(server) as other:
        opener = Opener(keyring, frozenset({folder_of(other)}), None)
        processes = Notifier(estate.databases.addresses.worker, CONNECTIONS_CHANNEL)
        connections = Connections(worker, opener, processes)
        service = ConnectionService(
            database=estate.databases.application,
            authorization=estate.authorization(),
            keyring=keyring,
            check_target=opener.check,
            hosts=opener.hosts,
            processes=processes,
            workers=workers(estate),
            new_id=uuid4,
            now=estate.now,
        )
        jobs = ConnectionJobs(worker, opener.check, processes, workers(estate), uuid4, estate.now)
        try:
            yield ConnectionFixture(estate, other, keyring, opener, connections, service, jobs)
        finally:
            await connections.close()
