"""The client address in the scope of each call: that of the peer, or the one that a trusted proxy names."""

from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from chamberlain.http.hosts_forwarding import Network, client_address


class ClientAddresses:
    """Wraps an application, which then finds the client address in `scope["client"]`."""

    def __init__(self, application: ASGIApp, trusted: Sequence[Network]) -> None:
        self._application = application
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on."""
        peer = scope.get("client")
        if peer is not None:
            address = client_address(peer[0], scope["headers"], self._trusted)
            if address != peer[0]:
                # The port is that of the connection from the proxy, so it says nothing about the client.
                scope["client"] = (address, 0)
        await self._application(scope, receive, send)
