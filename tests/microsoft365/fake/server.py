# SPDX-License-Identifier: Apache-2.0
"""The fake on a socket, for clients that are other processes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket

import uvicorn

from tests.microsoft365.fake.application import FakeMicrosoft365


@contextmanager
def serving(fake: FakeMicrosoft365) -> Iterator[str]:
    """Serve a fake on a free port of the loopback interface. Yields the address of Graph, with its version."""
    with socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(fake, log_level="critical", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1.0"
        finally:
            server.should_exit = True
            thread.join()
