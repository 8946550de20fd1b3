# SPDX-License-Identifier: Apache-2.0
import asyncio
import json
import re
from base64 import urlsafe_b64decode
from datetime import timedelta

import pytest

from chamberlain.embedded.identity.device_authorization import MOST_WAITING, allow_device, deny_device, find_pending
from tests.embedded.identity.estate import ADA, API, CLI, OTHER_TENANT, SECRET, START, TENANT, ZOE, IdentityServer
from tests.embedded.identity.sign_ins import (
    COLLAB,
    MAIL,
    OTHER_CLI,
    PORTAL,
    SCOPE,
    SIGNED_IN,
    begin,
    error_of,
    load_more_clients,
    new_account,
    part_of,
    poll,
    sign_in,
)


@pytest.fixture(autouse=True, scope="module")
async def more_clients(shared_server: IdentityServer) -> None:
    await load_more_clients(shared_server)


async def test_it_works(server: IdentityServer) -> None:
    asked = await begin(server)
    codes = asked.json()
    waiting = await poll(server, codes["device_code"])
    pending = await find_pending(server.platform, codes["user_code"].lower())
    let_in = await allow_device(server.platform, codes["user_code"], ADA, SIGNED_IN)
    answer = await poll(server, codes["device_code"])

    assert asked.status_code == 200
    assert asked.headers["cache-control"] == "no-store"
    assert re.fullmatch(r"[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}", codes["user_code"])
    assert (codes["expires_in"], codes["interval"]) == (900, 5)
    assert codes["verification_uri"] == f"{server.base_url}/device"
    assert codes["user_code"] in codes["message"]
    assert codes["verification_uri_complete"] == f"{server.base_url}/device?user_code={codes['user_code']}"
    assert error_of(waiting) == (400, "authorization_pending")
    assert "retry-after" not in waiting.headers
    assert pending is not None
    assert (pending.tenant_id, pending.client_id, pending.client_name) == (TENANT, CLI, "chamberlain-cli")
    assert pending.scopes == tuple(SCOPE.split())
    assert let_in
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    assert set(body) == {
        "token_type",
        "scope",
        "expires_in",
        "access_token",
        "refresh_token",
        "id_token",
        "client_info",
    }
    assert (body["token_type"], body["expires_in"], body["scope"]) == ("Bearer", 3600, SCOPE)
    assert json.loads(urlsafe_b64decode(body["client_info"] + "==")) == {"uid": str(ADA.id), "utid": str(TENANT)}


async def test_the_access_token_is_for_the_user(server: IdentityServer) -> None:
    token = (await sign_in(server))["access_token"]

    claims = part_of(token, 1)
    assert part_of(token, 0)["typ"] == "at+jwt"
    assert (claims["oid"], claims["azp"], claims["idtyp"]) == (str(ADA.id), str(CLI), "user")
    assert (claims["aud"], claims["scp"]) == (API, "collab/App.ReadWrite.All")
    assert "roles" not in claims


async def test_the_id_token_identifies_the_user(server: IdentityServer) -> None:
    token = (await sign_in(server))["id_token"]

    assert part_of(token, 0)["typ"] == "JWT"
    assert part_of(token, 1) == {
        "iss": f"{server.base_url}/{TENANT}/v2.0",
        "tid": str(TENANT),
        "aud": str(CLI),
        "oid": str(ADA.id),
        "sub": str(ADA.id),
        "idtyp": "user",
        "preferred_username": ADA.address,
        "name": ADA.display_name,
        "email": ADA.address,
        "auth_time": int(SIGNED_IN.timestamp()),
        "ver": "2.0",
        "iat": int(START.timestamp()),
        "exp": int((START + timedelta(minutes=60)).timestamp()),
    }


async def test_it_grants_the_requested_scopes_only(server: IdentityServer) -> None:
    plain = await sign_in(server, parameters={"scope": COLLAB})
    everything = await sign_in(server, parameters={"scope": f"{API}/.default openid"})
    openid_only = await sign_in(server, parameters={"scope": "openid"})

    assert set(plain) == {"token_type", "scope", "expires_in", "access_token", "client_info"}
    assert everything["scope"] == f"{COLLAB} {MAIL} {API}/.default openid"
    assert "refresh_token" not in everything
    assert openid_only["scope"] == "openid"
    # Libraries require an access token; this one is for no resource.
    assert part_of(openid_only["access_token"], 1)["aud"] == f"{server.base_url}/{TENANT}"


