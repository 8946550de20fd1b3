# SPDX-License-Identifier: Apache-2.0
"""HTTP clients for other servers.

Calls fail where httpx2 raises errors of its own.
"""

import ssl
from typing import Any

import httpx2


def open_http_client(
    timeout: float, *, most_connections: int, transport: httpx2.AsyncBaseTransport | None = None
) -> httpx2.AsyncClient:
    """Return a client for the servers of a directory.

    `timeout` is in seconds. `transport` is for tests. It trusts the authorities of the system, and ignores
    proxies of the environment.
    """
    if transport is None:
        limits = httpx2.Limits(max_connections=most_connections, max_keepalive_connections=most_connections)
        transport = Transport(verify=ssl.create_default_context(), trust_env=False, limits=limits)
    return Client(transport=transport, timeout=timeout, follow_redirects=False, trust_env=False)


class Client(httpx2.AsyncClient):
    """Report calls after the client was closed as failed.

    New settings close it while jobs run. httpx2 raises RuntimeError, which is a bug for the worker.
    """

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # noqa: ANN401 - each has its type.
        if self.is_closed:
            raise httpx2.ConnectError("The client is closed.", request=request)
        return await super().send(request, **options)


class Transport(httpx2.AsyncHTTPTransport):
    """Report a connection that its server resets at once as failed."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await super().handle_async_request(request)
        except AttributeError as error:
            if not is_reset(error):
                raise
            raise httpx2.ConnectError("The server has reset the connection.", request=request) from error


def is_reset(error: AttributeError) -> bool:
    """Return whether a server has reset a connection at once.

    A killed server resets connections that it has not accepted yet. uvloop has no socket of such a connection, and
    httpcore2 2.16 with anyio 4.16 asks it for its address.
    """
    return error.name == "getpeername" and error.obj is None
