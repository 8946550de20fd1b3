# SPDX-License-Identifier: Apache-2.0
"""Sign-in at any OpenID issuer: its answers count only for the sign-in that asked for them."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import RSAKey

from chamberlain.auth.issuers import IssuerKeys
from chamberlain.console.issuer import Attempt, Issuers, Provider, SignInFailed
from chamberlain.core.errors import Unavailable
from tests.auth.issuer import Issuer, encoded, make_key, run_issuer, sign
from tests.console.times import AT, Clock

BACK = "https://chamberlain.example.org/console/signed-in"
KEY, OTHER_KEY = make_key("main"), make_key("main")


@dataclass
class IssuerFixture:
    """An issuer with a token endpoint, and the console as its client."""

    issuer: Issuer
    issuers: Issuers
    clock: Clock
    attempt: Attempt = field(default_factory=Attempt.new)

    @property
    def provider(self) -> Provider:
        return Provider(self.issuer.address, "console", "s3cr:t")

    def publish(self, **metadata: object) -> None:
        address = self.issuer.address
        document = {
            **self.issuer.discovery,
            "authorization_endpoint": f"{address}/authorize?realm=house",
            "token_endpoint": f"{address}/token",
            "end_session_endpoint": f"{address}/logout",
            **metadata,
        }
        self.answer("/.well-known/openid-configuration", 200, document)

    def answer(self, path: str, status: int, body: Mapping[str, object]) -> None:
        self.issuer.answers[path] = lambda: (status, json.dumps(body).encode())

    # The values of claims and headers are of any type.
    def give_tokens(self, key: RSAKey = KEY, header: Mapping[str, Any] | None = None, **claims: object) -> None:
        good = {
            "iss": self.issuer.address,
            "aud": "console",
            "sub": "ada",
            "exp": AT.timestamp() + 300,
            "nonce": self.attempt.nonce,
        }
        token = sign({**good, **claims}, key, **(header or {}))
        body = {"access_token": "a", "id_token": token, "refresh_token": "r", "expires_in": 600}
        self.answer("/token", 200, body)


@pytest.fixture
async def fixture() -> AsyncIterator[IssuerFixture]:
    clock = Clock()
    async with run_issuer() as issuer:
        issuer.keys.append(KEY)
        keys = IssuerKeys(clock)
        issuers = Issuers(keys, clock, authority_pem=None, redirect_uri=BACK, scopes=("https://api/mail",))
        found = IssuerFixture(issuer, issuers, clock)
        found.publish()
        found.give_tokens()
        yield found
        await issuers.close()
        await keys.close()


async def test_it_works(fixture: IssuerFixture) -> None:
    tokens = await fixture.issuers.redeem(fixture.provider, fixture.attempt, "code", fixture.issuer.address)

    assert (tokens.access, tokens.refresh, tokens.until) == ("a", "r", AT + timedelta(seconds=600))
    assert fixture.issuer.asked["/token"] == 1
    # By default a client authenticates by Basic, with both parts encoded. The issuer records headers in lower case.
    sent = [each["authorization"] for each in fixture.issuer.headers if "authorization" in each]
    assert sent == [f"Basic {b64encode(b'console:s3cr%3At').decode()}".lower()]


async def test_the_browser_goes_to_the_issuer_with_state_nonce_and_challenge(fixture: IssuerFixture) -> None:
    url = urlsplit(await fixture.issuers.authorization_url(fixture.provider, fixture.attempt, "ada@green.example"))

    query = {name: value for name, (value,) in parse_qs(url.query).items()}
    assert (url.path, query["realm"], query["client_id"]) == ("/authorize", "house", "console")
    assert (query["redirect_uri"], query["login_hint"]) == (BACK, "ada@green.example")
    assert query["scope"] == "openid profile offline_access https://api/mail"
    assert (query["state"], query["nonce"]) == (fixture.attempt.state, fixture.attempt.nonce)
    assert (query["code_challenge"], query["code_challenge_method"]) == (fixture.attempt.challenge, "S256")
    assert fixture.attempt.verifier not in url.query


def test_the_challenge_is_that_of_the_standard() -> None:
    """RFC 7636, appendix B."""
    attempt = Attempt("", "", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")

    assert attempt.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@pytest.mark.parametrize(
    ("key", "header", "claims"),
    [
        pytest.param(KEY, {}, {"nonce": "of another sign-in"}, id="nonce"),
        pytest.param(KEY, {}, {"nonce": None}, id="no nonce"),
        pytest.param(KEY, {}, {"aud": "another client"}, id="audience"),
        pytest.param(KEY, {}, {"aud": ["console", "other"], "azp": "other"}, id="authorized party"),
        pytest.param(KEY, {}, {"iss": "https://evil.example"}, id="issuer"),
        pytest.param(KEY, {}, {"exp": AT.timestamp() - 61}, id="expired"),
        pytest.param(OTHER_KEY, {}, {}, id="signature"),
        pytest.param(KEY, {"kid": "unknown"}, {}, id="key"),
        pytest.param(KEY, {"alg": "none"}, {}, id="no algorithm"),
        pytest.param(KEY, {"alg": "HS256"}, {}, id="shared secret"),
    ],
)
async def test_an_id_token_of_another_sign_in_is_refused(
    fixture: IssuerFixture, key: RSAKey, header: Mapping[str, object], claims: Mapping[str, object]
) -> None:
    fixture.give_tokens(key, header, **claims)

    with pytest.raises(SignInFailed):
        await fixture.issuers.redeem(fixture.provider, fixture.attempt, "code", None)


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "é", "e30.e30.e30"])
async def test_an_unreadable_id_token_is_refused(fixture: IssuerFixture, token: str) -> None:
    fixture.answer("/token", 200, {"access_token": "a", "id_token": token})

    with pytest.raises(SignInFailed):
        await fixture.issuers.redeem(fixture.provider, fixture.attempt, "code", None)


async def test_an_answer_that_names_another_issuer_is_refused(fixture: IssuerFixture) -> None:
    with pytest.raises(SignInFailed):
        await fixture.issuers.redeem(fixture.provider, fixture.attempt, "code", "https://evil.example")

    assert fixture.issuer.asked["/token"] == 0


async def test_a_used_code_is_refused(fixture: IssuerFixture) -> None:
    fixture.answer("/token", 400, {"error": "invalid_grant"})

    with pytest.raises(SignInFailed):
        await fixture.issuers.redeem(fixture.provider, fixture.attempt, "code", None)


async def test_tokens_are_renewed_and_the_rest_is_kept(fixture: IssuerFixture) -> None:
    before = await fixture.issuers.redeem(fixture.provider, fixture.attempt, "code", None)
    fixture.answer("/token", 200, {"access_token": "b", "expires_in": "60"})

    after = await fixture.issuers.renew(fixture.provider, before)

    assert after is not None
    assert (after.access, after.refresh, after.identity) == ("b", "r", before.identity)
    assert after.until == AT + timedelta(seconds=60)


async def test_revoked_tokens_are_not_renewed_and_a_failing_issuer_is_unavailable(fixture: IssuerFixture) -> None:
    tokens = await fixture.issuers.redeem(fixture.provider, fixture.attempt, "code", None)

    fixture.answer("/token", 400, {"error": "invalid_grant"})
    assert await fixture.issuers.renew(fixture.provider, tokens) is None
    for status in (429, 500, 503):
        fixture.answer("/token", status, {})
        with pytest.raises(Unavailable):
            await fixture.issuers.renew(fixture.provider, tokens)


async def test_an_issuer_that_speaks_for_another_is_not_used(fixture: IssuerFixture) -> None:
    fixture.publish(issuer="https://evil.example")

    with pytest.raises(Unavailable):
        await fixture.issuers.metadata(fixture.provider)


async def test_the_session_at_the_issuer_ends_with_a_hint(fixture: IssuerFixture) -> None:
    tokens = await fixture.issuers.redeem(fixture.provider, fixture.attempt, "code", None)

    url = await fixture.issuers.sign_out_url(
        fixture.provider, tokens, "https://chamberlain.example.org/console/sign-in"
    )

    query = parse_qs(urlsplit(url or "").query)
    assert query["id_token_hint"] == [tokens.identity]
    assert query["post_logout_redirect_uri"] == ["https://chamberlain.example.org/console/sign-in"]
    fixture.publish(end_session_endpoint=None)
    fixture.clock.move(minutes=6)
    assert await fixture.issuers.sign_out_url(fixture.provider, tokens, "") is None


DEEP = b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}"


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token"])
@pytest.mark.parametrize("body", [b"", b"\xff", b"<html>", b"[]", b'{"access_token": 1}', DEEP], ids=range(6))
async def test_an_issuer_that_answers_garbage_is_unavailable(fixture: IssuerFixture, path: str, body: bytes) -> None:
    fixture.issuer.answers[path] = lambda: (200, body)

    with pytest.raises(Unavailable):
        await fixture.issuers.redeem(fixture.provider, fixture.attempt, "code", None)


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "end_session_endpoint"])
@pytest.mark.parametrize(
    "address", ["http://[", "javascript:alert(1)", "http://issuer.example/", "https://x:99999/", "/path", ""]
)
async def test_an_issuer_with_an_unsafe_address_is_unavailable(fixture: IssuerFixture, name: str, address: str) -> None:
    fixture.publish(**{name: address})

    with pytest.raises(Unavailable):
        await fixture.issuers.authorization_url(fixture.provider, fixture.attempt, "ada@green.example")


@pytest.mark.parametrize(("written", "seconds"), [("9" * 5000, 300), (10**18, 300), (10**12, 86_400), ("-1", 300)])
async def test_a_strange_life_of_a_token_is_bounded(fixture: IssuerFixture, written: object, seconds: int) -> None:
    before = await fixture.issuers.redeem(fixture.provider, fixture.attempt, "code", None)
    fixture.answer("/token", 200, {"access_token": "b", "expires_in": written})

    after = await fixture.issuers.renew(fixture.provider, before)

    assert after is not None
    assert after.until == AT + timedelta(seconds=seconds)


async def test_an_id_token_that_is_nested_too_deep_is_refused(fixture: IssuerFixture) -> None:
    token = ".".join(encoded(part).decode() for part in (DEEP, DEEP, b"x"))
    fixture.answer("/token", 200, {"access_token": "a", "id_token": token})

    with pytest.raises(SignInFailed):
        await fixture.issuers.redeem(fixture.provider, fixture.attempt, "code", None)


async def test_an_issuer_that_takes_too_long_in_all_is_unavailable(fixture: IssuerFixture) -> None:
    """The timeouts of the client alone start again with each byte."""
    keys = IssuerKeys(fixture.clock)
    issuers = Issuers(keys, fixture.clock, authority_pem=None, redirect_uri=BACK, scopes=(), timeout_seconds=0.05)
    fixture.issuer.hold = asyncio.Event()

    try:
        with pytest.raises(Unavailable):
            await issuers.metadata(fixture.provider)
    finally:
        fixture.issuer.hold.set()
        await issuers.close()
        await keys.close()
