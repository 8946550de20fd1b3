"""Two listeners, one application: plain HTTP, and the same with TLS for sign-in libraries that insist on it.

Sockets are bound first, so that a port in use is told in a sentence of ours. Signals are not theirs to handle: the
service stops its parts in order.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from chamberlain.bootstrap.faults import CannotStart
from chamberlain.bootstrap.whole_answers import WholeAnswers

# How long answers that are under way may still take when the service stops; ten seconds are for everything together.
GRACE_SECONDS = 8
BACKLOG = 2048


class PortTaken(CannotStart):
    """A port cannot be listened on; the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class Listener:
    """One bound socket, what is spoken on it (without a context that is plain HTTP), and who answers."""

    socket: socket.socket
    context: ssl.SSLContext | None
    application: ASGIApp


def bind(host: str, port: int, *, chosen_by: str = "--port") -> socket.socket:
    """A socket that is bound, and listens as soon as it is served. Raises PortTaken, which names the option that
    chose it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise PortTaken(
            f"Nothing can listen on {host} port {port} ({error.strerror}). Stop what does, or change {chosen_by}."
        ) from error
    return bound


class Server(uvicorn.Server):
    """A server that leaves signals alone, and does not wait for callers who are asleep."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End idle connections first: a polite end of TLS waits for the other side to say farewell as well."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, HttpToolsProtocol) and _is_idle(connection):
                connection.transport.abort()
        await super().shutdown(sockets)


def _is_idle(connection: HttpToolsProtocol) -> bool:
    """Whether no call is under way and every answer has been sent."""
    # There is none before the first call, which the annotation leaves out.
    answered = connection.cycle is None or connection.cycle.response_complete  # type: ignore[redundant-expr]
    return answered and connection.transport.get_write_buffer_size() == 0


def make_server(listener: Listener) -> Server:
    """A server for one listener, ready to be run with `serve`."""
    config = uvicorn.Config(
        listener.application,
        loop="none",
        http=WholeAnswers,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    config.load()
    config.ssl = listener.context
    return Server(config)


async def serve_until(stop: asyncio.Event, listeners: Sequence[Listener]) -> None:
    """Answer on all listeners until the event is set, then let what is under way end within the grace."""
    servers = [make_server(listener) for listener in listeners]
    running = [
        asyncio.create_task(server.serve(sockets=[listener.socket]))
        for server, listener in zip(servers, listeners, strict=True)
    ]
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({*running, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for server in servers:
            server.should_exit = True
        stopped.cancel()
        await asyncio.gather(*running)
        for listener in listeners:
            listener.socket.close()
