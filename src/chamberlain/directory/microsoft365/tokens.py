# SPDX-License-Identifier: Apache-2.0
"""Tokens of an application by msal, in a thread.

msal is synchronous, and has a cache and a lock of its own. It keeps a token until it expires, also one that Graph
refuses: `forget` removes it.
"""

import asyncio
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from json import JSONDecodeError
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import httpx2
import msal  # type: ignore[import-untyped]  # It comes without types.
from msal.exceptions import MsalServiceError  # type: ignore[import-untyped]  # It comes without types.

from chamberlain.core.errors import Cause, ConnectionBroken, TryAgain
from chamberlain.core.reasons import Reason

_AWAY_DELAY: Final = timedelta(seconds=10)
_BROKEN_FOR: Final = timedelta(minutes=1)
_TIMEOUT_SECONDS: Final = 15.0
# Seconds until msal is asked again. It returns no token that expires within five minutes.
_ASK_AFTER: Final = 60.0
_SERVER: Final = "Microsoft Entra ID"
# Errors of a token that pass by themselves (RFC 6749, 4.1.2.1).
_TEMPORARY: Final = frozenset({"temporarily_unavailable", "server_error", "request_timeout"})
# Visible characters (RFC 6750, 2.1), so that a header can have it.
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
# msal reads an answer without looking at its shape. A page of a proxy, a redirection, or JSON of another shape ends in
# one of these.
_UNREADABLE: Final = (JSONDecodeError, AttributeError, KeyError, OverflowError, RuntimeError, TypeError)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its private key, both in PEM."""

    private_key: str = field(repr=False)
    certificate: str


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret of the application."""

    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Federation:
    """A file with a token of another issuer.

    An example is a Kubernetes service account. The file is read for each request.
    """

    token_file: Path


@dataclass(frozen=True, slots=True)
class ManagedIdentity:
    """The identity of the machine in Azure.

    `client_id` is that of a user-assigned one.
    """

    client_id: str | None = None


Credential: TypeAlias = Certificate | Secret | Federation | ManagedIdentity


@dataclass(frozen=True, slots=True)
class Application:
    """An application in a directory.

    `authority` is the address of the sign-in with the id of the directory. `resource` is the address of the API.
    """

    client_id: str
    authority: str
    resource: str
    credential: Credential = field(repr=False)


class HttpClient(Protocol):
    """The HTTP client that msal calls."""

    def get(self, url: str, **options: Any) -> Any: ...  # noqa: ANN401 - as msal calls it.
    def post(self, url: str, **options: Any) -> Any: ...  # noqa: ANN401 - as msal calls it.
    def close(self) -> None: ...


class Tokens:
    """Tokens of one application for one API.

    `http` is for tests; None opens a client.
    """

    def __init__(self, application: Application, http: HttpClient | None = None) -> None:
        self._application = application
        self._http = http
        self._client: Any = None
        # Threads of concurrent calls share the client.
        self._lock = threading.Lock()
        self._token = ""
        self._ask_at = 0.0

    async def token(self) -> str:
        """Return a token, from the cache if possible. Raises TryAgain and ConnectionBroken."""
        token = self._token
        # A thread for each call would take longer than the rest of it.
        return token if token and time.monotonic() < self._ask_at else await asyncio.to_thread(self._acquire)

    async def forget(self) -> None:
        """Remove a token that the API refuses."""
        await asyncio.to_thread(self._forget)

    async def close(self) -> None:
        """Close the connections."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._lock:
            if self._http is not None:
                self._http.close()

    def _acquire(self) -> str:
        resource = self._application.resource
        try:
            with self._lock:
                client = self._open()
                if isinstance(self._application.credential, ManagedIdentity):
                    answer = client.acquire_token_for_client(resource=resource)
                else:
                    answer = client.acquire_token_for_client(scopes=[f"{resource}/.default"])
                self._token = token = _token_of(answer)
                self._ask_at = time.monotonic() + _ASK_AFTER
        except (
            httpx2.HTTPError,
            httpx2.InvalidURL,
            MsalServiceError,
            msal.ManagedIdentityError,
            *_UNREADABLE,
        ) as error:
            raise _away() from error
        except (ValueError, OSError) as error:
            # msal raises ValueError for a key that it cannot read, and for an authority that does not exist.
            raise _broken(str(error).partition("\n")[0]) from error
        return token

    def _forget(self) -> None:
        with self._lock:
            self._token = ""
            if isinstance(self._application.credential, ManagedIdentity):
                # Its client has no method for that.
                self._client = None
            elif self._client is not None:
                self._client.remove_tokens_for_client()

    def _open(self) -> Any:  # noqa: ANN401 - msal has no types.
        """Open the client at the first call.

        msal asks the sign-in server for its addresses then.
        """
        if self._client is not None:
            return self._client
        application = self._application
        if self._http is None:
            self._http = new_http_client()
        credential = application.credential
        if isinstance(credential, ManagedIdentity):
            identity = (
                msal.SystemAssignedManagedIdentity()
                if credential.client_id is None
                else msal.UserAssignedManagedIdentity(client_id=credential.client_id)
            )
            self._client = msal.ManagedIdentityClient(identity, http_client=self._http)
        else:
            self._client = msal.ConfidentialClientApplication(
                application.client_id,
                authority=application.authority,
                client_credential=_credential(credential),
                # The operator states the cloud.
                instance_discovery=False,
                http_client=self._http,
            )
        return self._client


def new_http_client() -> HttpClient:
    """Return the HTTP client for msal.

    It trusts the authorities of the system, as that for Graph does.
    """
    client: Any = httpx2.Client(verify=ssl.create_default_context(), timeout=_TIMEOUT_SECONDS, trust_env=False)
    opened: HttpClient = client
    return opened


def _credential(credential: Certificate | Secret | Federation) -> str | Mapping[str, str | Callable[[], str]]:
    match credential:
        case Certificate():
            # msal computes the thumbprint.
            return {"private_key": credential.private_key, "public_certificate": credential.certificate}
        case Secret():
            return credential.secret
        case Federation():
            return {"client_assertion": lambda: credential.token_file.read_text(encoding="ascii").strip()}


def _token_of(answer: Mapping[str, Any]) -> str:
    token = answer.get("access_token")
    if isinstance(token, str) and _TOKEN.fullmatch(token):
        return token
    if "access_token" in answer or str(answer.get("error")) in _TEMPORARY:
        raise _away()
    raise _broken(str(answer.get("error_description") or answer.get("error")).partition("\n")[0])


def _away() -> TryAgain:
    return TryAgain(_AWAY_DELAY, Reason.build("directoryNotAvailable"), Cause.AWAY)


def _broken(problem: str) -> ConnectionBroken:
    reason = Reason.build("serverRefusesAccess", server=_SERVER, problem=problem)
    return ConnectionBroken(_BROKEN_FOR, reason)
