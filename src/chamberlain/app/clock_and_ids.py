"""Read the clock and make ids.

All other code gets them as parameters, so that tests can choose them.
"""

import os
import pwd
import time
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from chamberlain.auth.models import Actor, ActorType


def local_now() -> datetime:
    """Read this machine's clock, for tokens, certificates and caches (docs/decisions/0037)."""
    return datetime.now(UTC)


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


def new_id() -> UUID:
    """Make a random id."""
    return uuid4()


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
