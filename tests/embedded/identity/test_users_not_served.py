# SPDX-License-Identifier: Apache-2.0
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx2
import pytest
from starlette.applications import Starlette

from chamberlain.embedded.identity.server import routes
from tests.embedded.identity.estate import API, AUTOMATION, CLI, SECRET, TENANT, IdentityServer
from tests.embedded.identity.sign_ins import DEVICE_GRANT, REDIRECT, SCOPE, VERIFIER, code_for, error_of, sign_in

TOKEN = f"/identity/{TENANT}/oauth2/v2.0/token"


@pytest.fixture
async def client(server: IdentityServer) -> AsyncIterator[httpx2.AsyncClient]:
    """Client of the platform where other machines can reach it."""
    application = Starlette(routes=routes(replace(server.platform, serves_people=False)))
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=application), base_url="https://localhost:8366"
    ) as http:
        yield http


async def test_it_works_for_clients(client: httpx2.AsyncClient) -> None:
    asked = {
        "grant_type": "client_credentials",
        "client_id": str(AUTOMATION),
        "client_secret": SECRET,
        "scope": f"{API}/.default",
    }

    assert (await client.post(TOKEN, data=asked)).status_code == 200


async def test_it_rejects_devices(client: httpx2.AsyncClient) -> None:
    asked = {"client_id": str(CLI), "scope": SCOPE}

    answer = await client.post(f"/identity/{TENANT}/oauth2/v2.0/devicecode", data=asked)

    assert error_of(answer) == (403, "access_denied")


async def test_it_rejects_codes_and_tokens_of_earlier_sign_ins(
    server: IdentityServer, client: httpx2.AsyncClient
) -> None:
    tokens, code = await sign_in(server), await code_for(server)
    identification = {"client_id": str(CLI)}
    asked = [
        {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]},
        {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT, "code_verifier": VERIFIER},
        {"grant_type": DEVICE_GRANT, "device_code": "any"},
    ]

    answers = [await client.post(TOKEN, data={**each, **identification}) for each in asked]

    assert [error_of(answer) for answer in answers] == [(403, "access_denied")] * 3
