# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL in a process of its own, so that a test can take it away and bring it back.

Run as a program, it starts the server in a folder, prints the server's process id, and keeps it running.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chamberlain.embedded import postgres
from tests.postgres import named_programs

ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class PostgresProcess:
    """The keeper and the server that it keeps."""

    folder: Path
    keeper: subprocess.Popen[str]
    server: int

    def kill(self) -> None:
        """End the server as a power cut does. Its keeper must not start it again, so it is stopped before."""
        self.keeper.send_signal(signal.SIGSTOP)
        os.kill(self.server, signal.SIGKILL)
        self.keeper.kill()
        self.keeper.communicate()

    def start(self) -> None:
        """Bring it back, with what it had."""
        self.keeper, self.server = _start(self.folder)

    def end(self) -> None:
        """Stop it for good."""
        self.keeper.terminate()
        self.keeper.communicate(timeout=20)


@contextmanager
def running_postgres_process(folder: Path) -> Iterator[PostgresProcess]:
    """A server for as long as the block runs."""
    process = PostgresProcess(folder, *_start(folder))
    try:
        yield process
    finally:
        process.end()


def _start(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """Start a keeper and wait until its server can be used, or fail with what the keeper said instead."""
    log = folder.with_name("keeper.log")
    with log.open("w") as stream:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.postgres_process", str(folder)],
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        )
    assert keeper.stdout is not None
    answer = keeper.stdout.readline()
    if not answer:
        keeper.communicate(timeout=20)
        raise AssertionError(f"PostgreSQL did not start, and its keeper ended: {log.read_text()}")
    return keeper, int(answer)


async def _keep(folder: Path) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    try:
        server = await postgres.start(folder, programs=named_programs(), run_as=None)
    except postgres.EmbeddedPostgresError as error:
        sys.exit(str(error))
    print(server.pid, flush=True)  # noqa: T201 - the parent process waits for it.
    await stop.wait()
    await server.stop()


if __name__ == "__main__":
    asyncio.run(_keep(Path(sys.argv[1])))
