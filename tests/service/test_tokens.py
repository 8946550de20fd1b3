# SPDX-License-Identifier: Apache-2.0
"""Trusted tokens, against the running service: each way to be untrusted has its test."""

import asyncio
import hashlib
import hmac
import json
import time
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

import httpx2
import pytest
from joserfc.jwk import RSAKey

from chamberlain.auth.models import Issuer as RegisteredIssuer
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import open_database
from chamberlain.tenants import records as tenant_records
from tests.auth.issuer import Issuer, encoded, make_key, run_issuer, sign
from tests.microsoft365.recorder import record
from tests.service.estate import ESTATE, NOBODY, OTHER_HOUSE
from tests.services import ADA, ADA_MAIL, API, COLLAB, GRAPH, GROUP_TEMPLATE, Service

KEY = make_key("outside")
BODY = {"displayName": "By token", "templateId": GROUP_TEMPLATE}


@dataclass(frozen=True, slots=True)
class TokenFixture:
    """The running service, and an issuer outside it that the operator has registered for the first tenant."""

    service: Service
    issuer: Issuer

    def claims(self, **changes: object) -> dict[str, object]:
        now = int(time.time())
        good = {
            "iss": self.issuer.address,
            "tid": ESTATE,
            "aud": API,
            "oid": ADA,
            "sub": ADA,
            "azp": "c11e0000-0000-4000-8000-000000000001",
            "scp": "collab/App.ReadWrite.All",
            "iat": now,
            "nbf": now,
            "exp": now + 600,
        }
        return {name: value for name, value in (good | changes).items() if value is not None}

    async def call(self, token: str | None) -> httpx2.Response:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(timeout=30) as client:
            return await client.post(self.service.groups_url, json=BODY, headers=headers)


@pytest.fixture
async def token_fixture(service: Service) -> AsyncIterator[TokenFixture]:
    async with run_issuer() as issuer:
        issuer.keys.append(KEY)
        await register(service, issuer.address)
        yield TokenFixture(service, issuer)


async def test_it_works_with_a_token_of_a_registered_issuer(token_fixture: TokenFixture) -> None:
    answer = await token_fixture.call(sign(token_fixture.claims(), KEY))

    assert answer.status_code == 202, answer.text
    assert answer.json()["tenantId"] == ESTATE


async def test_it_rejects_a_call_without_a_token(token_fixture: TokenFixture) -> None:
    answer = await token_fixture.call(None)

    refused(answer, "tokenMissing")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_it_rejects_an_expired_token(token_fixture: TokenFixture) -> None:
    # The leeway is a minute.
    refused(await token_fixture.call(sign(token_fixture.claims(exp=int(time.time()) - 61), KEY)), "tokenExpired")


async def test_it_rejects_a_token_of_an_issuer_that_nobody_registered(token_fixture: TokenFixture) -> None:
    async with run_issuer() as foreign:
        foreign.keys.append(KEY)

        refused(await token_fixture.call(sign(token_fixture.claims(iss=foreign.address), KEY)), "tokenInvalid")
        assert foreign.fetches == 0


async def test_it_rejects_a_token_for_the_directory(token_fixture: TokenFixture) -> None:
    token = await asyncio.to_thread(token_fixture.service.token, ADA_MAIL, f"{GRAPH}/Group.Read.All")

    refused(await token_fixture.call(token), "audienceUnknown")


async def test_it_rejects_a_token_for_another_service(token_fixture: TokenFixture) -> None:
    refused(
        await token_fixture.call(sign(token_fixture.claims(aud="https://api.elsewhere.example"), KEY)),
        "audienceUnknown",
    )


@pytest.mark.parametrize("tid", [OTHER_HOUSE, NOBODY, None])
async def test_it_rejects_a_token_of_a_tenant_that_the_issuer_does_not_speak_for(
    token_fixture: TokenFixture, tid: str | None
) -> None:
    refused(await token_fixture.call(sign(token_fixture.claims(tid=tid), KEY)), "tokenInvalid")


async def test_it_rejects_the_embedded_platform_speaking_for_another_tenant_than_its_issuer(
    token_fixture: TokenFixture,
) -> None:
    header, claims, signature = (await asyncio.to_thread(token_fixture.service.token, ADA_MAIL, COLLAB)).split(".")
    changed = encoded(json.dumps(opened(claims) | {"tid": OTHER_HOUSE}).encode()).decode()

    refused(await token_fixture.call(f"{header}.{changed}.{signature}"), "tokenInvalid")


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE"])
@pytest.mark.parametrize("signed", [False, True])
async def test_it_rejects_a_token_that_says_it_needs_no_signature(
    token_fixture: TokenFixture,
    algorithm: str,
    signed: bool,  # noqa: FBT001 - a case of a table
) -> None:
    header, claims, signature = (await asyncio.to_thread(token_fixture.service.token, ADA_MAIL, COLLAB)).split(".")
    unsigned = encoded(json.dumps(opened(header) | {"alg": algorithm}).encode()).decode()

    refused(await token_fixture.call(f"{unsigned}.{claims}.{signature if signed else ''}"), "tokenInvalid")


