# SPDX-License-Identifier: Apache-2.0
"""An issuer of tokens for tests: a real HTTP server on loopback that counts what it is asked."""

import asyncio
import json
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import TYPE_CHECKING

from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Answer = tuple[int, bytes]


class Issuer:
    """Publishes its keys and signs tokens; `answers` takes the place of what a path would answer."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.keys: list[RSAKey | ECKey] = []
        self.asked: Counter[str] = Counter()
        self.headers: list[Mapping[str, str]] = []
        self.connections = 0
        self.answers: dict[str, Callable[[], Answer]] = {}
        self.hold: asyncio.Event | None = None

    @property
    def discovery(self) -> dict[str, object]:
        return {"issuer": self.address, "jwks_uri": f"{self.address}/keys"}

    def answer(self, path: str) -> Answer:
        self.asked[path] += 1
        if path in self.answers:
            return self.answers[path]()
        if path == "/.well-known/openid-configuration":
            return 200, json.dumps(self.discovery).encode()
        if path == "/keys":
            return 200, json.dumps({"keys": [key.as_dict(private=False) for key in self.keys]}).encode()
        return 404, b""

    @property
    def fetches(self) -> int:
        return self.asked["/keys"]


def make_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


def sign(claims: Mapping[str, object], key: RSAKey | ECKey, **header: object) -> str:
    """A signed token with any header whatever; members of it that are None are left out."""
    algorithm = "RS256" if isinstance(key, RSAKey) else "ES256"
    whole = {"alg": algorithm, "typ": "JWT", "kid": key.kid, **header}
    protected = {name: value for name, value in whole.items() if value is not None}
    return sign_with_header(claims, key, json.dumps(protected).encode())


def sign_with_header(claims: Mapping[str, object], key: RSAKey | ECKey, header: bytes) -> str:
    """A signed token with this header, letter by letter."""
    algorithm = "RS256" if isinstance(key, RSAKey) else "ES256"
    signed = b".".join(encoded(part) for part in (header, json.dumps(claims).encode()))
    signature = jws.JWSRegistry.algorithms[algorithm].sign(signed, key)
    return b".".join((signed, encoded(signature))).decode()


def encoded(part: bytes) -> bytes:
    return urlsafe_b64encode(part).rstrip(b"=")


async def read_head(reader: asyncio.StreamReader) -> str:
    """The request line and the headers; the empty text when the connection is closed."""
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode().strip()
    except (asyncio.IncompleteReadError, ConnectionError):
        return ""


_used_ports: set[int] = set()


@asynccontextmanager
async def run_issuer(context: SSLContext | None = None) -> "AsyncIterator[Issuer]":
    """An issuer on a free port, behind https if there is a context for that."""
    issuers: list[Issuer] = []
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        issuers[0].connections += 1
        while head := await read_head(reader):
            line, *headers = head.splitlines()
            issuers[0].headers.append(dict(header.lower().split(": ", 1) for header in headers))
            status, body = issuers[0].answer(line.split(" ")[1])
            if issuers[0].hold is not None:
                await issuers[0].hold.wait()
            location = b"Location: /moved\r\n" if status == 302 else b""
            writer.write(b"HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n" % (status, location, len(body)) + body)
            await writer.drain()
        writer.close()

    # The service caches keys by address, so no two issuers of a process have the same port.
    again: list[asyncio.Server] = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    while (port := server.sockets[0].getsockname()[1]) in _used_ports:
        again.append(server)
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    _used_ports.add(port)
    for each in again:
        each.close()
    async with server:
        scheme = "http" if context is None else "https"
        issuers.append(Issuer(f"{scheme}://127.0.0.1:{port}"))
        try:
            yield issuers[0]
        finally:
            # A test that fails may leave some open.
            for writer in writers:
                writer.close()
