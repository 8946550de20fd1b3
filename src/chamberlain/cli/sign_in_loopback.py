"""The address on this machine that a browser comes back to after a sign-in (RFC 8252, 7.3)."""

import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlsplit

# What whoever signed in sees. What the provider said is shown at the command line alone.
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Chamberlain</title>'
    "<h1>{title}</h1><p>You can close this page and go back to the command line.</p></html>"
)


class Loopback:
    """A listener on a free port, for one answer."""

    def __init__(self) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.server_close()

    @property
    def address(self) -> str:
        """What the browser is sent back to."""
        return f"http://localhost:{self._server.server_address[1]}"

    def wait(self, state: str, within: float) -> Mapping[str, str] | None:
        """What the browser brings that was sent away with this state; `None` when it does not come within seconds."""
        self._server.state = state
        end = time.monotonic() + within
        while self._server.brought is None and (left := end - time.monotonic()) > 0:
            # Short, so that Ctrl-C is heard in between.
            self._server.timeout = min(left, 1.0)
            self._server.handle_request()
        return self._server.brought


class _Server(HTTPServer):
    state: str = ""
    brought: Mapping[str, str] | None = None


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    # A browser may open a connection and send nothing.
    timeout = 2

    def do_GET(self) -> None:
        """Take what the browser brings, when it is what was asked for: any page could send a browser here."""
        brought = dict(parse_qsl(urlsplit(self.path).query))
        if not brought.get("state") or brought["state"] != self.server.state:
            self._answer(400, "This is no answer to the sign-in that waits here.")
            return
        self._answer(200, "You are signed in." if "code" in brought else "You are not signed in.")
        self.server.brought = brought

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - As the standard library has it.
        """Say nothing; the address holds a code."""

    def _answer(self, status: int, title: str) -> None:
        page = _PAGE.format(title=title).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", "default-src 'none'")
        self.end_headers()
        self.wfile.write(page)
