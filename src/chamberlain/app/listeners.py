# SPDX-License-Identifier: Apache-2.0
"""Two listeners for one application: plain HTTP, and TLS for sign-in libraries.

Sockets are bound first, so that a port in use gets a clear error. The listeners handle no signals: the service stops
its parts in order.
"""

import asyncio
import contextlib
import ctypes
import logging
import select
import socket
import ssl
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from chamberlain.app.processes import running
from chamberlain.connections import records as connection_records
from chamberlain.core.errors import CannotStart, Unavailable
from chamberlain.database.transactions import Database
from chamberlain.figures import store as figure_store
from chamberlain.figures.models import TemplateTimes
from chamberlain.guests import finding_records
from chamberlain.http.connections import BACKLOG, ConnectionLimits, Connections
from chamberlain.http.server_protocol import ServerProtocol, connection_factory
from chamberlain.observability.metrics import (
    CONTENT_TYPE,
    ReadyTimes,
    deliveries_seen,
    directories_seen,
    exposition,
    exposition_without_database,
    findings_seen,
    jobs_seen,
    ready_times_seen,
)
from chamberlain.queue import jobs as queue_jobs

# How long answers that are under way may still take when the service stops; ten seconds are for everything together.
GRACE_SECONDS = 8
# How long idle connections stay open when the service stops: a call may be on its way on them.
QUIET_SECONDS = 0.5
QUIET_ROUNDS = 25
# Each round accepts everything that waits; handshakes that end meanwhile need more.
ACCEPT_ROUNDS = 100
# Seconds for TCP handshakes that have begun: a round trip within a continent.
HANDSHAKE_ROUND_TRIP = 0.1
# The option of socket(7) that Python does not name, and its program (classic BPF: code, jump if true, jump if false,
# value). It sees the TCP header, drops segments whose byte 13 has the flag SYN, and passes all others.
SO_ATTACH_FILTER = 26
NO_SYN = ((0x30, 0, 0, 13), (0x45, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFF))
# Bytes of an answer that the kernel keeps beside those that are on their way. With its default, megabytes of an answer
# that no one reads would wait there.
UNSENT_BYTES = 16 * 1024

logger = logging.getLogger(__name__)


class PortTaken(CannotStart):
    """A port cannot be used. The message has the cure."""


@dataclass(frozen=True, slots=True)
class Listener:
    """One bound socket, its TLS context, and its application.

    The context is None for plain HTTP.
    """

    socket: socket.socket
    context: ssl.SSLContext | None
    application: ASGIApp


def bind(host: str, port: int, *, chosen_by: str = "--port") -> socket.socket:
    """Bind a socket. Raises PortTaken, which names the option of the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Accepted sockets inherit it.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise PortTaken(
            f"Cannot listen on {host} port {port} ({error.strerror}). "
            f"Stop the program that uses it, or change {chosen_by}."
        ) from error
    return bound


class Server(uvicorn.Server):
    """A server that ignores signals, and resets no connection when it stops."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer open calls, then end the connections."""
        await _accept_waiting(sockets or [])
        for _ in range(QUIET_ROUNDS):
            if not any(map(_is_idle, self.server_state.connections)):
                break
            await asyncio.sleep(QUIET_SECONDS / QUIET_ROUNDS)
        await super().shutdown(sockets)


async def _accept_waiting(sockets: Sequence[socket.socket]) -> None:
    """Accept the connections that the kernel has begun.

    It resets those that are left when the socket closes.
    """
    for each in sockets:
        _refuse_new(each)
    await asyncio.sleep(HANDSHAKE_ROUND_TRIP)
    for _ in range(ACCEPT_ROUNDS):
        waiting, _, _ = select.select(sockets, (), (), 0)
        if not waiting:
            return
        await asyncio.sleep(0.001)


def _refuse_new(listening: socket.socket) -> None:
    """Have the kernel drop new connections before they begin.

    Their clients retry and find the port closed.
    """
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in NO_SYN))
    try:
        listening.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(NO_SYN), ctypes.addressof(program))
        )
    except OSError as error:
        # A sandbox may emulate sockets without filters. A client that connects in the last moment is reset then.
        logger.warning("New connections cannot be filtered during the stop: %s", error.strerror)
        listening.listen(0)


