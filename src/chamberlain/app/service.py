"""The processes: one that serves, and works as well unless told otherwise, and one that only works."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from socket import socket

import structlog

from chamberlain.app.api import built_endpoints
from chamberlain.app.clocks import running_clock_watch
from chamberlain.app.data_folder import DataFolder, open_data_folder
from chamberlain.app.databases import DatabaseNotReady, Databases, opened_databases
from chamberlain.app.dependencies import running_watching
from chamberlain.app.directory import make_injection
from chamberlain.app.errors import expected_faults
from chamberlain.app.example import complete_example_estate, forget_lost_passwords, load_example_estate
from chamberlain.app.listeners import Listener, bind, metrics_application, serve_until
from chamberlain.app.processes import StoppedEarly, running, settle_garbage_collector, stopping_by_signal
from chamberlain.app.tracing.wiring import opened_traces
from chamberlain.app.worker import running_worker
from chamberlain.core.errors import CannotStart
from chamberlain.http.connections import ConnectionLimits, raise_file_limit
from chamberlain.queue.notifier import Notifier
from chamberlain.settings import Settings

# Lines for whoever watches the start.
Say = Callable[[str], None]

logger = structlog.stdlib.get_logger(__name__)


async def serve(settings: Settings, *, with_worker: bool, say: Say) -> None:
    """Serve until a signal comes. Raises CannotStart."""
    with expected_faults(), _stopping_early():
        _require_identity_allowed(settings)
        stop = stopping_by_signal()
        raise_file_limit(settings.max_connections)
        async with AsyncExitStack() as stack:
            traces = await stack.enter_async_context(opened_traces())
            # Sockets come first: a port that is taken is told before anything is started.
            plain, tls = bind(settings.host, settings.port), _bound_tls(settings)
            figures = _bound_metrics(settings)
            folder = open_data_folder(settings.data_dir)
            databases = await stack.enter_async_context(opened_databases(settings, folder, stop=stop))
            if databases.is_embedded:
                await _keep_example(databases, folder, say)
            notifier = await stack.enter_async_context(running_notifier(databases))
            watch = await stack.enter_async_context(running_clock_watch(databases.worker, is_worker=with_worker))
            if with_worker:
                await stack.enter_async_context(running_worker(settings, databases, stop, traces, watch.agrees))
            watching = await stack.enter_async_context(running_watching(databases))
            endpoints = await stack.enter_async_context(
                built_endpoints(settings, databases, notifier, folder, watching=watching, stop=stop, traces=traces)
            )
            listeners = [Listener(plain, None, endpoints.application)]
            listeners += [Listener(each, endpoints.tls, endpoints.application) for each in tls]
            listeners += [Listener(each, None, metrics_application(databases.worker)) for each in figures]
            settle_garbage_collector()
            _announce(settings, say)
            limits = ConnectionLimits(settings.max_connections, settings.max_connections_per_address, settings.proxies)
            await serve_until(stop, listeners, limits)
            logger.info("The service stops.")
        logger.info("The service has stopped.")


async def work(settings: Settings, *, say: Say) -> None:
    """Work on the queue until a signal comes. Raises CannotStart."""
    with expected_faults(), _stopping_early():
        if settings.database_url is None:
            raise DatabaseNotReady(
                "A worker of its own needs an outside database; with the embedded one, `serve` works as well."
            )
        stop = stopping_by_signal()
        figures = _bound_metrics(settings)
        folder = open_data_folder(settings.data_dir)
        async with (
            opened_traces() as traces,
            opened_databases(settings, folder, stop=stop) as databases,
            running_clock_watch(databases.worker, is_worker=True) as watch,
            running_worker(settings, databases, stop, traces, watch.agrees),
        ):
            settle_garbage_collector()
            say("The worker is at work.")
            listeners = [Listener(each, None, metrics_application(databases.worker)) for each in figures]
            await serve_until(stop, listeners)
        logger.info("The worker has stopped.")


@contextmanager
def _stopping_early() -> Iterator[None]:
    try:
        yield
    except StoppedEarly:
        logger.info("The process was stopped before it had started.")


@asynccontextmanager
async def running_notifier(databases: Databases) -> AsyncIterator[Notifier]:
    """Wakes workers for as long as the block runs."""
    notifier = Notifier(databases.addresses.direct)
    async with running(notifier.run()):
        yield notifier


async def _keep_example(databases: Databases, folder: DataFolder, say: Say) -> None:
    if await load_example_estate(databases, folder):
        secret = folder.client_secret("automation")
        say(f"The example estate is loaded. The secret of its program automation is in {secret}.")
    await forget_lost_passwords(databases, folder)
    if await complete_example_estate(databases, folder):
        say(f"The passwords of the example users are in {folder.example_users}.")


def _bound_tls(settings: Settings) -> list[socket]:
    """The socket that sign-in libraries want, where the embedded identity platform runs."""
    return [bind(settings.host, settings.tls_port)] if settings.embedded_identity else []


def _bound_metrics(settings: Settings) -> list[socket]:
    """The socket for the figures, on loopback alone, where the operator wants one."""
    if settings.metrics_port is None:
        return []
    return [bind("127.0.0.1", settings.metrics_port, chosen_by="CHAMBERLAIN_METRICS_PORT")]


def _require_identity_allowed(settings: Settings) -> None:
    if settings.embedded_identity and not settings.listens_on_loopback and not settings.allow_embedded_identity:
        raise CannotStart(
            f"{settings.host} can be reached from other machines; the embedded identity platform is for evaluation. "
            "Listen on 127.0.0.1, leave it out with CHAMBERLAIN_EMBEDDED_IDENTITY=false, or set "
            "CHAMBERLAIN_ALLOW_EMBEDDED_IDENTITY=true if you know that you want it."
        )


def _announce(settings: Settings, say: Say) -> None:
    say(f"The API answers at {settings.base_url}, its description at {settings.base_url}/docs.")
    if settings.embedded_identity:
        say(f"The directory answers at {settings.graph_url}, the same with TLS at {settings.tls_url}.")
        say("Sign-in is by the embedded identity platform, which is for evaluation and tests.")
    else:
        say(f"The directory answers at {settings.graph_url}.")
    if make_injection(settings) is not None:
        say("The directory makes difficulties on purpose, as the settings CHAMBERLAIN_FAULT_... ask for.")
