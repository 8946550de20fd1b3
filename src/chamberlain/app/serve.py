# SPDX-License-Identifier: Apache-2.0
"""Run the API, with a worker by default, or a worker alone."""

import asyncio
import importlib.util
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from socket import socket

import structlog
import typer
import uvloop

from chamberlain.app.api import built_endpoints
from chamberlain.app.clock_and_ids import running_clock_watch
from chamberlain.app.data_folder import DataFolder, open_data_folder, open_log
from chamberlain.app.databases import DatabaseNotReady, Databases, opened_databases
from chamberlain.app.directory import make_injection
from chamberlain.app.errors import expected_faults
from chamberlain.app.listeners import Listener, bind, metrics_application, serve_until
from chamberlain.app.maintenance import complete_example_estate, forget_lost_passwords, load_example_estate
from chamberlain.app.processes import StoppedEarly, settle_garbage_collector, stopping_by_signal
from chamberlain.app.start_box import Start, is_on_terminal, program_name, start_box
from chamberlain.app.tracing.traces import Traces
from chamberlain.app.worker import running_worker
from chamberlain.core.errors import CannotStart
from chamberlain.http.connections import ConnectionLimits, raise_file_limit
from chamberlain.observability.logs import configure_logs
from chamberlain.settings import Settings, read_traces

# The service has ten seconds to stop, and sending the last spans is its last step.
_SECONDS_TO_SEND = 1.5
# Prints a line during the start.
Say = Callable[[str], None]

logger = structlog.stdlib.get_logger(__name__)


def run_serve(settings: Settings, *, with_worker: bool) -> None:
    """Run the service until a signal stops it."""
    _run(serve(settings, with_worker=with_worker, say=_say))
    if is_on_terminal():
        # Ctrl-C leaves "^C" on the line.
        _say("\rStopped.")


def run_worker(settings: Settings) -> None:
    """Run a worker until a signal stops it."""
    _run(work(settings, say=_say))


def _run(process: Coroutine[None, None, None]) -> None:
    configure_logs()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(process)
    except CannotStart as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from error


def _say(line: str) -> None:
    print(line, flush=True)


async def serve(settings: Settings, *, with_worker: bool, say: Say) -> None:
    """Run the service until a signal stops it. Raises CannotStart."""
    with expected_faults(), _stopping_early():
        _require_identity_allowed(settings)
        stop = stopping_by_signal()
        raise_file_limit(settings.max_connections)
        async with AsyncExitStack() as stack:
            traces = await stack.enter_async_context(opened_traces())
            # Bind the sockets first: a port in use must fail before anything is started.
            plain = bind(settings.host, settings.port)
            tls = [bind(settings.host, settings.tls_port)] if settings.embedded_identity else []
            metrics = _bind_metrics(settings)
            folder = open_data_folder(settings.data_dir)
            if is_on_terminal():
                open_log(folder)
                say("Starting the database ...")
            databases = await stack.enter_async_context(opened_databases(settings, folder, stop=stop))
            is_first = databases.is_embedded and await _load_example(databases, folder, say)
            watch = await stack.enter_async_context(running_clock_watch(databases.worker, is_worker=with_worker))
            if with_worker:
                await stack.enter_async_context(running_worker(settings, databases, stop, traces, watch.agrees))
            endpoints = await stack.enter_async_context(
                built_endpoints(settings, databases, folder, stop=stop, traces=traces)
            )
            listeners = [Listener(plain, None, endpoints.application)]
            listeners += [Listener(each, endpoints.tls, endpoints.application) for each in tls]
            listeners += [Listener(each, None, metrics_application(databases.worker)) for each in metrics]
            settle_garbage_collector()
            injects = settings.fault_surface or make_injection(settings) is not None
            _announce(Start(settings, folder, is_first, with_worker, injects, program_name()), say)
            limits = ConnectionLimits(settings.max_connections, settings.max_connections_per_address, settings.proxies)
            await serve_until(stop, listeners, limits)
            logger.info("The service stops.")
        logger.info("The service has stopped.")


