"""Where time and ids come from. Everything else gets these passed in, so that tests can choose them."""

import os
import pwd
import time
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from chamberlain.auth.models import Actor, ActorType
from chamberlain.database.types import random_ids

# Drawn from the system beforehand, since one call of the kernel costs more than all else about an id. Lists, because
# taking from them is safe from every thread.
_ids: list[UUID] = []
_DRAWN_AT_ONCE = 256


def local_now() -> datetime:
    """Read this machine's clock. Only tokens, certificates and caches go by it (docs/decisions/0037)."""
    return datetime.now(UTC)


class CarriedClock:
    """The database's clock: its last reading, carried forward by the monotonic clock of this machine.

    Before the first reading it shows this machine's clock.
    """

    def __init__(
        self, local: Callable[[], datetime] = local_now, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._local = local
        self._monotonic = monotonic
        self._reading: tuple[datetime, float] | None = None

    def __call__(self) -> datetime:
        """Give the database's time."""
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


# The clock of the one database that a process works with.
now = CarriedClock()


def new_id() -> UUID:
    """An id that nobody can guess and nobody else has."""
    try:
        return _ids.pop()
    except IndexError:
        one, *others = random_ids(os.urandom(16 * _DRAWN_AT_ONCE))
        _ids.extend(others)
        return one


def new_webhook_secret() -> str:
    """A secret as Standard Webhooks has it: `whsec_` and the base64 of 32 random bytes."""
    return f"whsec_{b64encode(os.urandom(32)).decode('ascii')}"


def command_line() -> Actor:
    """Whoever runs this process, by the name that the operating system has for them; by number where it has none."""
    number = os.getuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:
        name = str(number)
    return Actor(ActorType.SYSTEM, None, f"Command line ({name})")
