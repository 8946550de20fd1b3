# SPDX-License-Identifier: Apache-2.0
"""A server whose application does one thing with each call, and a client that talks to it byte by byte."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.types import Receive, Scope, Send

from chamberlain.app.listeners import Listener, make_server
from chamberlain.fastpath.buffered_response import BufferedCall, buffered_call
from chamberlain.http.connections import Connections
from chamberlain.http.server_protocol import ServerProtocol

Work = Callable[[BufferedCall, Receive, Send], Awaitable[None]]
Talk = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HEADERS = [(b"content-length", b"2")]
HEAD = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n"


@asynccontextmanager
async def served(
    work: Work,
    *,
    protocol: type[ServerProtocol] = ServerProtocol,
    idle_seconds: float = 5,
    tls: tuple[ssl.SSLContext, ssl.SSLContext] | None = None,
    connections: Connections | None = None,
) -> AsyncIterator[Talk]:
    """A connection to a server whose application does this with each call. With TLS, by the contexts of both sides."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        whole = buffered_call(scope)
        assert whole is not None
        await work(whole, receive, send)

    theirs, ours = tls or (None, None)
    listening = socket.create_server(("127.0.0.1", 0))
    connections = connections or Connections()
    server = make_server(Listener(listening, theirs, application), connections, protocol=protocol)
    server.config.timeout_keep_alive = idle_seconds  # type: ignore[assignment]  # The loop takes parts of a second.
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    host = "localhost" if ours else None
    reader, writer = await asyncio.open_connection(*listening.getsockname(), ssl=ours, server_hostname=host)
    try:
        async with asyncio.timeout(10):
            yield reader, writer
    finally:
        writer.close()
        server.should_exit = True
        await serving


async def call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes = b"") -> list[bytes]:
    """The lines of the answer to what is sent, or to what was sent before."""
    writer.write(sent)
    head = await reader.readuntil(b"\r\n\r\n")
    return [*head.split(b"\r\n")[:-2], await reader.readexactly(2)]


async def echo(whole: BufferedCall, _receive: Receive, _send: Send) -> None:
    """Answer with the body that is there at once."""
    assert whole.answer(202, HEADERS, whole.body() or b"no")


async def receive_it(whole: BufferedCall, receive: Receive, _send: Send) -> None:
    """Answer with the body, whenever it comes."""
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        more = message["more_body"]
    assert whole.answer(202, HEADERS, body)
