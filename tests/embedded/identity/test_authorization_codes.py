# SPDX-License-Identifier: Apache-2.0
import asyncio
from base64 import b64encode
from datetime import timedelta
from urllib.parse import quote_plus

import pytest

from tests.embedded.identity.estate import ADA, API, CLI, OTHER_TENANT, SECRET, START, TENANT, IdentityServer
from tests.embedded.identity.sign_ins import (
    MAIL,
    OTHER_CLI,
    PORTAL,
    PORTAL_REDIRECT,
    REDIRECT,
    SCOPE,
    SIGNED_IN,
    VERIFIER,
    challenge_of,
    code_for,
    error_of,
    load_more_clients,
    new_account,
    part_of,
    redeem,
    refresh,
)

REFUSED = (400, "invalid_grant")


@pytest.fixture(autouse=True, scope="module")
async def more_clients(shared_server: IdentityServer) -> None:
    await load_more_clients(shared_server)


async def test_it_works(server: IdentityServer) -> None:
    answer = await redeem(server, await code_for(server, nonce="n-0S6_WzA2Mj"))

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    assert (body["scope"], body["expires_in"]) == (SCOPE, 3600)
    access, identity = part_of(body["access_token"], 1), part_of(body["id_token"], 1)
    assert (access["oid"], access["aud"], access["scp"]) == (str(ADA.id), API, "collab/App.ReadWrite.All")
    assert (identity["aud"], identity["sub"], identity["nonce"]) == (str(CLI), str(ADA.id), "n-0S6_WzA2Mj")
    assert identity["auth_time"] == int(SIGNED_IN.timestamp())
    assert (await refresh(server, body["refresh_token"])).status_code == 200


async def test_it_works_for_a_confidential_client(server: IdentityServer) -> None:
    at_portal = {"client_id": str(PORTAL), "redirect_uri": PORTAL_REDIRECT}
    code = await code_for(server, client_id=PORTAL, redirect_uri=PORTAL_REDIRECT, scope=MAIL)

    # Failed authentication does not use the code.
    without = await redeem(server, code, at_portal)
    wrong = await redeem(server, code, {**at_portal, "client_secret": "wrong"})
    right = await redeem(server, code, {**at_portal, "client_secret": SECRET})

    assert error_of(without) == error_of(wrong) == (401, "invalid_client")
    assert right.status_code == 200
    assert "id_token" not in right.json()


async def test_it_works_with_the_secret_in_the_header(server: IdentityServer) -> None:
    code = await code_for(server, client_id=PORTAL, redirect_uri=PORTAL_REDIRECT, scope=MAIL)
    header = "Basic " + b64encode(f"{PORTAL}:{quote_plus(SECRET)}".encode()).decode()
    asked = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": PORTAL_REDIRECT,
        "code_verifier": VERIFIER,
    }

    answer = await server.http.post(server.url("oauth2/v2.0/token"), data=asked, headers={"Authorization": header})

    assert answer.status_code == 200


async def test_reuse_of_a_code_revokes_its_tokens(server: IdentityServer) -> None:
    code = await code_for(server)
    first = (await redeem(server, code)).json()["refresh_token"]
    second = (await refresh(server, first)).json()["refresh_token"]

    again = await redeem(server, code)

    assert error_of(again) == REFUSED
    assert error_of(await refresh(server, second)) == REFUSED


async def test_reuse_is_detected_for_a_day(server: IdentityServer) -> None:
    code = await code_for(server)
    token = (await redeem(server, code)).json()["refresh_token"]
    server.clock.now = START + timedelta(hours=23)
    await code_for(server)

    again = await redeem(server, code)

    assert error_of(again) == REFUSED
    assert error_of(await refresh(server, token)) == REFUSED


async def test_concurrent_uses_of_a_code_revoke_its_tokens(server: IdentityServer) -> None:
    code = await code_for(server)

    answers = await asyncio.gather(*(redeem(server, code) for _ in range(8)))

    got = [answer.json() for answer in answers if answer.status_code == 200]
    assert len(got) == 1
    assert error_of(await refresh(server, got[0]["refresh_token"])) == REFUSED


