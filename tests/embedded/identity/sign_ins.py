# SPDX-License-Identifier: Apache-2.0
"""Sign-ins from the view of the client; functions replace the pages."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import httpx2

from chamberlain.embedded.identity.authorization_codes import issue
from chamberlain.embedded.identity.clients import Account, find_clients, read_clients
from chamberlain.embedded.identity.device_authorization import allow_device
from chamberlain.embedded.identity.load import load
from tests.embedded.identity.estate import ADA, API, CLI, GRAPH, OTHER_TENANT, SECRET, START, TENANT, IdentityServer

COLLAB = f"{API}/collab/App.ReadWrite.All"
MAIL = f"{API}/mail/App.ReadWrite.All"
GROUPS = f"{GRAPH}/Group.Read.All"
# In the order of MSAL.
SCOPE = f"{COLLAB} openid profile offline_access"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
# The user signed in a minute before the request.
SIGNED_IN = START - timedelta(minutes=1)
VERIFIER = "abcdefghijklmnopqrstuvwxyz-._~ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
REDIRECT = "http://localhost:4711"
PORTAL = UUID("c11e0000-0000-4000-8000-000000000003")
OTHER_CLI = UUID("c11e0000-0000-4000-8000-000000000004")
PORTAL_REDIRECT = "https://portal.example/back"

# A confidential and a second public client; both act for users.
MORE_CLIENTS = read_clients(
    [
        {
            "id": str(PORTAL),
            "tenants": [str(TENANT)],
            "name": "portal",
            "kind": "confidential",
            "redirectUris": [PORTAL_REDIRECT],
            "delegated": {API: ["mail/App.ReadWrite.All"]},
        },
        {
            "id": str(OTHER_CLI),
            "tenants": [str(TENANT), str(OTHER_TENANT)],
            "name": "other-cli",
            "kind": "public",
            "redirectUris": [PORTAL_REDIRECT],
            "delegated": {API: ["collab/App.ReadWrite.All"]},
        },
    ]
)


def challenge_of(verifier: str) -> str:
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


def part_of(token: str, place: int) -> dict[str, Any]:  # Any: each test checks the claims.
    segment = token.split(".")[place]
    part: dict[str, Any] = json.loads(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
    return part


def error_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


async def begin(
    server: IdentityServer, parameters: Mapping[str, str] | None = None, tenant_id: UUID = TENANT
) -> httpx2.Response:
    """Request the codes of a device."""
    asked = {"client_id": str(CLI), "scope": SCOPE, **(parameters or {})}
    return await server.http.post(server.url("oauth2/v2.0/devicecode", tenant_id), data=asked)


async def poll(
    server: IdentityServer, device_code: str, parameters: Mapping[str, str] | None = None, tenant_id: UUID = TENANT
) -> httpx2.Response:
    """Poll for the tokens of a device, as MSAL does."""
    asked = {
        "grant_type": DEVICE_GRANT,
        "client_id": str(CLI),
        "device_code": device_code,
        "code": device_code,
        "client_info": "1",
        "scope": SCOPE,
    }
    return await server.ask({**asked, **(parameters or {})}, tenant_id)


async def sign_in(
    server: IdentityServer, account: Account = ADA, parameters: Mapping[str, str] | None = None
) -> dict[str, Any]:  # Any: a JSON body.
    """Return the tokens of an allowed device."""
    codes = (await begin(server, parameters, account.tenant)).json()
    assert await allow_device(server.platform, codes["user_code"], account, SIGNED_IN)
    program = {"client_id": (parameters or {}).get("client_id", str(CLI))}
    answer = await poll(server, codes["device_code"], program, account.tenant)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()  # Any: as above.
    return body


async def refresh(
    server: IdentityServer, token: str, parameters: Mapping[str, str] | None = None, tenant_id: UUID = TENANT
) -> httpx2.Response:
    asked = {"grant_type": "refresh_token", "client_id": str(CLI), "refresh_token": token}
    return await server.ask({**asked, **(parameters or {})}, tenant_id)


async def code_for(
    server: IdentityServer,
    account: Account = ADA,
    *,
    client_id: UUID = CLI,
    redirect_uri: str = REDIRECT,
    scope: str = SCOPE,
    nonce: str | None = None,
) -> str:
    """Issue an authorization code after a sign-in."""
    clients = await find_clients(server.platform.pool, account.tenant)
    return await issue(
        server.platform,
        next(client for client in clients if client.id == client_id),
        account,
        redirect_uri=redirect_uri,
        scope=scope,
        nonce=nonce,
        code_challenge=challenge_of(VERIFIER),
        auth_time=SIGNED_IN,
    )


async def redeem(
    server: IdentityServer, code: str, parameters: Mapping[str, str] | None = None, tenant_id: UUID = TENANT
) -> httpx2.Response:
    asked = {
        "grant_type": "authorization_code",
        "client_id": str(CLI),
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
        "client_info": "1",
        "scope": SCOPE,
    }
    return await server.ask({**asked, **(parameters or {})}, tenant_id)


async def load_more_clients(server: IdentityServer) -> None:
    await load(server.worker, clients=MORE_CLIENTS, secrets={PORTAL: SECRET})


async def new_account(server: IdentityServer, tenant_id: UUID = TENANT) -> Account:
    """Create an account that no other test uses."""
    account_id = uuid4()
    account = Account(id=account_id, tenant=tenant_id, address=f"{account_id}@estate.example", display_name="User")
    await load(server.worker, accounts=[account])
    return account
