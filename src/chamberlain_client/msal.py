"""Tokens from MSAL: what gives one for each call, from its cache while that is good. Needs `chamberlain-client[msal]`.

Signing in is the program's own: by device code, in a browser, or with a secret. What it has then goes in here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msal import ClientApplication, ConfidentialClientApplication  # type: ignore[import-untyped]  # MSAL has none.

from chamberlain_client.errors import SignInNeeded


def token_source(
    application: ClientApplication, scopes: Sequence[str], account: Mapping[str, object] | None = None
) -> Callable[[], str]:
    """What gives a token of these scopes: of the account that is signed in, or of the application itself. What it
    gives raises SignInNeeded when there is none without a person."""

    def token() -> str:
        if account is not None:
            return _token_in(application.acquire_token_silent(list(scopes), account=dict(account)))
        if isinstance(application, ConfidentialClientApplication):
            return _token_in(application.acquire_token_for_client(list(scopes)))
        raise SignInNeeded(None, "Nobody is signed in: give an account of the application.")

    return token


def async_token_source(
    application: ClientApplication, scopes: Sequence[str], account: Mapping[str, object] | None = None
) -> Callable[[], Awaitable[str]]:
    """The same for programs that await: MSAL does not, so it is asked in a thread of its own."""
    token = token_source(application, scopes, account)
    return lambda: asyncio.to_thread(token)


def _token_in(answer: object) -> str:
    """The token of an answer of MSAL, which has none in cache, or an error, when a person is needed."""
    found = answer if isinstance(answer, Mapping) else {}
    token = found.get("access_token")
    if isinstance(token, str):
        return token
    code, detail = found.get("error"), found.get("error_description")
    raise SignInNeeded(
        code if isinstance(code, str) else None,
        detail if isinstance(detail, str) and detail else "There is no token without signing in again.",
    )
