# SPDX-License-Identifier: Apache-2.0
"""A fake IMAP server on loopback, with the few commands that a client needs to fetch mails."""

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread


@dataclass(slots=True)
class Mailbox:
    """A mailbox with mails by uid, their flags, and the parts that were read."""

    mails: dict[int, bytes]
    flags: dict[int, set[str]] = field(default_factory=dict)
    port: int = 0


class _Handler(StreamRequestHandler):
    server: "_Server"

    def handle(self) -> None:
        self._say("* OK ready")
        for line in self.rfile:
            tag, command, rest = [*line.decode().strip().split(" ", 2), ""][:3]
            self._answer(command.upper(), rest)
            self._say(f"{tag} OK done")
            if command.upper() == "LOGOUT":
                return

    def _answer(self, command: str, rest: str) -> None:
        mailbox = self.server.mailbox
        if command == "CAPABILITY":
            self._say("* CAPABILITY IMAP4rev1")
        elif command == "SELECT":
            self._say(f"* {len(mailbox.mails)} EXISTS")
        elif command == "UID" and rest.startswith("SEARCH"):
            found = [uid for uid in mailbox.mails if not mailbox.flags.get(uid)]
            self._say(f"* SEARCH {' '.join(map(str, found))}")
        elif command == "UID" and (fetch := re.fullmatch(r"FETCH (\d+) \(BODY\.PEEK\[\]<0\.(\d+)>\)", rest)):
            content = mailbox.mails[int(fetch[1])][: int(fetch[2])]
            self._say(f"* 1 FETCH (UID {fetch[1]} BODY[]<0> {{{len(content)}}}")
            self.wfile.write(content + b")\r\n")
        elif command == "UID" and (store := re.fullmatch(r"STORE (\d+) \+FLAGS \((.*)\)", rest)):
            mailbox.flags.setdefault(int(store[1]), set()).update(store[2].split())

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


class _Server(ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, mailbox: Mailbox, tls: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mailbox = mailbox
        self.socket = tls.wrap_socket(self.socket, server_side=True)


@contextmanager
def imap_server(mailbox: Mailbox, tls: ssl.SSLContext) -> Iterator[Mailbox]:
    """Serve a mailbox over TLS on a free port."""
    with _Server(mailbox, tls) as server:
        mailbox.port = server.server_address[1]
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield mailbox
        finally:
            server.shutdown()
            thread.join()
