# SPDX-License-Identifier: Apache-2.0
"""A proxy with TLS between two services, which holds every exchange below `/graph` against Microsoft's description."""

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from socket import create_server

import httpx2
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvloop import run

from chamberlain.app.listeners import Listener, make_server
from chamberlain.embedded.identity.certificates import make_server_certificate
from chamberlain.http.connections import Connections
from tests.microsoft365.recording_transport import DifferentFromPublished, RecordingTransport

# Headers of one connection, and the length of a body that the client has unpacked.
_OWN = frozenset({"connection", "content-encoding", "content-length", "host", "transfer-encoding"})


class _Directory(httpx2.AsyncHTTPTransport):
    """Send requests for Graph to the directory of the service on `port`."""

    port: int | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url.copy_with(port=self.port, raw_path=b"/graph" + request.url.raw_path)
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        forwarded = httpx2.Request(request.method, url, headers=headers, content=request.content)
        return await super().handle_async_request(forwarded)


@dataclass
class RecordingProxy:
    """An ASGI application. `problems` are the differences from the description."""

    port: int
    authority_pem: str
    directory: _Directory
    recorder: RecordingTransport
    problems: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}/graph"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = Request(scope, receive)
        path = asked.url.path.removeprefix("/graph")
        query = f"?{asked.url.query}" if asked.url.query else ""
        sent = httpx2.Request(
            asked.method,
            f"http://127.0.0.1{path}{query}",
            headers=[(name, value) for name, value in asked.headers.items() if name not in _OWN],
            content=await asked.body(),
        )
        try:
            got = await self.recorder.handle_async_request(sent)
        except DifferentFromPublished as error:
            self.problems.append(str(error))
            await Response(status_code=502)(scope, receive, send)
            return
        headers = {name: value for name, value in got.headers.items() if name not in _OWN}
        await Response(await got.aread(), got.status_code, headers)(scope, receive, send)


@contextmanager
def recording_proxy() -> Iterator[RecordingProxy]:
    """Serve a proxy on a free port. The directory needs its address, so `directory.port` is set later."""
    with create_server(("127.0.0.1", 0)) as listener, tempfile.TemporaryDirectory() as folder:
        certificate = make_server_certificate(Path(folder), datetime.now(UTC))
        directory = _Directory()
        recorder = RecordingTransport(directory)
        proxy = RecordingProxy(listener.getsockname()[1], certificate.authority_pem, directory, recorder)
        server = make_server(Listener(listener, certificate.context, proxy), Connections())

        async def serve() -> None:
            await server.serve(sockets=[listener])
            await recorder.aclose()

        thread = threading.Thread(target=run, args=(serve(),))
        thread.start()
        try:
            yield proxy
        finally:
            server.should_exit = True
            thread.join()