@pytest.mark.parametrize(
    "parameters",
    [
        {"code_verifier": VERIFIER + "x"},
        {"code_verifier": VERIFIER.swapcase()},
        # A plain verifier would equal the challenge.
        {"code_verifier": challenge_of(VERIFIER)},
        {"code_verifier": challenge_of(VERIFIER), "code_challenge_method": "plain"},
        {"redirect_uri": "http://localhost:4712"},
        {"redirect_uri": f"{REDIRECT}/"},
        {"redirect_uri": PORTAL_REDIRECT},
        {"client_id": str(OTHER_CLI)},
        {"client_id": str(PORTAL), "client_secret": SECRET},
    ],
)
async def test_a_wrong_proof_invalidates_the_code(server: IdentityServer, parameters: dict[str, str]) -> None:
    code = await code_for(server)

    wrong = await redeem(server, code, parameters)
    right = await redeem(server, code)

    assert error_of(wrong) == REFUSED
    assert error_of(right) == REFUSED


@pytest.mark.parametrize(
    "parameters",
    [
        {"code_verifier": ""},
        {"code_verifier": "short"},
        {"code_verifier": VERIFIER + "\x00"},
        {"code_verifier": "a" * 129},
        {"redirect_uri": ""},
        {"code": ""},
    ],
)
async def test_it_rejects_a_malformed_proof(server: IdentityServer, parameters: dict[str, str]) -> None:
    code = await code_for(server)

    answer = await redeem(server, code, parameters)

    assert error_of(answer) == (400, "invalid_request")
    assert (await redeem(server, code)).status_code == 200


async def test_it_rejects_a_code_in_another_tenant(server: IdentityServer) -> None:
    code = await code_for(server)

    assert error_of(await redeem(server, code, tenant_id=OTHER_TENANT)) == REFUSED
    assert (await redeem(server, code)).status_code == 200


@pytest.mark.parametrize("code", ["nothing", "\x00", "'; --", "é" * 100])
async def test_it_rejects_an_unknown_code(server: IdentityServer, code: str) -> None:
    assert error_of(await redeem(server, code)) == REFUSED


async def test_it_rejects_an_expired_code(server: IdentityServer) -> None:
    code = await code_for(server)

    server.clock.now = START + timedelta(seconds=60)

    assert error_of(await redeem(server, code)) == REFUSED


async def test_it_rejects_a_code_for_another_grant(server: IdentityServer) -> None:
    code = await code_for(server)

    as_device = await server.ask(
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
            "client_id": str(CLI),
            "device_code": code,
        }
    )
    as_refresh = await refresh(server, code)

    assert error_of(as_device) == error_of(as_refresh) == REFUSED
    assert (await redeem(server, code)).status_code == 200


async def test_it_rejects_a_code_of_a_deleted_user(server: IdentityServer) -> None:
    gone = await new_account(server)
    code = await code_for(server, gone)
    token = (await redeem(server, await code_for(server, gone))).json()["refresh_token"]

    await server.worker.execute("DELETE FROM identity.accounts WHERE id = $1", gone.id)

    assert error_of(await redeem(server, code)) == REFUSED
    assert error_of(await refresh(server, token)) == REFUSED


async def test_codes_are_stored_as_digests(server: IdentityServer) -> None:
    code = await code_for(server)

    stored = await server.worker.fetchval(
        "SELECT string_agg(code::text, ' ') FROM identity.authorization_codes AS code"
    )

    assert code not in stored


async def test_expired_codes_are_deleted(server: IdentityServer) -> None:
    gone = await new_account(server)
    for _ in range(3):
        await code_for(server, gone)

    server.clock.now = START + timedelta(days=2)
    await code_for(server)

    count = "SELECT count(*) FROM identity.authorization_codes WHERE tenant_id = $1 AND account_id = $2"
    assert await server.worker.fetchval(count, TENANT, gone.id) == 0
