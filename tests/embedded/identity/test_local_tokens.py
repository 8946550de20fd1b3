# SPDX-License-Identifier: Apache-2.0
import json
from base64 import urlsafe_b64decode
from datetime import timedelta

import pytest
from starlette.requests import Request

from chamberlain.embedded.identity.errors import AccessDenied
from chamberlain.embedded.identity.identity_platform import LocalToken
from chamberlain.embedded.identity.local_tokens import LOCAL_HEADER, issue_local_token
from tests.embedded.identity.estate import (
    ADA,
    API,
    AUTOMATION,
    CLI,
    GRAPH,
    LOCAL_SECRET,
    OTHER_TENANT,
    START,
    TENANT,
    ZOE,
    IdentityServer,
)

COLLAB = f"{API}/collab/App.ReadWrite.All"
MAIL = f"{API}/mail/App.ReadWrite.All"


def claims_of(token: str) -> dict[str, object]:
    segment = token.split(".")[1]
    claims: dict[str, object] = json.loads(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
    return claims


async def test_it_works_for_a_user(server: IdentityServer) -> None:
    answer = await server.ask_locally({"user": "ada@estate.example", "scope": COLLAB})

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert set(answer.json()) == {"access_token", "expires_in"}
    assert claims_of(answer.json()["access_token"]) == {
        "iss": f"{server.base_url}/{TENANT}/v2.0",
        "tid": str(TENANT),
        "aud": API,
        "oid": str(ADA.id),
        "sub": str(ADA.id),
        "azp": str(CLI),
        "idtyp": "user",
        "scp": "collab/App.ReadWrite.All",
        "ver": "2.0",
        "iat": int(START.timestamp()),
        "nbf": int(START.timestamp()),
        "exp": int((START + timedelta(minutes=60)).timestamp()),
    }


async def test_it_works_for_a_client(server: IdentityServer) -> None:
    answer = await server.ask_locally({"client": "automation", "scope": f"{GRAPH}/.default"})

    claims = claims_of(answer.json()["access_token"])
    assert (claims["idtyp"], claims["sub"]) == ("app", str(AUTOMATION))
    assert claims["roles"] == ["Group.Read.All", "User.Read.All"]
    assert "scp" not in claims


async def test_it_works_with_a_form(server: IdentityServer) -> None:
    answer = await server.http.post(
        f"{server.base_url}/local/token",
        data={"user": "ADA@estate.example", "scope": f"{MAIL} {COLLAB}", "client": str(CLI), "tenant": str(TENANT)},
        headers={LOCAL_HEADER: LOCAL_SECRET},
    )

    assert claims_of(answer.json()["access_token"])["scp"] == "collab/App.ReadWrite.All mail/App.ReadWrite.All"


async def test_it_handles_the_default_scope(server: IdentityServer) -> None:
    answer = await server.ask_locally({"user": "ada@estate.example", "scope": f"{API}/.default"})

    assert claims_of(answer.json()["access_token"])["scp"] == "collab/App.ReadWrite.All mail/App.ReadWrite.All"


async def test_it_handles_a_second_tenant(server: IdentityServer) -> None:
    answer = await server.ask_locally({"user": "zoe@other.example", "scope": COLLAB})

    claims = claims_of(answer.json()["access_token"])
    assert (claims["tid"], claims["oid"]) == (str(OTHER_TENANT), str(ZOE.id))
    assert claims["iss"] == f"{server.base_url}/{OTHER_TENANT}/v2.0"


async def test_each_token_is_recorded(server: IdentityServer) -> None:
    await server.ask_locally({"user": "ada@estate.example", "scope": COLLAB})
    await server.ask_locally({"client": str(AUTOMATION), "scope": f"{GRAPH}/.default"})
    await server.ask_locally({"user": "ada@estate.example", "scope": "https://other.example/x"})

    ends = START + timedelta(minutes=60)
    assert server.recorded == [
        LocalToken(TENANT, ADA.id, CLI, "Ada", API, ("collab/App.ReadWrite.All",), ends),
        LocalToken(TENANT, None, AUTOMATION, "automation", GRAPH, ("Group.Read.All", "User.Read.All"), ends),
    ]


@pytest.mark.parametrize("secret", ["", "wrong", LOCAL_SECRET + "x", LOCAL_SECRET[:-1]])
async def test_it_rejects_a_wrong_local_secret(server: IdentityServer, secret: str) -> None:
    answer = await server.ask_locally({"user": "ada@estate.example", "scope": COLLAB}, secret=secret)

    assert (answer.status_code, answer.json()["error"]) == (403, "access_denied")
    assert not server.recorded


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "localhost", "", None])
async def test_it_rejects_other_machines(server: IdentityServer, host: str | None) -> None:
    headers = [(LOCAL_HEADER.lower().encode(), LOCAL_SECRET.encode())]
    client = None if host is None else (host, 50000)
    request = Request({"type": "http", "method": "POST", "headers": headers, "client": client})

    with pytest.raises(AccessDenied):
        await issue_local_token(server.platform, request)


@pytest.mark.parametrize(
    ("body", "error", "mentioned"),
    [
        ({}, "invalid_request", "scope"),
        ([], "invalid_request", "scope"),
        ({"scope": COLLAB}, "invalid_request", "user"),
        ({"scope": COLLAB, "user": "a\x00b"}, "invalid_request", "user"),
        ({"scope": COLLAB, "user": "ada@estate.example", "uesr": "x"}, "invalid_request", "uesr"),
        ({"scope": COLLAB, "user": "nobody@estate.example"}, "invalid_request", "nobody@estate.example"),
        ({"scope": COLLAB, "user": "ada@estate.example", "tenant": str(OTHER_TENANT)}, "invalid_request", "ada@"),
        ({"scope": COLLAB, "user": "ada@estate.example", "client": "nothing"}, "invalid_request", "nothing"),
        ({"scope": COLLAB, "user": "ada@estate.example", "client": "automation"}, "invalid_scope", "automation"),
        ({"scope": COLLAB, "client": "chamberlain-cli"}, "invalid_request", str(OTHER_TENANT)),
        ({"scope": COLLAB, "client": "chamberlain-cli", "tenant": str(TENANT)}, "unauthorized_client", "user"),
        ({"scope": COLLAB, "client": "automation"}, "invalid_scope", f"{API}/.default"),
        ({"scope": f"{API}/admin/X", "user": "ada@estate.example"}, "invalid_scope", f"{COLLAB} or {MAIL}"),
        ({"scope": f"{COLLAB} openid", "user": "ada@estate.example"}, "invalid_scope", "openid"),
        (
            {"scope": f"{COLLAB} {GRAPH}/Group.Read.All", "user": "ada@estate.example"},
            "invalid_scope",
            f"{API}, {GRAPH}",
        ),
        ({"scope": " ", "user": "ada@estate.example"}, "invalid_scope", f"{API}, {GRAPH}"),
    ],
)
async def test_the_error_description_names_the_fault_or_the_remedy(
    server: IdentityServer, body: object, error: str, mentioned: str
) -> None:
    answer = await server.ask_locally(body)

    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert mentioned in answer.json()["error_description"]
    assert not server.recorded


async def test_it_rejects_malformed_json(server: IdentityServer) -> None:
    answer = await server.http.post(
        f"{server.base_url}/local/token", content=b"{", headers={LOCAL_HEADER: LOCAL_SECRET}
    )

    assert answer.json()["error"] == "invalid_request"
