# SPDX-License-Identifier: Apache-2.0
"""A service with an embedded database, all of it on a disk whose power can be cut."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.killing.loop_disk import LoopDisk, loop_disk
from bench.measuring.services import folder_on_disk
from chamberlain.embedded.postgres import roles
from chamberlain.embedded.postgres.roles import address
from tests.postgres import connected
from tests.services import Service, free_port, start_process, wait_until

# Room for the database, its log as it grows under load (PostgreSQL keeps 512 MB of it), and thousands of groups.
MEGABYTES = 2_048
READY_WITHIN = 90.0
# Ways to lose: the settings of a database that does not wait for its disk. Every other setting is that of a service.
COMMITS_UNFLUSHED = ("ALTER DATABASE chamberlain SET synchronous_commit = off",)
NEVER_FLUSHES = ("ALTER SYSTEM SET fsync = off",)


class DidNotStart(Exception):
    """After a cut the service ended instead of starting, which only a control may do."""


@dataclass(slots=True)
class PoweredService:
    """One process with API, worker and embedded database, as `chamberlain serve` starts it."""

    disk: LoopDisk
    folder: Path
    port: int = field(default_factory=free_port)
    service: Service = field(init=False)

    @property
    def data_dir(self) -> Path:
        """The data directory of the service. It is on the disk, with all secrets and keys."""
        return self.disk.place / "data"

    def start(self) -> None:
        """Start the service and wait until it is ready. Its log is elsewhere: a cut shall not take the evidence."""
        process = start_process(
            "serve", "--port", str(self.port), "--data-dir", str(self.data_dir), log=self.folder / "service.log"
        )
        self.service = Service(process.process, process.log, self.port, self.data_dir, {})
        wait_until(self._is_up, READY_WITHIN, self.service.said)
        if process.process.poll() is not None:
            raise DidNotStart(self.service.said()[-2_000:])

    def cut_power(self) -> float:
        """Cut the power under load and start again as after a cut. Answers the seconds from the cut until ready."""
        begin = time.monotonic()
        # PostgreSQL goes on for a moment. The service must not: loop_disk.py says why.
        self.service.process.send_signal(signal.SIGSTOP)
        wait_until(self._is_stopped, 10)
        self.disk.cut_power()
        self.kill()
        self.disk.unmount()
        self.disk.mount()
        self.start()
        return time.monotonic() - begin

    def kill(self) -> None:
        """End the service and PostgreSQL by SIGKILL, so that neither can write or flush any more."""
        self.service.kill()
        for pid in self.disk.users():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _is_stopped(self) -> bool:
        status = Path(f"/proc/{self.service.process.pid}/stat").read_text()
        # The state follows the name, which is in parentheses.
        return status.rpartition(") ")[2].startswith("T")

    def _is_up(self) -> bool:
        return self.service.process.poll() is not None or self.service.answers("/health/ready") == 200


@contextmanager
def powered_service(*, loses: Sequence[str] = (), megabytes: int = MEGABYTES) -> Iterator[PoweredService]:
    """Run a service on a disk of its own for as long as the block runs. `loses` are statements that make it lose."""
    with folder_on_disk() as folder, loop_disk(folder, megabytes) as disk:
        powered = PoweredService(disk, folder)
        # As every data folder that root makes: the user of the server passes through.
        powered.data_dir.mkdir(mode=0o711)
        powered.start()
        try:
            if loses:
                asyncio.run(_set(powered.data_dir, loses))
                powered.service.stop()
                os.sync()
                powered.start()
            yield powered
        finally:
            powered.kill()
            disk.unmount()


async def _set(data_dir: Path, statements: Sequence[str]) -> None:
    async with connected(address(data_dir / "postgres" / "data", roles.SET_UP, "postgres")) as connection:
        for statement in statements:
            await connection.execute(statement)
