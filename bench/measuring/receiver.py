# SPDX-License-Identifier: Apache-2.0
"""Receivers of webhooks in a process of their own: `python -m bench.measuring.receiver WORD`, `fast` or `hanging`.

It prints its port. The fast one answers 204 at once and costs as little as it can, since it shares the cores with what
is measured; the other one never answers.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import uvloop

ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


class Connection(asyncio.Protocol):
    """One connection, over which call after call comes in."""

    answers = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with nothing."""
        # Those of uvloop are no asyncio.Transport, though they do the same.
        self._transport = cast("asyncio.Transport", transport)
        self._read = b""

    def data_received(self, data: bytes) -> None:
        """Answer every call that is whole."""
        self._read += data
        while (end := self._end()) is not None:
            self._read = self._read[end:]
            if self.answers:
                self._transport.write(ANSWER)

    def _end(self) -> int | None:
        head, found, _ = self._read.partition(b"\r\n\r\n")
        if not found:
            return None
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        end = len(head) + 4 + int(length)
        return end if len(self._read) >= end else None


class Hanging(Connection):
    """One that takes everything and says nothing."""

    answers = False


async def serve(kind: type[Connection]) -> None:
    """Receive on a free port of loopback, and print which."""
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def receiver(word: str) -> Iterator[str]:
    """The address of such a receiver, for as long as the block runs."""
    command = [sys.executable, "-m", "bench.measuring.receiver", word]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/hook"
        finally:
            process.terminate()


if __name__ == "__main__":
    uvloop.run(serve({"fast": Connection, "hanging": Hanging}[sys.argv[1]]))