async def work(settings: Settings, *, say: Say) -> None:
    """Run a worker until a signal stops it. Raises CannotStart."""
    with expected_faults(), _stopping_early():
        if settings.database_url is None:
            raise DatabaseNotReady(
                "A separate worker needs an outside database. With the embedded database, `serve` runs the worker."
            )
        stop = stopping_by_signal()
        metrics = _bind_metrics(settings)
        folder = open_data_folder(settings.data_dir)
        async with (
            opened_traces() as traces,
            opened_databases(settings, folder, stop=stop) as databases,
            running_clock_watch(databases.worker, is_worker=True) as watch,
            running_worker(settings, databases, stop, traces, watch.agrees),
        ):
            settle_garbage_collector()
            say("The worker is running.")
            listeners = [Listener(each, None, metrics_application(databases.worker)) for each in metrics]
            await serve_until(stop, listeners)
        logger.info("The worker has stopped.")


@asynccontextmanager
async def opened_traces() -> AsyncIterator[Traces]:
    """Open traces for the duration of the block. Raises CannotStart.

    The last spans are sent at its end.
    """
    wanted = read_traces()
    if not wanted.are_sent:
        yield Traces()
        return
    if wanted.protocol not in {"", "http/protobuf"}:
        raise CannotStart(
            f'OTEL_EXPORTER_OTLP_PROTOCOL is "{wanted.protocol}". Set it to http/protobuf, the only supported '
            "protocol; receivers use port 4318 for it."
        )
    if not all(map(importlib.util.find_spec, ("opentelemetry", "opentelemetry.exporter", "opentelemetry.sdk"))):
        raise CannotStart(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but the OpenTelemetry packages are not installed. Run "
            "`python3 dev.py setup --traces`, or remove the variable."
        )
    from chamberlain.app.tracing.provider import SentTraces

    traces = SentTraces()
    try:
        yield traces
    finally:
        await asyncio.to_thread(traces.close, _SECONDS_TO_SEND)


@contextmanager
def _stopping_early() -> Iterator[None]:
    try:
        yield
    except StoppedEarly:
        logger.info("The process was stopped before it had started.")


def _require_identity_allowed(settings: Settings) -> None:
    if settings.embedded_identity and not settings.listens_on_loopback and not settings.allow_embedded_identity:
        raise CannotStart(
            f"{settings.host} can be reached from other machines, and the embedded identity platform is for evaluation "
            "only. Listen on 127.0.0.1, turn the platform off with CHAMBERLAIN_EMBEDDED_IDENTITY=false, or allow it "
            "with CHAMBERLAIN_ALLOW_EMBEDDED_IDENTITY=true."
        )


def _bind_metrics(settings: Settings) -> list[socket]:
    """Bind the socket for metrics, on loopback only, if it is configured."""
    if settings.metrics_port is None:
        return []
    return [bind("127.0.0.1", settings.metrics_port, chosen_by="CHAMBERLAIN_METRICS_PORT")]


async def _load_example(databases: Databases, folder: DataFolder, say: Say) -> bool:
    is_first = await load_example_estate(databases, folder)
    if is_first:
        secret = folder.client_secret("automation")
        say(f"The sample data is loaded. The secret of its application automation is in {secret}.")
    await forget_lost_passwords(databases, folder)
    if await complete_example_estate(databases, folder):
        say(f"The passwords of the example users are in {folder.example_users}.")
    return is_first


def _announce(start: Start, say: Say) -> None:
    settings = start.settings
    if is_on_terminal():
        say(f"\n{start_box(start)}\n")
        return
    say(f"The console is at {settings.console_url}/console/.")
    say(f"The API answers at {settings.base_url}, its description at {settings.base_url}/docs.")
    if settings.embedded_identity:
        say(f"The directory answers at {settings.graph_url}, the same with TLS at {settings.tls_url}.")
        say("Sign-in uses the embedded identity platform, which is for evaluation and tests.")
    else:
        say(f"The directory answers at {settings.graph_url}.")
    if start.injects_faults:
        say("The directory injects faults, because CHAMBERLAIN_FAULT_... settings are set.")
