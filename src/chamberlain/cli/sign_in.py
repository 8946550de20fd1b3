# SPDX-License-Identifier: Apache-2.0
"""Sign in at an OpenID provider with MSAL, and get tokens.

Only this file uses the library. Its calls use httpx2, which trusts the certificates that are named here; by itself the
library would prefer REQUESTS_CA_BUNDLE.
"""

import json
import ssl
import time
import warnings
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import parse_qsl, urlsplit

import httpx2
import msal  # type: ignore[import-untyped]  # It comes without types.
from msal.exceptions import MsalServiceError  # type: ignore[import-untyped]  # As above.

from chamberlain.cli import terminal
from chamberlain.cli.sign_ins import Profile, ProviderUnreachable, SignInEnded, SignInFailed, SignIns

# Page after the sign-in. Only the command line shows the provider's message.
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Chamberlain</title>'
    "<h1>{title}</h1><p>You can close this page and go back to the command line.</p></html>"
)


class Loopback:
    """A listener on a free port, for one answer."""

    def __init__(self) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.server_close()

    @property
    def address(self) -> str:
        """Return the redirect address."""
        return f"http://localhost:{self._server.server_address[1]}"

    def wait(self, state: str, within: float) -> Mapping[str, str] | None:
        """Wait for the redirect with this state.

        Returns None after a timeout in seconds.
        """
        self._server.state = state
        end = time.monotonic() + within
        while self._server.brought is None and (left := end - time.monotonic()) > 0:
            # Short, so that Ctrl-C is heard in between.
            self._server.timeout = min(left, 1.0)
            self._server.handle_request()
        return self._server.brought


class _Server(HTTPServer):
    state: str = ""
    brought: Mapping[str, str] | None = None


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    # A browser may open a connection and send nothing.
    timeout = 2

    def do_GET(self) -> None:
        """Accept only the redirect with the expected state.

        Any page could send a browser here.
        """
        brought = dict(parse_qsl(urlsplit(self.path).query))
        if not brought.get("state") or brought["state"] != self.server.state:
            self._answer(400, "This is no answer to the sign-in that waits here.")
            return
        self._answer(200, "You are signed in." if "code" in brought else "You are not signed in.")
        self.server.brought = brought

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - As the standard library has it.
        """Say nothing; the address holds a code."""

    def _answer(self, status: int, title: str) -> None:
        page = _PAGE.format(title=title).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", "default-src 'none'")
        self.end_headers()
        self.wfile.write(page)


# A token that ends sooner than this is replaced before it is used, since a call takes its time.
_LEFT = 300.0
# How long a provider may be unavailable while the user enters a device code, in seconds.
_AWAY = 60.0
# Timeout of a sign-in with a browser, in seconds.
_BROWSER_WITHIN = 600.0

# Makes a client of the identity platform.
NewClient = Callable[[], httpx2.Client]
# An answer of the provider, as MSAL passes it on. Its members may have any type.
Answer = Mapping[str, Any]


class _Cache(Protocol):
    """The part of MSAL's cache in use. It has no types."""

    has_state_changed: bool

    def serialize(self) -> str: ...
    def deserialize(self, text: str) -> None: ...
    def search(self, kind: str, *, target: list[str], query: Mapping[str, str]) -> Iterator[Mapping[str, str]]: ...


