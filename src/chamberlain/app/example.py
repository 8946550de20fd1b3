"""The example estate: loaded once, into a database that has no tenant yet.

The passwords of its people and the secrets of its programs lie in the data folder; the database has their hashes.
"""

from collections.abc import Sequence
from functools import cache
from uuid import UUID

from chamberlain.app.data_folder import DataFolder, keep_passwords, keep_secret
from chamberlain.app.databases import Databases
from chamberlain.auth.models import Actor, ActorType
from chamberlain.configuration.files import Configuration, read_configuration
from chamberlain.configuration.service import ConfigurationService
from chamberlain.embedded.directory.estate import read_estate
from chamberlain.embedded.directory.load import load as load_directory
from chamberlain.embedded.example import example_estate
from chamberlain.embedded.identity.clients import Account, Client, ClientKind, read_clients
from chamberlain.embedded.identity.load import load as load_identity
from chamberlain.embedded.identity.load import upgrade_clients
from chamberlain.embedded.identity.passwords import set_passwords, without_password
from chamberlain.http.calls import new_trace_id

LOADED_BY = Actor(ActorType.SYSTEM, None, "Example estate")


async def load_example_estate(databases: Databases, folder: DataFolder) -> bool:
    """Load it into an empty database; says whether it did. The tenants come last: with them it is no longer empty."""
    configuration = _example()
    service = ConfigurationService(databases.worker)
    if not await service.is_empty():
        return False
    await load_directory(databases.worker.pool, configuration.directory)
    await _load_identity(databases, configuration, folder)
    await service.apply(configuration, actor=LOADED_BY, trace_id=new_trace_id())
    return True


async def complete_example_estate(databases: Databases, folder: DataFolder) -> bool:
    """Give those people of the example who are there and have no password the one in the file, or a new one; says
    whether there were such people. Programs get what an earlier version did not give them."""
    configuration = _example()
    pool = databases.worker.pool
    clients = read_clients(configuration.clients)
    await upgrade_clients(pool, clients, lambda client: keep_secret(folder.client_secret(client.name)))
    lacking = await without_password(pool, _accounts(configuration))
    if lacking:
        # The file comes first: passwords that are nowhere to be read would be lost.
        await set_passwords(pool, lacking, keep_passwords(folder.example_users, [each.address for each in lacking]))
    return bool(lacking)


async def forget_lost_passwords(databases: Databases, folder: DataFolder) -> None:
    """Where the file is gone, nobody knows the passwords any more: take them from the people of the example."""
    if not folder.example_users.exists():
        await set_passwords(databases.worker.pool, _accounts(_example()), {})


@cache
def _example() -> Configuration:
    """Read once: a start asks three times."""
    return read_configuration(example_estate())


async def _load_identity(databases: Databases, configuration: Configuration, folder: DataFolder) -> None:
    clients = read_clients(configuration.clients)
    await load_identity(
        databases.worker.pool,
        accounts=_accounts(configuration),
        clients=clients,
        secrets=_secrets(clients, folder),
    )


def _accounts(configuration: Configuration) -> Sequence[Account]:
    """Who can sign in: the members of the directory. Guests sign in at home."""
    return [
        Account(id=user.id, tenant=user.tenant, address=user.user_principal_name, display_name=user.display_name)
        for user in read_estate(configuration.directory).users
        if user.user_type == "Member"
    ]


def _secrets(clients: Sequence[Client], folder: DataFolder) -> dict[UUID, str]:
    confidential = [client for client in clients if client.kind is ClientKind.CONFIDENTIAL]
    return {client.id: keep_secret(folder.client_secret(client.name)) for client in confidential}
