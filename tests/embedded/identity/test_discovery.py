# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from chamberlain.database.transactions import open_database
from chamberlain.embedded.identity.tokens import CLAIMS
from tests.databases import Databases
from tests.embedded.identity.estate import OTHER_TENANT, TENANT, IdentityServer, open_server

CONFIGURATION = "v2.0/.well-known/openid-configuration"


async def test_it_works(server: IdentityServer) -> None:
    answer = await server.http.get(server.url(CONFIGURATION))

    assert answer.status_code == 200
    assert answer.json() == {
        "issuer": f"{server.base_url}/{TENANT}/v2.0",
        "authorization_endpoint": f"{server.base_url}/{TENANT}/oauth2/v2.0/authorize",
        "token_endpoint": f"{server.base_url}/{TENANT}/oauth2/v2.0/token",
        "device_authorization_endpoint": f"{server.base_url}/{TENANT}/oauth2/v2.0/devicecode",
        "end_session_endpoint": f"{server.base_url}/{TENANT}/oauth2/v2.0/logout",
        "jwks_uri": f"{server.base_url}/{TENANT}/discovery/v2.0/keys",
        "scopes_supported": ["openid", "profile", "email", "offline_access"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query", "form_post"],
        "grant_types_supported": [
            "client_credentials",
            "authorization_code",
            "refresh_token",
            "urn:ietf:params:oauth:grant-type:device_code",
        ],
        "code_challenge_methods_supported": ["S256"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic", "none"],
        "claims_supported": list(CLAIMS),
        "prompt_values_supported": ["none", "login", "select_account", "consent"],
        "authorization_response_iss_parameter_supported": True,
        "request_uri_parameter_supported": False,
    }


async def test_all_endpoints_exist(server: IdentityServer) -> None:
    document = (await server.http.get(server.url(CONFIGURATION))).json()

    assert (await server.http.get(document["jwks_uri"])).status_code == 200
    assert (await server.http.post(document["token_endpoint"])).status_code == 400
    assert (await server.http.post(document["device_authorization_endpoint"])).status_code == 400
    # Pages: the first reports a missing parameter, the second shows that no user is signed in.
    assert (await server.http.get(document["authorization_endpoint"])).status_code == 400
    assert (await server.http.get(document["end_session_endpoint"])).status_code == 200


async def test_each_tenant_has_its_own_issuer(server: IdentityServer) -> None:
    document = (await server.http.get(server.url(CONFIGURATION, OTHER_TENANT))).json()

    assert document["issuer"] == f"{server.base_url}/{OTHER_TENANT}/v2.0"


async def test_keys_are_public_keys_only(server: IdentityServer) -> None:
    answer = await server.http.get(server.url("discovery/v2.0/keys"))

    (key,) = answer.json()["keys"]
    assert set(key) == {"kty", "kid", "use", "alg", "n", "e"}
    assert (key["kty"], key["use"], key["alg"]) == ("RSA", "sig", "RS256")


async def test_it_rejects_an_unknown_tenant(server: IdentityServer) -> None:
    for path in (CONFIGURATION, "discovery/v2.0/keys"):
        answer = await server.http.get(server.url(path, UUID(int=7)))

        assert answer.status_code == 404
        assert answer.json()["error"] == "invalid_tenant"


async def test_it_rejects_a_malformed_tenant_id(server: IdentityServer) -> None:
    assert (await server.http.get(f"{server.base_url}/common/{CONFIGURATION}")).status_code == 404


async def test_it_handles_an_id_in_capitals(server: IdentityServer) -> None:
    answer = await server.http.get(f"{server.base_url}/{str(TENANT).upper()}/{CONFIGURATION}")

    assert answer.json()["issuer"] == f"{server.base_url}/{TENANT}/v2.0"


async def test_it_handles_an_unreachable_database(databases: Databases, tmp_path: Path) -> None:
    away = await open_database("postgresql://nobody@127.0.0.1:1/nothing", most=1, name="test")
    async with open_server(replace(databases, application=away), tmp_path) as server:
        for path in (CONFIGURATION, "discovery/v2.0/keys"):
            answer = await server.http.get(server.url(path))

            assert (answer.status_code, answer.json()["error"]) == (503, "temporarily_unavailable")
            assert answer.headers["retry-after"] == "1"
    await away.close()