@pytest.mark.parametrize("form", ["PEM", "DER", "n"])
async def test_it_rejects_a_token_that_takes_the_public_key_for_a_secret(
    token_fixture: TokenFixture, form: str
) -> None:
    header, claims, _ = (await asyncio.to_thread(token_fixture.service.token, ADA_MAIL, COLLAB)).split(".")
    public = await public_key(token_fixture.service, str(opened(header)["kid"]))
    secret = {"PEM": public.as_pem(private=False), "DER": public.as_der(private=False), "n": number(public)}[form]
    changed = b".".join((encoded(json.dumps(opened(header) | {"alg": "HS256"}).encode()), claims.encode()))
    signature = encoded(hmac.new(secret, changed, hashlib.sha256).digest())

    refused(await token_fixture.call(f"{changed.decode()}.{signature.decode()}"), "tokenInvalid")


async def test_it_rejects_a_token_that_was_changed(token_fixture: TokenFixture) -> None:
    header, claims, signature = (await asyncio.to_thread(token_fixture.service.token, ADA_MAIL, COLLAB)).split(".")
    changed = encoded(json.dumps(opened(claims) | {"scp": "admin/Config.ReadWrite.All"}).encode()).decode()

    refused(await token_fixture.call(f"{header}.{changed}.{signature}"), "tokenInvalid")


async def test_it_rejects_a_token_that_brings_its_own_key(token_fixture: TokenFixture) -> None:
    thief = make_key("outside")

    token = sign(
        token_fixture.claims(), thief, jwk=thief.as_dict(private=False), jku=f"{token_fixture.issuer.address}/thief"
    )

    refused(await token_fixture.call(token), "tokenInvalid")
    assert token_fixture.issuer.asked["/thief"] == 0


async def test_it_rejects_an_application(token_fixture: TokenFixture) -> None:
    token = await asyncio.to_thread(token_fixture.service.token, "automation", f"{API}/.default")

    answer = await token_fixture.call(token)

    assert (answer.status_code, answer.json()["code"]) == (403, "applicationNotSupported")


async def test_it_rejects_a_token_without_the_permission(token_fixture: TokenFixture) -> None:
    answer = await token_fixture.call(
        sign(token_fixture.claims(scp="mail/App.ReadWrite.All admin/Config.ReadWrite.All"), KEY)
    )

    assert (answer.status_code, answer.json()["code"]) == (403, "insufficientScope")
    assert answer.headers["www-authenticate"] == f'Bearer error="insufficient_scope", scope="{COLLAB}"'


async def test_it_says_so_when_an_issuer_cannot_be_asked(token_fixture: TokenFixture) -> None:
    token_fixture.issuer.answers["/.well-known/openid-configuration"] = lambda: (500, b"")

    answer = await token_fixture.call(sign(token_fixture.claims(), KEY))

    assert (answer.status_code, answer.json()["code"]) == (503, "issuerUnavailable")
    assert int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize("path", ["/requests/v1/0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10/", "/graph/v1.0/groups"])
async def test_it_rejects_nobody_everywhere(service: Service, path: str) -> None:
    async with httpx2.AsyncClient() as client:
        for headers in ({}, {"authorization": "Bearer x.y.z"}, {"authorization": "Basic YTpi"}):
            answer = record(await client.get(f"{service.url}{path}", headers=headers))

            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")


def refused(answer: httpx2.Response, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (401, code), answer.text
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def register(service: Service, address: str) -> None:
    """Register an organisation's own platform, as an operator does."""
    database = await open_database(service.embedded_addresses.worker, most=1, name="test")
    try:
        async with database.across_tenants() as tx:
            registered = RegisteredIssuer(tenant_id=TenantId(UUID(ESTATE)), issuer=address, tid=ESTATE, audiences={})
            await tenant_records.put_issuer(tx, registered)
    finally:
        await database.close()


def opened(part: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


async def public_key(service: Service, kid: str) -> RSAKey:
    """The key as the embedded platform publishes it."""
    async with httpx2.AsyncClient() as client:
        discovery = f"{service.url}/identity/{ESTATE}/v2.0/.well-known/openid-configuration"
        jwks = (
            (await client.get(discovery))
            .json()["jwks_uri"]
            .replace(f"https://localhost:{service.port + 1}", service.url)
        )
        keys = (await client.get(jwks)).json()["keys"]
    return RSAKey.import_key(next(key for key in keys if key["kid"] == kid))


def number(key: RSAKey) -> bytes:
    return str(key.as_dict(private=False)["n"]).encode()
