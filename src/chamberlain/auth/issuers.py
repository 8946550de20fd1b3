# SPDX-License-Identifier: Apache-2.0
"""Discover and cache the keys of issuers (OpenID Connect Discovery 1.0, 4)."""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec
import structlog
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey
from msgspec import Struct

from chamberlain.core.errors import Unavailable
from chamberlain.http_client import Transport

Key = RSAKey | ECKey

TIMEOUT_SECONDS = 5.0
# Documents of well-known issuers have 2 to 20 KiB.
_LARGEST_DOCUMENT = 256 * 1024
# RSA keys below 2048 bits are weak (NIST SP 800-131A), above 8192 they are slow; lengths in base64.
_RSA_MODULUS_LENGTHS = range(342, 1367)

# Errors of a call to an issuer. The client passes on OSError when file descriptors have run out; TimeoutError is one.
UNANSWERED = (httpx2.HTTPError, httpx2.InvalidURL, OSError)


class UnusableAnswer(Exception):
    """The answer of an issuer contains no usable keys."""


@dataclass(frozen=True, slots=True)
class Published:
    """Keys of an issuer by id and algorithm.

    `at` is the time by its own clock, if it sends one.
    """

    keys: Mapping[tuple[str, str], Key]
    at: datetime | None


def issuers_client(authority_pem: str | None) -> httpx2.AsyncClient:
    """Return the HTTP client for issuers.

    It trusts `authority_pem` beside the authorities of the system, and ignores proxies of the environment.
    """
    context = ssl.create_default_context()
    if authority_pem is not None:
        context.load_verify_locations(cadata=authority_pem)
    # No keep-alive: calls are hours apart, and an idle connection would delay the stop of the server.
    limits = httpx2.Limits(max_keepalive_connections=0)
    transport = Transport(verify=context, trust_env=False, limits=limits)
    return httpx2.AsyncClient(transport=transport, timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=False)


async def ask_issuer(client: httpx2.AsyncClient, issuer: str) -> Published:
    """Fetch the current keys of an issuer.

    Raises UnusableAnswer and the errors of UNANSWERED.
    """
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    discovery = _decode((await _get(client, address))[0], _Discovery)
    # Otherwise one issuer could speak for another (OpenID Connect Discovery 1.0, 4.3).
    if discovery.issuer != issuer:
        raise UnusableAnswer(f"the discovery document is of another issuer, {discovery.issuer!r}")
    body, at = await _get(client, discovery.jwks_uri)
    return Published(_usable_keys(_decode(body, _KeySet)), at)


async def _get(client: httpx2.AsyncClient, address: str) -> tuple[bytes, datetime | None]:
    if not is_safe(address):
        raise UnusableAnswer(f"{address!r} is no URL, or neither https nor on this machine")
    # A compressed body could expand beyond the limit.
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    body = bytearray()
    async with client.stream("GET", address, headers=headers) as response:
        if response.status_code != 200:
            raise UnusableAnswer(f"{address} answered {response.status_code}")
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > _LARGEST_DOCUMENT:
                raise UnusableAnswer(f"{address} answered more than {_LARGEST_DOCUMENT} bytes")
        return bytes(body), _time(response.headers.get("date"))


def _time(written: str | None) -> datetime | None:
    try:
        at = parsedate_to_datetime(written or "")
    except (ValueError, OverflowError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


class _Discovery(Struct, frozen=True):
    issuer: str
    jwks_uri: str


class _KeySet(Struct, frozen=True):
    keys: tuple[dict[str, object], ...]


_Document = TypeVar("_Document", _Discovery, _KeySet)


def _decode(body: bytes, document: type[_Document]) -> _Document:
    try:
        return msgspec.json.decode(body, type=document)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UnusableAnswer(f"a document cannot be read: {error}") from error


def is_safe(address: str) -> bool:
    """Return whether the connection protects the keys: https, or this machine."""
    try:
        parts = urlsplit(address)
        # The client fails in other ways with a port above 65535.
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in ("localhost", "127.0.0.1", "::1"))


def _usable_keys(key_set: _KeySet) -> Mapping[tuple[str, str], Key]:
    """Index the keys by id and algorithm.

    So each is used for its own algorithm only.
    """
    keys: dict[tuple[str, str], Key] = {}
    for values in key_set.keys:
        kid, key = values.get("kid"), _import_key(values)
        if isinstance(kid, str) and key is not None:
            keys[kid, "RS256" if isinstance(key, RSAKey) else "ES256"] = key
    return keys