async def test_it_works_for_a_confidential_client(server: IdentityServer) -> None:
    as_portal = {"client_id": str(PORTAL), "client_secret": SECRET, "scope": MAIL}
    codes = (await begin(server, as_portal)).json()
    await allow_device(server.platform, codes["user_code"], ADA, SIGNED_IN)

    without = await poll(server, codes["device_code"], {"client_id": str(PORTAL)})
    wrong = await poll(server, codes["device_code"], {**as_portal, "client_secret": "wrong"})
    right = await poll(server, codes["device_code"], as_portal)

    assert error_of(without) == error_of(wrong) == (401, "invalid_client")
    assert right.status_code == 200


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"client_id": ""}, (401, "invalid_client")),
        ({"client_id": "chamberlain-cli"}, (401, "invalid_client")),
        ({"client_id": f"{CLI}\x00"}, (401, "invalid_client")),
        ({"client_id": str(PORTAL)}, (401, "invalid_client")),
        ({"client_id": str(PORTAL), "client_secret": "wrong"}, (401, "invalid_client")),
        ({"client_secret": "anything"}, (400, "unauthorized_client")),
        ({"scope": ""}, (400, "invalid_scope")),
        ({"scope": " "}, (400, "invalid_scope")),
        ({"scope": "collab/App.ReadWrite.All"}, (400, "invalid_scope")),
        ({"scope": f"{API}/admin/Config.ReadWrite.All"}, (400, "invalid_scope")),
        ({"scope": f"{COLLAB} https://graph.estate.example/Group.Read.All"}, (400, "invalid_scope")),
        ({"scope": f"{COLLAB}\nopenid"}, (400, "invalid_scope")),
        ({"scope": f"{COLLAB} openid\x00"}, (400, "invalid_scope")),
        ({"scope": f"{COLLAB}\u00a0openid"}, (400, "invalid_scope")),
        ({"scope": "openid " * 1000}, (400, "invalid_scope")),
    ],
)
async def test_it_rejects_other_requests(
    server: IdentityServer, parameters: dict[str, str], error: tuple[int, str]
) -> None:
    assert error_of(await begin(server, parameters)) == error


async def test_it_rejects_a_repeated_parameter(server: IdentityServer) -> None:
    content = f"client_id={CLI}&scope=openid&client_id={OTHER_CLI}".encode()
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    answer = await server.http.post(server.url("oauth2/v2.0/devicecode"), content=content, headers=form)

    assert error_of(answer) == (400, "invalid_request")


async def test_it_rejects_a_used_code(server: IdentityServer) -> None:
    codes = (await begin(server)).json()
    await allow_device(server.platform, codes["user_code"], ADA, SIGNED_IN)
    first = await poll(server, codes["device_code"])

    again = await poll(server, codes["device_code"])

    assert first.status_code == 200
    assert error_of(again) == (400, "invalid_grant")
    assert not await allow_device(server.platform, codes["user_code"], ADA, SIGNED_IN)
    assert await find_pending(server.platform, codes["user_code"]) is None


async def test_it_rejects_the_code_of_another_client_or_tenant(server: IdentityServer) -> None:
    codes = (await begin(server)).json()
    await allow_device(server.platform, codes["user_code"], ADA, SIGNED_IN)

    other_client = await poll(server, codes["device_code"], {"client_id": str(OTHER_CLI)})
    other_tenant = await poll(server, codes["device_code"], tenant_id=OTHER_TENANT)
    missing = await poll(server, "")
    invented = await poll(server, "nothing\x00")
    own = await poll(server, codes["device_code"])

    assert error_of(other_client) == error_of(other_tenant) == error_of(invented) == (400, "invalid_grant")
    assert error_of(missing) == (400, "invalid_request")
    assert own.status_code == 200


async def test_a_user_of_another_tenant_cannot_decide(server: IdentityServer) -> None:
    codes = (await begin(server)).json()

    assert not await allow_device(server.platform, codes["user_code"], ZOE, SIGNED_IN)
    assert not await deny_device(server.platform, codes["user_code"], ZOE)

    assert error_of(await poll(server, codes["device_code"])) == (400, "authorization_pending")


async def test_it_handles_a_denied_device(server: IdentityServer) -> None:
    codes = (await begin(server)).json()

    assert await deny_device(server.platform, codes["user_code"], ADA)

    assert error_of(await poll(server, codes["device_code"])) == (400, "access_denied")
    assert not await allow_device(server.platform, codes["user_code"], ADA, SIGNED_IN)


