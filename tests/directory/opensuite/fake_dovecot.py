# SPDX-License-Identifier: Apache-2.0
"""A fake doveadm interface on loopback.

It has folders with rights, subscriptions and scripts, and fails on demand.
"""

import json
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "doveadm-secret"
# Parameters and rows are JSON of many shapes.
Json = Any


class Failed(Exception):
    """A command fails with an exit code of doveadm."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


@dataclass(slots=True)
class FakeDovecot:
    """Users with their folders: rights by user in each.

    `answers` are raw answers of the next calls, with their status. `closes` ends each connection after its answer,
    without notice. `commands` are the names of all commands so far.
    """

    folders: dict[str, dict[str, dict[str, list[str]]]] = field(default_factory=dict)
    subscriptions: set[tuple[str, str]] = field(default_factory=set)
    scripts: dict[str, str] = field(default_factory=dict)
    is_active: bool = True
    answers: list[tuple[int, bytes]] = field(default_factory=list)
    closes: bool = False
    commands: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def answer(self, body: bytes, authorization: str) -> tuple[int, bytes]:
        """Answer one call."""
        if authorization != f"X-Dovecot-API {b64encode(KEY.encode()).decode()}":
            return 401, b""
        if self.answers:
            return self.answers.pop(0)
        if not body:
            return 200, b"[]"
        return 200, json.dumps([self._run(*command) for command in json.loads(body)]).encode()

    def _run(self, name: str, parameters: Mapping[str, Json], tag: str) -> list[Json]:
        self.commands.append(name)
        try:
            return ["doveadmResponse", self._rows(name, parameters), tag]
        except Failed as failed:
            return ["error", {"type": "exitCode", "exitCode": failed.exit_code}, tag]

    def _rows(self, name: str, parameters: Mapping[str, Json]) -> list[Json]:
        user = parameters["user"]
        if user not in self.folders:
            raise Failed(67)
        match name:
            case "mailboxList":
                return [{"mailbox": each} for each in self.folders[user]]
            case "mailboxSubscribe":
                self.subscriptions |= {(user, each) for each in parameters["mailbox"]}
            case "mailboxUnsubscribe":
                self.subscriptions -= {(user, each) for each in parameters["mailbox"]}
            case "sieveList":
                return [{"script": "chamberlain", "active": "ACTIVE" * self.is_active}] if user in self.scripts else []
            case "sieveGet":
                return [{"sieve script": self.scripts[user]}]
            case "sievePut":
                self.scripts[user] = parameters["file"]
            case "aclRecalc":
                # Its own list of shared mailboxes is always complete.
                return []
            case _:
                return self._rights(name, self._folder(user, parameters["mailbox"]), parameters)
        return []

    def _rights(self, name: str, folder: dict[str, list[str]], parameters: Mapping[str, Json]) -> list[Json]:
        match name:
            case "aclGet":
                return [{"id": each, "global": "", "rights": " ".join(rights)} for each, rights in folder.items()]
            case "aclSet":
                folder[parameters["id"]] = parameters["right"]
            case "aclDelete":
                folder.pop(parameters["id"], None)
            case _:
                raise AssertionError(name)
        return []

    def _folder(self, user: str, name: str) -> dict[str, list[str]]:
        if name not in self.folders[user] and name != "INBOX":
            raise Failed(68)
        return self.folders[user].setdefault(name, {})


@contextmanager
def run_fake_dovecot() -> Iterator[FakeDovecot]:
    """Run the server for as long as the block runs."""
    dovecot = FakeDovecot()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["content-length"])))

        def _answer(self, body: bytes) -> None:
            status, content = dovecot.answer(body, self.headers["authorization"])
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.close_connection = dovecot.closes

        def log_message(self, *_: object) -> None:
            """Write nothing to the output of the tests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        dovecot.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield dovecot
        finally:
            server.shutdown()
            thread.join()
