# SPDX-License-Identifier: Apache-2.0
"""Connections: addresses, certificates, bearer tokens and transport errors."""

import re
import ssl
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from inspect import isawaitable
from pathlib import Path

import httpx2

from chamberlain_client.errors import NotAnAddress, NotTrusted, TimedOut, TokenUnusable, Unreachable

TokenSource = str | Callable[[], str]
AsyncTokenSource = str | Callable[[], str | Awaitable[str]]

# RFC 6750, 2.1. Error messages of the HTTP library repeat an invalid header, so an invalid token must not become one.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


def parse_address(url: str) -> str:
    """Validate the address of a service, and remove a trailing slash.

    Raises NotAnAddress.
    """
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise NotAnAddress(url) from error
    if parsed.scheme not in {"http", "https"} or not parsed.host or parsed.query or parsed.fragment:
        raise NotAnAddress(url)
    return url.rstrip("/")


def load_trust(*, verify: ssl.SSLContext | Path | str | bool) -> ssl.SSLContext | bool:
    """Load trusted certificates.

    A path names a file or folder with certificates of authorities.
    """
    if isinstance(verify, Path | str):
        path = Path(verify)
        return ssl.create_default_context(capath=path) if path.is_dir() else ssl.create_default_context(cafile=path)
    return verify


def token_of(source: TokenSource) -> str:
    """Get the token for one call.

    Raises TokenUnusable, and any error of the source.
    """
    return _validate_token(source() if callable(source) else source)


async def async_token_of(source: AsyncTokenSource) -> str:
    """Get the token for one call; the source may be awaitable."""
    given = source() if callable(source) else source
    return _validate_token(await given if isawaitable(given) else given)


@contextmanager
def transport_errors() -> Generator[None, None, None]:
    """Convert errors of the HTTP library to errors of the SDK."""
    try:
        yield
    except (httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
        raise TimedOut(f"No connection could be made in time to {_origin(error)}.", was_sent=False) from error
    except httpx2.TimeoutException as error:
        raise TimedOut(f"{_origin(error)} did not answer in time.", was_sent=True) from error
    except (httpx2.ConnectError, httpx2.UnsupportedProtocol, httpx2.ProxyError) as error:
        if _is_certificate_error(error):
            raise NotTrusted(f"The certificate of {_origin(error)} is not trusted: {error}.", was_sent=False) from error
        raise Unreachable(f"No connection could be made to {_origin(error)}: {error}.", was_sent=False) from error
    except (httpx2.TransportError, httpx2.DecodingError) as error:
        why = str(error).rstrip(".") or type(error).__name__
        raise Unreachable(
            f"The connection to {_origin(error)} ended before its answer: {why}.", was_sent=True
        ) from error


def _validate_token(token: object) -> str:
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise TokenUnusable
    return token


def _origin(error: httpx2.RequestError) -> str:
    url = error.request.url
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def _is_certificate_error(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None
