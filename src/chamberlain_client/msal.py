# SPDX-License-Identifier: Apache-2.0
"""Token sources for MSAL, which caches tokens. Needs `chamberlain-client[msal]`.

The program signs in by itself: by device code, in a browser, or with a secret.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msal import ClientApplication, ConfidentialClientApplication  # type: ignore[import-untyped]  # MSAL has none.

from chamberlain_client.errors import SignInNeeded


def token_source(
    application: ClientApplication, scopes: Sequence[str], account: Mapping[str, object] | None = None
) -> Callable[[], str]:
    """Create a token source for a signed-in account or the application.

    The source raises SignInNeeded if a user has to sign in again.
    """

    def token() -> str:
        if account is not None:
            return _token_in(application.acquire_token_silent(list(scopes), account=dict(account)))
        if isinstance(application, ConfidentialClientApplication):
            return _token_in(application.acquire_token_for_client(list(scopes)))
        raise SignInNeeded(None, "No user is signed in: give an account of the application.")

    return token


def async_token_source(
    application: ClientApplication, scopes: Sequence[str], account: Mapping[str, object] | None = None
) -> Callable[[], Awaitable[str]]:
    """Create a token source for asynchronous programs.

    MSAL blocks, so it runs in a thread.
    """
    token = token_source(application, scopes, account)
    return lambda: asyncio.to_thread(token)


def _token_in(answer: object) -> str:
    found = answer if isinstance(answer, Mapping) else {}
    token = found.get("access_token")
    if isinstance(token, str):
        return token
    code, detail = found.get("error"), found.get("error_description")
    raise SignInNeeded(
        code if isinstance(code, str) else None,
        detail if isinstance(detail, str) and detail else "There is no token without signing in again.",
    )
