# SPDX-License-Identifier: Apache-2.0
"""An OpenID issuer over HTTP that accepts only what the standards demand, and records each refusal.

It checks client, secret, redirect address, state, nonce and PKCE. A code counts once. A refresh token counts once as
well: a second use revokes all tokens of the sign-in (RFC 9700, 4.14). Its user signs in without a page.
"""

import json
import secrets
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from joserfc.jwk import RSAKey

from tests.auth.issuer import make_key, sign
from tests.services import ADA, API

CLIENT, SECRET = "chamberlain.console", "s3cr:t/ü"
SCOPES = ("collab/App.ReadWrite.All", "mail/App.ReadWrite.All", "admin/Config.ReadWrite.All")
LIFE_SECONDS = 300


class Refused(Exception):
    """The issuer refused a call, with this error of RFC 6749."""


@dataclass
class StrictIssuer:
    """The issuer; `redirect_uri` and `sign_out_uri` are those that its client has registered."""

    address: str = ""
    redirect_uri: str = ""
    sign_out_uri: str = ""
    key: RSAKey = field(default_factory=lambda: make_key("strict"))
    codes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    refresh_tokens: set[str] = field(default_factory=set)
    identities: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    refreshed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def discovery(self) -> Mapping[str, object]:
        return {
            "issuer": self.address,
            "jwks_uri": f"{self.address}/keys",
            "authorization_endpoint": f"{self.address}/authorize",
            "token_endpoint": f"{self.address}/token",
            "end_session_endpoint": f"{self.address}/sign-out",
            "authorization_response_iss_parameter_supported": True,
        }

    def authorize(self, query: Mapping[str, str]) -> str:
        """The address with a code for the client."""
        self._require(query.get("client_id") == CLIENT, "unauthorized_client")
        self._require(query.get("redirect_uri") == self.redirect_uri, "invalid_request")
        self._require(query.get("response_type") == "code", "unsupported_response_type")
        self._require(query.get("code_challenge_method") == "S256", "invalid_request")
        self._require(all(len(query.get(name, "")) >= 22 for name in ("state", "nonce", "code_challenge")), "entropy")
        self._require({"openid", *(f"{API}/{each}" for each in SCOPES)} <= {*query["scope"].split()}, "invalid_scope")
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        return f"{self.redirect_uri}?{urlencode({'code': code, 'state': query['state'], 'iss': self.address})}"

    def token(self, authorization: str, form: Mapping[str, str]) -> Mapping[str, object]:
        """Tokens for a code or a refresh token."""
        pair = b64decode(authorization.removeprefix("Basic ")).decode()
        given = tuple(unquote_plus(each) for each in pair.split(":"))
        self._require(given == (CLIENT, SECRET), "invalid_client")
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh_tokens:
                self.refresh_tokens.clear()
                raise self._refuse("invalid_grant")
            self.refresh_tokens.remove(form["refresh_token"])
            self.refreshed += 1
            return self._tokens(nonce=None)
        asked = self.codes.pop(form["code"], None)
        if asked is None:
            raise self._refuse("invalid_grant")
        challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        self._require(challenge == asked["code_challenge"], "invalid_grant")
        self._require(form["redirect_uri"] == asked["redirect_uri"], "invalid_grant")
        return self._tokens(nonce=asked["nonce"])

    def sign_out(self, query: Mapping[str, str]) -> str:
        """The address of the client after the end of the session."""
        self._require(query.get("id_token_hint") in self.identities, "invalid_request")
        self._require(query.get("post_logout_redirect_uri") == self.sign_out_uri, "invalid_request")
        self.refresh_tokens.clear()
        return self.sign_out_uri

    def _tokens(self, nonce: str | None) -> Mapping[str, object]:
        now = int(time.time())
        shared = {"iss": self.address, "sub": ADA, "azp": CLIENT, "iat": now, "exp": now + LIFE_SECONDS}
        refresh, unique = secrets.token_urlsafe(16), secrets.token_urlsafe(8)
        self.refresh_tokens.add(refresh)
        answer: dict[str, object] = {
            "access_token": sign({**shared, "aud": API, "scope": " ".join(SCOPES), "jti": unique}, self.key),
            "token_type": "Bearer",
            "expires_in": LIFE_SECONDS,
            "refresh_token": refresh,
        }
        if nonce is not None:
            identity = sign({**shared, "aud": [CLIENT], "nonce": nonce}, self.key)
            self.identities.add(identity)
            answer["id_token"] = identity
        return answer

    def _require(self, met: bool, error: str) -> None:  # noqa: FBT001 - a condition reads well in its place.
        if not met:
            raise self._refuse(error)

    def _refuse(self, error: str) -> Refused:
        self.refused.append(error)
        return Refused(error)


class _Server(ThreadingHTTPServer):
    issuer: StrictIssuer


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        match parts.path:
            case "/.well-known/openid-configuration":
                self._answer(200, self.server.issuer.discovery())
            case "/keys":
                self._answer(200, {"keys": [self.server.issuer.key.as_dict(private=False)]})
            case "/authorize":
                self._redirect(self.server.issuer.authorize, query)
            case "/sign-out":
                self._redirect(self.server.issuer.sign_out, query)
            case _:
                self._answer(404, {})

    def do_POST(self) -> None:
        form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        try:
            with self.server.issuer.lock:
                self._answer(200, self.server.issuer.token(self.headers.get("Authorization", ""), form))
        except Refused as refused:
            self._answer(400, {"error": str(refused)})

    def _redirect(self, decide: Callable[[Mapping[str, str]], str], query: Mapping[str, str]) -> None:
        try:
            with self.server.issuer.lock:
                location = decide(query)
        except Refused as refused:
            self._answer(400, {"error": str(refused)})
        else:
            self._answer(303, {}, {"Location": location})

    def _answer(self, status: int, body: Mapping[str, object], headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@contextmanager
def run_strict_issuer() -> Iterator[StrictIssuer]:
    """Run the issuer on a free port of loopback."""
    server = _Server(("127.0.0.1", 0), _Handler)
    issuer = server.issuer = StrictIssuer()
    issuer.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
