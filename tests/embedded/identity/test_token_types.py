# SPDX-License-Identifier: Apache-2.0
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from chamberlain.auth.issuers import IssuerKeys
from chamberlain.auth.models import ActorType, Issuer
from chamberlain.auth.verifier import Verifier
from chamberlain.core.errors import Unauthenticated
from chamberlain.core.ids import TenantId
from chamberlain.embedded.identity.tokens import TokenType
from tests.embedded.identity.estate import ADA, API, CLI, GRAPH, TENANT, IdentityServer
from tests.embedded.identity.sign_ins import COLLAB, part_of, refresh, sign_in


@asynccontextmanager
async def product(server: IdentityServer, audiences: Mapping[str, str] | None = None) -> AsyncIterator[Verifier]:
    """The product's token verifier, which trusts the platform for one tenant."""
    issuer = f"{server.base_url}/{TENANT}/v2.0"

    async def find_issuer(iss: str, tid: str | None) -> Issuer | None:
        known = (iss, tid) == (issuer, str(TENANT))
        return Issuer(TenantId(TENANT), iss, tid, audiences or {}) if known else None

    keys = IssuerKeys(server.clock, authority_pem=server.certificate.authority_pem)
    yield Verifier(frozenset({API}), find_issuer, keys, server.clock)
    await keys.close()


async def test_it_works(server: IdentityServer) -> None:
    tokens = await sign_in(server)

    async with product(server) as verifier:
        caller = await verifier.verify(f"Bearer {tokens['access_token']}")

    assert (caller.type, caller.id, caller.client_id) == (ActorType.USER, ADA.id, str(CLI))
    assert caller.permissions == {COLLAB}


async def test_the_product_rejects_an_id_token(server: IdentityServer) -> None:
    token = (await sign_in(server))["id_token"]

    async with product(server) as verifier:
        with pytest.raises(Unauthenticated) as refusal:
            await verifier.verify(f"Bearer {token}")

    assert refusal.value.code == "audienceUnknown"


async def test_the_product_rejects_an_id_token_with_a_known_audience(server: IdentityServer) -> None:
    token = (await sign_in(server))["id_token"]

    async with product(server, {str(CLI): API}) as verifier:
        with pytest.raises(Unauthenticated):
            await verifier.verify(f"Bearer {token}")


async def test_the_product_rejects_a_token_without_permissions(server: IdentityServer) -> None:
    token = (await sign_in(server, parameters={"scope": "openid profile"}))["access_token"]

    async with product(server) as verifier:
        with pytest.raises(Unauthenticated):
            await verifier.verify(f"Bearer {token}")


async def test_the_product_rejects_a_token_for_another_resource(server: IdentityServer) -> None:
    token = (await refresh(server, (await sign_in(server))["refresh_token"], {"scope": f"{GRAPH}/.default"})).json()

    async with product(server) as verifier:
        with pytest.raises(Unauthenticated):
            await verifier.verify(f"Bearer {token['access_token']}")


async def test_the_product_rejects_a_refresh_token(server: IdentityServer) -> None:
    token = (await sign_in(server))["refresh_token"]

    async with product(server) as verifier:
        with pytest.raises(Unauthenticated):
            await verifier.verify(f"Bearer {token}")


async def test_clients_can_distinguish_the_token_types(server: IdentityServer) -> None:
    tokens = await sign_in(server)
    keys = KeySet.import_key_set((await server.http.get(server.url("discovery/v2.0/keys"))).json())

    identity = jwt.decode(tokens["id_token"], keys, algorithms=["RS256"])
    access = jwt.decode(tokens["access_token"], keys, algorithms=["RS256"])

    # OpenID Connect Core, 3.1.3.7: a client accepts only tokens for itself.
    assert identity.claims["aud"] == str(CLI)
    assert access.claims["aud"] != str(CLI)
    assert (identity.header["typ"], access.header["typ"]) == (TokenType.ID, TokenType.ACCESS)


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
async def test_the_product_rejects_a_forged_token(server: IdentityServer, algorithm: str) -> None:
    claims = part_of((await sign_in(server))["access_token"], 1)
    (key,) = (await server.http.get(server.url("discovery/v2.0/keys"))).json()["keys"]
    header = {"alg": algorithm, "typ": "at+jwt", "kid": key["kid"]}
    forged = ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (header, claims))

    async with product(server) as verifier:
        with pytest.raises(Unauthenticated):
            await verifier.verify(f"Bearer {forged}.")
