# SPDX-License-Identifier: Apache-2.0
"""The clocks of database and machine, and the source of ids.

All other code gets them as parameters, so that tests can choose them.
"""

import asyncio
import contextlib
import logging
import os
import pwd
import socket
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from chamberlain.app.processes import running
from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.errors import Unavailable
from chamberlain.database import clock as database_clock
from chamberlain.database.clock import MOST_CLOCK_DIFFERENCE, ClockReading, ClockReport
from chamberlain.database.connection import random_id
from chamberlain.database.transactions import Database
from chamberlain.observability.metrics import clock_seen

# This machine's clock, for tokens, certificates and caches (docs/decisions/0037).
local_now = partial(datetime.now, UTC)
# Random ids.
new_id = random_id


class CarriedClock:
    """The database's clock, carried forward by the monotonic clock of this machine.

    Before the first reading it shows this machine's clock.
    """

    def __init__(
        self, local: Callable[[], datetime] = local_now, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._local = local
        self._monotonic = monotonic
        self._reading: tuple[datetime, float] | None = None

    def __call__(self) -> datetime:
        """Return the database's time."""
        if self._reading is None:
            return self._local()
        moment, since = self._reading
        return moment + timedelta(seconds=self._monotonic() - since)

    def set(self, moment: datetime) -> None:
        """Store a reading that has just been made."""
        self._reading = moment, self._monotonic()

    @property
    def difference(self) -> timedelta:
        """This machine's clock less the database's."""
        return self._local() - self()


# The clock of the database of this process.
now = CarriedClock()


def new_webhook_secret() -> str:
    """Make a secret of Standard Webhooks.

    It is `whsec_` and the base64 of 32 random bytes.
    """
    return f"whsec_{b64encode(os.urandom(32)).decode('ascii')}"


def command_line() -> Actor:
    """Return the operating system's user as an actor.

    A user without a name is identified by number.
    """
    number = os.getuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:
        name = str(number)
    return Actor(ActorType.SYSTEM, None, f"Command line ({name})")


# A database that jumps is noticed within this time; a jump of this machine at once.
READ_EVERY = timedelta(seconds=2)
# A reading that took longer says too little about the time of its answer.
PATIENCE = timedelta(seconds=2)

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ClockWatch:
    """Keeps the carried clock right, and reports clocks that are not."""

    database: Database
    is_worker: bool
    clock: CarriedClock = now
    process_id: UUID = field(default_factory=new_id)
    # A fault is logged when it begins and when it ends.
    _is_reported: bool = False
    _doubt: str | None = None

    def agrees(self) -> bool:
        """Tell whether this machine's clock agrees with the database's. Needs no query."""
        return abs(self.clock.difference) <= MOST_CLOCK_DIFFERENCE

    async def read(self) -> None:
        """Read the database's clock once and store changes. Raises Unavailable."""
        await self._read_time()
        await self._store()

    async def run(self) -> None:
        """Read for ever. An unavailable database's last reading is carried forward."""
        while True:
            await asyncio.sleep(READ_EVERY.total_seconds())
            with contextlib.suppress(Unavailable, TimeoutError):
                async with asyncio.timeout(PATIENCE.total_seconds()):
                    await self._read_time()
                # Outside the time limit: after a step back it moves all waiting jobs.
                await self._store()

    async def _read_time(self) -> None:
        async with self.database.statement() as connection:
            self.clock.set(await database_clock.read_time(connection))

    async def _store(self) -> None:
        difference = self.clock.difference
        async with self.database.across_tenants() as tx:
            reading = await database_clock.observe(tx)
            if not self.agrees():
                report = ClockReport(socket.gethostname(), self.is_worker, difference)
                await database_clock.report(tx, self.process_id, report)
            elif self._is_reported:
                await database_clock.withdraw_report(tx, self.process_id)
        clock_seen(difference_seconds=difference.total_seconds(), retention_paused=reading.is_doubted)
        self._log_difference(difference)
        self._log_doubt(reading)

    def _log_difference(self, difference: timedelta) -> None:
        is_off = not self.agrees()
        if is_off is self._is_reported:
            return
        self._is_reported = is_off
        fields = {"differenceSeconds": round(difference.total_seconds(), 1)}
        if is_off and self.is_worker:
            logger.error("This machine's clock differs from the database's. The worker claims no jobs.", extra=fields)
        elif is_off:
            logger.error("This machine's clock differs from the database's. The API is not ready.", extra=fields)
        else:
            logger.info("This machine's clock agrees with the database's again.", extra=fields)

    def _log_doubt(self, reading: ClockReading) -> None:
        doubt = "ahead" if reading.is_doubted else "behind" if reading.is_behind else None
        if doubt == self._doubt:
            return
        self._doubt = doubt
        fields = {"databaseTime": str(reading.now), "trustedTime": str(reading.record.trusted_at)}
        match doubt:
            case "ahead":
                logger.error(
                    "The database's clock has jumped ahead, or the service was off for days. Retention is paused "
                    "until the clock is right or `chamberlain retention confirm` was run.",
                    extra=fields,
                )
            case "behind":
                logger.error("The database's clock shows a time before earlier readings.", extra=fields)
            case _:
                logger.info("The database's clock is trusted again.", extra=fields)


@asynccontextmanager
async def running_clock_watch(database: Database, *, is_worker: bool) -> AsyncIterator[ClockWatch]:
    """Watch the clocks for the duration of the block. Raises Unavailable.

    The first reading is taken before the block.
    """
    watch = ClockWatch(database, is_worker)
    await watch.read()
    async with running(watch.run()):
        yield watch
