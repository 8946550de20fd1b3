# SPDX-License-Identifier: Apache-2.0
"""The HTTP client of a suite."""

import ssl
from typing import Any, Final

import httpx2

# Connections to Dovecot, Matrix and SOGo together. Each client limits its own calls below that.
_MOST_CONNECTIONS: Final = 64


def open_http_client(timeout: float) -> httpx2.AsyncClient:
    """Return the HTTP client of a suite. `timeout` is in seconds.

    It trusts the authorities of the system, and ignores proxies of the environment: the servers are the operator's.
    """
    limits = httpx2.Limits(max_connections=_MOST_CONNECTIONS, max_keepalive_connections=_MOST_CONNECTIONS)
    transport = _Transport(verify=ssl.create_default_context(), trust_env=False, limits=limits)
    return _Client(transport=transport, timeout=timeout, follow_redirects=False, trust_env=False)


class _Client(httpx2.AsyncClient):
    """Report calls after the client was closed as failed.

    New settings close it while jobs run. httpx2 raises RuntimeError, which is a bug for the worker.
    """

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # noqa: ANN401 - each has its type.
        if self.is_closed:
            raise httpx2.ConnectError("The client is closed.", request=request)
        return await super().send(request, **options)


class _Transport(httpx2.AsyncHTTPTransport):
    """Report a connection that its server resets at once as failed.

    A killed server resets connections that it has not accepted yet. uvloop has no socket of such a connection, and
    httpcore2 2.16 with anyio 4.16 raises AttributeError.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await super().handle_async_request(request)
        except AttributeError as error:
            if error.name != "getpeername" or error.obj is not None:
                raise
            raise httpx2.ConnectError("The server has reset the connection.", request=request) from error
