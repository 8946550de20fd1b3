# SPDX-License-Identifier: Apache-2.0
"""Wire the console: its client at issuers, and its sessions."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from starlette.types import ASGIApp

from chamberlain.app.clock_and_ids import now
from chamberlain.app.data_folder import DataFolder, keep_secret
from chamberlain.app.dependencies import ApiDependencies
from chamberlain.app.identity import believed_base_url
from chamberlain.auth.issuers import IssuerKeys
from chamberlain.auth.models import Caller
from chamberlain.console.app import create_console
from chamberlain.console.issuer import Issuers, Provider
from chamberlain.console.sessions import Sessions
from chamberlain.console.visit import Console
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Database
from chamberlain.embedded.identity.identity_platform import issuer_of
from chamberlain.http.responses import Streams
from chamberlain.settings import Settings
from chamberlain.tenants import records as tenant_records

PATH: Final = "/console"
# The client of the console at the embedded identity platform, from the sample data.
CLIENT_NAME: Final = "chamberlain-console"
_CLIENT_ID: Final = "c11e0000-0000-4000-8000-000000000003"
PERMISSIONS: Final = ("collab/App.ReadWrite.All", "mail/App.ReadWrite.All", "admin/Config.ReadWrite.All")


def make_issuers(settings: Settings, authority_pem: str | None, keys: IssuerKeys) -> Issuers:
    """Build the sign-in at the issuers of all tenants."""
    return Issuers(
        keys,
        now,
        authority_pem=authority_pem,
        redirect_uri=f"{settings.console_url}{PATH}/signed-in",
        scopes=tuple(f"{settings.scope_prefix}/{each}" for each in PERMISSIONS),
    )


def console_application(
    shared: ApiDependencies,
    folder: DataFolder,
    services: Sequence[object],
    *,
    issuers: Issuers,
    verify: Callable[[str | None], Awaitable[Caller]],
    streams: Streams,
) -> ASGIApp:
    """Build the console. Routes are whole paths."""
    console = Console(
        url=shared.settings.console_url,
        services=services,
        sessions=Sessions(shared.database, shared.keyring, now),
        issuers=issuers,
        find_provider=_provider_finder(shared.settings, shared.database, folder),
        verify=verify,
        authorization=shared.authorization,
        streams=streams,
        paths=(),
    )
    return create_console(console)


def _provider_finder(
    settings: Settings, database: Database, folder: DataFolder
) -> Callable[[TenantId], Awaitable[Provider | None]]:
    """Find the issuer where the users of a tenant sign in.

    It is the first registered one if the settings name our client there, else the embedded identity platform.
    """
    embedded, client_id = believed_base_url(settings), settings.console_client_id
    secret = None if settings.console_client_secret is None else settings.console_client_secret.get_secret_value()

    async def find(tenant_id: TenantId) -> Provider | None:
        if client_id is not None:
            async with database.transaction(tenant_id) as tx:
                registered = await tenant_records.issuers_of(tx, (tenant_id,))
            if registered:
                return Provider(registered[0].issuer, client_id, secret)
        if embedded is None:
            return None
        return Provider(issuer_of(embedded, tenant_id), _CLIENT_ID, _embedded_secret(folder) or secret)

    return find


def _embedded_secret(folder: DataFolder) -> str | None:
    """Read the secret that was made with the sample data.

    Another process may have made it, in its own data folder. The setting has it then.
    """
    path = folder.client_secret(CLIENT_NAME)
    return keep_secret(path) if path.exists() else None