class _Application(Protocol):
    """The part of MSAL's application in use. It has no types."""

    def get_accounts(self) -> list[dict[str, Any]]: ...
    def initiate_device_flow(self, scopes: list[str]) -> dict[str, Any]: ...
    def acquire_token_by_device_flow(self, flow: dict[str, Any]) -> Answer: ...
    def initiate_auth_code_flow(
        self, scopes: list[str], *, redirect_uri: str, response_mode: str, prompt: str
    ) -> dict[str, Any]: ...
    def acquire_token_by_auth_code_flow(self, flow: dict[str, Any], came_back: Mapping[str, str]) -> Answer: ...
    def acquire_token_silent_with_error(self, scopes: list[str], *, account: Answer) -> Answer | None: ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """The address of the sign-in, and its code, if any.

    The direct address has the code. `expires_in` is in seconds.
    """

    address: str
    code: str | None
    expires_in: float
    direct_address: str | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """Client, issuer and scopes of a sign-in.

    Each element of `scopes` is one token.
    """

    issuer: str
    client_id: str
    scopes: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The result of a sign-in.

    `refused` has the refused scopes with the provider's reason.
    """

    account: str
    username: str
    refused: tuple[tuple[tuple[str, ...], str], ...]


def sign_in(
    program: Program, sign_ins: SignIns, client: NewClient, show: Callable[[Prompt], None], *, with_browser: bool
) -> SignedIn:
    """Sign the user in with a device code or a local browser."""
    cache = msal.SerializableTokenCache()
    with _application(program.issuer, program.client_id, cache, client) as application:
        way = _with_browser if with_browser else _by_device_code
        account = _account(_granted(way(application, program.scopes[0], show)), application)
        refused = tuple(_others(application, program.scopes[1:], account))
    with sign_ins.locked():
        sign_ins.write_tokens(_merged(sign_ins.read_tokens(), cache.serialize()))
    return SignedIn(account["home_account_id"], str(account.get("username", "")), refused)


def find_token(profile: Profile, scopes: Sequence[str], sign_ins: SignIns, client: NewClient) -> str:
    """Return a cached or refreshed access token for these scopes.

    Raises SignInEnded if the user has to sign in again.
    """
    kept = _kept(_cache(sign_ins.read_tokens()), profile, scopes)
    if kept is not None:
        return kept
    with sign_ins.locked():
        # Another process may have asked for it meanwhile.
        cache = _cache(sign_ins.read_tokens())
        return _kept(cache, profile, scopes) or _renewed(cache, profile, scopes, sign_ins, client)


def forget_unused(sign_ins: SignIns, profile: Profile) -> None:
    """Delete the tokens of an account that no context has.

    The caller holds the lock.
    """
    text = sign_ins.read_tokens()
    if text is None or sign_ins.is_used(profile.account):
        return
    kept = {
        kind: {key: entry for key, entry in entries.items() if entry.get("home_account_id") != profile.account}
        for kind, entries in json.loads(text).items()
    }
    sign_ins.write_tokens(json.dumps(kept))


def sign_out_page(issuer: str, client: NewClient) -> str | None:
    """Return the provider's page that ends a browser session, or None."""
    with _told(issuer), client() as opened:
        page = opened.get(f"{issuer}/.well-known/openid-configuration").json().get("end_session_endpoint")
    return page if isinstance(page, str) else None


def _by_device_code(application: _Application, scopes: Sequence[str], show: Callable[[Prompt], None]) -> Answer:
    try:
        flow = application.initiate_device_flow(list(scopes))
    except ValueError as error:
        raise SignInFailed("The identity platform knows no device codes. Sign in with --browser.") from error
    if "user_code" not in flow:
        _granted(flow)
    direct = str(flow.get("verification_uri_complete", ""))
    # Only an address of the web is passed to a browser.
    opened = direct if direct.startswith("https://") else None
    show(Prompt(flow["verification_uri"], flow["user_code"], flow["expires_in"], opened))
    return _waited(application, flow)


def _waited(application: _Application, flow: dict[str, Any]) -> Answer:
    """Poll for the token. A lost poll is repeated (RFC 8628, 3.5)."""
    begun = time.time()
    while True:
        try:
            return application.acquire_token_by_device_flow(flow)
        except (httpx2.TransportError, MsalServiceError) as error:
            answered = flow.get("latest_attempt_at", begun)
            if _is_about_trust(error) or time.time() - answered > _AWAY:
                raise
        time.sleep(flow["interval"])