async def test_it_handles_expired_codes(server: IdentityServer) -> None:
    in_time, too_late = (await begin(server)).json(), (await begin(server)).json()
    await allow_device(server.platform, in_time["user_code"], ADA, SIGNED_IN)

    server.clock.now = START + timedelta(seconds=900)

    assert await find_pending(server.platform, too_late["user_code"]) is None
    assert not await allow_device(server.platform, too_late["user_code"], ADA, SIGNED_IN)
    assert not await deny_device(server.platform, too_late["user_code"], ADA)
    assert error_of(await poll(server, too_late["device_code"])) == (400, "expired_token")
    assert error_of(await poll(server, in_time["device_code"])) == (400, "expired_token")


async def test_polling_too_often_gets_slow_down(server: IdentityServer) -> None:
    device_code = (await begin(server)).json()["device_code"]
    errors = []
    # Two polls in time for 5 seconds, two too early, one in time for the longer interval, one too early.
    for seconds in (0, 4.5, 5, 6, 26, 27):
        server.clock.now = START + timedelta(seconds=seconds)
        errors.append(error_of(await poll(server, device_code))[1])

    pending, slow_down = "authorization_pending", "slow_down"
    assert errors == [pending, pending, slow_down, slow_down, pending, slow_down]


async def test_a_device_that_polls_too_often_gets_its_tokens(server: IdentityServer) -> None:
    codes = (await begin(server)).json()
    await poll(server, codes["device_code"])
    await allow_device(server.platform, codes["user_code"], ADA, SIGNED_IN)

    assert (await poll(server, codes["device_code"])).status_code == 200


async def test_one_of_concurrent_polls_gets_tokens(server: IdentityServer) -> None:
    codes = (await begin(server)).json()
    await allow_device(server.platform, codes["user_code"], ADA, SIGNED_IN)

    answers = await asyncio.gather(*(poll(server, codes["device_code"]) for _ in range(8)))

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 7


async def test_one_of_concurrent_decisions_succeeds(server: IdentityServer) -> None:
    code = (await begin(server)).json()["user_code"]
    other = await new_account(server)

    decided = await asyncio.gather(
        allow_device(server.platform, code, ADA, SIGNED_IN),
        deny_device(server.platform, code, ADA),
        allow_device(server.platform, code, other, SIGNED_IN),
        deny_device(server.platform, code, other),
    )

    assert decided.count(True) == 1


async def test_it_rejects_the_code_of_a_deleted_user(server: IdentityServer) -> None:
    other = await new_account(server)
    codes = (await begin(server)).json()
    await allow_device(server.platform, codes["user_code"], other, SIGNED_IN)

    await server.worker.execute("DELETE FROM identity.accounts WHERE id = $1", other.id)

    assert error_of(await poll(server, codes["device_code"])) == (400, "invalid_grant")


async def test_codes_are_stored_as_digests(server: IdentityServer) -> None:
    codes = (await begin(server)).json()

    stored = await server.worker.fetchval("SELECT string_agg(code::text, ' ') FROM identity.device_codes AS code")

    assert codes["device_code"] not in stored
    assert codes["user_code"].replace("-", "") not in stored


async def test_waiting_devices_are_limited_and_expired_ones_are_deleted(server: IdentityServer) -> None:
    await server.worker.execute(
        """
        INSERT INTO identity.device_codes
            (tenant_id, digest, user_code_digest, client_id, scope, interval_seconds, ends_at)
        SELECT $1, sha256(('device' || n)::bytea), sha256(('user' || n)::bytea), $2, 'openid', 5, $3
        FROM generate_series(1, $4) AS n
        """,
        OTHER_TENANT,
        CLI,
        START + timedelta(minutes=1),
        MOST_WAITING,
    )

    full = await begin(server, tenant_id=OTHER_TENANT)
    elsewhere = await begin(server)
    server.clock.now = START + timedelta(hours=2)
    for _ in range(11):
        assert (await begin(server, tenant_id=OTHER_TENANT)).status_code == 200

    kept = await server.worker.fetchval("SELECT count(*) FROM identity.device_codes WHERE tenant_id = $1", OTHER_TENANT)
    assert error_of(full) == (503, "temporarily_unavailable")
    assert elsewhere.status_code == 200
    assert kept == 11
