# SPDX-License-Identifier: Apache-2.0
"""A real HTTP server on loopback with scripted replies, one per call, including faults."""

import json
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON = "application/json"
PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Reply:
    """A scripted reply. A `cut` one ends in the middle, a `slow` one never arrives."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    slow: bool = False
    # Chunks of a streamed body.
    chunks: Iterable[bytes] | None = None


HANG_UP = Reply(cut=True, body=b"")


def answer(value: object, status: int = 200, **headers: str) -> Reply:
    """Reply with JSON. Names of headers have _ for -."""
    named = {name.replace("_", "-"): each for name, each in headers.items()}
    return Reply(status, json.dumps(value).encode(), {"content-type": JSON, **named})


def problem(status: int, code: str, **headers: str) -> Reply:
    """Reply with a problem document."""
    named = {name.replace("_", "-"): each for name, each in headers.items()}
    body = {"type": f"/problems/{code}", "title": "No.", "status": status, "code": code, "detail": "Not so."}
    return Reply(
        status, json.dumps({**body, "instance": "/", "traceId": "a1"}).encode(), {"content-type": PROBLEM, **named}
    )


def events(*texts: str, cut: bool = False) -> Reply:
    """Reply with a stream of events."""
    return Reply(
        200, headers={"content-type": "text/event-stream"}, cut=cut, chunks=[f"{text}\n\n".encode() for text in texts]
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """A received call."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class ScriptedServer:
    """The server. The last reply repeats."""

    url: str
    replies: list[Reply]
    seen: list[Seen] = field(default_factory=list)

    def next(self, seen: Seen) -> Reply:
        self.seen.append(seen)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def scripted(*replies: Reply) -> Iterator[ScriptedServer]:
    """Serve these replies while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    script = ScriptedServer(f"http://127.0.0.1:{server.server_address[1]}", list(replies))
    server.script = script  # type: ignore[attr-defined]  # The handler finds it there.
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        script: ScriptedServer = self.server.script  # type: ignore[attr-defined]  # As above.
        self._reply(script.next(Seen(self.command, self.path, headers, body)))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815  The library's names.

    def _reply(self, reply: Reply) -> None:
        if reply.slow:
            # Wait until the client closes the connection.
            self.connection.recv(1)
        if reply.slow or (reply.cut and not reply.body):
            self._hang_up()
            return
        # send_response would add a Date header.
        self.send_response_only(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.chunks is None:
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)
        else:
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            # The client may close the connection early.
            with suppress(ConnectionError):
                for chunk in reply.chunks:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                self.wfile.write(b"" if reply.cut else b"0\r\n\r\n")
        if reply.cut:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        """Log nothing."""