def _import_key(values: Mapping[str, object]) -> Key | None:
    """Import a public signing key.

    Returns None for other keys of the set (RFC 7517, 5).
    """
    if values.get("use", "sig") != "sig" or "verify" not in _as_list(values.get("key_ops", ["verify"])):
        return None
    try:
        match values:
            case {"kty": "RSA", "n": str(n), "e": str(e)} if values.get("alg", "RS256") == "RS256":
                return RSAKey.import_key({"kty": "RSA", "n": n, "e": e}) if len(n) in _RSA_MODULUS_LENGTHS else None
            case {"kty": "EC", "crv": "P-256", "x": str(x), "y": str(y)} if values.get("alg", "ES256") == "ES256":
                return ECKey.import_key({"kty": "EC", "crv": "P-256", "x": x, "y": y})
    except (JoseError, ValueError):
        return None
    return None


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


# Attackers can invent key ids. The issuer must not be called for each of them.
_BETWEEN_REFRESHES = timedelta(seconds=30)
# Before the first answer, retries are cheap.
_BETWEEN_FIRST_ATTEMPTS = timedelta(seconds=1)
# A revoked key is trusted for an hour, and for a day if the issuer does not answer.
_REFRESH_AFTER = timedelta(hours=1)
_FORGET_AFTER = timedelta(hours=24)

_log = structlog.get_logger()


class IssuerKeys:
    """Find and cache the keys of issuers.

    Concurrent calls are deduplicated. `authority_pem` is trusted beside the authorities of the system. Proxies of the
    environment are not used. `timeout_seconds` is the timeout of both documents together.
    """

    def __init__(
        self,
        now: Callable[[], datetime],
        *,
        authority_pem: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._now = now
        self._timeout_seconds = timeout_seconds
        self._client = issuers_client(authority_pem)
        self._held: dict[str, _Held] = {}

    async def find(self, issuer: str, kid: str, algorithm: str) -> Key | None:
        """Find a key, or None.

        Raises Unavailable if the issuer does not answer.
        """
        held = self._held.setdefault(issuer, _Held())
        now = self._now()
        held.forget_if_too_old(now)
        key = held.keys.get((kid, algorithm))
        if key is None:
            await self._refreshed(issuer, held, now)
            key = held.keys.get((kid, algorithm))
            if key is None and held.failed:
                raise Unavailable(
                    "issuerUnavailable",
                    "The issuer of the token cannot be asked for its keys at present. Send the request again later.",
                )
        elif held.is_old(now):
            self._refresh(issuer, held, now)
        return key

    async def close(self) -> None:
        """Cancel running calls and close the client."""
        fetches = [held.fetch for held in self._held.values() if held.fetch is not None]
        for fetch in fetches:
            fetch.cancel()
        await asyncio.gather(*fetches, return_exceptions=True)
        await self._client.aclose()

    async def _refreshed(self, issuer: str, held: "_Held", now: datetime) -> None:
        fetch = self._refresh(issuer, held, now)
        if fetch is not None:
            # A cancelled caller must not cancel the call for the others.
            await asyncio.shield(fetch)

    def _refresh(self, issuer: str, held: "_Held", now: datetime) -> asyncio.Task[None] | None:
        if held.fetch is None and held.may_ask(now):
            held.asked_at = now
            held.fetch = asyncio.create_task(self._ask(issuer, held, now))
        return held.fetch

    async def _ask(self, issuer: str, held: "_Held", now: datetime) -> None:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                held.keys = (await ask_issuer(self._client, issuer)).keys
            held.answered_at = now
            held.failed = False
        except (*UNANSWERED, UnusableAnswer) as error:
            held.failed = True
            _log.warning("issuer keys not fetched", issuer=issuer, reason=str(error) or type(error).__name__)
        finally:
            held.fetch = None


@dataclass(slots=True)
class _Held:
    """The cached state of one issuer."""

    keys: Mapping[tuple[str, str], Key] = field(default_factory=dict)
    asked_at: datetime | None = None
    answered_at: datetime | None = None
    failed: bool = False
    fetch: asyncio.Task[None] | None = None

    def may_ask(self, now: datetime) -> bool:
        pause = _BETWEEN_FIRST_ATTEMPTS if self.answered_at is None else _BETWEEN_REFRESHES
        return self.asked_at is None or now - self.asked_at >= pause

    def is_old(self, now: datetime) -> bool:
        return self.answered_at is not None and now - self.answered_at >= _REFRESH_AFTER

    def forget_if_too_old(self, now: datetime) -> None:
        if self.answered_at is not None and now - self.answered_at >= _FORGET_AFTER:
            self.keys = {}
