"""Keeps the server running: sleeps until it ends, and starts it again.

This runs in a thread and not in a task: it needs no event loop, and Linux sends the parent-death signal when the thread
ends that started the server, so that thread has to live as long as the server may.
"""

import logging
import os
import time
from concurrent.futures import Future

from chamberlain.embedded.postgres.errors import EmbeddedPostgresError
from chamberlain.embedded.postgres.process import ServerProcess

logger = logging.getLogger(__name__)

# The first restart follows at once; then the time between two doubles, until the server has run for a while.
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0
_SECONDS_OF_A_WHILE = 30.0


def keep_running(process: ServerProcess, lock: int, started: Future[None]) -> None:
    """Start the server, say how that went, and keep it running until it shall stop."""
    try:
        _run(process, lock, started)
    except (EmbeddedPostgresError, OSError) as error:
        started.set_exception(error)
    finally:
        # After an error that nobody foresaw: whoever waits must not wait for ever.
        started.cancel()


def _run(process: ServerProcess, lock: int, started: Future[None]) -> None:
    try:
        process.start()
        started.set_result(None)
        _watch(process)
    finally:
        # Before a failure is told: whoever hears of it may start again at once.
        os.close(lock)


def _watch(process: ServerProcess) -> None:
    delay = 0.0
    while True:
        begun = time.monotonic()
        status = process.wait()
        if process.stopping.is_set():
            return
        logger.warning("PostgreSQL ended with status %s and is started again.", status)
        has_run_for_a_while = time.monotonic() - begun > _SECONDS_OF_A_WHILE
        delay = _start_again(process, 0.0 if has_run_for_a_while else delay)


def _start_again(process: ServerProcess, delay: float) -> float:
    """Try until the server runs or shall stop; answer how long to wait if it ends again at once."""
    while not process.stopping.wait(delay):
        delay = min(max(2 * delay, _FIRST_DELAY), _LONGEST_DELAY)
        try:
            process.start()
        except (EmbeddedPostgresError, OSError) as error:
            logger.warning("PostgreSQL could not be started again, the next attempt follows: %s", error)
        else:
            logger.info("PostgreSQL runs again, as process %s.", process.pid)
            break
    return delay
