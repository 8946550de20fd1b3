# SPDX-License-Identifier: Apache-2.0
"""A fake receiver of webhooks: an HTTP or HTTPS server on loopback.

It stores its calls and sends prepared answers.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

# The call hangs until the test ends.
HANG = b"hang"
CLOSE = b"close"


@dataclass(frozen=True, slots=True)
class Received:
    """A received call. Names of headers are in lower case."""

    line: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class FakeWebhookReceiver:
    """Sends `answers`, one for each call, and then `usual`.

    An answer is raw HTTP, HANG or CLOSE.
    """

    address: str
    usual: bytes = b"HTTP/1.1 204 No Content\r\n\r\n"
    answers: list[bytes] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    sent: int = 0
    connections: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    async def hang_up(self) -> None:
        """End all connections."""
        for writer in list(self.open):
            writer.close()
            await writer.wait_closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open.add(writer)
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open.discard(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self.received.append(await _read(reader))
        answer = self.answers.pop(0) if self.answers else self.usual
        if answer == HANG:
            await self.over.wait()
        if answer in {HANG, CLOSE}:
            return False
        for start in range(0, len(answer), 65_536):
            writer.write(answer[start : start + 65_536])
            await writer.drain()
            self.sent += len(answer[start : start + 65_536])
        return True


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    """An answer of HTTP."""
    lines = [f"HTTP/1.1 {status} Because", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@asynccontextmanager
async def run_webhook_receiver(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeWebhookReceiver]:
    """A receiver for as long as the block runs."""
    webhook_receiver = FakeWebhookReceiver("")
    server = await asyncio.start_server(webhook_receiver.serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    webhook_receiver.address = f"http://127.0.0.1:{port}" if tls is None else f"https://localhost:{port}"
    try:
        yield webhook_receiver
    finally:
        webhook_receiver.over.set()
        server.close()
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in fields)}
    return Received(line, headers, await reader.readexactly(int(headers["content-length"])))
