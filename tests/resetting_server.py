# SPDX-License-Identifier: Apache-2.0
"""A server on loopback that resets each connection at once, as a killed one does."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

# Resets the connection instead of closing it (socket(7), SO_LINGER).
_AT_ONCE = struct.pack("ii", 1, 0)


@contextmanager
def resetting_server(connections: int) -> Iterator[int]:
    """Reset so many connections, and return the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=connections) as server:

        def reset_all() -> None:
            for _ in range(connections):
                accepted, _ = server.accept()
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                accepted.close()

        thread = Thread(target=reset_all, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(timeout=30)
