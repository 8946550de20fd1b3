# SPDX-License-Identifier: Apache-2.0
"""Maintenance of an external database: migrations and sample data."""

import asyncio
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from uuid import UUID

import typer

from chamberlain.app.clock_and_ids import new_id, now
from chamberlain.app.data_folder import DataFolder, keep_passwords, keep_secret, open_data_folder
from chamberlain.app.databases import DatabaseNotReady, Databases, migration_sets, opened_databases
from chamberlain.app.errors import expected_faults
from chamberlain.auth.models import Actor, ActorType
from chamberlain.configuration.files import Configuration, read_configuration
from chamberlain.configuration.service import ConfigurationService
from chamberlain.connections.service import ConnectionWriter
from chamberlain.core.errors import CannotStart
from chamberlain.database.migrate import migrate, migrate_before, script
from chamberlain.database.transactions import Database
from chamberlain.directory.capabilities import Capable
from chamberlain.directory.embedded.directory import EmbeddedDirectory
from chamberlain.directory.embedded.mapping import KEY_MEMBER
from chamberlain.embedded.directory.estate import read_estate
from chamberlain.embedded.directory.groups import Groups
from chamberlain.embedded.directory.load import load as load_directory
from chamberlain.embedded.directory.mailboxes import Mailboxes
from chamberlain.embedded.example import example_estate
from chamberlain.embedded.identity.clients import Account, Client, ClientKind, read_clients
from chamberlain.embedded.identity.load import add_new_clients, set_passwords, upgrade_clients, without_password
from chamberlain.embedded.identity.load import load as load_identity
from chamberlain.guests.assignments.service import AssignmentWriter
from chamberlain.observability.logs import new_trace_id
from chamberlain.settings import Settings

LOADED_BY = Actor(ActorType.SYSTEM, None, "Example estate")


def configuration_service(
    database: Database, capable: Capable | None = None, hosts: Collection[str] = ()
) -> ConfigurationService:
    """Build the service of configuration files, with the worker's role.

    Without `capable`, all tenants have the embedded directory. `hosts` are permitted for connections.
    """
    pool = database.pool
    embedded = EmbeddedDirectory(Groups(pool, key_member=KEY_MEMBER), Mailboxes(pool, key_member=KEY_MEMBER))
    writers = AssignmentWriter(new_id, now), ConnectionWriter(hosts, new_id, now)
    return ConfigurationService(database, capable or embedded, *writers)


async def load_example_estate(databases: Databases, folder: DataFolder) -> bool:
    """Load the example estate into an empty database. Returns whether it did.

    The tenants come last: with them it is no longer empty.
    """
    configuration = example_configuration()
    service = configuration_service(databases.worker)
    if not await service.is_empty():
        return False
    await load_directory(databases.worker.pool, configuration.directory)
    await _load_identity(databases.worker, configuration, folder)
    await service.apply(configuration, actor=LOADED_BY, trace_id=new_trace_id())
    return True


async def complete_example_estate(databases: Databases, folder: DataFolder) -> bool:
    """Set the sample password of users without one. Returns whether any changed.

    Applications get permissions that earlier versions did not give them.
    """
    pool = databases.worker.pool
    clients = read_clients(example_configuration().clients)
    await upgrade_clients(pool, clients, lambda client: keep_secret(folder.client_secret(client.name)))
    await add_new_clients(pool, clients, lambda client: keep_secret(folder.client_secret(client.name)))
    return await _complete_passwords(databases.worker, folder)


async def reload_example_tenant(worker: Database, folder: DataFolder) -> None:
    """Load the first tenant of the example estate, after it was deleted.

    The passwords of its users and the secrets of its applications stay those of the files.
    """
    configuration = example_configuration()
    await load_directory(worker.pool, configuration.directory)
    await _load_identity(worker, configuration, folder)
    only = replace(configuration, tenants=configuration.tenants[:1])
    await configuration_service(worker).apply(only, actor=LOADED_BY, trace_id=new_trace_id())
    await _complete_passwords(worker, folder)


async def _complete_passwords(worker: Database, folder: DataFolder) -> bool:
    pool = worker.pool
    lacking = await without_password(pool, _accounts(example_configuration()))
    if lacking:
        # The file comes first: passwords that are nowhere to be read would be lost.
        await set_passwords(pool, lacking, keep_passwords(folder.example_users, [each.address for each in lacking]))
    return bool(lacking)


async def forget_lost_passwords(databases: Databases, folder: DataFolder) -> None:
    """Remove the passwords of the example users if their file is gone.

    They cannot be read again.
    """
    if not folder.example_users.exists():
        await set_passwords(databases.worker.pool, _accounts(example_configuration()), {})


@cache
def example_configuration() -> Configuration:
    """Read the example estate, once: a start asks three times."""
    return read_configuration(example_estate())


async def _load_identity(worker: Database, configuration: Configuration, folder: DataFolder) -> None:
    clients = read_clients(configuration.clients)
    await load_identity(
        worker.pool,
        accounts=_accounts(configuration),
        clients=clients,
        secrets=_secrets(clients, folder),
    )


def _accounts(configuration: Configuration) -> Sequence[Account]:
    """Return the accounts of directory members.

    Guests sign in at their own tenant.
    """
    return [
        Account(id=user.id, tenant=user.tenant, address=user.user_principal_name, display_name=user.display_name)
        for user in read_estate(configuration.directory).users
        if user.user_type == "Member"
    ]


def _secrets(clients: Sequence[Client], folder: DataFolder) -> dict[UUID, str]:
    confidential = [client for client in clients if client.kind is ClientKind.CONFIDENTIAL]
    return {client.id: keep_secret(folder.client_secret(client.name)) for client in confidential}


async def bring_up_to_date(settings: Settings) -> list[str]:
    """Run the migrations on an outside database, as its owner.

    Returns the names of the files.
    """
    with expected_faults():
        return await migrate(_owner_address(settings), migration_sets())


async def bring_up_to_date_beside_old_processes(settings: Settings) -> list[str]:
    """Run all migrations but those that old processes do not survive."""
    with expected_faults():
        return await migrate_before(_owner_address(settings), migration_sets())


async def load_example(settings: Settings) -> bool:
    """Load the example estate into an empty outside database.

    Returns whether it did.
    """
    with expected_faults():
        folder = open_data_folder(settings.data_dir)
        async with opened_databases(settings, folder) as databases:
            loaded = await load_example_estate(databases, folder)
            await complete_example_estate(databases, folder)
            return loaded


def _owner_address(settings: Settings) -> str:
    if settings.database_owner_url is None:
        raise DatabaseNotReady("Set CHAMBERLAIN_DATABASE_OWNER_URL to the address of the owner's role.")
    return settings.database_owner_url.get_secret_value()


def migration_script() -> str:
    """All that an empty server needs, for psql."""
    return script(migration_sets())


def print_migrations() -> None:
    """Print everything that would be run on an empty database."""
    print(migration_script())


def run_migrations(settings: Settings, *, example: bool) -> None:
    """Run the missing migrations, and print their names."""
    with _told():
        for name in asyncio.run(bring_up_to_date(settings)):
            print(name)
        if example:
            asyncio.run(load_example(settings))


def run_migrations_before(settings: Settings) -> None:
    """Run the migrations that old processes survive, and print their names."""
    with _told():
        for name in asyncio.run(bring_up_to_date_beside_old_processes(settings)):
            print(name)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except CannotStart as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from error
