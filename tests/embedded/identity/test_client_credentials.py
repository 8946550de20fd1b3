# SPDX-License-Identifier: Apache-2.0
import asyncio
import json
from base64 import b64encode, urlsafe_b64decode
from datetime import timedelta
from urllib.parse import quote_plus
from uuid import uuid4

import httpx2
import pytest

from chamberlain.auth.issuers import IssuerKeys
from chamberlain.auth.models import ActorType, Issuer
from chamberlain.auth.verifier import Verifier
from chamberlain.core.errors import Unauthenticated
from chamberlain.core.ids import TenantId
from chamberlain.embedded.identity import hashing
from chamberlain.embedded.identity.hashing import hash_secrets
from tests.embedded.identity.estate import (
    API,
    AUTOMATION,
    CLI,
    GRAPH,
    OTHER_TENANT,
    SECRET,
    START,
    TENANT,
    IdentityServer,
)

REQUEST = {"grant_type": "client_credentials", "scope": f"{API}/.default"}
IN_BODY = {"client_id": str(AUTOMATION), "client_secret": SECRET}


def part_of(token: str, place: int) -> dict[str, object]:
    segment = token.split(".")[place]
    part: dict[str, object] = json.loads(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
    return part


def basic(client_id: str, secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{quote_plus(client_id)}:{quote_plus(secret)}".encode()).decode()}


def error_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


async def test_it_works(server: IdentityServer) -> None:
    answer = await server.ask({**REQUEST, **IN_BODY})

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["pragma"] == "no-cache"
    body = answer.json()
    token = body.pop("access_token")
    assert body == {"token_type": "Bearer", "expires_in": 3600}
    assert part_of(token, 1) == {
        "iss": f"{server.base_url}/{TENANT}/v2.0",
        "tid": str(TENANT),
        "aud": API,
        "oid": str(AUTOMATION),
        "sub": str(AUTOMATION),
        "azp": str(AUTOMATION),
        "idtyp": "app",
        "roles": ["admin/Mail.Manage.ReadWrite.All"],
        "ver": "2.0",
        "iat": int(START.timestamp()),
        "nbf": int(START.timestamp()),
        "exp": int((START + timedelta(minutes=60)).timestamp()),
    }
    assert part_of(token, 0) == {
        "alg": "RS256",
        "typ": "at+jwt",
        "kid": (await server.http.get(server.url("discovery/v2.0/keys"))).json()["keys"][0]["kid"],
    }


async def test_it_works_with_the_secret_in_the_header(server: IdentityServer) -> None:
    url = server.url("oauth2/v2.0/token")

    alone = await server.http.post(url, data=REQUEST, headers=basic(str(AUTOMATION), SECRET))
    named = await server.http.post(
        url, data={**REQUEST, "client_id": str(AUTOMATION)}, headers=basic(str(AUTOMATION), SECRET)
    )

    assert (alone.status_code, named.status_code) == (200, 200)


async def test_the_product_accepts_its_tokens(server: IdentityServer) -> None:
    issuer = f"{server.base_url}/{TENANT}/v2.0"

    async def find_issuer(iss: str, tid: str | None) -> Issuer | None:
        known = (iss, tid) == (issuer, str(TENANT))
        return Issuer(TenantId(TENANT), iss, tid, {}) if known else None

    keys = IssuerKeys(server.clock, authority_pem=server.certificate.authority_pem)
    verifier = Verifier(frozenset({GRAPH}), find_issuer, keys, server.clock)
    token = (await server.ask({**REQUEST, **IN_BODY, "scope": f"{GRAPH}/.default"})).json()["access_token"]

    caller = await verifier.verify(f"Bearer {token}")

    assert caller.type is ActorType.APPLICATION
    assert caller.id == AUTOMATION
    assert caller.permissions == {f"{GRAPH}/Group.Read.All", f"{GRAPH}/User.Read.All"}
    server.clock.now = START + timedelta(minutes=61)
    with pytest.raises(Unauthenticated):
        await verifier.verify(f"Bearer {token}")
    await keys.close()


@pytest.mark.parametrize("secret", ["wrong", SECRET + " ", SECRET[:-1], "%"])
async def test_it_rejects_a_wrong_secret(server: IdentityServer, secret: str) -> None:
    in_body = await server.ask({**REQUEST, "client_id": str(AUTOMATION), "client_secret": secret})
    in_header = await server.http.post(
        server.url("oauth2/v2.0/token"), data=REQUEST, headers=basic(str(AUTOMATION), secret)
    )

    assert error_of(in_body) == error_of(in_header) == (401, "invalid_client")
    assert in_header.headers["www-authenticate"] == 'Basic realm="identity"'
    assert "www-authenticate" not in in_body.headers
    assert in_body.headers["cache-control"] == "no-store"


async def test_it_rejects_a_client_that_is_unknown_in_the_tenant(server: IdentityServer) -> None:
    elsewhere = await server.ask({**REQUEST, **IN_BODY}, OTHER_TENANT)
    nowhere = await server.ask({**REQUEST, "client_id": "nobody\x00", "client_secret": SECRET})

    assert error_of(elsewhere) == error_of(nowhere) == (401, "invalid_client")
    assert elsewhere.json() == nowhere.json()


async def test_it_rejects_a_public_client(server: IdentityServer) -> None:
    answer = await server.ask({**REQUEST, "client_id": str(CLI), "client_secret": "anything"})

    assert error_of(answer) == (400, "unauthorized_client")


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"grant_type": ""}, (400, "invalid_request")),
        ({"grant_type": "password"}, (400, "unsupported_grant_type")),
        ({"scope": ""}, (400, "invalid_scope")),
        ({"scope": API}, (400, "invalid_scope")),
        ({"scope": f"{API}/admin/Mail.Manage.ReadWrite.All"}, (400, "invalid_scope")),
        ({"scope": f"{API}/.default {GRAPH}/.default"}, (400, "invalid_scope")),
        ({"scope": "https://other.example/.default"}, (400, "invalid_scope")),
        ({"scope": "/.default"}, (400, "invalid_scope")),
        ({"client_id": ""}, (401, "invalid_client")),
        ({"client_secret": ""}, (401, "invalid_client")),
    ],
)
async def test_it_rejects_other_requests(
    server: IdentityServer, parameters: dict[str, str], error: tuple[int, str]
) -> None:
    answer = await server.ask({**REQUEST, **IN_BODY, **parameters})

    assert error_of(answer) == error


