# SPDX-License-Identifier: Apache-2.0
"""Identity platform for tests, with two tenants, served over HTTPS."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx2
import uvicorn
from starlette.applications import Starlette

from chamberlain.embedded.identity.certificates import ServerCertificate, make_server_certificate
from chamberlain.embedded.identity.clients import Account, read_clients
from chamberlain.embedded.identity.database import Pool
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, LocalToken
from chamberlain.embedded.identity.load import load
from chamberlain.embedded.identity.local_tokens import LOCAL_HEADER
from chamberlain.embedded.identity.server import routes
from chamberlain.embedded.identity.signing_keys import SigningKeys
from chamberlain.secrets.keyring import Keyring
from tests.databases import Databases

API = "https://api.estate.example"
GRAPH = "https://graph.estate.example"
TENANT = UUID("e57a7e00-0000-4000-8000-000000000001")
OTHER_TENANT = UUID("e57a7e00-0000-4000-8000-000000000002")
ADA = Account(
    id=UUID("ada00000-0000-4000-8000-000000000001"), tenant=TENANT, address="ada@estate.example", display_name="Ada"
)
ZOE = Account(
    id=UUID("20e00000-0000-4000-8000-000000000001"),
    tenant=OTHER_TENANT,
    address="zoe@other.example",
    display_name="Zoe",
)
CLI = UUID("c11e0000-0000-4000-8000-000000000001")
AUTOMATION = UUID("c11e0000-0000-4000-8000-000000000002")
# Contains all characters that a form must encode.
SECRET = "s3cr:t & + % = ü/"
LOCAL_SECRET = "local secret"
KEYRING = Keyring("k1", {"k1": bytes(32)})
START = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)

CLIENTS = read_clients(
    [
        {
            "id": str(CLI),
            "tenants": [str(TENANT), str(OTHER_TENANT)],
            "name": "chamberlain-cli",
            "kind": "public",
            "redirectUris": ["http://localhost"],
            "delegated": {API: ["collab/App.ReadWrite.All", "mail/App.ReadWrite.All"], GRAPH: ["Group.Read.All"]},
        },
        {
            "id": str(AUTOMATION),
            "tenants": [str(TENANT)],
            "name": "automation",
            "kind": "confidential",
            "application": {API: ["admin/Mail.Manage.ReadWrite.All"], GRAPH: ["Group.Read.All", "User.Read.All"]},
        },
    ]
)


@dataclass
class Clock:
    """Clock that a test sets."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now


@dataclass
class IdentityServer:
    """Running platform, with an HTTP client that trusts its certificate."""

    base_url: str
    http: httpx2.AsyncClient
    platform: IdentityPlatform
    certificate: ServerCertificate
    clock: Clock
    # The worker's role, which can change accounts and clients.
    worker: Pool
    recorded: list[LocalToken] = field(default_factory=list)

    def url(self, path: str, tenant_id: UUID = TENANT) -> str:
        return f"{self.base_url}/{tenant_id}/{path}"

    async def ask(self, parameters: Mapping[str, str], tenant_id: UUID = TENANT) -> httpx2.Response:
        """Send a form to the token endpoint."""
        return await self.http.post(self.url("oauth2/v2.0/token", tenant_id), data=dict(parameters))

    async def ask_locally(self, body: object, secret: str = LOCAL_SECRET) -> httpx2.Response:
        return await self.http.post(f"{self.base_url}/local/token", json=body, headers={LOCAL_HEADER: secret})


async def load_estate(databases: Databases) -> None:
    await load(databases.worker.pool, accounts=[ADA, ZOE], clients=CLIENTS, secrets={AUTOMATION: SECRET})


@asynccontextmanager
async def open_server(databases: Databases, folder: Path) -> AsyncIterator[IdentityServer]:
    """Serve the platform over TLS with a new certificate."""
    certificate = make_server_certificate(folder, datetime.now(UTC))
    clock = Clock()
    recorded: list[LocalToken] = []

    async def name_of(tenant_id: UUID) -> str | None:
        return "Example <Estate>" if tenant_id == TENANT else None

    async def record(token: LocalToken) -> None:
        recorded.append(token)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        base_url = f"https://localhost:{listener.getsockname()[1]}/identity"
        platform = IdentityPlatform(
            base_url=base_url,
            pool=databases.application.pool,
            keys=SigningKeys(databases.application.pool, KEYRING, clock),
            now=clock,
            token_now=clock,
            local_secret=LOCAL_SECRET,
            on_local_token=record,
            organisation=name_of,
            permission_words={"collab/App.ReadWrite.All": "Create groups and teams for you"},
        )
        async with serving(Starlette(routes=routes(platform)), listener, certificate):
            trusting = ssl.create_default_context(cadata=certificate.authority_pem)
            async with httpx2.AsyncClient(verify=trusting, trust_env=False, timeout=30) as http:
                yield IdentityServer(base_url, http, platform, certificate, clock, databases.worker.pool, recorded)


@asynccontextmanager
async def serving(
    application: Starlette, listener: socket.socket, certificate: ServerCertificate
) -> AsyncIterator[None]:
    config = uvicorn.Config(
        application,
        log_config=None,
        lifespan="off",
        proxy_headers=False,
        ssl_context_factory=lambda _config, _usual: certificate.context,
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        for _ in range(1000):
            if server.started:
                break
            await asyncio.sleep(0.01)
        yield
    finally:
        server.should_exit = True
        await running
