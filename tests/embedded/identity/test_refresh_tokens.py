# SPDX-License-Identifier: Apache-2.0
import asyncio
from datetime import timedelta

import pytest

from chamberlain.embedded.identity.device_authorization import allow_device
from chamberlain.embedded.identity.load import set_passwords
from tests.embedded.identity.estate import API, GRAPH, OTHER_TENANT, SECRET, START, TENANT, IdentityServer
from tests.embedded.identity.sign_ins import (
    COLLAB,
    GROUPS,
    MAIL,
    OTHER_CLI,
    PORTAL,
    PORTAL_REDIRECT,
    SCOPE,
    SIGNED_IN,
    begin,
    code_for,
    error_of,
    load_more_clients,
    new_account,
    part_of,
    poll,
    redeem,
    refresh,
    sign_in,
)

REFUSED = (400, "invalid_grant")
# The end of the grace period for repetitions.
LATER = timedelta(seconds=10)


@pytest.fixture(autouse=True, scope="module")
async def more_clients(shared_server: IdentityServer) -> None:
    await load_more_clients(shared_server)


async def test_it_works(server: IdentityServer) -> None:
    first = (await redeem(server, await code_for(server, nonce="once"))).json()
    server.clock.now = START + timedelta(hours=2)

    answer = await refresh(server, first["refresh_token"])

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    assert body["scope"] == SCOPE
    assert body["client_info"] == first["client_info"]
    assert body["refresh_token"] != first["refresh_token"]
    claims = part_of(body["id_token"], 1)
    # OpenID Connect Core, 12.2: auth_time stays, nonce is omitted.
    assert claims["auth_time"] == int(SIGNED_IN.timestamp())
    assert "nonce" not in claims
    assert claims["iat"] == int((START + timedelta(hours=2)).timestamp())


async def test_it_grants_any_scope_of_the_client(server: IdentityServer) -> None:
    token = (await sign_in(server, parameters={"scope": f"{COLLAB} offline_access"}))["refresh_token"]

    groups = (await refresh(server, token, {"scope": f"{GROUPS} openid profile offline_access"})).json()
    everything = (await refresh(server, groups["refresh_token"], {"scope": f"{API}/.default"})).json()
    as_before = (await refresh(server, everything["refresh_token"])).json()

    assert part_of(groups["access_token"], 1)["aud"] == GRAPH
    assert groups["scope"] == f"{GROUPS} openid profile offline_access"
    assert everything["scope"] == f"{COLLAB} {MAIL} {API}/.default"
    assert as_before["scope"] == f"{COLLAB} offline_access"


async def test_reuse_of_a_token_revokes_its_family(server: IdentityServer) -> None:
    first = (await sign_in(server))["refresh_token"]
    second = (await refresh(server, first)).json()["refresh_token"]
    server.clock.now += LATER

    again = await refresh(server, first)

    assert error_of(again) == REFUSED
    assert error_of(await refresh(server, second)) == REFUSED


async def test_a_client_can_repeat_a_lost_response(server: IdentityServer) -> None:
    first = (await sign_in(server))["refresh_token"]
    lost = (await refresh(server, first)).json()["refresh_token"]
    server.clock.now += LATER - timedelta(seconds=1)

    again = await refresh(server, first)

    assert again.status_code == 200
    following = await refresh(server, again.json()["refresh_token"])
    assert following.status_code == 200
    # One of the two responses was used. Use of the other one is reuse.
    assert error_of(await refresh(server, lost)) == REFUSED
    assert error_of(await refresh(server, following.json()["refresh_token"])) == REFUSED


async def test_a_request_cannot_be_repeated_after_the_next_one(server: IdentityServer) -> None:
    first = (await sign_in(server))["refresh_token"]
    second = (await refresh(server, first)).json()["refresh_token"]
    third = (await refresh(server, second)).json()["refresh_token"]

    assert error_of(await refresh(server, first)) == REFUSED
    assert error_of(await refresh(server, third)) == REFUSED


async def test_concurrent_uses_give_one_generation(server: IdentityServer) -> None:
    first = (await sign_in(server))["refresh_token"]

    answers = await asyncio.gather(*(refresh(server, first) for _ in range(6)))

    assert [answer.status_code for answer in answers] == [200] * 6
    tokens = {answer.json()["refresh_token"] for answer in answers}
    assert len(tokens) == 6
    used = await asyncio.gather(*(refresh(server, token) for token in tokens))
    assert [answer.status_code for answer in used].count(200) == 1
    (gone_on,) = (answer.json()["refresh_token"] for answer in used if answer.status_code == 200)
    assert error_of(await refresh(server, gone_on)) == REFUSED


async def test_repetitions_are_limited(server: IdentityServer) -> None:
    first = (await sign_in(server))["refresh_token"]

    statuses = [(await refresh(server, first)).status_code for _ in range(9)]

    assert statuses == [200] * 8 + [400]


@pytest.mark.parametrize(
    "parameters", [{"client_id": str(OTHER_CLI)}, {"client_id": str(PORTAL), "client_secret": SECRET}]
)
async def test_it_rejects_the_token_of_another_client(server: IdentityServer, parameters: dict[str, str]) -> None:
    token = (await sign_in(server))["refresh_token"]

    assert error_of(await refresh(server, token, parameters)) == REFUSED
    assert (await refresh(server, token)).status_code == 200


async def test_it_rejects_a_token_in_another_tenant(server: IdentityServer) -> None:
    token = (await sign_in(server))["refresh_token"]

    assert error_of(await refresh(server, token, tenant_id=OTHER_TENANT)) == REFUSED
    assert (await refresh(server, token)).status_code == 200