async def test_the_error_lists_the_allowed_scopes(server: IdentityServer) -> None:
    answer = await server.ask({**REQUEST, **IN_BODY, "scope": "https://other.example/.default"})

    description = answer.json()["error_description"]
    assert f"{API}/.default or {GRAPH}/.default" in description


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"{}", "application/json"),
        (b"grant_type=client_credentials", "text/plain"),
        (b"grant_type=client_credentials&grant_type=client_credentials", "application/x-www-form-urlencoded"),
        (b"grant_type=%FF", "application/x-www-form-urlencoded"),
        (b"\xff", "application/x-www-form-urlencoded"),
        (b"a=" + b"b" * 20_000, "application/x-www-form-urlencoded"),
        (b"&".join(b"a%d=1" % number for number in range(40)), "application/x-www-form-urlencoded"),
    ],
)
async def test_it_rejects_an_invalid_form(server: IdentityServer, content: bytes, kind: str) -> None:
    answer = await server.http.post(server.url("oauth2/v2.0/token"), content=content, headers={"Content-Type": kind})

    assert error_of(answer) == (400, "invalid_request")


@pytest.mark.parametrize("header", ["Basic", "Basic !", "Basic YWJj", "Bearer YTpi", "Basic gIA6"])
async def test_it_rejects_a_malformed_header(server: IdentityServer, header: str) -> None:
    answer = await server.http.post(server.url("oauth2/v2.0/token"), data=REQUEST, headers={"Authorization": header})

    assert error_of(answer) == (401, "invalid_client")


async def test_it_rejects_a_secret_in_both_places(server: IdentityServer) -> None:
    url, header = server.url("oauth2/v2.0/token"), basic(str(AUTOMATION), SECRET)

    twice = await server.http.post(url, data={**REQUEST, **IN_BODY}, headers=header)
    differing = await server.http.post(url, data={**REQUEST, "client_id": str(CLI)}, headers=header)

    assert error_of(twice) == error_of(differing) == (400, "invalid_request")


async def test_it_rejects_get(server: IdentityServer) -> None:
    assert (await server.http.get(server.url("oauth2/v2.0/token"))).status_code == 405


async def test_wrong_secrets_do_not_block_other_requests(server: IdentityServer) -> None:
    """Client secrets do not use the limited verification of passwords."""
    wrong = [server.ask({**REQUEST, "client_id": str(AUTOMATION), "client_secret": "wrong"}) for _ in range(150)]
    unknown = [server.ask({**REQUEST, "client_id": str(uuid4()), "client_secret": "wrong"}) for _ in range(50)]

    answers, right = await asyncio.gather(asyncio.gather(*wrong, *unknown), server.ask({**REQUEST, **IN_BODY}))

    assert {error_of(answer) for answer in answers} == {(401, "invalid_client")}
    assert right.status_code == 200


async def test_it_accepts_a_secret_with_a_hash_of_an_earlier_version(server: IdentityServer) -> None:
    (slow,) = (await hash_secrets({AUTOMATION: SECRET})).values()
    keep = "UPDATE identity.clients SET secret_hash = $2 WHERE id = $1"
    await server.worker.execute(keep, AUTOMATION, slow)

    right = await server.ask({**REQUEST, **IN_BODY})
    wrong = await server.ask({**REQUEST, **IN_BODY, "client_secret": "wrong"})

    await server.worker.execute(keep, AUTOMATION, hashing.hash_client_secret(SECRET))
    assert right.status_code == 200
    assert error_of(wrong) == (401, "invalid_client")
