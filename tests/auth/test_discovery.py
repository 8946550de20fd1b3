# SPDX-License-Identifier: Apache-2.0
"""The documents of an issuer: how they are asked for, from where, and how long they may be."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from joserfc.jwk import ECKey, OctKey, RSAKey

from chamberlain.auth.issuers import UNANSWERED, IssuerKeys, UnusableAnswer, ask_issuer, issuers_client
from chamberlain.core.errors import Unavailable
from chamberlain.embedded.identity.certificates import make_server_certificate
from tests.auth.issuer import Issuer, encoded, make_key, run_issuer
from tests.resetting_server import resetting_server

KEY = make_key("first")
DISCOVERY = "/.well-known/openid-configuration"


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with run_issuer() as issuer:
        issuer.keys = [KEY]
        yield issuer


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    async with issuers_client(None) as client:
        yield client


async def test_it_works(client: httpx2.AsyncClient, issuer: Issuer) -> None:
    published = await ask_issuer(client, issuer.address)

    assert [*published.keys] == [("first", "RS256")]
    assert published.at is None
    assert issuer.asked == {DISCOVERY: 1, "/keys": 1}


async def test_each_document_is_asked_for_as_plain_json_on_a_connection_of_its_own(
    client: httpx2.AsyncClient, issuer: Issuer
) -> None:
    await ask_issuer(client, issuer.address)

    assert issuer.connections == len(issuer.headers) == 2
    for headers in issuer.headers:
        assert headers["accept"] == "application/json"
        # An answer that unpacks to far more than it weighs would pass the limit.
        assert headers["accept-encoding"] == "identity"


async def test_a_reset_connection_is_an_issuer_that_does_not_answer(client: httpx2.AsyncClient) -> None:
    # A reset meets the moment after the connection in about one of 200 attempts.
    attempts = 500
    answers: list[object] = []
    with resetting_server(attempts) as port:
        for _ in range(attempts):
            answers += await asyncio.gather(ask_issuer(client, f"http://127.0.0.1:{port}"), return_exceptions=True)

    assert [each for each in answers if not isinstance(each, UNANSWERED)] == []


async def test_an_authority_of_its_own_is_trusted_where_it_is_given(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    certificate = make_server_certificate(tmp_path, datetime.now(UTC))
    async with run_issuer(certificate.context) as issuer, issuers_client(certificate.authority_pem) as trusting:
        issuer.keys = [KEY]

        assert (await ask_issuer(trusting, issuer.address)).keys
        with pytest.raises(httpx2.ConnectError):
            await ask_issuer(client, issuer.address)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
async def test_this_machine_may_be_asked_without_https(client: httpx2.AsyncClient, host: str) -> None:
    # It is asked, and does not answer.
    with pytest.raises(httpx2.ConnectError):
        await ask_issuer(client, f"http://{host}:1")


@pytest.mark.parametrize("address", ["http://127.0.0.1:65536", "https://127.0.0.1:keys", "http://127.0.0.2"])
async def test_an_address_that_proves_nothing_is_not_asked(client: httpx2.AsyncClient, address: str) -> None:
    with pytest.raises(UnusableAnswer):
        await ask_issuer(client, address)


@pytest.mark.parametrize("address", ["https://issuer\x01.example", f"https://\u00fc{'a' * 70}.example"])
async def test_an_address_that_is_no_url_is_one_that_does_not_answer(client: httpx2.AsyncClient, address: str) -> None:
    with pytest.raises(UNANSWERED) as refused:
        await ask_issuer(client, address)

    assert isinstance(refused.value, httpx2.InvalidURL)


async def test_an_issuer_that_takes_too_long_in_all_does_not_answer(issuer: Issuer) -> None:
    issuer.hold = asyncio.Event()
    keys = IssuerKeys(lambda: datetime.now(UTC), timeout_seconds=0.05)

    try:
        with pytest.raises(Unavailable) as refused:
            await keys.find(issuer.address, "first", "RS256")
    finally:
        issuer.hold.set()
        await keys.close()

    assert refused.value.code == "issuerUnavailable"


@pytest.mark.parametrize("path", [DISCOVERY, "/keys"])
async def test_an_answer_of_256_kib_is_read_and_a_longer_one_is_refused(
    client: httpx2.AsyncClient, issuer: Issuer, path: str
) -> None:
    usual = issuer.answer(path)[1]
    padded = usual + b" " * (256 * 1024 - len(usual))

    issuer.answers[path] = lambda: (200, padded + b" ")
    with pytest.raises(UnusableAnswer):
        await ask_issuer(client, issuer.address)

    issuer.answers[path] = lambda: (200, padded)
    assert (await ask_issuer(client, issuer.address)).keys


def short_modulus() -> str:
    """Of a key that can be broken; it is made without the library that warns of it."""
    modulus = generate_private_key(65537, 1024).public_key().public_numbers().n  # noqa: S505 - it must be refused
    return encoded(modulus.to_bytes(128, "big")).decode()


async def test_it_passes_over_keys_that_are_of_no_use(client: httpx2.AsyncClient, issuer: Issuer) -> None:
    public = KEY.as_dict(private=False)
    bare = {"kty": "RSA", "kid": "bare", "n": public["n"], "e": public["e"]}
    curve = ECKey.generate_key("P-256", {"kid": "curve"}).as_dict(private=False)
    useless: list[object] = [
        {**public, "kid": "for encryption", "use": "enc"},
        {**public, "kid": "of another algorithm", "alg": "RS512"},
        {**public, "kid": "to sign with", "key_ops": ["sign"], "use": "sig"},
        {**public, "kid": "without a list", "key_ops": "verify"},
        {**public, "kid": 7},
        {**public, "kid": "broken", "n": 7},
        {**public, "kid": "more broken", "n": "*" * 400},
        {**public, "kid": "short", "n": short_modulus()},
        {**public, "kid": "long", "n": "A" * 1367},
        {**curve, "kid": "of another curve", "crv": "P-384"},
        {**curve, "kid": "of another curve's algorithm", "alg": "ES384"},
        {**curve, "kid": "beside the curve", "x": curve["y"]},
        OctKey.generate_key(256, {"kid": "shared"}).as_dict(private=True),
        {"kty": "new", "kid": "unknown kind"},
        {},
    ]
    usable = [
        bare,
        {**bare, "kid": "said", "use": "sig", "alg": "RS256", "key_ops": ["sign", "verify"]},
        curve,
        {**curve, "kid": "curve too", "use": "sig", "alg": "ES256", "key_ops": ["verify"]},
    ]
    issuer.answers["/keys"] = lambda: (200, json.dumps({"keys": useless + usable}).encode())

    published = await ask_issuer(client, issuer.address)

    assert [*published.keys] == [("bare", "RS256"), ("said", "RS256"), ("curve", "ES256"), ("curve too", "ES256")]


async def test_it_never_holds_a_private_key(client: httpx2.AsyncClient, issuer: Issuer) -> None:
    private = KEY.as_dict(private=True)
    issuer.answers["/keys"] = lambda: (200, json.dumps({"keys": [private]}).encode())

    key = (await ask_issuer(client, issuer.address)).keys["first", "RS256"]

    assert isinstance(key, RSAKey)
    assert not key.is_private


@pytest.mark.parametrize("path", [DISCOVERY, "/keys"])
async def test_a_document_that_is_nested_too_deep_is_refused(
    client: httpx2.AsyncClient, issuer: Issuer, path: str
) -> None:
    body = b'{"keys":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    issuer.answers[path] = lambda: (200, body.replace(b"keys", b"other") if path == DISCOVERY else body)

    with pytest.raises(UnusableAnswer):
        await ask_issuer(client, issuer.address)