def _is_about_trust(error: BaseException | None) -> bool:
    """Whether a certificate is not trusted, which does not pass by itself."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _with_browser(application: _Application, scopes: Sequence[str], show: Callable[[Prompt], None]) -> Answer:
    with Loopback() as loopback:
        # By the query, which every provider knows; the code in it is of no use without the secret that PKCE keeps here.
        with warnings.catch_warnings():
            # MSAL recommends another mode, which a page at a loopback address cannot have.
            warnings.simplefilter("ignore", UserWarning)
            flow = application.initiate_auth_code_flow(
                list(scopes), redirect_uri=loopback.address, response_mode="query", prompt="select_account"
            )
        if not flow["auth_uri"].startswith("https://"):
            raise SignInFailed(
                f"The identity platform sends browsers to {flow['auth_uri']}, which is no https address."
            )
        show(Prompt(flow["auth_uri"], None, _BROWSER_WITHIN))
        if terminal.has_display():
            webbrowser.open(flow["auth_uri"])
        came_back = loopback.wait(flow["state"], _BROWSER_WITHIN)
    if came_back is None:
        raise SignInFailed("The sign-in timed out. Run chamberlain login again.")
    return application.acquire_token_by_auth_code_flow(flow, came_back)


def _others(
    application: _Application, groups: Sequence[tuple[str, ...]], account: Answer
) -> Iterator[tuple[tuple[str, ...], str]]:
    for scopes in groups:
        answer = application.acquire_token_silent_with_error(list(scopes), account=account)
        if answer is None or "access_token" not in answer:
            yield scopes, _reason(answer or {})


def _renewed(cache: _Cache, profile: Profile, scopes: Sequence[str], sign_ins: SignIns, client: NewClient) -> str:
    with _application(profile.issuer, profile.client_id, cache, client) as application:
        accounts = (each for each in application.get_accounts() if each["home_account_id"] == profile.account)
        account = next(accounts, None)
        answer = account and application.acquire_token_silent_with_error(list(scopes), account=account)
    if cache.has_state_changed:
        sign_ins.write_tokens(cache.serialize())
    if answer is None:
        raise SignInEnded(f"The sign-in of {profile.username} at {profile.server} has ended.")
    if "access_token" not in answer:
        raise SignInEnded(f"The sign-in of {profile.username} at {profile.server} has ended: {_reason(answer)}")
    return str(answer["access_token"])


def _kept(cache: _Cache, profile: Profile, scopes: Sequence[str]) -> str | None:
    query = {"client_id": profile.client_id, "home_account_id": profile.account}
    kind = msal.TokenCache.CredentialType.ACCESS_TOKEN
    for entry in cache.search(kind, target=list(scopes), query=query):
        if float(entry["expires_on"]) > time.time() + _LEFT:
            return str(entry["secret"])
    return None


def _cache(text: str | None) -> _Cache:
    cache: _Cache = msal.SerializableTokenCache()
    if text is not None:
        cache.deserialize(text)
    return cache


def _merged(kept: str | None, new: str) -> str:
    """Merge two caches; the newer entry wins.

    Another process may have signed in meanwhile.
    """
    merged: dict[str, dict[str, object]] = json.loads(kept) if kept else {}
    for kind, entries in json.loads(new).items():
        merged[kind] = {**merged.get(kind, {}), **entries}
    return json.dumps(merged)


def _account(answer: Answer, application: _Application) -> Answer:
    accounts = application.get_accounts()
    if not accounts:
        raise SignInFailed(f"The identity platform does not say who has signed in ({_reason(answer)})")
    return accounts[0]


def _granted(answer: Answer) -> Answer:
    if "access_token" not in answer:
        raise SignInFailed(_reason(answer))
    return answer


# Errors of a user who denies, and of one who does not answer (RFC 6749, 4.1.2.1; RFC 8628, 3.5).
_REASONS = {
    "access_denied": "The sign-in was denied in the browser.",
    "authorization_declined": "The sign-in was denied in the browser.",
    **dict.fromkeys(
        ("authorization_pending", "slow_down", "expired_token", "code_expired"),
        "The sign-in timed out. Run chamberlain login again.",
    ),
}


def _reason(answer: Answer) -> str:
    if (known := _REASONS.get(str(answer.get("error")))) is not None:
        return known
    said = answer.get("error_description") or answer.get("error") or "the identity platform gave no reason"
    return str(said)


@contextmanager
def _application(issuer: str, client_id: str, cache: _Cache, client: NewClient) -> Iterator[_Application]:
    with _told(issuer), client() as opened:
        try:
            application = msal.PublicClientApplication(
                client_id, oidc_authority=issuer, token_cache=cache, http_client=opened, instance_discovery=False
            )
        # MSAL raises these without a usable discovery document.
        except (ValueError, KeyError) as error:
            raise ProviderUnreachable(_not_a_provider(issuer, error)) from error
        yield application


@contextmanager
def _told(issuer: str) -> Iterator[None]:
    try:
        yield
    # MSAL raises the second for statuses of 500 and above.
    except (httpx2.HTTPError, MsalServiceError) as error:
        sentence = (
            f"The identity platform {issuer} cannot be reached ({str(error) or type(error).__name__}). "
            "Check that it runs, and that the address is correct."
        )
        raise ProviderUnreachable(sentence) from error
    except json.JSONDecodeError as error:
        raise ProviderUnreachable(_not_a_provider(issuer, error)) from error


def _not_a_provider(issuer: str, error: Exception) -> str:
    return f"{issuer} does not answer as an OpenID provider does ({error})."
