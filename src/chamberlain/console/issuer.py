# SPDX-License-Identifier: Apache-2.0
"""Sign-in at an OpenID issuer: authorization code with PKCE.

RFC 6749, 7636 and 9700, and OpenID Connect Core 1.0 define it. The issuer may be any one that a tenant has registered,
or the embedded identity platform.
"""

import asyncio
import base64
import hmac
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeVar
from urllib.parse import quote_plus, urlencode

import msgspec
from joserfc import jws
from joserfc.errors import JoseError

from chamberlain.auth.issuers import TIMEOUT_SECONDS, UNANSWERED, IssuerKeys, is_safe, issuers_client
from chamberlain.console.models import Tokens
from chamberlain.core.errors import Unavailable

_ALGORITHMS = ("RS256", "ES256")
# Tolerated clock skew, as for access tokens.
_LEEWAY = timedelta(seconds=60)
_CACHED_FOR = timedelta(minutes=5)
# Documents and tokens of well-known issuers have 2 to 20 KiB.
_LARGEST_ANSWER = 256 * 1024
# An issuer that does not name the life of a token gets asked often.
_USUAL_LIFE_SECONDS = 300
_LONGEST_LIFE_SECONDS = 86_400
# No life has more digits. Python refuses to read very long numbers.
_MOST_DIGITS = 18


class SignInFailed(Exception):
    """The issuer refused the sign-in, or its answer is not for it."""


@dataclass(frozen=True, slots=True)
class Provider:
    """An issuer, and the console as its client.

    A public client has no secret.
    """

    issuer: str
    client_id: str
    client_secret: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The state of a sign-in until the browser comes back."""

    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)

    @classmethod
    def new(cls) -> "Attempt":
        """Make new random values."""
        return cls(secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(32))

    @property
    def challenge(self) -> str:
        """Return the challenge of the verifier (RFC 7636, 4.2)."""
        return base64.urlsafe_b64encode(sha256(self.verifier.encode()).digest()).decode().rstrip("=")

    def is_state(self, state: str) -> bool:
        """Compare the state of an answer in constant time."""
        return hmac.compare_digest(self.state.encode(), state.encode("utf-8", "surrogatepass"))


class Metadata(msgspec.Struct, frozen=True):
    """The needed part of the discovery document of an issuer."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    end_session_endpoint: str | None = None
    # OpenID Connect Discovery 1.0, 3: the default of the specification.
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class _TokenAnswer(msgspec.Struct, frozen=True):
    access_token: str
    id_token: str = ""
    refresh_token: str = ""
    expires_in: int | str = _USUAL_LIFE_SECONDS


class _Header(msgspec.Struct, frozen=True):
    alg: str
    kid: str


class _Claims(msgspec.Struct, frozen=True):
    iss: str
    aud: str | tuple[str, ...]
    exp: float
    nonce: str
    azp: str | None = None


_Document = TypeVar("_Document", Metadata, _TokenAnswer, _Header, _Claims)