async def test_it_rejects_a_client_without_its_secret(server: IdentityServer) -> None:
    at_portal = {"client_id": str(PORTAL), "client_secret": SECRET, "redirect_uri": PORTAL_REDIRECT}
    code = await code_for(server, client_id=PORTAL, redirect_uri=PORTAL_REDIRECT, scope=f"{MAIL} offline_access")
    token = (await redeem(server, code, at_portal)).json()["refresh_token"]

    without = await refresh(server, token, {"client_id": str(PORTAL)})
    wrong = await refresh(server, token, {"client_id": str(PORTAL), "client_secret": "wrong"})
    right = await refresh(server, token, {"client_id": str(PORTAL), "client_secret": SECRET})

    assert error_of(without) == error_of(wrong) == (401, "invalid_client")
    assert right.status_code == 200


@pytest.mark.parametrize("scope", [f"{API}/admin/Config.ReadWrite.All", f"{COLLAB} {GROUPS}", f"openid\x00{COLLAB}"])
async def test_a_refused_scope_leaves_the_token_unused(server: IdentityServer, scope: str) -> None:
    token = (await sign_in(server))["refresh_token"]

    assert error_of(await refresh(server, token, {"scope": scope})) == (400, "invalid_scope")
    server.clock.now += LATER
    assert (await refresh(server, token)).status_code == 200


@pytest.mark.parametrize("token", ["nothing", "%", "\x00", "A" * 64, "A" * 63 + "=", "é" * 64, "-_" * 32])
async def test_it_rejects_a_malformed_token(server: IdentityServer, token: str) -> None:
    assert error_of(await refresh(server, token)) == REFUSED


async def test_it_rejects_an_access_token_or_an_id_token_in_its_place(server: IdentityServer) -> None:
    tokens = await sign_in(server)

    assert error_of(await refresh(server, tokens["access_token"])) == REFUSED
    assert error_of(await refresh(server, tokens["id_token"])) == REFUSED


async def test_an_unused_token_expires_after_fourteen_days(server: IdentityServer) -> None:
    token = (await sign_in(server))["refresh_token"]

    server.clock.now = START + timedelta(days=14)

    assert error_of(await refresh(server, token)) == REFUSED


async def test_a_family_expires_after_ninety_days_in_use(server: IdentityServer) -> None:
    token = (await sign_in(server))["refresh_token"]
    for day in range(13, 90, 13):
        server.clock.now = START + timedelta(days=day)
        answer = await refresh(server, token)
        assert answer.status_code == 200
        token = answer.json()["refresh_token"]
    server.clock.now = START + timedelta(days=90) - timedelta(seconds=1)
    token = (await refresh(server, token)).json()["refresh_token"]

    server.clock.now = START + timedelta(days=90)

    assert error_of(await refresh(server, token)) == REFUSED


async def test_a_new_password_revokes_tokens(server: IdentityServer) -> None:
    account = await new_account(server)
    token = (await sign_in(server, account))["refresh_token"]

    await set_passwords(server.worker, [account], {account.address: "another password"})

    assert error_of(await refresh(server, token)) == REFUSED


async def test_a_new_password_revokes_codes(server: IdentityServer) -> None:
    account = await new_account(server)
    code, codes = await code_for(server, account), (await begin(server)).json()
    assert await allow_device(server.platform, codes["user_code"], account, SIGNED_IN)

    await set_passwords(server.worker, [account], {account.address: "another password"})

    assert error_of(await redeem(server, code)) == REFUSED
    assert error_of(await poll(server, codes["device_code"])) == REFUSED


async def test_tokens_are_stored_as_digests(server: IdentityServer) -> None:
    token = (await sign_in(server))["refresh_token"]

    stored = await server.worker.fetchval("SELECT string_agg(token::text, ' ') FROM identity.refresh_tokens AS token")

    assert token not in stored


async def test_expired_families_are_deleted(server: IdentityServer) -> None:
    gone = await new_account(server)
    await sign_in(server, gone)
    await sign_in(server, gone)

    server.clock.now = START + timedelta(days=15)
    await sign_in(server)

    count = "SELECT count(*) FROM identity.refresh_tokens WHERE tenant_id = $1 AND account_id = $2"
    assert await server.worker.fetchval(count, TENANT, gone.id) == 0


async def test_a_removed_permission_is_not_granted(server: IdentityServer) -> None:
    token = (await sign_in(server, parameters={"client_id": str(OTHER_CLI)}))["refresh_token"]
    try:
        await server.worker.execute("DELETE FROM identity.permissions WHERE client_id = $1", OTHER_CLI)

        refused = await refresh(server, token, {"client_id": str(OTHER_CLI)})
    finally:
        await load_more_clients(server)

    assert error_of(refused) == (400, "invalid_scope")
    assert (await refresh(server, token, {"client_id": str(OTHER_CLI)})).status_code == 200


async def test_deleting_a_client_deletes_its_tokens(server: IdentityServer) -> None:
    token = (await sign_in(server, parameters={"client_id": str(OTHER_CLI)}))["refresh_token"]
    try:
        await server.worker.execute("DELETE FROM identity.clients WHERE id = $1", OTHER_CLI)

        gone = await refresh(server, token, {"client_id": str(OTHER_CLI)})
    finally:
        await load_more_clients(server)

    assert error_of(gone) == (401, "invalid_client")
    assert error_of(await refresh(server, token, {"client_id": str(OTHER_CLI)})) == REFUSED
