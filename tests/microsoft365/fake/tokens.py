# SPDX-License-Identifier: Apache-2.0
"""The token endpoint: client credentials by secret or certificate, and the refresh token of a delegate.

Answers and errors have the form of the Microsoft identity platform (v2-oauth2-client-creds-grant-flow.md).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlencode

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry

from tests.microsoft365.fake.answers import GraphError, Principal

Json: TypeAlias = Any

LOGIN: Final = "https://login.microsoftonline.com"
GRAPH: Final = "https://graph.microsoft.com"
_LIFETIME: Final = timedelta(seconds=3599)
_LONGEST_ASSERTION: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class App:
    """An application of the fake: its secret, or the public key of its certificate in PEM."""

    id: str
    secret: str | None = None
    public_key: bytes | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """An issued token."""

    app: str
    tenant: str
    audience: str
    expires: datetime
    permissions: frozenset[str]
    is_delegated: bool


class _Refused(Exception):
    def __init__(self, status: int, error: str, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.body = {"error": error, "error_description": f"AADSTS{code}: {sentence}", "error_codes": [code]}


class Tokens:
    """Issues and reads tokens. `granted` returns the application permissions of an app in a tenant, None for none."""

    def __init__(
        self, now: Callable[[], datetime], random: Random, granted: Callable[[str, str], frozenset[str] | None]
    ) -> None:
        self._now = now
        self._random = random
        self._granted = granted
        self._issued: dict[str, Token] = {}
        self._delegates: dict[str, tuple[str, str, frozenset[str]]] = {}
        self.apps: dict[str, App] = {}

    def delegate(self, tenant: str, app: str, *permissions: str) -> str:
        """Return a refresh token of a user who signed in to an app."""
        token = f"refresh.{self._random.getrandbits(128):x}"
        self._delegates[token] = (tenant, app, frozenset(permissions))
        return token

    def revoke_all(self) -> None:
        """Refuse all tokens that were issued."""
        self._issued.clear()

    def respond(self, method: str, path: str, body: bytes) -> tuple[int, Json]:
        """Answer a request of the sign-in host by its path."""
        first, _, rest = path.strip("/").partition("/")
        if method == "GET" and rest == "discovery/instance":
            host = LOGIN.removeprefix("https://")
            metadata = [{"preferred_network": host, "preferred_cache": host, "aliases": [host]}]
            return 200, {"tenant_discovery_endpoint": f"{LOGIN}/{first}", "metadata": metadata}
        if method == "GET" and rest == "v2.0/.well-known/openid-configuration":
            return 200, _configuration(first)
        if method != "POST" or rest != "oauth2/v2.0/token":
            return 404, {"error": "not_found"}
        try:
            return 200, self._issue(first, dict(parse_qsl(body.decode())))
        except _Refused as refused:
            return refused.status, refused.body

    def _issue(self, tenant: str, form: Mapping[str, str]) -> Json:
        audience, _, name = form.get("scope", "").split(" ")[0].rpartition("/")
        if name != ".default" or not audience.startswith("https://"):
            raise _Refused(400, "invalid_scope", 1002012, "The provided value for scope is not valid.")
        app = self.apps.get(form.get("client_id", ""))
        if app is None:
            raise _Refused(400, "unauthorized_client", 700016, "Application was not found in the directory.")
        self._authenticate(app, tenant, form)
        if form.get("grant_type") == "refresh_token":
            return self._refresh(app, tenant, audience, form)
        if form.get("grant_type") != "client_credentials":
            raise _Refused(400, "unsupported_grant_type", 70003, "The grant type is not supported.")
        permissions = self._granted(tenant, app.id)
        if permissions is None:
            raise _Refused(400, "unauthorized_client", 700016, "Application was not found in the directory.")
        return self._answer(Token(app.id, tenant, audience, self._now() + _LIFETIME, permissions, is_delegated=False))

    def _refresh(self, app: App, tenant: str, audience: str, form: Mapping[str, str]) -> Json:
        found = self._delegates.get(form.get("refresh_token", ""))
        if found is None or found[:2] != (tenant, app.id):
            raise _Refused(400, "invalid_grant", 700082, "The refresh token has expired due to inactivity.")
        token = Token(app.id, tenant, audience, self._now() + _LIFETIME, found[2], is_delegated=True)
        return {**self._answer(token), "refresh_token": form["refresh_token"], "scope": " ".join(sorted(found[2]))}

    def _answer(self, token: Token) -> Json:
        text = f"eyJ0eXAiOiJKV1QifQ.{self._random.getrandbits(256):x}.{self._random.getrandbits(256):x}"
        self._issued[text] = token
        seconds = int(_LIFETIME.total_seconds())
        return {"token_type": "Bearer", "expires_in": seconds, "ext_expires_in": seconds, "access_token": text}

    def _authenticate(self, app: App, tenant: str, form: Mapping[str, str]) -> None:
        if "client_assertion" in form:
            _check_assertion(app, tenant, form)
        elif app.secret is None or form.get("client_secret") != app.secret:
            raise _Refused(401, "invalid_client", 7000215, "Invalid client secret provided.")

    def read(self, authorization: str, audience: str) -> tuple[str, Principal]:
        """Return the tenant and the caller of a token. Raises GraphError 401."""
        token = self._issued.get(authorization.removeprefix("Bearer "))
        if not authorization.startswith("Bearer ") or token is None:
            raise unauthenticated("CompactToken validation failed.")
        if token.audience != audience:
            raise unauthenticated("Access token validation failure. Invalid audience.")
        if token.expires <= self._now():
            raise unauthenticated("Lifetime validation failed, the token is expired.")
        return token.tenant, Principal(token.app, token.permissions, is_delegated=token.is_delegated)


def unauthenticated(message: str) -> GraphError:
    headers = {"WWW-Authenticate": 'Bearer realm="", authorization_uri="https://login.microsoftonline.com/common"'}
    return GraphError(401, "InvalidAuthenticationToken", message, headers=headers)


def _configuration(tenant: str) -> Json:
    return {
        "issuer": f"{LOGIN}/{tenant}/v2.0",
        "authorization_endpoint": f"{LOGIN}/{tenant}/oauth2/v2.0/authorize",
        "token_endpoint": f"{LOGIN}/{tenant}/oauth2/v2.0/token",
        "device_authorization_endpoint": f"{LOGIN}/{tenant}/oauth2/v2.0/devicecode",
    }


def _check_assertion(app: App, tenant: str, form: Mapping[str, str]) -> None:
    """Check the signature and the claims of an assertion (active-directory-certificate-credentials.md)."""
    if app.public_key is None:
        raise _Refused(401, "invalid_client", 700027, "The certificate is not registered on application.")
    try:
        key = RSAKey.import_key(app.public_key)
        registry = JWSRegistry(algorithms=["PS256", "RS256"])
        # The header contains the certificate (x5c).
        registry.max_header_length = 16_384
        read = jwt.decode(form["client_assertion"], key, registry=registry)
    except (JoseError, ValueError) as error:
        raise _Refused(401, "invalid_client", 700027, "Client assertion failed signature validation.") from error
    claims = read.claims
    audience = f"{LOGIN}/{tenant}/oauth2/v2.0/token"
    if (claims.get("iss"), claims.get("sub"), claims.get("aud")) != (app.id, app.id, audience):
        raise _Refused(401, "invalid_client", 700021, "Client assertion has wrong claims.")
    if not {"x5t", "x5t#S256"} & {*read.header}:
        raise _Refused(401, "invalid_client", 700027, "The thumbprint of the certificate is missing.")
    if not 0 < claims["exp"] - claims.get("nbf", claims["iat"]) <= _LONGEST_ASSERTION.total_seconds():
        raise _Refused(401, "invalid_client", 700024, "Client assertion is not within its valid time range.")


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response as msal reads it."""

    status_code: int
    text: str
    headers: Mapping[str, str]

    def raise_for_status(self) -> None:
        """msal calls this for the discovery of a tenant."""
        if self.status_code >= 400:
            raise ValueError(self.text)


class HttpClient:
    """The HTTP client that msal takes as `http_client`, connected to the token endpoint without a socket."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self.requests: list[tuple[str, str]] = []

    def get(self, url: str, **_options: object) -> HttpResponse:
        return self._request("GET", url, b"")

    def post(self, url: str, *, data: Mapping[str, str] | str | None = None, **_options: object) -> HttpResponse:
        form = data if isinstance(data, str) else urlencode(data or {})
        return self._request("POST", url, form.encode())

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def _request(self, method: str, url: str, body: bytes) -> HttpResponse:
        assert url.startswith(LOGIN), url
        self.requests.append((method, url))
        status, answer = self._tokens.respond(method, url.removeprefix(LOGIN).partition("?")[0], body)
        return HttpResponse(status, json.dumps(answer), {"Content-Type": "application/json"})