def _is_idle(connection: object) -> bool:
    return isinstance(connection, ServerProtocol) and connection.is_idle


def make_server(
    listener: Listener, connections: Connections, *, protocol: type[ServerProtocol] = ServerProtocol
) -> Server:
    """Build a server for one listener, ready for `serve`.

    Connections over TLS do their own handshake.
    """

    config = uvicorn.Config(
        listener.application,
        loop="none",
        http=protocol,
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
    factory = connection_factory(connections, listener.context, protocol)
    config.http_protocol_class = factory  # type: ignore[assignment]  # It is only called.
    return Server(config)


async def serve_until(
    stop: asyncio.Event, listeners: Sequence[Listener], limits: ConnectionLimits | None = None
) -> None:
    """Serve on all listeners until the event is set.

    Then open calls finish within the grace period.
    """
    try:
        # A process that is to stop already would reset those that connect now.
        if not stop.is_set():
            await _serve_until(stop, listeners, Connections(limits))
    finally:
        for listener in listeners:
            listener.socket.close()


async def _serve_until(stop: asyncio.Event, listeners: Sequence[Listener], connections: Connections) -> None:
    servers = [make_server(listener, connections) for listener in listeners]
    async with running(connections.run()):
        serving = [
            asyncio.create_task(server.serve(sockets=[listener.socket]))
            for server, listener in zip(servers, listeners, strict=True)
        ]
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({*serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            connections.stop()
            for server in servers:
                server.should_exit = True
            stopped.cancel()
            await asyncio.gather(*serving)


# Prometheus waits ten seconds for an answer by default, and takes a missing one for a process that has ended.
PATIENCE = timedelta(seconds=5)
# Workers count the time to ready once a minute, and a scrape comes every 15 seconds.
READY_TIMES_KEPT = timedelta(minutes=1)
# Each template has five series, which bounds those of a large installation.
MOST_TEMPLATES = 100


def metrics_application(worker: Database, *, patience: timedelta = PATIENCE) -> ASGIApp:
    """Create the application that answers /metrics.

    Each call counts the queue and the findings, up to the limit in queue/models.py. A database that does not answer
    within `patience` is reported as down.
    """

    read_ready_times = _ReadyTimes(worker)

    async def metrics(_: Request) -> Response:
        try:
            async with asyncio.timeout(patience.total_seconds()):
                await _look(worker)
                await read_ready_times()
        except (Unavailable, TimeoutError):
            # Metrics matter most while something is wrong.
            return Response(exposition_without_database(), media_type=CONTENT_TYPE)
        return Response(exposition(), media_type=CONTENT_TYPE)

    return Router([Route("/metrics", metrics)])


async def _look(worker: Database) -> None:
    async with worker.across_tenants() as tx:
        depth = await queue_jobs.measure(tx)
        deliveries = await queue_jobs.measure_lanes(tx)
        connections = await connection_records.figures(tx)
        open_findings = await finding_records.count_open(tx)
    directories_seen(
        {(each.adapter, each.state): each.number for each in connections}, connection_records.oldest_checks(connections)
    )
    jobs_seen(queued=depth.due, oldest_seconds=depth.oldest.total_seconds(), held=depth.held, parked=depth.parked)
    deliveries_seen(due=deliveries.due, oldest_seconds=deliveries.oldest.total_seconds())
    findings_seen(open_findings)


class _ReadyTimes:
    """Reads the time to ready of templates, at most once a minute."""

    def __init__(self, worker: Database) -> None:
        self._worker = worker
        self._until = 0.0

    async def __call__(self) -> None:
        """Set the gauges. Raises Unavailable."""
        now = asyncio.get_running_loop().time()
        if now < self._until:
            return
        async with self._worker.across_tenants() as tx:
            times = await figure_store.read_recent(tx, most=MOST_TEMPLATES)
        ready_times_seen([_in_seconds(each) for each in times])
        self._until = now + READY_TIMES_KEPT.total_seconds()


def _in_seconds(times: TemplateTimes) -> ReadyTimes:
    return ReadyTimes(
        tenant=str(times.tenant_id),
        template=str(times.template_id),
        since=times.since,
        count=times.count,
        p50_seconds=times.percentiles.p50_ms / 1000,
        p95_seconds=times.percentiles.p95_ms / 1000,
    )