class Issuers:
    """Calls of issuers. `redirect_uri` is where browsers come back.

    `authority_pem` is trusted beside the authorities of the system. `timeout_seconds` is the timeout of a whole call.

    Every method raises Unavailable if the issuer does not answer.
    """

    def __init__(
        self,
        keys: IssuerKeys,
        now: Callable[[], datetime],
        *,
        authority_pem: str | None,
        redirect_uri: str,
        scopes: tuple[str, ...],
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._client = issuers_client(authority_pem)
        self._keys = keys
        self._now = now
        self._redirect_uri = redirect_uri
        self._timeout_seconds = timeout_seconds
        self._scope = " ".join(("openid", "profile", "offline_access", *scopes))
        self._metadata: dict[str, tuple[datetime, Metadata]] = {}

    async def close(self) -> None:
        """Close the HTTP client."""
        await self._client.aclose()

    async def authorization_url(self, provider: Provider, attempt: Attempt, login_hint: str) -> str:
        """Return the address where the user signs in."""
        metadata = await self.metadata(provider)
        query = {
            "client_id": provider.client_id,
            "response_type": "code",
            "redirect_uri": self._redirect_uri,
            "scope": self._scope,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
            "login_hint": login_hint,
        }
        return _with_query(metadata.authorization_endpoint, query)

    async def redeem(self, provider: Provider, attempt: Attempt, code: str, issuer: str | None) -> Tokens:
        """Redeem a code. `issuer` is the `iss` of the answer (RFC 9207).

        Raises SignInFailed.
        """
        metadata = await self.metadata(provider)
        if issuer != provider.issuer and (
            issuer is not None or metadata.authorization_response_iss_parameter_supported
        ):
            raise SignInFailed("the answer is of another issuer")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "code_verifier": attempt.verifier,
        }
        answer = await self._ask(provider, metadata, form)
        if answer is None:
            raise SignInFailed("the issuer refused the code")
        await self._check_id_token(provider, attempt, answer.id_token)
        return self._tokens(answer)

    async def renew(self, provider: Provider, tokens: Tokens) -> Tokens | None:
        """Get new tokens for a refresh token.

        Returns None if there is none, or the issuer has revoked it.
        """
        if not tokens.refresh:
            return None
        form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh}
        answer = await self._ask(provider, await self.metadata(provider), form)
        return None if answer is None else self._tokens(answer, tokens)

    async def sign_out_url(self, provider: Provider, tokens: Tokens, return_to: str) -> str | None:
        """Return the address that ends the session at the issuer.

        Returns None if the issuer has none (OpenID Connect RP-Initiated Logout 1.0).
        """
        end = (await self.metadata(provider)).end_session_endpoint
        if end is None:
            return None
        hint = {"id_token_hint": tokens.identity} if tokens.identity else {}
        query = {**hint, "client_id": provider.client_id, "post_logout_redirect_uri": return_to}
        return _with_query(end, query)

    async def metadata(self, provider: Provider) -> Metadata:
        """Return the discovery document of an issuer, cached for some minutes."""
        until, known = self._metadata.get(provider.issuer, (self._now(), None))
        if known is not None and self._now() < until:
            return known
        address = f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            status, body = await self._send("GET", address)
            found = _decode(body, Metadata)
        except (*UNANSWERED, ValueError) as error:
            raise _unavailable() from error
        # Otherwise one issuer could speak for another (OpenID Connect Discovery 1.0, 4.3).
        if status != 200 or found.issuer != provider.issuer or not all(map(is_safe, _endpoints(found))):
            raise _unavailable()
        self._metadata[provider.issuer] = (self._now() + _CACHED_FOR, found)
        return found

    async def _ask(self, provider: Provider, metadata: Metadata, form: Mapping[str, str]) -> _TokenAnswer | None:
        """Ask for tokens. Returns None if the issuer refuses."""
        sent, headers = dict(form), {"Content-Type": "application/x-www-form-urlencoded"}
        methods = metadata.token_endpoint_auth_methods_supported
        if provider.client_secret is None:
            sent["client_id"] = provider.client_id
        elif "client_secret_post" in methods:
            sent |= {"client_id": provider.client_id, "client_secret": provider.client_secret}
        else:
            # Both parts are form-encoded first (RFC 6749, 2.3.1).
            pair = f"{quote_plus(provider.client_id)}:{quote_plus(provider.client_secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        try:
            status, body = await self._send("POST", metadata.token_endpoint, urlencode(sent).encode(), headers)
        except UNANSWERED as error:
            raise _unavailable() from error
        # Every error of the client or the grant is a 4xx (RFC 6749, 5.2). Too many calls are none of them.
        if 400 <= status < 500 and status != 429:
            return None
        if status != 200:
            raise _unavailable()
        try:
            return _decode(body, _TokenAnswer)
        except ValueError as error:
            raise _unavailable() from error

    async def _send(
        self, method: str, address: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        # A compressed body could expand beyond the limit.
        sent = {"Accept": "application/json", "Accept-Encoding": "identity", **(headers or {})}
        body = bytearray()
        # The timeouts of the client start again with each byte.
        async with (
            asyncio.timeout(self._timeout_seconds),
            self._client.stream(method, address, content=content, headers=sent) as response,
        ):
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > _LARGEST_ANSWER:
                    raise _unavailable()
            return response.status_code, bytes(body)

    async def _check_id_token(self, provider: Provider, attempt: Attempt, token: str) -> None:
        """Check that an ID token is for this sign-in. Raises SignInFailed.

        OpenID Connect Core 1.0, 3.1.3.7, has the checks.
        """
        try:
            header = _decode(_segment(token, 0), _Header)
            if header.alg not in _ALGORITHMS:
                raise SignInFailed("the ID token has another algorithm")
            key = await self._keys.find(provider.issuer, header.kid, header.alg)
            if key is None:
                raise SignInFailed("the ID token is signed with an unknown key")
            payload = jws.deserialize_compact(token, key, algorithms=[header.alg]).payload
            claims = _decode(payload, _Claims)
        except (JoseError, ValueError, RecursionError) as error:
            raise SignInFailed("the ID token is invalid") from error
        audiences = (claims.aud,) if isinstance(claims.aud, str) else claims.aud
        is_ours = provider.client_id in audiences and claims.azp in (None, provider.client_id)
        if claims.iss != provider.issuer or not is_ours:
            raise SignInFailed("the ID token is for another client")
        if not hmac.compare_digest(claims.nonce.encode(), attempt.nonce.encode()):
            raise SignInFailed("the ID token is of another sign-in")
        if self._now().timestamp() >= claims.exp + _LEEWAY.total_seconds():
            raise SignInFailed("the ID token has expired")

    def _tokens(self, answer: _TokenAnswer, before: Tokens | None = None) -> Tokens:
        """Read new tokens. The issuer may leave out those that stay valid."""
        return Tokens(
            access=answer.access_token,
            refresh=answer.refresh_token or (before.refresh if before is not None else ""),
            identity=answer.id_token or (before.identity if before is not None else ""),
            until=self._now() + timedelta(seconds=_life_seconds(answer.expires_in)),
        )


def _life_seconds(written: int | str) -> int:
    text = str(written)
    life = int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else _USUAL_LIFE_SECONDS
    return min(life, _LONGEST_LIFE_SECONDS)


def _endpoints(metadata: Metadata) -> Iterator[str]:
    """Yield the addresses that get codes, tokens, secrets and browsers."""
    yield metadata.authorization_endpoint
    yield metadata.token_endpoint
    if metadata.end_session_endpoint is not None:
        yield metadata.end_session_endpoint


def _decode(content: bytes, document: type[_Document]) -> _Document:
    """Decode JSON of an issuer. Raises ValueError."""
    try:
        return msgspec.json.decode(content, type=document)
    except RecursionError as error:
        raise ValueError("the document is nested too deep") from error


def _with_query(address: str, query: Mapping[str, str]) -> str:
    sent = {name: value for name, value in query.items() if value}
    return f"{address}{'&' if '?' in address else '?'}{urlencode(sent)}"


def _segment(token: str, place: int) -> bytes:
    text = token.split(".")[place]
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _unavailable() -> Unavailable:
    return Unavailable(
        "issuerUnavailable", "The sign-in server of your organisation does not answer at present. Try again later."
    )
