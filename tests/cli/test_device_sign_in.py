# SPDX-License-Identifier: Apache-2.0
"""Sign in by device code at a provider that is unavailable for a moment."""

import json
import ssl
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest

from chamberlain.cli.sign_in import (
    NewClient,
    Program,
    Prompt,
    find_token,
    sign_in,
)
from chamberlain.cli.sign_ins import Profile, ProviderUnreachable, SignInFailed, SignIns
from chamberlain.embedded.identity.certificates import ServerCertificate, make_server_certificate

PROGRAM = "c11e0000-0000-4000-8000-000000000001"
SCOPES = ("https://api.example/collab/App.ReadWrite.All",)
PENDING = json.dumps({"error": "authorization_pending"}).encode()


class Provider(ThreadingHTTPServer):
    """It answers a question for tokens with one after the other of `answers`: a status and a body; None cuts it off."""

    answers: list[tuple[int, bytes] | None]
    is_away = False

    @property
    def issuer(self) -> str:
        return f"https://localhost:{self.server_address[1]}/there/v2.0"

    def answer(self, path: str) -> tuple[int, bytes] | None:
        if self.is_away:
            return 503, b"<html>"
        if path.endswith("/token"):
            return self.answers.pop(0) if self.answers else (200, self._tokens())
        if path.endswith("/devicecode"):
            codes = {"device_code": "d", "user_code": "BCDF-GHJK", "verification_uri": self.issuer, "interval": 0}
            return 200, json.dumps({**codes, "expires_in": 900}).encode()
        endpoints = {f"{name}_endpoint": f"{self.issuer}/{name}" for name in ("authorization", "token")}
        endpoints["device_authorization_endpoint"] = f"{self.issuer}/devicecode"
        return 200, json.dumps({"issuer": self.issuer, **endpoints}).encode()

    def _tokens(self) -> bytes:
        who = {"iss": self.issuer, "aud": PROGRAM, "sub": "ada", "preferred_username": "ada@estate.example"}
        times = {"iat": 0, "exp": datetime.now(UTC).timestamp() + 600}
        tokens = {
            "access_token": "a",
            "refresh_token": "r",
            "token_type": "Bearer",
            # Less than is left of a token that is still used.
            "expires_in": 60,
            "scope": SCOPES[0],
            "client_info": encoded({"uid": "ada", "utid": "estate"}),
            "id_token": f"{encoded({'alg': 'none'})}.{encoded({**who, **times})}.",
        }
        return json.dumps(tokens).encode()


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = self.server.answer(self.path)
        if answer is None:
            return
        self.send_response(answer[0])
        # The library would wait for longer by itself after an answer from 500 on.
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(answer[1])))
        self.end_headers()
        self.wfile.write(answer[1])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - As the standard library has it.
        """Say nothing."""


def encoded(part: object) -> str:
    return urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ServerCertificate:
    return make_server_certificate(tmp_path_factory.mktemp("tls"), datetime.now(UTC))


@contextmanager
def running(certificate: ServerCertificate, *answers: tuple[int, bytes] | None) -> Iterator[Provider]:
    with Provider(("127.0.0.1", 0), Handler) as provider:
        provider.answers = list(answers)
        provider.socket = certificate.context.wrap_socket(provider.socket, server_side=True)
        thread = threading.Thread(target=provider.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield provider
        finally:
            provider.shutdown()
            thread.join()


def signed_in(provider: Provider, folder: Path, tls: ssl.SSLContext) -> tuple[str, list[Prompt]]:
    prompts: list[Prompt] = []
    program = Program(provider.issuer, PROGRAM, (SCOPES,))
    return sign_in(program, SignIns(folder), client_of(tls), prompts.append, with_browser=False).username, prompts


def client_of(tls: ssl.SSLContext) -> NewClient:
    return lambda: httpx2.Client(verify=tls, timeout=10)


@pytest.mark.parametrize(
    "lost", [[], [None], [(503, b"{}")], [(502, b"<html>")], [None, (503, b"{}"), (400, PENDING), None]]
)
def test_it_works(certificate: ServerCertificate, tmp_path: Path, lost: list[tuple[int, bytes] | None]) -> None:
    tls = ssl.create_default_context(cadata=certificate.authority_pem)

    with running(certificate, (400, PENDING), *lost) as provider:
        username, prompts = signed_in(provider, tmp_path, tls)

    assert (username, len(prompts)) == ("ada@estate.example", 1)
    assert provider.answers == []


def test_it_rejects_a_provider_that_is_not_trusted(certificate: ServerCertificate, tmp_path: Path) -> None:
    with running(certificate) as provider, pytest.raises(ProviderUnreachable) as raised:
        signed_in(provider, tmp_path, ssl.create_default_context())

    assert isinstance(raised.value.__cause__, httpx2.ConnectError)


def test_it_rejects_a_provider_that_is_away_all_the_time(certificate: ServerCertificate, tmp_path: Path) -> None:
    tls = ssl.create_default_context(cadata=certificate.authority_pem)

    with running(certificate) as provider:
        provider.is_away = True
        with pytest.raises(ProviderUnreachable, match="503"):
            signed_in(provider, tmp_path, tls)


@pytest.mark.parametrize(
    ("code", "sentence"), [("access_denied", "was denied in the browser"), ("expired_token", "timed out")]
)
def test_it_rejects_a_user_who_denies_or_does_not_answer(
    certificate: ServerCertificate, tmp_path: Path, code: str, sentence: str
) -> None:
    tls = ssl.create_default_context(cadata=certificate.authority_pem)

    answer = (400, json.dumps({"error": code}).encode())
    with running(certificate, answer) as provider, pytest.raises(SignInFailed, match=sentence):
        signed_in(provider, tmp_path, tls)


def test_a_sign_in_is_kept_while_its_provider_is_away(certificate: ServerCertificate, tmp_path: Path) -> None:
    tls, sign_ins = ssl.create_default_context(cadata=certificate.authority_pem), SignIns(tmp_path)
    with running(certificate) as provider:
        username, _ = signed_in(provider, tmp_path, tls)
        profile = Profile("http://there", provider.issuer, PROGRAM, (SCOPES,), "ada.estate", username)
        provider.answers = [(503, b"{}")]

        with pytest.raises(ProviderUnreachable, match="503"):
            find_token(profile, SCOPES, sign_ins, client_of(tls))

        assert find_token(profile, SCOPES, sign_ins, client_of(tls)) == "a"
